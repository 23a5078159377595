//! Making init: a fork into new namespaces, and into its control group where the kernel can do that.

use std::{
    io,
    os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use super::child::exit_now;

/// The kernel's `clone_args`, as far as version 2 of it.
#[repr(C, align(8))]
#[derive(Default)]
struct CloneArguments {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

/// Like `fork`, with new namespaces around the new process. `Ok(0)` in the new one.
///
/// The caller has one thread, and it must be the main one: when the thread that made init ends, the
/// kernel kills init.
pub fn fork_with(namespaces: i32, birthplace: Option<&OwnedFd>) -> io::Result<i32> {
    let flags = u64::from(namespaces.cast_unsigned());
    match clone3(flags, birthplace) {
        // Some container runtimes hide the newer call.
        Err(error) if birthplace.is_none() && error.raw_os_error() == Some(libc::ENOSYS) => clone(flags),
        other => other,
    }
}

fn clone3(flags: u64, birthplace: Option<&OwnedFd>) -> io::Result<i32> {
    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;
    let mut arguments = CloneArguments { flags, exit_signal: libc::SIGCHLD as u64, ..CloneArguments::default() };
    if let Some(group) = birthplace {
        arguments.flags |= CLONE_INTO_CGROUP;
        arguments.cgroup = group.as_raw_fd() as u64;
    }
    // SAFETY: without CLONE_VM and a stack this is a fork: the new process has its own copy of everything.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const arguments, size_of::<CloneArguments>()) };
    answer(pid)
}

fn clone(flags: u64) -> io::Result<i32> {
    // SAFETY: as above.
    let pid = unsafe { libc::syscall(libc::SYS_clone, flags | libc::SIGCHLD as u64, 0, 0, 0, 0) };
    answer(pid)
}

fn answer(pid: i64) -> io::Result<i32> {
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid as i32) }
}

/// Room for the last steps before an exec.
const STACK_BYTES: usize = 256 << 10;

/// A new process that borrows our memory instead of copying it, while we wait until it has become a program or ended. It
/// must do no more than that.
pub fn fork_to_exec<F: FnMut()>(mut become_program: F) -> io::Result<i32> {
    extern "C" fn begin<F: FnMut()>(it: *mut libc::c_void) -> i32 {
        // SAFETY: whoever started us waits with it in place.
        unsafe { (*it.cast::<F>())() };
        exit_now(127)
    }
    let mut stack = vec![0_u128; STACK_BYTES / size_of::<u128>()];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack grows down from the end of a buffer that is ours and aligned, and stays until the new process has
    // let go of it, as does what it is to do.
    let pid = unsafe { libc::clone(begin::<F>, stack.as_mut_ptr_range().end.cast(), flags, (&raw mut become_program).cast()) };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// A pipe: reading end, writing end. Neither outlives an exec.
pub fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut fds = [0; 2];
    // SAFETY: the kernel fills the two descriptors, which are ours from here on.
    if unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: as above.
    let [read, write] = fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    Ok((read, write))
}

/// One whose reading end never blocks. It is narrow: whoever says much in it gets it widened.
pub fn open_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, write) = pipe()?;
    // SAFETY: a plain system call on a descriptor we own.
    let done = unsafe { libc::fcntl(read.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) };
    if done == 0 { Ok((read, write)) } else { Err(io::Error::last_os_error()) }
}

/// So that a child that writes much need not wait for us after every little. Where the kernel grants no more, the pipe stays as it is.
/// Answers whether it is wide now.
pub fn widen(pipe: BorrowedFd<'_>) -> bool {
    const PIPE_BYTES_WANTED: libc::c_int = 1 << 20;
    // SAFETY: a plain system call on a descriptor that is open.
    unsafe { libc::fcntl(pipe.as_raw_fd(), libc::F_SETPIPE_SZ, PIPE_BYTES_WANTED) >= PIPE_BYTES_WANTED }
}
