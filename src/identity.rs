//! Who a process is: its pid, when it was started, and in which life of the machine. A pid alone is a
//! number that a stranger may carry tomorrow.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub pid: i32,
    /// In clock ticks since the machine started, from `/proc/PID/stat`.
    pub start_ticks: u64,
    pub boot_id: String,
}

/// What `/proc/PID/stat` tells, as far as we ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    pub state: u8,
    pub parent: i32,
    pub start_ticks: u64,
}

impl Identity {
    pub fn own() -> io::Result<Self> {
        Self::of(std::process::id().cast_signed())
    }

    pub fn of(pid: i32) -> io::Result<Self> {
        Ok(Self { pid, start_ticks: stat(pid)?.start_ticks, boot_id: boot_id()? })
    }

    /// Whether the machine was started anew since; then nothing of that life is left.
    pub fn of_another_boot(&self) -> bool {
        boot_id().is_ok_and(|now| now != self.boot_id)
    }

    /// A zombie is not alive: it has closed its files and only waits to be counted.
    pub fn alive(&self) -> bool {
        !self.of_another_boot() && stat(self.pid).is_ok_and(|it| it.start_ticks == self.start_ticks && !matches!(it.state, b'Z' | b'X'))
    }

    /// Signals this process and no other. Answers whether there was anyone to signal.
    ///
    /// The descriptor is opened first and the identity checked after: once we hold it, the pid cannot
    /// pass to a stranger unseen.
    pub fn signal(&self, signal: i32) -> io::Result<bool> {
        let Some(handle) = pidfd(self.pid)? else { return Ok(false) };
        if !self.alive() {
            return Ok(false);
        }
        // SAFETY: a plain system call with a descriptor we own.
        let done = unsafe { libc::syscall(libc::SYS_pidfd_send_signal, handle.as_raw_fd(), signal, std::ptr::null::<u8>(), 0) };
        match (done, io::Error::last_os_error()) {
            (0, _) => Ok(true),
            (_, error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(false),
            (_, error) => Err(error),
        }
    }
}

/// A handle of a process, which can be read from when it has ended. None if there is none of that number.
pub fn pidfd(pid: i32) -> io::Result<Option<OwnedFd>> {
    // SAFETY: a plain system call; the descriptor it answers is ours from here on.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if fd >= 0 {
        // SAFETY: the kernel has just made it for us.
        return Ok(Some(unsafe { OwnedFd::from_raw_fd(fd as i32) }));
    }
    let error = io::Error::last_os_error();
    if error.raw_os_error() == Some(libc::ESRCH) { Ok(None) } else { Err(error) }
}

/// It stays the same for as long as any process lives, so it is read once.
pub fn boot_id() -> io::Result<String> {
    static KNOWN: OnceLock<String> = OnceLock::new();
    if let Some(known) = KNOWN.get() {
        return Ok(known.clone());
    }
    let read = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
    Ok(KNOWN.get_or_init(|| read).clone())
}

/// How long the machine is up, asleep or not. Nobody can set this clock, and a restarted server reads the same one.
pub fn up_ms() -> io::Result<u64> {
    let mut up = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time outlives the call.
    match unsafe { libc::clock_gettime(libc::CLOCK_BOOTTIME, &raw mut up) } {
        0 => Ok(up.tv_sec.cast_unsigned() * 1_000 + up.tv_nsec.cast_unsigned() / 1_000_000),
        _ => Err(io::Error::last_os_error()),
    }
}

pub fn stat(pid: i32) -> io::Result<Stat> {
    // More than such a line can be. The kernel gives it out at once to whoever has room for it; to read a file of a length that
    // nobody knows takes seven calls.
    let mut text = [0; 2048];
    let length = File::open(format!("/proc/{pid}/stat"))?.read(&mut text)?;
    read_stat(&text[..length]).ok_or_else(|| io::Error::other(format!("/proc/{pid}/stat cannot be read")))
}

/// The name in brackets may hold anything, brackets and spaces too, so fields count from the last `)`.
fn read_stat(text: &[u8]) -> Option<Stat> {
    let after = text.iter().rposition(|byte| *byte == b')')? + 1;
    let rest = std::str::from_utf8(&text[after..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = *fields.next()?.as_bytes().first()?;
    let parent = fields.next()?.parse().ok()?;
    // The state is field 3 of the line, the parent field 4, and the start time field 22.
    let start_ticks = fields.nth(17)?.parse().ok()?;
    Some(Stat { state, parent, start_ticks })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_full_of_brackets_does_not_confuse_the_reading() {
        let line = b"77 (a) b) S 12 5 5 0 -1 4194560 1 0 0 0 3 4 0 0 20 0 1 0 987654 11 22";
        assert_eq!(read_stat(line), Some(Stat { state: b'S', parent: 12, start_ticks: 987_654 }));
        assert_eq!(read_stat(b"77 (cut off"), None);
        assert_eq!(read_stat(b"77 (short) S 1 2"), None);
    }

    #[test]
    fn a_stranger_with_the_same_pid_is_neither_alive_nor_signalled() {
        let own = Identity::own().unwrap();
        assert!(own.alive());
        let earlier = Identity { start_ticks: own.start_ticks - 1, ..own.clone() };
        assert!(!earlier.alive());
        assert!(!earlier.signal(libc::SIGKILL).unwrap());
        let before_reboot = Identity { boot_id: "another".into(), ..own };
        assert!(!before_reboot.alive() && before_reboot.of_another_boot());
        assert!(!before_reboot.signal(libc::SIGKILL).unwrap());
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let identity = Identity::of(child.id().cast_signed()).unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while identity.alive() && std::time::Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert!(!identity.alive());
        child.wait().unwrap();
        assert!(!identity.signal(libc::SIGTERM).unwrap());
    }
}
