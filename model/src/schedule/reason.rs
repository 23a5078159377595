//! Why a job waits, with the arithmetic, in words for the person who waits for it.

use std::fmt::Write;

use super::{
    Demand,
    amount::Amount,
    head::{Promise, Stay},
    turn::{Turn, Why},
};
use crate::resources::{Bytes, Cpus};

/// More than this many nodes, holders or roles are counted, not listed.
const LISTED_MAX: usize = 5;

/// What all reasons of one turn have in common: what is free, and who holds the rest.
pub(super) struct Scene {
    free: String,
    held: String,
}

impl Scene {
    pub fn of(turn: &Turn<'_>) -> Self {
        Self { free: free(turn), held: held(turn) }
    }

    /// `before` is the number of jobs that wait and will be placed before this one.
    pub fn reason(&self, turn: &Turn<'_>, rank: usize, why: Why, before: usize) -> String {
        let needs = needs(&turn.queue[rank].gang);
        let place_in_line = match before {
            0 => "it is next".into(),
            1 => "1 job is before it".into(),
            _ => format!("{before} jobs are before it"),
        };
        match why {
            Why::Never => format!("needs {needs}, which can never fit: {}", never(turn, rank)),
            Why::NoRoom => format!("needs {needs}; free now: {}{}; {place_in_line}{}", self.free, self.held, promise(turn, rank)),
            Why::BehindHead => format!("needs {needs}, and that is free, but {}; {place_in_line}", delay(turn, rank)),
        }
    }
}

/// `a, b, c and 7 more nodes`.
fn listed(items: impl ExactSizeIterator<Item = String>, separator: &str, what: &str) -> String {
    let count = items.len();
    let mut text = items.take(LISTED_MAX).collect::<Vec<_>>().join(separator);
    if count > LISTED_MAX {
        write!(text, " and {} more {what}", count - LISTED_MAX).expect("a string takes all text");
    }
    text
}

fn needs(gang: &[Demand]) -> String {
    listed(gang.iter().map(|demand| format!("{} × ({}) for {}", demand.tasks, demand.each, demand.role)), " and ", "roles")
}

fn free(turn: &Turn<'_>) -> String {
    if turn.nodes.is_empty() {
        return "nothing, there are 0 nodes".into();
    }
    let line = |(at, node): (usize, &&super::Node)| match &turn.free[at] {
        None => format!("{} is closed", node.name),
        Some(free) => format!("{} {}", node.name, part(turn, free, &turn.capacity[at])),
    };
    listed(turn.nodes.iter().enumerate().map(line), "; ", "nodes")
}

/// `1 of 2 CPU, 512MiB of 4GiB, 0 of 2 × A100`.
fn part(turn: &Turn<'_>, free: &Amount, capacity: &Amount) -> String {
    let mut text = format!(
        "{} of {} CPU, {} of {}",
        Cpus(free.cpus_milli),
        Cpus(capacity.cpus_milli),
        Bytes(free.memory_bytes),
        Bytes(capacity.memory_bytes)
    );
    for (kind, (free, have)) in turn.kinds.names().iter().zip(free.devices.iter().zip(&capacity.devices)) {
        if *have > 0 {
            write!(text, ", {free} of {have} × {kind}").expect("a string takes all text");
        }
    }
    text
}

fn held(turn: &Turn<'_>) -> String {
    let mut sums: Vec<(usize, Amount)> = Vec::new();
    for Stay { holder, amount, .. } in &turn.stays {
        match sums.last_mut() {
            Some((last, sum)) if last == holder => sum.add(amount),
            _ => sums.push((*holder, amount.clone())),
        }
    }
    if sums.is_empty() {
        return String::new();
    }
    sums.sort_by(|one, other| (&other.1, one.0).cmp(&(&one.1, other.0)));
    let line = |(holder, sum): &(usize, Amount)| format!("{} ({})", turn.holders[*holder], turn.kinds.resources(sum));
    format!("; held by {}", listed(sums.iter().map(line), ", ", "jobs"))
}

/// What is known about when the head will start.
fn promise(turn: &Turn<'_>, rank: usize) -> String {
    match turn.head.as_ref().filter(|head| head.rank == rank).map(|head| &head.promise) {
        Some(Promise::At(reservation)) => {
            format!(", at the latest when {} reaches its maximum duration", turn.holders[reservation.freed_by])
        }
        Some(Promise::Open(_)) | None => String::new(),
    }
}

fn delay(turn: &Turn<'_>, rank: usize) -> String {
    let Some(head) = &turn.head else { return String::new() };
    let label = &turn.queue[head.rank].label;
    match (&head.promise, turn.queue[rank].max_duration_ms) {
        (Promise::Open(_), _) => format!("{label} could be delayed by it"),
        (Promise::At(_), None) => format!("{label} could be delayed by it, as it has no max_duration"),
        (Promise::At(_), Some(_)) => format!("{label} would be delayed by it, as its max_duration reaches too far"),
    }
}

/// What the largest is that would fit.
fn never(turn: &Turn<'_>, rank: usize) -> String {
    if turn.nodes.is_empty() {
        return "there are 0 nodes".into();
    }
    let gang = &turn.gangs[rank];
    let roles = || turn.queue[rank].gang.iter().map(|demand| &demand.role).zip(&gang.needs);
    let too_large = roles().find(|(_, (need, _))| turn.capacity.iter().all(|node| need.picked(node).is_none()));
    if let Some((role, _)) = too_large {
        let line = |(node, capacity): (&&super::Node, &Amount)| format!("{} has {}", node.name, turn.kinds.resources(capacity));
        let mut nodes: Vec<_> = turn.nodes.iter().zip(&turn.capacity).collect();
        nodes.sort_by(|one, other| other.1.cmp(one.1));
        return format!("no node holds one {role} task even when empty; {}", listed(nodes.into_iter().map(line), ", ", "nodes"));
    }
    let counts = roles().map(|(role, (need, tasks))| {
        let most: u64 = turn.capacity.iter().map(|node| u64::from(need.count(node, *tasks))).sum();
        format!("{} {role}", most.min(u64::from(*tasks)))
    });
    let counts: Vec<String> = counts.collect();
    let nodes = turn.nodes.len();
    format!("all {nodes} nodes together, when empty, hold at most {} tasks", listed(counts.into_iter(), " or ", "roles"))
}
