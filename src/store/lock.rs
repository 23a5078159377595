//! The owner lock: two servers never share a data directory.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{Read, Seek, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
    time::{Duration, Instant},
};

use super::OpenError;
use crate::identity::Identity;

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

/// A server that was killed while it started a process leaves that one with the lock until it has become its
/// own program. That is a matter of a moment, and no reason to refuse.
const LAST_BREATH: Duration = Duration::from_secs(10);
const BETWEEN_TRIES: Duration = Duration::from_millis(5);

impl OwnerLock {
    pub fn take(data: &Path) -> Result<Self, OpenError> {
        let path = data.join("lock");
        let failed = |error: std::io::Error| OpenError::Io { path: path.clone(), what: error.to_string() };
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(&path).map_err(failed)?;
        let deadline = Instant::now() + LAST_BREATH;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&mut file).map_err(failed)?;
                    if holder.is_alive() || Instant::now() > deadline {
                        return Err(OpenError::Taken { data: data.to_owned(), holder: holder.words });
                    }
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
            std::thread::sleep(BETWEEN_TRIES);
        }
        if let Err(error) = sign(&mut file) {
            tracing::warn!(%error, "the lock is ours, but it could not be signed with our process id");
        }
        Ok(Self { file })
    }
}

/// A line for people, and one that tells this process from whoever carries its number later.
fn sign(file: &mut File) -> std::io::Result<()> {
    let identity = serde_json::to_string(&Identity::own()?)?;
    file.set_len(0)?;
    file.rewind()?;
    write!(file, "process {} on {}\n{identity}\n", std::process::id(), host())
}

struct Holder {
    words: String,
    /// `None` if it has not signed with it: it is on its way to, or older than that line.
    identity: Option<Identity>,
}

fn holder(file: &mut File) -> std::io::Result<Holder> {
    const HOLDER_BYTES_MAX: u64 = 600;
    let mut text = String::new();
    file.rewind()?;
    // Whatever cannot be read has not been signed.
    let _ = file.take(HOLDER_BYTES_MAX).read_to_string(&mut text);
    let mut lines = text.lines();
    let words = lines.next().map(str::trim).filter(|it| !it.is_empty()).unwrap_or("it has not signed the lock yet").to_owned();
    Ok(Holder { words, identity: lines.next().and_then(|line| serde_json::from_str(line).ok()) })
}

impl Holder {
    /// Whoever cannot be shown to be dead is alive: one that has not signed yet, or on another machine.
    fn is_alive(&self) -> bool {
        let Some(pid) = self.words.strip_prefix("process ").and_then(|rest| rest.strip_suffix(&format!(" on {}", host()))) else {
            return true;
        };
        match &self.identity {
            Some(identity) => identity.alive(),
            None => Path::new("/proc").join(pid).exists(),
        }
    }
}

fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_else(|_| "this machine".into())
}

#[cfg(test)]
mod tests {
    use super::Identity;
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

    fn waits_for(signature: &str) {
        let place = Place::new();
        drop(place.open());
        let path = place.directory.path().join("lock");
        std::fs::write(&path, signature).unwrap();
        let left_over = std::fs::File::open(&path).unwrap();
        left_over.lock().unwrap();
        std::thread::scope(|scope| {
            let opening = scope.spawn(|| Store::open(place.directory.path()).map(drop));
            // Long enough for a try that does not wait to have failed.
            let deadline = std::time::Instant::now() + super::LAST_BREATH / 50;
            while std::time::Instant::now() < deadline {
                assert!(!opening.is_finished(), "it was refused at once");
                std::thread::yield_now();
            }
            drop(left_over);
            opening.join().unwrap().unwrap();
        });
    }

    #[test]
    fn what_a_dead_server_has_left_with_its_lock_is_waited_for() {
        let mut dead = std::process::Command::new("true").spawn().unwrap();
        dead.wait().unwrap();
        waits_for(&format!("process {} on {}", dead.id(), super::host()));
    }

    #[test]
    fn a_stranger_with_the_number_of_a_dead_server_is_not_taken_for_it() {
        let own = Identity::own().unwrap();
        let dead = Identity { start_ticks: own.start_ticks - 1, ..own };
        waits_for(&format!("process {} on {}\n{}\n", dead.pid, super::host(), serde_json::to_string(&dead).unwrap()));
    }
}
