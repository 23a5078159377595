//! Jobs side by side: what they were given and what came of it, and where the two differ.
//!
//! A parameter that is filled into a command is one difference and not two: commands, variables and everything else that a
//! person wrote are compared as they were written.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::wire::{BestJob, ComparedJob, ComparedRow, Comparison, Delta, RowKind};

mod direction;
mod given;
pub mod lines;
mod measured;
mod metrics;
mod versions;

pub use direction::Direction;
pub use given::given;
pub use measured::{Measured, short_number};
pub use metrics::{Asked, of_chief};
pub use versions::{Version, versions};

/// A job as it is compared.
#[derive(Clone, Debug)]
pub struct Subject {
    pub job: ComparedJob,
    pub facts: Facts,
    /// Kinds of which nobody knows what the job has: that it has none of them is no difference.
    pub unknown: BTreeSet<RowKind>,
    /// What is not the same in its code as in that of the first job, by path; nothing for the first itself.
    pub code: BTreeMap<String, FileChange>,
    /// How many files of its code are the same as in that of the first.
    pub same_files: u32,
    /// What was measured from outside, in the order to be shown.
    pub measured: Vec<Measured>,
    pub series: metrics::SeriesByName,
}

pub type Facts = BTreeMap<(RowKind, String), Fact>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub value: String,
    /// Whether a job that does not have it may have it all the same.
    pub may_be_unknown: bool,
}

impl From<String> for Fact {
    fn from(value: String) -> Self {
        Self { value, may_be_unknown: false }
    }
}

/// A file that is not the same in two trees of code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FileChange {
    pub change: Change,
    /// None where a line is nothing to count by: a file that is no text, too large, or a link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Added,
    Removed,
    Changed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LineCounts {
    pub added: u64,
    pub removed: u64,
}

/// Where the jobs differ; with `all`, also where they do not.
pub fn compare(subjects: &[Subject], asked: &[Asked], all: bool) -> Comparison {
    let (facts, compared) = (fact_rows(subjects), code_rows(subjects));
    let same_files = subjects.iter().skip(1).map(|it| it.same_files).min().unwrap_or(0);
    let given: Vec<ComparedRow> = in_order(facts.into_iter().chain(compared));
    let differences = given.iter().filter(|row| row.differs).count() as u32;
    let equal = given.len() as u32 - differences + same_files;
    let metrics = metrics::rows(subjects, asked);
    let best = metrics.iter().find_map(|row| best_of(subjects, row));
    let results = metrics.into_iter().chain(measured::rows(subjects)).chain(endings(subjects));
    let is_asked_for = |row: &ComparedRow| all || row.differs || (row.kind == RowKind::Metric && !asked.is_empty());
    let rows = given.into_iter().chain(results).filter(is_asked_for).collect();
    Comparison { jobs: subjects.iter().map(|it| it.job.clone()).collect(), rows, differences, equal, best }
}

fn in_order(rows: impl Iterator<Item = ComparedRow>) -> Vec<ComparedRow> {
    let mut rows: Vec<ComparedRow> = rows.collect();
    rows.sort_by(|one, other| (one.kind, &one.name).cmp(&(other.kind, &other.name)));
    rows
}

fn row(kind: RowKind, name: &str, values: Vec<Option<String>>) -> ComparedRow {
    let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
    ComparedRow { kind, name: name.to_owned(), values, differs, deltas: Vec::new(), metric: None }
}

fn fact_rows(subjects: &[Subject]) -> Vec<ComparedRow> {
    let all: BTreeSet<&(RowKind, String)> = subjects.iter().flat_map(|it| it.facts.keys()).collect();
    // What was asked to be installed says nothing that what is installed does not say.
    let packages_are_known = subjects.iter().all(|it| !it.unknown.contains(&RowKind::Package) && it.has(RowKind::Package));
    let is_said_already = |(kind, name): &&(RowKind, String)| *kind == RowKind::Setting && name == "requirements" && packages_are_known;
    all.into_iter().filter(|key| !is_said_already(key)).filter_map(|key| fact_row(subjects, key)).collect()
}

impl Subject {
    fn has(&self, kind: RowKind) -> bool {
        self.facts.keys().any(|it| it.0 == kind)
    }

    fn may_have(&self, key: &(RowKind, String), may_be_unknown: bool) -> bool {
        !self.facts.contains_key(key) && (may_be_unknown || self.unknown.contains(&key.0))
    }
}

/// None where too few know anything of it for a difference.
fn fact_row(subjects: &[Subject], key: &(RowKind, String)) -> Option<ComparedRow> {
    let may_be_unknown = subjects.iter().filter_map(|it| it.facts.get(key)).any(|fact| fact.may_be_unknown);
    let value = |it: &Subject| it.facts.get(key).map(|fact| fact.value.clone());
    let row = row(key.0, &key.1, subjects.iter().map(value).collect());
    let known: Vec<Option<String>> = subjects.iter().filter(|it| !it.may_have(key, may_be_unknown)).map(value).collect();
    let differs = known.windows(2).any(|pair| pair[0] != pair[1]);
    (known.len() == subjects.len() || differs).then_some(ComparedRow { differs, ..row })
}

const SAME: &str = "there";

fn code_rows(subjects: &[Subject]) -> Vec<ComparedRow> {
    let paths: BTreeSet<&String> = subjects.iter().flat_map(|it| it.code.keys()).collect();
    paths.into_iter().map(|path| code_row(subjects, path)).collect()
}

/// In the first column stands whether the file is there at all, in the others how it differs from that.
fn code_row(subjects: &[Subject], path: &str) -> ComparedRow {
    let is_new = subjects.iter().any(|it| it.code.get(path).is_some_and(|it| it.change == Change::Added));
    let unchanged = (!is_new).then(|| SAME.to_owned());
    let value = |it: &Subject| match it.code.get(path) {
        None => unchanged.clone(),
        Some(FileChange { change: Change::Removed, .. }) => None,
        Some(FileChange { change, lines }) => Some(lines.map_or_else(|| change.text().to_owned(), |it| it.to_string())),
    };
    ComparedRow { differs: true, ..row(RowKind::Code, path, subjects.iter().map(value).collect()) }
}

impl Change {
    pub fn text(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Changed => "changed",
        }
    }
}

impl std::fmt::Display for LineCounts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.added, self.removed) {
            (added, 0) => write!(f, "+{added}"),
            (0, removed) => write!(f, "−{removed}"),
            (added, removed) => write!(f, "+{added} −{removed}"),
        }
    }
}

fn endings(subjects: &[Subject]) -> Vec<ComparedRow> {
    vec![row(RowKind::Ending, "state", subjects.iter().map(|it| Some(it.job.state.text().to_owned())).collect())]
}

fn best_of(subjects: &[Subject], row: &ComparedRow) -> Option<BestJob> {
    let metric = row.metric.as_ref()?;
    let at = metric.best?;
    let best = metric.values[at].as_ref()?.best?;
    let ComparedJob { id, label, .. } = subjects[at].job.clone();
    Some(BestJob { metric: row.name.clone(), direction: metric.direction?, id, label, value: best.value, step: best.step })
}

/// By how much each is more than the first.
fn deltas(numbers: &[Option<f64>], direction: Option<Direction>) -> Vec<Option<Delta>> {
    let first = numbers.first().copied().flatten();
    let delta = |(at, number): (usize, &Option<f64>)| {
        let (first, number) = (first.filter(|it| it.is_finite() && at > 0)?, number.filter(|it| it.is_finite())?);
        let by = number - first;
        let percent = (first != 0.0).then(|| 100.0 * by / first.abs());
        let better = direction.filter(|_| by != 0.0).map(|it| it.prefers(number, first));
        Some(Delta { by, percent: percent.filter(|it| it.is_finite()), better })
    };
    numbers.iter().enumerate().map(delta).collect()
}

#[cfg(test)]
mod tests;
