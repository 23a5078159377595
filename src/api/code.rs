//! The folder that was uploaded with a job: everything in it, and what git had not.

use std::io::Read;

use axum::{
    Json,
    extract::{Path, State},
    http::header,
    response::IntoResponse,
};
use model::{
    bundle::{Blob, Bundle, PATCH_BYTES_MAX},
    wire::{ErrorBody, UploadList},
};

use super::{App, AppState, guard::Caller, jobs::found};
use crate::{
    code::upload::Room,
    error::Error,
    store::{tokens::Holder, uploads},
};

/// Lists the files that were uploaded with a job.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/code", params(("job" = String, Path)),
    responses((status = 200, body = UploadList), (status = 404, body = ErrorBody)))]
pub async fn list(State(app): AppState, Caller(holder): Caller, Path(job): Path<String>) -> Result<Json<UploadList>, Error> {
    Ok(Json(uploaded(&app, &holder, &job).await?.list()))
}

/// What was changed and not committed when the job's folder was uploaded, as a patch; empty if nothing was.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/code/patch", params(("job" = String, Path)),
    responses((status = 200, content_type = "text/x-patch", body = String), (status = 404, body = ErrorBody)))]
pub async fn patch(State(app): AppState, Caller(holder): Caller, Path(job): Path<String>) -> Result<impl IntoResponse, Error> {
    let bundle = uploaded(&app, &holder, &job).await?;
    let bytes = match bundle.patch() {
        Some(Blob { hash, .. }) => {
            on_disk(&app, move |room| {
                let mut bytes = Vec::new();
                room.open(hash)?.take(PATCH_BYTES_MAX).read_to_end(&mut bytes)?;
                Ok(bytes)
            })
            .await?
        }
        None => Vec::new(),
    };
    Ok(([(header::CONTENT_TYPE, "text/x-patch")], bytes))
}

async fn uploaded(app: &App, holder: &Holder, job: &str) -> Result<Bundle, Error> {
    let id = found(app, holder, job).await?.id;
    let facts = app.store.read(move |sql| uploads::of_job(sql, id)).await?;
    let digest = facts.and_then(|facts| facts.digest.parse().ok()).ok_or_else(|| Error::NothingUploaded(job.to_owned()))?;
    on_disk(app, move |room| room.bundle(digest)).await?.ok_or_else(|| Error::NoSuchUpload(digest.to_string()))
}

async fn on_disk<T: Send + 'static>(app: &App, work: impl FnOnce(&Room) -> std::io::Result<T> + Send + 'static) -> Result<T, Error> {
    let room = Room::of(&app.data);
    let read = tokio::task::spawn_blocking(move || work(&room)).await;
    let why = |error: String| Error::Internal(format!("an upload cannot be read: {error}"));
    read.map_err(|error| why(error.to_string()))?.map_err(|error| why(error.to_string()))
}
