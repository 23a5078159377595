//! The queue: jobs that wait, and the tasks that wait of jobs that are no gangs.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use model::{
    ids::{JobId, RoleName, RunKey, TaskName},
    retry::pause_left_ms,
    schedule::{Demand, Loose, Waiting},
    standing::{Standing, Stands, Tally},
    words::Words,
};

use crate::store::{
    Sql, StoreError,
    jobs::{self, Job, Queued},
    runs::{self, Run},
};

/// What is to be placed, and what is only to be said.
pub struct Queue {
    pub waiting: Vec<Waiting>,
    /// Those of them that were told nothing yet about why they wait.
    pub untold: BTreeSet<JobId>,
    /// Jobs of which some tasks are in the pause between two tries, and nothing else waits.
    pub pausing: Vec<(JobId, Words)>,
}

/// How many jobs are looked at in the longest queue.
pub const QUEUE_MAX: u32 = 100_000;
/// Placing keeps a number for each kind of resource that is spoken of, and that for every job which asks for something else.
/// A kind is also each port that has to be a certain one, so a queue could speak of thousands.
const NUMBERS_MAX: usize = 4_000_000;
/// How many tasks of one role are looked at in one turn. Where all of them find room, the next turn goes on.
const NEW_TASKS_MAX: usize = 100;

/// Reads no more jobs of each kind than that.
pub fn queue(sql: &Sql<'_>, most: u32, now_ms: u64) -> Result<Queue, StoreError> {
    let mut queue = Queue { waiting: Vec::new(), untold: BTreeSet::new(), pausing: Vec::new() };
    for Queued { waiting, is_told } in jobs::queued(sql, most, now_ms)? {
        if !is_told {
            queue.untold.insert(waiting.job);
        }
        queue.waiting.push(waiting);
    }
    cut(&mut queue.waiting, NUMBERS_MAX);
    for job in jobs::scattered(sql, most)? {
        // Where a run cannot be read, nobody can say which tasks still wait.
        let Some(tally) = runs::tally(sql, &job)? else { continue };
        match rest(&job, &tally, now_ms) {
            Some(waiting) => queue.waiting.push(waiting),
            None => queue.pausing.extend(pausing(&tally.standings(&job.plan)).map(|reason| (job.id, reason))),
        }
    }
    Ok(queue)
}

/// Leaves the front of a queue that placing can look at in one turn.
fn cut(queue: &mut Vec<Waiting>, numbers_max: usize) {
    let mut kinds: HashSet<&str> = HashSet::new();
    let front = queue.iter().enumerate().take_while(|(at, waiting)| {
        kinds.extend(waiting.gang.iter().flat_map(|it| it.each.accelerators.keys()).map(String::as_str));
        (at + 1) * kinds.len() <= numbers_max
    });
    let most = front.count();
    queue.truncate(most);
}

/// What of a job is to be placed now, if anything.
fn rest(job: &Job, tally: &Tally, now_ms: u64) -> Option<Waiting> {
    let mut waiting: BTreeMap<&RoleName, Vec<u32>> = BTreeMap::new();
    let mut loose = Loose { indices: Vec::new(), running: 0, over: 0, all: job.plan.task_count() };
    let standings = tally.standings(&job.plan);
    for it in &standings {
        match &it.stands {
            Stands::Again { not_before_ms, .. } if pause_left_ms(*not_before_ms, now_ms).is_some() => {}
            Stands::New | Stands::Again { .. } => waiting.entry(&it.task.role).or_default().push(it.task.index),
            Stands::Lives(_) => loose.running += 1,
            Stands::Over(_) => loose.over += 1,
        }
    }
    for role in &job.plan.roles {
        let placed = tally.placed(&role.name);
        loose.over += placed.succeeded;
        let mut new = placed.new_tasks(role).take(NEW_TASKS_MAX).peekable();
        if new.peek().is_some() {
            waiting.entry(&role.name).or_default().extend(new);
        }
    }
    if waiting.is_empty() {
        return None;
    }
    let demand = |role: &model::plan::RolePlan| Demand { role: role.name.clone(), tasks: role.tasks, each: role.needs() };
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

fn pausing(standings: &[Standing<'_>]) -> Option<Words> {
    let mut reasons = standings.iter().filter_map(|it| match &it.stands {
        Stands::Again { reason, .. } => Some(reason.clone()),
        Stands::New | Stands::Lives(_) | Stands::Over(_) => None,
    });
    let first = reasons.next()?;
    let more = reasons.count();
    let others = Words::new(format!("and {more} more tasks wait before their next try"), format!("另有 {more} 个任务在等待下一次尝试"));
    Some(if more == 0 { first } else { first.then(&others) })
}

/// The number of a task's next run: that of the job's attempt, or the next after any it had before. In a gang all
/// that were before belong to earlier attempts, so they need not be looked at.
pub fn next_attempt(sql: &Sql<'_>, job: &Job, task: &TaskName) -> Result<u32, StoreError> {
    let last = if job.plan.gang { None } else { runs::last_attempt(sql, job.id, task)? };
    Ok(last.map_or(job.attempt, |last| job.attempt.max(last + 1)))
}

/// The runs that a run finds beside it. Of a gang that is everyone; of any other job those that live now, as the
/// others have no address.
pub fn beside(sql: &Sql<'_>, job: &Job, run: &RunKey) -> Result<Vec<Run>, StoreError> {
    let Some(own) = runs::get(sql, run)? else { return Ok(Vec::new()) };
    if job.plan.gang {
        return runs::of_attempt(sql, run.job, own.job_attempt);
    }
    let mut live = runs::live_of(sql, run.job, own.job_attempt)?;
    if own.state.is_over() {
        live.push(own);
    }
    Ok(live)
}

/// The runs of a job's newest attempt that tell what a task finds, or found, beside it. Of a task that never had a place
/// they tell what it would find now.
pub fn placed(sql: &Sql<'_>, job: &Job, task: &TaskName) -> Result<Vec<Run>, StoreError> {
    if job.plan.gang {
        return runs::of_attempt(sql, job.id, job.attempt);
    }
    let mut placed = runs::live_of(sql, job.id, job.attempt)?;
    if placed.iter().all(|run| run.run.task != *task) {
        let last = runs::last_attempt(sql, job.id, task)?.map(|attempt| RunKey { job: job.id, task: task.clone(), attempt });
        let own = last.map(|run| runs::get(sql, &run)).transpose()?.flatten();
        placed.extend(own.filter(|run| run.job_attempt == job.attempt));
    }
    Ok(placed)
}

#[cfg(test)]
mod tests {
    use model::resources::port_kind;

    use super::*;
    use crate::store::testing::{job_id, resources};

    #[test]
    fn a_queue_that_speaks_of_very_many_ports_is_looked_at_as_far_as_can_be_kept_in_mind() {
        let waiting = |number: u16| {
            let mut each = resources(1, 64);
            each.accelerators.insert(port_kind(number), 1);
            let gang = vec![Demand { role: "worker".parse().unwrap(), tasks: 1, each }];
            Waiting { job: job_id(number.into()), label: String::new(), priority: 0, max_duration_ms: None, gang, loose: None }
        };
        let mut queue: Vec<Waiting> = (1..=100).map(waiting).collect();
        cut(&mut queue, 400);
        assert_eq!(queue.len(), 20);
        let mut alike: Vec<Waiting> = (0..100).map(|_| waiting(1)).collect();
        cut(&mut alike, 400);
        assert_eq!(alike.len(), 100);
    }
}
