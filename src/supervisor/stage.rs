//! What must be there before the child can start, and may take minutes to get.

use std::{
    cell::Cell,
    os::fd::{AsRawFd, OwnedFd},
    path::PathBuf,
    time::Duration,
};

use model::{
    order::{Report, RunOrder},
    task::Cause,
};

use super::{journal::say, report::Home, signals};
use crate::{
    code::python::{DIRECTORY_VARIABLE, NotMade, Shelf, Waiting},
    config::default_cache_dir,
    rundir::RunDir,
};

/// Answers where the child's Python environment is, if it wants one. The error is how the run ended
/// without ever having begun.
pub fn environment(dir: &RunDir, order: &RunOrder, home: &Home, stop: &OwnedFd) -> Result<Option<PathBuf>, Cause> {
    let Some(wanted) = &order.environment else { return Ok(None) };
    // Once it was taken the signal is gone, but not forgotten.
    let stopped = Cell::new(false);
    let pause = |time: Duration| {
        signals::wait_for([stop.as_raw_fd()], Some(time));
        stopped.set(stopped.get() || signals::take(stop));
        stopped.get()
    };
    let tell = |words: &str| {
        say(words);
        home.knock(&Report::Preparing { what: format!("{} {words}", order.run.task) });
    };
    match shelf(dir).ready(wanted, &Waiting { pause: &pause, say: &tell }) {
        Ok(place) => Ok(Some(place)),
        Err(NotMade::Stopped) => Err(Cause::Stopped { killed: false }),
        Err(NotMade::Failed { why, whose }) => {
            say(&why);
            Err(Cause::CannotStart { why, whose })
        }
    }
}

/// With the server's data, where there is any; else in the cache of whoever we are far from home.
fn shelf(dir: &RunDir) -> Shelf {
    let named = std::env::var_os(DIRECTORY_VARIABLE).filter(|it| !it.is_empty()).map(PathBuf::from);
    let at_home = || dir.data().map(|data| data.join("environments"));
    let place = named.or_else(at_home).unwrap_or_else(|| default_cache_dir().join("environments"));
    Shelf::at(std::path::absolute(&place).unwrap_or(place))
}
