//! What people say about a job.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    plan::description_problems,
    wire::{ErrorBody, JobSummary},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    AppState,
    extract::Body,
    guard::Caller,
    jobs::{found, summary},
};
use crate::{
    control::now_ms,
    error::Error,
    store::{
        Written,
        jobs::{self, Saying},
    },
};

#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// An empty one takes it away.
    description: String,
}

/// Changes the description of a job, also of one that is over. The job file stays as it was submitted.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/description", params(("job" = String, Path)), request_body = Description,
    responses((status = 200, body = JobSummary), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn set(
    State(app): AppState,
    Caller(holder): Caller,
    Path(name): Path<String>,
    Body(body): Body,
) -> Result<Json<JobSummary>, Error> {
    let bad = |error: serde_json::Error| Error::BadValue {
        name: "body",
        value: error.to_string(),
        wanted: (r#"{"description": "a text"}"#, r#"{"description": "一段文字"}"#).into(),
    };
    let Description { description } = serde_json::from_slice(&body).map_err(bad)?;
    let problems = description_problems(&description);
    if !problems.is_empty() {
        return Err(Error::BadSpec(problems));
    }
    let id = found(&app, &holder, &name).await?.id;
    let by = holder.user.clone();
    let set = move |sql: &crate::store::Sql<'_>| jobs::set_description(sql, id, &description, &Saying { by: &by, at_ms: now_ms() });
    match app.store.write(set).await? {
        Written::Yes => Ok(Json(summary(&found(&app, &holder, &id.to_string()).await?))),
        Written::Stale => Err(Error::NoSuchJob(name)),
    }
}
