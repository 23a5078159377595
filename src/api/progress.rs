//! How far jobs are, from the last bytes of their logs. Nothing is kept of it: whoever asks makes it be read.

use std::{io, path::Path};

use axum::{Json, extract::State};
use model::{
    ids::{JobId, RunKey},
    job::JobState,
    progress,
    task::TaskState,
    wire::{JobProgress, ProgressOfJob, TaskProgress},
};

use super::{
    App, AppState,
    guard::Caller,
    jobs,
    log_files::{Block, LogFiles},
    logs::blocking,
};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{
        Sql,
        jobs::{self as job_rows, Filter},
        runs::{self, Run},
    },
};

const TAIL_BYTES: u64 = 48 << 10;
/// Of a job with more tasks, the first ones speak for all.
const TASKS_MAX: usize = 64;
const JOBS_MAX: u32 = 500;
const TASKS_IN_LIST_MAX: usize = 8;

/// How far the live jobs are whose tasks say so.
#[utoipa::path(get, path = "/api/v1/progress", responses((status = 200, body = Vec<ProgressOfJob>)))]
pub async fn list(State(app): AppState, Caller(holder): Caller) -> Result<Json<Vec<ProgressOfJob>>, Error> {
    let filter = Filter { states: vec![JobState::Running], owner: jobs::visible_owner(&holder), ..Filter::default() };
    let read = move |sql: &Sql<'_>| {
        let live = job_rows::list(sql, &filter, None, JOBS_MAX)?;
        let ids = live.into_iter().filter_map(|job| job.id.parse::<JobId>().ok());
        ids.map(|id| Ok((id, live_runs(&runs::of_job(sql, id)?, TASKS_IN_LIST_MAX)))).collect::<Result<Vec<_>, _>>()
    };
    let all = app.store.read(read).await?;
    let data = app.data.clone();
    let found = blocking(move || {
        let one = |(job, runs): &(JobId, Vec<RunKey>)| {
            of_runs(&data, runs).transpose().map(|progress| Ok(ProgressOfJob { job: job.to_string(), progress: progress? }))
        };
        all.iter().filter_map(one).collect::<io::Result<Vec<_>>>()
    });
    Ok(Json(found.await?))
}

/// How far one job is.
pub async fn of_job(app: &App, all: &[Run]) -> Result<Option<JobProgress>, Error> {
    let (data, live) = (app.data.clone(), live_runs(all, TASKS_MAX));
    if live.is_empty() { Ok(None) } else { blocking(move || of_runs(&data, &live)).await }
}

fn live_runs(all: &[Run], most: usize) -> Vec<RunKey> {
    all.iter().filter(|run| run.state == TaskState::Running).take(most).map(|run| run.run.clone()).collect()
}

fn of_runs(data: &Path, runs: &[RunKey]) -> io::Result<Option<JobProgress>> {
    let mut tasks = Vec::new();
    for run in runs {
        let tail = tail(&RunDir::new(data, run))?;
        let progress = tail.as_deref().and_then(progress::newest);
        tasks.extend(progress.map(|progress| TaskProgress { task: run.task.to_string(), attempt: run.attempt, progress }));
    }
    Ok(JobProgress::of(tasks))
}

fn tail(dir: &RunDir) -> io::Result<Option<Vec<u8>>> {
    let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
    match files.block_at(files.length()?.saturating_sub(TAIL_BYTES), TAIL_BYTES)? {
        Block::Bytes(bytes) => Ok(Some(bytes)),
        Block::Dropped(_) => Ok(None),
    }
}
