//! What a job's tasks use, over time and in all.

use std::{collections::BTreeMap, path::Path as FilePath};

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    ids::TaskName,
    said,
    usage::{self as figures, Axis, Curve, Figure, Stretch, UsageTotals},
    wire::{
        ErrorBody,
        usage::{AxisView, JobUsage, RoleUsage, SumUsage, TaskUsage, UsageLimits, add, means},
    },
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{AppState, extract::Query, guard::Caller, jobs, logs::tasks_of};
use crate::{
    control::now_ms,
    error::Error,
    rundir::RunDir,
    store::runs::{self, Run},
    usage::{self, Place},
};

pub mod cluster;
pub mod now;
pub mod taken;

#[derive(Deserialize, IntoParams)]
pub struct UsageQuery {
    /// Only these tasks, with commas; all if not given.
    task: Option<String>,
    /// The newest run of each task if not given.
    attempt: Option<u32>,
    /// The beginning of the window; everything that is known if not given.
    from: Option<u64>,
    to: Option<u64>,
    /// Into how many parts the window is cut, at most: 1 to 2000.
    buckets: Option<usize>,
}

#[derive(Clone, Copy, Deserialize, IntoParams)]
pub struct WindowQuery {
    /// The beginning of the window; everything that is known if not given.
    from: Option<u64>,
    to: Option<u64>,
    /// Into how many parts the window is cut, at most: 1 to 2000.
    buckets: Option<usize>,
}

const BUCKETS_DEFAULT: usize = 120;
const BUCKETS_MAX: usize = 2_000;
/// Tasks beyond these are in the sums only, unless they are named.
const TASKS_SHOWN_MAX: usize = 64;

impl WindowQuery {
    pub fn axis(&self, known: impl FnOnce() -> (u64, u64)) -> Result<Axis, Error> {
        let buckets = self.buckets.unwrap_or(BUCKETS_DEFAULT);
        if buckets == 0 || buckets > BUCKETS_MAX {
            return Err(Error::BadValue {
                name: "buckets",
                value: buckets.to_string(),
                wanted: said!("1 to {BUCKETS_MAX}", "1 到 {BUCKETS_MAX}"),
            });
        }
        let (from_ms, to_ms) = match (self.from, self.to) {
            (Some(from), Some(to)) => (from, to),
            (from, to) => {
                let known = known();
                (from.unwrap_or(known.0), to.unwrap_or(known.1))
            }
        };
        if from_ms > to_ms {
            return Err(Error::BadValue {
                name: "from",
                value: from_ms.to_string(),
                wanted: said!("a time before {to_ms}", "{to_ms} 之前的时间"),
            });
        }
        Ok(Axis::new(from_ms, to_ms, buckets))
    }
}

/// What a job uses: each task, each role and all together, on one time axis.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/usage", params(("job" = String, Path), UsageQuery),
    responses((status = 200, body = JobUsage), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn of_job(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<UsageQuery>,
) -> Result<Json<JobUsage>, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let (id, label, data) = (job.id, jobs::label(&job), app.data.clone());
    let only = query.task.as_deref().map(|list| tasks_of(&job, list)).transpose()?;
    let all = app.store.read(move |sql| runs::of_job(sql, id)).await?;
    let runs = chosen(all, only.as_deref(), query.attempt);
    let window = WindowQuery { from: query.from, to: query.to, buckets: query.buckets };
    let drawn = tokio::task::spawn_blocking(move || draw(label, &data, &runs, (&window, only.is_some()))).await;
    drawn.map_err(|error| Error::Internal(error.to_string()))?.map(Json)
}

/// The newest run of each task, or that of the attempt asked for.
fn chosen(all: Vec<Run>, only: Option<&[TaskName]>, attempt: Option<u32>) -> Vec<Run> {
    let mut newest: BTreeMap<TaskName, Run> = BTreeMap::new();
    for run in all {
        let wanted = only.is_none_or(|only| only.contains(&run.run.task)) && attempt.is_none_or(|it| it == run.run.attempt);
        let newer = newest.get(&run.run.task).is_none_or(|it| it.run.attempt < run.run.attempt);
        if wanted && newer {
            newest.insert(run.run.task.clone(), run);
        }
    }
    newest.into_values().collect()
}

fn draw(job: String, data: &FilePath, runs: &[Run], (window, named): (&WindowQuery, bool)) -> Result<JobUsage, Error> {
    let dir = |run: &Run| RunDir::new(data, &run.run);
    let axis = window.axis(|| known_window(runs.iter().map(|run| Place::of_run(&dir(run)))))?;
    let (mut tasks, mut total) = (Vec::new(), Sum::default());
    let mut roles: BTreeMap<String, (u32, Sum)> = BTreeMap::new();
    for run in runs {
        let task = of_run(run, &dir(run), &axis);
        let role = roles.entry(run.run.task.role.to_string()).or_default();
        role.0 += 1;
        role.1.add(&task);
        total.add(&task);
        if named || tasks.len() < TASKS_SHOWN_MAX {
            tasks.push(task);
        }
    }
    Ok(JobUsage {
        job,
        axis: axis_view(&axis),
        tasks_left_out: (runs.len() - tasks.len()) as u32,
        tasks,
        roles: roles.into_iter().map(|(role, (tasks, sum))| RoleUsage { role, tasks, sum: sum.view() }).collect(),
        total: total.view(),
    })
}

/// From the first moment any of them knows of to the last.
pub fn known_window(places: impl Iterator<Item = Place>) -> (u64, u64) {
    let windows: Vec<(u64, u64)> = places.filter_map(|place| place.window()).collect();
    let now = now_ms();
    let from = windows.iter().map(|it| it.0).min().unwrap_or(now);
    (from, windows.iter().map(|it| it.1).max().unwrap_or(now))
}

pub fn axis_view(axis: &Axis) -> AxisView {
    AxisView { from_ms: axis.from_ms, to_ms: axis.to_ms(), bucket_ms: axis.bucket_ms, at_ms: axis.at_ms() }
}

fn of_run(run: &Run, dir: &RunDir, axis: &Axis) -> TaskUsage {
    let place = Place::of_run(dir);
    let now = if run.state.is_over() { None } else { usage::now(&place, now_ms()) };
    let (curves, totals) = (curves(&place.stretches(axis.from_ms, axis.to_ms()), axis), usage::totals(dir));
    // Read last, as it is written first: no figure comes without its basis.
    let basis = usage::basis(dir, run.started_at_ms.is_some() || run.state.is_over());
    TaskUsage {
        task: run.run.task.to_string(),
        attempt: run.run.attempt,
        state: run.state,
        node: run.node.to_string(),
        limits: UsageLimits::of(&basis),
        now: now.as_ref().map(means).unwrap_or_default(),
        curves,
        totals,
        basis: (&basis).into(),
    }
}

/// A curve for each figure of which anything is known.
pub fn curves(stretches: &[Stretch], axis: &Axis) -> BTreeMap<Figure, Curve> {
    let known = |figure: &Figure| stretches.iter().any(|it| it.get(*figure).is_some());
    Figure::ALL.into_iter().filter(known).map(|figure| (figure, axis.draw(stretches, figure))).collect()
}

/// Added up as tasks come, so that a job of thousands is not all in memory.
#[derive(Default)]
struct Sum {
    now: BTreeMap<Figure, f64>,
    curves: BTreeMap<Figure, Curve>,
    totals: Option<UsageTotals>,
}

impl Sum {
    fn add(&mut self, task: &TaskUsage) {
        add(&mut self.now, &task.now);
        for (figure, curve) in &task.curves {
            let before = self.curves.remove(figure).unwrap_or_default();
            self.curves.insert(*figure, figures::sum([&before, curve].into_iter()));
        }
        self.totals = Some(self.totals.map_or(task.totals, |totals| totals.and(task.totals)));
    }

    fn view(self) -> SumUsage {
        SumUsage { now: self.now, curves: self.curves, totals: self.totals.unwrap_or_default() }
    }
}
