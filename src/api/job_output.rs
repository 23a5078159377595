//! What a job's tasks have put out, while they run and afterwards. Tasks write there as they please, so no
//! link is followed, and nothing is opened but files.

use std::collections::BTreeMap;

use axum::{
    body::{Body, Bytes},
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use model::{
    ids::{RunKey, TaskName},
    wire::ErrorBody,
};
use serde::Deserialize;
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::{
    App, AppState, archive,
    extract::Query,
    files::{Place, Spot},
    guard::Caller,
    jobs,
};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{jobs::Job, runs, tokens::Holder},
    volumes::Store,
};

const ROOT: &str = "/output";
const PIECES_WAITING_MAX: usize = 8;

/// `digits@2` with `worker-0/model.bin`, or `digits@2/worker-0` with `model.bin`.
pub async fn place(app: &App, holder: &Holder, job: &str, path: &str) -> Result<Place, Error> {
    let (job, task) = job.split_once('/').map_or((job, None), |(job, task)| (job, Some(task)));
    let job = jobs::found(app, holder, job).await?;
    let mut all = stores(app, &job).await?;
    if task.is_none() && path.is_empty() {
        return Ok(Place::Folders(all.into_iter().map(below_its_name).collect()));
    }
    let (name, inside) = path.split_once('/').unwrap_or((path, ""));
    let (at, path, before) = match (task, all.as_slice()) {
        (Some(task), _) => (position(&job, &all, task)?, path, String::new()),
        // A path without the name of the only task can only be its own.
        (None, [(only, _)]) if only != name => (0, path, String::new()),
        (None, _) => (position(&job, &all, name)?, inside, format!("{name}/")),
    };
    Ok(Place::In(Spot { store: all.swap_remove(at).1, base: String::new(), before }, path.to_owned()))
}

fn position(job: &Job, all: &[(String, Store)], task: &str) -> Result<usize, Error> {
    all.iter().position(|(name, _)| name == task).ok_or_else(|| no_such_task(job, task))
}

fn below_its_name((task, store): (String, Store)) -> (String, Option<(Spot, String)>) {
    let before = format!("{task}/");
    (task, Some((Spot { store, base: String::new(), before }, String::new())))
}

fn no_such_task(job: &Job, task: &str) -> Error {
    Error::NoSuchTask(format!("{}@{}", job.name, job.version), task.to_owned())
}

/// The newest run of every task that has begun.
async fn newest(app: &App, job: &Job) -> Result<BTreeMap<TaskName, RunKey>, Error> {
    let id = job.id;
    let mut newest: BTreeMap<TaskName, RunKey> = BTreeMap::new();
    for run in app.store.read(move |sql| runs::of_job(sql, id)).await? {
        let is_newer = newest.get(&run.run.task).is_none_or(|known| known.attempt < run.run.attempt);
        if is_newer {
            newest.insert(run.run.task.clone(), run.run);
        }
    }
    Ok(newest)
}

async fn stores(app: &App, job: &Job) -> Result<Vec<(String, Store)>, Error> {
    let label = format!("{}@{}", job.name, job.version);
    let mut stores = Vec::new();
    for (task, run) in newest(app, job).await? {
        match Store::of_task(&RunDir::new(&app.data, &run).output()) {
            Ok(store) => stores.push((task.to_string(), store.named(&format!("{label}/{task}:{ROOT}")))),
            // Placed, and not begun.
            Err(error) if error.is_missing() => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(stores)
}

#[derive(Deserialize, IntoParams)]
pub struct ArchiveQuery {
    /// Only this one's, such as `worker-0`; without it everyone's, each below its name.
    task: Option<String>,
}

/// Everything that the tasks have put out, as one tar file. Links, pipes and devices are left out.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/output/archive", params(("job" = String, Path), ArchiveQuery),
    responses((status = 200, content_type = "application/x-tar", body = String), (status = 404, body = ErrorBody)))]
pub async fn archive(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<ArchiveQuery>,
) -> Result<Response, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let mut roots = Vec::new();
    for (task, run) in newest(&app, &job).await? {
        let is_meant = query.task.as_ref().is_none_or(|wanted| *wanted == task.to_string());
        let folder = if query.task.is_some() { String::new() } else { task.to_string() };
        if is_meant {
            roots.push((folder, RunDir::new(&app.data, &run).output()));
        }
    }
    if let (Some(task), true) = (&query.task, roots.is_empty()) {
        return Err(no_such_task(&job, task));
    }
    let (sender, receiver) = mpsc::channel::<std::io::Result<Bytes>>(PIECES_WAITING_MAX);
    tokio::task::spawn_blocking(move || archive::write(&roots, sender));
    let body = stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) });
    let name = format!("attachment; filename=\"{}-{}.tar\"", job.name, job.version);
    Ok(([(header::CONTENT_TYPE, "application/x-tar".to_owned()), (header::CONTENT_DISPOSITION, name)], Body::from_stream(body))
        .into_response())
}
