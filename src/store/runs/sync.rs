//! How far the output of each run has come.

use model::{
    ids::{JobId, RunKey},
    sync::{SyncState, Synced},
    wire::EventLevel,
};

use super::{COLUMNS, Run, THIS_RUN, key, read};
use crate::store::{
    Sql, StoreError, Value, Written,
    events::{self, NewEvent},
    quarantine::Kind,
};

/// All attempts of a task have one output, so what an earlier one had to copy is the new one's to copy.
pub(super) fn take_over(sql: &Sql<'_>, run: &RunKey) -> Result<(), StoreError> {
    sql.execute(
        "UPDATE run SET sync = NULL, sync_since_ms = NULL
          WHERE job = $1 AND attempt < $2 AND role = $3 AND task_index = $4 AND sync_since_ms IS NOT NULL",
        &key(run),
    )?;
    Ok(())
}

/// Notes how it goes. Stale if nobody waits for it any more.
pub fn syncing(sql: &Sql<'_>, run: &RunKey, why: &str) -> Result<Written, StoreError> {
    let values = [&key(run)[..], &[Value::json(&SyncState::Pending { why: why.to_owned() })]].concat();
    Ok(Written::from_rows(sql.execute(&format!("UPDATE run SET sync = $5 WHERE {THIS_RUN} AND sync_since_ms IS NOT NULL"), &values)?))
}

/// Notes that all of it is there, also where it had been given up.
pub fn synced(sql: &Sql<'_>, run: &RunKey, synced: &Synced, at_ms: u64) -> Result<Written, StoreError> {
    let done = SyncState::Done(synced.clone());
    match super::get(sql, run)?.map(|run| run.sync) {
        None | Some(None) => return Ok(Written::Stale),
        Some(Some(SyncState::Done(_))) => return Ok(Written::Yes),
        Some(Some(SyncState::Pending { .. } | SyncState::GivenUp { .. })) => {}
    }
    let values = [&key(run)[..], &[Value::json(&done)]].concat();
    let changed = sql.execute(&format!("UPDATE run SET sync = $5, sync_since_ms = NULL WHERE {THIS_RUN}"), &values)?;
    if changed > 0 {
        let level = if synced.skipped.is_empty() { EventLevel::Info } else { EventLevel::Warning };
        events::append(sql, &NewEvent::of_run(at_ms, run, "task_synced", synced.words()).level(level))?;
    }
    Ok(Written::from_rows(changed))
}

/// The runs that are over and whose output is not all there.
pub fn unsaved(sql: &Sql<'_>) -> Result<Vec<Run>, StoreError> {
    let question = format!(
        "SELECT {COLUMNS} FROM run WHERE sync_since_ms IS NOT NULL AND state IN ('succeeded', 'failed', 'stopped', 'unknown')
          ORDER BY job, attempt, role, task_index"
    );
    sql.query_sound(Kind::Run, &question, &[], read)
}

/// Nobody tries any more.
pub fn give_up(sql: &Sql<'_>, run: &RunKey, why: &str, at_ms: u64) -> Result<Written, StoreError> {
    let values = [&key(run)[..], &[Value::json(&SyncState::GivenUp { why: why.to_owned() })]].concat();
    let changed =
        sql.execute(&format!("UPDATE run SET sync = $5, sync_since_ms = NULL WHERE {THIS_RUN} AND sync_since_ms IS NOT NULL"), &values)?;
    if changed > 0 {
        let words = SyncState::GivenUp { why: why.to_owned() }.words();
        events::append(sql, &NewEvent::of_run(at_ms, run, "task_sync_given_up", words).level(EventLevel::Error))?;
    }
    Ok(Written::from_rows(changed))
}

/// What had been given up of a job is tried again from now on. Answers how many runs have something to copy.
pub fn want_again(sql: &Sql<'_>, job: JobId, at_ms: u64) -> Result<usize, StoreError> {
    let mut wanted = 0;
    for run in super::of_job(sql, job)? {
        match &run.sync {
            Some(SyncState::Pending { .. }) => wanted += 1,
            Some(SyncState::GivenUp { why }) => {
                let values = [&key(&run.run)[..], &[Value::json(&SyncState::Pending { why: why.clone() }), at_ms.into()]].concat();
                sql.execute(&format!("UPDATE run SET sync = $5, sync_since_ms = $6 WHERE {THIS_RUN}"), &values)?;
                wanted += 1;
            }
            Some(SyncState::Done(_)) | None => {}
        }
    }
    Ok(wanted)
}

/// The runs of a job whose output is not saved.
pub fn not_saved(sql: &Sql<'_>, job: JobId) -> Result<Vec<Run>, StoreError> {
    let is_lost = |run: &Run| match &run.sync {
        Some(SyncState::Pending { .. } | SyncState::GivenUp { .. }) => true,
        Some(SyncState::Done(_)) | None => false,
    };
    Ok(super::of_job(sql, job)?.into_iter().filter(is_lost).collect())
}

#[cfg(test)]
mod tests {
    use model::task::Cause;

    use super::*;
    use crate::store::{
        jobs,
        runs::{self, NewRun},
        testing::*,
    };

    fn copying(run: &RunKey) -> NewRun {
        NewRun { copies_out: true, ..new_run(run) }
    }

    #[tokio::test]
    async fn the_output_of_a_task_is_the_latest_attempts_to_copy_until_it_is_saved_or_given_up() {
        let place = Place::new();
        let store = place.open();
        let (first, second) = (run_key(1, "worker-0", 1), run_key(1, "worker-0", 2));
        let keys = (first.clone(), second.clone());
        let walk = move |sql: &Sql<'_>| {
            let (first, second) = keys;
            jobs::submit(sql, &new_job(1, "digits"))?;
            runs::insert(sql, &copying(&first))?;
            assert_eq!(syncing(sql, &first, "1 of 2 files")?, Written::Yes);
            assert_eq!(runs::ended(sql, &first, &ending(Cause::Exited { code: 3 }), &"".into(), 50)?, Written::Yes);
            assert_eq!(unsaved(sql)?.len(), 1);
            runs::insert(sql, &copying(&second))?;
            assert_eq!((unsaved(sql)?.len(), syncing(sql, &first, "late")?), (0, Written::Stale), "it was taken over");
            assert_eq!(synced(sql, &first, &Synced::default(), 60)?, Written::Stale);
            assert_eq!(runs::ended(sql, &second, &ending(Cause::Exited { code: 0 }), &"".into(), 70)?, Written::Yes);
            assert_eq!(unsaved(sql)?.iter().map(|it| it.run.attempt).collect::<Vec<_>>(), [2]);
            assert_eq!(give_up(sql, &second, "given up by ann", 80)?, Written::Yes);
            assert_eq!((unsaved(sql)?.len(), not_saved(sql, job_id(1))?.len(), syncing(sql, &second, "x")?), (0, 1, Written::Stale));
            assert_eq!((want_again(sql, job_id(1), 90)?, unsaved(sql)?[0].sync_since_ms), (1, Some(90)));
            assert_eq!(synced(sql, &second, &Synced::default(), 100)?, Written::Yes);
            assert_eq!(synced(sql, &second, &Synced::default(), 110)?, Written::Yes, "said again it is as welcome");
            assert_eq!((unsaved(sql)?.len(), not_saved(sql, job_id(1))?.len(), want_again(sql, job_id(1), 120)?), (0, 0, 0));
            Ok(())
        };
        store.write(walk).await.unwrap();
    }
}
