//! What tasks, jobs, nodes and the machine use.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    job::JobState,
    resources::Resources,
    task::TaskState,
    usage::{Absence, Basis, Curve, Figure, Reading, Source, Stretch, UsageTotals},
};

/// How a window was cut. Every curve of the answer has a value for each of these times, which are the ends of its buckets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AxisView {
    pub from_ms: u64,
    pub to_ms: u64,
    pub bucket_ms: u64,
    pub at_ms: Vec<u64>,
}

/// What a job has used, over time and in all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobUsage {
    pub job: String,
    #[serde(flatten)]
    pub axis: AxisView,
    pub tasks: Vec<TaskUsage>,
    /// How many more tasks there are, which are in the sums but not in the list; name them to see them.
    pub tasks_left_out: u32,
    pub roles: Vec<RoleUsage>,
    pub total: SumUsage,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskUsage {
    pub task: String,
    pub attempt: u32,
    pub state: TaskState,
    pub node: String,
    pub limits: UsageLimits,
    /// Now, if it runs.
    pub now: BTreeMap<Figure, f64>,
    pub curves: BTreeMap<Figure, Curve>,
    pub totals: UsageTotals,
    #[serde(flatten)]
    pub basis: BasisView,
}

/// Nothing where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageLimits {
    pub cpus: Option<f64>,
    pub memory_bytes: Option<u64>,
}

/// For each figure how it is counted, or why it is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BasisView {
    pub counted: BTreeMap<Figure, SourceView>,
    pub absent: BTreeMap<Figure, AbsenceView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SourceView {
    pub code: Source,
    pub how: String,
    pub how_zh: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AbsenceView {
    pub code: Absence,
    pub reason: String,
    pub reason_zh: String,
}

/// Several together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SumUsage {
    pub now: BTreeMap<Figure, f64>,
    pub curves: BTreeMap<Figure, Curve>,
    /// Of what every one of them could tell. Peaks are added, though they need not have been at the same time.
    pub totals: UsageTotals,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RoleUsage {
    pub role: String,
    pub tasks: u32,
    #[serde(flatten)]
    pub sum: SumUsage,
}

/// What the cluster has used over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ClusterUsage {
    #[serde(flatten)]
    pub axis: AxisView,
    /// The whole machine, tasks or not.
    pub machine: PlaceUsage,
    /// What tasks have used, by the node they were on.
    pub nodes: Vec<PlaceUsage>,
    /// All tasks together.
    pub total: SumUsage,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlaceUsage {
    pub name: String,
    pub now: BTreeMap<Figure, f64>,
    pub curves: BTreeMap<Figure, Curve>,
    #[serde(flatten)]
    pub basis: BasisView,
}

/// Everything that runs, at this moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageNow {
    pub at_ms: u64,
    pub machine: MachineNow,
    pub nodes: Vec<NodeNow>,
    /// Those the caller may see.
    pub jobs: Vec<JobNow>,
    /// How many jobs of the caller wait.
    pub queued: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MachineNow {
    pub cpus: u64,
    pub memory_bytes: u64,
    /// Of the disk that has the data.
    pub disk_bytes: u64,
    pub now: BTreeMap<Figure, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct NodeNow {
    pub name: String,
    pub open: bool,
    pub capacity: Resources,
    pub free: Resources,
    /// What the tasks on it use together.
    pub now: BTreeMap<Figure, f64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobNow {
    pub id: String,
    /// Such as `digits@3`.
    pub label: String,
    pub owner: String,
    pub state: JobState,
    pub now: BTreeMap<Figure, f64>,
    pub tasks: Vec<TaskNow>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskNow {
    pub task: String,
    pub attempt: u32,
    pub state: TaskState,
    pub node: String,
    pub started_at_ms: Option<u64>,
    pub limits: UsageLimits,
    pub now: BTreeMap<Figure, f64>,
    pub totals: UsageTotals,
    #[serde(flatten)]
    pub basis: BasisView,
}

/// What a supervisor that is far away tells of its task: readings in the order they were taken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UsageReport {
    #[schema(value_type = Object)]
    pub basis: Basis,
    #[schema(value_type = Vec<Object>)]
    pub readings: Vec<Reading>,
}

impl UsageLimits {
    pub fn of(basis: &Basis) -> Self {
        Self { cpus: basis.cpus_milli.map(|milli| milli as f64 / 1000.0), memory_bytes: basis.memory_bytes }
    }
}

impl From<&Basis> for BasisView {
    fn from(basis: &Basis) -> Self {
        let how = |code: &Source| SourceView { code: *code, how: code.english().into(), how_zh: code.chinese().into() };
        let why = |code: &Absence| AbsenceView { code: *code, reason: code.english().into(), reason_zh: code.chinese().into() };
        Self {
            counted: basis.counted.iter().map(|(figure, code)| (*figure, how(code))).collect(),
            absent: basis.absent.iter().map(|(figure, code)| (*figure, why(code))).collect(),
        }
    }
}

/// What a stretch comes to, figure by figure.
pub fn means(stretch: &Stretch) -> BTreeMap<Figure, f64> {
    Figure::ALL.into_iter().filter_map(|figure| Some((figure, stretch.get(figure)?.mean))).collect()
}

/// Adds what another uses.
pub fn add(sum: &mut BTreeMap<Figure, f64>, other: &BTreeMap<Figure, f64>) {
    for (figure, value) in other {
        *sum.entry(*figure).or_default() += value;
    }
}
