//! The supervisor: one process beside each child, the same program on every engine. It starts the
//! child, keeps its output, stops it when asked, writes down how it ended, and only then tells anyone.
//!
//! It outlives the server, and needs nothing of it but, now and then, an open ear.

mod carry;
pub mod cgroup;
mod child;
mod clues;
mod commit;
mod disk;
mod environment;
pub mod exit;
mod gang;
mod init;
mod journal;
mod launch;
mod leash;
pub mod letter;
mod life;
pub mod lock;
mod logs;
mod memory;
mod mounts;
mod neighbours;
mod nursery;
mod pattern;
mod porter;
mod provenance;
pub mod reach;
mod report;
mod sandbox;
mod secrets;
mod setup;
mod ship;
pub mod signals;
mod spawn;
mod stage;
mod steps;
mod text;
mod told;
mod tree;
mod usage;
mod watch;

use std::{ffi::OsString, process::ExitCode};

pub use child::RUN_VARIABLE;
pub use launch::ChildRecord;
pub use life::SupervisorRecord;
pub use neighbours::ROOM_VARIABLE;
pub use nursery::Nursery;

/// `trainmaster supervise …`: lives one run from beginning to end.
///
/// With `--nursery` it lives as many as it is asked to on its standard input, each in a process of its own.
pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.peekable();
    if arguments.next_if(|it| it == nursery::FLAG).is_some() {
        nursery::tend();
        return ExitCode::SUCCESS;
    }
    let lived = told::read(arguments).and_then(|told| life::live(&told, None));
    match lived {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            journal::say(&format!("{error:#}"));
            ExitCode::from(3)
        }
    }
}
