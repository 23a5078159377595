//! A run's directory: the one description of what lies where, for everyone who looks into it.

use std::{
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use model::ids::RunKey;

pub mod gap;
pub mod record;

/// The directory of one run.
#[derive(Clone, Debug)]
pub struct RunDir {
    path: PathBuf,
}

impl RunDir {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    pub fn new(data: &Path, run: &RunKey) -> Self {
        let task = format!("{}.{}", run.task, run.attempt);
        Self::at(runs_dir(data).join(run.job.to_string()).join(task))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The server's data directory, if this run lies in one; a supervisor far from home has none.
    pub fn data(&self) -> Option<&Path> {
        let runs = self.path.parent()?.parent()?;
        if runs.file_name()? == "runs" { runs.parent() } else { None }
    }

    /// What tasks share between them and between jobs.
    pub fn cache(&self) -> PathBuf {
        self.data().unwrap_or(&self.path).join("cache")
    }

    /// Where a child's root is put together. Each does so in a mount namespace of its own, so one empty
    /// directory serves them all.
    pub fn root(&self) -> PathBuf {
        self.data().unwrap_or(&self.path).join("root")
    }

    /// The task's own `/output`: all its attempts have the same one.
    pub fn output(&self) -> PathBuf {
        self.of_task("output")
    }

    /// The output before it is whole, where it does not begin empty.
    pub fn output_part(&self) -> PathBuf {
        self.of_task("output.part")
    }

    /// What of the output is outside already.
    pub fn sent(&self) -> PathBuf {
        self.of_task("sent")
    }

    /// The numbers that were read in what the task wrote.
    pub fn metrics(&self) -> PathBuf {
        self.of_task("metrics")
    }

    /// Locked by whoever copies the output out.
    pub fn output_lock(&self) -> PathBuf {
        self.of_task("lock")
    }

    /// Far from home there is one attempt only, and everything lies in its directory.
    fn of_task(&self, what: &str) -> PathBuf {
        match (self.data(), self.task_and_attempt()) {
            (Some(_), Some((task, _))) => self.path.with_file_name(format!("{task}.{what}")),
            _ => self.path.join(what),
        }
    }

    fn task_and_attempt(&self) -> Option<(&str, u32)> {
        let (task, attempt) = self.path.file_name()?.to_str()?.rsplit_once('.')?;
        Some((task, attempt.parse().ok()?))
    }

    /// The attempts of this task that have a directory.
    pub fn attempts(&self) -> io::Result<Vec<u32>> {
        let (Some(_), Some((task, _)), Some(job)) = (self.data(), self.task_and_attempt(), self.path.parent()) else {
            return Ok(Vec::new());
        };
        let attempt = |name: &str| Self::at(job.join(name)).task_and_attempt().filter(|it| it.0 == task).map(|it| it.1);
        let names = match std::fs::read_dir(job) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?.filter_map(|entry| entry.ok()?.file_name().into_string().ok()),
        };
        Ok(names.filter_map(|name| attempt(&name)).collect())
    }

    /// The directories of this task's earlier attempts.
    pub fn earlier(&self) -> io::Result<Vec<(u32, Self)>> {
        let Some((task, own)) = self.task_and_attempt() else { return Ok(Vec::new()) };
        let earlier = self.attempts()?.into_iter().filter(|attempt| *attempt < own);
        Ok(earlier.map(|attempt| (attempt, Self::at(self.path.with_file_name(format!("{task}.{attempt}"))))).collect())
    }

    /// Whether a later attempt of the task has begun: then its output is that one's to copy.
    pub fn is_replaced(&self) -> bool {
        let own = self.task_and_attempt().map(|it| it.1);
        self.attempts().is_ok_and(|all| all.into_iter().any(|attempt| Some(attempt) > own))
    }

    /// What a child must not see: everything of the server, or at least this run's own secrets.
    pub fn private(&self) -> &Path {
        self.data().unwrap_or(&self.path)
    }
}

macro_rules! places {
    ($($(#[$doc:meta])* $name:ident = $file:literal;)*) => {
        impl RunDir {$(
            $(#[$doc])*
            pub fn $name(&self) -> PathBuf {
                self.path.join($file)
            }
        )*}
    };
}

places! {
    /// What to run and whom to tell, in its first line. Locked by the supervisor for its whole life.
    letter = "order.json";
    /// Another name of the letter, given by who supervises before anything else is done. To it come, each on a line: who that is;
    /// who is supervised, before the child may exec; and last, how it ended.
    supervisor = "supervisor.json";
    /// The bytes of all streams in the order they came.
    log = "output.log";
    /// When each piece of the log came, and from which stream.
    index = "output.idx";
    /// What of the log is no more.
    gaps = "output.gaps";
    /// How it ended, in its last line. It is another name of what the supervisor wrote down.
    exit = "exit.json";
    /// What the run was made of, as far as it was not known before. Not there if there is nothing to say.
    provenance = "provenance.json";
    /// Says that all of the output is where it was to go.
    synced = "synced.json";
    /// Says that the log is over, and copied to its last byte.
    log_saved = "log.saved";
    /// Made where the run is over, however it ended, and its output is still wanted elsewhere; written again whenever somebody
    /// asks that it be tried now.
    wanted = "wanted";
    /// The exit record before it is whole. It is made at the start, with the room it will need, so that a full disk cannot
    /// keep an ending from being written down.
    exit_part = "exit.part";
    /// What the child reads about its peers.
    peers = "peers";
    /// What a task of a gang finds of its neighbours.
    gang = "gang";
    /// What the task has used: each reading of the last hour, and stretches of all the time before.
    usage_fine = "usage.fine";
    usage_coarse = "usage.coarse";
    /// Where those figures come from, and why others are absent.
    usage_basis = "usage.json";
    /// Our own words about this run.
    journal = "supervisor.log";
    /// Links to what is seen at `/input/NAME`, for a child that has no `/input` of its own.
    inputs = "inputs";
    /// Secrets of a child that has no rooms of its own; gone when it is.
    secrets = "secrets";
    code_upper = "code-upper";
    code_work = "code-work";
    tmp = "tmp";
}

/// The marker that makes `engine.list` look at a run.
pub fn live_marker(data: &Path, run: &RunKey) -> PathBuf {
    live_dir(data).join(run.to_string())
}

/// Says that what a run writes is still to be searched for numbers, and how. It goes when all of it was.
pub fn reading_marker(data: &Path, run: &RunKey) -> PathBuf {
    reading_dir(data).join(run.to_string())
}

pub fn reading_dir(data: &Path) -> PathBuf {
    data.join("reading")
}

/// Where the server listens to those who share its disk.
pub fn side_door(data: &Path) -> PathBuf {
    data.join("door")
}

pub fn runs_dir(data: &Path) -> PathBuf {
    data.join("runs")
}

/// The list of the Python packages that some runs had, by its fingerprint.
pub fn packages_file(data: &Path, fingerprint: &str) -> PathBuf {
    data.join("packages").join(format!("{fingerprint}.json"))
}

/// Where the cache keeps an input that was fetched, by its fingerprint; none if that is no name of one.
pub fn input_tree(data: &Path, fingerprint: &str) -> Option<PathBuf> {
    let is_name = !fingerprint.is_empty() && fingerprint.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_name.then(|| data.join("inputs/trees").join(fingerprint).join("files"))
}

pub fn live_dir(data: &Path) -> PathBuf {
    data.join("live")
}

/// Makes a directory only its owner may enter. One that is there already is fine.
pub fn private_dir(path: &Path) -> io::Result<()> {
    match std::fs::DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// A file that is new, ours alone, and not a link somebody left in its place.
pub fn new_private_file(path: &Path) -> io::Result<std::fs::File> {
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create_new(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}
