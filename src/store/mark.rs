//! How far the database had come, in a small file beside it: the number of its last event.
//!
//! What was answered lately may stand in the write-ahead log alone. A database that comes back without that log looks whole,
//! and would forget those jobs without a word. The file is written after each commit and never synced: it may say less than
//! the database has, after a power cut, and never more.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, ErrorKind, Read},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use super::OpenError;

pub(super) struct Mark {
    file: File,
    last: u64,
}

/// All lines are of one length, so that a shorter one leaves nothing of a longer one behind it.
const DIGITS: usize = 19;

impl Mark {
    /// Refuses a database that has gone back to what it was before.
    pub fn check(database: &Path, found: u64) -> Result<(), OpenError> {
        let mark = path_of(database);
        match told(&mark) {
            Ok(told) if told > found => Err(OpenError::Older { path: database.to_owned(), mark, missing: told - found }),
            Ok(_) => Ok(()),
            Err(error) => Err(OpenError::Io { path: mark, what: error.to_string() }),
        }
    }

    pub fn open(database: &Path) -> Result<Self, OpenError> {
        let path = path_of(database);
        let opened = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        Ok(Self { file: opened.map_err(|error| OpenError::Io { path, what: error.to_string() })?, last: 0 })
    }

    /// A new database has nothing to come up to.
    pub fn forget(database: &Path) -> Result<(), OpenError> {
        let path = path_of(database);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(OpenError::Io { path, what: error.to_string() }),
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// A disk that does not take it is told of by the commits themselves.
    pub fn raise(&mut self, to: u64) {
        if to != self.last && self.file.write_all_at(format!("{to:0DIGITS$}\n").as_bytes(), 0).is_ok() {
            self.last = to;
        }
    }
}

fn path_of(database: &Path) -> PathBuf {
    database.with_extension("mark")
}

/// Zero where nobody has written anything that can be read.
fn told(mark: &Path) -> io::Result<u64> {
    let mut text = String::new();
    match File::open(mark) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(0),
        other => drop(other?.take(DIGITS as u64).read_to_string(&mut text)),
    }
    Ok(text.parse().unwrap_or(0))
}
