//! The job file: what a person writes. Strings, options and defaults live here and nowhere else.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

mod channels;
mod code;
mod metrics;
mod param;
mod problem;
mod read;
mod schema;
mod secrets;
mod suggest;
mod walk;
mod yaml;

pub(crate) use channels::layout as read_layout;
pub use channels::{Input, InputChannel, Output, OutputChannel};
pub(crate) use code::read as read_code;
pub use code::{Code, CodeAt, GitCode, UploadedCode};
pub use metrics::Metrics;
pub use param::Mismatch;
pub use problem::Problem;
pub(crate) use problem::{harmless, in_order, join, shown};
pub(crate) use read::{
    ALGORITHM_HINT, COMMAND_HINT, TEXT_HINT, command, count, env as read_env, number as read_number, param_as_written as read_param,
    read_all, texts, truth,
};
pub use read::{algorithm_of, read};
pub use schema::schema;
pub(crate) use schema::{
    LABEL, PARAM, VARIABLE, code as code_schema, command as command_schema, description as description_schema, env as env_schema,
    framework as framework_schema, word as word_schema,
};
pub use secrets::{MASK, SaidSecret, Secret, fill_masked, mask};
pub use suggest::nearest_of as nearest;
pub use walk::Places;
pub(crate) use walk::{Elsewhere, Field, Keys, Walk, is_null, outward, scalar, whole_number};
pub use yaml::to_yaml;

/// Where everything in a job file stands, for problems that were found away from the file.
pub fn places(text: &str) -> Places {
    read_all(text).places
}

/// A training job, as YAML or JSON.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Trainmaster job")]
pub struct JobSpec {
    /// 1–64 letters, digits and `- . _ ~`. Submitting the same name again makes the next version.
    #[schemars(schema_with = "schema::name")]
    pub name: String,
    /// The algorithm that the job runs, such as `mnist-mlp@2` or `mnist-mlp@latest`. It says what code is run and how, so the job
    /// has no `code`, `framework`, `image`, `requirements`, `setup` or `input`, and its roles have no `command` and no `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::algorithm")]
    pub algorithm: Option<String>,
    /// For people; shown in lists and on the job's page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::description")]
    pub description: Option<String>,
    /// Labels to find the job by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(schema_with = "schema::tags")]
    pub tags: Vec<String>,
    /// Higher goes first; 0 if not given. Equal priorities go in order of arrival.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::priority")]
    pub priority: Option<i32>,
    /// How often the job may be started again after a failure of its own; `always` for as often as it
    /// fails, `forever` to start it again even after a success. Failures of the platform are retried
    /// without counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::retries")]
    pub retries: Option<Retries>,
    /// Whether all tasks start together or not at all; true if not given. Without it tasks start as
    /// they fit, and each may be retried alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<bool>,
    /// The job is stopped after this long: `90s`, `15m`, `12h`, `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub max_duration: Option<String>,
    /// How long a task has between the polite signal and the last one when it is stopped: `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub stop_grace: Option<String>,
    /// When a task has failed, its sandbox stays for this long, so that one can step in: `30m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub keep_failed: Option<String>,
    /// The framework whose Python environment every task gets, with or without a version:
    /// `tensorflow`, `keras`, `pytorch@2.9`, `jax`, `python`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::framework")]
    pub framework: Option<String>,
    /// The container image of every task, where the cluster runs images.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Hyperparameters; a command has them where it says `{{ params.NAME }}`. A job with an algorithm leaves out one that the
    /// algorithm can do without by writing `null`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::params")]
    pub params: IndexMap<String, Option<Param>>,
    /// Passwords and keys, or the names of those that you keep with the server: `{named: wandb}`. A command or variable has
    /// them where it says `{{ secrets.NAME }}`; with `file: true` they are in `/secrets/NAME`. They are never shown again.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::secrets")]
    pub secrets: BTreeMap<String, Secret>,
    /// Whose variables tell a task about its peers, beside our own. If not given, a job with several
    /// tasks has all that suit a new job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::conventions")]
    pub conventions: Option<Vec<Convention>>,
    /// What every task finds at `/code`: a folder of yours, a git repository, or a place in a volume. What tasks write there
    /// stays with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::code")]
    pub code: Option<Code>,
    /// The file of the code that names Python packages to be installed before anything runs; `requirements.txt`, `uv.lock` or
    /// `pyproject.toml` if not given, and `none` for none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requirements: Option<String>,
    /// A line for the shell that is run in every task before its command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// What every task finds read-only at `/input`: a volume and path, a dataset such as `mnist@latest`, a directory, or a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::input")]
    pub input: Option<Input>,
    /// Several of them, each found at `/input/NAME`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::inputs")]
    pub inputs: IndexMap<String, Input>,
    /// Where everything that tasks write to `/output` is copied, while they run and completely at their end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::output")]
    pub output: Option<Output>,
    /// Further places, each for what is written to `/output/NAME`.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::outputs")]
    pub outputs: IndexMap<String, Output>,
    /// Where the log of every task is copied as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logs: Option<String>,
    /// How numbers are found in what tasks write; if not given, in event files, `metrics.jsonl`, `metrics.csv` and lines such as
    /// `loss: 0.12`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::metrics")]
    pub metrics: Option<Metrics>,
    /// What lies in `/output` before the first attempt: a former version's output, such as `digits@2`, or a place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Environment variables for every task; `{{ params.NAME }}` and `{{ secrets.NAME }}` are filled in.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::env")]
    pub env: BTreeMap<String, String>,
    /// The roles of the job by name, such as `ps` and `worker`, in the order of the file. With an algorithm, one `worker` with one
    /// task if not given.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(schema_with = "schema::roles")]
    pub roles: IndexMap<String, RoleSpec>,
}

/// Tasks with the same command and resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// How many tasks; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::tasks")]
    pub tasks: Option<u32>,
    /// A line for the shell, or a list of program and arguments; none in a job with an algorithm, which has its own.
    #[serde(default, skip_serializing_if = "Command::is_nothing")]
    #[schemars(schema_with = "schema::command")]
    pub command: Command,
    /// The container image of this role; it wins over the job's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// How often each task may be started again alone; only in a job without `gang`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::count")]
    pub retries: Option<u32>,
    /// CPUs for each task, such as `2` or `0.5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::cpus")]
    pub cpus: Option<f64>,
    /// Memory for each task: `4GiB`, `512MiB`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::size")]
    pub memory: Option<Size>,
    /// The size of `/dev/shm` for each task; 64MiB if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::size")]
    pub shared_memory: Option<Size>,
    /// The most that each task may have on disk in `/output`, `/tmp` and what it changes in `/code`; any amount if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::size")]
    pub disk: Option<Size>,
    /// Accelerators for each task: a number of any type, or a number by type, such as `A100: 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::accelerators")]
    pub accelerators: Option<Accelerators>,
    /// Ports for each task: labels, how many by label, or `{from: 8000, count: 2}` for certain ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::ports")]
    pub ports: Option<Ports>,
    /// Environment variables for this role; they win over the job's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::env")]
    pub env: BTreeMap<String, String>,
    /// When this role's tasks decide the whole job.
    #[serde(default, skip_serializing_if = "Completion::is_empty")]
    #[schemars(with = "Option<Completion>")]
    pub completion: Completion,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Command {
    /// Run by `/bin/sh -c`.
    Line(String),
    /// Program and arguments, run as they are.
    Words(Vec<String>),
}

impl Command {
    /// Whether no command was given, as in a job whose algorithm has one.
    pub fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for Command {
    fn default() -> Self {
        Command::Words(Vec::new())
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Size {
    Bytes(u64),
    Text(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Accelerators {
    AnyType(u32),
    ByType(BTreeMap<String, u32>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Ports {
    /// One port for each label.
    Labels(Vec<String>),
    Counts(BTreeMap<String, PortCount>),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum PortCount {
    /// Any that are free.
    Any(u32),
    /// These and no others.
    Fixed(FixedPorts),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixedPorts {
    pub from: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Retries {
    Count(u32),
    Word(RetriesWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RetriesWord {
    Always,
    Forever,
}

impl RetriesWord {
    pub fn text(self) -> &'static str {
        match self {
            RetriesWord::Always => "always",
            RetriesWord::Forever => "forever",
        }
    }
}

/// A hyperparameter keeps its type, so that versions of a job can be compared by it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(untagged)]
pub enum Param {
    Truth(bool),
    Whole(i64),
    Number(f64),
    Text(String),
}

impl std::fmt::Display for Param {
    /// As a command has it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Param::Truth(value) => write!(f, "{value}"),
            Param::Whole(value) => write!(f, "{value}"),
            Param::Number(value) => write!(f, "{value:?}"),
            Param::Text(value) => write!(f, "{value}"),
        }
    }
}

/// Whose way of telling a task about its peers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Convention {
    /// `PAI_*` as OpenPAI's JSON jobs had them.
    PaiV1,
    /// `PAI_*` as OpenPAI's YAML jobs have them.
    PaiV2,
    /// `TF_CONFIG`.
    TfConfig,
    /// `CLUSTER_CONFIG`, `POD_NAME`, `WORKER_HOSTS`, `PS_HOSTS`, `JOB_NAME`, `TASK_INDEX`.
    ClusterConfig,
    /// `MASTER_ADDR`, `RANK`, `WORLD_SIZE` and torchrun's `PET_*`.
    Torch,
    /// `JAX_COORDINATOR_ADDRESS` and what goes with it.
    Jax,
    /// A host file, and a launcher between tasks.
    Mpi,
    /// `MA_*` and `VC_*`.
    Modelarts,
    /// `workers`, `gpus`.
    Arena,
    /// `RANK_TABLE_FILE`, `RANK_ID`.
    Ascend,
}

impl Convention {
    pub const ALL: [Convention; 10] = [
        Convention::PaiV1,
        Convention::PaiV2,
        Convention::TfConfig,
        Convention::ClusterConfig,
        Convention::Torch,
        Convention::Jax,
        Convention::Mpi,
        Convention::Modelarts,
        Convention::Arena,
        Convention::Ascend,
    ];

    pub fn text(self) -> &'static str {
        match self {
            Convention::PaiV1 => "pai_v1",
            Convention::PaiV2 => "pai_v2",
            Convention::TfConfig => "tf_config",
            Convention::ClusterConfig => "cluster_config",
            Convention::Torch => "torch",
            Convention::Jax => "jax",
            Convention::Mpi => "mpi",
            Convention::Modelarts => "modelarts",
            Convention::Arena => "arena",
            Convention::Ascend => "ascend",
        }
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.text() == text)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// The job has failed when this many tasks of the role have; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::threshold")]
    pub min_failed: Option<Threshold>,
    /// The job has succeeded when this many tasks of the role have. If not given, the job has
    /// succeeded when every task has ended well; a role called `ps` is then not waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::threshold")]
    pub min_succeeded: Option<Threshold>,
    /// Whether the job waits for this role before it has succeeded by everyone having ended. If not
    /// given, it waits for all but a role called `ps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait: Option<bool>,
}

impl Completion {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// "Never" is something a person says; it is not the same as saying nothing.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Threshold {
    Count(u32),
    Word(ThresholdWord),
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ThresholdWord {
    All,
    Never,
}
