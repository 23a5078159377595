//! Curves as they grow. However fast a task writes, a reader gets a bounded number of pieces at each look; the server keeps
//! nothing per reader but how far each series was sent, and an event's id says the same.

use std::{collections::BTreeMap, convert::Infallible, io, sync::Arc, time::Duration, time::SystemTime};

use axum::{
    extract::{Path, State},
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream as EventStream, stream};
use model::{
    ids::{JobId, TaskName},
    wire::{CurveNews, ErrorBody},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App, AppState,
    extract::Query,
    follow::{
        last_event_id,
        watched::{Wanted, Watched},
    },
    guard::Caller,
    jobs,
    metrics::{CURVES_MAX, Which, aside, check_buckets, curve_view},
};
use crate::{
    error::Error,
    metrics::{Axis, Range, Stored, book, is_being_read, view, written_at},
};

/// What tasks write is read every second, so there is nothing to see more often.
const LOOK_EVERY: Duration = Duration::from_millis(500);
const BUCKETS_DEFAULT: usize = 100;

#[derive(Deserialize, IntoParams)]
pub struct FollowQuery {
    name: Option<String>,
    task: Option<String>,
    attempt: Option<u32>,
    group: Option<String>,
    source: Option<model::metrics::Source>,
    /// At most so many pieces of each curve at each look; 100 if not given.
    buckets: Option<usize>,
}

/// Follows curves: `points` events carry what is new of each series, and one `end` event closes the stream when the job is over
/// and all it wrote was read.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/metrics/follow", params(("job" = String, Path), FollowQuery),
    responses((status = 200, content_type = "text/event-stream", body = Vec<CurveNews>), (status = 404, body = ErrorBody)))]
pub async fn follow(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<FollowQuery>,
    headers: HeaderMap,
) -> Result<Sse<impl EventStream<Item = Result<Event, Infallible>>>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let FollowQuery { name, task, attempt, group, source, buckets } = query;
    let buckets = buckets.unwrap_or(BUCKETS_DEFAULT);
    check_buckets(buckets)?;
    let follower = Follower {
        watched: Watched::new(app, job.id, Wanted::no_logs()),
        job: job.id,
        which: Arc::new(Which { name, task, attempt, group, source }),
        buckets,
        sent: last_event_id(&headers).map(|id| parse_cursor(&id)).unwrap_or_default(),
        seen: BTreeMap::new(),
        is_done: false,
    };
    Ok(Sse::new(stream::unfold(follower, Follower::next)).keep_alive(KeepAlive::default()))
}

/// How far a series was sent: the series of a task, how often it had been cut, how many of its points.
type Sent = BTreeMap<(TaskName, i64), (i64, u64)>;

fn parse_cursor(text: &str) -> Sent {
    let one = |part: &str| {
        let mut words = part.split(':');
        let (task, series, cuts, count) = (words.next()?, words.next()?, words.next()?, words.next()?);
        Some(((task.parse().ok()?, series.parse().ok()?), (cuts.parse().ok()?, count.parse().ok()?)))
    };
    text.split(',').filter_map(one).take(CURVES_MAX).collect()
}

fn show_cursor(sent: &Sent) -> String {
    let parts: Vec<String> = sent.iter().map(|((task, series), (cuts, count))| format!("{task}:{series}:{cuts}:{count}")).collect();
    parts.join(",")
}

struct Follower {
    watched: Watched,
    job: JobId,
    which: Arc<Which>,
    buckets: usize,
    sent: Sent,
    /// When each book was written that was looked at last.
    seen: BTreeMap<TaskName, SystemTime>,
    is_done: bool,
}

impl Follower {
    /// An error ends the stream; the reader comes back with the id it has.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.is_done {
            return None;
        }
        loop {
            // Asked before the books are read: what is read after it may be more, and never less.
            let over = self.is_over().await.inspect_err(told).ok()?;
            let news = self.look().await.inspect_err(told).ok()?;
            if !news.is_empty() {
                let event = Event::default().event("points").id(show_cursor(&self.sent)).json_data(&news).ok()?;
                return Some((Ok(event), self));
            }
            if over {
                self.is_done = true;
                return Some((Ok(Event::default().event("end").id(show_cursor(&self.sent)).data("{}")), self));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Whether nothing more will be read.
    async fn is_over(&mut self) -> Result<bool, Error> {
        self.watched.look().await?;
        let is_over = self.watched.is_gone() || self.watched.over().is_some();
        Ok(is_over && !self.watched.seen.tasks.iter().flatten().any(|run| is_being_read(&self.watched.app.data, run)))
    }

    async fn look(&mut self) -> Result<Vec<CurveNews>, Error> {
        let tasks: Vec<TaskName> = self.watched.seen.tasks.iter().filter_map(|it| Some(it.first()?.task.clone())).collect();
        let mut look = Look {
            app: self.watched.app.clone(),
            job: self.job,
            which: self.which.clone(),
            buckets: self.buckets,
            sent: std::mem::take(&mut self.sent),
            seen: std::mem::take(&mut self.seen),
        };
        let (news, look) = aside(move || Ok((look.news(&tasks)?, look))).await?;
        (self.sent, self.seen) = (look.sent, look.seen);
        Ok(news)
    }
}

fn told(error: &Error) {
    tracing::warn!("a follower's stream of curves ends early: {error}");
}

struct Look {
    app: Arc<App>,
    job: JobId,
    which: Arc<Which>,
    buckets: usize,
    sent: Sent,
    seen: BTreeMap<TaskName, SystemTime>,
}

impl Look {
    fn news(&mut self, tasks: &[TaskName]) -> io::Result<Vec<CurveNews>> {
        let mut news = Vec::new();
        for task in tasks {
            let written = written_at(&self.app.data, self.job, task);
            if written.is_some() && self.seen.get(task) == written.as_ref() {
                continue;
            }
            self.of_task(task, &mut news)?;
            self.seen.extend(written.map(|at| (task.clone(), at)));
        }
        Ok(news)
    }

    fn of_task(&mut self, task: &TaskName, news: &mut Vec<CurveNews>) -> io::Result<()> {
        let Some(book) = book(&self.app.data, self.job, task)? else { return Ok(()) };
        let all = book.series()?;
        for series in all.iter().filter(|it| self.which.takes(task, it)) {
            let key = (task.clone(), series.id);
            let count = series.digest.count;
            let (cuts, sent) = self.sent.get(&key).copied().unwrap_or((series.cuts, 0));
            let is_full = self.sent.len() >= CURVES_MAX && !self.sent.contains_key(&key);
            if (cuts, sent) == (series.cuts, count) || is_full {
                continue;
            }
            let anew = cuts != series.cuts;
            let range = Range { first: if anew { 0 } else { sent as i64 }, last: count as i64 - 1 };
            news.push(self.one(&book, task, series, range, anew)?);
            self.sent.insert(key, (series.cuts, count));
        }
        Ok(())
    }

    fn one(&self, book: &crate::metrics::Book, task: &TaskName, series: &Stored, range: Range, anew: bool) -> io::Result<CurveNews> {
        let curve = view(book, series, Axis::Position, range, self.buckets)?;
        Ok(CurveNews { curve: curve_view(task, series, curve), total: series.digest.count, anew })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_survives_its_text_form_and_nonsense_in_it_is_passed_over() {
        let text = "main-0:1:0:500,worker-1:7:2:10";
        assert_eq!(show_cursor(&parse_cursor(text)), text);
        assert_eq!(show_cursor(&parse_cursor("main-0:1:0:500,../x:1:1:1,main-0:x:0:0,:,")), "main-0:1:0:500");
    }
}
