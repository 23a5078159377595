//! Jobs: list, show, stop, delete.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::{
    gang,
    ids::{JobId, JobName},
    job::{JobEvent, JobState, next},
    less,
    resources::parse_duration_ms,
    task::TaskState,
    wire::{Action, Actions, ErrorBody, JobDetail, JobPage, JobSummary, RunView},
    words::{Lang, Words},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    App, AppState,
    extract::{Body, Query},
    guard::Caller,
    progress,
};
use crate::{
    control::now_ms,
    error::Error,
    store::{
        Sql, StoreError, Written,
        jobs::{self, Change, Filter, Job, Order},
        runs::{self, Run},
        tokens::{Holder, Role},
        uploads,
    },
};

const PAGE_DEFAULT: u32 = 50;
const PAGE_MAX: u32 = 500;

#[derive(Deserialize, IntoParams)]
pub struct ListQuery {
    /// One state or several with commas: `queued,running`.
    state: Option<String>,
    name: Option<String>,
    tag: Option<String>,
    owner: Option<String>,
    /// Part of the name or the description.
    q: Option<String>,
    /// A task of it has or had its place on this node.
    node: Option<String>,
    /// Submitted at this moment or later.
    since_ms: Option<u64>,
    /// Submitted before this moment.
    until_ms: Option<u64>,
    /// `newest` first if not given; `-name` goes backwards.
    #[param(inline)]
    sort: Option<Sort>,
    /// From the last page's `next`.
    cursor: Option<String>,
    limit: Option<u32>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    Newest,
    Oldest,
    Name,
    #[serde(rename = "-name")]
    NameBackwards,
}

impl From<Sort> for Order {
    fn from(sort: Sort) -> Self {
        match sort {
            Sort::Newest => Order::Newest,
            Sort::Oldest => Order::Oldest,
            Sort::Name => Order::Name,
            Sort::NameBackwards => Order::NameBackwards,
        }
    }
}

/// Lists jobs, newest first unless another order is asked for.
#[utoipa::path(get, path = "/api/v1/jobs", params(ListQuery), responses((status = 200, body = JobPage), (status = 400, body = ErrorBody)))]
pub async fn list(State(app): AppState, Caller(holder): Caller, Query(query): Query<ListQuery>) -> Result<Json<JobPage>, Error> {
    let limit = query.limit.unwrap_or(PAGE_DEFAULT);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Error::BadValue { name: "limit", value: limit.to_string(), wanted: ("1 to 500", "1 到 500").into() });
    }
    let before = query.cursor.map(parse_cursor).transpose()?;
    let states = query.state.as_deref().map(parse_states).transpose()?.unwrap_or_default();
    let owner = visible_owner(&holder).or(query.owner);
    let filter = Filter {
        states,
        name: query.name,
        tag: query.tag,
        owner,
        text: query.q,
        node: query.node,
        since_ms: query.since_ms,
        until_ms: query.until_ms,
        order: query.sort.map(Order::from).unwrap_or_default(),
    };
    let jobs = app.store.read(move |sql| jobs::list(sql, &filter, before, limit)).await?;
    let next = (jobs.len() == limit as usize).then(|| jobs.last().map(|job| job.id.clone())).flatten();
    Ok(Json(JobPage { jobs, next }))
}

fn parse_cursor(text: String) -> Result<JobId, Error> {
    text.parse().map_err(|_| Error::BadValue {
        name: "cursor",
        value: text,
        wanted: ("the `next` of an earlier page", "前一页给出的 `next`").into(),
    })
}

pub fn parse_states(text: &str) -> Result<Vec<JobState>, Error> {
    let wanted = || Words::new("a state such as queued, running or failed", "queued、running 或 failed 这样的状态");
    let parse =
        |word: &str| JobState::from_text(word).ok_or_else(|| Error::BadValue { name: "state", value: word.into(), wanted: wanted() });
    text.split(',').map(parse).collect()
}

/// Whose jobs a caller sees: an administrator everyone's, others their own.
pub fn visible_owner(holder: &Holder) -> Option<String> {
    match holder.role {
        Role::Admin => None,
        Role::User => Some(holder.user.clone()),
    }
}

/// A job by id, `name` (its newest version) or `name@version`. Someone else's job is not there.
pub fn find(sql: &Sql<'_>, holder: &Holder, text: &str) -> Result<Option<Job>, StoreError> {
    let owner = visible_owner(holder);
    if let Ok(id) = text.parse::<JobId>() {
        return Ok(jobs::get(sql, id)?.filter(|job| owner.as_ref().is_none_or(|owner| job.owner == *owner)));
    }
    let (name, version) = match text.split_once('@') {
        None => (text, None),
        Some((name, version)) => match version.parse() {
            Ok(version) => (name, Some(version)),
            Err(_) => return Ok(None),
        },
    };
    let Ok(name) = JobName::parse(name) else { return Ok(None) };
    jobs::find(sql, owner.as_deref(), &name, version)
}

/// Finds a job or says there is none.
pub async fn found(app: &App, holder: &Holder, text: &str) -> Result<Job, Error> {
    let (who, what) = (holder.clone(), text.to_owned());
    let job = app.store.read(move |sql| find(sql, &who, &what)).await?;
    job.ok_or_else(|| Error::NoSuchJob(text.to_owned()))
}

/// Shows a job with its runs and what can be done to it.
#[utoipa::path(get, path = "/api/v1/jobs/{job}", params(("job" = String, Path, description = "id, name or name@version")),
    responses((status = 200, body = JobDetail), (status = 404, body = ErrorBody)))]
pub async fn show(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<JobDetail>, Error> {
    let what = text.clone();
    // All from one moment, or a job would be shown as queued with a task that starts.
    let read = move |sql: &Sql<'_>| match find(sql, &holder, &what)? {
        Some(job) => Ok(Some((runs::of_job(sql, job.id)?, uploads::of_job(sql, job.id)?, job))),
        None => Ok(None),
    };
    let (runs, uploaded, job) = app.store.read(read).await?.ok_or(Error::NoSuchJob(text))?;
    let spec = shown_spec(&job)?;
    let (actions, progress) = (actions(job.state), progress::of_job(&app, &runs).await?);
    Ok(Json(JobDetail { summary: summary(&job), spec, runs: run_views(runs), actions, uploaded, progress }))
}

fn actions(state: JobState) -> Actions {
    let (en, zh) = (state.text(), state.words().zh);
    let already = || Words::new(format!("it is {en} already"), format!("作业已是“{zh}”状态"));
    let first = || Words::new(format!("it is {en}; stop it first"), format!("作业处于“{zh}”状态，请先停止"));
    let stop = next(state, JobEvent::StopAsked).err().map(|_| already());
    let delete = (!state.is_over()).then(first);
    Actions { stop: Action::new(stop), rerun: Action::new(None), delete: Action::new(delete) }
}

/// A job as people call it.
pub fn label(job: &Job) -> String {
    format!("{}@{}", job.name, job.version)
}

pub fn summary(job: &Job) -> JobSummary {
    JobSummary {
        id: job.id.to_string(),
        name: job.name.to_string(),
        version: job.version,
        owner: job.owner.clone(),
        state: job.state,
        reason: job.reason.en.clone(),
        reason_zh: job.reason.zh.clone(),
        attempt: job.attempt,
        priority: job.plan.priority,
        tags: job.plan.tags.clone(),
        description: job.plan.description.clone(),
        tasks: job.plan.task_count(),
        resources: job.plan.resources(),
        params: job.plan.params.clone(),
        max_duration_ms: job.plan.max_duration_ms,
        created_at_ms: job.created_at_ms,
        started_at_ms: job.started_at_ms,
        ended_at_ms: job.ended_at_ms,
    }
}

fn run_views(runs: Vec<Run>) -> Vec<RunView> {
    let is_waited_for = |run: &&Run| run.state == TaskState::Starting && run.ready_at_ms.is_none();
    let waited_for: Vec<(u32, String)> = runs.iter().filter(is_waited_for).map(|it| (it.run.attempt, it.run.task.to_string())).collect();
    let view = |run: Run| {
        let is_ready = run.state == TaskState::Starting && run.ready_at_ms.is_some();
        let missing = |attempt| waited_for.iter().filter(|it| it.0 == attempt).map(|it| it.1.clone()).collect::<Vec<_>>();
        let waits = is_ready.then(|| gang::waits_for(&missing(run.run.attempt)));
        let view = run_view(run);
        match waits {
            Some(Words { en, zh }) => RunView { reason: en, reason_zh: zh, ..view },
            None => view,
        }
    };
    runs.into_iter().map(view).collect()
}

fn with_output(run: &Run) -> Words {
    run.reason().then(&run.about_output().unwrap_or_default())
}

fn run_view(mut run: Run) -> RunView {
    // Between supervisors, and none of the task's.
    run.ports.remove(gang::LAUNCH_LABEL);
    let Words { en: reason, zh: reason_zh } = with_output(&run);
    // What was found out is said; what it was found out from is for whoever asks why.
    run.ending.iter_mut().for_each(|ending| ending.clues = None);
    RunView {
        reason,
        reason_zh,
        task: run.run.task.to_string(),
        attempt: run.run.attempt,
        state: run.state,
        node: run.node.to_string(),
        devices: run.devices,
        ports: run.ports,
        pid: run.pid,
        started_at_ms: run.started_at_ms,
        ended_at_ms: run.ended_at_ms,
        exit_code: run.ending.as_ref().and_then(|ending| ending.cause.exit_code()),
        ending: run.ending,
        missing_zh: run.missing.iter().map(|it| less::words(it).say(Lang::Zh).to_owned()).collect(),
        missing: run.missing,
        commit: run.commit,
        sync: run.sync,
    }
}

/// The job file as it was understood; secrets are shown as `******`.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/spec", params(("job" = String, Path)),
    responses((status = 200, body = Object), (status = 404, body = ErrorBody)))]
pub async fn spec(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<serde_json::Value>, Error> {
    let job = found(&app, &holder, &text).await?;
    Ok(Json(shown_spec(&job)?))
}

/// What was submitted. Its secrets are kept elsewhere.
fn shown_spec(job: &Job) -> Result<serde_json::Value, Error> {
    serde_json::from_str(&job.spec).map_err(|error| Error::Internal(error.to_string()))
}

/// Asks a job to stop. Answered once the wish is durable; the job is `stopped` when nothing of it lives.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/stop", params(("job" = String, Path)),
    responses((status = 200, body = JobSummary), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn stop(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<JobSummary>, Error> {
    let by = holder.user.clone();
    let id = found(&app, &holder, &text).await?.id;
    let stop_now = move |sql: &Sql<'_>| {
        let Some(job) = jobs::get(sql, id)? else { return Ok(Err(Error::NoSuchJob(id.to_string()))) };
        let Ok(to) = next(job.state, JobEvent::StopAsked) else {
            return Ok(Err(Error::Refused { job: label(&job), state: job.state, event: JobEvent::StopAsked }));
        };
        if to != job.state {
            let reason = Some(match to.is_over() {
                true => Words::new(format!("stopped by {by}"), format!("被 {by} 停止")),
                false => Words::new(format!("being stopped by {by}"), format!("{by} 要求停止，正在停止")),
            });
            let change = Change { to, reason, at_ms: now_ms(), used: None, stop_by: Some(by) };
            if jobs::advance(sql, (id, job.state, job.attempt), &change)? == Written::Stale {
                return Ok(Err(Error::Changed));
            }
        }
        Ok(jobs::get(sql, id)?.ok_or_else(|| Error::NoSuchJob(id.to_string())))
    };
    let job = app.store.write(stop_now).await??;
    crate::crash::point("cancel.intent-committed-before-signal");
    app.nudge.runs();
    Ok(Json(summary(&job)))
}

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Duration {
    /// `90s`, `2h`, …; null takes the limit away.
    max_duration: Option<String>,
}

/// Sets how long a job may run, from its start.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/duration", params(("job" = String, Path)), request_body = Duration,
    responses((status = 200, body = JobSummary), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn set_duration(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Body(body): Body,
) -> Result<Json<JobSummary>, Error> {
    let bad = |value: String| Error::BadValue {
        name: "max_duration",
        value,
        wanted: ("a time such as 90s, 15m or 12h, or null", "90s、15m、12h 这样的时长，或 null").into(),
    };
    let asked: Duration = serde_json::from_slice(&body).map_err(|error| bad(error.to_string()))?;
    let most_ms = asked.max_duration.map(|text| parse_duration_ms(&text).filter(|ms| *ms > 0).ok_or_else(|| bad(text))).transpose()?;
    let job = found(&app, &holder, &text).await?;
    let id = job.id;
    match app.store.write(move |sql| jobs::set_max_duration(sql, id, most_ms)).await? {
        Written::Yes => Ok(Json(summary(&found(&app, &holder, &id.to_string()).await?))),
        Written::Stale => Err(Error::TooLate { job: label(&job), state: job.state }),
    }
}

#[derive(Deserialize, IntoParams)]
pub struct DeleteQuery {
    /// Also if output of it was to be saved elsewhere and is not.
    #[serde(default)]
    force: bool,
}

/// Deletes a job that is over: its name, its records and its files.
#[utoipa::path(delete, path = "/api/v1/jobs/{job}", params(("job" = String, Path), DeleteQuery),
    responses((status = 204), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn delete(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<DeleteQuery>,
) -> Result<StatusCode, Error> {
    let job = found(&app, &holder, &text).await?;
    let id = job.id;
    let is_over = job.state.is_over();
    let delete_now = move |sql: &Sql<'_>| match runs::sync::not_saved(sql, id)?.first().filter(|_| !query.force && is_over) {
        Some(run) => Ok(Err(run.about_output().unwrap_or_default())),
        None => jobs::delete(sql, id).map(Ok),
    };
    let written = app.store.write(delete_now).await?.map_err(|why| Error::NotSaved { job: label(&job), why })?;
    match written {
        Written::Yes => {
            crate::crash::point("gc.rows-deleted-before-files");
            app.nudge.sweep();
            Ok(StatusCode::NO_CONTENT)
        }
        Written::Stale => Err(Error::NotOver { job: label(&job), state: job.state }),
    }
}
