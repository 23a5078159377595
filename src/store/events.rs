//! What happened, in the order it was committed.

use model::{
    ids::{JobId, TaskName},
    wire::EventView,
};

use super::{Row, Sql, StoreError, Value, quarantine::Kind};

/// Appends an event and answers its number. Numbers are given out without a gap, and never again:
/// the last one is kept on its own, so deleting events does not bring it back.
pub fn append(
    sql: &Sql<'_>,
    at_ms: u64,
    job: JobId,
    task: Option<&TaskName>,
    attempt: Option<u32>,
    kind: &str,
    reason: &str,
) -> Result<u64, StoreError> {
    let next = sql.first("UPDATE meta SET value = value + 1 WHERE name = 'event_seq' RETURNING value", &[], |row| row.number("value"))?;
    let seq: u64 = next.ok_or_else(|| StoreError::Sql("the last event's number is missing from the table `meta`".into()))?;
    sql.execute(
        "INSERT INTO event (seq, at_ms, job, task, attempt, kind, reason) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[seq.into(), at_ms.into(), job.into(), task.map(TaskName::to_string).into(), attempt.into(), kind.into(), reason.into()],
    )?;
    Ok(seq)
}

/// Events after `seq`, oldest first, of one job or of all.
pub fn after(sql: &Sql<'_>, seq: u64, job: Option<JobId>, limit: u32) -> Result<Vec<EventView>, StoreError> {
    let (of_job, mut values) = (job.map_or("", |_| "AND job = $3"), vec![Value::from(seq), limit.into()]);
    values.extend(job.map(Value::from));
    let question = format!("SELECT seq, at_ms, job, task, attempt, kind, reason FROM event WHERE seq > $1 {of_job} ORDER BY seq LIMIT $2");
    sql.query_sound(Kind::Event, &question, &values, read)
}

fn read(row: &Row<'_>) -> Result<EventView, StoreError> {
    Ok(EventView {
        seq: row.number("seq")?,
        at_ms: row.number("at_ms")?,
        job: row.text("job")?,
        task: row.maybe_text("task")?,
        attempt: row.maybe_number("attempt")?,
        kind: row.text("kind")?,
        reason: row.text("reason")?,
    })
}

#[cfg(test)]
mod tests {
    use model::job::JobState;

    use super::*;
    use crate::store::{Store, Written, jobs, testing::*};

    async fn seqs(store: &Store, after_seq: u64, job: Option<JobId>, limit: u32) -> Vec<u64> {
        let events = store.read(move |sql| after(sql, after_seq, job, limit)).await.unwrap();
        events.iter().map(|it| it.seq).collect()
    }

    async fn with_three_jobs(place: &Place) -> Store {
        let store = place.open();
        for number in 1..=3 {
            store.write(move |sql| jobs::submit(sql, &new_job(number, "digits"))).await.unwrap();
        }
        store
    }

    #[tokio::test]
    async fn an_event_comes_back_as_it_was_appended() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        let task: TaskName = "worker-0".parse().unwrap();
        let seq = store.write(move |sql| append(sql, 7, job_id(1), Some(&task), Some(2), "task_ended", "exited with code 3")).await;
        assert_eq!(seq, Ok(4));
        let expected = EventView {
            seq: 4,
            at_ms: 7,
            job: job_id(1).to_string(),
            task: Some("worker-0".into()),
            attempt: Some(2),
            kind: "task_ended".into(),
            reason: "exited with code 3".into(),
        };
        assert_eq!(store.read(|sql| after(sql, 3, None, 10)).await, Ok(vec![expected]));
    }

    #[tokio::test]
    async fn events_are_read_on_from_a_number_for_one_job_or_all() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        store.write(|sql| append(sql, 7, job_id(2), None, None, "note", "")).await.unwrap();
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2, 3, 4]);
        assert_eq!(seqs(&store, 1, None, 2).await, [2, 3]);
        assert_eq!(seqs(&store, 0, Some(job_id(2)), 10).await, [2, 4]);
        assert_eq!(seqs(&store, 2, Some(job_id(2)), 10).await, [4]);
        assert_eq!(seqs(&store, 4, None, 10).await, [0; 0]);
    }

    #[tokio::test]
    async fn numbers_have_no_gap_and_do_not_come_back_after_a_delete_or_a_restart() {
        let place = Place::new();
        let store = with_three_jobs(&place).await;
        let stopped = to(JobState::Stopped, 5);
        let _ = store.write(move |sql| jobs::advance(sql, (job_id(3), JobState::Queued, 1), &stopped)).await.unwrap();
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2, 3, 4]);
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(3))).await, Ok(Written::Yes));
        assert_eq!(seqs(&store, 0, None, 10).await, [1, 2]);
        drop(store);
        let store = place.open();
        let failed = store.write(|sql| append(sql, 7, job_id(99), None, None, "note", "")).await;
        assert!(failed.is_err(), "there is no job 99");
        assert_eq!(store.write(|sql| append(sql, 7, job_id(1), None, None, "note", "")).await, Ok(5));
    }

    #[tokio::test]
    async fn reading_on_uses_an_index() {
        let place = Place::new();
        let store = place.open();
        let plan = async |question: &'static str| {
            let explain = format!("EXPLAIN QUERY PLAN SELECT * FROM event WHERE {question} ORDER BY seq LIMIT 5");
            store.read(move |sql| sql.query(&explain, &[], |row| row.text("detail"))).await.unwrap().join("; ")
        };
        assert_eq!(plan("seq > 1").await, "SEARCH event USING INDEX sqlite_autoindex_event_1 (seq>?)");
        assert_eq!(plan("seq > 1 AND job = 'x'").await, "SEARCH event USING INDEX event_by_job (job=? AND seq>?)");
    }
}
