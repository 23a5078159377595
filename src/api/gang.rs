//! The barrier of a gang, for supervisors that are ready: they ask whether everyone is, and wait for the answer.

use std::time::Duration;

use axum::{Json, extract::State};
use model::{gang::GangView, ids::RunKey, wire::ErrorBody};
use serde::Deserialize;
use tokio::time::{Instant, timeout};
use utoipa::IntoParams;

use super::{App, AppState, extract::Query, guard::OwnRun};
use crate::{
    control,
    error::Error,
    store::{Sql, StoreError, jobs, runs},
};

/// Shorter than any client's patience with one call.
const WAIT_MAX: Duration = Duration::from_secs(8);
/// Whoever is ready last rings the bell; whoever ends instead is found by looking.
const LOOK_AGAIN_AFTER: Duration = Duration::from_secs(1);

#[derive(Deserialize, IntoParams)]
pub struct GangQuery {
    /// How long to wait for a yes; eight seconds at most.
    wait_ms: u64,
}

/// Says whether the children of a gang may begin; a no comes only after the wait.
#[utoipa::path(get, path = "/api/v1/runs/{run}/gang", params(("run" = String, Path), GangQuery),
    responses((status = 200, body = GangView), (status = 404, body = ErrorBody), (status = 410, body = ErrorBody)))]
pub async fn gang(State(app): AppState, OwnRun(run): OwnRun, Query(query): Query<GangQuery>) -> Result<Json<GangView>, Error> {
    let until = Instant::now() + Duration::from_millis(query.wait_ms).min(WAIT_MAX);
    loop {
        // Taken before the look: whoever is ready during it is heard.
        let mut bell = app.nudge.gang_bell(run.job);
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() || !is_waiting(&app, &run).await? {
            return look(&app, &run).await.map(Json);
        }
        let _either_way_we_look = timeout(left.min(LOOK_AGAIN_AFTER), bell.changed()).await;
    }
}

/// There may be as many who ask as there are tasks, so nobody counts who is missing before the wait is over.
async fn is_waiting(app: &App, run: &RunKey) -> Result<bool, Error> {
    let (job, attempt) = (run.job, run.attempt);
    Ok(app.store.read(move |sql| runs::is_awaited(sql, job, attempt)).await?)
}

async fn look(app: &App, run: &RunKey) -> Result<GangView, Error> {
    let (key, text) = (run.clone(), run.to_string());
    app.store.read(move |sql| view(sql, &key)).await?.ok_or(Error::NoSuchRun(text))?
}

/// `None` if there is no such run; an error inside if nobody waits for it any more.
fn view(sql: &Sql<'_>, run: &RunKey) -> Result<Option<Result<GangView, Error>>, StoreError> {
    let missing: Vec<String> = runs::not_ready(sql, run.job, run.attempt)?.iter().map(ToString::to_string).collect();
    if !missing.is_empty() {
        return Ok(Some(Ok(GangView { released: false, missing })));
    }
    let (Some(job), Some(own)) = (jobs::get(sql, run.job)?, runs::get(sql, run)?) else { return Ok(None) };
    if own.state.is_over() {
        return Ok(Some(Err(Error::StaleRun)));
    }
    // Nobody begins what is about to be stopped.
    Ok(Some(Ok(GangView { released: !control::should_stop(job.state), missing })))
}
