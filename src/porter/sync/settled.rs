//! Whether a file is finished, as far as one can tell while the task runs.

use std::{
    fs::{File, Metadata},
    io,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// A file that was not touched for so long is looked at.
const QUIET: Duration = Duration::from_secs(2);
/// Where the kernel does not say whether somebody writes, only time does.
const QUIET_IN_DOUBT: Duration = Duration::from_secs(30);

/// Whether it was left alone for a while. Its last change is dated by the kernel.
pub fn is_quiet(metadata: &Metadata) -> bool {
    quiet_for(metadata) >= QUIET
}

fn quiet_for(metadata: &Metadata) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let changed = Duration::new(metadata.ctime().max(0).unsigned_abs(), u32::try_from(metadata.ctime_nsec()).unwrap_or(0));
    // A change in the future is one from before somebody set the clock back.
    now.checked_sub(changed).unwrap_or(QUIET_IN_DOUBT)
}

/// Whether nobody is in the middle of writing it. A program may pause for minutes between two halves of a checkpoint, so the
/// kernel is asked: it leases a file for reading only while nobody has it open to write.
pub fn nobody_writes(file: &File, metadata: &Metadata, name: &[u8]) -> bool {
    if grows_by_lines(name) {
        return true;
    }
    match lease(file, libc::F_RDLCK) {
        Ok(()) => {
            let _released = lease(file, libc::F_UNLCK);
            true
        }
        Err(error) if error.raw_os_error() == Some(libc::EAGAIN) => false,
        Err(_) => quiet_for(metadata) >= QUIET_IN_DOUBT,
    }
}

fn lease(file: &File, kind: i32) -> io::Result<()> {
    // SAFETY: a plain system call with a descriptor we own.
    let done = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETLEASE, kind) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Files that are held open for hours and are good to read at any length.
pub fn grows_by_lines(name: &[u8]) -> bool {
    let last = name.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let ends = [&b".log"[..], b".jsonl", b".csv", b".tsv", b".txt", b".out", b".err"];
    ends.iter().any(|end| last.ends_with(end)) || last.windows(8).any(|part| part == b"tfevents")
}

/// Writes through a mapping change a file's times only when its pages were clean before. Cleaned now, the next write is seen.
pub fn clean_pages(file: &File) -> io::Result<()> {
    file.sync_data()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_open_for_writing_is_not_finished_however_long_it_rests() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("model.pt");
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        let metadata = reader.metadata().unwrap();
        assert!(!is_quiet(&metadata));
        assert!(!nobody_writes(&reader, &metadata, b"model.pt"));
        assert!(nobody_writes(&reader, &metadata, b"logs/events.out.tfevents.1"));
        drop(writer);
        assert!(nobody_writes(&reader, &metadata, b"model.pt"));
        assert!(File::options().write(true).open(&path).is_ok(), "the lease was given back");
    }
}
