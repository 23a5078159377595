//! What a job's events tell of its own moves and waits.

use model::{ids::JobId, job::JobState, wire::EventLevel, words::Words};

use super::Change;
use crate::store::{
    Row, Sql, StoreError,
    events::{self, NewEvent},
};

/// Notes that a job has moved, with what was said and how long it took to come there.
pub(super) fn moved(sql: &Sql<'_>, job: (JobId, u32), change: &Change) -> Result<(), StoreError> {
    let words = change.reason.clone().unwrap_or_default();
    let event = NewEvent::of_job(change.at_ms, job, event_kind(change.to), words);
    events::append(sql, &event.level(level(change.to)).took(took_ms(sql, job.0, change)?))?;
    Ok(())
}

/// A job that was placed and waits again is tried again.
fn event_kind(to: JobState) -> &'static str {
    match to {
        JobState::Queued => "retried",
        JobState::Starting
        | JobState::Running
        | JobState::Finishing
        | JobState::Stopping
        | JobState::Unknown
        | JobState::Succeeded
        | JobState::Failed
        | JobState::Stopped => to.text(),
    }
}

fn level(to: JobState) -> EventLevel {
    match to {
        JobState::Failed => EventLevel::Error,
        JobState::Queued | JobState::Unknown | JobState::Stopping | JobState::Stopped => EventLevel::Warning,
        JobState::Starting | JobState::Running | JobState::Finishing | JobState::Succeeded => EventLevel::Info,
    }
}

/// From the submission to the end, or from the queue to its place.
fn took_ms(sql: &Sql<'_>, id: JobId, change: &Change) -> Result<Option<u64>, StoreError> {
    let since = match change.to {
        JobState::Starting => "queued_at_ms",
        JobState::Succeeded | JobState::Failed | JobState::Stopped => "created_at_ms",
        JobState::Queued | JobState::Running | JobState::Finishing | JobState::Stopping | JobState::Unknown => return Ok(None),
    };
    let at: Option<u64> = sql.first(&format!("SELECT {since} AS at_ms FROM job WHERE id = $1"), &[id.into()], |row| row.number("at_ms"))?;
    Ok(at.map(|at_ms| change.at_ms.saturating_sub(at_ms)))
}

/// How many changes of mind about why a job waits are told, and how far apart.
const WAITING_TOLD_MAX: u64 = 20;
const WAITING_TOLD_EVERY_MS: u64 = 5_000;

/// Those of the reasons that are not what their jobs say already.
pub fn new_reasons(sql: &Sql<'_>, reasons: Vec<(JobId, Words)>) -> Result<Vec<(JobId, Words)>, StoreError> {
    let mut news = Vec::new();
    for (job, reason) in reasons {
        let values = [job.into(), reason.en.as_str().into()];
        if sql.first("SELECT 1 FROM job WHERE id = $1 AND reason <> $2", &values, |_| Ok(()))?.is_some() {
            news.push((job, reason));
        }
    }
    Ok(news)
}

/// Says why a job waits, or some of its tasks. Writes nothing, and so wakes nobody, if that is already what it says.
pub fn set_reason(sql: &Sql<'_>, id: JobId, reason: &Words, at_ms: u64) -> Result<(), StoreError> {
    let attempt = sql.first(
        "UPDATE job SET reason = $2, reason_zh = $3
          WHERE id = $1 AND reason <> $2 AND (state = 'queued' OR (gang = 0 AND state IN ('starting', 'running')))
          RETURNING attempt",
        &[id.into(), reason.en.as_str().into(), reason.zh.as_str().into()],
        |row| row.number("attempt"),
    )?;
    let Some(attempt) = attempt else { return Ok(()) };
    let (told, last_ms) = events::count(sql, id, "waiting")?;
    if told < WAITING_TOLD_MAX && at_ms >= last_ms + WAITING_TOLD_EVERY_MS {
        events::append(sql, &NewEvent::of_job(at_ms, (id, attempt), "waiting", reason.clone()))?;
    }
    Ok(())
}

/// Writes down which rule decided about another try.
pub fn set_rule(sql: &Sql<'_>, id: JobId, rule: &Words) -> Result<(), StoreError> {
    sql.execute("UPDATE job SET rule = $2, rule_zh = $3 WHERE id = $1", &[id.into(), rule.en.as_str().into(), rule.zh.as_str().into()])?;
    Ok(())
}

/// The rule that decided about another try when the job last failed.
pub fn rule(sql: &Sql<'_>, id: JobId) -> Result<Words, StoreError> {
    let read = |row: &Row<'_>| Ok(Words::new(row.text("rule")?, row.text("rule_zh")?));
    Ok(sql.first("SELECT rule, rule_zh FROM job WHERE id = $1", &[id.into()], read)?.unwrap_or_default())
}
