//! Bringing a database to the shape this program knows, one step at a time.

use std::path::{Path, PathBuf};

use rusqlite::Connection;

use super::{OpenError, open::make_durable};
use crate::crash;

/// Every step ever made; a step that was released is never edited. The number of steps done stands in
/// the database as its `user_version`.
pub(super) const STEPS: &[&str] = &[
    include_str!("migrations/0001_first.sql"),
    include_str!("migrations/0002_params.sql"),
    include_str!("migrations/0003_ready.sql"),
    include_str!("migrations/0004_attempts.sql"),
    include_str!("migrations/0005_volumes.sql"),
    include_str!("migrations/0006_uploads.sql"),
    include_str!("migrations/0007_secrets.sql"),
    include_str!("migrations/0008_commit.sql"),
    include_str!("migrations/0009_sync.sql"),
    include_str!("migrations/0010_reasons.sql"),
    include_str!("migrations/0011_lineage.sql"),
    include_str!("migrations/0012_sessions.sql"),
    include_str!("migrations/0013_waiting.sql"),
    include_str!("migrations/0014_originals.sql"),
    include_str!("migrations/0015_ready_answers.sql"),
    include_str!("migrations/0016_rule.sql"),
    include_str!("migrations/0017_datasets.sql"),
    include_str!("migrations/0018_algorithms.sql"),
    include_str!("migrations/0019_fewer_indexes.sql"),
];

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs, testing::*};

    const KNOWN: u32 = STEPS.len() as u32;

    /// Every step there is, and two for the tests alone.
    fn two_more() -> Vec<&'static str> {
        [STEPS, &["CREATE TABLE second (x TEXT)", "CREATE TABLE third (x TEXT)"]].concat()
    }

    fn tables(connection: &Connection) -> Vec<String> {
        let question = "SELECT name FROM sqlite_master WHERE type = 'table' AND name IN ('job', 'second', 'third') ORDER BY name";
        let mut statement = connection.prepare(question).unwrap();
        let names = statement.query_map([], |row| row.get(0)).unwrap();
        names.map(Result::unwrap).collect()
    }

    #[tokio::test]
    async fn missing_steps_are_done_after_a_copy_was_kept() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        drop(store);
        let connection = place.by_hand();
        let copy = keep_a_copy(&connection, &place.file(), &two_more()).unwrap().unwrap();
        migrate(&connection, &two_more()).unwrap();
        assert_eq!((tables(&connection), version(&connection).unwrap()), (vec!["job".into(), "second".into(), "third".into()], KNOWN + 2));

        assert_eq!(copy.file_name().unwrap(), format!("store.db.before-{}", KNOWN + 1).as_str());
        let copy = Connection::open(copy).unwrap();
        assert_eq!((tables(&copy), version(&copy).unwrap()), (vec!["job".into()], KNOWN));
        let jobs: i64 = copy.query_row("SELECT COUNT(*) FROM job", [], |row| row.get(0)).unwrap();
        assert_eq!(jobs, 1);
        assert_eq!(keep_a_copy(&connection, &place.file(), &two_more()).unwrap(), None, "nothing to do, nothing to keep");
    }

    #[test]
    fn a_step_that_fails_leaves_the_steps_before_it_and_is_taken_up_again() {
        let place = Place::new();
        drop(place.open());
        let connection = place.by_hand();
        let mut with_mistake = two_more();
        *with_mistake.last_mut().unwrap() = "CREATE TABLE third (x TEXT); CREATE TABLE job (x TEXT)";
        assert!(migrate(&connection, &with_mistake).is_err());
        assert_eq!((tables(&connection), version(&connection).unwrap()), (vec!["job".into(), "second".into()], KNOWN + 1));
        let copy = keep_a_copy(&connection, &place.file(), &two_more()).unwrap().unwrap();
        let later = format!("store.db.before-{}", KNOWN + 2);
        assert_eq!(copy.file_name().unwrap(), later.as_str(), "the copy from before the step that was done is not overwritten");
        migrate(&connection, &two_more()).unwrap();
        assert_eq!((tables(&connection).len(), version(&connection).unwrap()), (3, KNOWN + 2));
    }

    #[test]
    fn a_crash_between_two_steps_is_taken_up_where_it_stopped() {
        let name = "store::migrate::tests::a_crash_between_two_steps_is_taken_up_where_it_stopped";
        if let Some(directory) = given_directory() {
            migrate(&Connection::open(directory.join("store.db")).unwrap(), &two_more()).unwrap();
            unreachable!("the crash point comes after the first step");
        }
        let place = Place::new();
        drop(place.open());
        assert!(!in_child(name, place.directory.path(), Some("admin.between-migration-steps")).status.success());
        let connection = place.by_hand();
        assert_eq!(version(&connection).unwrap(), KNOWN + 1);
        migrate(&connection, &two_more()).unwrap();
        assert_eq!((tables(&connection).len(), version(&connection).unwrap()), (3, KNOWN + 2));
    }

    #[test]
    fn a_run_from_before_belongs_to_the_attempt_of_its_own_number() {
        let place = Place::new();
        let connection = place.by_hand();
        migrate(&connection, &STEPS[..3]).unwrap();
        connection.pragma_update(None, "foreign_keys", false).unwrap();
        let old = "INSERT INTO run (job, attempt, role, task_index, state, node, amount, devices, ports, address, placed_at_ms, missing)
                   VALUES ('j', 3, 'worker', 0, 'failed', 'n', '{}', '{}', '{}', '', 1, '[]')";
        connection.execute(old, []).unwrap();
        migrate(&connection, STEPS).unwrap();
        let (attempt, note): (u32, String) =
            connection.query_row("SELECT job_attempt, note FROM run", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
        assert_eq!((attempt, note.as_str()), (3, ""));
    }
}
