//! Looking for something in the logs of all jobs at once: several threads read, newest jobs first, and hits go out as they are found.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use model::{
    ids::{JobId, RunKey},
    said,
    wire::{ErrorBody, JobSummary, LineView, LogHit, SearchEnd, SearchLine},
};
use serde::Deserialize;
use tokio::sync::{Semaphore, mpsc};
use utoipa::IntoParams;

use super::{App, AppState, extract::Query, guard::Caller, jobs, lines::pattern::Pattern};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{
        Sql,
        jobs::{self as job_rows, Filter},
        runs,
    },
};

mod scan;

use scan::Scan;

const HITS_DEFAULT: u64 = 1000;
const HITS_MAX: u64 = 100_000;
const THREADS_MAX: usize = 8;
const JOBS_AT_ONCE: u32 = 200;
const LOGS_WAITING_MAX: usize = 1024;
const ANSWERS_WAITING_MAX: usize = 16;
/// A reader who takes nothing for so long has gone.
const READER_PATIENCE: Duration = Duration::from_secs(30);

/// More at once would only take the disk from each other.
static SEARCHES: Semaphore = Semaphore::const_new(4);

#[derive(Deserialize, IntoParams)]
pub struct SearchQuery {
    /// What to look for.
    pattern: String,
    /// `true` if the pattern is a regular expression.
    #[serde(default)]
    regex: bool,
    #[serde(default)]
    ignore_case: bool,
    /// Only jobs in these states, with commas.
    state: Option<String>,
    name: Option<String>,
    tag: Option<String>,
    owner: Option<String>,
    /// Part of the job's name or description.
    q: Option<String>,
    /// 1,000 if not given, at most 100,000.
    limit: Option<u64>,
}

/// Searches the logs of all jobs, newest first. The answer is a line of JSON for each hit, as it is found, and a last one that says
/// how much was looked at.
#[utoipa::path(get, path = "/api/v1/search/logs", params(SearchQuery),
    responses((status = 200, content_type = "application/x-ndjson", body = SearchLine), (status = 400, body = ErrorBody)))]
pub async fn logs(State(app): AppState, Caller(holder): Caller, Query(query): Query<SearchQuery>) -> Result<Response, Error> {
    let pattern = Pattern::new(&query.pattern, query.regex, query.ignore_case)?;
    let limit = query.limit.unwrap_or(HITS_DEFAULT);
    if limit == 0 || limit > HITS_MAX {
        return Err(Error::BadValue { name: "limit", value: limit.to_string(), wanted: said!("1 to {HITS_MAX}", "1 到 {HITS_MAX}") });
    }
    let states = query.state.as_deref().map(jobs::parse_states).transpose()?.unwrap_or_default();
    let owner = jobs::visible_owner(&holder).or(query.owner);
    let filter = Filter { states, name: query.name, tag: query.tag, owner, text: query.q, ..Filter::default() };
    let (answers, receiver) = mpsc::channel::<Bytes>(ANSWERS_WAITING_MAX);
    let search = Arc::new(Search { app, pattern, limit, answers, is_over: AtomicBool::new(false), counts: Counts::default() });
    tokio::spawn(run(search, filter));
    let body = stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|it| (Ok::<_, std::io::Error>(it), receiver)) });
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(body)).into_response())
}

struct Search {
    app: Arc<App>,
    pattern: Pattern,
    limit: u64,
    answers: mpsc::Sender<Bytes>,
    /// There are enough hits, or nobody reads them.
    is_over: AtomicBool,
    counts: Counts,
}

#[derive(Default)]
struct Counts {
    hits: AtomicU64,
    jobs: AtomicU64,
    logs: AtomicU64,
    bytes: AtomicU64,
}

struct Log {
    job: Arc<JobSummary>,
    run: RunKey,
}

/// Whoever goes away in the middle of it is noticed by the closed answer, and everything here ends.
async fn run(search: Arc<Search>, filter: Filter) {
    let Ok(_turn) = SEARCHES.acquire().await else { return };
    let (logs, receiver) = mpsc::channel::<Log>(LOGS_WAITING_MAX);
    let receiver = Arc::new(Mutex::new(receiver));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).min(THREADS_MAX);
    let read = |_| {
        let (search, receiver, handle) = (search.clone(), receiver.clone(), tokio::runtime::Handle::current());
        tokio::task::spawn_blocking(move || search.read_logs(&receiver, &handle))
    };
    let readers: Vec<_> = (0..threads).map(read).collect();
    if let Err(error) = search.list(&filter, logs).await {
        tracing::warn!("a search ends early: {error}");
        return search.is_over.store(true, Ordering::Relaxed);
    }
    for reader in readers {
        let _ended = reader.await;
    }
    let count = |it: &AtomicU64| it.load(Ordering::Relaxed);
    let Counts { hits, jobs, logs, bytes } = &search.counts;
    let more = count(hits) > search.limit;
    let end = SearchEnd { hits: count(hits).min(search.limit), jobs: count(jobs), logs: count(logs), bytes: count(bytes), more };
    if let Ok(line) = serde_json::to_vec(&SearchLine::End(end)) {
        search.send_async([line, b"\n".to_vec()].concat()).await;
    }
}

impl Search {
    /// Names the logs there are, newest jobs first.
    async fn list(&self, filter: &Filter, logs: mpsc::Sender<Log>) -> Result<(), Error> {
        let mut before: Option<JobId> = None;
        loop {
            let filter = filter.clone();
            let read = move |sql: &Sql<'_>| {
                let page = job_rows::list(sql, &filter, before, JOBS_AT_ONCE)?;
                let with_runs = |job: JobSummary| match job.id.parse::<JobId>() {
                    Ok(id) => Ok(Some((id, runs::of_job(sql, id)?, job))),
                    Err(_) => Ok(None),
                };
                page.into_iter().filter_map(|job| with_runs(job).transpose()).collect::<Result<Vec<_>, _>>()
            };
            let page = self.app.store.read(read).await?;
            let is_last = page.len() < JOBS_AT_ONCE as usize;
            before = page.last().map(|(id, _, _)| *id);
            for (_, runs, job) in page {
                let job = Arc::new(job);
                self.counts.jobs.fetch_add(1, Ordering::Relaxed);
                for run in runs {
                    if self.is_over.load(Ordering::Relaxed) || logs.send(Log { job: job.clone(), run: run.run }).await.is_err() {
                        return Ok(());
                    }
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    fn read_logs(&self, logs: &Mutex<mpsc::Receiver<Log>>, handle: &tokio::runtime::Handle) {
        let mut scan = Scan::new(&self.pattern);
        let next = || logs.lock().unwrap_or_else(std::sync::PoisonError::into_inner).blocking_recv();
        while let Some(log) = next() {
            if self.is_over.load(Ordering::Relaxed) {
                continue;
            }
            self.counts.logs.fetch_add(1, Ordering::Relaxed);
            let mut hear = |lines: Vec<LineView>, bytes: u64| self.tell(&log, lines, bytes, handle);
            if let Err(error) = scan.log(&RunDir::new(&self.app.data, &log.run), &log.run, &mut hear) {
                tracing::debug!(run = %log.run, "its log cannot be searched: {error}");
            }
        }
    }

    /// Answers whether to go on.
    fn tell(&self, log: &Log, lines: Vec<LineView>, bytes: u64, handle: &tokio::runtime::Handle) -> bool {
        self.counts.bytes.fetch_add(bytes, Ordering::Relaxed);
        let before = self.counts.hits.fetch_add(lines.len() as u64, Ordering::Relaxed);
        let room = usize::try_from(self.limit.saturating_sub(before)).unwrap_or(usize::MAX);
        let is_enough = lines.len() > room;
        let mut text = Vec::new();
        for line in lines.into_iter().take(room) {
            let hit = LogHit { job: log.job.id.clone(), name: log.job.name.clone(), version: log.job.version, line };
            text.extend(serde_json::to_vec(&SearchLine::Hit(Box::new(hit))).unwrap_or_default());
            text.push(b'\n');
        }
        let is_heard = if text.is_empty() { !self.answers.is_closed() } else { handle.block_on(self.send_async(text)) };
        if is_enough || !is_heard {
            self.is_over.store(true, Ordering::Relaxed);
        }
        !self.is_over.load(Ordering::Relaxed)
    }

    async fn send_async(&self, text: Vec<u8>) -> bool {
        matches!(tokio::time::timeout(READER_PATIENCE, self.answers.send(text.into())).await, Ok(Ok(())))
    }
}
