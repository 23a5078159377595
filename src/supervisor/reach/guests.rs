//! Guests: processes that others of the gang start in a task. Init forks them, so they are within the same
//! walls and limits as the child, have its environment, and end with it.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Read, Seek},
    os::fd::{AsRawFd, BorrowedFd, OwnedFd},
};

use model::order::RunOrder;
use serde::{Deserialize, Serialize};

use super::{
    line::{self, Line},
    wire::Start,
};
use crate::supervisor::child::{self, Paths, Program, exit_now, explain};

/// What the supervisor asks of init.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// With it come four descriptors: a file with what to start, and the guest's standard streams.
    Begin { id: u64 },
    /// To the guest and everyone it has in its group.
    Signal { id: u64, number: u8 },
}

/// What init tells the supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Tell {
    /// With the status of `waitpid`; without one it could not be made.
    Ended { id: u64, status: Option<i32> },
}

/// In init: who was let in.
pub struct Guests<'a> {
    line: Line,
    order: &'a RunOrder,
    paths: Paths,
    inside: Vec<(u64, i32)>,
}

impl<'a> Guests<'a> {
    pub fn new(line: Line, order: &'a RunOrder, paths: Paths) -> Self {
        Self { line, order, paths, inside: Vec::new() }
    }

    pub fn line(&self) -> BorrowedFd<'_> {
        self.line.as_fd()
    }

    /// Does what the supervisor asks. A line that is cut has nothing more to ask.
    pub fn heed(&mut self) -> bool {
        match line::hear::<Ask>(self.line.as_fd()) {
            Ok(Some((Ask::Begin { id }, fds))) => self.begin(id, fds),
            Ok(Some((Ask::Signal { id, number }, _))) => self.signal(id, i32::from(number)),
            Ok(None) | Err(_) => return false,
        }
        true
    }

    fn begin(&mut self, id: u64, fds: Vec<OwnedFd>) {
        let Ok([start, stdin, stdout, stderr]) = <[OwnedFd; 4]>::try_from(fds) else { return self.tell(id, None) };
        // SAFETY: this process has one thread, so the copy is whole.
        match unsafe { libc::fork() } {
            -1 => self.tell(id, None),
            0 => self.become_guest(start, [stdin, stdout, stderr]),
            pid => self.inside.push((id, pid)),
        }
    }

    fn become_guest(&self, start: OwnedFd, streams: [OwnedFd; 3]) -> ! {
        let program = read_start(start).and_then(|start| Ok((Program::of(&start.command, self.order, &self.paths)?, start.command)));
        let (why, code) = match program.and_then(|program| child::put_ours_away(streams.each_ref(), &self.paths.code).map(|()| program)) {
            Ok((program, command)) => {
                let errno = program.exec();
                (explain(command.first().map_or("", String::as_str), errno), if errno == libc::ENOENT { 127 } else { 126 })
            }
            Err(error) => (format!("it could not be prepared: {error}"), 126),
        };
        if let Ok(words) = CString::new(format!("trainmaster: {why}\n")) {
            // SAFETY: the words outlive the call.
            unsafe { libc::write(streams[2].as_raw_fd(), words.as_ptr().cast(), words.as_bytes().len()) };
        }
        exit_now(code)
    }

    fn signal(&self, id: u64, number: i32) {
        for (_, pid) in self.inside.iter().filter(|guest| guest.0 == id) {
            // SAFETY: plain system calls. The guest is not reaped yet, so its number is still its own. A guest
            // that was born a moment ago has no group so far.
            unsafe {
                if libc::kill(-pid, number) != 0 {
                    libc::kill(*pid, number);
                }
            }
        }
    }

    /// Someone of the tree has ended; perhaps it was a guest.
    pub fn ended(&mut self, pid: i32, status: i32) {
        let Some(place) = self.inside.iter().position(|guest| guest.1 == pid) else { return };
        let (id, _) = self.inside.swap_remove(place);
        self.tell(id, Some(status));
    }

    fn tell(&self, id: u64, status: Option<i32>) {
        let _ = line::say(self.line.as_fd(), &Tell::Ended { id, status }, &[]);
    }
}

fn read_start(file: OwnedFd) -> io::Result<Start> {
    let mut file = File::from(file);
    file.rewind()?;
    let mut text = Vec::new();
    file.read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
