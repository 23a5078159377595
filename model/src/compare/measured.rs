//! What was measured from outside: time, and what was used of the machine.

use std::collections::BTreeMap;

use super::{Subject, deltas, row};
use crate::{
    resources::{Bytes, show_duration_ms},
    usage::UsageTotals,
    wire::{ComparedRow, RowKind},
};

#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    pub kind: RowKind,
    pub name: &'static str,
    pub number: u64,
    pub shown: String,
}

impl Measured {
    /// Of the whole job, with all that was made ready for it.
    pub fn duration(ms: u64) -> Self {
        Self { kind: RowKind::Duration, name: "whole job", number: ms, shown: show_duration_ms(ms) }
    }

    /// Of the command alone.
    pub fn command(ms: u64) -> Self {
        Self { kind: RowKind::Duration, name: "its command", number: ms, shown: show_duration_ms(ms) }
    }

    /// What all tasks have used together; what nobody knows is left out.
    pub fn usage(totals: &UsageTotals) -> Vec<Self> {
        let time = |name, ms: Option<u64>| ms.map(|ms| Self { kind: RowKind::Usage, name, number: ms, shown: show_duration_ms(ms) });
        let size = |name, it: Option<u64>| it.map(|it| Self { kind: RowKind::Usage, name, number: it, shown: Bytes(it).to_string() });
        let all = [
            time("cpu time", totals.cpu_ms),
            size("peak memory", totals.peak_memory_bytes),
            size("read from disk", totals.read_bytes),
            size("written to disk", totals.written_bytes),
            size("received", totals.received_bytes),
            size("sent", totals.sent_bytes),
        ];
        all.into_iter().flatten().collect()
    }
}

pub(super) fn rows(subjects: &[Subject]) -> Vec<ComparedRow> {
    let mut order: Vec<(RowKind, &'static str)> = Vec::new();
    let found: Vec<BTreeMap<&str, &Measured>> = subjects.iter().map(|it| it.measured.iter().map(|it| (it.name, it)).collect()).collect();
    for measured in subjects.iter().flat_map(|it| &it.measured) {
        if !order.contains(&(measured.kind, measured.name)) {
            order.push((measured.kind, measured.name));
        }
    }
    order.sort_by_key(|it| it.0);
    let one = |(kind, name): (RowKind, &'static str)| {
        let values = found.iter().map(|it| it.get(name).map(|it| it.shown.clone())).collect();
        let numbers: Vec<Option<f64>> = found.iter().map(|it| it.get(name).map(|it| it.number as f64)).collect();
        ComparedRow { deltas: deltas(&numbers, None), ..row(kind, name, values) }
    };
    order.into_iter().map(one).collect()
}

/// Six digits are enough to tell one result from another.
pub fn short_number(number: f64) -> String {
    const DIGITS: i32 = 6;
    let size = number.abs();
    if number == 0.0 || !number.is_finite() {
        return number.to_string();
    }
    if !(1e-4..1e9).contains(&size) {
        return format!("{number:.4e}");
    }
    let before = (size.log10().floor() as i32 + 1).max(1);
    let text = format!("{number:.*}", usize::try_from(DIGITS - before).unwrap_or(0));
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_say_what_they_are() {
        let numbers = [0.0, 1.0, -0.5, 0.123_456_789, 123.456_789, 1_234_567.0, 5e-7, 1e12, 0.1 + 0.2, f64::NAN, f64::NEG_INFINITY];
        assert_eq!(numbers.map(short_number).join(" "), "0 1 -0.5 0.12346 123.457 1234567 5.0000e-7 1.0000e12 0.3 NaN -inf");
    }
}
