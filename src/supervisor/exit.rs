//! The exit record: how a run ended, on disk before anyone is told.
//!
//! It is the last line of what is written down about the run, from its order on, under another name of that file. To make a file of its own for
//! it would be one of the dearest things that a short task does.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
};

use model::task::Ending;

use crate::{
    crash,
    rundir::{
        RunDir,
        record::{Record, last_line},
    },
};

/// With the clues of a failure, which are small on purpose; and what is written down of the child before it.
const ROOM_BYTES: i64 = 20 << 10;

/// Takes the room and the name the record will need while there still are some: a full disk gives out neither.
pub fn reserve(dir: &RunDir) -> io::Result<()> {
    // A disk that knows no second names gets a file of its own.
    let _ = fs::hard_link(dir.supervisor(), dir.exit_part());
    let file = open_part(dir)?;
    let length = file.metadata()?.len().cast_signed();
    // SAFETY: a plain system call with a descriptor we own.
    let done = unsafe { libc::fallocate(file.as_raw_fd(), libc::FALLOC_FL_KEEP_SIZE, length, ROOM_BYTES) };
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
    let line = serde_json::to_string(ending)? + "\n";
    open_part(dir)?.write_all(line.as_bytes())?;
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
    OpenOptions::new().append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(dir.exit_part())
}

/// `None` if there is no record. One that cannot be read is an error, and never taken for an ending.
pub fn read(dir: &RunDir) -> io::Result<Option<Ending>> {
    match last_line(&dir.exit())? {
        Record::None => Ok(None),
        Record::Torn => Err(io::Error::new(io::ErrorKind::InvalidData, "the exit record is not whole")),
        Record::Whole(ending) => Ok(Some(ending)),
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
        fs::write(dir.supervisor(), "{\"identity\":1}\n{\"child\":2}\n").unwrap();
        reserve(&dir).unwrap();
        assert_eq!(read(&dir).unwrap(), None);
        record(&dir, &ending).unwrap();
        make_durable(&dir).unwrap();
        assert_eq!(read(&dir).unwrap(), Some(ending));
        assert!(!dir.exit_part().exists());
        let whole = fs::read_to_string(dir.exit()).unwrap();
        assert_eq!(whole.lines().count(), 3, "one file has all that is known of the run");
        fs::write(dir.exit(), &whole[..whole.len() - 9]).unwrap();
        assert!(read(&dir).is_err());
    }
}
