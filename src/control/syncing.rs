//! Syncing: what tasks have written is copied out by those who stand beside them. Where nobody does any more, somebody is sent.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use model::{
    ids::{JobId, RunKey},
    order::{Report, RunOrder},
    resources::show_duration_ms,
    sync::{SyncState, Synced},
    words::Words,
};

use super::{Control, now_ms, order, queue, readable, settling, take_report};
use crate::{
    engine::Start,
    store::{
        Sql, StoreError, Written,
        jobs::{self, Job},
        runs::{self, Run, sync},
    },
};

/// How often each run is looked after. Whoever is at it needs nobody.
const LOOK_EVERY: Duration = Duration::from_secs(5);

/// When each run was last looked after.
#[derive(Default)]
pub struct Rounds {
    seen: HashMap<RunKey, Instant>,
}

/// Looks after every run that is over and whose output is not all there; at once after those of the jobs in `now`.
pub async fn turn(control: &Control, rounds: &mut Rounds, now: &[JobId]) -> anyhow::Result<()> {
    let unsaved = control.store.read(sync::unsaved).await?;
    rounds.seen.retain(|run, _| unsaved.iter().any(|it| it.run == *run));
    for run in unsaved {
        if waited_ms(&run) > control.sync_patience_ms {
            give_up(control, &run).await?;
            continue;
        }
        let asked = now.contains(&run.run.job);
        if asked || rounds.seen.get(&run.run).is_none_or(|at| at.elapsed() > LOOK_EVERY) {
            rounds.seen.insert(run.run.clone(), Instant::now());
            look_after(control, run.run, asked).await?;
        }
    }
    Ok(())
}

fn waited_ms(run: &Run) -> u64 {
    let since = run.sync_since_ms.max(run.ended_at_ms).unwrap_or(u64::MAX);
    now_ms().saturating_sub(since)
}

async fn give_up(control: &Control, run: &Run) -> anyhow::Result<()> {
    let why = match &run.sync {
        Some(SyncState::Pending { why }) if !why.is_empty() => format!("; {why}"),
        Some(SyncState::Pending { .. } | SyncState::Done(_) | SyncState::GivenUp { .. }) | None => String::new(),
    };
    let why = format!("it was tried for {}{why}", show_duration_ms(control.sync_patience_ms));
    let key = run.run.clone();
    let moved = control.store.write(move |sql| given_up(sql, &key, &why)).await?;
    control.nudge.after(moved);
    Ok(())
}

/// Writes down that nobody tries any more, and what follows for the job.
pub fn given_up(sql: &Sql<'_>, run: &RunKey, why: &str) -> Result<Option<model::job::JobState>, StoreError> {
    let _gone_is_fine = sync::give_up(sql, run, why, now_ms())?;
    let Some(job) = readable(sql, run.job)?.filter(|job| !job.state.is_over()) else { return Ok(None) };
    settling::settle(sql, &job)
}

async fn look_after(control: &Control, run: RunKey, now: bool) -> anyhow::Result<()> {
    let key = run.clone();
    let Some(order) = control.store.read(move |sql| order_of(sql, &key)).await? else { return Ok(()) };
    let token = control.run_key.token(&run);
    let start = Start { order: &order, token: &token, server_url: &control.server_url };
    match control.engine.sync(start, now).await {
        Ok(None) => Ok(()),
        Ok(Some(synced)) => note(control, run, synced).await,
        Err(error) => {
            tracing::warn!(%run, "nobody could be sent for its output, will try again: {error}");
            Ok(())
        }
    }
}

fn order_of(sql: &Sql<'_>, run: &RunKey) -> Result<Option<RunOrder>, StoreError> {
    let Some(job) = readable(sql, run.job)? else { return Ok(None) };
    let gang = queue::beside(sql, &job, run)?;
    let own = gang.iter().find(|it| it.run == *run);
    own.and_then(|own| order(&job, &gang, own)).map(|order| super::with_volumes(sql, &job.plan, order)).transpose()
}

async fn note(control: &Control, run: RunKey, synced: Synced) -> anyhow::Result<()> {
    let (_, moved) = control.store.write(move |sql| take_report(sql, &run, &Report::Synced { synced })).await?;
    control.nudge.after(moved);
    Ok(())
}

/// Writes down that all of it is there. A job that had ended without it says so.
pub fn saved(sql: &Sql<'_>, run: &RunKey, synced: &Synced) -> Result<Written, StoreError> {
    let before = runs::get(sql, run)?.and_then(|run| run.sync);
    let written = sync::synced(sql, run, synced, now_ms())?;
    let was_given_up = matches!(before, Some(SyncState::Pending { .. } | SyncState::GivenUp { .. }));
    let job: Option<Job> = readable(sql, run.job)?.filter(|job| job.state.is_over() && was_given_up);
    if let Some(job) = job {
        let task = &run.task;
        let saved = Words::new(format!("/output of {task} was saved afterwards"), format!("{task} 的 /output 后来已保存"));
        let reason = job.reason.then(&saved);
        let _stale_is_fine = jobs::remark(sql, (job.id, job.state, job.attempt), &reason)?;
    }
    Ok(written)
}
