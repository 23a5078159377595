//! Looking: what every run is doing, from its directory alone.

use std::{
    fs, io,
    time::{Duration, Instant},
};

use model::{
    ids::RunKey,
    order::RunOrder,
    reconcile::{Phase, Seen},
    task::Ending,
};

use super::{House, start::trouble};
use crate::{
    engine::EngineError,
    identity::Identity,
    rundir::{
        RunDir, live_dir,
        record::{Record, find_line, last_line},
    },
    supervisor::{ChildRecord, RUN_VARIABLE, SupervisorRecord, cgroup, letter::Letter, lock::Lock},
};

impl House {
    pub fn list(&self) -> Result<Vec<Seen>, EngineError> {
        self.reap();
        let mut seen = Vec::new();
        for run in self.live_runs()? {
            let dir = RunDir::new(&self.config.data, &run);
            // "Cannot see" never means gone; and one that cannot be seen must not hide the others.
            let phase = self.look(&dir).unwrap_or_else(|error| {
                tracing::warn!(%run, "it cannot be looked at, and is taken for alive: {error}");
                Phase::Alive
            });
            seen.push(Seen { run, phase });
        }
        Ok(seen)
    }

    pub fn live_runs(&self) -> Result<Vec<RunKey>, EngineError> {
        let live = live_dir(&self.config.data);
        let entries = fs::read_dir(&live).map_err(|error| trouble(&live, &error))?;
        // A file with another kind of name is not ours.
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect())
    }

    pub fn look(&self, dir: &RunDir) -> io::Result<Phase> {
        if let Some(phase) = ended(dir)? {
            return Ok(phase);
        }
        if Lock::is_held(&dir.letter())? {
            self.kill_if_its_node_is_down(dir);
            return Ok(Phase::Alive);
        }
        // It may have ended between the two looks.
        if let Some(phase) = ended(dir)? {
            return Ok(phase);
        }
        match find_line::<SupervisorRecord>(&dir.supervisor())? {
            // A power cut may take the newest names of a directory and leave the log, which was synced.
            Record::None if dir.log().try_exists()? => Ok(vanished("of what its supervisor wrote down only the log is left")),
            Record::None => Ok(Phase::NotTaken),
            Record::Torn => Ok(vanished("its supervisor died as it started")),
            Record::Whole(record) => self.look_after(dir, &record),
        }
    }

    /// The supervisor is dead. Nothing may live of what it has left, and only then is it said.
    fn look_after(&self, dir: &RunDir, record: &SupervisorRecord) -> io::Result<Phase> {
        if let Record::Whole(ending) = last_line::<Ending>(&dir.exit_part())? {
            // It wrote down how the run ended, after everyone was gone, and died before it could say so.
            fs::rename(dir.exit_part(), dir.exit())?;
            return Ok(Phase::Ended(ending));
        }
        if record.identity.of_another_boot() {
            return Ok(vanished("the node rebooted (its boot id differs)"));
        }
        let child = match find_line::<ChildRecord>(&dir.supervisor())? {
            // Without its record the child never got the word to go.
            Record::None | Record::Torn => None,
            Record::Whole(child) => Some(child),
        };
        let order = Letter::read(&dir.letter())?.map(|letter| letter.order);
        record.cgroups.iter().for_each(|path| cgroup::lift_cpu_limit(path));
        let gone = child.as_ref().is_none_or(|child| end_tree(child, order.as_ref())) && clear_groups(record);
        if !gone {
            return Ok(Phase::Alive);
        }
        let down = order.filter(|order| self.is_down(&order.node)).map(|order| format!("its node `{}` went down", order.node));
        Ok(match (down, child) {
            (Some(why), _) => vanished(&why),
            (None, None) => vanished("its supervisor was killed before the child was started"),
            (None, Some(_)) => vanished("its supervisor was killed"),
        })
    }
}

fn vanished(why: &str) -> Phase {
    Phase::Vanished { why: why.to_owned() }
}

fn ended(dir: &RunDir) -> io::Result<Option<Phase>> {
    Ok(match last_line::<Ending>(&dir.exit())? {
        Record::None => None,
        Record::Whole(ending) => Some(Phase::Ended(ending)),
        // The rename came before the power cut, the bytes did not. We cannot know what they were.
        Record::Torn => Some(vanished("its exit record cannot be read")),
    })
}

/// How long a look may wait for what it has killed. What takes longer is still alive, and looked at again.
const PATIENCE: Duration = Duration::from_millis(50);

/// Kills what is left of a tree, and answers whether all of it is gone.
fn end_tree(child: &ChildRecord, order: Option<&RunOrder>) -> bool {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let left = if child.pid_namespace { living(&[&child.init]) } else { strays(child, order) };
        if left.is_empty() {
            return true;
        }
        for identity in &left {
            // Who cannot be signalled is looked for again, and found alive again.
            let _ = identity.signal(libc::SIGKILL);
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn living(whom: &[&Identity]) -> Vec<Identity> {
    whom.iter().filter(|it| it.alive()).map(|it| (*it).clone()).collect()
}

/// Without a namespace to hold them, a run's processes are told by the variable they were born with.
fn strays(child: &ChildRecord, order: Option<&RunOrder>) -> Vec<Identity> {
    let mut left = living(&[&child.init, &child.child]);
    let Some(order) = order else { return left };
    let mark = format!("{RUN_VARIABLE}={}", order.run);
    let marked = |pid: i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes()).then(|| Identity::of(pid).ok())?
    };
    let everyone = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = everyone.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    left.extend(pids.filter_map(marked).filter(Identity::alive));
    left
}

fn clear_groups(record: &SupervisorRecord) -> bool {
    record.cgroups.iter().all(|path| cgroup::clear_away(path, PATIENCE).is_ok())
}
