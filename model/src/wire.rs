//! The JSON of our API: what the server answers and every client reads.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    dialect::{Note, Report},
    job::JobState,
    logs::Stream,
    plan::PlanView,
    resources::Resources,
    spec::Param,
    task::{Ending, TaskState},
};

/// A job in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobSummary {
    pub id: String,
    pub name: String,
    pub version: u32,
    pub owner: String,
    pub state: JobState,
    /// Why it is as it is, in words: why it waits, how it ended.
    pub reason: String,
    pub attempt: u32,
    pub priority: i32,
    pub tags: Vec<String>,
    pub description: String,
    pub tasks: u32,
    /// All its tasks together.
    pub resources: Resources,
    /// Its hyperparameters, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schema(value_type = Object)]
    pub params: IndexMap<String, Param>,
    pub created_at_ms: u64,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
}

/// A job with everything that is known of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobDetail {
    #[serde(flatten)]
    pub summary: JobSummary,
    /// What was submitted.
    #[schema(value_type = Object)]
    pub spec: serde_json::Value,
    /// Every run of every task, newest attempt first.
    pub runs: Vec<RunView>,
    pub actions: Actions,
}

/// What can be done to a job now; a refusal says why not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Actions {
    pub stop: Action,
    pub rerun: Action,
    pub delete: Action,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Action {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    pub task: String,
    pub attempt: u32,
    pub state: TaskState,
    pub node: String,
    /// Device indices by accelerator type.
    pub devices: BTreeMap<String, Vec<u32>>,
    /// Ports by label.
    pub ports: BTreeMap<String, Vec<u16>>,
    pub pid: Option<u32>,
    pub started_at_ms: Option<u64>,
    pub ended_at_ms: Option<u64>,
    pub ending: Option<Ending>,
    pub exit_code: Option<i32>,
    pub reason: String,
    /// What the kernel refused; the task runs with less.
    pub missing: Vec<String>,
}

/// What a task is told of its peers and itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EnvironmentView {
    pub job: String,
    pub task: String,
    pub attempt: u32,
    /// Whether the task has its place. If not, words in `<>` stand where addresses and ports will be.
    pub placed: bool,
    /// Variables by name. Secrets are masked.
    pub env: BTreeMap<String, String>,
    /// The text of the files that some of the variables point at, by path.
    pub files: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobPage {
    pub jobs: Vec<JobSummary>,
    /// Give it as `cursor` to read on; absent at the end.
    pub next: Option<String>,
}

/// The answer to a submission: the job is durable when this is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Submitted {
    pub id: String,
    pub name: String,
    pub version: u32,
    /// What the person should know although nothing is wrong, such as an image that is not run here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What became of each field of a file that was of another dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<Report>,
}

/// The answer to a dry run: what would be submitted, and nothing was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Planned {
    /// Whose job file it is; `trainmaster` for our own.
    pub dialect: String,
    /// What became of each field of a file of another dialect.
    pub report: Vec<Note>,
    /// What the person should know although nothing is wrong.
    pub notes: Vec<String>,
    pub plan: PlanView,
}

/// A submission is answered with the job, a dry run with the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SubmitAnswer {
    Planned(Box<Planned>),
    Submitted(Submitted),
}

/// Something that happened, in the order it was committed. `seq` has no gap and no repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub seq: u64,
    pub at_ms: u64,
    pub job: String,
    pub task: Option<String>,
    pub attempt: Option<u32>,
    pub kind: String,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventView>,
    pub next: Option<u64>,
}

/// A piece of a task's log in a followed stream. Exactly one of `text` and `base64` is there: bytes
/// that are not UTF-8 come as base64, so nothing is changed on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogChunk {
    pub task: String,
    pub attempt: u32,
    pub stream: Stream,
    pub offset: u64,
    pub at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
}

/// Why a job is as it is, with the arithmetic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Explanation {
    pub job: String,
    pub state: JobState,
    pub reason: String,
    pub needs: Vec<Need>,
    pub nodes: Vec<NodeView>,
    /// Jobs that will be placed before this one.
    pub before: Vec<String>,
    /// What the person can do.
    pub next_step: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Need {
    pub role: String,
    pub tasks: u32,
    pub each: Resources,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    pub name: String,
    pub address: String,
    /// Whether new tasks may be placed on it, and if not, why not.
    pub open: bool,
    pub reason: String,
    pub capacity: Resources,
    pub free: Resources,
    pub held_by: Vec<HeldView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HeldView {
    pub job: String,
    pub amount: Resources,
}

/// Every refusal of the API has this shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    /// Stable, for scripts; `docs/errors.md` has a paragraph for each.
    pub code: String,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Every problem of a job file, with its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProblemView {
    /// Such as `roles.worker.cpus`.
    pub path: String,
    /// From 1; 0 where the file says nothing at all.
    pub line: u32,
    pub column: u32,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Health {
    pub status: String,
}

/// Who the caller is and what serves them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct About {
    pub user: String,
    pub role: String,
    pub version: String,
    /// Rows that could not be read and were set aside.
    pub quarantined: Vec<String>,
}
