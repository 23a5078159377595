//! A run's directory: the one description of what lies where, for everyone who looks into it.

use std::{
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use model::ids::RunKey;

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
    /// What to run and whom to tell. Locked by the supervisor for its whole life.
    letter = "order.json";
    /// Who supervises, written before anything else is done; and, on a second line, who is supervised,
    /// written before the child may exec.
    supervisor = "supervisor.json";
    /// The bytes of both streams in the order they came.
    log = "output.log";
    /// When each piece of the log came, and from which stream.
    index = "output.idx";
    exit = "exit.json";
    /// The exit record before it is whole. It is allocated at the start, so that a full disk cannot
    /// keep an ending from being written down.
    exit_part = "exit.part";
    /// What the child reads about its peers.
    peers = "peers";
    /// What a task of a gang finds of its neighbours.
    gang = "gang";
    /// Our own words about this run.
    journal = "supervisor.log";
    output = "output";
    code_upper = "code-upper";
    code_work = "code-work";
    tmp = "tmp";
}

/// The marker that makes `engine.list` look at a run.
pub fn live_marker(data: &Path, run: &RunKey) -> PathBuf {
    live_dir(data).join(run.to_string())
}

pub fn runs_dir(data: &Path) -> PathBuf {
    data.join("runs")
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
