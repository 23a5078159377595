//! Signals as descriptors, so that one wait serves them and everything else.

use std::{
    io,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd},
    time::Duration,
};

/// Holds these signals back from now on; they wait until a descriptor for them is read.
pub fn hold_back(signals: &[i32]) {
    let set = set_of(signals);
    // SAFETY: the set outlives the call.
    unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
}

/// A descriptor that can be read when one of these signals waits.
pub fn descriptor(signals: &[i32]) -> io::Result<OwnedFd> {
    let set = set_of(signals);
    // SAFETY: the set outlives the call, and the descriptor is ours from here on.
    let fd = unsafe { libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made it for us.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn set_of(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: all zeroes is a valid set to be emptied and filled.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in signals {
            libc::sigaddset(&raw mut set, *signal);
        }
        set
    }
}

/// Takes a signal that waits; if there is none, the error says that it would have to wait.
pub fn take_now(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: all zeroes is a valid value, and the buffer is as long as it says.
    let got = unsafe {
        let mut signal: libc::signalfd_siginfo = std::mem::zeroed();
        libc::read(descriptor.as_raw_fd(), (&raw mut signal).cast(), size_of::<libc::signalfd_siginfo>())
    };
    if got > 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Takes a signal that waits, and answers which.
pub fn take_number(descriptor: &OwnedFd) -> Option<u8> {
    // SAFETY: all zeroes is a valid value, and the buffer is as long as it says.
    let (got, signal) = unsafe {
        let mut signal: libc::signalfd_siginfo = std::mem::zeroed();
        (libc::read(descriptor.as_raw_fd(), (&raw mut signal).cast(), size_of::<libc::signalfd_siginfo>()), signal)
    };
    if got > 0 { u8::try_from(signal.ssi_signo).ok() } else { None }
}

/// Takes what waits on such a descriptor, and answers whether there was any.
pub fn take(descriptor: &OwnedFd) -> bool {
    take_now(descriptor.as_fd()).is_ok()
}

/// Waits until one of the descriptors can be read, its other side is gone, or the time is over.
pub fn wait_for<const N: usize>(fds: [RawFd; N], patience: Option<Duration>) -> [bool; N] {
    let mut entries = fds.map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // Rounded up: to wake before the time is over would be to ask again at once.
    let ms = patience.map_or(-1, |it| i32::try_from(it.as_millis()).unwrap_or(i32::MAX - 1) + 1);
    // SAFETY: the entries are ours and as many as we say.
    let ready = unsafe { libc::poll(entries.as_mut_ptr(), N as libc::nfds_t, ms) };
    entries.map(|entry| ready > 0 && entry.revents != 0)
}
