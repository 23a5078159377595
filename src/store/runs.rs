//! Runs: one attempt of one task each, where it was placed and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ids::{JobId, NodeName, RoleName, RunKey, TaskName},
    resources::Resources,
    standing::{Placed, RunFacts, Tally},
    task::{Ending, Kept, TaskState},
};

use super::{Row, Sql, StoreError, Value, Written, events, quarantine::Kind};

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
    pub note: String,
    pub kept: Option<Kept>,
    pub missing: Vec<String>,
}

const COLUMNS: &str = "job, attempt, job_attempt, role, task_index, state, node, amount, devices, ports, address, placed_at_ms, \
                       ready_at_ms, started_at_ms, ended_at_ms, pid, ending, end_order, note, kept, missing";

/// The run a statement is about, as its first four values.
const THIS_RUN: &str = "job = $1 AND attempt = $2 AND role = $3 AND task_index = $4";

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
    ]);
    sql.execute(
        "INSERT INTO run (job, attempt, role, task_index, state, node, amount, devices, ports, address, placed_at_ms, job_attempt,
                          missing)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, '[]')",
        &values,
    )?;
    Ok(())
}

pub fn get(sql: &Sql<'_>, run: &RunKey) -> Result<Option<Run>, StoreError> {
    sql.first_sound(Kind::Run, &format!("SELECT {COLUMNS} FROM run WHERE {THIS_RUN}"), &key(run), read)
}

/// Whether the database has never heard of a run, or has lost it: rows go only together with their job, and
/// then the run is left over until it is erased. Nobody can say what should become of such a run, so it is
/// noted with what was set aside.
pub fn is_lost(sql: &Sql<'_>, run: &RunKey) -> Result<bool, StoreError> {
    let question = format!("SELECT 1 FROM run WHERE {THIS_RUN} UNION ALL SELECT 1 FROM leftover WHERE run = $5");
    let values = [&key(run)[..], &[run.to_string().into()]].concat();
    let lost = sql.first(&question, &values, |_| Ok(()))?.is_none();
    if lost {
        sql.note_lost_run(run);
    }
    Ok(lost)
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

/// The tasks of one attempt of a job that is no gang. None if a run that must be read cannot be.
pub fn tally(sql: &Sql<'_>, job: JobId, job_attempt: u32) -> Result<Option<Tally>, StoreError> {
    let which = "job = $1 AND job_attempt = $2 AND state <> 'succeeded' AND NOT EXISTS
                 (SELECT 1 FROM run AS good WHERE good.job = run.job AND good.role = run.role AND good.task_index = run.task_index
                                              AND good.job_attempt = run.job_attempt AND good.state = 'succeeded')";
    let values = [job.into(), job_attempt.into()];
    let rest = sql.query_sound(Kind::Run, &format!("SELECT {COLUMNS} FROM run WHERE {which}"), &values, read)?;
    let all = sql.first(&format!("SELECT COUNT(*) AS count FROM run WHERE {which}"), &values, |row| row.number::<usize>("count"))?;
    if all != Some(rest.len()) {
        return Ok(None);
    }
    Ok(Some(Tally { roles: placed(sql, job, job_attempt)?, rest: rest.iter().map(Run::facts).collect() }))
}

fn placed(sql: &Sql<'_>, job: JobId, job_attempt: u32) -> Result<BTreeMap<RoleName, Placed>, StoreError> {
    let question = "SELECT role, COUNT(DISTINCT task_index) AS tasks, MAX(task_index) AS last,
                           SUM(CASE WHEN state = 'succeeded' THEN 1 ELSE 0 END) AS succeeded
                      FROM run WHERE job = $1 AND job_attempt = $2 GROUP BY role";
    let read = |row: &Row<'_>| {
        let (role, tasks, last): (RoleName, u32, u32) = (row.parsed("role")?, row.number("tasks")?, row.number("last")?);
        let left_out = if tasks == last + 1 { Vec::new() } else { left_out(sql, (job, job_attempt), &role, last)? };
        Ok((role, Placed { first: last + 1, left_out, succeeded: row.number("succeeded")? }))
    };
    Ok(sql.query(question, &[job.into(), job_attempt.into()], read)?.into_iter().collect())
}

fn left_out(sql: &Sql<'_>, (job, job_attempt): (JobId, u32), role: &RoleName, last: u32) -> Result<Vec<u32>, StoreError> {
    let question = "SELECT DISTINCT task_index FROM run WHERE job = $1 AND job_attempt = $2 AND role = $3";
    let values = [job.into(), job_attempt.into(), role.as_str().into()];
    let there: BTreeSet<u32> = sql.query(question, &values, |row| row.number("task_index"))?.into_iter().collect();
    Ok((0..last).filter(|index| !there.contains(index)).collect())
}

/// The runs of one attempt of a job that live.
pub fn live_of(sql: &Sql<'_>, job: JobId, job_attempt: u32) -> Result<Vec<Run>, StoreError> {
    let question = format!(
        "SELECT {COLUMNS} FROM run WHERE job = $1 AND job_attempt = $2 AND state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')
          ORDER BY role, task_index, attempt"
    );
    sql.query_sound(Kind::Run, &question, &[job.into(), job_attempt.into()], read)
}

/// The number of the last run a task had, in any attempt of its job.
pub fn last_attempt(sql: &Sql<'_>, job: JobId, task: &TaskName) -> Result<Option<u32>, StoreError> {
    let question = "SELECT MAX(attempt) AS last FROM run WHERE job = $1 AND role = $2 AND task_index = $3";
    let last = sql.first(question, &[job.into(), task.role.as_str().into(), task.index.into()], |row| row.maybe_number("last"))?;
    Ok(last.flatten())
}

/// The runs of one attempt of a job: by role and index, and the earlier of a task first.
pub fn of_attempt(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<Vec<Run>, StoreError> {
    let question = format!("SELECT {COLUMNS} FROM run WHERE job = $1 AND job_attempt = $2 ORDER BY role, task_index, attempt");
    sql.query_sound(Kind::Run, &question, &[job.into(), attempt.into()], read)
}

/// Every run that is not over. Asked by what it is not, so that a state nobody knows comes to light.
pub fn live(sql: &Sql<'_>) -> Result<Vec<Run>, StoreError> {
    sql.query_sound(Kind::Run, &live_question(), &[], read)
}

fn live_question() -> String {
    format!(
        "SELECT {COLUMNS} FROM run WHERE state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')
         ORDER BY job, attempt, role, task_index"
    )
}

/// Notes that everything is prepared. Said again it changes nothing, and is as welcome as the first time.
pub fn ready(sql: &Sql<'_>, run: &RunKey, at_ms: u64) -> Result<Written, StoreError> {
    let values = [&key(run)[..], &[at_ms.into()]].concat();
    let question = format!("UPDATE run SET ready_at_ms = COALESCE(ready_at_ms, $5) WHERE {THIS_RUN} AND state = 'starting'");
    Ok(Written::from_rows(sql.execute(&question, &values)?))
}

/// The tasks of an attempt that their gang waits for. Asked by what they are not, so that one in a state
/// nobody knows is waited for.
pub fn not_ready(sql: &Sql<'_>, job: JobId, attempt: u32) -> Result<Vec<TaskName>, StoreError> {
    let question = "SELECT role, task_index FROM run WHERE job = $1 AND attempt = $2 AND ready_at_ms IS NULL
                    AND state NOT IN ('running', 'succeeded', 'failed', 'stopped', 'unknown') ORDER BY role, task_index";
    let read = |row: &Row<'_>| Ok(TaskName { role: row.parsed("role")?, index: row.number("task_index")? });
    sql.query(question, &[job.into(), attempt.into()], read)
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
        events::append(sql, at_ms, run.job, Some(&run.task), Some(run.attempt), "task_started", &missing.join("; "))?;
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
        let reason = format!("{}; its sandbox is kept", kept.ending);
        events::append(sql, at_ms, run.job, Some(&run.task), Some(run.attempt), "task_kept", &reason)?;
    }
    Ok(Written::from_rows(changed))
}

/// Notes how a run ended, once. `at_ms` is when we learned of it; when it happened stands in the ending.
/// `note` is what else is to be said.
pub fn ended(sql: &Sql<'_>, run: &RunKey, ending: &Ending, note: &str, at_ms: u64) -> Result<Written, StoreError> {
    let mut values = key(run).to_vec();
    values.extend([ending.cause.state().text().into(), ending.started_at_ms.into(), ending.ended_at_ms.into(), Value::json(ending)]);
    values.push(note.into());
    let changed = sql.execute(
        &format!(
            "UPDATE run SET state = $5, started_at_ms = COALESCE(started_at_ms, $6), ended_at_ms = $7, ending = $8, note = $9,
                    end_order = (SELECT COALESCE(MAX(other.end_order), 0) + 1 FROM run AS other
                                  WHERE other.job = $1 AND other.job_attempt = run.job_attempt)
              WHERE {THIS_RUN} AND state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')"
        ),
        &values,
    )?;
    if changed > 0 {
        events::append(sql, at_ms, run.job, Some(&run.task), Some(run.attempt), "task_ended", &told(ending, note))?;
    }
    Ok(Written::from_rows(changed))
}

/// An ending in words, with what else is to be said.
fn told(ending: &Ending, note: &str) -> String {
    if note.is_empty() { ending.to_string() } else { format!("{ending}, {note}") }
}

/// The runs of deleted jobs whose files are still there.
pub fn leftovers(sql: &Sql<'_>) -> Result<Vec<RunKey>, StoreError> {
    sql.query_sound(Kind::Leftover, "SELECT run FROM leftover ORDER BY run LIMIT 1000", &[], |row| row.parsed("run"))
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
    pub fn reason(&self) -> String {
        match (&self.ending, &self.kept) {
            (Some(ending), _) => told(ending, &self.note),
            (None, Some(kept)) => format!("{kept}"),
            (None, None) => String::new(),
        }
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
        }
    }
}

fn key(run: &RunKey) -> [Value; 4] {
    [run.job.into(), run.attempt.into(), run.task.role.as_str().into(), run.task.index.into()]
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
        note: row.text("note")?,
        kept: row.maybe_json("kept")?,
        missing: row.json("missing")?,
    })
}

#[cfg(test)]
mod tests {
    use model::{job::JobState, task::Cause};

    use super::*;
    use crate::store::{Store, jobs, testing::*};

    async fn with_runs(place: &Place, runs: &[RunKey]) -> Store {
        let store = place.open();
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        for run in runs {
            let new = new_run(run);
            store.write(move |sql| insert(sql, &new)).await.unwrap();
        }
        store
    }

    async fn run(store: &Store, run: &RunKey) -> Run {
        let run = run.clone();
        store.read(move |sql| get(sql, &run)).await.unwrap().unwrap()
    }

    async fn end(store: &Store, run: &RunKey, cause: Cause) -> Written {
        let run = run.clone();
        store.write(move |sql| ended(sql, &run, &ending(cause), "", 45)).await.unwrap()
    }

    async fn start(store: &Store, run: &RunKey) -> Written {
        let run = run.clone();
        store.write(move |sql| started(sql, &run, 30, 77, &["no cgroup".into(), "no overlay".into()])).await.unwrap()
    }

    #[tokio::test]
    async fn a_run_comes_back_as_it_was_placed_started_and_ended() {
        let place = Place::new();
        let key = run_key(1, "worker-0", 1);
        let store = with_runs(&place, std::slice::from_ref(&key)).await;
        let NewRun { node, amount, devices, ports, address, .. } = new_run(&key);
        let placed = Run {
            run: key.clone(),
            job_attempt: 1,
            state: TaskState::Starting,
            node,
            amount,
            devices,
            ports,
            address,
            placed_at_ms: 20,
            ready_at_ms: None,
            started_at_ms: None,
            ended_at_ms: None,
            pid: None,
            ending: None,
            end_order: None,
            note: String::new(),
            kept: None,
            missing: vec![],
        };
        assert_eq!(run(&store, &key).await, placed);
        assert_eq!(start(&store, &key).await, Written::Yes);
        let missing = vec!["no cgroup".to_owned(), "no overlay".to_owned()];
        let running = Run { state: TaskState::Running, started_at_ms: Some(30), pid: Some(77), missing, ..placed };
        assert_eq!(run(&store, &key).await, running);
        assert_eq!(end(&store, &key, Cause::Exited { code: 3 }).await, Written::Yes);
        let ending = Some(ending(Cause::Exited { code: 3 }));
        let over = Run { state: TaskState::Failed, ended_at_ms: Some(40), ending, end_order: Some(1), ..running };
        assert_eq!(run(&store, &key).await, over);
    }

    #[tokio::test]
    async fn a_run_starts_once_and_ends_once_and_each_is_an_event() {
        let place = Place::new();
        let key = run_key(1, "worker-0", 1);
        let store = with_runs(&place, std::slice::from_ref(&key)).await;
        assert_eq!((start(&store, &key).await, start(&store, &key).await), (Written::Yes, Written::Stale));
        assert_eq!(end(&store, &key, Cause::Stopped { killed: false }).await, Written::Yes);
        assert_eq!(end(&store, &key, Cause::Exited { code: 0 }).await, Written::Stale);
        assert_eq!(start(&store, &key).await, Written::Stale, "a report that comes late");
        assert_eq!(run(&store, &key).await.state, TaskState::Stopped);
        assert_eq!(end(&store, &run_key(1, "worker-9", 1), Cause::Exited { code: 0 }).await, Written::Stale);
        let events = store.read(|sql| events::after(sql, 1, None, 100)).await.unwrap();
        let lines: String =
            events.iter().map(|it| format!("{} {} {}: {}\n", it.at_ms, it.task.as_ref().unwrap(), it.kind, it.reason)).collect();
        insta::assert_snapshot!(lines, @"
        30 worker-0 task_started: no cgroup; no overlay
        45 worker-0 task_ended: stopped after 10ms
        ");
    }

    #[tokio::test]
    async fn a_gang_waits_for_those_who_are_neither_ready_nor_running_nor_over() {
        let place = Place::new();
        let keys = ["ps-0", "worker-0", "worker-1", "worker-2"].map(|task| run_key(1, task, 1));
        let store = with_runs(&place, &keys).await;
        let waited_for = async || {
            let tasks = store.read(|sql| not_ready(sql, job_id(1), 1)).await.unwrap();
            tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        let say_ready = async |at_ms| {
            let key = keys[1].clone();
            store.write(move |sql| ready(sql, &key, at_ms)).await.unwrap()
        };
        assert_eq!(waited_for().await, "ps-0 worker-0 worker-1 worker-2");
        assert_eq!((say_ready(5).await, say_ready(9).await), (Written::Yes, Written::Yes), "said twice, as after a lost answer");
        assert_eq!(run(&store, &keys[1]).await.ready_at_ms, Some(5));
        assert_eq!(start(&store, &keys[2]).await, Written::Yes);
        assert_eq!(end(&store, &keys[3], Cause::Exited { code: 0 }).await, Written::Yes);
        assert_eq!(waited_for().await, "ps-0");
        place.change_by_hand("UPDATE run SET state = 'nonsense' WHERE role = 'ps'");
        assert_eq!(waited_for().await, "ps-0", "nobody knows what it does, so it is waited for");
        assert_eq!(end(&store, &keys[1], Cause::Stopped { killed: false }).await, Written::Yes);
        assert_eq!(say_ready(9).await, Written::Stale);
    }

    #[tokio::test]
    async fn the_order_of_endings_counts_within_the_attempt() {
        let place = Place::new();
        let keys = [("ps-0", 1), ("worker-0", 1), ("worker-1", 1), ("worker-0", 2)].map(|(task, attempt)| run_key(1, task, attempt));
        let store = with_runs(&place, &keys).await;
        for key in [&keys[2], &keys[3], &keys[0]] {
            assert_eq!(end(&store, key, Cause::Unknown { why: "gone".into() }).await, Written::Yes);
        }
        let runs = store.read(|sql| of_job(sql, job_id(1))).await.unwrap();
        let order: Vec<String> = runs.iter().map(|it| format!("{} #{} {:?}", it.run.task, it.run.attempt, it.end_order)).collect();
        assert_eq!(order, ["worker-0 #2 Some(1)", "ps-0 #1 Some(2)", "worker-0 #1 None", "worker-1 #1 Some(1)"]);
        let of_first = store.read(|sql| of_attempt(sql, job_id(1), 1)).await.unwrap();
        assert_eq!(of_first.len(), 3);
    }

    #[tokio::test]
    async fn tasks_are_in_the_order_of_their_numbers() {
        let place = Place::new();
        let keys: Vec<RunKey> = (0..12).map(|index| run_key(1, &format!("worker-{index}"), 1)).collect();
        let store = with_runs(&place, &keys).await;
        let runs = store.read(|sql| of_attempt(sql, job_id(1), 1)).await.unwrap();
        assert_eq!(runs.into_iter().map(|it| it.run).collect::<Vec<_>>(), keys);
    }

    #[tokio::test]
    async fn live_runs_are_found_by_their_own_small_index() {
        let place = Place::new();
        let keys = ["ps-0", "worker-0", "worker-1"].map(|task| run_key(1, task, 1));
        let store = with_runs(&place, &keys).await;
        assert_eq!(start(&store, &keys[0]).await, Written::Yes);
        assert_eq!(end(&store, &keys[1], Cause::Exited { code: 0 }).await, Written::Yes);
        let live: Vec<String> = store.read(live).await.unwrap().iter().map(|it| it.run.task.to_string()).collect();
        assert_eq!(live, ["ps-0", "worker-1"]);
        let plan = store.read(|sql| sql.query(&format!("EXPLAIN QUERY PLAN {}", live_question()), &[], |row| row.text("detail")));
        assert_eq!(plan.await.unwrap()[0], "SCAN run USING INDEX run_live");
    }

    #[tokio::test]
    async fn a_run_is_placed_once_and_only_for_a_job_that_exists() {
        let place = Place::new();
        let key = run_key(1, "worker-0", 1);
        let store = with_runs(&place, std::slice::from_ref(&key)).await;
        let again = new_run(&key);
        assert!(store.write(move |sql| insert(sql, &again)).await.is_err());
        let of_nobody = new_run(&run_key(2, "worker-0", 1));
        assert!(store.write(move |sql| insert(sql, &of_nobody)).await.is_err());
    }

    #[tokio::test]
    async fn a_deleted_job_leaves_its_runs_to_be_erased_and_each_is_forgotten_when_it_is() {
        let place = Place::new();
        let keys = ["ps-0", "worker-0"].map(|task| run_key(1, task, 1));
        let store = with_runs(&place, &keys).await;
        place.change_by_hand("UPDATE run SET pid = -1 WHERE role = 'ps'");
        let stopped = to(JobState::Stopped, 5);
        let _ = store.write(move |sql| jobs::advance(sql, (job_id(1), JobState::Queued, 1), &stopped)).await.unwrap();
        assert_eq!(store.read(leftovers).await, Ok(vec![]));
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(1))).await, Ok(Written::Yes));
        assert_eq!(store.read(leftovers).await, Ok(keys.to_vec()), "also the one that could not be read");
        let first = keys[0].clone();
        store.write(move |sql| erased(sql, &first)).await.unwrap();
        place.change_by_hand("INSERT INTO leftover (run) VALUES ('nonsense')");
        assert_eq!(store.read(leftovers).await, Ok(vec![keys[1].clone()]));
    }
}
