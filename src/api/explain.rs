//! Why a job is as it is, worked out anew from what is true now.

use std::cmp::Reverse;

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    job::JobState,
    resources::show_duration_ms,
    schedule::{Held, Waiting, What, place},
    wire::{ErrorBody, Explanation, Need},
};

use super::{App, AppState, guard::Caller, jobs};
use crate::{
    control::{self, now_ms},
    error::Error,
    store::{jobs::Job, runs},
};

const LOOK_MAX: u32 = 1_000;
const BEFORE_SHOWN_MAX: usize = 10;

/// Says why a job waits, or how it came to its end.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/explain", params(("job" = String, Path)),
    responses((status = 200, body = Explanation), (status = 404, body = ErrorBody)))]
pub async fn explain(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<Explanation>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let held = app.store.read(|sql| control::held(sql, &runs::live(sql)?)).await?;
    let Why { reason, before, next_step } = match (job.state, job.pause_left_ms(now_ms())) {
        (JobState::Queued, Some(left_ms)) => why_it_pauses(&job, left_ms),
        (JobState::Queued, None) => why_it_waits(&app, &job, &held).await?,
        (JobState::Starting | JobState::Running, _) if !job.plan.gang => why_it_waits(&app, &job, &held).await?,
        (state, _) => Why { reason: job.reason.clone(), before: Vec::new(), next_step: next_step(&job, state) },
    };
    let need = |role: &model::plan::RolePlan| Need { role: role.name.to_string(), tasks: role.tasks, each: role.resources.clone() };
    Ok(Json(Explanation {
        job: format!("{}@{}", job.name, job.version),
        state: job.state,
        next_step,
        reason,
        needs: job.plan.roles.iter().map(need).collect(),
        nodes: app.board.with_use(&held),
        before,
    }))
}

struct Why {
    reason: String,
    before: Vec<String>,
    next_step: String,
}

/// Not for room: something that dies at once should not spin.
fn why_it_pauses(job: &Job, left_ms: u64) -> Why {
    let left = show_duration_ms(left_ms.next_multiple_of(1000));
    let reason = format!("{}; {left} of that are left", job.reason);
    let next_step =
        format!("`trainmaster logs {0}@{1}` shows how it ended; `trainmaster stop {0}@{1}` ends the retries", job.name, job.version);
    Why { reason, before: Vec::new(), next_step }
}

async fn why_it_waits(app: &App, job: &Job, held: &[Held]) -> Result<Why, Error> {
    let mut queue = app.store.read(|sql| control::queue(sql, LOOK_MAX, now_ms())).await?.waiting;
    queue.sort_by_key(|it| (Reverse(it.priority), it.job));
    if job.state != JobState::Queued && queue.iter().all(|it| it.job != job.id) {
        return Ok(Why { reason: job.reason.clone(), before: Vec::new(), next_step: next_step(job, job.state) });
    }
    let before = queue.iter().take_while(|it| it.job != job.id).map(|it| it.label.clone()).take(BEFORE_SHOWN_MAX).collect();
    let nodes = app.board.for_placing();
    let decide =
        |queue: &[Waiting], held: &[Held]| place(queue, &nodes, held, now_ms()).into_iter().find(|it| it.job == job.id).map(|it| it.what);
    let reason = match decide(&queue, held) {
        Some(What::Wait(reason) | What::Part(_, reason)) => reason,
        Some(What::Start(_)) => "it fits now and is about to start".into(),
        None => format!("more than {LOOK_MAX} jobs are before it"),
    };
    let alone: Vec<Waiting> = queue.into_iter().filter(|it| it.job == job.id).collect();
    let next_step = match decide(&alone, &[]) {
        // Not even with everything to itself.
        Some(What::Wait(_)) => "ask for less, or give the server a node that is large enough; waiting does not help".into(),
        Some(What::Start(_) | What::Part(..)) | None => next_step(job, JobState::Queued),
    };
    Ok(Why { reason, before, next_step })
}

fn next_step(job: &Job, state: JobState) -> String {
    let name = format!("{}@{}", job.name, job.version);
    match state {
        JobState::Queued => "wait, ask for less, or stop one of the jobs that hold what it needs".into(),
        JobState::Starting | JobState::Running => format!("`trainmaster logs -f {name}` shows what it does"),
        JobState::Finishing | JobState::Stopping => "its last tasks are being stopped; nothing is to be done".into(),
        JobState::Unknown => "look at the node it ran on; nothing is concluded until it can be seen again".into(),
        JobState::Succeeded => format!("`trainmaster logs {name}` shows what it printed"),
        JobState::Failed => format!("read `trainmaster logs {name} --tail 50`, then `trainmaster rerun {name}`"),
        JobState::Stopped => format!("`trainmaster rerun {name}` starts it again"),
    }
}
