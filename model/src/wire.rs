//! The JSON of our API: what the server answers and every client reads.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

mod uploads;
pub mod usage;

pub use uploads::{BlobLength, BlobsTaken, MissingBlob, UploadEntry, UploadFacts, UploadList, UploadStanding, UploadedThing};

use crate::{
    bundle::CodeLimits,
    dialect::{Note, Report},
    job::JobState,
    plan::PlanView,
    resources::Resources,
    spec::Param,
    task::{Ending, TaskState},
    words::Words,
};

mod algorithms;
mod compare;
mod datasets;
mod files;
mod logs;
mod metrics;
mod reasons;
mod session;

pub use algorithms::{AlgorithmDetail, AlgorithmVersionSummary, AlgorithmVersionView, AlgorithmView};
pub use reasons::{CatalogueEntry, DiagnosisView, EventLevel, EventPage, EventView, FailureView};
pub use session::{LogIn, LogInLink, PassPath, SessionView};

pub use metrics::{BucketView, CurveNews, CurveView, CurvesView, MetricAxis, MetricsNote, MetricsView, PointView};

pub use compare::{
    BestJob, BestVersion, CodeProvenance, ComparedJob, ComparedMetric, ComparedRow, Comparison, Delta, Lineage, LineageEdge, LineageKind,
    LineageNode, MetricValue, NotRecorded, OutputPlace, Provenance, PythonProvenance, RowKind, TaskProvenance, VersionMetric, VersionRow,
    Versions,
};
pub use datasets::{DatasetDetail, DatasetVersionView, DatasetView, JobRef, NewDatasetVersion};
pub use files::{FileKind, FileLine, FileView, NewVolume, VolumeCheck, VolumeView};
pub use logs::{JobProgress, LineView, LinesPage, LogChunk, LogHit, ProgressOfJob, SearchEnd, SearchLine, TaskProgress};

/// A secret, as far as anyone may see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretView {
    pub name: String,
    /// When it was last set.
    pub updated_at_ms: u64,
}

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
    /// The same in Chinese, where there is any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_zh: String,
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
    /// How long it may run from its start; none if there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_duration_ms: Option<u64>,
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
    /// The folder that was uploaded with it; none if its code came from elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uploaded: Option<UploadFacts>,
    /// How far it is, if it runs and its tasks print bars or say so otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<JobProgress>,
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
    /// The same in Chinese.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_zh: Option<String>,
}

impl Action {
    pub fn new(refused: Option<Words>) -> Self {
        let Some(Words { en, zh }) = refused else { return Self { refused: None, refused_zh: None } };
        Self { refused: Some(en), refused_zh: Some(zh) }
    }
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
    /// The same in Chinese, where there is any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_zh: String,
    /// What the kernel refused; the task runs with less.
    pub missing: Vec<String>,
    /// The same in Chinese.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing_zh: Vec<String>,
    /// Which commit its code is, if it comes from git.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What has become of its output, where it goes anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync: Option<crate::sync::SyncState>,
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
    /// What follows the command, such as `--data_url=/input/data`.
    #[serde(default)]
    pub arguments: Vec<String>,
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
    /// The same job as a file of ours, if it was of another dialect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ours: Option<String>,
}

/// A submission is answered with the job, a dry run with the plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(untagged)]
pub enum SubmitAnswer {
    Planned(Box<Planned>),
    Submitted(Submitted),
}

/// How a request says that its body is a [`Handed`].
pub const HANDED: &str = "application/vnd.trainmaster.handed+json";

/// A spec together with the file that it was made from, where the two are not the same.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Handed {
    /// A job file that can be submitted by itself.
    pub spec: String,
    /// What somebody wrote, of any dialect; kept with its secrets masked.
    pub original: String,
}

/// The file that a job was made from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct OriginalFile {
    /// Whose job file it was, such as `openpai_v2`; empty for our own.
    pub dialect: String,
    /// The dialect as people call it; empty for our own.
    pub title: String,
    /// What the file was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// As it was written, with every secret masked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What became of each field of a file of another dialect.
    pub report: Vec<Note>,
    /// Why there is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing: Option<Words>,
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
    /// The failure that decided, of a job that has failed or is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureView>,
    /// Other tasks that did not succeed, in the order of their ends; of very many the first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<FailureView>,
    /// What became of the other tasks because of it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub consequence: String,
    /// Which rule decided whether it is tried again.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule: String,
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
    /// The same in Chinese; an older server gives none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_zh: String,
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
    /// The same in Chinese; an older server gives none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message_zh: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_zh: Option<String>,
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
    /// The same in Chinese; an older server gives none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message_zh: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint_zh: Option<String>,
}

impl ErrorBody {
    pub fn words(&self) -> Words {
        Words::new(self.message.as_str(), self.message_zh.as_str())
    }

    pub fn hint_words(&self) -> Option<Words> {
        self.hint.as_ref().map(|hint| Words::new(hint.as_str(), self.hint_zh.as_deref().unwrap_or_default()))
    }
}

impl ProblemView {
    pub fn words(&self) -> Words {
        Words::new(self.message.as_str(), self.message_zh.as_str())
    }

    pub fn hint_words(&self) -> Option<Words> {
        self.hint.as_ref().map(|hint| Words::new(hint.as_str(), self.hint_zh.as_deref().unwrap_or_default()))
    }
}

/// A run that is on the disk and not in the database.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LostRun {
    pub run: String,
    pub job: String,
    pub task: String,
    pub attempt: u32,
    /// Where what it has written lies, on the server's machine.
    pub directory: String,
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
    /// How much a folder of code may be.
    #[serde(default)]
    pub code: CodeLimits,
}
