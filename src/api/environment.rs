//! What a task is told: the same as its supervisor gets, or will get.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    ids::TaskName,
    rendezvous::DIRECTORY,
    wire::{EnvironmentView, ErrorBody},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{AppState, extract::Query, guard::Caller, jobs};
use crate::{control, error::Error, store::Sql};

#[derive(Deserialize, IntoParams)]
pub struct TaskQuery {
    /// Such as `worker-0`.
    task: String,
}

/// Says what variables a task of the job's newest attempt gets.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/environment", params(("job" = String, Path), TaskQuery),
    responses((status = 200, body = EnvironmentView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn environment(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<TaskQuery>,
) -> Result<Json<EnvironmentView>, Error> {
    let nobody = || Error::NoSuchTask(text.clone(), query.task.clone());
    let task: TaskName = query.task.parse().map_err(|_| nobody())?;
    let (what, asked) = (text.clone(), task.clone());
    let read = move |sql: &Sql<'_>| match jobs::find(sql, &holder, &what)? {
        Some(job) => control::placed(sql, &job, &asked).map(|gang| Some((job, gang))),
        None => Ok(None),
    };
    let (job, gang) = app.store.read(read).await?.ok_or_else(|| Error::NoSuchJob(text.clone()))?;
    let peers = control::environment(&job, &gang, &task).ok_or_else(nobody)?;
    let mut env = peers.env;
    env.extend(peers.paths);
    Ok(Json(EnvironmentView {
        job: format!("{}@{}", job.name, job.version),
        placed: gang.iter().any(|run| run.run.task == task),
        task: task.to_string(),
        attempt: gang.iter().find(|run| run.run.task == task).map_or(job.attempt, |run| run.run.attempt),
        env,
        arguments: job.plan.freight.arguments.iter().map(|it| format!("{}={}", it.flag, it.path)).collect(),
        files: peers.files.into_iter().map(|(name, text)| (format!("{DIRECTORY}/{name}"), text)).collect(),
    }))
}
