//! Starting a run: its directory, its order, and a supervisor that takes it up.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::{fs::OpenOptionsExt, process::CommandExt},
    path::Path,
    process::Command,
};

use model::{ids::NodeName, ids::RunKey};

use super::{House, lock};
use crate::{
    crash,
    engine::{EngineError, Start},
    rundir::{RunDir, live_marker, private_dir},
    supervisor::{Nursery, lock::Lock},
};

/// Everything a supervisor will find in its directory.
pub struct Letter {
    run: RunKey,
    node: NodeName,
    order: Vec<u8>,
    token: String,
    server_url: String,
}

impl Letter {
    pub fn of(start: &Start<'_>) -> Result<Self, EngineError> {
        let order = serde_json::to_vec(start.order).map_err(|error| EngineError::Never(format!("the order cannot be written: {error}")))?;
        let (run, node) = (start.order.run.clone(), start.order.node.clone());
        Ok(Self { run, node, order, token: start.token.to_owned(), server_url: start.server_url.to_owned() })
    }
}

impl House {
    pub fn start(&self, letter: &Letter) -> Result<(), EngineError> {
        if self.is_down(&self.node(&letter.node)?.name) {
            return Err(EngineError::Away(format!("node `{}` is down", letter.node)));
        }
        let dir = RunDir::new(&self.config.data, &letter.run);
        if is_taken_up(&dir).map_err(|error| trouble(dir.path(), &error))? {
            return Ok(());
        }
        self.write(&dir, letter).map_err(|error| trouble(dir.path(), &error))?;
        crash::point("start.before-spawn");
        self.spawn(&dir).map_err(|error| trouble(&self.config.exe, &error))
    }

    /// The marker comes first: from then on `list` shows the run, whatever becomes of the rest.
    fn write(&self, dir: &RunDir, letter: &Letter) -> io::Result<()> {
        put(&live_marker(&self.config.data, &letter.run), b"")?;
        if let Some(job) = dir.path().parent() {
            private_dir(job)?;
        }
        private_dir(dir.path())?;
        put(&dir.order(), &letter.order)?;
        put(&dir.token(), letter.token.as_bytes())?;
        put(&dir.server(), letter.server_url.as_bytes())
    }

    /// A nursery closes when it has had nothing to do; then the next one is opened.
    fn spawn(&self, dir: &RunDir) -> io::Result<()> {
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
    Ok(dir.supervisor().try_exists()? || dir.exit().try_exists()? || Lock::is_held(&dir.lock())?)
}

/// Writes a small file. One that is there already is replaced whole: somebody may be reading it.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let create = |path: &Path| OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
    match create(path) {
        Ok(mut file) => file.write_all(bytes),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let part = path.with_extension("part");
            let _ = fs::remove_file(&part);
            create(&part)?.write_all(bytes)?;
            fs::rename(part, path)
        }
        Err(error) => Err(error),
    }
}

/// A missing program or permission stays missing; a full disk may be emptied.
pub fn trouble(what: &Path, error: &io::Error) -> EngineError {
    let words = format!("{}: {error}", what.display());
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => EngineError::Never(words),
        _ => EngineError::Away(words),
    }
}
