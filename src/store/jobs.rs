//! Jobs: submitted once, moved under guard, read in many ways.

use model::{
    ids::{JobId, JobName},
    job::JobState,
    plan::Plan,
    retry::Used,
    schedule::Waiting,
};

use super::{Row, Sql, StoreError, Value, Written, events, quarantine, quarantine::Kind, runs};

mod list;
mod submit;

pub use list::{Filter, list};
pub use submit::{Key, NewJob, Submission, submit};

#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    pub id: JobId,
    pub name: JobName,
    pub version: u32,
    pub owner: String,
    pub state: JobState,
    /// From 1; the fence against late reports.
    pub attempt: u32,
    pub used: Used,
    pub plan: Plan,
    /// The JSON that was submitted.
    pub spec: String,
    pub reason: String,
    pub created_at_ms: u64,
    pub queued_at_ms: u64,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    pub stop_by: Option<String>,
}

/// A job's next state, and what is written down with it. `None` leaves what is there, with one
/// exception: a reason for waiting does not outlive the waiting.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub to: JobState,
    pub reason: Option<String>,
    pub at_ms: u64,
    pub used: Option<Used>,
    pub stop_by: Option<String>,
}

const COLUMNS: &str = "job.id, job.name, job.version, job.owner, job.state, job.attempt, job.used_for_user, job.used_for_platform, \
                       job.max_duration_ms, job.reason, job.created_at_ms, job.queued_at_ms, job.started_at_ms, job.ended_at_ms, \
                       job.stop_by, job_plan.spec, job_plan.plan";
/// A job whose plan is lost is still found, and then set aside.
const JOBS: &str = "job LEFT JOIN job_plan ON job_plan.job = job.id";

pub fn get(sql: &Sql<'_>, id: JobId) -> Result<Option<Job>, StoreError> {
    sql.first_sound(Kind::Job, &format!("SELECT {COLUMNS} FROM {JOBS} WHERE job.id = $1"), &[id.into()], read)
}

/// The job of that name; without a version, the newest.
pub fn find(sql: &Sql<'_>, owner: Option<&str>, name: &JobName, version: Option<u32>) -> Result<Option<Job>, StoreError> {
    let mut values = vec![Value::from(name.as_str())];
    let mut question = format!("SELECT {COLUMNS} FROM {JOBS} WHERE job.name = $1");
    if let Some(owner) = owner {
        values.push(owner.into());
        question += &format!(" AND job.owner = ${}", values.len());
    }
    if let Some(version) = version {
        values.push(version.into());
        question += &format!(" AND job.version = ${}", values.len());
    }
    // Versions count within one owner's name; between owners only the time tells which is newest.
    question += if owner.is_some() { " ORDER BY job.version DESC LIMIT 1" } else { " ORDER BY job.id DESC LIMIT 1" };
    sql.first_sound(Kind::Job, &question, &values, read)
}

/// The queue as placing sees it: the highest priority first, then the oldest, and never more than it
/// can look at in one turn.
pub fn queued(sql: &Sql<'_>, most: u32) -> Result<Vec<Waiting>, StoreError> {
    let question = "SELECT id, name, version, priority, max_duration_ms, demand FROM job
                     WHERE state = 'queued' ORDER BY priority DESC, id LIMIT $1";
    sql.query_sound(Kind::Job, question, &[most.into()], |row| {
        let (name, version): (JobName, u32) = (row.parsed("name")?, row.number("version")?);
        Ok(Waiting {
            job: row.parsed("id")?,
            label: format!("{name}@{version}"),
            priority: row.number("priority")?,
            max_duration_ms: row.maybe_number("max_duration_ms")?,
            gang: row.json("demand")?,
        })
    })
}

pub fn count_queued(sql: &Sql<'_>) -> Result<u64, StoreError> {
    let count = sql.first("SELECT COUNT(*) AS count FROM job WHERE state = 'queued'", &[], |row| row.number("count"))?;
    Ok(count.unwrap_or(0))
}

/// Jobs that are placed and not over. Asked by what they are not, so that a state nobody knows comes
/// to light.
pub fn unfinished(sql: &Sql<'_>) -> Result<Vec<Job>, StoreError> {
    let question =
        format!("SELECT {COLUMNS} FROM {JOBS} WHERE job.state NOT IN ('queued', 'succeeded', 'failed', 'stopped') ORDER BY job.id");
    sql.query_sound(Kind::Job, &question, &[], read)
}

/// Moves a job, if it is still where the caller last saw it, and notes the event with it.
///
/// The guard is the whole of our concurrency control: two loops may decide the same thing, or one may
/// decide from an old read, and exactly one write lands.
pub fn advance(sql: &Sql<'_>, seen: (JobId, JobState, u32), change: &Change) -> Result<Written, StoreError> {
    let (id, from, attempt) = seen;
    let new_attempt = attempt + u32::from(change.to == JobState::Queued);
    let no_longer_waits = (from == JobState::Queued).then(String::new);
    let at_if = |holds: bool| Value::from(holds.then_some(change.at_ms));
    let values = [
        id.into(),
        from.text().into(),
        attempt.into(),
        change.to.text().into(),
        new_attempt.into(),
        change.reason.clone().or(no_longer_waits).into(),
        at_if(change.to == JobState::Queued),
        at_if(change.to == JobState::Starting),
        at_if(change.to.is_over()),
        change.used.map(|used| used.for_user).into(),
        change.used.map(|used| used.for_platform).into(),
        change.stop_by.clone().into(),
    ];
    let changed = sql.execute(
        "UPDATE job SET state = $4, attempt = $5, reason = COALESCE($6, reason), queued_at_ms = COALESCE($7, queued_at_ms),
                started_at_ms = COALESCE(started_at_ms, $8), ended_at_ms = COALESCE($9, ended_at_ms),
                used_for_user = COALESCE($10, used_for_user), used_for_platform = COALESCE($11, used_for_platform),
                stop_by = COALESCE($12, stop_by)
          WHERE id = $1 AND state = $2 AND attempt = $3",
        &values,
    )?;
    if changed > 0 {
        let reason = change.reason.as_deref().unwrap_or_default();
        events::append(sql, change.at_ms, id, None, Some(new_attempt), change.to.text(), reason)?;
    }
    Ok(Written::from_rows(changed))
}

/// Says why a job waits. Writes nothing, and so wakes nobody, if that is already what it says.
pub fn set_reason(sql: &Sql<'_>, id: JobId, reason: &str) -> Result<(), StoreError> {
    sql.execute("UPDATE job SET reason = $2 WHERE id = $1 AND state = 'queued' AND reason <> $2", &[id.into(), reason.into()])?;
    Ok(())
}

/// Sets or lifts the longest time a job may take. Too late for a job that is over.
pub fn set_max_duration(sql: &Sql<'_>, id: JobId, most_ms: Option<u64>) -> Result<Written, StoreError> {
    let changed = sql.execute(
        "UPDATE job SET max_duration_ms = $2 WHERE id = $1 AND state NOT IN ('succeeded', 'failed', 'stopped')",
        &[id.into(), most_ms.into()],
    )?;
    Ok(Written::from_rows(changed))
}

/// Removes a job that is over, with its runs, tags and events. Its idempotency key stays and goes on
/// naming this id, so a late repeat of the same request is recognised and does not run it again. With
/// the last version of a name, the name is free and begins at version 1 again.
pub fn delete(sql: &Sql<'_>, id: JobId) -> Result<Written, StoreError> {
    let is_over = sql.first("SELECT 1 FROM job WHERE id = $1 AND state IN ('succeeded', 'failed', 'stopped')", &[id.into()], |_| Ok(()))?;
    if is_over.is_none() {
        return Ok(Written::Stale);
    }
    runs::leave_behind(sql, id)?;
    let removed = sql.first(
        "DELETE FROM job WHERE id = $1 RETURNING owner, name",
        &[id.into()],
        // A job that cannot be read can still be deleted; then only its name is not freed.
        |row| Ok(row.text("owner").ok().zip(row.text("name").ok())),
    )?;
    if let Some((owner, name)) = removed.flatten() {
        free_name(sql, &owner, &name)?;
    }
    quarantine::forget_job(sql, &id.to_string())?;
    Ok(Written::Yes)
}

fn free_name(sql: &Sql<'_>, owner: &str, name: &str) -> Result<(), StoreError> {
    sql.execute(
        "DELETE FROM job_version WHERE owner = $1 AND name = $2
            AND NOT EXISTS (SELECT 1 FROM job WHERE job.owner = $1 AND job.name = $2)",
        &[owner.into(), name.into()],
    )?;
    Ok(())
}

fn read(row: &Row<'_>) -> Result<Job, StoreError> {
    // The column counts, not what the plan said when it was compiled: it may have been changed since.
    let plan = Plan { max_duration_ms: row.maybe_number("max_duration_ms")?, ..row.json("plan")? };
    Ok(Job {
        id: row.parsed("id")?,
        name: row.parsed("name")?,
        version: row.number("version")?,
        owner: row.text("owner")?,
        state: row.spelled("state", JobState::from_text)?,
        attempt: row.number("attempt")?,
        used: Used { for_user: row.number("used_for_user")?, for_platform: row.number("used_for_platform")? },
        plan,
        spec: row.text("spec")?,
        reason: row.text("reason")?,
        created_at_ms: row.number("created_at_ms")?,
        queued_at_ms: row.number("queued_at_ms")?,
        started_at_ms: row.maybe_number("started_at_ms")?,
        ended_at_ms: row.maybe_number("ended_at_ms")?,
        stop_by: row.maybe_text("stop_by")?,
    })
}
