//! Lines as they come. An event's id says how far the lines of each log were sent with it and before it; with it a reader goes on where its
//! connection was cut.

use std::{
    collections::{BTreeMap, VecDeque},
    convert::Infallible,
    sync::Arc,
};

use axum::{
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream as EventStream, stream};
use model::{
    ids::{JobId, RunKey, TaskName},
    lines::LogLine,
    logs::Streams,
    wire::LineView,
};

use super::{
    LinesQuery,
    merge::{Key, Merge, Span},
    page::{Sieve, view},
    pattern::Pattern,
    source::{Forward, Reading},
};
use crate::{
    api::{
        App,
        flow::{Flow, Gate},
        follow::{
            Sent, event, last_event_id, parse_cursor,
            watched::{Wanted, Watched},
        },
        log_files::LogFiles,
        logs::blocking,
    },
    error::Error,
    rundir::RunDir,
};

/// How much of each log is read before the next has its turn.
const BLOCK_BYTES: u64 = 4 << 10;
/// So many lines wait for a reader who is slow.
const LINES_WAITING_MAX: usize = 64;

pub fn follow(
    app: Arc<App>,
    job: JobId,
    (wanted, pattern): (Wanted, Option<Pattern>),
    query: &LinesQuery,
    (flow, headers): (Option<Arc<Flow>>, &HeaderMap),
) -> Sse<impl EventStream<Item = Result<Event, Infallible>> + use<>> {
    let follower = Follower {
        watched: Watched::new(app, job, wanted),
        begin: Beginning {
            tail: query.tail,
            span: Span { since_ms: query.since_ms, until_ms: query.until_ms },
            streams: query.stream.streams(query.platform),
        },
        sent: last_event_id(headers).map(|id| parse_cursor(&id)).unwrap_or_default(),
        sieve: Sieve::new(pattern, query.context.unwrap_or(0).min(super::CONTEXT_MAX)),
        past: Past::Unread,
        logs: BTreeMap::new(),
        open: query.open.then(BTreeMap::new),
        waiting: VecDeque::new(),
        gate: Gate::new(flow),
        done: false,
    };
    Sse::new(stream::unfold(follower, Follower::next)).keep_alive(KeepAlive::default())
}

#[derive(Clone, Copy)]
struct Beginning {
    tail: Option<u64>,
    span: Span,
    streams: Streams,
}

/// What several logs held when the following began: it comes in the order of its times, and what is written later as it is written.
enum Past {
    Unread,
    Open(Box<Merge>),
    Told,
}

struct Follower {
    watched: Watched,
    begin: Beginning,
    sent: Sent,
    sieve: Sieve,
    past: Past,
    /// The attempt of each task that is read now.
    logs: BTreeMap<TaskName, Forward>,
    /// How much was told of lines without an end, by run and place in its log, if they are wanted.
    open: Option<BTreeMap<(RunKey, u64), u64>>,
    waiting: VecDeque<(Event, usize)>,
    gate: Option<Gate>,
    done: bool,
}

impl Follower {
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if let Some(gate) = &mut self.gate {
            gate.room_for(self.waiting.front().map(|it| it.1)).await;
        }
        while self.waiting.is_empty() {
            if self.done {
                return None;
            }
            let is_quiet = self.look().await.inspect_err(|error| tracing::warn!("a follower's stream ends early: {error}")).ok()?;
            if is_quiet && self.waiting.is_empty() && !self.done {
                self.watched.rest().await.ok()?;
            }
        }
        let (event, bytes) = self.waiting.pop_front()?;
        if let Some(gate) = &mut self.gate {
            gate.sent(bytes);
        }
        Some((Ok(event), self))
    }

    /// Answers whether there was nothing new to read, wanted or not.
    async fn look(&mut self) -> Result<bool, Error> {
        self.watched.look().await?;
        self.done = self.watched.is_gone();
        let is_quiet = self.read_logs().await?;
        if let Some(summary) = self.watched.changed() {
            self.waiting.push_back(event("state", &*summary, &self.sent)?);
        }
        if is_quiet && self.waiting.is_empty() && self.watched.over().is_some() {
            self.finish()?;
        } else if is_quiet {
            self.tell_open()?;
        }
        Ok(is_quiet)
    }

    /// Progress bars live in lines without an end: who watches them wants each step.
    fn tell_open(&mut self) -> Result<(), Error> {
        let Some(told) = self.open.take() else { return Ok(()) };
        let mut now = BTreeMap::new();
        for log in self.logs.values() {
            let run = &log.reading.run;
            for line in log.unfinished() {
                let (place, end) = ((run.clone(), line.offset), line.end);
                let is_wanted = self.sieve.pattern.as_ref().is_none_or(|pattern| pattern.is_in(&line.shown.text));
                if is_wanted && told.get(&place) != Some(&end) {
                    let key = Key { at_us: line.at_us, task: run.task.clone(), attempt: run.attempt, end };
                    self.waiting.push_back(event("open", &view(&key, line), &self.sent)?);
                }
                now.insert(place, end);
            }
        }
        self.open = Some(now);
        Ok(())
    }

    /// The last lines, which have no end, and the end of the stream.
    fn finish(&mut self) -> Result<(), Error> {
        let last: Vec<RunKey> = self.logs.values().map(|log| log.reading.run.clone()).collect();
        last.iter().try_for_each(|run| self.let_go(run))?;
        if let Some(summary) = self.watched.over() {
            self.waiting.push_back(event("end", &*summary, &self.sent)?);
        }
        self.done = true;
        Ok(())
    }

    /// Answers whether all of it is told.
    async fn read_past(&mut self) -> Result<bool, Error> {
        let mut merge = match std::mem::replace(&mut self.past, Past::Told) {
            Past::Told => return Ok(true),
            // One log is in order by itself.
            Past::Unread if self.watched.tasks.len() < 2 => return Ok(true),
            Past::Unread => self.open_past().await?,
            Past::Open(merge) => merge,
        };
        let (merge, lines) = blocking(move || some_of(&mut merge).map(|lines| (merge, lines))).await?;
        for (key, line) in lines {
            self.take(&key, line);
        }
        for (key, line) in self.sieve.let_through() {
            self.tell(&key, &line)?;
        }
        if !merge.is_at_end() {
            self.past = Past::Open(merge);
            return Ok(false);
        }
        for log in merge.into_logs() {
            let (run, is_over) = (log.reading.run.clone(), log.reading.is_over);
            self.note_read(&run, if is_over { log.place_behind_all() } else { log.place() });
            if !is_over {
                self.logs.insert(run.task, log.go_on());
            }
        }
        Ok(true)
    }

    /// Every attempt of every task; those before the last one are over.
    async fn open_past(&mut self) -> Result<Box<Merge>, Error> {
        let mut logs = Vec::new();
        for attempts in self.watched.tasks.clone().iter() {
            for run in attempts {
                let mut log = self.open(run).await?;
                log.reading.is_over = attempts.iter().any(|it| it.attempt > run.attempt);
                // Whoever is cut off goes on here, also where the last lines are others by then.
                self.sent.entry((run.task.clone(), run.attempt)).or_insert(log.place());
                logs.push(log);
            }
        }
        let now = move || Ok(Box::new(Merge::of(logs.into_iter().map(Forward::until_now).collect::<Result<_, _>>()?)));
        blocking(now).await
    }

    async fn read_logs(&mut self) -> Result<bool, Error> {
        if !self.read_past().await? {
            return Ok(false);
        }
        let mut is_quiet = true;
        for attempts in self.watched.tasks.clone().iter() {
            if self.waiting.len() >= LINES_WAITING_MAX {
                return Ok(false);
            }
            let Some(task) = attempts.first().map(|run| run.task.clone()) else { continue };
            let log = match self.logs.remove(&task) {
                Some(log) => log,
                None => self.open(&attempts[0]).await?,
            };
            let (log, lines) = if self.is_silent(&log) { (log, Vec::new()) } else { blocking(move || read_on(log)).await? };
            let (run, is_drained, place) = (log.reading.run.clone(), log.is_drained(), log.place());
            self.logs.insert(task.clone(), log);
            self.sift(&run, lines, place)?;
            if !is_drained {
                is_quiet = false;
            } else if let Some(next) = attempts.iter().find(|it| it.attempt > run.attempt) {
                // Its next attempt began, so this one says no more.
                self.let_go(&run)?;
                self.logs.insert(task, self.open(next).await?);
                is_quiet = false;
            }
        }
        Ok(is_quiet)
    }

    /// A log that has not grown is seen by its length.
    fn is_silent(&self, log: &Forward) -> bool {
        log.is_drained() && self.watched.seen.has_not_grown(&log.reading.run, log.place())
    }

    async fn open(&self, run: &RunKey) -> Result<Forward, Error> {
        let (dir, begin) = (RunDir::new(&self.watched.app.data, run), self.begin);
        let sent = self.sent.get(&(run.task.clone(), run.attempt)).copied();
        let at = dir.clone();
        let from = blocking(move || match sent {
            Some(sent) => Ok(sent),
            None => beginning(&at, begin),
        });
        let reading = Reading { dir, run: run.clone(), streams: self.begin.streams, is_over: false, block_bytes: BLOCK_BYTES };
        Ok(Forward::new(reading, from.await?))
    }

    /// What a run has said without an end, now that there will be none.
    fn let_go(&mut self, run: &RunKey) -> Result<(), Error> {
        let Some(log) = self.logs.remove(&run.task) else { return Ok(()) };
        self.sift(run, log.unfinished(), log.place_behind_all())
    }

    /// Each line that is let through says in its id that it was sent, and the last one that the log was read as far as `place`.
    fn sift(&mut self, run: &RunKey, lines: Vec<LogLine>, place: u64) -> Result<(), Error> {
        for line in lines {
            let key = Key { at_us: line.at_us, task: run.task.clone(), attempt: run.attempt, end: line.end };
            self.take(&key, line);
        }
        let mut through = self.sieve.let_through();
        let last = through.pop();
        for (key, line) in &through {
            self.tell(key, line)?;
        }
        self.note_read(run, place);
        last.map_or(Ok(()), |(key, line)| self.tell(&key, &line))
    }

    fn take(&mut self, key: &Key, line: LogLine) {
        if self.begin.span.until_ms.is_none_or(|until| line.at_us < until.saturating_mul(1000)) {
            self.sieve.take(None, key, view(key, line));
        }
    }

    fn tell(&mut self, key: &Key, line: &LineView) -> Result<(), Error> {
        let sent = self.sent.entry((key.task.clone(), key.attempt)).or_default();
        *sent = (*sent).max(key.end);
        self.waiting.push_back(event("line", line, &self.sent)?);
        Ok(())
    }

    /// Lines that may still be let through, for the sake of one that comes, are read again by whoever is cut off before.
    fn note_read(&mut self, run: &RunKey, place: u64) {
        let held_end = self.sieve.first_held(run);
        self.sent.insert((run.task.clone(), run.attempt), held_end.map_or(place, |end| end.saturating_sub(1)));
    }
}

/// As many lines as may wait for a reader, without those that may still grow.
fn some_of(merge: &mut Merge) -> std::io::Result<Vec<(Key, LogLine)>> {
    merge.go_on()?;
    let mut lines = Vec::new();
    while lines.len() < LINES_WAITING_MAX
        && let Some((key, line, may_grow)) = merge.next()?
    {
        lines.extend((!may_grow).then_some((key, line)));
    }
    Ok(lines)
}

fn read_on(mut log: Forward) -> std::io::Result<(Forward, Vec<LogLine>)> {
    let lines = log.more()?;
    Ok((log, lines))
}

fn beginning(dir: &RunDir, begin: Beginning) -> std::io::Result<u64> {
    let Some(files) = LogFiles::open(dir)? else { return Ok(0) };
    let since = begin.span.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let tail = begin.tail.map(|lines| files.tail_start(begin.streams, lines)).transpose()?.unwrap_or(0);
    Ok(since.max(tail))
}
