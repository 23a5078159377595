//! The child's Python environment: what the job's framework brings and its code asks for.

use std::{
    cell::Cell,
    os::fd::AsRawFd,
    path::{Path, PathBuf},
    time::Duration,
};

use model::{step::StepKind, task::Cause};

use super::{journal::say, logs::Logs, signals, stage::Stage};
use crate::{
    code::{
        NotMade, Waiting,
        python::{DIRECTORY_VARIABLE, NotReady, Shelf, Wanted},
    },
    config::default_cache_dir,
    rundir::RunDir,
};

/// Answers where it is, if the child wants one. The error is how the run ended without ever having begun.
pub fn ready(stage: &Stage<'_>, code: Option<&Path>) -> Result<Option<PathBuf>, Cause> {
    // Once it was taken the signal is gone, but not forgotten.
    let stopped = Cell::new(false);
    let pause = |time: Duration| {
        signals::wait_for([stage.stop.as_raw_fd()], Some(time));
        stopped.set(stopped.get() || signals::take(stage.stop));
        stopped.get()
    };
    let not_asked = |reason| NotReady { reason, said: String::new() };
    let made = Wanted::find(stage.order.environment.as_ref(), code, &stage.order.requirements).map_err(not_asked).and_then(|wanted| {
        let waiting = Waiting { pause: &pause, say: &|words| stage.tell(words) };
        let made = |wanted| stage.steps.time(StepKind::Environment, || shelf(stage.dir).ready(&wanted, &waiting));
        wanted.map(made).transpose()
    });
    made.map_err(|failed| failure(stage.dir, failed))
}

/// What the tools said is for whoever reads the log of the task: it is all there will ever be in it.
fn failure(dir: &RunDir, NotReady { reason, said }: NotReady) -> Cause {
    match reason {
        NotMade::Stopped => Cause::Stopped { killed: false },
        NotMade::Failed { why, whose } => {
            say(&why);
            let mut logs = Logs::new(dir);
            logs.say(&if said.is_empty() { why.clone() } else { format!("{why}\nall that was said:\n{}", said.trim_end()) });
            let _ = logs.finish();
            Cause::CannotStart { why, whose }
        }
    }
}

/// With the server's data, where there is any; else in the cache of whoever we are far from home.
fn shelf(dir: &RunDir) -> Shelf {
    let named = std::env::var_os(DIRECTORY_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
    let at_home = || dir.data().map(|data| data.join("environments"));
    let place = named.or_else(at_home).unwrap_or_else(|| default_cache_dir().join("environments"));
    Shelf::at(std::path::absolute(&place).unwrap_or(place), dir.private())
}
