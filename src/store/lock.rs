//! The owner lock: two servers never share a data directory.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use super::OpenError;

/// Held for as long as this lives. The kernel lets go of it when the process dies, however it dies; a
/// process that is merely frozen keeps it. The file itself is never deleted, or two servers could each
/// hold a lock on a file of the same name.
pub(super) struct OwnerLock {
    file: File,
}

impl Drop for OwnerLock {
    fn drop(&mut self) {
        // Closing is not enough: a child that was forked a moment ago still has the file open until it
        // has become its own program.
        drop(self.file.unlock());
    }
}

impl OwnerLock {
    pub fn take(data: &Path) -> Result<Self, OpenError> {
        let path = data.join("lock");
        let failed = |error: std::io::Error| OpenError::Io { path: path.clone(), what: error.to_string() };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(OpenError::Taken { data: data.to_owned(), holder: holder(&mut file) }),
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        if let Err(error) = sign(&mut file) {
            tracing::warn!(%error, "the lock is ours, but it could not be signed with our process id");
        }
        Ok(Self { file })
    }
}

fn sign(file: &mut File) -> std::io::Result<()> {
    let host = nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|_| "this machine".into());
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "process {} on {host}", std::process::id())
}

fn holder(file: &mut File) -> String {
    const HOLDER_BYTES_MAX: u64 = 300;
    let mut text = String::new();
    match file.take(HOLDER_BYTES_MAX).read_to_string(&mut text) {
        Ok(length) if length > 0 => text.trim().to_owned(),
        Ok(_) | Err(_) => "it has not signed the lock yet".into(),
    }
}

#[cfg(test)]
mod tests {
    use crate::store::{Store, testing::*};

    #[test]
    fn a_second_server_is_refused_and_told_who_holds_the_directory() {
        let place = Place::new();
        let first = place.open();
        let refused = Store::open(place.directory.path()).err().unwrap().to_string();
        let data = place.directory.path().display().to_string();
        let host = nix::unistd::gethostname().unwrap();
        let holder = format!("(process {} on {})", std::process::id(), host.to_string_lossy());
        assert_eq!(
            refused.replace(&data, "DATA").replace(&holder, "(HOLDER)"),
            "DATA is in use by another server (HOLDER). Stop that one first, or give this one its own directory with --data"
        );
        drop(first);
        place.open();
    }
}
