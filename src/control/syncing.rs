//! Syncing: what tasks have written is copied out by those who stand beside them. Where nobody does any more, somebody is sent.
//!
//! Patience is what this server has had with a run, by a clock that never jumps: a wall clock that was set forward, or a server
//! that was off for days, has tried nothing meanwhile.

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

/// When each run was looked after.
#[derive(Default)]
pub struct Rounds {
    seen: HashMap<RunKey, Looks>,
}

struct Looks {
    /// Since when it is wanted, as the database has it; another moment means that somebody asked for it again.
    wanted_at_ms: Option<u64>,
    first: Instant,
    last: Instant,
}

/// What a run is due.
#[derive(Debug, PartialEq, Eq)]
enum Due {
    Look,
    Nothing,
    GivingUp,
}

impl Rounds {
    fn due(&mut self, run: &Run, patience: Duration, asked: bool, now: Instant) -> Due {
        let wanted_at_ms = run.sync_since_ms;
        let known = self.seen.get_mut(&run.run).filter(|it| it.wanted_at_ms == wanted_at_ms);
        let Some(looks) = known else {
            self.seen.insert(run.run.clone(), Looks { wanted_at_ms, first: now, last: now });
            return Due::Look;
        };
        if now.duration_since(looks.first) > patience {
            return Due::GivingUp;
        }
        if !asked && now.duration_since(looks.last) <= LOOK_EVERY {
            return Due::Nothing;
        }
        looks.last = now;
        Due::Look
    }
}

/// Looks after every run that is over and whose output is not all there; at once after those of the jobs in `now`.
pub async fn turn(control: &Control, rounds: &mut Rounds, now: &[JobId]) -> anyhow::Result<()> {
    let unsaved = control.store.read(sync::unsaved).await?;
    rounds.seen.retain(|run, _| unsaved.iter().any(|it| it.run == *run));
    for run in unsaved {
        let asked = now.contains(&run.run.job);
        match rounds.due(&run, Duration::from_millis(control.sync_patience_ms), asked, Instant::now()) {
            Due::GivingUp => give_up(control, &run).await?,
            Due::Look => look_after(control, run.run, asked).await?,
            Due::Nothing => {}
        }
    }
    Ok(())
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
    own.and_then(|own| order(&job, &gang, own)).map(|order| super::with_volumes(sql, (&job.owner, &job.plan), order)).transpose()
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

#[cfg(test)]
mod tests {
    use model::task::Cause;

    use super::*;
    use crate::store::{runs::NewRun, testing::*};

    /// A run that ended long ago, by the wall clock.
    async fn unsaved() -> Run {
        let (place, key) = (Place::new(), run_key(1, "worker-0", 1));
        let walk = move |sql: &Sql<'_>| {
            jobs::submit(sql, &new_job(1, "digits"))?;
            runs::insert(sql, &NewRun { copies_out: true, ..new_run(&key) })?;
            assert_eq!(runs::ended(sql, &key, &ending(Cause::Exited { code: 0 }), &"".into(), 50)?, Written::Yes);
            sync::unsaved(sql)
        };
        place.open().write(walk).await.unwrap().remove(0)
    }

    #[tokio::test]
    async fn patience_is_what_a_server_has_had_and_not_what_the_wall_clock_says() {
        let (mut run, mut rounds, patience) = (unsaved().await, Rounds::default(), Duration::from_secs(3_600));
        let began = Instant::now();
        let mut due = |run: &Run, asked, after_s| rounds.due(run, patience, asked, began + Duration::from_secs(after_s));
        assert_eq!(due(&run, false, 0), Due::Look, "however long ago it ended, it is tried first");
        assert_eq!((due(&run, false, 1), due(&run, true, 2), due(&run, false, 8)), (Due::Nothing, Due::Look, Due::Look));
        assert_eq!((due(&run, false, 3_600), due(&run, false, 3_601)), (Due::Look, Due::GivingUp));
        run.sync_since_ms = Some(90);
        assert_eq!((due(&run, true, 3_602), due(&run, false, 7_202)), (Due::Look, Due::Look), "asked for again, it is tried as long again");
        assert_eq!(due(&run, false, 7_203), Due::GivingUp);
    }
}
