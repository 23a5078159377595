//! Bringing a database to the shape this program knows, one step at a time.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{OpenError, open::make_durable};
use crate::crash;

/// Every step ever made; a step that was released is never edited. The number of steps done stands in
/// the database as its `user_version`.
pub(super) const STEPS: &[&str] = &[include_str!("migrations/0001_first.sql")];

/// Does the steps that are missing. Each is one transaction together with its number, so a crash
/// between two of them is taken up where it stopped.
pub(super) fn migrate(connection: &Connection, steps: &[&str]) -> Result<(), OpenError> {
    for (done, step) in steps.iter().enumerate().skip(version(connection)? as usize) {
        connection.execute_batch(&format!("BEGIN IMMEDIATE; {step}; PRAGMA user_version = {}; COMMIT", done + 1)).inspect_err(|_| {
            // The next start begins this step from its beginning.
            drop(connection.execute_batch("ROLLBACK"));
        })?;
        crash::point("admin.between-migration-steps");
    }
    Ok(())
}

/// Copies the database aside if steps are missing, under the number of the first of them.
pub(super) fn keep_a_copy(connection: &Connection, path: &Path, steps: &[&str]) -> Result<Option<PathBuf>, OpenError> {
    let version = version(connection)?;
    if version as usize >= steps.len() {
        return Ok(None);
    }
    let copy = path.with_file_name(format!("store.db.before-{}", version + 1));
    let part = path.with_file_name(format!("store.db.before-{}.part", version + 1));
    // Half a copy from an earlier try is worth nothing.
    drop(std::fs::remove_file(&part));
    connection.backup("main", &part, None::<fn(rusqlite::backup::Progress)>)?;
    make_durable(&part, &copy)?;
    Ok(Some(copy))
}

pub(super) fn version(connection: &Connection) -> Result<u32, OpenError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}
