//! A pipe of our own between the child's pipe and the log. While the kernel writes a pipe to a file it lets nobody put more into
//! it, so a child that says very much would stand still for half the time. Pages go from its pipe to ours without being
//! copied, and it can fill its own again while ours runs out to the disk.

use std::{
    fs::File,
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd},
};

use super::super::spawn;

/// As much as goes through at once: all that a wide pipe holds. With a quarter of it the child waits more often than it writes.
const CHAMBER_BYTES_MAX: usize = 1 << 20;

pub struct Sluice {
    out: OwnedFd,
    into: OwnedFd,
}

impl Sluice {
    pub fn build() -> io::Result<Self> {
        let (out, into) = spawn::open_pipe()?;
        spawn::widen(out.as_fd());
        Ok(Self { out, into })
    }

    /// Takes what is in a pipe, up to a chamber full, at once: to ask for more would be to wait until the child has written it. It
    /// must be empty before.
    pub fn fill(&self, pipe: BorrowedFd<'_>) -> usize {
        usize::try_from(splice(pipe, self.into.as_fd(), None, CHAMBER_BYTES_MAX)).unwrap_or(0)
    }

    /// Lets it run out to that place in a file, as far as the disk takes it.
    pub fn empty(&self, file: &File, at: u64) -> usize {
        let Ok(mut at) = libc::loff_t::try_from(at) else { return 0 };
        until_nothing_moves(CHAMBER_BYTES_MAX, |left| splice(self.out.as_fd(), file.as_fd(), Some(&mut at), left))
    }

    /// What the disk did not take.
    pub fn rest(&self, buffer: &mut [u8]) -> usize {
        let most = buffer.len();
        until_nothing_moves(most, |left| {
            let room = &mut buffer[most - left..];
            // SAFETY: the buffer is ours, as long as it says, and outlives the call.
            unsafe { libc::read(self.out.as_raw_fd(), room.as_mut_ptr().cast(), room.len()) }
        })
    }
}

fn splice(from: BorrowedFd<'_>, to: BorrowedFd<'_>, at: Option<&mut libc::loff_t>, most: usize) -> isize {
    let at = at.map_or(std::ptr::null_mut(), std::ptr::from_mut);
    // SAFETY: a plain system call on two descriptors that are open; the place outlives it.
    unsafe { libc::splice(from.as_raw_fd(), std::ptr::null_mut(), to.as_raw_fd(), at, most, libc::SPLICE_F_NONBLOCK) }
}

/// Repeats a step, which is told how much is left, and answers how much was done.
fn until_nothing_moves(most: usize, mut step: impl FnMut(usize) -> isize) -> usize {
    let mut moved = 0;
    while moved < most {
        match usize::try_from(step(most - moved)) {
            Ok(0) => break,
            Ok(more) => moved += more,
            Err(_) if io::Error::last_os_error().kind() == io::ErrorKind::Interrupted => {}
            Err(_) => break,
        }
    }
    moved
}
