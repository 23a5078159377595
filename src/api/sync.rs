//! Saving what a job has written, when that did not work by itself.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    sync::SyncState,
    wire::{ErrorBody, JobSummary},
};
use serde::Deserialize;
use utoipa::ToSchema;

use super::{
    AppState,
    extract::Body,
    guard::Caller,
    jobs::{found, label, summary},
};
use crate::{
    control::{now_ms, syncing},
    error::Error,
    store::{
        Sql,
        runs::{
            Run,
            sync::{not_saved, want_again},
        },
    },
};

#[derive(Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Wish {
    /// No longer tries. The files are kept, and it can be asked for again.
    give_up: bool,
}

/// Has the output of a job saved: what waits is tried now, what was given up is tried again, also of a job that is over.
#[utoipa::path(post, path = "/api/v1/jobs/{job}/sync", params(("job" = String, Path)), request_body = Wish,
    responses((status = 200, body = JobSummary), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody)))]
pub async fn sync(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Body(body): Body,
) -> Result<Json<JobSummary>, Error> {
    let bad = |error: serde_json::Error| Error::BadValue {
        name: "body",
        value: error.to_string(),
        wanted: (r#"{"give_up": true}, or nothing"#, r#"{"give_up": true}，或什么也不写"#).into(),
    };
    let wish: Wish = if body.is_empty() { Wish::default() } else { serde_json::from_slice(&body).map_err(bad)? };
    let job = found(&app, &holder, &text).await?;
    let (id, by) = (job.id, holder.user.clone());
    let asked = move |sql: &Sql<'_>| {
        if !wish.give_up {
            return want_again(sql, id, now_ms());
        }
        let unsaved: Vec<Run> = not_saved(sql, id)?.into_iter().filter(|run| run.state.is_over()).collect();
        for run in &unsaved {
            syncing::given_up(sql, &run.run, &format!("given up by {by}{}", last_words(run.sync.as_ref())))?;
        }
        Ok(unsaved.len())
    };
    if app.store.write(asked).await? == 0 {
        return Err(Error::NothingToSync(label(&job)));
    }
    app.nudge.sync(id);
    Ok(Json(summary(&found(&app, &holder, &id.to_string()).await?)))
}

fn last_words(sync: Option<&SyncState>) -> String {
    match sync {
        Some(SyncState::Pending { why }) if !why.is_empty() => format!("; {why}"),
        Some(SyncState::Pending { .. } | SyncState::Done(_) | SyncState::GivenUp { .. }) | None => String::new(),
    }
}
