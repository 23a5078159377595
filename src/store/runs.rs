//! Runs: one attempt of one task each, where it was placed and what became of it.

use std::collections::BTreeMap;

use model::{
    ids::{JobId, NodeName, RunKey, TaskName},
    less,
    resources::Resources,
    standing::{RunFacts, Tally},
    sync::SyncState,
    task::{Ending, Kept, TaskState},
    wire::EventLevel,
    words::Words,
};

mod holds;
pub mod lost;
mod roles;
pub mod sync;

pub use holds::{Hold, Holds, Unclear, holds};

use super::{
    Row, Sql, StoreError, Value, Written,
    events::{self, NewEvent},
    jobs::Job,
    quarantine::Kind,
};

/// A run at the moment it is placed.
#[derive(Clone, Debug, PartialEq)]
pub struct NewRun {
    pub run: RunKey,
    pub job_attempt: u32,
    pub node: NodeName,
    pub amount: Resources,
    pub devices: BTreeMap<String, Vec<u32>>,
    pub ports: BTreeMap<String, Vec<u16>>,
    pub address: String,
    pub at_ms: u64,
    /// Whether what it writes is to be copied elsewhere.
    pub copies_out: bool,
}

impl NewRun {
    /// As it is read once it is inserted.
    pub fn placed(self) -> Run {
        Run {
            run: self.run,
            job_attempt: self.job_attempt,
            state: TaskState::Starting,
            node: self.node,
            amount: self.amount,
            devices: self.devices,
            ports: self.ports,
            address: self.address,
            placed_at_ms: self.at_ms,
            ready_at_ms: None,
            started_at_ms: None,
            ended_at_ms: None,
            pid: None,
            ending: None,
            end_order: None,
            note: Words::default(),
            kept: None,
            missing: Vec::new(),
            commit: None,
            sync: self.copies_out.then(|| SyncState::Pending { why: String::new() }),
            sync_since_ms: self.copies_out.then_some(self.at_ms),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    pub run: RunKey,
    /// The job's attempt it belongs to.
    pub job_attempt: u32,
    pub state: TaskState,
    pub node: NodeName,
    pub amount: Resources,
    pub devices: BTreeMap<String, Vec<u32>>,
    pub ports: BTreeMap<String, Vec<u16>>,
    pub address: String,
    pub placed_at_ms: u64,
    /// When it had everything it needs, if it had to wait for the others of its gang.
    pub ready_at_ms: Option<u64>,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    pub pid: Option<u32>,
    pub ending: Option<Ending>,
    /// Which of its job attempt's runs it was to end: 1 for the first.
    pub end_order: Option<u64>,
    /// Why it was stopped, if it was.
    pub note: Words,
    pub kept: Option<Kept>,
    pub missing: Vec<String>,
    pub commit: Option<String>,
    pub sync: Option<SyncState>,
    /// Since when its output is to be copied, for as long as it is not all there.
    pub sync_since_ms: Option<u64>,
}

const COLUMNS: &str = "job, attempt, job_attempt, role, task_index, state, node, amount, devices, ports, address, placed_at_ms, \
                       ready_at_ms, started_at_ms, ended_at_ms, pid, ending, end_order, note, kept, missing, commit_id, \
                       sync, sync_since_ms";

/// The run a statement is about, as its first four values.
pub(super) const THIS_RUN: &str = "job = $1 AND attempt = $2 AND role = $3 AND task_index = $4";

pub fn insert(sql: &Sql<'_>, new: &NewRun) -> Result<(), StoreError> {
    let mut values = key(&new.run).to_vec();
    values.extend([
        TaskState::Starting.text().into(),
        new.node.as_str().into(),
        Value::json(&new.amount),
        Value::json(&new.devices),
        Value::json(&new.ports),
        (&new.address).into(),
        new.at_ms.into(),
        new.job_attempt.into(),
        if new.copies_out { Value::json(&SyncState::Pending { why: String::new() }) } else { Value::Null },
        new.copies_out.then_some(new.at_ms).into(),
    ]);
    sync::take_over(sql, &new.run)?;
    sql.execute(
        "INSERT INTO run (job, attempt, role, task_index, state, node, amount, devices, ports, address, placed_at_ms, job_attempt,
                          missing, sync, sync_since_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '[]', $13, $14)",
        &values,
    )?;
    Ok(())
}

pub fn get(sql: &Sql<'_>, run: &RunKey) -> Result<Option<Run>, StoreError> {
    sql.first_sound(Kind::Run, &format!("SELECT {COLUMNS} FROM run WHERE {THIS_RUN}"), &key(run), read)
}

/// Every run of a job: the newest attempt first, then by role and index.
pub fn of_job(sql: &Sql<'_>, job: JobId) -> Result<Vec<Run>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM run WHERE job = $1 ORDER BY attempt DESC, role, task_index");
    sql.query_sound(Kind::Run, &question, &[job.into()], read)
}

/// Every run of an attempt of a job, if each of them can be read. Where one cannot, nobody can say which tasks still wait.
pub fn whole(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<Option<Vec<Run>>, StoreError> {
    let question = "SELECT COUNT(*) AS count FROM run WHERE job = $1 AND job_attempt = $2";
    let count: Option<u64> = sql.first(question, &[job.into(), attempt.into()], |row| row.number("count"))?;
    let runs = of_attempt(sql, job, attempt)?;
    Ok((count == Some(runs.len() as u64)).then_some(runs))
}

/// A run that is not over. Said by what it is not, so that a state nobody knows counts as one. Indexes are for this very wording.
pub(in crate::store) const LIVE: &str = "state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')";
/// A run that is over and has not succeeded.
pub(in crate::store) const BAD: &str = "state IN ('failed', 'stopped', 'unknown')";

/// The runs of an attempt whose task has not succeeded. The two sorts of them are asked for one after the other, because each has an
/// index of its own, and a task that simply succeeds has to go through neither of them twice.
fn rest(columns: &str) -> String {
    let part = |sort: &str| {
        format!(
            "SELECT {columns} FROM run WHERE job = $1 AND job_attempt = $2 AND {sort} AND NOT EXISTS
               (SELECT 1 FROM run AS good WHERE good.job = run.job AND good.role = run.role AND good.task_index = run.task_index
                                            AND good.job_attempt = run.job_attempt AND good.state = 'succeeded')"
        )
    };
    format!("{} UNION ALL {}", part(LIVE), part(BAD))
}

/// The tasks of a job that is no gang, in its attempt. None if a run that must be read cannot be.
pub fn tally(sql: &Sql<'_>, job: &Job) -> Result<Option<Tally>, StoreError> {
    let values = [job.id.into(), job.attempt.into()];
    let others = sql.query_sound(Kind::Run, &rest(COLUMNS), &values, read)?;
    let all = sql.first(&format!("SELECT COUNT(*) AS count FROM ({})", rest("1")), &values, |row| row.number::<usize>("count"))?;
    if all != Some(others.len()) {
        return Ok(None);
    }
    let roles = roles::placed(sql, job, &others)?;
    Ok(Some(Tally { roles, rest: others.iter().map(Run::facts).collect() }))
}

/// In no order: asked for one, SQLite would go through all runs of the job along an index that has it.
fn live_of_question() -> String {
    format!("SELECT {COLUMNS} FROM run WHERE job = $1 AND job_attempt = $2 AND {LIVE}")
}

/// The runs of one attempt of a job that live: by role and index, and the earlier of a task first.
pub fn live_of(sql: &Sql<'_>, job: JobId, job_attempt: u32) -> Result<Vec<Run>, StoreError> {
    let mut live = sql.query_sound(Kind::Run, &live_of_question(), &[job.into(), job_attempt.into()], read)?;
    live.sort_by(|one, other| order(one).cmp(&order(other)));
    Ok(live)
}

fn order(run: &Run) -> (&str, u32, u32) {
    (run.run.task.role.as_str(), run.run.task.index, run.run.attempt)
}

const LAST_ATTEMPT: &str = "SELECT MAX(attempt) AS last FROM run WHERE job = $1 AND role = $2 AND task_index = $3";

/// The number of the last run a task had, in any attempt of its job.
pub fn last_attempt(sql: &Sql<'_>, job: JobId, task: &TaskName) -> Result<Option<u32>, StoreError> {
    let last = sql.first(LAST_ATTEMPT, &[job.into(), task.role.as_str().into(), task.index.into()], |row| row.maybe_number("last"))?;
    Ok(last.flatten())
}

/// The runs of one attempt of a job: by role and index, and the earlier of a task first.
pub fn of_attempt(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<Vec<Run>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM run WHERE job = $1 AND job_attempt = $2 ORDER BY role, task_index, attempt");
    sql.query_sound(Kind::Run, &question, &[job.into(), attempt.into()], read)
}

/// The runs of one attempt of a job that are over and did not succeed, in the order of their ends.
pub fn without_success(sql: &Sql<'_>, job: JobId, job_attempt: u32, most: u32) -> Result<Vec<Run>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM run WHERE job = $1 AND job_attempt = $2 AND {BAD} ORDER BY end_order LIMIT $3");
    sql.query_sound(Kind::Run, &question, &[job.into(), job_attempt.into(), most.into()], read)
}

/// Every run that is not over. Asked by what it is not, so that a state nobody knows comes to light.
pub fn live(sql: &Sql<'_>) -> Result<Vec<Run>, StoreError> {
    sql.query_sound(Kind::Run, &live_question(), &[], read)
}

fn live_question() -> String {
    format!("SELECT {COLUMNS} FROM run WHERE {LIVE} ORDER BY job, attempt, role, task_index")
}

/// Notes that everything is prepared. Said again it changes nothing, and is as welcome as the first time.
pub fn ready(sql: &Sql<'_>, run: &RunKey, at_ms: u64) -> Result<Written, StoreError> {
    let values = [&key(run)[..], &[at_ms.into()]].concat();
    let question = format!("UPDATE run SET ready_at_ms = COALESCE(ready_at_ms, $5) WHERE {THIS_RUN} AND state = 'starting'");
    Ok(Written::from_rows(sql.execute(&question, &values)?))
}

/// Whom a gang waits for. Said by what they are not, so that one in a state nobody knows is waited for.
fn awaited() -> String {
    format!("job = $1 AND attempt = $2 AND ready_at_ms IS NULL AND {LIVE} AND state <> 'running'")
}

/// The tasks of an attempt that their gang waits for.
pub fn not_ready(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<Vec<TaskName>, StoreError> {
    let question = format!("SELECT role, task_index FROM run WHERE {} ORDER BY role, task_index", awaited());
    let read = |row: &Row<'_>| Ok(TaskName { role: row.parsed("role")?, index: row.number("task_index")? });
    sql.query(&question, &[job.into(), attempt.into()], read)
}

/// Whether a gang waits for anyone.
pub fn is_awaited(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<bool, StoreError> {
    let question = format!("SELECT 1 FROM run WHERE {} LIMIT 1", awaited());
    Ok(sql.first(&question, &[job.into(), attempt.into()], |_| Ok(()))?.is_some())
}

/// Whether more is known of a run than that it was placed.
pub fn is_past_starting(sql: &Sql<'_>, run: &RunKey) -> Result<bool, StoreError> {
    let question = format!("SELECT 1 FROM run WHERE {THIS_RUN} AND state <> 'starting'");
    Ok(sql.first(&question, &key(run), |_| Ok(()))?.is_some())
}

/// Notes that the child runs. Only a run that was starting can begin to run.
pub fn started(sql: &Sql<'_>, run: &RunKey, at_ms: u64, pid: u32, missing: &[String]) -> Result<Written, StoreError> {
    let mut values = key(run).to_vec();
    values.extend([at_ms.into(), pid.into(), Value::json(&missing)]);
    let changed = sql.execute(
        &format!("UPDATE run SET state = 'running', started_at_ms = $5, pid = $6, missing = $7 WHERE {THIS_RUN} AND state = 'starting'"),
        &values,
    )?;
    if changed > 0 {
        let level = if missing.is_empty() { EventLevel::Info } else { EventLevel::Warning };
        events::append(sql, &NewEvent::of_run(at_ms, run, "task_started", less::all(missing)).level(level))?;
    }
    Ok(Written::from_rows(changed))
}

/// Notes that the child has failed and its sandbox stays, once. The process to step in by is the one that is left.
pub fn kept(sql: &Sql<'_>, run: &RunKey, kept: &Kept, at_ms: u64) -> Result<Written, StoreError> {
    let mut values = key(run).to_vec();
    values.extend([Value::json(kept), kept.pid.into()]);
    let changed =
        sql.execute(&format!("UPDATE run SET kept = $5, pid = $6 WHERE {THIS_RUN} AND state = 'running' AND kept IS NULL"), &values)?;
    if changed > 0 {
        let words = kept.ending.words().then(&Words::new("its sandbox is kept", "沙箱已保留"));
        events::append(sql, &NewEvent::of_run(at_ms, run, "task_kept", words).level(EventLevel::Error))?;
    }
    Ok(Written::from_rows(changed))
}

/// Notes how a run ended, once. `at_ms` is when we learned of it; when it happened stands in the ending.
/// `note` is what else is to be said.
pub fn ended(sql: &Sql<'_>, run: &RunKey, ending: &Ending, note: &Words, at_ms: u64) -> Result<Written, StoreError> {
    let mut values = key(run).to_vec();
    values.extend([ending.cause.state().text().into(), ending.started_at_ms.into(), ending.ended_at_ms.into(), Value::json(ending)]);
    values.push(if note.is_empty() { "".into() } else { Value::json(note) });
    let changed = sql.execute(
        &format!(
            "UPDATE run SET state = $5, started_at_ms = COALESCE(started_at_ms, $6), ended_at_ms = $7, ending = $8, note = $9,
                    end_order = (SELECT COALESCE(MAX(other.end_order), 0) + 1 FROM run AS other
                                  WHERE other.job = $1 AND other.job_attempt = run.job_attempt AND other.end_order IS NOT NULL)
              WHERE {THIS_RUN} AND {LIVE}"
        ),
        &values,
    )?;
    if changed > 0 {
        let ran_ms = ending.started_at_ms.map(|started| ending.ended_at_ms.saturating_sub(started));
        let event = NewEvent::of_run(at_ms, run, "task_ended", told(ending, note)).level(level(ending.cause.state())).took(ran_ms);
        events::append(sql, &event)?;
    }
    Ok(Written::from_rows(changed))
}

fn level(state: TaskState) -> EventLevel {
    match state {
        TaskState::Starting | TaskState::Running | TaskState::Succeeded => EventLevel::Info,
        TaskState::Stopped | TaskState::Unknown => EventLevel::Warning,
        TaskState::Failed => EventLevel::Error,
    }
}

/// An ending in words, with what else is to be said.
fn told(ending: &Ending, note: &Words) -> Words {
    let words = ending.words();
    if note.is_empty() { words } else { Words::new(format!("{}, {}", words.en, note.en), format!("{}，{}", words.zh, note.zh)) }
}

/// The runs of deleted jobs whose files are still there.
pub fn leftovers(sql: &Sql<'_>) -> Result<Vec<RunKey>, StoreError> {
    sql.query_sound(Kind::Leftover, "SELECT run FROM leftover WHERE keeps_files = 0 ORDER BY run LIMIT 1000", &[], |row| row.parsed("run"))
}

/// Notes that nothing of a deleted job's run is left.
pub fn erased(sql: &Sql<'_>, run: &RunKey) -> Result<(), StoreError> {
    sql.execute("DELETE FROM leftover WHERE run = $1", &[run.to_string().into()])?;
    Ok(())
}

/// Remembers what a job that is about to be deleted leaves behind, also of runs that cannot be read.
pub fn leave_behind(sql: &Sql<'_>, job: JobId) -> Result<(), StoreError> {
    sql.execute(
        "INSERT INTO leftover (run) SELECT job || ':' || role || '-' || task_index || ':' || attempt FROM run WHERE job = $1
         ON CONFLICT (run) DO NOTHING",
        &[job.into()],
    )?;
    Ok(())
}

impl Run {
    /// How it ended or what holds it up, in words; nothing if it just runs.
    pub fn reason(&self) -> Words {
        match (&self.ending, &self.kept) {
            (Some(ending), _) => told(ending, &self.note),
            (None, Some(kept)) => kept.words(),
            (None, None) => Words::default(),
        }
    }

    /// What has become of its output, in words, where there is something to be said.
    pub fn about_output(&self) -> Option<Words> {
        let sync = self.sync.as_ref().filter(|_| self.state.is_over())?;
        Some(sync.words())
    }

    /// As far as judging its job goes.
    pub fn facts(&self) -> RunFacts {
        RunFacts {
            task: self.run.task.clone(),
            attempt: self.run.attempt,
            state: self.state,
            ending: self.ending.clone(),
            kept: self.kept.clone(),
            end_order: self.end_order,
            sync: self.sync.clone(),
        }
    }
}

pub(super) fn key(run: &RunKey) -> [Value; 4] {
    [run.job.into(), run.attempt.into(), run.task.role.as_str().into(), run.task.index.into()]
}

/// Notes were plain text before there was a second language.
fn note(text: &str) -> Words {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn read(row: &Row<'_>) -> Result<Run, StoreError> {
    let task = TaskName { role: row.parsed("role")?, index: row.number("task_index")? };
    Ok(Run {
        run: RunKey { job: row.parsed("job")?, task, attempt: row.number("attempt")? },
        job_attempt: row.number("job_attempt")?,
        state: row.spelled("state", TaskState::from_text)?,
        node: row.parsed("node")?,
        amount: row.json("amount")?,
        devices: row.json("devices")?,
        ports: row.json("ports")?,
        address: row.text("address")?,
        placed_at_ms: row.number("placed_at_ms")?,
        ready_at_ms: row.maybe_number("ready_at_ms")?,
        started_at_ms: row.maybe_number("started_at_ms")?,
        ended_at_ms: row.maybe_number("ended_at_ms")?,
        pid: row.maybe_number("pid")?,
        ending: row.maybe_json("ending")?,
        end_order: row.maybe_number("end_order")?,
        note: note(&row.text("note")?),
        kept: row.maybe_json("kept")?,
        missing: row.json("missing")?,
        commit: row.maybe_text("commit_id")?,
        sync: row.maybe_json("sync")?,
        sync_since_ms: row.maybe_number("sync_since_ms")?,
    })
}

#[cfg(test)]
mod tests;
