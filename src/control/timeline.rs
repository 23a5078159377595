//! What a job's timeline tells beside its states: where each task went, how long each preparation took, its first word.
//!
//! It is written in the transactions there are, so that a short task costs no more of them. Of a job with very many
//! tasks, or very many attempts, only the states and the ends are told.

use model::{ids::RunKey, step::Step, task::Ending, words::Words};

use crate::store::{
    Sql, StoreError,
    events::{self, NewEvent},
    jobs::Job,
    runs::{self, NewRun},
};

const TASKS_MAX: u32 = 64;
const ATTEMPTS_MAX: u32 = 20;

fn is_told(job: &Job, attempt: u32) -> bool {
    job.plan.task_count() <= TASKS_MAX && attempt <= ATTEMPTS_MAX
}

pub fn placed(sql: &Sql<'_>, job: &Job, new: &NewRun) -> Result<(), StoreError> {
    // Of a job with one task, the job's own event says it.
    if !is_told(job, new.run.attempt) || job.plan.task_count() == 1 && new.devices.is_empty() {
        return Ok(());
    }
    let node = &new.node;
    let list = |indices: &Vec<u32>| indices.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let devices: String = new.devices.iter().map(|(kind, indices)| format!(" {kind} {}", list(indices))).collect();
    let words = match devices.trim() {
        "" => Words::new(format!("placed on {node}"), format!("已放到 {node}")),
        devices => Words::new(format!("placed on {node} with {devices}"), format!("已放到 {node}，使用 {devices}")),
    };
    events::append(sql, &NewEvent::of_run(new.at_ms, &new.run, "task_placed", words))?;
    Ok(())
}

pub fn prepared(sql: &Sql<'_>, job: Option<&Job>, run: &RunKey, steps: &[Step]) -> Result<(), StoreError> {
    const STEPS_MAX: usize = 8;
    let Some(_) = job.filter(|job| is_told(job, run.attempt)) else { return Ok(()) };
    for step in steps.iter().take(STEPS_MAX) {
        let at_ms = step.began_at_ms + step.took_ms;
        events::append(sql, &NewEvent::of_run(at_ms, run, step.what.event(), step.what.words()).took(Some(step.took_ms)))?;
    }
    Ok(())
}

/// The child has said its first word; and when it began, if that is known here. Said again it is told once.
pub fn spoke(sql: &Sql<'_>, job: Option<&Job>, run: &RunKey, spoke: Option<(u64, u64)>) -> Result<(), StoreError> {
    let (Some((at_ms, began_at_ms)), Some(_)) = (spoke, job.filter(|job| is_told(job, run.attempt))) else { return Ok(()) };
    if events::has(sql, run, "task_spoke")? {
        return Ok(());
    }
    let took_ms = (at_ms > began_at_ms).then(|| at_ms - began_at_ms);
    let words = Words::new("its first line of output", "输出了第一行");
    events::append(sql, &NewEvent::of_run(at_ms, run, "task_spoke", words).took(took_ms))?;
    Ok(())
}

fn started(sql: &Sql<'_>, job: Option<&Job>, run: &RunKey, at_ms: Option<u64>) -> Result<(), StoreError> {
    let (Some(at_ms), Some(_)) = (at_ms, job.filter(|job| is_told(job, run.attempt))) else { return Ok(()) };
    events::append(sql, &NewEvent::of_run(at_ms, run, "task_started", Words::default()))?;
    Ok(())
}

/// What was not told while it lived, because it lived so shortly.
pub fn lived(sql: &Sql<'_>, job: Option<&Job>, run: &RunKey, ending: &Ending) -> Result<(), StoreError> {
    if !runs::is_past_starting(sql, run)? {
        prepared(sql, job, run, &ending.steps)?;
        started(sql, job, run, ending.started_at_ms)?;
    }
    spoke(sql, job, run, ending.spoke_at_ms.zip(ending.started_at_ms))
}
