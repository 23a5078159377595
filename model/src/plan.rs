//! The plan: the spec compiled, every default filled in and every string parsed. Nothing downstream
//! looks at the spec again, and nothing downstream can fail because of it.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use crate::{
    algorithm::{AlgorithmAt, Kept},
    bundle::CodeLimits,
    code::CodePlan,
    framework::Framework,
    ids::{JobName, RoleName, VolumeName},
    location::Location,
    provenance::Origin,
    resources::{GIB, MIB, Resources, port_kind},
    spec::{self, Convention, JobSpec, Param, Problem},
    template,
};

mod algorithm;
mod channels;
mod compile;
mod datasets;
mod metrics;
pub(crate) mod old;
mod overlap;
mod remarks;
mod role;
mod show;
#[cfg(test)]
mod tests;
mod view;
mod volumes;

pub use algorithm::{compile, compile_with, problems};
pub(crate) use channels::handing_on;
pub use channels::{Beginning, FormerJob, Freight, Requirements};
pub use compile::{DESCRIPTION_CHARACTERS_MAX, description_problems};
pub(crate) use compile::{DURATION_MS_MAX, TAG_CHARACTERS_MAX, TAGS_MAX, compile_laid};
pub use datasets::KnownDatasets;
pub use metrics::MetricsPlan;
pub use remarks::remarks;
pub(crate) use role::{ACCELERATORS_MAX, CPUS_MAX, MEMORY_BYTES_MAX, bad_label};
pub use view::{ChannelView, PlanView, PortView, RoleView};

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
    /// What the job was made from, if it named one; everything that it says stands in the plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub algorithm: Option<AlgorithmAt>,
    pub params: IndexMap<String, Param>,
    /// Where each secret is, and how it gets to the tasks that need it. What it is does not stand here.
    pub secrets: BTreeMap<String, SecretPlan>,
    pub conventions: BTreeSet<Convention>,
    #[serde(default, deserialize_with = "old::code")]
    pub code: Option<CodePlan>,
    #[serde(default)]
    pub requirements: Requirements,
    /// Run by the shell in every task before its command.
    #[serde(default)]
    pub setup: Option<String>,
    #[serde(default, alias = "input", deserialize_with = "old::freight")]
    pub freight: Freight,
    #[serde(default)]
    pub metrics: MetricsPlan,
    /// In the order of the file.
    pub roles: Vec<RolePlan>,
    #[serde(default, skip_serializing_if = "Origin::is_empty")]
    pub origin: Origin,
}

/// Where a secret is, and where it goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SecretPlan {
    /// The name by which the job's owner keeps it; if absent it came with the job file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub named: Option<String>,
    /// Whether tasks find it in a file of `/secrets`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub file: bool,
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
    /// None is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
    /// By label, for each task.
    pub ports: BTreeMap<String, PortPlan>,
    /// Parameters are in, secrets are not yet.
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
    /// How much a person's folder may be.
    pub code: CodeLimits,
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
            code: CodeLimits::default(),
        }
    }
}

/// Job file text → spec and plan, or every problem of the file at once, each at its line and column.
pub fn from_text(text: &str, house: &HouseRules) -> Result<(JobSpec, Plan), Vec<Problem>> {
    from_text_with(text, (house, None), |_| {})
}

/// The same for a file in which something is still to be put in, such as what its paths are relative to, with the algorithm that it
/// names as far as that is known.
pub fn from_text_with(
    text: &str,
    (house, kept): (&HouseRules, Option<&Kept>),
    complete: impl FnOnce(&mut JobSpec),
) -> Result<(JobSpec, Plan), Vec<Problem>> {
    let reading = spec::read_all(text);
    let Some(mut spec) = reading.spec else { return Err(spec::in_order(reading.problems)) };
    complete(&mut spec);
    if reading.left_out.contains("algorithm") {
        // There is one, whatever it is called: the job may leave to it what it does not say itself.
        spec.algorithm.get_or_insert_default();
    }
    let mut problems = reading.problems;
    let found = match compile_with(&spec, house, kept) {
        Ok(plan) if problems.is_empty() => return Ok((spec, plan)),
        Ok(_) => Vec::new(),
        // A file with problems is not planned anyhow, so it is no problem of its own that nobody here knows its algorithm.
        Err(_) if kept.is_none() && !problems.is_empty() => self::problems(&spec, house),
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

    /// Every volume that is named anywhere in it.
    pub fn volumes(&self) -> BTreeSet<&VolumeName> {
        let code = self.code.iter().filter_map(|code| if let CodePlan::At(at) = code { Some(at) } else { None });
        self.freight.locations().chain(code).filter_map(Location::volume).collect()
    }

    /// What the tasks of a role need of the job's secrets: those that something of theirs names, and those that are files.
    pub fn secrets_of(&self, role: &RolePlan) -> BTreeMap<String, SecretPlan> {
        let password = self.code.iter().filter_map(|code| if let CodePlan::Git(git) = code { git.password.as_ref() } else { None });
        let texts = role.command.iter().chain(role.env.values()).chain(&self.setup).chain(password);
        let named: BTreeSet<&str> = texts.flat_map(|text| template::secrets(text)).collect();
        let needed = self.secrets.iter().filter(|(name, plan)| plan.file || named.contains(name.as_str()));
        needed.map(|(name, plan)| (name.clone(), plan.clone())).collect()
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
