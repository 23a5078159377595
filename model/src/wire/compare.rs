//! Jobs side by side, and what each was made of.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    compare::Direction,
    job::JobState,
    metrics::{Extreme, MetricNumber, Value},
    provenance::{Content, InputFound, Packages},
    resources::Resources,
    spec::Param,
    words::Words,
};

/// What a row of a comparison is about, in the order in which rows are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RowKind {
    Param,
    Code,
    Package,
    Env,
    Input,
    Command,
    Tasks,
    Resources,
    Setting,
    Metric,
    Duration,
    Usage,
    Ending,
}

impl RowKind {
    /// Whether it is what the jobs were given, and not what came of it.
    pub fn is_given(self) -> bool {
        match self {
            RowKind::Param
            | RowKind::Code
            | RowKind::Package
            | RowKind::Env
            | RowKind::Input
            | RowKind::Command
            | RowKind::Tasks
            | RowKind::Resources
            | RowKind::Setting => true,
            RowKind::Metric | RowKind::Duration | RowKind::Usage | RowKind::Ending => false,
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            RowKind::Param => "param",
            RowKind::Code => "code",
            RowKind::Package => "package",
            RowKind::Env => "env",
            RowKind::Input => "input",
            RowKind::Command => "command",
            RowKind::Tasks => "tasks",
            RowKind::Resources => "resources",
            RowKind::Setting => "setting",
            RowKind::Metric => "metric",
            RowKind::Duration => "duration",
            RowKind::Usage => "usage",
            RowKind::Ending => "ending",
        }
    }
}

/// Jobs side by side.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Comparison {
    /// The columns.
    pub jobs: Vec<ComparedJob>,
    /// Those that differ; with `all`, every one.
    pub rows: Vec<ComparedRow>,
    /// How many things that the jobs were given differ, and how many are equal in all of them.
    pub differences: u32,
    pub equal: u32,
    /// The best by the metric that was asked for first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestJob>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedJob {
    pub id: String,
    /// Such as `digits@3`.
    pub label: String,
    pub owner: String,
    pub state: JobState,
    pub created_at_ms: u64,
    /// What could not be compared, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_recorded: Vec<NotRecorded>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedRow {
    pub kind: RowKind,
    pub name: String,
    /// One for each job; none where it has no such thing.
    pub values: Vec<Option<String>>,
    pub differs: bool,
    /// Where the values are numbers: by how much each is more than the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deltas: Vec<Option<Delta>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metric: Option<ComparedMetric>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    pub by: f64,
    /// Of the first; none if that is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percent: Option<f64>,
    /// None if nobody knows which way is better.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<bool>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ComparedMetric {
    /// None if neither its name nor anybody says so; then the last values are compared, and not the best.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    /// Whether the name alone says so.
    pub guessed: bool,
    pub values: Vec<Option<MetricValue>>,
    /// Which job has the best value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<usize>,
}

/// What a job has of a metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MetricValue {
    #[schema(value_type = MetricNumber)]
    pub last: Value,
    pub last_step: i64,
    /// The best by the direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<Extreme>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BestJob {
    pub metric: String,
    pub direction: Direction,
    pub id: String,
    pub label: String,
    pub value: f64,
    pub step: i64,
}

/// Something that nobody knows, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotRecorded {
    /// Such as `packages`.
    pub what: String,
    pub why: String,
    /// The same in Chinese, where there is any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub what_zh: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why_zh: String,
}

impl NotRecorded {
    pub fn new(what: Words, why: Words) -> Self {
        Self { what: what.en, why: why.en, what_zh: what.zh, why_zh: why.zh }
    }
}

/// What a job was made of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Provenance {
    pub id: String,
    pub label: String,
    /// Whose job file it was; `trainmaster` for our own.
    pub dialect: String,
    /// What the file was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The job that was submitted again to make this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<String>,
    /// What its output began with: a former job or a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub framework: Option<String>,
    /// The algorithm that says what is run and how, such as `mnist-mlp@2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<CodeProvenance>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    #[schema(value_type = Object)]
    pub params: IndexMap<String, Param>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<PythonProvenance>,
    pub inputs: Vec<InputFound>,
    pub outputs: Vec<OutputPlace>,
    /// Of the attempt that was asked for.
    pub tasks: Vec<TaskProvenance>,
    pub not_recorded: Vec<NotRecorded>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CodeProvenance {
    /// Where it came from: a repository, an upload, a place.
    pub source: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether there was anything that is not in the commit. `/jobs/{job}/code/patch` has it, and `/jobs/{job}/code` every file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PythonProvenance {
    /// Environments with the same have the same packages.
    pub fingerprint: String,
    #[serde(flatten)]
    pub packages: Packages,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct OutputPlace {
    /// Where the task writes it.
    pub path: String,
    /// Where it is copied.
    pub to: String,
}

/// What one task was given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskProvenance {
    pub task: String,
    pub attempt: u32,
    pub node: String,
    /// With its parameters in it; secrets stand there by name.
    pub command: Vec<String>,
    /// What follows the command, such as `--data_url=/input/data`.
    pub arguments: Vec<String>,
    /// Secrets are masked.
    pub env: BTreeMap<String, String>,
    pub limits: Resources,
    /// Device indices by accelerator type.
    pub devices: BTreeMap<String, Vec<u32>>,
}

/// Versions of a job side by side, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Versions {
    pub name: String,
    pub owner: String,
    /// Parameters that are not the same in all of them.
    pub params: Vec<String>,
    /// The metrics that are shown, in this order.
    pub metrics: Vec<VersionMetric>,
    pub versions: Vec<VersionRow>,
    /// Give it as `before` to read on; absent at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionMetric {
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub direction: Option<Direction>,
    pub guessed: bool,
    /// The best of the versions that are shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub best: Option<BestVersion>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BestVersion {
    pub version: u32,
    pub value: f64,
    pub step: i64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VersionRow {
    pub id: String,
    pub version: u32,
    pub state: JobState,
    pub reason: String,
    pub created_at_ms: u64,
    pub duration_ms: Option<u64>,
    #[schema(value_type = Object)]
    pub params: IndexMap<String, Param>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<String>,
    /// One for each of the metrics.
    pub metrics: Vec<Option<MetricValue>>,
}

/// Where a job comes from and where its results went: things, and which of them went into which.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Lineage {
    /// The node that was asked about.
    pub job: String,
    pub nodes: Vec<LineageNode>,
    pub edges: Vec<LineageEdge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineageNode {
    /// Such as `job:01J…` or `data:data:mnist`.
    pub id: String,
    pub kind: LineageKind,
    /// As a person calls it.
    pub label: String,
    /// The same in Chinese, where it has words in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub label_zh: String,
    /// What is known of it beside that.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
    /// The same in Chinese, where it has words in it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail_zh: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<String>,
    /// Of a job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<JobState>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineageKind {
    Job,
    Data,
    Code,
    Environment,
    Output,
}

impl LineageKind {
    pub fn text(self) -> &'static str {
        match self {
            LineageKind::Job => "job",
            LineageKind::Data => "data",
            LineageKind::Code => "code",
            LineageKind::Environment => "environment",
            LineageKind::Output => "output",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineageEdge {
    pub from: String,
    pub to: String,
    /// Such as `input`, `code`, `began with its output`, `rerun of`.
    pub how: String,
}
