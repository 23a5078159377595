//! What can go wrong with the database: while it is used, and before it can be.

use std::path::PathBuf;

use rusqlite::{ErrorCode, ffi};

use crate::seal::SealError;

/// Why a read or a write was not done. After any of these, nothing of that write is in the database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// Trying again later may work.
    #[error("the database is held by another program; nothing was written")]
    Busy,
    /// Writes go on by themselves when there is space again.
    #[error("the disk of the data directory is full; nothing was written")]
    Full,
    /// What is on the disk can no longer be vouched for, so nothing more is written until a restart.
    #[error("the database cannot be trusted any more: {0}")]
    Broken(String),
    #[error("the database refused: {0}")]
    Sql(String),
    #[error("{what} cannot be read and was set aside")]
    Unreadable { what: String },
    #[error("a secret cannot be sealed or opened: {0}")]
    Seal(String),
    #[error("the server failed inside a database call; nothing was written")]
    Panicked,
}

impl From<SealError> for StoreError {
    fn from(error: SealError) -> Self {
        StoreError::Seal(error.to_string())
    }
}

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        let Some(failure) = error.sqlite_error() else { return StoreError::Sql(error.to_string()) };
        match (failure.code, failure.extended_code) {
            (ErrorCode::DiskFull, _) => StoreError::Full,
            // A full disk shows itself here when the WAL's index has to grow.
            (ErrorCode::SystemIoFailure, ffi::SQLITE_IOERR_SHMSIZE) => StoreError::Full,
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => StoreError::Busy,
            (ErrorCode::SystemIoFailure | ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase, _) => StoreError::Broken(error.to_string()),
            _ => StoreError::Sql(error.to_string()),
        }
    }
}

/// Why the server cannot begin with this data directory. Each says what to do about it, and none of
/// them changes what is there.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("{} is in use by another server ({holder}). Stop that one first, or give this one its own directory with --data", .data.display())]
    Taken { data: PathBuf, holder: String },
    #[error("{} is empty: it has lost its content. Put a backup in its place, or move it away to begin with no jobs", .0.display())]
    Empty(PathBuf),
    #[error("{} is missing, but its write-ahead log {}-wal is there. Put both back together, or move the log away to begin with no jobs", .0.display(), .0.display())]
    Missing(PathBuf),
    #[error("{} is older than it was: its last {missing} events are missing, as when {}-wal was deleted or a backup was put back. Put that log or a newer backup in its place; to go on without them, delete {}", .path.display(), .path.display(), .mark.display())]
    Older { path: PathBuf, mark: PathBuf, missing: u64 },
    #[error("{} is damaged: {what}. Put a backup in its place, or move it away to begin with no jobs; running tasks are not touched", .path.display())]
    Corrupt { path: PathBuf, what: String },
    #[error("{} is not a database of Trainmaster: {what}. Give another directory with --data, or move this file away", .path.display())]
    Foreign { path: PathBuf, what: String },
    #[error("{} was written by a newer Trainmaster (database version {found}; this one knows up to {known}). Install the newer one again, or put back the copy that it made, store.db.before-{}", .path.display(), .known + 1)]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error("{} cannot be written to. Check its permissions and whether its disk is mounted read-only", .0.display())]
    ReadOnly(PathBuf),
    #[error("{}: {what}", .path.display())]
    Io { path: PathBuf, what: String },
    #[error("the database could not be opened")]
    Store(#[from] StoreError),
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        OpenError::Store(error.into())
    }
}
