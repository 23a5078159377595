//! Logs as people read them: lines of one or several tasks in the order of their times, filtered, a page at a time or as they come.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Extension, Json,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use model::{
    ids::{RunKey, TaskName},
    said,
    wire::{ErrorBody, LinesPage},
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    App, AppState,
    extract::Query,
    flow::Flow,
    follow::{watched::Wanted, words},
    guard::Caller,
    jobs,
    logs::{WhichStream, blocking, tasks_of},
};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{jobs::Job, runs},
};

mod follow;
mod merge;
mod page;
pub mod pattern;
mod source;

use merge::{Begin, Key, Span};
use page::Asked;
use pattern::Pattern;
use source::Reading;

const LINES_DEFAULT: usize = 500;
const LINES_MAX: usize = 5000;
const CONTEXT_MAX: usize = 50;
/// All logs together; with many of them, less of each is read at a time.
const BLOCKS_BYTES: u64 = 8 << 20;

#[derive(Clone, Debug, Deserialize, IntoParams)]
pub struct LinesQuery {
    /// Only these tasks, with commas; all if not given.
    task: Option<String>,
    /// Only these roles, with commas.
    role: Option<String>,
    /// A number, or `all`; the newest of each task if not given.
    attempt: Option<String>,
    #[serde(default)]
    #[param(inline)]
    stream: WhichStream,
    /// `false` to leave out the platform's own lines.
    platform: Option<bool>,
    since_ms: Option<u64>,
    until_ms: Option<u64>,
    /// Where to begin: with the first lines, or with the last, which is usual.
    #[param(inline)]
    from: Option<From>,
    /// Begin with the last lines of each task, and go on from there.
    tail: Option<u64>,
    /// Lines before this place: the `before` of another page.
    before: Option<String>,
    /// Lines after this place: the `after` of another page.
    after: Option<String>,
    /// 500 if not given, at most 5,000.
    limit: Option<usize>,
    /// Only lines with this in them.
    pattern: Option<String>,
    /// `true` if the pattern is a regular expression.
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    /// Lines before and after each that was found, at most 50.
    context: Option<usize>,
    /// `true` to be sent lines as they come, as server-sent events: `line`, `state` and one `end`. A line without an end is sent when
    /// it has one, or when the job is over.
    #[serde(default)]
    follow: bool,
    /// With `follow`: `true` to be sent lines without an end too, as `open` events, whenever they have grown.
    #[serde(default)]
    open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum From {
    Start,
    End,
}

/// Lines of a job's tasks in the order of their times.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/lines", params(("job" = String, Path), LinesQuery),
    responses((status = 200, body = LinesPage), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn lines(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<LinesQuery>,
    flow: Option<Extension<Arc<Flow>>>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let pattern = pattern_of(&query)?;
    let wanted = wanted(&job, &query)?;
    if query.follow {
        return Ok(follow::follow(app, job.id, (wanted, pattern), &query, (flow.map(|it| it.0), &headers)).into_response());
    }
    let limit = within("limit", query.limit.unwrap_or(LINES_DEFAULT), 1, LINES_MAX)?;
    let context = within("context", query.context.unwrap_or(0), 0, CONTEXT_MAX)?;
    let begin = begin(&query)?;
    let readings = readings(&app, &job, &wanted, &query).await?;
    let span = Span { since_ms: query.since_ms, until_ms: query.until_ms };
    let page = blocking(move || page::page(Asked { readings, begin, span, pattern, context, limit })).await?;
    Ok(Json(page).into_response())
}

fn within(name: &'static str, value: usize, least: usize, most: usize) -> Result<usize, Error> {
    let bad = || Error::BadValue { name, value: value.to_string(), wanted: said!("{least} to {most}", "{least} 到 {most}") };
    (least..=most).contains(&value).then_some(value).ok_or_else(bad)
}

fn pattern_of(query: &LinesQuery) -> Result<Option<Pattern>, Error> {
    query.pattern.as_deref().map(|text| Pattern::new(text, query.regex, query.ignore_case)).transpose()
}

fn begin(query: &LinesQuery) -> Result<Begin, Error> {
    let key = |name: &'static str, text: &str| -> Result<Key, Error> {
        text.parse().map_err(|()| Error::BadValue {
            name,
            value: text.to_owned(),
            wanted: said!("the `{name}` of another page", "另一页给出的 `{name}`"),
        })
    };
    match (&query.before, &query.after, query.tail, query.from) {
        (Some(before), None, ..) => Ok(Begin::Before(key("before", before)?)),
        (None, Some(after), ..) => Ok(Begin::After(key("after", after)?)),
        (Some(before), Some(_), ..) => Err(Error::BadValue {
            name: "before",
            value: before.clone(),
            wanted: ("given together with `after`", "不能与 `after` 一起给出").into(),
        }),
        (None, None, Some(lines), _) => Ok(Begin::Tail(lines)),
        (None, None, None, Some(From::Start)) => Ok(Begin::Start),
        (None, None, None, Some(From::End) | None) => Ok(Begin::End),
    }
}

fn wanted(job: &Job, query: &LinesQuery) -> Result<Wanted, Error> {
    let tasks = query.task.as_deref().map(|list| tasks_of(job, list));
    let roles = query.role.as_deref().map(words);
    if let Some(role) = roles.iter().flatten().find(|role| !job.plan.roles.iter().any(|known| known.name.to_string() == **role)) {
        return Err(Error::BadValue { name: "role", value: role.clone(), wanted: said!("a role of {}", "{} 的角色", jobs::label(job)) });
    }
    let attempt = match query.attempt.as_deref() {
        None | Some("all") => None,
        Some(text) => Some(text.parse().map_err(|_| Error::BadValue {
            name: "attempt",
            value: text.into(),
            wanted: ("a number or `all`", "数字或 `all`").into(),
        })?),
    };
    Ok(Wanted { tasks: tasks.transpose()?, roles, attempt })
}

async fn readings(app: &App, job: &Job, wanted: &Wanted, query: &LinesQuery) -> Result<Vec<Reading>, Error> {
    let chosen = chosen(app, job, wanted, query.attempt.is_none()).await?;
    let block_bytes = (BLOCKS_BYTES / chosen.len().max(1) as u64).clamp(4 << 10, 64 << 10);
    let streams = query.stream.streams(query.platform);
    let reading = |(run, is_over): (RunKey, bool)| Reading { dir: RunDir::new(&app.data, &run), run, streams, is_over, block_bytes };
    Ok(chosen.into_iter().map(reading).collect())
}

/// The runs that are meant, and whether each is over.
pub async fn chosen(app: &App, job: &Job, wanted: &Wanted, only_newest: bool) -> Result<Vec<(RunKey, bool)>, Error> {
    let id = job.id;
    let all = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    let mut chosen: BTreeMap<(TaskName, u32), (RunKey, bool)> = BTreeMap::new();
    for run in all.into_iter().filter(|run| wanted.takes(&run.run)) {
        chosen.insert((run.run.task.clone(), run.run.attempt), (run.run, run.state.is_over()));
    }
    if only_newest {
        let newest: BTreeMap<TaskName, u32> = chosen.keys().cloned().collect();
        chosen.retain(|(task, attempt), _| newest.get(task) == Some(attempt));
    }
    Ok(chosen.into_values().collect())
}
