//! Numbers that tasks write about themselves: found in what they leave, kept in a book beside each task, read as curves.

mod book;
mod collect;
mod pyramid;
mod rows;
#[cfg(test)]
mod tests;
mod view;

use std::{io, path::Path, time::SystemTime};

use model::{
    ids::{JobId, RunKey, TaskName},
    metrics::SeriesSummary,
};
use rusqlite::ErrorCode;

pub use book::{Book, Note, Stored};
pub use collect::{Collector, Errand};
pub use view::{Axis, Curve, Range, view};

use crate::rundir::{RunDir, reading_marker};

/// The book of a task, if it said a number yet.
pub fn book(data: &Path, job: JobId, task: &TaskName) -> io::Result<Option<Book>> {
    Book::open(&RunDir::new(data, &RunKey { job, task: task.clone(), attempt: 1 }).metrics())
}

/// Whether something that a run wrote was not looked at yet.
pub fn is_being_read(data: &Path, run: &RunKey) -> bool {
    reading_marker(data, run).exists()
}

/// When something was last written in the book of a task.
pub fn written_at(data: &Path, job: JobId, task: &TaskName) -> Option<SystemTime> {
    let directory = RunDir::new(data, &RunKey { job, task: task.clone(), attempt: 1 }).metrics();
    std::fs::metadata(directory.join("book.db-wal")).and_then(|it| it.modified()).ok()
}

/// Every series of a run. A run that wrote no numbers has none.
pub fn summaries(data: &Path, run: &RunKey) -> io::Result<Vec<SeriesSummary>> {
    let Some(book) = Book::open(&RunDir::new(data, run).metrics())? else { return Ok(Vec::new()) };
    let of_run = book.series()?.into_iter().filter(|it| it.key.attempt == run.attempt);
    Ok(of_run.map(|it| it.summary(&run.task)).collect())
}

/// A fault of the book, as one of the disk it lies on; damage is invalid data.
fn broken(error: rusqlite::Error) -> io::Error {
    let kind = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => io::ErrorKind::InvalidData,
        _ => io::ErrorKind::Other,
    };
    io::Error::new(kind, format!("the book of metrics: {error}"))
}
