//! Maximum durations. Measured by a clock that never jumps, from the moment this server first saw
//! the job run: setting the wall clock forward by a day ends nothing.

use std::{collections::HashMap, time::Instant};

use model::{
    ids::JobId,
    job::{JobEvent, JobState, next},
    resources::show_duration_ms,
};

use super::{Control, now_ms};
use crate::store::jobs::{self, Change, Job};

#[derive(Default)]
pub struct Deadlines {
    first_seen: HashMap<JobId, (Instant, u64)>,
    last_turn: Option<Instant>,
}

impl Deadlines {
    pub async fn turn(&mut self, control: &Control) -> anyhow::Result<()> {
        let began = Instant::now();
        let unfinished = control.store.read(jobs::unfinished).await?;
        self.first_seen.retain(|id, _| unfinished.iter().any(|job| job.id == *id));
        for job in unfinished {
            let elapsed_ms = self.elapsed_ms(&job);
            if let Some(most_ms) = job.plan.max_duration_ms.filter(|most_ms| elapsed_ms >= *most_ms) {
                stop(control, &job, most_ms).await?;
            }
        }
        self.last_turn = Some(began);
        Ok(())
    }

    /// Only of jobs that began before this server, or that are tried again, does the wall clock alone know
    /// for how long they run. Any other cannot have begun before the last look around.
    fn elapsed_ms(&mut self, job: &Job) -> u64 {
        let by_the_wall = || now_ms().saturating_sub(job.started_at_ms.unwrap_or_else(now_ms));
        let last_turn = self.last_turn.filter(|_| job.attempt == 1);
        let before = || by_the_wall().min(last_turn.map_or(u64::MAX, |last| last.elapsed().as_millis() as u64));
        let (since, already_ms) = self.first_seen.entry(job.id).or_insert_with(|| (Instant::now(), before()));
        *already_ms + since.elapsed().as_millis() as u64
    }
}

async fn stop(control: &Control, job: &Job, most_ms: u64) -> anyhow::Result<()> {
    // Where the outcome is decided, what is left is being stopped already; a stop would only rewrite it.
    if job.stop_by.is_some() || job.state == JobState::Finishing {
        return Ok(());
    }
    let Ok(to) = next(job.state, JobEvent::StopAsked) else { return Ok(()) };
    let by = format!("its maximum duration of {}", show_duration_ms(most_ms));
    let change = Change { to, reason: Some(format!("being stopped by {by}")), at_ms: now_ms(), used: None, stop_by: Some(by) };
    let seen = (job.id, job.state, job.attempt);
    let _stale_is_fine = control.store.write(move |sql| jobs::advance(sql, seen, &change)).await?;
    control.nudge.runs();
    Ok(())
}
