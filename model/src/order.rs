//! What a supervisor is told to do: everything it needs to run one child, and nothing else.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    framework::Environment,
    ids::{NodeName, RunKey},
};

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
    pub code: Option<String>,
    /// Seen read-only at `/input`.
    pub input: Option<String>,
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

/// What a task of a gang has to know of the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct GangOrder {
    /// How long a task that is ready waits for the others.
    pub timeout_ms: u64,
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
    },
    /// The child has failed; the run ends when its sandbox is given up.
    Kept {
        kept: crate::task::Kept,
    },
    Ended {
        ending: crate::task::Ending,
    },
}
