//! The lock a supervisor holds for its whole life: one run, one supervisor.

use std::{
    fs::{File, OpenOptions},
    io,
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
};

/// Released when the last process that holds the descriptor is gone. The init of the child's tree holds
/// it too, so a free lock also says that nothing more will be started.
pub struct Lock {
    _file: File,
}

impl Lock {
    /// `None` if somebody else has it.
    pub fn take(path: &Path) -> io::Result<Option<Self>> {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)?;
        let mut wanted = whole_file();
        // SAFETY: a plain system call with a descriptor and a structure we own.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_SETLK, &raw mut wanted) };
        if done == 0 {
            return Ok(Some(Self { _file: file }));
        }
        let error = io::Error::last_os_error();
        let held = matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES));
        if held { Ok(None) } else { Err(error) }
    }

    /// Looks without taking: were the look to take the lock, even for a moment, a supervisor that
    /// starts in that moment would think it came second.
    pub fn is_held(path: &Path) -> io::Result<bool> {
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            other => other?,
        };
        let mut wanted = whole_file();
        // SAFETY: as above; the answer comes back in the structure.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut wanted) };
        if done != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(i32::from(wanted.l_type) != libc::F_UNLCK)
    }
}

fn whole_file() -> libc::flock {
    libc::flock { l_type: libc::F_WRLCK as i16, l_whence: libc::SEEK_SET as i16, l_start: 0, l_len: 0, l_pid: 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_taker_is_told_and_a_look_takes_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(!Lock::is_held(&path).unwrap());
        let first = Lock::take(&path).unwrap().unwrap();
        assert!(Lock::is_held(&path).unwrap());
        assert!(Lock::take(&path).unwrap().is_none());
        drop(first);
        assert!(!Lock::is_held(&path).unwrap());
        assert!(Lock::take(&path).unwrap().is_some());
    }
}
