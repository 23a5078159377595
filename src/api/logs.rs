//! A task's output as it was written, byte for byte.

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use model::{
    ids::{RunKey, TaskName},
    logs::Stream,
    wire::ErrorBody,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{App, AppState, extract::Query, guard::Caller, jobs, log_files::LogFiles};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{jobs::Job, runs},
};

const BLOCK_BYTES: u64 = 256 << 10;

#[derive(Deserialize, IntoParams)]
pub struct LogQuery {
    /// The newest if not given.
    attempt: Option<u32>,
    #[serde(default)]
    stream: WhichStream,
    /// Skips this many bytes of the merged output.
    #[serde(default)]
    offset: u64,
    /// At most this many bytes.
    limit: Option<u64>,
    /// Only the last lines.
    tail: Option<u64>,
    /// Only what came at or after this time.
    since_ms: Option<u64>,
}

#[derive(Clone, Copy, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhichStream {
    #[default]
    Merged,
    Stdout,
    Stderr,
}

impl WhichStream {
    fn only(self) -> Option<Stream> {
        match self {
            WhichStream::Merged => None,
            WhichStream::Stdout => Some(Stream::Stdout),
            WhichStream::Stderr => Some(Stream::Stderr),
        }
    }
}

/// The output of one task so far, raw.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/tasks/{task}/log", params(("job" = String, Path), ("task" = String, Path), LogQuery),
    responses((status = 200, content_type = "application/octet-stream", body = String), (status = 404, body = ErrorBody)))]
pub async fn log(
    State(app): AppState,
    Caller(holder): Caller,
    Path((text, task)): Path<(String, String)>,
    Query(query): Query<LogQuery>,
) -> Result<Response, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let run = run_of(&app, &job, &task, query.attempt).await?;
    let dir = RunDir::new(&app.data, &run);
    let selected = tokio::task::spawn_blocking(move || select(&dir, &query)).await;
    let selected = selected.map_err(|error| Error::Internal(error.to_string()))?.map_err(|error| Error::Internal(error.to_string()))?;
    let body = selected.map_or_else(Body::empty, |(files, ranges)| Body::from_stream(stream::unfold((files, ranges, 0), next_block)));
    let headers = [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'"),
    ];
    Ok((headers, body).into_response())
}

/// The run of a task's attempt. A task that was never placed has an empty log, not none.
async fn run_of(app: &App, job: &Job, task: &str, attempt: Option<u32>) -> Result<RunKey, Error> {
    let label = format!("{}@{}", job.name, job.version);
    let no_such = || Error::NoSuchTask(label.clone(), task.to_owned());
    let task_name: TaskName = task.parse().map_err(|_| no_such())?;
    job.plan.role(&task_name.role).filter(|role| task_name.index < role.tasks).ok_or_else(no_such)?;
    let id = job.id;
    let all = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    let newest = all.iter().filter(|run| run.run.task == task_name).map(|run| run.run.attempt).max();
    let attempt = attempt.or(newest).unwrap_or(job.attempt);
    Ok(RunKey { job: id, task: task_name, attempt })
}

type Selected = (LogFiles, std::collections::VecDeque<(u64, u64)>);

fn select(dir: &RunDir, query: &LogQuery) -> std::io::Result<Option<Selected>> {
    let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
    let since = query.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let mut ranges = files.ranges(query.stream.only(), since.max(query.offset))?;
    if let Some(lines) = query.tail {
        ranges = files.keep_last_lines(ranges, lines)?;
    }
    if let Some(most) = query.limit {
        cut(&mut ranges, most);
    }
    Ok(Some((files, ranges.into())))
}

fn cut(ranges: &mut Vec<(u64, u64)>, most: u64) {
    let mut left = most;
    for range in ranges.iter_mut() {
        range.1 = range.1.min(range.0.saturating_add(left));
        left -= range.1 - range.0;
    }
    ranges.retain(|(start, end)| start < end);
}

async fn next_block(
    (files, mut ranges, read): (LogFiles, std::collections::VecDeque<(u64, u64)>, u64),
) -> Option<(std::io::Result<Bytes>, (LogFiles, std::collections::VecDeque<(u64, u64)>, u64))> {
    let (start, end) = ranges.pop_front()?;
    let length = (end - start).min(BLOCK_BYTES);
    if start + length < end {
        ranges.push_front((start + length, end));
    }
    let block = tokio::task::spawn_blocking(move || (files.read_at(start, length as usize), files)).await;
    let (bytes, files) = block.ok()?;
    Some((bytes.map(Bytes::from), (files, ranges, read + length)))
}
