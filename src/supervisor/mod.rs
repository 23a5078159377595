//! The supervisor: one process beside each child, the same program on every engine. It starts the
//! child, keeps its output, stops it when asked, writes down how it ended, and only then tells anyone.
//!
//! It outlives the server, and needs nothing of it but, now and then, an open ear.

pub mod cgroup;
mod child;
pub mod exit;
pub mod identity;
mod init;
mod journal;
mod launch;
mod leash;
mod life;
pub mod lock;
mod logs;
mod mounts;
mod report;
mod sandbox;
mod ship;
mod signals;
mod spawn;
mod told;
mod tree;
mod watch;

use std::{ffi::OsString, process::ExitCode};

pub use child::RUN_VARIABLE;
pub use launch::ChildRecord;
pub use life::SupervisorRecord;

/// `trainmaster supervise …`: lives one run from beginning to end.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let lived = told::read(arguments).and_then(|told| life::live(&told));
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            journal::say(&format!("{error:#}"));
            ExitCode::from(3)
        }
    }
}
