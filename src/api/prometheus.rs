//! Everything that Prometheus wants to know, in its own text format.

use axum::{
    extract::State,
    http::{HeaderMap, header},
    response::{IntoResponse, Response},
};
use model::{job::JobState, wire::ErrorBody};

use super::{App, AppState, guard::Caller, usage::now};
use crate::{
    control::now_ms,
    error::Error,
    store::{events, jobs::counts},
};

mod house;
mod page;
mod tasks;

use page::{Format, Kind, Page};

/// Jobs, tasks, nodes and the server itself, for Prometheus. An administrator's token opens it, and what `[prometheus]` of
/// the configuration allows.
#[utoipa::path(get, path = "/metrics", responses((status = 200, content_type = "text/plain", body = String),
    (status = 401, body = ErrorBody), (status = 403, body = ErrorBody)))]
pub async fn metrics(State(app): AppState, Caller(holder): Caller, headers: HeaderMap) -> Result<Response, Error> {
    let accepted = headers.get(header::ACCEPT).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let mut page = Page::new(Format::wanted(accepted));
    queue(&app, &mut page).await?;
    let usage = now::look(&app, &holder).await?;
    tasks::write(&mut page, &usage);
    house::write(&mut page);
    let kind = page.content_type();
    Ok(([(header::CONTENT_TYPE, kind)], page.finish()).into_response())
}

async fn queue(app: &App, page: &mut Page) -> Result<(), Error> {
    let read = app.store.read(|sql| Ok((counts::by_state(sql)?, counts::queued(sql, None)?, events::last_seq(sql)?)));
    let (by_state, queued, seq): (Vec<(JobState, u64)>, _, _) = read.await?;
    page.family("trainmaster_jobs", Kind::Gauge, "Jobs by state.");
    for (state, count) in by_state {
        page.sample(&[("state", state.text())], count as f64);
    }
    page.family("trainmaster_queue_length", Kind::Gauge, "Jobs that wait for their place.");
    page.sample(&[], queued.count as f64);
    page.family("trainmaster_queue_oldest_wait_seconds", Kind::Gauge, "How long the job has waited that waits longest.");
    page.sample(&[], queued.oldest_ms.map_or(0.0, |since| now_ms().saturating_sub(since) as f64 / 1000.0));
    page.family("trainmaster_event_seq", Kind::Counter, "The number of the newest event.");
    page.sample(&[], seq as f64);
    Ok(())
}
