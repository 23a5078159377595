//! What a task uses, told by a supervisor that does not share our disk.

use axum::{extract::State, http::StatusCode};
use model::{
    said,
    wire::{ErrorBody, usage::UsageReport},
};

use crate::{
    api::{AppState, extract::Body, guard::OwnRun},
    error::Error,
    rundir::RunDir,
    store::runs,
    usage::{Keeper, Place},
};

/// Takes readings of a run. Those that are known already change nothing, so they may be sent again.
#[utoipa::path(post, path = "/api/v1/runs/{run}/usage", params(("run" = String, Path)), request_body = UsageReport,
    responses((status = 204), (status = 400, body = ErrorBody), (status = 410, body = ErrorBody)))]
pub async fn take(State(app): AppState, OwnRun(run): OwnRun, Body(body): Body) -> Result<StatusCode, Error> {
    let wanted = said!("readings of what a task uses", "任务用量的读数");
    let report: UsageReport =
        serde_json::from_slice(&body).map_err(|error| Error::BadValue { name: "body", value: error.to_string(), wanted })?;
    let (key, text) = (run.clone(), run.to_string());
    let row = app.store.read(move |sql| runs::get(sql, &key)).await?.ok_or(Error::NoSuchRun(text))?;
    if row.state.is_over() {
        return Err(Error::StaleRun);
    }
    let dir = RunDir::new(&app.data, &run);
    let kept = tokio::task::spawn_blocking(move || keep(&dir, &report)).await;
    kept.map_err(|error| Error::Internal(error.to_string()))?.map_err(|error| Error::Internal(error.to_string()))?;
    Ok(StatusCode::NO_CONTENT)
}

fn keep(dir: &RunDir, report: &UsageReport) -> std::io::Result<()> {
    std::fs::create_dir_all(dir.path())?;
    let place = Place::of_run(dir);
    if place.basis().as_ref() != Some(&report.basis) {
        place.write_basis(&report.basis)?;
    }
    let mut keeper = Keeper::open(place)?;
    report.readings.iter().try_for_each(|reading| keeper.add(reading))
}
