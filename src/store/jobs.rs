//! Jobs: submitted once, moved under guard, read in many ways.

use model::{
    ids::{JobId, JobName, RunKey},
    job::JobState,
    plan::Plan,
    retry::{self, Used},
    words::Words,
};

use super::{
    Row, Sql, StoreError, Value, Written,
    quarantine::{self, Kind},
    runs,
};

pub mod clock;
pub mod counts;
mod description;
mod list;
mod queue;
mod submit;
mod told;

pub use description::{Saying, set_description};
pub use list::{Filter, Order, list};
pub use queue::{Queued, queued, scattered};
pub use submit::{Key, NOTE, NewJob, Submission, known, submit};
pub use told::{new_reasons, rule, set_reason, set_rule};

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
    pub reason: Words,
    pub created_at_ms: u64,
    pub queued_at_ms: u64,
    /// The end of the pause before this attempt, where it has one.
    pub not_before_ms: Option<u64>,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    pub stop_by: Option<String>,
    /// What its code from git turned out to be, once a task had it.
    pub commit: Option<String>,
}

impl Job {
    /// How much is left of the pause before its next attempt.
    pub fn pause_left_ms(&self, now_ms: u64) -> Option<u64> {
        retry::pause_left_ms(self.not_before_ms.filter(|_| self.state == JobState::Queued)?, now_ms)
    }
}

/// A job's next state, and what is written down with it. `None` leaves what is there, with one
/// exception: a reason for waiting does not outlive the waiting.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    pub to: JobState,
    pub reason: Option<Words>,
    pub at_ms: u64,
    pub used: Option<Used>,
    pub stop_by: Option<String>,
}

const COLUMNS: &str = "job.id, job.name, job.version, job.owner, job.state, job.attempt, job.used_for_user, job.used_for_platform, \
                       job.used_in_a_row, job.not_before_ms, job.max_duration_ms, job.reason, job.reason_zh, job.created_at_ms, job.queued_at_ms, job.started_at_ms, job.ended_at_ms, \
                       job.stop_by, job.commit_id, job.description, job_plan.spec, job_plan.plan";
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

/// The versions of a job that can be read, newest first, and below `before` if that is given.
pub fn versions(sql: &Sql<'_>, owner: &str, name: &JobName, before: Option<u32>, most: u32) -> Result<Vec<(JobId, u32)>, StoreError> {
    let values = [owner.into(), name.as_str().into(), before.unwrap_or(u32::MAX).into(), most.into()];
    let question = format!(
        "SELECT {COLUMNS} FROM {JOBS} WHERE job.owner = $1 AND job.name = $2 AND job.version < $3 ORDER BY job.version DESC LIMIT $4"
    );
    Ok(sql.query_sound(Kind::Job, &question, &values, read)?.into_iter().map(|job| (job.id, job.version)).collect())
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

/// Jobs that have begun, those between two attempts too.
pub fn begun(sql: &Sql<'_>) -> Result<Vec<Job>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM {JOBS} WHERE job.state = 'queued' AND job.attempt > 1 ORDER BY job.id");
    let mut begun = unfinished(sql)?;
    begun.extend(sql.query_sound(Kind::Job, &question, &[], read)?);
    Ok(begun)
}

/// Jobs that are waiting or placed.
pub fn not_over(sql: &Sql<'_>) -> Result<Vec<Job>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM {JOBS} WHERE job.state NOT IN ('succeeded', 'failed', 'stopped') ORDER BY job.id");
    sql.query_sound(Kind::Job, &question, &[], read)
}

/// Moves a job, if it is still where the caller last saw it, and notes the event with it.
///
/// The guard is the whole of our concurrency control: two loops may decide the same thing, or one may
/// decide from an old read, and exactly one write lands.
pub fn advance(sql: &Sql<'_>, seen: (JobId, JobState, u32), change: &Change) -> Result<Written, StoreError> {
    let (id, from, attempt) = seen;
    let new_attempt = attempt + u32::from(change.to == JobState::Queued);
    let reason = change.reason.clone().or_else(|| (from == JobState::Queued).then(Words::default));
    let at_if = |holds: bool| Value::from(holds.then_some(change.at_ms));
    let values = [
        id.into(),
        from.text().into(),
        attempt.into(),
        change.to.text().into(),
        new_attempt.into(),
        reason.as_ref().map(|it| it.en.clone()).into(),
        at_if(change.to == JobState::Queued),
        at_if(change.to == JobState::Starting),
        at_if(change.to.is_over()),
        change.used.map(|used| used.for_user).into(),
        change.used.map(|used| used.for_platform).into(),
        change.stop_by.clone().into(),
        change.used.map(|used| used.in_a_row).into(),
        change.used.map(|used| change.at_ms + used.pause_ms()).into(),
        reason.map(|it| it.zh).into(),
    ];
    let changed = sql.execute(
        "UPDATE job SET state = $4, attempt = $5, reason = COALESCE($6, reason), reason_zh = COALESCE($15, reason_zh),
                queued_at_ms = COALESCE($7, queued_at_ms),
                started_at_ms = COALESCE(started_at_ms, $8), ended_at_ms = COALESCE($9, ended_at_ms),
                used_for_user = COALESCE($10, used_for_user), used_for_platform = COALESCE($11, used_for_platform),
                stop_by = COALESCE($12, stop_by), used_in_a_row = COALESCE($13, used_in_a_row),
                not_before_ms = COALESCE($14, not_before_ms)
          WHERE id = $1 AND state = $2 AND attempt = $3",
        &values,
    )?;
    if changed > 0 {
        told::moved(sql, (id, new_attempt), change)?;
    }
    Ok(Written::from_rows(changed))
}

/// Says something about a job that stays where it is, if it is still where the caller last saw it.
pub fn remark(sql: &Sql<'_>, seen: (JobId, JobState, u32), reason: &Words) -> Result<Written, StoreError> {
    let (id, state, attempt) = seen;
    let changed = sql.execute(
        "UPDATE job SET reason = $4, reason_zh = $5 WHERE id = $1 AND state = $2 AND attempt = $3",
        &[id.into(), state.text().into(), attempt.into(), reason.en.as_str().into(), reason.zh.as_str().into()],
    )?;
    Ok(Written::from_rows(changed))
}

/// Says what keeps a job from running while one of its runs is being prepared.
pub fn set_starting_reason(sql: &Sql<'_>, run: &RunKey, reason: &Words) -> Result<Written, StoreError> {
    let changed = sql.execute(
        "UPDATE job SET reason = $5, reason_zh = $6 WHERE id = $1 AND state IN ('starting', 'running') AND EXISTS
           (SELECT 1 FROM run WHERE run.job = $1 AND run.attempt = $2 AND run.role = $3 AND run.task_index = $4
                                AND run.job_attempt = job.attempt AND run.state = 'starting')",
        &[
            run.job.into(),
            run.attempt.into(),
            run.task.role.as_str().into(),
            run.task.index.into(),
            reason.en.as_str().into(),
            reason.zh.as_str().into(),
        ],
    )?;
    Ok(Written::from_rows(changed))
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
    // The columns count, not what the plan said when it was compiled: they may have been changed since. No job is set aside for a damaged
    // description.
    let compiled: Plan = row.json("plan")?;
    let description = row.text("description").unwrap_or_else(|_| compiled.description.clone());
    let plan = Plan { max_duration_ms: row.maybe_number("max_duration_ms")?, description, ..compiled };
    Ok(Job {
        id: row.parsed("id")?,
        name: row.parsed("name")?,
        version: row.number("version")?,
        owner: row.text("owner")?,
        state: row.spelled("state", JobState::from_text)?,
        attempt: row.number("attempt")?,
        used: Used {
            for_user: row.number("used_for_user")?,
            for_platform: row.number("used_for_platform")?,
            in_a_row: row.number("used_in_a_row")?,
        },
        plan,
        spec: row.json_text("spec")?,
        reason: Words::new(row.text("reason")?, row.text("reason_zh")?),
        created_at_ms: row.number("created_at_ms")?,
        queued_at_ms: row.number("queued_at_ms")?,
        not_before_ms: row.maybe_number("not_before_ms")?,
        started_at_ms: row.maybe_number("started_at_ms")?,
        ended_at_ms: row.maybe_number("ended_at_ms")?,
        stop_by: row.maybe_text("stop_by")?,
        commit: row.maybe_text("commit_id")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, events, runs, testing::*};

    async fn with_jobs(place: &Place, names: &[&'static str]) -> Store {
        let store = place.open();
        for (number, name) in (1..).zip(names) {
            let new = new_job(number, name);
            store.write(move |sql| submit(sql, &new)).await.unwrap();
        }
        store
    }

    async fn job(store: &Store, number: u64) -> Job {
        store.read(move |sql| get(sql, job_id(number))).await.unwrap().unwrap()
    }

    async fn moved(store: &Store, seen: (JobId, JobState, u32), change: Change) -> Written {
        store.write(move |sql| advance(sql, seen, &change)).await.unwrap()
    }

    #[tokio::test]
    async fn a_job_comes_back_as_it_was_submitted() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        let expected = Job {
            id: job_id(1),
            name: "digits".parse().unwrap(),
            version: 1,
            owner: "ann".into(),
            state: JobState::Queued,
            attempt: 1,
            used: Used::default(),
            plan: plan("digits"),
            spec: "{}".into(),
            reason: Words::default(),
            created_at_ms: 1,
            queued_at_ms: 1,
            not_before_ms: None,
            started_at_ms: None,
            ended_at_ms: None,
            stop_by: None,
            commit: None,
        };
        assert_eq!(job(&store, 1).await, expected);
        assert_eq!(store.read(|sql| get(sql, job_id(2))).await, Ok(None));
    }

    #[tokio::test]
    async fn a_name_finds_its_newest_version_and_each_older_one() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits", "digits", "other"]).await;
        let found = async |owner: Option<&'static str>, version| {
            let name = "digits".parse().unwrap();
            store.read(move |sql| find(sql, owner, &name, version)).await.unwrap().map(|job| job.version)
        };
        assert_eq!(found(Some("ann"), None).await, Some(2));
        assert_eq!(found(None, None).await, Some(2));
        assert_eq!(found(None, Some(1)).await, Some(1));
        assert_eq!(found(Some("ann"), Some(1)).await, Some(1));
        assert_eq!(found(Some("ann"), Some(3)).await, None);
        assert_eq!(found(Some("bob"), None).await, None);
    }

    #[tokio::test]
    async fn a_write_from_an_old_read_does_not_land() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        let seen = (job_id(1), JobState::Queued, 1);

        assert_eq!(moved(&store, seen, to(JobState::Starting, 5)).await, Written::Yes);
        assert_eq!(moved(&store, seen, to(JobState::Stopped, 6)).await, Written::Stale);
        assert_eq!(job(&store, 1).await.state, JobState::Starting);

        assert_eq!(moved(&store, (job_id(1), JobState::Starting, 1), to(JobState::Queued, 7)).await, Written::Yes);
        let late = (job_id(1), JobState::Queued, 1);
        assert_eq!(moved(&store, late, to(JobState::Starting, 8)).await, Written::Stale, "the attempt is part of the guard");
        assert_eq!(job(&store, 1).await.attempt, 2);
    }

    #[tokio::test]
    async fn each_step_of_a_life_leaves_its_times_and_its_event() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        let steps = [
            (JobState::Queued, 1, Change { reason: Some("needs 3 CPU, 1 is free".into()), ..to(JobState::Starting, 10) }),
            (JobState::Starting, 1, Change { used: Some(Used { for_user: 1, for_platform: 0, in_a_row: 1 }), ..to(JobState::Queued, 20) }),
            (JobState::Queued, 2, to(JobState::Starting, 30)),
            (JobState::Starting, 2, Change { stop_by: Some("bob".into()), ..to(JobState::Stopping, 40) }),
            (JobState::Stopping, 2, Change { reason: Some("stopped by bob".into()), ..to(JobState::Stopped, 50) }),
        ];
        for (from, attempt, change) in steps {
            assert_eq!(moved(&store, (job_id(1), from, attempt), change).await, Written::Yes);
        }
        let job = job(&store, 1).await;
        assert_eq!((job.queued_at_ms, job.started_at_ms, job.ended_at_ms), (20, Some(10), Some(50)));
        assert_eq!((job.attempt, job.used, job.stop_by.as_deref()), (2, Used { for_user: 1, for_platform: 0, in_a_row: 1 }, Some("bob")));
        let events = store.read(|sql| events::after(sql, 0, None, 100)).await.unwrap();
        let lines: String =
            events.iter().map(|it| format!("{} #{} {} {:?}\n", it.at_ms, it.attempt.unwrap(), it.kind, it.reason)).collect();
        insta::assert_snapshot!(lines, @r#"
        1 #1 submitted ""
        10 #1 starting "needs 3 CPU, 1 is free"
        20 #2 retried ""
        30 #2 starting ""
        40 #2 stopping ""
        50 #2 stopped "stopped by bob"
        "#);
    }

    #[tokio::test]
    async fn a_reason_for_waiting_does_not_outlive_the_waiting() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        let why = Words::new("needs 3 CPU, 1 is free", "需要 3 CPU，空闲 1");
        let told = why.clone();
        store.write(move |sql| set_reason(sql, job_id(1), &told, 9)).await.unwrap();
        assert_eq!(job(&store, 1).await.reason, why);
        let _ = moved(&store, (job_id(1), JobState::Queued, 1), to(JobState::Starting, 5)).await;
        assert_eq!(job(&store, 1).await.reason, Words::default());
        store.write(|sql| set_reason(sql, job_id(1), &"too late".into(), 9)).await.unwrap();
        assert_eq!(job(&store, 1).await.reason, Words::default());
    }

    #[tokio::test]
    async fn the_same_reason_again_wakes_nobody() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        let mut changes = store.changes();
        store.write(|sql| set_reason(sql, job_id(1), &"waits".into(), 9)).await.unwrap();
        assert!(changes.has_changed().unwrap());
        changes.mark_unchanged();
        store.write(|sql| set_reason(sql, job_id(1), &"waits".into(), 9)).await.unwrap();
        assert!(!changes.has_changed().unwrap());
    }

    #[tokio::test]
    async fn the_queue_is_by_priority_and_then_by_age() {
        let place = Place::new();
        let store = place.open();
        for (number, name, priority) in [(1, "early", 0), (2, "late", 0), (3, "urgent", 10), (4, "idle", -5), (5, "placed", 99)] {
            let mut new = new_job(number, name);
            new.plan.priority = priority;
            new.plan.max_duration_ms = Some(1_000);
            store.write(move |sql| submit(sql, &new)).await.unwrap();
        }
        let _ = moved(&store, (job_id(5), JobState::Queued, 1), to(JobState::Starting, 9)).await;
        let queue: Vec<_> = store.read(|sql| queued(sql, 10, 0)).await.unwrap().into_iter().map(|it| it.waiting).collect();
        let labels: Vec<&str> = queue.iter().map(|it| it.label.as_str()).collect();
        assert_eq!(labels, ["urgent@1", "early@1", "late@1", "idle@1"]);
        assert_eq!((queue[0].max_duration_ms, queue[0].priority), (Some(1_000), 10));
        let gang: Vec<String> = queue[0].gang.iter().map(|it| format!("{} × {}: {}", it.tasks, it.role, it.each)).collect();
        assert_eq!(gang, ["1 × ps: 1 CPU, 64MiB", "2 × worker: 1 CPU, 64MiB"]);
        assert_eq!(store.read(|sql| queued(sql, 1, 0)).await.unwrap().len(), 1);
        assert_eq!(store.read(count_queued).await, Ok(4));
    }

    #[tokio::test]
    async fn unfinished_jobs_are_those_that_hold_something() {
        let place = Place::new();
        let store = with_jobs(&place, &["waits", "starts", "ends"]).await;
        let _ = moved(&store, (job_id(2), JobState::Queued, 1), to(JobState::Starting, 5)).await;
        let _ = moved(&store, (job_id(3), JobState::Queued, 1), to(JobState::Stopped, 5)).await;
        let names: Vec<String> = store.read(unfinished).await.unwrap().into_iter().map(|job| job.name.to_string()).collect();
        assert_eq!(names, ["starts"]);
    }

    #[tokio::test]
    async fn the_longest_duration_can_be_changed_until_the_job_is_over() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits"]).await;
        assert_eq!(store.write(|sql| set_max_duration(sql, job_id(1), Some(5_000))).await, Ok(Written::Yes));
        assert_eq!(job(&store, 1).await.plan.max_duration_ms, Some(5_000));
        assert_eq!(store.write(|sql| set_max_duration(sql, job_id(1), None)).await, Ok(Written::Yes));
        assert_eq!(job(&store, 1).await.plan.max_duration_ms, None);
        let _ = moved(&store, (job_id(1), JobState::Queued, 1), to(JobState::Stopped, 5)).await;
        assert_eq!(store.write(|sql| set_max_duration(sql, job_id(1), Some(1))).await, Ok(Written::Stale));
    }

    #[tokio::test]
    async fn only_a_job_that_is_over_can_be_deleted_and_then_nothing_of_it_is_left() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits", "other"]).await;
        assert_eq!(store.write(|sql| delete(sql, job_id(1))).await, Ok(Written::Stale));
        store.write(|sql| runs::insert(sql, &new_run(&run_key(1, "worker-0", 1)))).await.unwrap();
        let _ = moved(&store, (job_id(1), JobState::Queued, 1), to(JobState::Stopped, 5)).await;
        assert_eq!(store.write(|sql| delete(sql, job_id(1))).await, Ok(Written::Yes));
        assert_eq!(store.write(|sql| delete(sql, job_id(1))).await, Ok(Written::Stale));

        let hand = place.by_hand();
        let left = |table: &str| -> i64 { hand.query_row(&format!("SELECT COUNT(*) FROM {table}"), [], |row| row.get(0)).unwrap() };
        let tables = ["job", "job_plan", "job_tag", "job_version", "run", "event"];
        assert_eq!(tables.map(left), [1, 1, 1, 1, 0, 1], "what is left is the other job's");
    }

    #[tokio::test]
    async fn a_version_is_not_given_out_twice_while_the_name_lives() {
        let place = Place::new();
        let store = with_jobs(&place, &["digits", "digits"]).await;
        for number in [1, 2] {
            let _ = moved(&store, (job_id(number), JobState::Queued, 1), to(JobState::Stopped, 5)).await;
        }
        let again = async |number| {
            let new = new_job(number, "digits");
            store.write(move |sql| submit(sql, &new)).await.unwrap()
        };
        let _ = store.write(|sql| delete(sql, job_id(2))).await.unwrap();
        assert_eq!(again(3).await, Submission::Made { version: 3 });
        let _ = moved(&store, (job_id(3), JobState::Queued, 1), to(JobState::Stopped, 5)).await;
        for number in [1, 3] {
            assert_eq!(store.write(move |sql| delete(sql, job_id(number))).await, Ok(Written::Yes));
        }
        assert_eq!(again(4).await, Submission::Made { version: 1 }, "the name was free again");
    }
}
