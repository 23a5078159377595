//! The versions of a job side by side.

use std::collections::BTreeSet;

use super::metrics::{Asked, Choice, SeriesByName, chosen};
use crate::wire::{BestVersion, MetricValue, VersionMetric, VersionRow};

/// A version with everything it has written about itself.
pub struct Version {
    /// Its metrics are filled in here.
    pub row: VersionRow,
    pub series: SeriesByName,
}

/// More columns than this nobody reads; whoever wants others asks for them by name.
const METRICS_MAX: usize = 4;

/// Which parameters are not the same in all, which metrics are shown, and the versions with them.
pub fn versions(all: Vec<Version>, asked: &[Asked]) -> (Vec<String>, Vec<VersionMetric>, Vec<VersionRow>) {
    let mut choices = chosen(all.iter().map(|it| &it.series), asked);
    if asked.is_empty() {
        choices.retain(|it| it.direction.is_some());
        choices.truncate(METRICS_MAX);
    }
    let value = |version: &Version| choices.iter().map(|choice| choice.value(&version.series)).collect();
    let rows: Vec<VersionRow> = all.into_iter().map(|it| VersionRow { metrics: value(&it), ..it.row }).collect();
    let metrics = choices.into_iter().enumerate().map(|(at, choice)| metric(&rows, at, choice)).collect();
    (varied_params(&rows), metrics, rows)
}

fn metric(rows: &[VersionRow], at: usize, choice: Choice) -> VersionMetric {
    // Of two that are as good, the older one had it first.
    let values: Vec<Option<MetricValue>> = rows.iter().rev().map(|row| row.metrics[at].clone()).collect();
    let best = choice.best(&values).and_then(|index| {
        let found = values[index].as_ref()?.best?;
        Some(BestVersion { version: rows[rows.len() - 1 - index].version, value: found.value, step: found.step })
    });
    VersionMetric { name: choice.name, direction: choice.direction, guessed: choice.guessed, best }
}

/// In the order in which the newest version has them.
fn varied_params(rows: &[VersionRow]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let names = rows.iter().flat_map(|row| row.params.keys()).filter(|name| seen.insert((*name).clone()));
    let varies = |name: &&String| rows.windows(2).any(|pair| pair[0].params.get(*name) != pair[1].params.get(*name));
    names.filter(varies).cloned().collect()
}
