//! The porter: a process beside a supervisor that carries things in before the child starts, and out while it runs.
//!
//! It is a process of its own because a supervisor must have one thread when it forks, and little memory for as long as the
//! child lives, while fetching and sending want many and much. It is told what to do on its standard input, and says how it
//! goes on its standard output, one line of JSON each. When its input ends, whoever sent it is gone, and so is it.

use std::{
    io::{BufRead, Write},
    os::fd::AsFd,
    process::ExitCode,
    time::Duration,
};

use model::task::Whose;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

pub mod count;
pub mod errand;
pub mod place;
mod stage;
mod sync;

use errand::{Errand, Kind, Word};

use crate::code::NotMade;

/// The verb by which we are started.
pub const VERB: &str = "porter";

pub use sync::FINISH;

pub fn main() -> ExitCode {
    // When memory is short, the supervisor should stay rather than we, who can be sent again.
    let _allowed = std::fs::write("/proc/self/oom_score_adj", "0");
    let mut line = String::new();
    if std::io::stdin().lock().read_line(&mut line).is_err() {
        return ExitCode::from(3);
    }
    // What is carried in is for whoever the child becomes to read; the doors above it stay closed.
    // SAFETY: a plain system call on this process alone.
    unsafe { libc::umask(0o022) };
    let Ok(errand) = serde_json::from_str::<Errand>(&line) else { return ExitCode::from(3) };
    let _held = match errand.kind {
        Kind::Stage => match stage::stage(&errand) {
            Ok(carried) => {
                say(&Word::Staged(carried.staged.clone()));
                carried.make_last();
                carried.held
            }
            Err(Failed { why, whose }) => {
                say(&Word::Failed { why, whose });
                Vec::new()
            }
        },
        Kind::Sync => return sync::sync(&errand),
    };
    wait_for_goodbye();
    ExitCode::SUCCESS
}

/// Why something could not be carried.
pub struct Failed {
    pub why: String,
    pub whose: Whose,
}

impl From<NotMade> for Failed {
    fn from(why: NotMade) -> Self {
        match why {
            NotMade::Stopped => Failed { why: "it was stopped before everything was there".into(), whose: Whose::Platform },
            NotMade::Failed { why, whose } => Failed { why, whose },
        }
    }
}

/// A supervisor that is gone does not hear us, and that is no trouble of ours.
fn say(word: &Word) {
    let line = serde_json::to_string(word).expect("a word is JSON") + "\n";
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(line.as_bytes()).and_then(|()| out.flush());
}

/// Waits for so long, or until the supervisor has closed our input, which is how it sends us away.
fn is_dismissed_within(time: Duration) -> bool {
    let stdin = std::io::stdin();
    let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
    poll(&mut [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)], timeout).is_ok_and(|ready| ready > 0)
}

/// What we hold stays held until the supervisor holds it too, and closes our input.
fn wait_for_goodbye() {
    let mut rest = String::new();
    while std::io::stdin().lock().read_line(&mut rest).is_ok_and(|read| read > 0) {
        rest.clear();
    }
}
