//! What a supervisor is told to do: everything it needs to run one child, and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    code::CodePlan,
    framework::Environment,
    ids::{NodeName, RunKey, VolumeName},
    plan::{Freight, MetricsPlan, Requirements, SecretPlan, old},
    volume::{Credentials, Volume},
};

mod filled;

pub use filled::SECRETS;
pub(crate) use filled::{only_line, shell_line};

/// Written by the engine into the run's directory, or fetched by a supervisor that has only a route
/// to the server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct RunOrder {
    #[schema(value_type = String)]
    pub run: RunKey,
    #[schema(value_type = String)]
    pub node: NodeName,
    pub command: Vec<String>,
    pub env: BTreeMap<String, String>,
    /// Variables that hold a path of the sandbox, such as `/peers/hostfile`. Without a sandbox they hold
    /// where that really is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub paths: BTreeMap<String, String>,
    /// Text by name, seen read-only at `/peers`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Seen at `/code`, with the run's own writable layer above it.
    #[serde(default, deserialize_with = "old::code")]
    #[schema(value_type = Object)]
    pub code: Option<CodePlan>,
    /// The code is a branch, or the like, and other tasks of the job have it too: the first of them to find a commit finds it for all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub agrees_on_code: bool,
    /// What to ask for before anything is made ready. Command, variables and setup have these by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub secrets: BTreeMap<String, SecretPlan>,
    /// What of the code says which Python packages it needs.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub requirements: Requirements,
    /// Run by the shell before the command, in the same place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<String>,
    /// Where outputs go is said for this task alone: its own name is in the paths already.
    #[serde(default, alias = "input", deserialize_with = "old::freight")]
    #[schema(value_type = Object)]
    pub freight: Freight,
    /// Paths below `/output` that belong to other tasks of the job and are not this one's to copy.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_ours: Vec<String>,
    /// What the server looks for in what the child writes.
    #[serde(default, skip_serializing_if = "MetricsPlan::is_default")]
    #[schema(value_type = Object)]
    pub metrics: MetricsPlan,
    /// Every volume that is named above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = Object)]
    pub volumes: BTreeMap<VolumeName, Volume>,
    /// The Python environment that is first in the child's `PATH`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment: Option<Environment>,
    pub limits: Limits,
    pub stop_grace_ms: u64,
    /// How long the sandbox stays after the child has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_failed_ms: Option<u64>,
    /// Ports the child will listen on; checked before it starts.
    pub ports: Vec<u16>,
    /// The address the child's ports belong to.
    pub address: String,
    /// Only where there is more than one task and they begin together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gang: Option<GangOrder>,
}

impl RunOrder {
    /// Whether anything the child writes is to be copied elsewhere.
    pub fn copies_out(&self) -> bool {
        self.freight.copies_out()
    }
}

/// What a run may know and nobody else: asked for when it starts, and kept in memory.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct RunSecrets {
    /// The job's, by name.
    #[serde(default)]
    pub values: BTreeMap<String, String>,
    /// What opens the volumes that the job names.
    #[serde(default)]
    pub volumes: BTreeMap<VolumeName, Credentials>,
}

impl std::fmt::Debug for RunSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunSecrets(******)")
    }
}

/// What a task of a gang has to know of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GangOrder {
    /// How long a task that is ready waits for the others.
    pub timeout_ms: u64,
    /// How long it lets the chief go ahead.
    #[serde(default)]
    pub back_ms: u64,
    /// Every task of the gang by name, and the address it has; this one too.
    pub addresses: BTreeMap<String, String>,
    /// Only where tasks may start processes in each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub launch: Option<LaunchOrder>,
}

/// How tasks of a gang reach into each other.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct LaunchOrder {
    /// Where this task listens for the others.
    pub port: u16,
    /// Where each task listens.
    pub ports: BTreeMap<String, u16>,
    /// Known to this attempt of this job alone.
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Limits {
    pub cpus_milli: u64,
    pub memory_bytes: u64,
    pub shared_memory_bytes: u64,
    /// Of what it writes to disk; null is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    pub processes_max: u64,
}

/// What a supervisor tells the server. The exit record on its disk is the truth; this is the hint
/// that makes it known at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Report {
    /// Something takes its time before the child can start.
    Preparing {
        what: String,
        /// The same in Chinese, where there is any.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        zh: String,
    },
    /// The code is there, and is exactly this.
    Code {
        commit: String,
    },
    /// Everything is prepared; the child waits for its gang.
    Ready {
        at_ms: u64,
    },
    /// The child runs.
    Started {
        at_ms: u64,
        pid: u32,
        /// What the kernel refused, in words; the task runs with less.
        missing: Vec<String>,
        /// What was done before it could start.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        steps: Vec<crate::step::Step>,
        /// When it said its first word, if it has.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        spoke_at_ms: Option<u64>,
    },
    /// The child said its first word.
    Spoke {
        at_ms: u64,
    },
    /// The child has failed; the run ends when its sandbox is given up.
    Kept {
        kept: crate::task::Kept,
    },
    Ended {
        ending: crate::task::Ending,
    },
    /// What the child wrote is being copied out; words about how it goes.
    Syncing {
        why: String,
    },
    /// All of it is where it was to go.
    Synced {
        synced: crate::sync::Synced,
    },
}
