//! What a run leaves behind, and how it goes.

use std::{fs, io, os::unix::fs::PermissionsExt, path::Path};

use model::{ids::RunKey, reconcile::Phase};

use super::{House, start::trouble, stop::STOPPED};
use crate::{
    engine::EngineError,
    rundir::{RunDir, live_marker},
};

impl House {
    /// Forgets a run that is over: its scratch goes, its logs and outputs stay.
    pub fn remove(&self, run: &RunKey) -> Result<(), EngineError> {
        let dir = RunDir::new(&self.config.data, run);
        self.must_be_over(&dir, run)?;
        // An empty directory costs less where it is than to delete: the file system looks long for room
        // where something was just deleted.
        for scratch in [dir.tmp(), dir.secrets()] {
            if fs::read_dir(&scratch).is_ok_and(|mut entries| entries.next().is_some()) {
                delete_tree(&scratch).map_err(|error| trouble(&scratch, &error))?;
            }
        }
        // Last, so that a crash before it only means that all of this is done once more.
        let marker = live_marker(&self.config.data, run);
        unless_missing(fs::remove_file(&marker)).map_err(|error| trouble(&marker, &error))
    }

    /// Deletes everything of a run.
    pub fn erase(&self, run: &RunKey) -> Result<(), EngineError> {
        let dir = RunDir::new(&self.config.data, run);
        self.must_be_over(&dir, run)?;
        delete_tree(dir.path()).map_err(|error| trouble(dir.path(), &error))?;
        // What all attempts of a task share goes with the last of them.
        if dir.attempts().map_err(|error| trouble(dir.path(), &error))?.is_empty() {
            for tree in [dir.output(), dir.output_part(), dir.metrics()] {
                delete_tree(&tree).map_err(|error| trouble(&tree, &error))?;
            }
            for path in [dir.sent(), dir.output_lock()] {
                unless_missing(fs::remove_file(&path)).map_err(|error| trouble(&path, &error))?;
            }
        }
        if let Some(job) = dir.path().parent() {
            // The last run to go takes the job's directory with it.
            let _ = fs::remove_dir(job);
        }
        let marker = live_marker(&self.config.data, run);
        unless_missing(fs::remove_file(&marker)).map_err(|error| trouble(&marker, &error))
    }

    pub fn must_be_over(&self, dir: &RunDir, run: &RunKey) -> Result<(), EngineError> {
        match self.look(dir).map_err(|error| trouble(dir.path(), &error))? {
            Phase::Alive => Err(EngineError::Away(format!("run {run} is still alive"))),
            Phase::NotTaken => self.close_the_door(dir, run, STOPPED),
            Phase::Ended(_) | Phase::Vanished { .. } => Ok(()),
        }
    }
}

fn unless_missing(done: io::Result<()>) -> io::Result<()> {
    match done {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// Deletes a directory with all that is in it, and follows no link out of it.
///
/// A task may have closed its directories to everyone, itself included; then they are opened first. A
/// supervisor may be putting down its last words meanwhile, so a directory that was not empty is tried again.
pub fn delete_tree(path: &Path) -> io::Result<()> {
    const TRIES_MAX: usize = 5;
    let mut last = Ok(());
    for _ in 0..TRIES_MAX {
        last = unless_missing(fs::remove_dir_all(path));
        match &last {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => open_up(path)?,
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            _ => return last,
        }
    }
    last
}

/// Goes down level by level, for a directory can be read only after it was opened.
fn open_up(top: &Path) -> io::Result<()> {
    let mut closed = vec![top.to_owned()];
    while let Some(dir) = closed.pop() {
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o700))?;
        for entry in fs::read_dir(&dir)? {
            let entry = entry?;
            if entry.file_type()?.is_dir() {
                closed.push(entry.path());
            }
        }
    }
    Ok(())
}
