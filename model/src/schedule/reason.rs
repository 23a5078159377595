//! Why a job waits, with the arithmetic, in words for the person who waits for it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::Write,
};

use super::{
    Demand, Node,
    amount::{CPUS, FIRST_DEVICE, MEMORY, Need, add},
    head::{Start, Stay},
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
    let line = |(at, node): (usize, &&Node)| {
        if node.open { format!("{} {}", node.name, part(turn, at)) } else { format!("{} is closed", node.name) }
    };
    listed(turn.nodes.iter().enumerate().map(line), "; ", "nodes")
}

/// `1 of 2 CPU, 512MiB of 4GiB, 0 of 2 × A100`.
fn part(turn: &Turn<'_>, node: usize) -> String {
    let (free, have) = (turn.free.row(node), turn.capacity.row(node));
    let mut text = format!("{} of {} CPU, {} of {}", Cpus(free[CPUS]), Cpus(have[CPUS]), Bytes(free[MEMORY]), Bytes(have[MEMORY]));
    for (kind, (free, have)) in turn.kinds.names().iter().zip(free.iter().zip(have).skip(FIRST_DEVICE)) {
        if *have > 0 {
            write!(text, ", {free} of {have} × {kind}").expect("a string takes all text");
        }
    }
    text
}

/// Those who hold the most come first.
fn held(turn: &Turn<'_>) -> String {
    let mut sums: BTreeMap<&str, (usize, Vec<u64>)> = BTreeMap::new();
    for Stay { holder, amount, .. } in &turn.stays {
        match sums.entry(turn.holders[*holder]) {
            Entry::Occupied(mut sum) => add(&mut sum.get_mut().1, amount),
            Entry::Vacant(first) => _ = first.insert((*holder, amount.clone())),
        }
    }
    if sums.is_empty() {
        return String::new();
    }
    let mut sums: Vec<(&str, (usize, Vec<u64>))> = sums.into_iter().collect();
    sums.sort_by(|(_, one), (_, other)| (&other.1, one.0).cmp(&(&one.1, other.0)));
    let line = |(label, (_, sum)): &(&str, (usize, Vec<u64>))| format!("{label} ({})", turn.kinds.resources(sum));
    format!("; held by {}", listed(sums.iter().map(line), ", ", "jobs"))
}

/// What is known about when the head will start.
fn promise(turn: &Turn<'_>, rank: usize) -> String {
    match turn.head.as_ref().filter(|head| head.rank == rank).map(|head| &head.start) {
        Some(Start::By { freed_by, .. }) => format!(", at the latest when {} reaches its maximum duration", turn.holders[*freed_by]),
        Some(Start::Unknown) | None => String::new(),
    }
}

fn delay(turn: &Turn<'_>, rank: usize) -> String {
    let Some(head) = &turn.head else { return String::new() };
    let label = &turn.queue[head.rank].label;
    match (&head.start, turn.queue[rank].max_duration_ms) {
        (Start::Unknown, _) => format!("{label} could be delayed by it"),
        (Start::By { .. }, None) => format!("{label} could be delayed by it, as it has no max_duration"),
        (Start::By { .. }, Some(_)) => format!("{label} would be delayed by it, as its max_duration reaches too far"),
    }
}

/// What the largest is that would fit.
fn never(turn: &Turn<'_>, rank: usize) -> String {
    let count = turn.nodes.len();
    if count == 0 {
        return "there are 0 nodes".into();
    }
    let (jobs, needs) = (&turn.queue[rank].gang, &turn.gangs[rank].needs);
    let roles = || jobs.iter().map(|demand| &demand.role).zip(needs);
    let fits_nowhere = |need: &Need| (0..count).all(|node| need.fits(turn.capacity.row(node)).is_none());
    if let Some((role, _)) = roles().find(|(_, (need, _))| fits_nowhere(need)) {
        return format!("no node holds one {role} task even when empty; {}", largest(turn));
    }
    let most = |need: &Need, tasks: u32| (0..count).map(|node| u64::from(need.count(turn.capacity.row(node), tasks))).sum::<u64>();
    let counts: Vec<String> = roles().map(|(role, (need, tasks))| format!("{} {role}", most(need, *tasks).min((*tasks).into()))).collect();
    let nodes = if count == 1 { "the 1 node".into() } else { format!("the {count} nodes together") };
    format!("{nodes}, when empty, can hold at most {} tasks", listed(counts.into_iter(), " or ", "roles"))
}

fn largest(turn: &Turn<'_>) -> String {
    let mut nodes: Vec<usize> = (0..turn.nodes.len()).collect();
    nodes.sort_by(|one, other| turn.capacity.row(*other).cmp(turn.capacity.row(*one)));
    let line = |node: usize| format!("{} has {}", turn.nodes[node].name, turn.kinds.resources(turn.capacity.row(node)));
    listed(nodes.into_iter().map(line), ", ", "nodes")
}
