//! Maximum durations. Measured by clocks that never jump, from the moment a server first saw the job run: setting the
//! wall clock forward by a day ends nothing, also where the server was started anew since.

use std::{collections::HashMap, time::Instant};

use model::{
    ids::JobId,
    job::{JobEvent, JobState, next},
    judge::stopped_by,
    resources::show_duration_ms,
    words::Words,
};

use super::{Control, now_ms};
use crate::{
    identity::{boot_id, up_ms},
    store::jobs::{self, Change, Job, clock},
};

#[derive(Default)]
pub struct Deadlines {
    first_seen: HashMap<JobId, Since>,
    last_turn: Option<Instant>,
}

/// Since when a job was seen, and for how long it had run by then.
struct Since {
    at: Instant,
    already_ms: u64,
    /// A server that comes after this one will know as well.
    is_noted: bool,
}

impl Since {
    fn elapsed_ms(&self) -> u64 {
        self.already_ms + self.at.elapsed().as_millis() as u64
    }
}

impl Deadlines {
    pub async fn turn(&mut self, control: &Control) -> anyhow::Result<()> {
        let began = Instant::now();
        let begun = control.store.read(jobs::begun).await?;
        self.first_seen.retain(|id, _| begun.iter().any(|job| job.id == *id));
        for job in begun {
            let elapsed_ms = self.elapsed_ms(control, &job).await?;
            if let Some(most_ms) = job.plan.max_duration_ms.filter(|most_ms| elapsed_ms >= *most_ms) {
                stop(control, &job, most_ms).await?;
            }
        }
        self.last_turn = Some(began);
        Ok(())
    }

    async fn elapsed_ms(&mut self, control: &Control, job: &Job) -> anyhow::Result<u64> {
        if !self.first_seen.contains_key(&job.id) {
            let since = self.first_sight(control, job).await?;
            self.first_seen.insert(job.id, since);
        }
        let since = self.first_seen.get_mut(&job.id).expect("it was just put there");
        let elapsed_ms = since.elapsed_ms();
        if job.plan.max_duration_ms.is_some() && !since.is_noted {
            let (id, boot_id, began_up_ms) = (job.id, boot_id()?, up_ms()?.saturating_sub(elapsed_ms));
            control.store.write(move |sql| clock::note(sql, id, &boot_id, began_up_ms)).await?;
            since.is_noted = true;
        }
        Ok(elapsed_ms)
    }

    /// Where no server has noted when the job began, the wall clock alone knows for how long it runs. One that was not there on the last look
    /// around cannot have begun before that.
    async fn first_sight(&self, control: &Control, job: &Job) -> anyhow::Result<Since> {
        let (id, boot_id, at) = (job.id, boot_id()?, Instant::now());
        if let Some(began_up_ms) = control.store.read(move |sql| clock::began_up_ms(sql, id, &boot_id)).await? {
            return Ok(Since { at, already_ms: up_ms()?.saturating_sub(began_up_ms), is_noted: true });
        }
        let by_the_wall = now_ms().saturating_sub(job.started_at_ms.unwrap_or_else(now_ms));
        let since_last_turn = self.last_turn.map_or(u64::MAX, |last| last.elapsed().as_millis() as u64);
        Ok(Since { at, already_ms: by_the_wall.min(since_last_turn), is_noted: false })
    }
}

async fn stop(control: &Control, job: &Job, most_ms: u64) -> anyhow::Result<()> {
    // Where the outcome is decided, what is left is being stopped already; a stop would only rewrite it.
    if job.stop_by.is_some() || job.state == JobState::Finishing {
        return Ok(());
    }
    let Ok(to) = next(job.state, JobEvent::StopAsked) else { return Ok(()) };
    let by = format!("its maximum duration of {}", show_duration_ms(most_ms));
    // Between two attempts there is nothing left to stop.
    let reason = match to.is_over() {
        true => stopped_by(Some(&by)),
        false => Words::new(format!("being stopped by {by}"), format!("已达到时长上限 {}，正在停止", show_duration_ms(most_ms))),
    };
    let change = Change { to, reason: Some(reason), at_ms: now_ms(), used: None, stop_by: Some(by) };
    let seen = (job.id, job.state, job.attempt);
    let _stale_is_fine = control.store.write(move |sql| jobs::advance(sql, seen, &change)).await?;
    control.nudge.runs();
    Ok(())
}
