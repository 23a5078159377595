//! Curves of a job: which there are, how they run, and all their points as a file.

use std::{collections::BTreeSet, io, sync::Arc};

use axum::{
    Json,
    body::{Body, Bytes},
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::stream;
use model::{
    ids::{JobId, TaskName},
    metrics::{Point, Source},
    said,
    wire::{BucketView, CurveView, CurvesView, ErrorBody, MetricAxis, MetricsNote, MetricsView, PointView},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{App, AppState, extract::Query, guard::Caller, jobs};
use crate::{
    error::Error,
    metrics::{Axis, Book, Curve, Range, Stored, book, is_being_read, view},
    store::{jobs::Job, runs},
};

const BUCKETS_DEFAULT: usize = 500;
const BUCKETS_MAX: usize = 4_000;
/// Of one answer; more than any screen shows at once.
pub const CURVES_MAX: usize = 64;
const POINTS_A_BLOCK: u64 = 16_384;

/// Which series are meant; all if nothing is said.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
pub struct Which {
    /// One or several with commas.
    pub name: Option<String>,
    pub task: Option<String>,
    pub attempt: Option<u32>,
    /// The directory below `/output`.
    pub group: Option<String>,
    /// `events`, `file` or `output`.
    pub source: Option<Source>,
}

impl Which {
    pub fn takes(&self, task: &TaskName, series: &Stored) -> bool {
        let key = &series.key;
        let named = |names: &String| *names == key.name || names.split(',').any(|name| name == key.name);
        self.name.as_ref().is_none_or(named)
            && self.task.as_ref().is_none_or(|it| *it == task.to_string())
            && self.attempt.is_none_or(|it| it == key.attempt)
            && self.group.as_ref().is_none_or(|it| *it == key.group)
            && self.source.is_none_or(|it| it == key.source)
    }
}

#[derive(Deserialize, IntoParams)]
pub struct PointsQuery {
    name: Option<String>,
    task: Option<String>,
    /// If not given, every attempt up to where the next one began.
    attempt: Option<u32>,
    group: Option<String>,
    source: Option<Source>,
    #[serde(default)]
    x: MetricAxis,
    /// The first step, or the first time in milliseconds.
    from: Option<i64>,
    to: Option<i64>,
    /// At most so many pieces of each curve; 500 if not given.
    buckets: Option<usize>,
}

/// The tasks of a job that may have said something.
pub async fn tasks(app: &App, job: &Job) -> Result<Vec<TaskName>, Error> {
    let id = job.id;
    let all = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    Ok(all.into_iter().map(|it| it.run.task).collect::<BTreeSet<_>>().into_iter().collect())
}

/// Reads aside, where waiting for the disk keeps nobody waiting.
pub async fn aside<T: Send + 'static>(read: impl FnOnce() -> io::Result<T> + Send + 'static) -> Result<T, Error> {
    let read = tokio::task::spawn_blocking(read).await.map_err(|error| Error::Internal(error.to_string()))?;
    read.map_err(|error| Error::Internal(error.to_string()))
}

/// Lists every series of a job with what it comes to.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/metrics", params(("job" = String, Path), Which),
    responses((status = 200, body = MetricsView), (status = 404, body = ErrorBody)))]
pub async fn summaries(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(which): Query<Which>,
) -> Result<Json<MetricsView>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let id = job.id;
    let runs = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    aside(move || {
        // Asked first: what is read after it may be more, and never less.
        let is_being_read = runs.iter().any(|it| is_being_read(&app.data, &it.run));
        let mut view = MetricsView { series: Vec::new(), notes: Vec::new(), is_being_read };
        let tasks: BTreeSet<TaskName> = runs.into_iter().map(|it| it.run.task).collect();
        for task in tasks {
            let Some(book) = book(&app.data, job.id, &task)? else { continue };
            view.series.extend(book.series()?.into_iter().filter(|it| which.takes(&task, it)).map(|it| it.summary(&task)));
            let note = |crate::metrics::Note { attempt, words }: crate::metrics::Note| MetricsNote {
                task: task.to_string(),
                attempt,
                text: words.en,
                text_zh: words.zh,
            };
            view.notes.extend(book.notes()?.into_iter().map(note));
        }
        Ok(view)
    })
    .await
    .map(Json)
}

/// Draws curves: every point where they are few, otherwise what each stretch of the axis comes to.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/metrics/points", params(("job" = String, Path), PointsQuery),
    responses((status = 200, body = CurvesView), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn points(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<PointsQuery>,
) -> Result<Json<CurvesView>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let tasks = tasks(&app, &job).await?;
    let buckets = query.buckets.unwrap_or(BUCKETS_DEFAULT);
    check_buckets(buckets)?;
    aside(move || curves(&app, job.id, &tasks, query, buckets)).await.map(Json)
}

pub fn check_buckets(buckets: usize) -> Result<(), Error> {
    let wanted = said!("1 to {BUCKETS_MAX}", "1 到 {BUCKETS_MAX}");
    if (1..=BUCKETS_MAX).contains(&buckets) { Ok(()) } else { Err(Error::BadValue { name: "buckets", value: buckets.to_string(), wanted }) }
}

fn curves(app: &App, job: JobId, tasks: &[TaskName], query: PointsQuery, buckets: usize) -> io::Result<CurvesView> {
    let PointsQuery { name, task, attempt, group, source, x, from, to, .. } = query;
    let which = Which { name, task, attempt, group, source };
    let mut opened = Vec::new();
    for task in tasks.iter().filter(|it| which.task.as_ref().is_none_or(|name| *name == it.to_string())) {
        if let Some(book) = book(&app.data, job, task)? {
            let series: Vec<Stored> = book.series()?.into_iter().filter(|it| which.takes(task, it)).collect();
            opened.push((task, book, series));
        }
    }
    let all = || opened.iter().flat_map(|(_, _, series)| series);
    let first = from.or_else(|| all().map(|it| extent(it, x).first).min()).unwrap_or(0);
    let last = to.or_else(|| all().map(|it| extent(it, x).last).max()).unwrap_or(0).max(first);
    let mut answer = CurvesView { x, from: first, to: last, curves: Vec::new(), left_out: 0 };
    for (task, book, series) in &opened {
        for it in series {
            if answer.curves.len() >= CURVES_MAX {
                answer.left_out += 1;
                continue;
            }
            let last = if attempt.is_none() && x == MetricAxis::Step { last.min(valid_until(it, series)) } else { last };
            let curve = if last < first { Curve::Points(Vec::new()) } else { seen(book, it, x, Range { first, last }, buckets)? };
            answer.curves.push(curve_view(task, it, curve));
        }
    }
    Ok(answer)
}

/// A series may have grown since it was listed; it is seen as it was listed.
fn seen(book: &Book, series: &Stored, x: MetricAxis, range: Range, buckets: usize) -> io::Result<Curve> {
    let axis = match x {
        MetricAxis::Step => Axis::Step,
        MetricAxis::Time => Axis::Time,
    };
    view(book, series, axis, range, buckets)
}

fn extent(series: &Stored, x: MetricAxis) -> Range {
    match x {
        MetricAxis::Step => Range { first: series.digest.steps.0, last: series.digest.steps.1 },
        MetricAxis::Time => Range { first: series.digest.times_ms.0 as i64, last: series.digest.times_ms.1 as i64 },
    }
}

/// The last step before a later attempt went on from its checkpoint.
fn valid_until(series: &Stored, all: &[Stored]) -> i64 {
    let goes_on = |it: &&Stored| {
        it.key.attempt > series.key.attempt
            && (it.key.source, &it.key.group, &it.key.name) == (series.key.source, &series.key.group, &series.key.name)
    };
    all.iter().filter(goes_on).map(|it| it.digest.steps.0.saturating_sub(1)).min().unwrap_or(i64::MAX)
}

pub fn curve_view(task: &TaskName, series: &Stored, curve: Curve) -> CurveView {
    let key = &series.key;
    let (points, buckets) = match curve {
        Curve::Points(points) => (Some(points.into_iter().map(PointView::from).collect()), None),
        Curve::Buckets(buckets) => (None, Some(buckets.iter().map(BucketView::from).collect())),
    };
    CurveView {
        task: task.to_string(),
        attempt: key.attempt,
        source: key.source,
        group: key.group.clone(),
        name: key.name.clone(),
        points,
        buckets,
    }
}

/// Every point of a job, as CSV.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/metrics/csv", params(("job" = String, Path), Which),
    responses((status = 200, content_type = "text/csv", body = String), (status = 404, body = ErrorBody)))]
pub async fn csv(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(which): Query<Which>,
) -> Result<Response, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let tasks = tasks(&app, &job).await?;
    let name = format!("attachment; filename=\"{}-{}-metrics.csv\"", job.name, job.version);
    let export = Export { app, job: job.id, tasks, which, task: 0, series: 0, position: 0, begun: false };
    let body = Body::from_stream(stream::try_unfold(export, |export| async {
        let next = aside(move || export.next()).await;
        next.map_err(|error| io::Error::other(error.to_string()))
    }));
    let headers = [
        (header::CONTENT_TYPE, "text/csv; charset=utf-8".to_owned()),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_DISPOSITION, name),
    ];
    Ok((headers, body).into_response())
}

/// Where an export is: nothing stays open between two blocks of it.
struct Export {
    app: Arc<App>,
    job: JobId,
    tasks: Vec<TaskName>,
    which: Which,
    task: usize,
    series: usize,
    position: u64,
    begun: bool,
}

impl Export {
    fn next(mut self) -> io::Result<Option<(Bytes, Self)>> {
        if !std::mem::replace(&mut self.begun, true) {
            return Ok(Some(("task,attempt,source,group,name,step,at_ms,value\n".into(), self)));
        }
        while let Some(task) = self.tasks.get(self.task).cloned() {
            if let Some(text) = self.block(&task)? {
                return Ok(Some((text.into(), self)));
            }
            (self.task, self.series, self.position) = (self.task + 1, 0, 0);
        }
        Ok(None)
    }

    fn block(&mut self, task: &TaskName) -> io::Result<Option<String>> {
        let Some(book) = book(&self.app.data, self.job, task)? else { return Ok(None) };
        let all: Vec<Stored> = book.series()?.into_iter().filter(|it| self.which.takes(task, it)).collect();
        while let Some(series) = all.get(self.series) {
            if self.position < series.digest.count {
                let first = self.position as i64;
                self.position += POINTS_A_BLOCK;
                let range = Range { first, last: first + POINTS_A_BLOCK as i64 - 1 };
                if let Curve::Points(points) = view(&book, series, Axis::Position, range, POINTS_A_BLOCK as usize)? {
                    return Ok(Some(csv_lines(task, series, &points)));
                }
            }
            (self.series, self.position) = (self.series + 1, 0);
        }
        Ok(None)
    }
}

fn csv_lines(task: &TaskName, series: &Stored, points: &[Point]) -> String {
    use std::fmt::Write;
    let key = &series.key;
    let head = format!("{task},{},{},{},{}", key.attempt, key.source.text(), cell(&key.group), cell(&key.name));
    let mut text = String::with_capacity(points.len() * (head.len() + 40));
    for Point { step, at_ms, value } in points {
        writeln!(text, "{head},{step},{at_ms},{value:?}").expect("a string takes everything");
    }
    text
}

/// In quotes, where it would not be one cell otherwise. A name that a spreadsheet would take for a formula is none with a `'` before it.
fn cell(text: &str) -> String {
    let text = if text.starts_with(['=', '+', '-', '@']) { format!("'{text}") } else { text.to_owned() };
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}
