//! Somebody for the output of a run that is over.

use model::sync::Synced;

use super::{
    House,
    start::{put, trouble},
};
use crate::{
    engine::EngineError,
    rundir::{
        RunDir, private_dir,
        record::{Record, last_line},
    },
    supervisor::{letter::Letter, lock::Lock},
};

impl House {
    pub fn sync(&self, letter: &Letter, now: bool) -> Result<Option<Synced>, EngineError> {
        let dir = RunDir::new(&self.config.data, &letter.order.run);
        let away = |error: std::io::Error| trouble(dir.path(), &error);
        if let Record::Whole(synced) = last_line(&dir.synced()).map_err(away)? {
            return Ok(Some(synced));
        }
        if Lock::is_held(&dir.letter()).map_err(away)? {
            // Whoever waits there for better times sees that it was asked for.
            if now {
                put(&dir.wanted(), b"").map_err(away)?
            }
            return Ok(None);
        }
        if self.is_down(&self.node(&letter.order.node)?.name) {
            return Err(EngineError::Away(format!("its node `{}` is down", letter.order.node)));
        }
        self.must_be_over(&dir, &letter.order.run)?;
        self.leave_word(&dir, letter).map_err(away)?;
        self.spawn(&dir).map_err(|error| trouble(&self.config.exe, &error))?;
        Ok(None)
    }

    /// The order is written anew: what was wrong with its places may have been put right.
    fn leave_word(&self, dir: &RunDir, letter: &Letter) -> std::io::Result<()> {
        if let Some(job) = dir.path().parent() {
            private_dir(job)?;
        }
        private_dir(dir.path())?;
        put(&dir.letter(), &serde_json::to_vec(letter)?)?;
        put(&dir.wanted(), b"")
    }
}
