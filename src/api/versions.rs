//! The versions of a job side by side.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    compare::{Version, of_chief, versions},
    said,
    wire::{ErrorBody, VersionRow, Versions},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    AppState,
    compare::{asked, series},
    dossier::{Dossier, on_disk},
    extract::Query,
    guard::Caller,
    jobs::found,
};
use crate::{
    error::Error,
    store::jobs::{self, Job},
};

const PAGE_DEFAULT: u32 = 50;
const PAGE_MAX: u32 = 200;

#[derive(Deserialize, IntoParams)]
pub struct VersionsQuery {
    /// Metrics to be shown, with commas, each perhaps with the way that is better: `accuracy,loss:lower`.
    metric: Option<String>,
    /// Which way is better, `lower` or `higher`, where neither the metric's name nor what was asked says so.
    direction: Option<String>,
    /// From the last page's `next`.
    before: Option<u32>,
    limit: Option<u32>,
}

/// Shows the versions of a job side by side, newest first: parameters, duration, metrics, and which is best.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/versions", params(("job" = String, Path), VersionsQuery),
    responses((status = 200, body = Versions), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn of_job(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<VersionsQuery>,
) -> Result<Json<Versions>, Error> {
    let limit = query.limit.unwrap_or(PAGE_DEFAULT);
    if limit == 0 || limit > PAGE_MAX {
        return Err(Error::BadValue { name: "limit", value: limit.to_string(), wanted: said!("1 to {PAGE_MAX}", "1 到 {PAGE_MAX}") });
    }
    let asked = asked(query.metric.as_deref(), query.direction.as_deref())?;
    let Job { name, owner, .. } = found(&app, &holder, &text).await?;
    let (before, whose, called) = (query.before, owner.clone(), name.clone());
    let ids = app.store.read(move |sql| jobs::versions(sql, &whose, &called, before, limit)).await?;
    let next = ids.last().filter(|_| ids.len() == limit as usize).map(|it| it.1).filter(|version| *version > 1);
    let ids: Vec<String> = ids.into_iter().map(|(id, _)| id.to_string()).collect();
    let (dossiers, data) = (Dossier::of_all(&app, &holder, &ids).await?, app.data.clone());
    let read =
        move || dossiers.iter().map(|it| Version { row: row(&it.job), series: of_chief(series(&data, it), it.chief().as_ref()) }).collect();
    let (params, metrics, versions) = versions(on_disk(read).await?, &asked);
    Ok(Json(Versions { name: name.to_string(), owner, params, metrics, versions, next }))
}

fn row(job: &Job) -> VersionRow {
    VersionRow {
        id: job.id.to_string(),
        version: job.version,
        state: job.state,
        reason: job.reason.en.clone(),
        created_at_ms: job.created_at_ms,
        duration_ms: job.started_at_ms.zip(job.ended_at_ms).map(|(start, end)| end.saturating_sub(start)),
        params: job.plan.params.clone(),
        rerun_of: job.plan.origin.rerun_of.as_ref().map(|it| it.label.clone()),
        metrics: Vec::new(),
    }
}
