//! What a job was made of.

use std::collections::BTreeSet;

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    code::CodePlan,
    ids::TaskName,
    wire::{CodeProvenance, ErrorBody, OutputPlace, Provenance, TaskProvenance},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{AppState, dossier::Dossier, extract::Query, guard::Caller, jobs::label};
use crate::{
    control,
    error::Error,
    store::{lineage, runs::Run},
};

const OUR_DIALECT: &str = "trainmaster";

#[derive(Deserialize, IntoParams)]
pub struct TaskQuery {
    /// Such as `worker-1`; the chief if not given.
    task: Option<String>,
}

/// Says what a job was made of: code, packages, inputs, command and variables, and what of that nobody knows.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/provenance", params(("job" = String, Path), TaskQuery),
    responses((status = 200, body = Provenance), (status = 404, body = ErrorBody)))]
pub async fn provenance(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<TaskQuery>,
) -> Result<Json<Provenance>, Error> {
    let dossier = Dossier::of(&app, &holder, &text).await?;
    let nobody = |task: String| Error::NoSuchTask(text.clone(), task);
    let task: Option<TaskName> = query.task.map(|task| task.parse().map_err(|_| nobody(task))).transpose()?;
    let known = |task: &TaskName| dossier.job.plan.role(&task.role).is_some_and(|role| task.index < role.tasks);
    if let Some(task) = task.as_ref().filter(|task| !known(task)) {
        return Err(nobody(task.to_string()));
    }
    let task = task.or_else(|| dossier.chief());
    let tasks = task.iter().filter_map(|task| task_of(&dossier, task)).collect();
    Ok(Json(told(&dossier, tasks)))
}

fn told(dossier: &Dossier, tasks: Vec<TaskProvenance>) -> Provenance {
    let (job, plan) = (&dossier.job, &dossier.job.plan);
    let outputs = plan.freight.outputs.iter().zip(lineage::written(plan, job.version));
    Provenance {
        id: job.id.to_string(),
        label: label(job),
        dialect: plan.origin.dialect.clone().unwrap_or_else(|| OUR_DIALECT.into()),
        file: plan.origin.file.clone(),
        rerun_of: plan.origin.rerun_of.as_ref().map(|it| it.label.clone()),
        from: plan.freight.from.as_ref().map(|it| it.without_query()),
        framework: plan.framework.as_ref().map(ToString::to_string),
        algorithm: plan.algorithm.as_ref().map(ToString::to_string),
        code: code_of(dossier),
        setup: plan.setup.clone(),
        params: plan.params.clone(),
        python: dossier.python.clone(),
        inputs: dossier.found.as_ref().map(|it| it.inputs.clone()).unwrap_or_default(),
        outputs: outputs.map(|(output, to)| OutputPlace { path: output.path(), to: to.to_string() }).collect(),
        tasks,
        not_recorded: dossier.not_recorded(),
    }
}

pub fn code_of(dossier: &Dossier) -> Option<CodeProvenance> {
    let code = dossier.job.plan.code.as_ref()?;
    let uploaded = dossier.uploaded.as_ref();
    let commit = match code {
        CodePlan::Git(_) => dossier.job.commit.clone(),
        CodePlan::Upload(_) => uploaded.and_then(|it| it.commit.clone()),
        CodePlan::At(_) => None,
    };
    Some(CodeProvenance {
        source: code.to_string(),
        commit,
        branch: uploaded.and_then(|it| it.branch.clone()),
        dirty: uploaded.and_then(|it| it.dirty),
        content: dossier.found.as_ref().and_then(|it| it.code.clone()),
    })
}

/// Of the newest attempt; none if it never had a place.
fn task_of(dossier: &Dossier, task: &TaskName) -> Option<TaskProvenance> {
    let job = &dossier.job;
    let run = dossier.runs.iter().find(|run| run.run.task == *task)?;
    // Of a task that was tried again alone there is one run for each of its attempts; the newest comes first.
    let mut seen = BTreeSet::new();
    let beside = dossier.runs.iter().filter(|it| it.job_attempt == run.job_attempt && seen.insert(it.run.task.clone()));
    let gang: Vec<Run> = beside.cloned().collect();
    let mut peers = control::environment(job, &gang, task)?;
    peers.env.append(&mut peers.paths);
    Some(TaskProvenance {
        task: task.to_string(),
        attempt: run.run.attempt,
        node: run.node.to_string(),
        command: job.plan.role(&task.role)?.command.iter().map(|word| model::template::shown(word)).collect(),
        arguments: job.plan.freight.arguments.iter().map(|it| format!("{}={}", it.flag, it.path)).collect(),
        env: peers.env,
        limits: run.amount.clone(),
        devices: run.devices.clone(),
    })
}
