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
