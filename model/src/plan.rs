//! The plan: the spec compiled, every default filled in and every string parsed. Nothing downstream
//! looks at the spec again, and nothing downstream can fail because of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{JobName, RoleName},
    resources::Resources,
};

mod compile;
pub use compile::compile;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: JobName,
    pub description: String,
    pub tags: Vec<String>,
    pub priority: i32,
    pub retries: u32,
    pub max_duration_ms: Option<u64>,
    pub stop_grace_ms: u64,
    pub code: Option<String>,
    pub input: Option<String>,
    /// In the order of their names.
    pub roles: Vec<RolePlan>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolePlan {
    pub name: RoleName,
    pub tasks: u32,
    /// Program and arguments; a shell line has become `/bin/sh -c …`.
    pub command: Vec<String>,
    /// For each task.
    pub resources: Resources,
    pub shared_memory_bytes: u64,
    /// How many ports by label, for each task.
    pub ports: BTreeMap<String, u32>,
    pub env: BTreeMap<String, String>,
    pub completion: CompletionPlan,
}

/// When a role decides the job. `None` means never.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompletionPlan {
    pub min_failed: Option<u32>,
    pub min_succeeded: Option<u32>,
    /// Whether the job waits for this role's tasks before it may succeed by everyone having ended.
    /// Parameter servers serve until they are stopped, so nobody waits for them.
    pub waited_for: bool,
}

/// What the server's owner allows and fills in.
#[derive(Clone, Debug, PartialEq)]
pub struct HouseRules {
    pub tasks_max: u32,
    pub cpus_milli_default: u64,
    pub memory_bytes_default: u64,
    pub shared_memory_bytes_default: u64,
    pub stop_grace_ms_default: u64,
    pub retries_max: u32,
    pub ports_max: u32,
}

impl Plan {
    pub fn task_count(&self) -> u32 {
        self.roles.iter().map(|role| role.tasks).sum()
    }

    /// All its tasks together.
    pub fn resources(&self) -> Resources {
        let mut sum = Resources::default();
        for role in &self.roles {
            (0..role.tasks).for_each(|_| sum.add(&role.resources));
        }
        sum
    }

    pub fn role(&self, name: &RoleName) -> Option<&RolePlan> {
        self.roles.iter().find(|role| role.name == *name)
    }
}
