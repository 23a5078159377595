//! A task's output as it was written, byte for byte.

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use model::{
    ids::{RunKey, TaskName},
    logs::{Stream, Streams},
    wire::ErrorBody,
};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{
    App, AppState,
    extract::Query,
    guard::Caller,
    jobs,
    log_files::{Block, LogFiles, Told},
};
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
    #[param(inline)]
    stream: WhichStream,
    /// `false` to leave out the platform's own lines.
    platform: Option<bool>,
    /// Skips this many bytes of the merged output.
    #[serde(default)]
    offset: u64,
    /// At most this many bytes.
    limit: Option<u64>,
    /// Only the last lines.
    tail: Option<u64>,
    /// Only the last bytes, wherever they begin.
    tail_bytes: Option<u64>,
    /// Only what came at or after this time.
    since_ms: Option<u64>,
    /// Only what came before this time.
    until_ms: Option<u64>,
    /// `true` to have it saved as a file.
    #[serde(default)]
    download: bool,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum WhichStream {
    #[default]
    Merged,
    Stdout,
    Stderr,
    /// The platform's own lines.
    Platform,
}

impl WhichStream {
    pub fn streams(self, platform: Option<bool>) -> Streams {
        match self {
            WhichStream::Merged if platform == Some(false) => Streams::ALL.without(Stream::Platform),
            WhichStream::Merged => Streams::ALL,
            WhichStream::Stdout => Streams::only(Stream::Stdout),
            WhichStream::Stderr => Streams::only(Stream::Stderr),
            WhichStream::Platform => Streams::only(Stream::Platform),
        }
    }
}

/// The output of one task so far, raw. Where bytes were dropped, a line in brackets says how many.
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
    let (name, download) = (format!("{}-{}-{}.{}.log", job.name, job.version, run.task, run.attempt), query.download);
    let selected = blocking(move || select(&dir, &query)).await?;
    let body = selected.map_or_else(Body::empty, |raw| Body::from_stream(stream::unfold(raw, next_block)));
    let mut answer = body.into_response();
    let headers = answer.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    if let (true, Ok(value)) = (download, HeaderValue::from_str(&format!("attachment; filename=\"{name}\""))) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(answer)
}

/// Reads files where nobody else has to wait for the disk.
pub async fn blocking<T: Send + 'static>(read: impl FnOnce() -> std::io::Result<T> + Send + 'static) -> Result<T, Error> {
    let read = tokio::task::spawn_blocking(read).await.map_err(|error| Error::Internal(error.to_string()))?;
    read.map_err(|error| Error::Internal(error.to_string()))
}

/// The run of a task's attempt. A task that was never placed has an empty log, not none.
async fn run_of(app: &App, job: &Job, task: &str, attempt: Option<u32>) -> Result<RunKey, Error> {
    let task_name = task_of(job, task)?;
    let id = job.id;
    let all = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    let newest = all.iter().filter(|run| run.run.task == task_name).map(|run| run.run.attempt).max();
    let attempt = attempt.or(newest).unwrap_or(job.attempt);
    Ok(RunKey { job: id, task: task_name, attempt })
}

/// A task that the job has, whether or not it ever began, by its name or by the one its container would have.
pub fn task_of(job: &Job, task: &str) -> Result<TaskName, Error> {
    let is_there = |name: &TaskName| job.plan.role(&name.role).is_some_and(|role| name.index < role.tasks);
    let by_name = task.parse().ok().filter(is_there);
    let found = by_name.or_else(|| TaskName::of_container(&job.name, task).filter(is_there));
    found.ok_or_else(|| Error::NoSuchTask(jobs::label(job), task.to_owned()))
}

/// The tasks of a list with commas.
pub fn tasks_of(job: &Job, list: &str) -> Result<Vec<TaskName>, Error> {
    list.split(',').map(|task| task_of(job, task.trim())).collect()
}

/// What is left to read of a log as it was when it was asked for.
pub struct Raw {
    files: LogFiles,
    streams: Streams,
    at: u64,
    end: u64,
    left: u64,
}

fn select(dir: &RunDir, query: &LogQuery) -> std::io::Result<Option<Raw>> {
    let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
    let streams = query.stream.streams(query.platform);
    let since = query.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let tail = query.tail.map(|lines| files.tail_start(streams, lines)).transpose()?.unwrap_or(0);
    let tail_bytes = query.tail_bytes.map(|bytes| files.last_bytes_start(streams, bytes)).transpose()?.unwrap_or(0);
    let end = query.until_ms.map_or_else(|| files.length(), |at_ms| files.offset_since(at_ms))?;
    let at = since.max(query.offset).max(tail).max(tail_bytes);
    Ok(Some(Raw { files, streams, at, end, left: query.limit.unwrap_or(u64::MAX) }))
}

async fn next_block(mut raw: Raw) -> Option<(std::io::Result<Bytes>, Raw)> {
    let read = tokio::task::spawn_blocking(move || (raw.next(), raw)).await;
    let (bytes, raw) = read.ok()?;
    Some((bytes.transpose()?.map(Bytes::from), raw))
}

impl Raw {
    /// The next bytes that are wanted; `None` at the end.
    pub fn next(&mut self) -> std::io::Result<Option<Vec<u8>>> {
        while self.at < self.end && self.left > 0 {
            let before = self.at;
            let mut bytes = if self.streams == Streams::ALL { self.next_of_all()? } else { self.next_of_some()? };
            bytes.truncate(usize::try_from(self.left).unwrap_or(usize::MAX));
            if !bytes.is_empty() {
                self.left -= bytes.len() as u64;
                return Ok(Some(bytes));
            }
            if self.at == before {
                break;
            }
        }
        Ok(None)
    }

    fn next_of_all(&mut self) -> std::io::Result<Vec<u8>> {
        let most = (self.end - self.at).min(BLOCK_BYTES);
        match self.files.block_at(self.at, most)? {
            Block::Bytes(bytes) => {
                self.at += bytes.len() as u64;
                Ok(bytes)
            }
            Block::Dropped(gap) => {
                let words = gap.marker(gap.to - self.at);
                self.at = gap.to;
                Ok(format!("\n{words}\n").into_bytes())
            }
        }
    }

    fn next_of_some(&mut self) -> std::io::Result<Vec<u8>> {
        let (streams, mut wanted) = (self.streams, Vec::new());
        self.at = self.files.walk(self.at, (self.end - self.at).min(BLOCK_BYTES), &mut |told| match told {
            Told::Bytes { stream, bytes, .. } if streams.contains(stream) => wanted.extend_from_slice(bytes),
            Told::Bytes { .. } => {}
            Told::Dropped { gap, offset } => wanted.extend(format!("\n{}\n", gap.marker(gap.to - offset)).into_bytes()),
        })?;
        Ok(wanted)
    }
}
