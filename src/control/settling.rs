//! Settling: what the runs that changed mean for their job.

use std::collections::BTreeSet;

use model::{
    ids::JobId,
    job::{JobEvent, JobState, next},
    judge::{Case, Judgement, RunFacts, judge},
};

use super::{Control, now_ms, readable};
use crate::store::{
    Sql, StoreError, Written,
    jobs::{self, Change, Job},
    runs::{self, Run},
};

/// Judges the given jobs, or all that are placed and not over.
pub async fn turn(control: &Control, only: Option<BTreeSet<JobId>>) -> anyhow::Result<()> {
    if only.as_ref().is_some_and(BTreeSet::is_empty) {
        return Ok(());
    }
    let moved = control.store.write(move |sql| settle(sql, only)).await?;
    // A decided job has tasks to stop, and one that is over frees what it held.
    if moved.contains(&JobState::Finishing) {
        control.nudge.runs();
    }
    Ok(())
}

fn settle(sql: &Sql<'_>, only: Option<BTreeSet<JobId>>) -> Result<Vec<JobState>, StoreError> {
    let mut moved = Vec::new();
    for job in candidates(sql, only)? {
        let attempt = runs::of_attempt(sql, job.id, job.attempt)?;
        if let Some(judgement) = judged(&job, &attempt)
            && let Ok(to) = next(job.state, judgement.event)
            && advance(sql, &job, to, judgement)? == Written::Yes
        {
            moved.push(to);
        }
    }
    Ok(moved)
}

fn candidates(sql: &Sql<'_>, only: Option<BTreeSet<JobId>>) -> Result<Vec<Job>, StoreError> {
    let Some(ids) = only else { return jobs::unfinished(sql) };
    let found: Result<Vec<_>, _> = ids.into_iter().map(|id| readable(sql, id)).collect();
    Ok(found?.into_iter().flatten().filter(|job| !job.state.is_over() && job.state != JobState::Queued).collect())
}

fn judged(job: &Job, attempt: &[Run]) -> Option<Judgement> {
    let facts: Vec<RunFacts> = attempt
        .iter()
        .map(|run| RunFacts { task: run.run.task.clone(), state: run.state, ending: run.ending.clone(), end_order: run.end_order })
        .collect();
    judge(&Case { state: job.state, plan: &job.plan, used: job.used, stop_by: job.stop_by.as_deref(), runs: &facts })
}

fn advance(sql: &Sql<'_>, job: &Job, to: JobState, judgement: Judgement) -> Result<Written, StoreError> {
    let used = (judgement.event == JobEvent::TryAgain).then_some(judgement.used);
    let reason = Some(judgement.reason);
    jobs::advance(sql, (job.id, job.state, job.attempt), &Change { to, reason, at_ms: now_ms(), used, stop_by: None })
}
