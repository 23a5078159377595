//! A job's output and state as they come.
//!
//! An event's id says how far every task's log was sent. A reader that loses the line sends it back as
//! `Last-Event-ID` and continues at those bytes; the server keeps nothing per reader.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    sync::Arc,
};

use axum::{
    Extension,
    extract::{Path, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use futures_util::{Stream as EventStream, stream};
use model::{
    ids::{RunKey, TaskName},
    logs::Stream,
    wire::{ErrorBody, LogChunk},
};
use serde::Deserialize;
use tokio::sync::Semaphore;
use utoipa::IntoParams;

use super::{
    AppState,
    extract::Query,
    flow::{Flow, Gate},
    guard::Caller,
    jobs,
    log_files::{LogFiles, Told},
    logs::{blocking, tasks_of},
};
use crate::{error::Error, rundir::RunDir};

pub mod lookout;
pub mod watched;

use watched::{Wanted, Watched};

/// How much is read of all logs before it is sent: what waits in memory for a reader who is slow.
const TURN_BYTES_MAX: u64 = 8 << 10;
/// How many followers read at the same time. Each is done in a moment; a thread for every one of a thousand costs memory, and the
/// others their turn.
static READING: Semaphore = Semaphore::const_new(8);

#[derive(Deserialize, IntoParams)]
pub struct FollowQuery {
    /// Only these tasks, with commas; all if not given.
    task: Option<String>,
    /// Only these roles, with commas.
    role: Option<String>,
    /// Begin with the last lines of each task.
    tail: Option<u64>,
    /// Begin with what came at or after this time.
    since_ms: Option<u64>,
    /// `false` for a reader who only wants to know how the job goes.
    logs: Option<bool>,
}

/// Follows a job: `log` events carry output, `state` events the job when it changed, and one `end`
/// event closes the stream. A task that is tried again speaks of its next attempt when all of the last is said.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/follow", params(("job" = String, Path), FollowQuery),
    responses((status = 200, content_type = "text/event-stream", body = LogChunk), (status = 404, body = ErrorBody)))]
pub async fn follow(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<FollowQuery>,
    flow: Option<Extension<Arc<Flow>>>,
    headers: HeaderMap,
) -> Result<Sse<impl EventStream<Item = Result<Event, Infallible>>>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let tasks = match query.logs {
        Some(false) => Some(Vec::new()),
        Some(true) | None => query.task.as_deref().map(|list| tasks_of(&job, list)).transpose()?,
    };
    let wanted = Wanted { tasks, roles: query.role.as_deref().map(words), attempt: None };
    let reader = Reader {
        watched: Watched::new(app, job.id, wanted),
        begin: Begin { tail: query.tail, since_ms: query.since_ms },
        sent: last_event_id(&headers).map(|id| parse_cursor(&id)).unwrap_or_default(),
        passed: BTreeMap::new(),
        first: 0,
        waiting: VecDeque::new(),
        gate: Gate::new(flow.map(|Extension(flow)| flow)),
        done: false,
    };
    Ok(Sse::new(stream::unfold(reader, Reader::next)).keep_alive(KeepAlive::default()))
}

pub fn words(list: &str) -> Vec<String> {
    list.split(',').map(|word| word.trim().to_owned()).collect()
}

pub fn last_event_id(headers: &HeaderMap) -> Option<String> {
    Some(headers.get("last-event-id")?.to_str().ok()?.to_owned())
}

/// How far each run's log was sent: `worker-0.1:4096,worker-1.1:17`.
pub type Sent = BTreeMap<(TaskName, u32), u64>;

pub fn parse_cursor(text: &str) -> Sent {
    let one = |part: &str| {
        let (run, offset) = part.rsplit_once(':')?;
        let (task, attempt) = run.rsplit_once('.')?;
        Some(((task.parse().ok()?, attempt.parse().ok()?), offset.parse().ok()?))
    };
    text.split(',').filter_map(one).collect()
}

pub fn show_cursor(sent: &Sent) -> String {
    let parts: Vec<String> = sent.iter().map(|((task, attempt), offset)| format!("{task}.{attempt}:{offset}")).collect();
    parts.join(",")
}

#[derive(Clone, Copy)]
struct Begin {
    tail: Option<u64>,
    since_ms: Option<u64>,
}

struct Reader {
    watched: Watched,
    begin: Begin,
    sent: Sent,
    /// The attempt of each task whose log is read; everything of those before it was sent.
    passed: BTreeMap<TaskName, u32>,
    /// Whose log is read first, so that no task waits behind one that never stops talking.
    first: usize,
    waiting: VecDeque<(Event, usize)>,
    gate: Option<Gate>,
    done: bool,
}

impl Reader {
    /// An error ends the stream; the reader comes back with the id it has.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if let Some(gate) = &mut self.gate {
            gate.room_for(self.waiting.front().map(|it| it.1)).await;
        }
        while self.waiting.is_empty() {
            if self.done {
                return None;
            }
            self.look().await.inspect_err(|error| tracing::warn!("a follower's stream ends early: {error}")).ok()?;
            if self.waiting.is_empty() && !self.done {
                self.watched.rest().await.ok()?;
            }
        }
        let (event, bytes) = self.waiting.pop_front()?;
        if let Some(gate) = &mut self.gate {
            gate.sent(bytes);
        }
        Some((Ok(event), self))
    }

    /// The job's state is read before its logs: once it is over, its logs are whole.
    async fn look(&mut self) -> Result<(), Error> {
        self.watched.look().await?;
        self.done = self.watched.is_gone();
        self.read_logs().await?;
        let drained = self.waiting.is_empty();
        if let Some(summary) = self.watched.changed() {
            self.waiting.push_back(event("state", &*summary, &self.sent)?);
        }
        if let (true, Some(summary)) = (drained, self.watched.over()) {
            self.waiting.push_back(event("end", &*summary, &self.sent)?);
            self.done = true;
        }
        Ok(())
    }

    async fn read_logs(&mut self) -> Result<(), Error> {
        while self.read_once().await? && self.waiting.is_empty() {}
        Ok(())
    }

    /// Answers whether a task is done with one attempt and has another.
    async fn read_once(&mut self) -> Result<bool, Error> {
        let places = self.places();
        if places.is_empty() {
            return Ok(false);
        }
        let (data, begin) = (self.watched.app.data.clone(), self.begin);
        let turn = READING.acquire().await.map_err(|error| Error::Internal(error.to_string()))?;
        let (looked_at, read) = blocking(move || read_in_turn(&data, &places, begin)).await?;
        drop(turn);
        self.first = self.first.wrapping_add(looked_at);
        let mut has_moved_on = false;
        for Read { run, start, chunks, is_last } in read {
            let key = (run.task.clone(), run.attempt);
            self.sent.entry(key.clone()).or_insert(start);
            if chunks.is_empty() && !is_last {
                self.passed.insert(run.task.clone(), run.attempt + 1);
                has_moved_on = true;
            }
            for chunk in chunks {
                self.sent.insert(key.clone(), chunk.end);
                self.waiting.push_back(event("log", &chunk.of(&run), &self.sent)?);
            }
        }
        Ok(has_moved_on)
    }

    /// Where each task is to be read on, beginning with another one each time. A log that has not grown is seen by its length, which is
    /// quicker than to ask somebody to read it.
    fn places(&self) -> Vec<Place> {
        let tasks = &self.watched.tasks;
        let first = if tasks.is_empty() { 0 } else { self.first % tasks.len() };
        let in_turn = tasks[first..].iter().chain(&tasks[..first]);
        let place = |attempts: &Vec<RunKey>| {
            let from = attempts.first().and_then(|run| self.passed.get(&run.task)).copied().unwrap_or(0);
            let at = attempts.iter().position(|run| run.attempt >= from)?;
            let (run, is_last) = (attempts[at].clone(), at + 1 == attempts.len());
            let sent = self.sent.get(&(run.task.clone(), run.attempt)).copied();
            let is_silent = is_last && sent.is_some_and(|sent| self.watched.seen.has_not_grown(&run, sent));
            (!is_silent).then_some(Place { run, sent, is_last })
        };
        in_turn.filter_map(place).collect()
    }
}

/// A log, and how far it was sent.
struct Place {
    run: RunKey,
    sent: Option<u64>,
    /// The task has no later attempt.
    is_last: bool,
}

struct Read {
    run: RunKey,
    start: u64,
    chunks: Vec<Chunk>,
    is_last: bool,
}

/// Bytes of one stream that came together.
struct Chunk {
    stream: Stream,
    offset: u64,
    end: u64,
    at_ms: u64,
    bytes: Vec<u8>,
    dropped: bool,
}

/// Reads one log after the other until enough waits, and answers how many were looked at. Files are open only while they are read: a thousand
/// followers of a thousand tasks must not use up what the server may have open.
fn read_in_turn(data: &std::path::Path, places: &[Place], begin: Begin) -> std::io::Result<(usize, Vec<Read>)> {
    let (mut looked_at, mut left, mut read) = (0, TURN_BYTES_MAX, Vec::new());
    for Place { run, sent, is_last } in places {
        if left == 0 {
            break;
        }
        looked_at += 1;
        match read_chunks(&RunDir::new(data, run), *sent, begin, left)? {
            Some((start, chunks)) => {
                left = left.saturating_sub(chunks.iter().map(|chunk| chunk.bytes.len() as u64).sum());
                read.push(Read { run: run.clone(), start, chunks, is_last: *is_last });
            }
            // It never said anything, and never will.
            None if !is_last => read.push(Read { run: run.clone(), start: 0, chunks: Vec::new(), is_last: false }),
            None => {}
        }
    }
    Ok((looked_at, read))
}

/// `None` if there is no log yet.
fn read_chunks(dir: &RunDir, from: Option<u64>, begin: Begin, most: u64) -> std::io::Result<Option<(u64, Vec<Chunk>)>> {
    let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
    let start = from.map_or_else(|| beginning(&files, begin), Ok)?;
    let mut chunks: Vec<Chunk> = Vec::new();
    files.walk(start, most, &mut |told| match told {
        Told::Bytes { stream, offset, at_us, bytes } => match chunks.last_mut() {
            Some(last) if last.stream == stream => {
                last.bytes.extend_from_slice(bytes);
                last.end = offset + bytes.len() as u64;
            }
            _ => {
                let end = offset + bytes.len() as u64;
                chunks.push(Chunk { stream, offset, end, at_ms: at_us / 1000, bytes: bytes.to_vec(), dropped: false });
            }
        },
        Told::Dropped { gap, offset } => {
            let bytes = format!("\n{}\n", gap.marker(gap.to - offset)).into_bytes();
            chunks.push(Chunk { stream: Stream::Platform, offset, end: gap.to, at_ms: gap.at_ms, bytes, dropped: true });
        }
    })?;
    Ok(Some((start, chunks)))
}

fn beginning(files: &LogFiles, begin: Begin) -> std::io::Result<u64> {
    let since = begin.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let tail = begin.tail.map(|lines| files.tail_start(model::logs::Streams::ALL, lines)).transpose()?.unwrap_or(0);
    Ok(since.max(tail))
}

impl Chunk {
    fn of(self, run: &RunKey) -> LogChunk {
        let (text, base64) = match String::from_utf8(self.bytes) {
            Ok(text) => (Some(text), None),
            Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
        };
        LogChunk {
            task: run.task.to_string(),
            attempt: run.attempt,
            stream: self.stream,
            offset: self.offset,
            at_ms: self.at_ms,
            text,
            base64,
            dropped_bytes: self.dropped.then(|| self.end - self.offset),
        }
    }
}

/// The event, and about how many bytes it has.
pub fn event(kind: &str, data: &impl serde::Serialize, sent: &Sent) -> Result<(Event, usize), Error> {
    let (id, json) = (show_cursor(sent), serde_json::to_string(data).map_err(|error| Error::Internal(error.to_string()))?);
    let bytes = id.len() + json.len();
    Ok((Event::default().event(kind).id(id).data(json), bytes))
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
