//! The plan: the spec compiled, every default filled in and every string parsed. Nothing downstream
//! looks at the spec again, and nothing downstream can fail because of it.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{
    framework::Framework,
    ids::{JobName, RoleName},
    resources::{GIB, MIB, Resources, port_kind},
    spec::{self, Convention, JobSpec, Param, Problem},
};

mod compile;
mod remarks;
mod role;
mod show;
#[cfg(test)]
mod tests;
mod view;

pub use compile::compile;
pub(crate) use compile::{DESCRIPTION_CHARACTERS_MAX, DURATION_MS_MAX, TAG_CHARACTERS_MAX, TAGS_MAX};
pub use remarks::remarks;
pub(crate) use role::{ACCELERATORS_MAX, CPUS_MAX, MEMORY_BYTES_MAX};
pub use view::{PlanView, PortView, RoleView};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub name: JobName,
    pub description: String,
    pub tags: Vec<String>,
    pub priority: i32,
    pub retries: Retries,
    /// Whether all tasks start together or not at all.
    pub gang: bool,
    /// How long a task that is ready waits for the others of its gang.
    #[serde(default)]
    pub gang_timeout_ms: u64,
    pub max_duration_ms: Option<u64>,
    pub stop_grace_ms: u64,
    /// How long the sandbox of a failed task stays.
    pub keep_failed_ms: Option<u64>,
    pub framework: Option<Framework>,
    pub params: IndexMap<String, Param>,
    /// Put into a command when its task is started, and never shown.
    pub secrets: BTreeMap<String, String>,
    pub conventions: BTreeSet<Convention>,
    pub code: Option<String>,
    pub input: Option<String>,
    /// In the order of the file.
    pub roles: Vec<RolePlan>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RolePlan {
    pub name: RoleName,
    pub tasks: u32,
    /// Program and arguments; a shell line has become `/bin/sh -c …`. Parameters are in, secrets are not yet.
    pub command: Vec<String>,
    pub image: Option<String>,
    /// How often each task may be started again alone.
    pub task_retries: u32,
    /// For each task.
    pub resources: Resources,
    pub shared_memory_bytes: u64,
    /// By label, for each task.
    pub ports: BTreeMap<String, PortPlan>,
    pub env: BTreeMap<String, String>,
    pub completion: CompletionPlan,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortPlan {
    pub count: u32,
    /// The first of them, where only certain ports will do.
    pub from: Option<u16>,
}

/// How often a job is started again after a failure that was its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Retries {
    UpTo(u32),
    /// As often as it fails.
    Always,
    /// Whenever it is over, well or not: a service.
    Forever,
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
    /// What a task gets for each CPU if it does not say.
    pub memory_bytes_per_cpu: u64,
    pub shared_memory_bytes_default: u64,
    pub stop_grace_ms_default: u64,
    pub retries_max: u32,
    pub ports_max: u32,
    /// How many versions one grid of parameters may make.
    pub grid_versions_max: usize,
    /// Whether tasks run in the images that job files name.
    pub runs_images: bool,
    pub gang_timeout_ms: u64,
}

impl Default for HouseRules {
    fn default() -> Self {
        Self {
            tasks_max: 1000,
            cpus_milli_default: 1000,
            memory_bytes_per_cpu: GIB,
            shared_memory_bytes_default: 64 * MIB,
            stop_grace_ms_default: 30_000,
            retries_max: 100_000,
            ports_max: 64,
            grid_versions_max: 1000,
            runs_images: false,
            gang_timeout_ms: 600_000,
        }
    }
}

/// Job file text → spec and plan, or every problem of the file at once, each at its line and column.
pub fn from_text(text: &str, house: &HouseRules) -> Result<(JobSpec, Plan), Vec<Problem>> {
    let reading = spec::read_all(text);
    let Some(spec) = reading.spec else { return Err(spec::in_order(reading.problems)) };
    let mut problems = reading.problems;
    let found = match compile(&spec, house) {
        Ok(plan) if problems.is_empty() => return Ok((spec, plan)),
        Ok(_) => Vec::new(),
        Err(found) => found,
    };
    // What could not be read was left out of the spec, so the plan misses it; that is no second problem.
    let new: Vec<Problem> = found.into_iter().filter(|it| !follows(it, &reading.left_out)).collect();
    problems.extend(new.into_iter().map(|it| match reading.places.nearest(&it.path) {
        Some(place) => it.at(place),
        None => it,
    }));
    Err(spec::in_order(problems))
}

/// Whether the problem is only there because something was left out: it is about that, a part of it, or counted by it.
fn follows(problem: &Problem, left_out: &BTreeSet<String>) -> bool {
    let counted = |path: &str| path.strip_suffix(".completion").is_some_and(|role| left_out.contains(&format!("{role}.tasks")));
    spec::outward(&problem.path).any(|path| left_out.contains(path) || counted(path))
}

impl RolePlan {
    /// What each task needs of its node: its resources, and the ports that must be certain ones.
    pub fn needs(&self) -> Resources {
        let mut needs = self.resources.clone();
        for plan in self.ports.values() {
            let certain = plan.from.into_iter().flat_map(|from| (from..=u16::MAX).take(plan.count as usize));
            needs.accelerators.extend(certain.map(|port| (port_kind(port), 1)));
        }
        needs
    }
}

impl Plan {
    /// Whether no task may begin before the others are ready.
    pub fn begins_together(&self) -> bool {
        self.gang && self.task_count() > 1
    }

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
