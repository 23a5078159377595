//! The job file: what a person writes. Strings, options and defaults live here and nowhere else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod problem;
mod read;
mod schema;
mod suggest;
mod walk;

pub use problem::Problem;
pub(crate) use problem::{harmless, in_order, join, shown};
pub use read::read;
pub(crate) use read::read_all;
pub use schema::schema;
pub use walk::Places;
pub(crate) use walk::outward;

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
    /// How often the job may be started again after a failure of its own. Failures of the platform
    /// are retried without counting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::count")]
    pub retries: Option<u32>,
    /// The job is stopped after this long: `90s`, `15m`, `12h`, `7d`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub max_duration: Option<String>,
    /// How long a task has between the polite signal and the last one when it is stopped: `30s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::duration")]
    pub stop_grace: Option<String>,
    /// A directory of this machine, seen by every task at `/code`. What tasks write there stays with the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// A directory of this machine, seen read-only by every task at `/input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    /// Environment variables for every task, taken as they are.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "schema::env")]
    pub env: BTreeMap<String, String>,
    /// The roles of the job by name, such as `ps` and `worker`.
    #[schemars(schema_with = "schema::roles")]
    pub roles: BTreeMap<String, RoleSpec>,
}

/// Tasks with the same command and resources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleSpec {
    /// How many tasks; 1 if not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::tasks")]
    pub tasks: Option<u32>,
    /// A line for the shell, or a list of program and arguments.
    #[schemars(schema_with = "schema::command")]
    pub command: Command,
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
    /// Accelerators for each task: a number of any type, or a number by type, such as `A100: 2`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "schema::accelerators")]
    pub accelerators: Option<Accelerators>,
    /// Ports for each task: labels, or how many by label.
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

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    /// Run by `/bin/sh -c`.
    Line(String),
    /// Program and arguments, run as they are.
    Words(Vec<String>),
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
    Counts(BTreeMap<String, u32>),
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
