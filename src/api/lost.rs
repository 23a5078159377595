//! Runs that are on the disk and not in the database, for the operator to end.

use axum::{
    Json,
    extract::{Path, State},
    http::StatusCode,
};
use model::{
    ids::RunKey,
    wire::{ErrorBody, LostRun},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{AppState, extract::Query};
use crate::{
    error::Error,
    rundir::RunDir,
    store::{Written, runs::lost},
};

/// Lists the runs that were found on the disk and are not in the database.
#[utoipa::path(get, path = "/api/v1/lost", responses((status = 200, body = Vec<LostRun>)))]
pub async fn list(State(app): AppState) -> Result<Json<Vec<LostRun>>, Error> {
    let view = |run: RunKey| LostRun {
        job: run.job.to_string(),
        task: run.task.to_string(),
        attempt: run.attempt,
        directory: RunDir::new(&app.data, &run).path().display().to_string(),
        run: run.to_string(),
    };
    Ok(Json(app.store.read(lost::list).await?.into_iter().map(view).collect()))
}

#[derive(Deserialize, IntoParams)]
pub struct EndQuery {
    /// Whether all that it has written goes with it.
    #[serde(default)]
    erase: bool,
}

/// Ends a run that is not in the database: its task is stopped, and what it has written stays unless it is to be erased. Answered
/// once the wish is durable.
#[utoipa::path(post, path = "/api/v1/lost/{run}/end", params(("run" = String, Path), EndQuery),
    responses((status = 204), (status = 404, body = ErrorBody)))]
pub async fn end(State(app): AppState, Path(text): Path<String>, Query(query): Query<EndQuery>) -> Result<StatusCode, Error> {
    let nobody = || Error::NoSuchRun(text.clone());
    let run: RunKey = text.parse().map_err(|_| nobody())?;
    match app.store.write(move |sql| lost::end(sql, &run, !query.erase)).await? {
        Written::Yes => {
            app.nudge.runs();
            Ok(StatusCode::NO_CONTENT)
        }
        Written::Stale => Err(nobody()),
    }
}
