//! Metrics side by side: the last value, the best one, and which job has it.

use std::collections::{BTreeMap, BTreeSet};

use super::{Direction, Subject, deltas, measured::short_number, row};
use crate::{
    ids::TaskName,
    metrics::{SeriesSummary, Source},
    wire::{ComparedMetric, ComparedRow, MetricValue, RowKind},
};

pub type SeriesByName = BTreeMap<String, SeriesSummary>;

/// A metric that somebody wants to see.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub name: String,
    /// None to go by its name.
    pub direction: Option<Direction>,
}

impl Asked {
    /// Whether a series is what is meant: by its whole name, or by its last part.
    fn means(&self, series: &str) -> bool {
        series == self.name || series.strip_suffix(&self.name).is_some_and(|before| before.ends_with('/'))
    }
}

/// One series for each name: that of the newest attempt, and where several tasks have it, the chief's.
pub fn of_chief(series: Vec<SeriesSummary>, chief: Option<&TaskName>) -> SeriesByName {
    let chief = chief.map(ToString::to_string);
    let mut by_name = SeriesByName::new();
    for series in series {
        let name = if series.group.is_empty() { series.name.clone() } else { format!("{}/{}", series.group, series.name) };
        // What is written for machines has more digits than what is printed for people.
        let rank = |it: &SeriesSummary| {
            let is_chief = Some(&it.task) == chief.as_ref();
            (is_chief, it.attempt, it.source != Source::Output, std::cmp::Reverse(it.task.clone()))
        };
        match by_name.get(&name) {
            Some(there) if rank(there) >= rank(&series) => {}
            Some(_) | None => drop(by_name.insert(name, series)),
        }
    }
    by_name
}

/// Those that are asked for, in that order; or all, those that can be better or worse first.
pub(super) fn chosen<'a>(series: impl Iterator<Item = &'a SeriesByName>, asked: &[Asked]) -> Vec<Choice> {
    let names: BTreeSet<&String> = series.flat_map(BTreeMap::keys).collect();
    let choice = |name: &str, asked: Option<&Asked>| {
        let said = asked.and_then(|it| it.direction);
        Choice { name: name.to_owned(), direction: said.or_else(|| Direction::guess(name)), guessed: said.is_none() }
    };
    let mut all: Vec<Choice> = Vec::new();
    for asked in asked {
        // Its own name comes before those that only end with it.
        let (own, others): (Vec<&String>, Vec<&String>) =
            names.iter().copied().filter(|it| asked.means(it)).partition(|it| **it == asked.name);
        let found = own.into_iter().chain(others).map(|name| choice(name, Some(asked)));
        let new: Vec<Choice> = found.filter(|it| all.iter().all(|there| there.name != it.name)).collect();
        all.extend(new);
    }
    if asked.is_empty() {
        all = names.into_iter().map(|name| choice(name, None)).collect();
        all.sort_by_key(|it| it.direction.is_none());
    }
    all
}

/// A metric that is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    pub name: String,
    pub direction: Option<Direction>,
    pub guessed: bool,
}

impl Choice {
    pub fn value(&self, series: &SeriesByName) -> Option<MetricValue> {
        let series = series.get(&self.name)?;
        let best = match self.direction {
            Some(Direction::Lower) => series.least,
            Some(Direction::Higher) => series.greatest,
            None => None,
        };
        Some(MetricValue { last: series.last, last_step: series.last_step, best })
    }

    /// The first of those that nobody beats.
    pub fn best(&self, values: &[Option<MetricValue>]) -> Option<usize> {
        let direction = self.direction?;
        let mut best: Option<(usize, f64)> = None;
        for (at, value) in values.iter().enumerate() {
            let Some(found) = value.as_ref().and_then(|it| it.best) else { continue };
            if best.is_none_or(|(_, there)| direction.prefers(found.value, there)) {
                best = Some((at, found.value));
            }
        }
        best.map(|(at, _)| at)
    }
}

pub(super) fn rows(subjects: &[Subject], asked: &[Asked]) -> Vec<ComparedRow> {
    chosen(subjects.iter().map(|it| &it.series), asked).iter().map(|choice| one(subjects, choice)).collect()
}

fn one(subjects: &[Subject], choice: &Choice) -> ComparedRow {
    let values: Vec<Option<MetricValue>> = subjects.iter().map(|it| choice.value(&it.series)).collect();
    let number = |it: &MetricValue| it.best.map_or(it.last.0, |best| best.value);
    let numbers: Vec<Option<f64>> = values.iter().map(|it| it.as_ref().map(number)).collect();
    let best = choice.best(&values);
    let shown = numbers.iter().map(|it| it.map(short_number)).collect();
    let metric = ComparedMetric { direction: choice.direction, guessed: choice.guessed, values, best };
    ComparedRow { deltas: deltas(&numbers, choice.direction), metric: Some(metric), ..row(RowKind::Metric, &choice.name, shown) }
}
