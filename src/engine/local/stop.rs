//! Stopping a run, and closing the door on one that nobody has taken up.

use std::time::SystemTime;

use model::{
    ids::NodeName,
    ids::RunKey,
    reconcile::Phase,
    task::{Cause, Ending},
};

use super::{House, start::trouble};
use crate::{
    engine::EngineError,
    rundir::{
        RunDir,
        record::{Record, find_line},
    },
    supervisor::{SupervisorRecord, cgroup, exit, letter::Letter, lock::Lock},
};

pub const STOPPED: Cause = Cause::Stopped { killed: false };

impl House {
    pub fn stop(&self, run: &RunKey) -> Result<(), EngineError> {
        let dir = RunDir::new(&self.config.data, run);
        match self.look(&dir).map_err(|error| trouble(dir.path(), &error))? {
            Phase::Ended(_) | Phase::Vanished { .. } => Ok(()),
            Phase::NotTaken => self.close_the_door(&dir, run, STOPPED),
            Phase::Alive => {
                let record = self.signal_supervisor(&dir, run, libc::SIGTERM)?;
                record.cgroups.iter().for_each(|path| cgroup::lift_cpu_limit(path));
                Ok(())
            }
        }
    }

    /// A run that is still being taken up has no record yet; that is a matter of a moment.
    fn signal_supervisor(&self, dir: &RunDir, run: &RunKey, signal: i32) -> Result<SupervisorRecord, EngineError> {
        match find_line::<SupervisorRecord>(&dir.supervisor()).map_err(|error| trouble(dir.path(), &error))? {
            Record::Whole(record) => {
                record.identity.signal(signal).map_err(|error| EngineError::Away(format!("run {run} cannot be signalled: {error}")))?;
                Ok(record)
            }
            Record::None | Record::Torn => Err(EngineError::Away(format!("run {run} is just being taken up"))),
        }
    }

    /// A supervisor may be on its way that has not arrived. With an ending in its place it will find
    /// nothing to do, however late it comes.
    pub fn close_the_door(&self, dir: &RunDir, run: &RunKey, cause: Cause) -> Result<(), EngineError> {
        if !dir.path().exists() {
            return Ok(());
        }
        let away = |error: std::io::Error| trouble(dir.path(), &error);
        let just_taken = || EngineError::Away(format!("run {run} is just being taken up"));
        let _lock = Lock::take(&dir.letter()).map_err(away)?.ok_or_else(just_taken)?;
        if dir.supervisor().exists() || dir.exit().exists() {
            return Ok(());
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let ending = Ending::new(cause, None, u64::try_from(now.as_millis()).unwrap_or(u64::MAX));
        exit::record(dir, &ending).and_then(|()| exit::make_durable(dir)).map_err(away)
    }

    /// A run that is just being taken up is met when it is looked at, so it is no loss to miss it here.
    pub fn kill_supervisors_on(&self, node: &NodeName) {
        for run in self.live_runs().unwrap_or_default() {
            let dir = RunDir::new(&self.config.data, &run);
            if matches!(Letter::read(&dir.letter()), Ok(Some(letter)) if letter.order.node == *node) {
                self.kill_supervisor(&dir, &run);
            }
        }
    }

    /// Where its node is down, nothing of a run may live. Most of the time none is, and nobody has to read whose run it is.
    pub fn kill_if_its_node_is_down(&self, dir: &RunDir) {
        if !self.any_is_down() {
            return;
        }
        if let Ok(Some(letter)) = Letter::read(&dir.letter())
            && self.is_down(&letter.order.node)
        {
            self.kill_supervisor(dir, &letter.order.run);
        }
    }

    /// One that has not yet written down who it is, is looked for again.
    fn kill_supervisor(&self, dir: &RunDir, run: &RunKey) {
        let _ = self.signal_supervisor(dir, run, libc::SIGKILL);
    }
}
