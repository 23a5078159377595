//! Starting a run: its directory, its order, and a supervisor that takes it up.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use model::{
    ids::RunKey,
    reconcile::Phase,
    task::{Cause, Whose},
};
use nix::sys::resource::{Resource, setrlimit};

use super::{House, lock, room};
use crate::{
    crash,
    engine::{EngineError, Start},
    metrics::Errand,
    rundir::{RunDir, live_marker, private_dir, reading_marker, runs_dir},
    supervisor::{Nursery, letter::Letter, lock::Lock},
};

/// Everything a supervisor will find in its directory.
pub fn letter(start: &Start<'_>) -> Letter {
    Letter { order: start.order.clone(), token: start.token.to_owned(), server: start.server_url.to_owned() }
}

impl House {
    pub fn start(&self, letter: &Letter) -> Result<(), EngineError> {
        let node = &self.node(&letter.order.node)?.name;
        let dir = RunDir::new(&self.config.data, &letter.order.run);
        let _alone = lock(&self.starting);
        if is_taken_up(&dir).map_err(|error| trouble(dir.path(), &error))? {
            // Without its marker nobody would look at it, and so nobody would learn how it goes.
            return self.mark(&dir, letter).map_err(|error| trouble(dir.path(), &error));
        }
        if self.is_down(node) {
            // A job that waited here for the node would wait for ever; on its next attempt it goes elsewhere. A supervisor that was sent
            // for this one before may still arrive.
            let why = format!("node `{node}` is down");
            self.close_the_door(&dir, &letter.order.run, Cause::CannotStart { why: why.clone(), whose: Whose::Platform })?;
            return Err(EngineError::Never(why));
        }
        if let Some(older) = self.older_that_may_live(&letter.order.run).map_err(|error| trouble(dir.path(), &error))? {
            return Err(EngineError::Away(format!("run {older} is not over yet")));
        }
        if let Some(why) = room::lacking(&runs_dir(&self.config.data)) {
            return Err(EngineError::Away(why.en));
        }
        self.write(&dir, letter).map_err(|error| trouble(dir.path(), &error))?;
        crash::point("start.before-spawn");
        self.spawn(&dir).map_err(|error| trouble(&self.config.exe, &error))
    }

    /// Two attempts of one task must never hold the same devices or write the same output. One that nobody has taken up yet may still be.
    fn older_that_may_live(&self, run: &RunKey) -> io::Result<Option<RunKey>> {
        for attempt in 1..run.attempt {
            let older = RunKey { attempt, ..run.clone() };
            if !live_marker(&self.config.data, &older).try_exists()? {
                continue;
            }
            match self.look(&RunDir::new(&self.config.data, &older))? {
                Phase::Alive | Phase::NotTaken => return Ok(Some(older)),
                Phase::Ended(_) | Phase::Vanished { .. } => {}
            }
        }
        Ok(None)
    }

    /// The marker is another name of the letter, and comes before the supervisor: from then on `list`
    /// shows the run, whatever becomes of the rest.
    fn write(&self, dir: &RunDir, letter: &Letter) -> io::Result<()> {
        if let Some(job) = dir.path().parent() {
            private_dir(job)?;
        }
        private_dir(dir.path())?;
        if Letter::read(&dir.letter())?.is_none() {
            put(&dir.letter(), &serde_json::to_vec(letter)?)?;
        }
        self.mark(dir, letter)?;
        // After the first marker, without which a run counts as over.
        if letter.order.metrics.off {
            return Ok(());
        }
        let (run, errand) = (&letter.order.run, Errand::new(&letter.order.metrics, dir, letter.order.run.attempt));
        let (marker, words) = (reading_marker(&self.config.data, run), serde_json::to_vec(&errand)?);
        if errand.needs_words() { put(&marker, &words) } else { name_again(&dir.letter(), &marker, &words) }
    }

    fn mark(&self, dir: &RunDir, letter: &Letter) -> io::Result<()> {
        name_again(&dir.letter(), &live_marker(&self.config.data, &letter.order.run), b"")
    }

    /// A nursery closes when it has had nothing to do; then the next one is opened.
    pub fn spawn(&self, dir: &RunDir) -> io::Result<()> {
        const TRIES_MAX: usize = 3;
        let mut held = lock(&self.nursery);
        let mut last = Err(io::Error::other("no nursery stays open"));
        for _ in 0..TRIES_MAX {
            let nursery = match held.take() {
                Some(nursery) => nursery,
                None => Nursery::open(self.supervise())?,
            };
            last = nursery.raise(dir.path());
            match &last {
                Err(error) if matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset) => self.retire(nursery),
                Ok(()) | Err(_) => {
                    *held = Some(nursery);
                    break;
                }
            }
        }
        last
    }

    /// Supervisors leave our session by themselves. Until then they have at least their own process group,
    /// so that a Ctrl-C meant for the server passes them by.
    fn supervise(&self) -> Command {
        const INHERITED: [&str; 6] = ["PATH", "HOME", "USER", "LANG", "LD_LIBRARY_PATH", "TRAINMASTER_CRASH_AT"];
        let mut command = Command::new(&self.config.exe);
        command.arg("supervise").env_clear().process_group(0);
        command.envs(INHERITED.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.envs(&self.config.python);
        if let Some((soft, hard)) = self.open_files {
            // SAFETY: between fork and exec, and nothing but a plain system call.
            unsafe { command.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_NOFILE, soft, hard)?)) };
        }
        command
    }

    fn retire(&self, nursery: Nursery) {
        lock(&self.retired).push(nursery);
    }

    /// Nurseries that have closed are counted, so that none stays as a zombie.
    pub fn reap(&self) {
        let mut held = lock(&self.nursery);
        if held.as_mut().is_some_and(Nursery::is_over) {
            *held = None;
        }
        lock(&self.retired).retain_mut(|nursery| !nursery.is_over());
    }
}

/// Whether a supervisor has this run, or had it: then there is nothing to start any more.
fn is_taken_up(dir: &RunDir) -> io::Result<bool> {
    let traces = [dir.supervisor(), dir.exit(), dir.log()];
    Ok(traces.iter().map(|path| path.try_exists()).collect::<io::Result<Vec<_>>>()?.contains(&true) || Lock::is_held(&dir.letter())?)
}

/// Gives a file a second name, which costs less than a second file. The runs may lie on a disk of their own, or on one that
/// knows no second names; there it becomes a file of its own, with these words in it.
fn name_again(file: &Path, name: &Path, words: &[u8]) -> io::Result<()> {
    match fs::hard_link(file, name) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(_) => put(name, words),
    }
}

/// Writes a small file that is there whole or not at all.
pub fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension("part");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&part)?;
    file.write_all(bytes)?;
    fs::rename(part, path)
}

/// A missing program or permission stays missing; a full disk may be emptied.
pub fn trouble(what: &Path, error: &io::Error) -> EngineError {
    let words = format!("{}: {error}", what.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => EngineError::Never(words),
        _ => EngineError::Away(words),
    }
}
