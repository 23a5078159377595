//! The nursery: one small process that becomes a supervisor as often as it is asked to, by forking. To
//! exec the whole program anew for every task would cost more than all the rest of a short task.
//!
//! It lives as long as there is something to do. Its supervisors do not depend on it: each goes into a
//! session of its own, and when the nursery or the server is gone, they are not.

use std::{
    ffi::OsStr,
    io,
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
        unix::ffi::OsStrExt,
    },
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use super::{
    cgroup::Hierarchies,
    child::exit_now,
    life,
    pattern::{Machine, Pattern},
    signals, text,
    told::Told,
};
use crate::{identity, rundir::RunDir};

/// The flag that makes a `supervise` a nursery.
pub const FLAG: &str = "--nursery";

const IDLE_MAX: Duration = Duration::from_secs(5);
const PATH_BYTES_MAX: usize = 4096;
/// After so many there will be more, and what costs as much as one of them is worth it.
const MANY: usize = 16;

/// A nursery as the engine holds it.
pub struct Nursery {
    line: OwnedFd,
    process: Child,
}

impl Nursery {
    /// Starts one. `command` is this program's `supervise` with the environment its supervisors will have.
    pub fn open(mut command: Command) -> io::Result<Self> {
        let (line, theirs) = line()?;
        let process = command.arg(FLAG).stdin(Stdio::from(theirs)).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Self { line, process })
    }

    /// Asks for a supervisor of the run in `dir`. A broken pipe means that the nursery has closed; nothing
    /// it had taken before is lost by that.
    pub fn raise(&self, dir: &Path) -> io::Result<()> {
        let bytes = dir.as_os_str().as_bytes();
        let flags = libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT;
        // SAFETY: the buffer outlives the call.
        let sent = unsafe { libc::send(self.line.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) };
        if sent >= 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Whether it has ended. Once it has, it is also reaped.
    pub fn is_over(&mut self) -> bool {
        !matches!(self.process.try_wait(), Ok(None))
    }
}

fn line() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the kernel fills the two descriptors, which are ours from here on.
    let done = unsafe { libc::socketpair(libc::AF_UNIX, libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC, 0, fds.as_mut_ptr()) };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let [ours, theirs] = fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    Ok((ours, theirs))
}

/// Tends the line on standard input until the server hangs up or nothing was asked for a while.
pub fn tend() {
    // SAFETY: plain system calls on this process alone. Children are left to the kernel to reap.
    unsafe {
        libc::setsid();
        libc::signal(libc::SIGCHLD, libc::SIG_IGN);
    }
    // What every supervisor will need to know, learnt once for all of them.
    Hierarchies::here();
    let _ = identity::boot_id();
    let line = io::stdin();
    let line = line.as_fd();
    let (mut open, mut patterns) = (true, Patterns::default());
    loop {
        let [asked] = signals::wait_for([line.as_raw_fd()], Some(IDLE_MAX));
        if !asked && open {
            // From here on the engine's words come back to it, so none is lost; those before are still heard.
            // SAFETY: a plain system call on a descriptor we own.
            unsafe { libc::shutdown(line.as_raw_fd(), libc::SHUT_RD) };
            open = false;
        }
        match next(line) {
            Some(dir) => {
                raise(dir, &mut patterns);
                if patterns.asked == MANY {
                    // Where it stays as it is, it is only slower.
                    let _ = text::move_to_large_pages();
                }
            }
            None => return,
        }
    }
}

fn next(line: BorrowedFd<'_>) -> Option<PathBuf> {
    let mut bytes = [0_u8; PATH_BYTES_MAX];
    // SAFETY: the buffer is ours, as long as it says, and outlives the call.
    let got = unsafe { libc::recv(line.as_raw_fd(), bytes.as_mut_ptr().cast(), bytes.len(), 0) };
    let length = usize::try_from(got).ok().filter(|length| *length > 0)?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes[..length])))
}

/// The pattern of the roots, while there is one that is like the machine.
#[derive(Default)]
struct Patterns {
    asked: usize,
    last: Option<(Machine, Pattern)>,
}

impl Patterns {
    /// Whoever comes alone is sooner done without.
    fn look(&mut self, dir: &RunDir) {
        self.asked += 1;
        let is_good = self.last.as_ref().is_some_and(|(machine, _)| machine.is_as_it_was());
        if self.asked > 1 && !is_good && nix::unistd::geteuid().is_root() {
            // Without one every root is built by itself.
            self.last = Machine::look().and_then(|machine| Ok((machine, Pattern::build(dir)?))).ok();
        }
    }

    /// For the one who is raised, who has no use for what the machine was like.
    fn into_last(self) -> Option<Pattern> {
        self.last.map(|(_, pattern)| pattern)
    }
}

/// A fork that fails is not reported: the run stays as nobody's, and is started again.
fn raise(dir: PathBuf, patterns: &mut Patterns) {
    patterns.look(&RunDir::at(&dir));
    // SAFETY: this process has one thread, so the copy is whole.
    if unsafe { libc::fork() } != 0 {
        return;
    }
    let lived = catch_unwind(AssertUnwindSafe(|| {
        leave_the_line()?;
        life::live(&Told { dir, remote: None }, std::mem::take(patterns).into_last())
    }));
    match lived {
        Ok(Ok(())) => exit_now(0),
        Ok(Err(error)) => super::journal::say(&format!("{error:#}")),
        Err(_) => {}
    }
    exit_now(3)
}

fn leave_the_line() -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    // SAFETY: plain system calls on this process alone. Without the default, an ended init would be
    // reaped before we could ask how it ended.
    unsafe {
        libc::dup2(null.as_raw_fd(), 0);
        libc::signal(libc::SIGCHLD, libc::SIG_DFL);
    }
    Ok(())
}
