//! The exit record: how a run ended, on disk before anyone is told.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
};

use model::task::Ending;

use crate::{crash, rundir::RunDir};

/// With the clues of a failure, which are small on purpose.
const RECORD_BYTES_MAX: i64 = 16 << 10;

/// Takes the room the record will need while there still is some.
pub fn reserve(dir: &RunDir) -> io::Result<()> {
    let file = open_part(dir)?;
    // SAFETY: a plain system call with a descriptor we own.
    let done = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, 0, RECORD_BYTES_MAX) };
    match (done, io::Error::last_os_error()) {
        (0, _) => Ok(()),
        // A file system that cannot set room aside is not a reason to refuse the run.
        (_, error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::ENOSYS)) => Ok(()),
        (_, error) => Err(error),
    }
}

/// Records how the task ended, before anyone is told.
///
/// The order is the point. The server may be away for an hour. If we told first and wrote second, our death between
/// the two would leave a finished task that looks lost, and the job would run a second time. Written first, the worst case is a
/// report that arrives late: the server finds this file when it comes back.
///
/// The rename is what makes "the file exists" mean "the file is whole"; a reader never sees half a record.
pub fn record(dir: &RunDir, ending: &Ending) -> io::Result<()> {
    let mut file = open_part(dir)?;
    file.write_all(&serde_json::to_vec(ending)?)?;
    crash::point("finish.exit-record-tmp-written");
    fs::rename(dir.exit_part(), dir.exit())?;
    crash::point("finish.exit-record-renamed-before-notify");
    Ok(())
}

/// Makes the record survive a power cut as well. Where the server says at once that it has the ending, its database does, and
/// this is not needed: see decisions/0020. The directory is synced too, or the rename itself may be lost.
pub fn make_durable(dir: &RunDir) -> io::Result<()> {
    File::open(dir.exit())?.sync_all()?;
    File::open(dir.path())?.sync_all()
}

fn open_part(dir: &RunDir) -> io::Result<File> {
    // Not truncated: that would give the reserved room away. What is written is never longer than what was.
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(dir.exit_part())
}

/// `None` if there is no record. One that cannot be read is an error, and never taken for an ending.
pub fn read(dir: &RunDir) -> io::Result<Option<Ending>> {
    match fs::read(dir.exit()) {
        Ok(text) => Ok(Some(serde_json::from_slice(&text)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::task::Cause;

    #[test]
    fn a_record_is_read_back_whole_and_half_of_one_is_no_ending() {
        let home = tempfile::tempdir().unwrap();
        let dir = RunDir::at(home.path());
        let ending = Ending { peak_memory_bytes: Some(5), ..Ending::new(Cause::Exited { code: 3 }, Some(1), 2) };
        reserve(&dir).unwrap();
        assert_eq!(read(&dir).unwrap(), None);
        record(&dir, &ending).unwrap();
        make_durable(&dir).unwrap();
        assert_eq!(read(&dir).unwrap(), Some(ending));
        assert!(!dir.exit_part().exists());
        fs::write(dir.exit(), r#"{"cause":{"kind":"exi"#).unwrap();
        assert!(read(&dir).is_err());
    }
}
