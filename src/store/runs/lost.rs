//! Runs that are on the disk and not in the database: an older copy of it was put in its place, or rows were lost. Nobody can say what
//! should become of them, so they are left alone until an operator says it.

use model::ids::RunKey;

use super::{THIS_RUN, key};
use crate::store::{Sql, StoreError, Written, quarantine};

/// Whether the database has never heard of a run, or has lost it: rows go only together with their job, and
/// then the run is left over until it is erased.
pub fn is_lost(sql: &Sql<'_>, run: &RunKey) -> Result<bool, StoreError> {
    let question = format!("SELECT 1 FROM run WHERE {THIS_RUN} UNION ALL SELECT 1 FROM leftover WHERE run = $5");
    let values = [&key(run)[..], &[run.to_string().into()]].concat();
    Ok(sql.first(&question, &values, |_| Ok(()))?.is_none())
}

/// Nobody can say what should become of a lost run, so it is noted with what was set aside.
pub fn note(sql: &Sql<'_>, run: &RunKey) {
    sql.note_lost_run(run);
}

/// Those that were met since the server started, or before.
pub fn list(sql: &Sql<'_>) -> Result<Vec<RunKey>, StoreError> {
    let mut lost = Vec::new();
    for run in quarantine::runs_set_aside(sql)? {
        if is_lost(sql, &run)? {
            lost.push(run);
        }
    }
    Ok(lost)
}

/// Lets a lost run be ended, as one that nobody wants. What it has written stays, or goes with it.
pub fn end(sql: &Sql<'_>, run: &RunKey, keeps_files: bool) -> Result<Written, StoreError> {
    if !list(sql)?.contains(run) {
        return Ok(Written::Stale);
    }
    sql.execute("INSERT INTO leftover (run, keeps_files) VALUES ($1, $2)", &[run.to_string().into(), u32::from(keeps_files).into()])?;
    quarantine::forget_run(sql, &run.to_string())?;
    Ok(Written::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs, runs, testing::*};

    #[tokio::test]
    async fn only_a_run_that_was_met_and_is_in_no_table_can_be_ended_and_only_once() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        store.write(|sql| runs::insert(sql, &new_run(&run_key(1, "worker-0", 1)))).await.unwrap();
        let met = [run_key(1, "worker-0", 1), run_key(1, "worker-1", 1), run_key(7, "main-0", 2)];
        let looked = met.clone();
        let look = move |sql: &Sql<'_>| {
            for run in &looked {
                if is_lost(sql, run)? {
                    note(sql, run);
                }
            }
            Ok(())
        };
        store.read(look).await.unwrap();
        assert_eq!(store.read(list).await.unwrap(), met[1..]);
        let end = async |run: &RunKey, keeps_files| {
            let run = run.clone();
            store.write(move |sql| end(sql, &run, keeps_files)).await.unwrap()
        };
        assert_eq!((end(&met[0], true).await, end(&run_key(8, "main-0", 1), true).await), (Written::Stale, Written::Stale));
        assert_eq!(
            (end(&met[1], true).await, end(&met[2], false).await, end(&met[2], false).await),
            (Written::Yes, Written::Yes, Written::Stale)
        );
        assert_eq!(store.read(list).await.unwrap(), []);
        assert_eq!(store.read(quarantine::list).await.unwrap(), Vec::<String>::new());
        assert_eq!(store.read(runs::leftovers).await.unwrap(), met[2..], "the files of the other stay");
    }
}
