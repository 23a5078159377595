//! Everything that runs and what it uses at this moment.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::Path,
};

use axum::{Json, extract::State};
use model::{
    ids::JobId,
    wire::{
        NodeView,
        usage::{JobNow, MachineNow, NodeNow, TaskNow, UsageLimits, UsageNow, add, means},
    },
};

use crate::{
    api::{App, AppState, guard::Caller, jobs},
    control::{self, now_ms},
    error::Error,
    rundir::RunDir,
    store::{
        Sql, StoreError,
        jobs::{self as job_rows, Job},
        runs::{self, Run},
        tokens::Holder,
    },
    usage::{self, Place, machine},
};

/// What runs now and what it uses: the machine, the nodes, and the jobs that the caller may see.
#[utoipa::path(get, path = "/api/v1/usage/now", responses((status = 200, body = UsageNow)))]
pub async fn now(State(app): AppState, Caller(holder): Caller) -> Result<Json<UsageNow>, Error> {
    look(&app, &holder).await.map(Json)
}

pub async fn look(app: &App, holder: &Holder) -> Result<UsageNow, Error> {
    let (owner, board) = (jobs::visible_owner(holder), app.board.clone());
    let read = move |sql: &Sql<'_>| {
        let live = runs::live(sql)?;
        let held = control::held(sql, &board)?;
        let mut jobs: BTreeMap<JobId, (Option<Job>, Vec<Run>)> = BTreeMap::new();
        for run in live {
            let (_, runs) = match jobs.entry(run.run.job) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert((visible(sql, run.run.job, owner.as_deref())?, Vec::new())),
            };
            runs.push(run);
        }
        let mine: Vec<(Job, Vec<Run>)> = jobs.into_values().filter_map(|(job, runs)| Some((job?, runs))).collect();
        Ok((mine, held, job_rows::counts::queued(sql, owner.as_deref())?))
    };
    let (mine, held, waiting) = app.store.read(read).await?;
    let (data, nodes) = (app.data.clone(), app.board.with_use(&held));
    let looked = tokio::task::spawn_blocking(move || UsageNow {
        at_ms: now_ms(),
        machine: machine_now(&data),
        nodes: nodes.into_iter().map(|node| node_now(&data, node)).collect(),
        jobs: mine.into_iter().map(|(job, runs)| job_now(&data, &job, &runs)).collect(),
        queued: waiting.count,
    });
    looked.await.map_err(|error| Error::Internal(error.to_string()))
}

/// One that cannot be read is left out, and hides no other.
fn visible(sql: &Sql<'_>, id: JobId, owner: Option<&str>) -> Result<Option<Job>, StoreError> {
    match job_rows::get(sql, id) {
        Err(StoreError::Unreadable { .. }) => Ok(None),
        read => Ok(read?.filter(|job| owner.is_none_or(|owner| job.owner == owner))),
    }
}

fn machine_now(data: &Path) -> MachineNow {
    let size = machine::size(data);
    let now = usage::now(&Place::of_machine(data), now_ms());
    MachineNow {
        cpus: size.cpus,
        memory_bytes: size.memory_bytes,
        disk_bytes: size.disk_bytes,
        now: now.as_ref().map(means).unwrap_or_default(),
    }
}

fn node_now(data: &Path, node: NodeView) -> NodeNow {
    let now = node.name.parse().ok().and_then(|name| usage::now(&Place::of_node(data, &name), now_ms()));
    NodeNow { name: node.name, open: node.open, capacity: node.capacity, free: node.free, now: now.as_ref().map(means).unwrap_or_default() }
}

fn job_now(data: &Path, job: &Job, runs: &[Run]) -> JobNow {
    let tasks: Vec<TaskNow> = runs.iter().map(|run| task_now(data, run)).collect();
    let mut now = BTreeMap::new();
    tasks.iter().for_each(|task| add(&mut now, &task.now));
    JobNow { id: job.id.to_string(), label: jobs::label(job), owner: job.owner.clone(), state: job.state, now, tasks }
}

fn task_now(data: &Path, run: &Run) -> TaskNow {
    let dir = RunDir::new(data, &run.run);
    let place = Place::of_run(&dir);
    let now = usage::now(&place, now_ms());
    let totals = place.recent(1).pop().map(|it| it.totals()).unwrap_or_default();
    // Read last, as it is written first: no figure comes without its basis.
    let basis = usage::basis(&dir, run.started_at_ms.is_some());
    TaskNow {
        task: run.run.task.to_string(),
        attempt: run.run.attempt,
        state: run.state,
        node: run.node.to_string(),
        started_at_ms: run.started_at_ms,
        limits: UsageLimits::of(&basis),
        now: now.as_ref().map(means).unwrap_or_default(),
        totals,
        basis: (&basis).into(),
    }
}
