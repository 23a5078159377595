//! What happened: read in pages, or followed.

use std::{convert::Infallible, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use model::wire::{ErrorBody, EventLevel, EventPage, EventView};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{App, AppState, extract::Query, guard::Caller, jobs};
use crate::{
    error::Error,
    store::{
        events::{self, Sieve},
        tokens::{Holder, Role},
    },
};

const PAGE_EVENTS: u32 = 500;

/// Which events of a job are asked for.
#[derive(Deserialize, IntoParams)]
pub struct SieveQuery {
    /// Only events with a higher `seq`.
    #[serde(default)]
    after: u64,
    /// Only of this task, such as `worker-0`.
    task: Option<String>,
    /// Only those that matter as much, or more: `info`, `warning` or `error`.
    #[serde(default)]
    level: EventLevel,
    /// Only those whose kind or words, in any language, have this in them.
    text: Option<String>,
    since_ms: Option<u64>,
    until_ms: Option<u64>,
}

#[derive(Deserialize, IntoParams)]
pub struct AfterQuery {
    /// Only events with a higher `seq`.
    #[serde(default)]
    after: u64,
}

/// The events of one job, oldest first: all of them, or those that pass.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/events", params(("job" = String, Path), SieveQuery),
    responses((status = 200, body = EventPage), (status = 404, body = ErrorBody)))]
pub async fn of_job(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<SieveQuery>,
) -> Result<Json<EventPage>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let SieveQuery { after, task, level, text, since_ms, until_ms } = query;
    let sieve = Sieve { after, task, level, text, since_ms, until_ms };
    let events = app.store.read(move |sql| events::sifted(sql, job.id, &sieve, PAGE_EVENTS)).await?;
    let next = (events.len() == PAGE_EVENTS as usize).then(|| events.last().map(|event| event.seq)).flatten();
    Ok(Json(EventPage { events, next }))
}

/// All events as they come, as server-sent events whose id is the `seq`. A reader that comes back with
/// `Last-Event-ID` goes on after it; the server keeps nothing per reader.
#[utoipa::path(get, path = "/api/v1/events", params(AfterQuery),
    responses((status = 200, content_type = "text/event-stream", body = EventView), (status = 403, body = ErrorBody)))]
pub async fn feed(
    State(app): AppState,
    Caller(holder): Caller,
    Query(query): Query<AfterQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Error> {
    let Holder { role: Role::Admin, .. } = holder else { return Err(Error::Forbidden) };
    let start = super::follow::last_event_id(&headers).and_then(|id| id.parse().ok()).unwrap_or(query.after);
    Ok(Sse::new(stream::unfold(Feed::new(app, start), Feed::next)).keep_alive(KeepAlive::default()))
}

struct Feed {
    app: Arc<App>,
    after: u64,
    waiting: std::collections::VecDeque<EventView>,
    changes: tokio::sync::watch::Receiver<u64>,
}

impl Feed {
    fn new(app: Arc<App>, after: u64) -> Self {
        let changes = app.store.changes();
        Self { app, after, waiting: Default::default(), changes }
    }

    /// An error ends the stream; the reader comes back with the number it has.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        while self.waiting.is_empty() {
            self.changes.borrow_and_update();
            let after = self.after;
            self.waiting = self.app.store.read(move |sql| events::after(sql, after, None, PAGE_EVENTS)).await.ok()?.into();
            if self.waiting.is_empty() {
                self.changes.changed().await.ok()?;
            }
        }
        let event = self.waiting.pop_front()?;
        self.after = event.seq;
        let sent = Event::default().id(event.seq.to_string()).event(&event.kind).json_data(&event).ok()?;
        Some((Ok(sent), self))
    }
}
