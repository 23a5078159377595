//! The queue: jobs that wait, and the tasks that wait of jobs that are no gangs.

use std::collections::BTreeMap;

use model::{
    ids::{RoleName, RunKey, TaskName},
    retry::pause_left_ms,
    schedule::{Demand, Loose, Waiting},
    standing::{RunFacts, Standing, Stands, standings},
};

use crate::store::{
    Sql, StoreError,
    jobs::{self, Job},
    runs::{self, Run},
};

/// What is to be placed, and what is only to be said.
pub struct Queue {
    pub waiting: Vec<Waiting>,
    /// Jobs of which some tasks are in the pause between two tries, and nothing else waits.
    pub pausing: Vec<(model::ids::JobId, String)>,
}

/// Reads no more jobs of each kind than that.
pub fn queue(sql: &Sql<'_>, most: u32, now_ms: u64) -> Result<Queue, StoreError> {
    let mut queue = Queue { waiting: jobs::queued(sql, most, now_ms)?, pausing: Vec::new() };
    for job in jobs::scattered(sql, most)? {
        let Some(all) = runs::whole(sql, job.id)? else { continue };
        let facts: Vec<RunFacts> = all.iter().filter(|run| run.job_attempt == job.attempt).map(Run::facts).collect();
        let standings = standings(&job.plan, &facts);
        match rest(&job, &standings, now_ms) {
            Some(waiting) => queue.waiting.push(waiting),
            None => queue.pausing.extend(pausing(&standings).map(|reason| (job.id, reason))),
        }
    }
    Ok(queue)
}

/// What of a job is to be placed now, if anything.
fn rest(job: &Job, standings: &[Standing<'_>], now_ms: u64) -> Option<Waiting> {
    let mut waiting: BTreeMap<&RoleName, Vec<u32>> = BTreeMap::new();
    let mut loose = Loose { indices: Vec::new(), running: 0, over: 0, all: job.plan.task_count() };
    for it in standings {
        match &it.stands {
            Stands::Again { not_before_ms, .. } if pause_left_ms(*not_before_ms, now_ms).is_some() => {}
            Stands::New | Stands::Again { .. } => waiting.entry(&it.task.role).or_default().push(it.task.index),
            Stands::Lives(_) => loose.running += 1,
            Stands::Over(_) => loose.over += 1,
        }
    }
    if waiting.is_empty() {
        return None;
    }
    let demand = |role: &model::plan::RolePlan| Demand { role: role.name.clone(), tasks: role.tasks, each: role.resources.clone() };
    loose.indices = job.plan.roles.iter().map(|role| waiting.remove(&role.name).unwrap_or_default()).collect();
    Some(Waiting {
        job: job.id,
        label: format!("{}@{}", job.name, job.version),
        priority: job.plan.priority,
        max_duration_ms: job.plan.max_duration_ms,
        gang: job.plan.roles.iter().map(demand).collect(),
        loose: Some(loose),
    })
}

fn pausing(standings: &[Standing<'_>]) -> Option<String> {
    let mut reasons = standings.iter().filter_map(|it| match &it.stands {
        Stands::Again { reason, .. } => Some(reason.clone()),
        Stands::New | Stands::Lives(_) | Stands::Over(_) => None,
    });
    let first = reasons.next()?;
    let more = reasons.count();
    Some(if more == 0 { first } else { format!("{first}; and {more} more tasks wait before their next try") })
}

/// The number of a task's next run: that of the job's attempt, or the next after any it had before. In a gang all
/// that were before belong to earlier attempts, so they need not be looked at.
pub fn next_attempt(job: &Job, before: &[Run], task: &TaskName) -> u32 {
    let last = before.iter().filter(|run| run.run.task == *task).map(|run| run.run.attempt).max();
    last.map_or(job.attempt, |last| job.attempt.max(last + 1))
}

/// The runs that a run finds beside it. Of a gang that is everyone; of any other job those that live now, as the
/// others have no address.
pub fn beside(sql: &Sql<'_>, job: &Job, run: &RunKey) -> Result<Vec<Run>, StoreError> {
    let Some(own) = runs::get(sql, run)? else { return Ok(Vec::new()) };
    let mut all = runs::of_attempt(sql, run.job, own.job_attempt)?;
    all.retain(|it| job.plan.gang || !it.state.is_over() || it.run == *run);
    Ok(all)
}

/// The runs of a job's newest attempt that a person would ask about: one for each task that has a place.
pub fn placed(sql: &Sql<'_>, job: &Job) -> Result<Vec<Run>, StoreError> {
    let mut all = runs::of_attempt(sql, job.id, job.attempt)?;
    all.retain(|it| job.plan.gang || !it.state.is_over());
    Ok(all)
}
