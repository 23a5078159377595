//! Why a job is as it is, worked out anew from what is true now.

use std::cmp::Reverse;

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    gang,
    job::JobState,
    resources::show_duration_ms,
    said,
    schedule::{Held, Waiting, What, place_telling},
    wire::{ErrorBody, Explanation, FailureView, Need},
    words::{Lang, Words},
};

use super::{
    App, AppState,
    failures::{self, Failures},
    guard::Caller,
    jobs,
    language::{LangQuery, Language},
};
use crate::{
    control::{self, QUEUE_MAX, now_ms},
    error::Error,
    store::{jobs::Job, runs},
};

const BEFORE_SHOWN_MAX: usize = 10;

/// Says why a job waits, or how it came to its end, in the language asked for.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/explain", params(("job" = String, Path), LangQuery),
    responses((status = 200, body = Explanation), (status = 404, body = ErrorBody)))]
pub async fn explain(
    State(app): AppState,
    Caller(holder): Caller,
    Language(lang): Language,
    Path(text): Path<String>,
) -> Result<Json<Explanation>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let (asked, board) = (job.clone(), app.board.clone());
    let read = move |sql: &crate::store::Sql<'_>| Ok((control::held(sql, &board)?, failures::of(sql, &asked)?));
    let (held, failures) = app.store.read(read).await?;
    let why = why(&app, &job, &held).await?;
    Ok(Json(told(&app, (&job, &held), (&failures, why), lang)))
}

struct Why {
    reason: Words,
    before: Vec<String>,
    next_step: Words,
}

fn told(app: &App, (job, held): (&Job, &[Held]), (failures, why): (&Failures, Why), lang: Lang) -> Explanation {
    let need = |role: &model::plan::RolePlan| Need { role: role.name.to_string(), tasks: role.tasks, each: role.resources.clone() };
    let say = |words: &Words| words.say(lang).to_owned();
    let failure = failures.first.as_ref().map(|run| failures::view(&app.endings, run, lang));
    let next_step = match &failure {
        Some(failure) if job.state == JobState::Failed => after_failure(failure, &say(&why.next_step), lang),
        Some(_) | None => say(&why.next_step),
    };
    Explanation {
        job: format!("{}@{}", job.name, job.version),
        state: job.state,
        next_step,
        reason: say(&why.reason),
        needs: job.plan.roles.iter().map(need).collect(),
        nodes: app.board.with_use(held),
        before: why.before,
        failure,
        others: failures.others.iter().map(|run| failures::view(&app.endings, run, lang)).collect(),
        consequence: say(&failures.consequence),
        rule: say(&failures.rule),
    }
}

/// What the catalogue advises comes before what always helps.
fn after_failure(failure: &FailureView, usual: &str, lang: Lang) -> String {
    match failure.diagnosis.as_ref().filter(|it| !it.advice.is_empty()) {
        Some(diagnosis) => {
            Words::new(format!("{}; {usual}", diagnosis.advice), format!("{}；{usual}", diagnosis.advice)).say(lang).to_owned()
        }
        None => usual.to_owned(),
    }
}

async fn why(app: &App, job: &Job, held: &[Held]) -> Result<Why, Error> {
    match (job.state, job.pause_left_ms(now_ms())) {
        (JobState::Queued, Some(left_ms)) => Ok(why_it_pauses(job, left_ms)),
        (JobState::Queued, None) => why_it_waits(app, job, held).await,
        (JobState::Starting | JobState::Running, _) if !job.plan.gang => why_it_waits(app, job, held).await,
        (JobState::Starting, _) => why_it_does_not_begin(app, job).await,
        (JobState::Running | JobState::Stopping, _) => {
            Ok(Why { reason: job.reason.clone(), before: Vec::new(), next_step: next_step(job, job.state) })
        }
        (JobState::Finishing | JobState::Succeeded | JobState::Failed | JobState::Stopped | JobState::Unknown, _) => {
            why_it_ends(app, job).await
        }
    }
}

/// What its tasks wrote comes before what is usual: it may have to be saved yet.
async fn why_it_ends(app: &App, job: &Job) -> Result<Why, Error> {
    let id = job.id;
    let unsaved = !app.store.read(move |sql| runs::sync::not_saved(sql, id)).await?.is_empty();
    let next_step = if unsaved { save(job) } else { next_step(job, job.state) };
    Ok(Why { reason: job.reason.clone(), before: Vec::new(), next_step })
}

fn save(job: &Job) -> Words {
    let name = format!("{}@{}", job.name, job.version);
    if job.state == JobState::Finishing {
        return said!(
            "what it wrote is kept here and tried again and again; `trainmaster sync {name}` tries at once, and with `--give-up` the job is over without it",
            "它写的文件都还在这里，会不断重试；`trainmaster sync {name}` 立即重试，加上 `--give-up` 则不再等待，直接结束作业"
        );
    }
    said!(
        "what it wrote is kept here; `trainmaster sync {name}` saves it when its place can be written to again",
        "它写的文件都还在这里；等目标位置恢复可写后，用 `trainmaster sync {name}` 保存"
    )
}

/// What its tasks are doing before they begin together, and who is still missing.
async fn why_it_does_not_begin(app: &App, job: &Job) -> Result<Why, Error> {
    let (id, attempt) = (job.id, job.attempt);
    let missing = app.store.read(move |sql| runs::not_ready(sql, id, attempt)).await?;
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    let so_far = job.plan.begins_together().then(|| gang::so_far(&missing, job.plan.task_count())).flatten();
    let reason = job.reason.then(&so_far.unwrap_or_default());
    Ok(Why { reason, before: Vec::new(), next_step: next_step(job, job.state) })
}

/// Not for room: something that dies at once should not spin.
fn why_it_pauses(job: &Job, left_ms: u64) -> Why {
    let left = show_duration_ms(left_ms.next_multiple_of(1000));
    let reason = job.reason.then(&Words::new(format!("{left} of that are left"), format!("还剩 {left}")));
    let name = format!("{}@{}", job.name, job.version);
    let next_step = Words::new(
        format!("`trainmaster logs {name}` shows how it ended; `trainmaster stop {name}` ends the retries"),
        format!("`trainmaster logs {name}` 看它是怎样结束的；`trainmaster stop {name}` 停止重试"),
    );
    Why { reason, before: Vec::new(), next_step }
}

async fn why_it_waits(app: &App, job: &Job, held: &[Held]) -> Result<Why, Error> {
    let mut queue = app.store.read(|sql| control::queue(sql, QUEUE_MAX, now_ms())).await?.waiting;
    queue.sort_by_key(|it| (Reverse(it.priority), it.job));
    if job.state != JobState::Queued && queue.iter().all(|it| it.job != job.id) {
        return Ok(Why { reason: job.reason.clone(), before: Vec::new(), next_step: next_step(job, job.state) });
    }
    let before = queue.iter().take_while(|it| it.job != job.id).map(|it| it.label.clone()).take(BEFORE_SHOWN_MAX).collect();
    let nodes = app.board.for_placing();
    let decide = |queue: &[Waiting], held: &[Held]| {
        let decisions = place_telling(queue, &nodes, held, now_ms(), |told| told == job.id);
        decisions.into_iter().find(|it| it.job == job.id).map(|it| it.what)
    };
    let seen = queue.len();
    let reason = match decide(&queue, held) {
        Some(What::Wait(reason) | What::Part(_, reason)) => reason,
        // There is room; what was missing when it was reached for, such as a port, is not seen from here.
        Some(What::Start(_)) if job.reason.en.starts_with("waits for ") => job.reason.clone(),
        Some(What::Start(_)) => Words::new("it fits now and is about to start", "资源已经足够，即将启动"),
        None => Words::new(format!("at least {seen} jobs are before it"), format!("前面至少还有 {seen} 个作业")),
    };
    let alone: Vec<Waiting> = queue.into_iter().filter(|it| it.job == job.id).collect();
    let next_step = match decide(&alone, &[]) {
        // Not even with everything to itself.
        Some(What::Wait(_)) => Words::new(
            "ask for less, or give the server a node that is large enough; waiting does not help",
            "请少申请一些资源，或者增加足够大的节点；一直等下去也不会有结果",
        ),
        Some(What::Start(_) | What::Part(..)) | None => next_step(job, JobState::Queued),
    };
    Ok(Why { reason, before, next_step })
}

fn next_step(job: &Job, state: JobState) -> Words {
    let name = format!("{}@{}", job.name, job.version);
    match state {
        JobState::Queued => Words::new(
            "wait, ask for less, or stop one of the jobs that hold what it needs",
            "可以继续等待，少申请一些资源，或者停止一个正在占用资源的作业",
        ),
        JobState::Starting | JobState::Running => {
            Words::new(format!("`trainmaster logs -f {name}` shows what it does"), format!("`trainmaster logs -f {name}` 查看它在做什么"))
        }
        JobState::Finishing | JobState::Stopping => {
            Words::new("its last tasks are being stopped; nothing is to be done", "正在停止最后的任务，无需操作")
        }
        JobState::Unknown => Words::new(
            "look at the node it ran on; nothing is concluded until it can be seen again",
            "请检查它所在的节点；在能再次看到它之前，不会认定它已结束",
        ),
        JobState::Succeeded => {
            Words::new(format!("`trainmaster logs {name}` shows what it printed"), format!("`trainmaster logs {name}` 查看它的输出"))
        }
        JobState::Failed => Words::new(
            format!("read `trainmaster logs {name} --tail 50`, then `trainmaster rerun {name}`"),
            format!("先看 `trainmaster logs {name} --tail 50`，再用 `trainmaster rerun {name}` 重新运行"),
        ),
        JobState::Stopped => {
            Words::new(format!("`trainmaster rerun {name}` starts it again"), format!("`trainmaster rerun {name}` 可重新运行"))
        }
    }
}
