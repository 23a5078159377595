//! What waits to be placed.

use std::{cell::RefCell, collections::HashMap};

use model::{
    ids::JobName,
    retry::PAUSE_MS_MAX,
    schedule::{Demand, Loose, Waiting},
};

use super::{COLUMNS, JOBS, Job, read};
use crate::store::{
    Row, Sql, StoreError,
    quarantine::Kind,
    runs::{BAD, LIVE},
};

/// A job in the queue.
pub struct Queued {
    pub waiting: Waiting,
    /// Whether it says why it waits.
    pub is_told: bool,
}

/// The queue as placing sees it: the highest priority first, then the oldest, and never more than it
/// can look at in one turn. A job in the pause between two attempts is not in it.
pub fn queued(sql: &Sql<'_>, most: u32, now_ms: u64) -> Result<Vec<Queued>, StoreError> {
    let question = "SELECT id, name, version, priority, gang, max_duration_ms, demand, reason <> '' AS is_told FROM job
                     WHERE state = 'queued' AND (not_before_ms IS NULL OR not_before_ms <= $2 OR not_before_ms > $3)
                     ORDER BY priority DESC, id LIMIT $1";
    let known = RefCell::default();
    sql.query_sound(Kind::Job, question, &[most.into(), now_ms.into(), (now_ms + PAUSE_MS_MAX).into()], |row| {
        let (name, version): (JobName, u32) = (row.parsed("name")?, row.number("version")?);
        let gang = demands(row, &known)?;
        let is_gang = row.number::<u32>("gang")? != 0;
        let waiting = Waiting {
            job: row.parsed("id")?,
            label: format!("{name}@{version}"),
            priority: row.number("priority")?,
            max_duration_ms: row.maybe_number("max_duration_ms")?,
            loose: (!is_gang).then(|| Loose::whole(&gang)),
            gang,
        };
        Ok(Queued { waiting, is_told: row.number::<u32>("is_told")? != 0 })
    })
}

/// What a job asks for. In a long queue most ask for the same, and to read it anew would be most of the work.
fn demands(row: &Row<'_>, known: &RefCell<HashMap<String, Vec<Demand>>>) -> Result<Vec<Demand>, StoreError> {
    let text = row.text("demand")?;
    if let Some(demands) = known.borrow().get(&text) {
        return Ok(demands.clone());
    }
    let demands: Vec<Demand> = row.json("demand")?;
    known.borrow_mut().insert(text, demands.clone());
    Ok(demands)
}

/// Jobs that are no gangs and have begun, and of which some tasks may still wait: not every task has a run, or one
/// that has ended may be tried again.
pub fn scattered(sql: &Sql<'_>, most: u32) -> Result<Vec<Job>, StoreError> {
    let question = scattered_question();
    sql.query_sound(Kind::Job, &question, &[most.into()], read)
}

/// As endings are numbered without a gap, those that have ended are known by the last number, and only those that live are counted.
fn scattered_question() -> String {
    let of_job = "run.job = job.id AND run.job_attempt = job.attempt";
    format!(
        "SELECT {COLUMNS} FROM {JOBS} WHERE job.gang = 0 AND job.state IN ('starting', 'running')
            AND ((SELECT COALESCE(MAX(end_order), 0) FROM run WHERE {of_job} AND end_order IS NOT NULL)
                 + (SELECT COUNT(*) FROM run WHERE {of_job} AND run.{LIVE}) < job.tasks
                 OR EXISTS (SELECT 1 FROM run WHERE {of_job} AND run.{BAD}))
          ORDER BY job.priority DESC, job.id LIMIT $1"
    )
}

#[cfg(test)]
mod tests {
    use model::{ids::JobId, job::JobState, retry::Used};

    use super::*;
    use crate::store::{
        Store,
        jobs::{Change, advance, get, submit},
        testing::*,
    };

    async fn job(store: &Store, number: u64) -> Job {
        store.read(move |sql| get(sql, job_id(number))).await.unwrap().unwrap()
    }

    async fn moved(store: &Store, seen: (JobId, JobState, u32), change: Change) {
        let _ = store.write(move |sql| advance(sql, seen, &change)).await.unwrap();
    }

    #[tokio::test]
    async fn a_job_in_the_pause_between_two_attempts_is_not_in_the_queue() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| submit(sql, &new_job(1, "digits"))).await.unwrap();
        moved(&store, (job_id(1), JobState::Queued, 1), to(JobState::Starting, 5)).await;
        let used = Some(Used { for_user: 4, for_platform: 0, in_a_row: 4 });
        moved(&store, (job_id(1), JobState::Starting, 1), Change { used, ..to(JobState::Queued, 10_000) }).await;
        let job = job(&store, 1).await;
        for (now_ms, left_ms) in [(10_000, Some(4000)), (13_999, Some(1)), (14_000, None), (20_000, None), (0, Some(14_000))] {
            let in_queue = !store.read(move |sql| queued(sql, 10, now_ms)).await.unwrap().is_empty();
            assert_eq!((job.pause_left_ms(now_ms), in_queue), (left_ms, left_ms.is_none()), "at {now_ms}");
        }
    }

    #[tokio::test]
    async fn a_clock_that_was_set_back_makes_no_pause_longer() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| submit(sql, &new_job(1, "digits"))).await.unwrap();
        place.change_by_hand("UPDATE job SET not_before_ms = 1000000");
        assert_eq!(job(&store, 1).await.pause_left_ms(5), None);
        assert_eq!(store.read(|sql| queued(sql, 10, 5)).await.unwrap().len(), 1);
    }
}
