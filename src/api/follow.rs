//! A job's output and state as they come.
//!
//! An event's id says how far every task's log was sent. A reader that loses the line sends it back as
//! `Last-Event-ID` and continues at those bytes; the server keeps nothing per reader.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    sync::Arc,
    time::Duration,
};

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{Stream as EventStream, stream};
use model::{
    ids::{JobId, RunKey, TaskName},
    wire::{ErrorBody, JobSummary, LogChunk},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App, AppState,
    extract::Query,
    guard::Caller,
    jobs,
    log_files::{Chunk, LogFiles},
};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{jobs as job_rows, runs},
};

/// How often a log that grows is looked at, and how often one that is silent; a change of the job wakes a
/// reader at once.
const LOOK_EVERY: Duration = Duration::from_millis(40);
const LOOK_EVERY_MAX: Duration = Duration::from_millis(320);
/// How much of one log is read before the next one has its turn.
const CHUNKS_A_TURN: usize = 8;
/// How much waits in memory for a reader who is slow.
const CHUNKS_WAITING_MAX: usize = 32;

#[derive(Deserialize, IntoParams)]
pub struct FollowQuery {
    /// Only these tasks, with commas; all if not given.
    task: Option<String>,
    /// Begin with the last lines of each task.
    tail: Option<u64>,
    /// Begin with what came at or after this time.
    since_ms: Option<u64>,
    /// `false` for a reader who only wants to know how the job goes.
    logs: Option<bool>,
}

/// Follows a job: `log` events carry output, `state` events the job when it changed, and one `end`
/// event closes the stream.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/follow", params(("job" = String, Path), FollowQuery),
    responses((status = 200, content_type = "text/event-stream", body = LogChunk), (status = 404, body = ErrorBody)))]
pub async fn follow(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<FollowQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl EventStream<Item = Result<Event, Infallible>>>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let only = match query.logs {
        Some(false) => Some(Vec::new()),
        Some(true) | None => query.task.as_deref().map(|list| parse_tasks(&text, list)).transpose()?,
    };
    let sent = last_event_id(&headers).map(|id| parse_cursor(&id)).unwrap_or_default();
    let reader = Reader {
        changes: app.store.changes(),
        app,
        job: job.id,
        only,
        begin: Begin { tail: query.tail, since_ms: query.since_ms },
        sent,
        runs: Vec::new(),
        first: 0,
        waiting: VecDeque::new(),
        summary: None,
        told: None,
        woken: true,
        news: true,
        pause: LOOK_EVERY,
        done: false,
    };
    Ok(Sse::new(stream::unfold(reader, Reader::next)).keep_alive(KeepAlive::default()))
}

fn parse_tasks(job: &str, list: &str) -> Result<Vec<TaskName>, Error> {
    let parse = |text: &str| text.parse().map_err(|_| Error::NoSuchTask(job.to_owned(), text.to_owned()));
    list.split(',').map(parse).collect()
}

pub fn last_event_id(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("last-event-id")?.to_str().ok()?.to_owned())
}

/// How far each run's log was sent: `worker-0.1:4096,worker-1.1:17`.
type Sent = BTreeMap<(TaskName, u32), u64>;

fn parse_cursor(text: &str) -> Sent {
    let one = |part: &str| {
        let (run, offset) = part.rsplit_once(':')?;
        let (task, attempt) = run.rsplit_once('.')?;
        Some(((task.parse().ok()?, attempt.parse().ok()?), offset.parse().ok()?))
    };
    text.split(',').filter_map(one).collect()
}

fn show_cursor(sent: &Sent) -> String {
    let parts: Vec<String> = sent.iter().map(|((task, attempt), offset)| format!("{task}.{attempt}:{offset}")).collect();
    parts.join(",")
}

#[derive(Clone, Copy)]
struct Begin {
    tail: Option<u64>,
    since_ms: Option<u64>,
}

struct Reader {
    app: Arc<App>,
    job: JobId,
    only: Option<Vec<TaskName>>,
    begin: Begin,
    sent: Sent,
    /// Whose logs are read, and the job, as of the last look into the store.
    runs: Vec<RunKey>,
    summary: Option<JobSummary>,
    /// Whose log is read first, so that no task waits behind one that never stops talking.
    first: usize,
    waiting: VecDeque<Event>,
    told: Option<JobSummary>,
    /// Something was committed since the last look into the store.
    woken: bool,
    /// The last look into the store showed something new of this job.
    news: bool,
    pause: Duration,
    done: bool,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl Reader {
    /// An error ends the stream; the reader comes back with the id it has.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        while self.waiting.is_empty() {
            if self.done {
                return None;
            }
            self.look().await.inspect_err(|error| tracing::warn!("a follower's stream ends early: {error}")).ok()?;
            if self.waiting.is_empty() && !self.done {
                self.rest().await;
            }
        }
        let event = self.waiting.pop_front()?;
        Some((Ok(event), self))
    }

    /// Waits for a change of the job, or until it is time to look at the logs again. In a busy house most
    /// changes are of other jobs; after one of those the next may wait a moment.
    async fn rest(&mut self) {
        if !self.news {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let changed = self.changes.changed();
        self.woken = if self.runs.is_empty() { changed.await.is_ok() } else { tokio::time::timeout(self.pause, changed).await.is_ok() };
        self.pause = (self.pause * 2).min(LOOK_EVERY_MAX);
    }

    /// The job's state is read before its logs: once it is over, its logs are whole. The store is asked
    /// only when something was committed; a log that grows shows by its length.
    async fn look(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.woken) || self.changes.has_changed().unwrap_or(true) {
            self.ask_the_store().await?;
        }
        self.read_logs().await?;
        let (drained, Some(summary)) = (self.waiting.is_empty(), self.summary.clone()) else { return Ok(()) };
        if self.told.as_ref().is_none_or(|told| (told.state, &told.reason) != (summary.state, &summary.reason)) {
            self.waiting.push_back(event("state", &summary, &self.sent)?);
            self.told = Some(summary.clone());
        }
        if drained && summary.state.is_over() {
            self.waiting.push_back(event("end", &summary, &self.sent)?);
            self.done = true;
        }
        Ok(())
    }

    async fn ask_the_store(&mut self) -> Result<(), Error> {
        self.changes.borrow_and_update();
        let id = self.job;
        let read = move |sql: &crate::store::Sql<'_>| Ok((job_rows::get(sql, id)?, runs::of_job(sql, id)?));
        let (job, all) = self.app.store.read(read).await?;
        let mut keys: Vec<RunKey> = all.into_iter().map(|run| run.run).filter(|run| self.wants(&run.task)).collect();
        keys.sort_by(|a, b| (a.attempt, &a.task).cmp(&(b.attempt, &b.task)));
        let summary = job.as_ref().map(jobs::summary);
        self.done = summary.is_none();
        self.news = summary != self.summary || keys != self.runs;
        (self.runs, self.summary) = (keys, summary);
        Ok(())
    }

    fn wants(&self, task: &TaskName) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(task))
    }

    async fn read_logs(&mut self) -> Result<(), Error> {
        if self.runs.is_empty() {
            return Ok(());
        }
        let first = self.first % self.runs.len();
        let in_turn = self.runs[first..].iter().chain(&self.runs[..first]);
        let from: Vec<(RunKey, Option<u64>)> =
            in_turn.map(|run| (run.clone(), self.sent.get(&(run.task.clone(), run.attempt)).copied())).collect();
        let (app, begin) = (self.app.clone(), self.begin);
        let read = tokio::task::spawn_blocking(move || read_in_turn(&app.data, from, begin)).await;
        let read = read.map_err(|error| Error::Internal(error.to_string()))?.map_err(|error| Error::Internal(error.to_string()))?;
        let (looked_at, read) = read;
        self.first = first + looked_at;
        for (run, start, chunks) in read {
            let key = (run.task.clone(), run.attempt);
            self.sent.entry(key.clone()).or_insert(start);
            for chunk in chunks {
                self.pause = LOOK_EVERY;
                self.sent.insert(key.clone(), chunk.offset + chunk.bytes.len() as u64);
                self.waiting.push_back(event("log", &log_chunk(&run, chunk), &self.sent)?);
            }
        }
        Ok(())
    }
}

type Read = (RunKey, u64, Vec<Chunk>);

/// Reads one log after the other until enough waits, and answers how many were looked at. Files are open only while they are read: a thousand
/// followers of a thousand tasks must not use up what the server may have open.
fn read_in_turn(data: &std::path::Path, runs: Vec<(RunKey, Option<u64>)>, begin: Begin) -> std::io::Result<(usize, Vec<Read>)> {
    let (mut looked_at, mut waiting, mut read) = (0, 0, Vec::new());
    for (run, from) in runs {
        if waiting >= CHUNKS_WAITING_MAX {
            break;
        }
        looked_at += 1;
        if let Some((start, chunks)) = read_chunks(&RunDir::new(data, &run), from, begin)? {
            waiting += chunks.len();
            read.push((run, start, chunks));
        }
    }
    Ok((looked_at, read))
}

/// `None` if there is no log yet.
fn read_chunks(dir: &RunDir, from: Option<u64>, begin: Begin) -> std::io::Result<Option<(u64, Vec<Chunk>)>> {
    if let (Some(from), Ok(log)) = (from, std::fs::metadata(dir.log()))
        && log.len() <= from
    {
        return Ok(Some((from, Vec::new())));
    }
    let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
    let start = from.map_or_else(|| beginning(&files, begin), Ok)?;
    let (mut offset, mut chunks) = (start, Vec::new());
    while chunks.len() < CHUNKS_A_TURN
        && let Some(chunk) = files.chunk_at(offset)?
    {
        offset += chunk.bytes.len() as u64;
        chunks.push(chunk);
    }
    Ok(Some((start, chunks)))
}

fn beginning(files: &LogFiles, begin: Begin) -> std::io::Result<u64> {
    let since = begin.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let Some(lines) = begin.tail else { return Ok(since) };
    let ranges = files.keep_last_lines(files.ranges(None, since)?, lines)?;
    ranges.first().map_or_else(|| files.length(), |(start, _)| Ok(*start))
}

fn log_chunk(run: &RunKey, chunk: Chunk) -> LogChunk {
    let (text, base64) = match String::from_utf8(chunk.bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
    };
    LogChunk {
        task: run.task.to_string(),
        attempt: run.attempt,
        stream: chunk.stream,
        offset: chunk.offset,
        at_ms: chunk.at_ms,
        text,
        base64,
    }
}

fn event(kind: &str, data: &impl serde::Serialize, sent: &Sent) -> Result<Event, Error> {
    let event = Event::default().event(kind).id(show_cursor(sent)).json_data(data);
    event.map_err(|error| Error::Internal(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text_form_and_nonsense_in_it_is_passed_over() {
        let text = "parameter-server-0.1:0,worker-1.2:4096";
        assert_eq!(show_cursor(&parse_cursor(text)), text);
        assert_eq!(show_cursor(&parse_cursor("worker-0.1:7,../x.1:9,worker-0.x:1,:,")), "worker-0.1:7");
    }
}
