//! Why a job waits, with the arithmetic, in words for the person who waits for it.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    fmt::Write,
};

use super::{
    Demand, Node, RoleName,
    amount::{CPUS, FIRST_DEVICE, MEMORY, Need, add},
    head::{Start, Stay},
    turn::{Turn, Why},
};
use crate::{
    resources::{Bytes, Cpus},
    words::Words,
};

/// More than this many nodes, holders or roles are counted, not listed.
const LISTED_MAX: usize = 5;

/// What all reasons of one turn have in common: what is free, and who holds the rest.
pub(super) struct Scene {
    free: Words,
    held: Words,
}

impl Scene {
    pub fn of(turn: &Turn<'_>) -> Self {
        Self { free: free(turn), held: held(turn) }
    }

    /// `before` is the number of jobs that wait and will be placed before this one.
    pub fn reason(&self, turn: &Turn<'_>, rank: usize, why: Why, before: usize) -> Words {
        let needs = needs(&turn.queue[rank].gang);
        let place_in_line = match before {
            0 => Words::new("it is next", "排在最前"),
            1 => Words::new("1 job is before it", "前面还有 1 个作业"),
            _ => Words::new(format!("{before} jobs are before it"), format!("前面还有 {before} 个作业")),
        };
        let wanted = |en: &str, zh: &str| Words::new(format!("needs {}{en}", needs.en), format!("需要 {}{zh}", needs.zh));
        match why {
            Why::Never => {
                let never = never(turn, rank);
                wanted(&format!(", which can never fit: {}", never.en), &format!("，永远放不下：{}", never.zh))
            }
            Why::NoRoom => {
                let promise = promise(turn, rank);
                let free = Words::new(format!("free now: {}", self.free.en), format!("目前空闲：{}", self.free.zh));
                let line = Words::new(format!("{}{}", place_in_line.en, promise.en), format!("{}{}", place_in_line.zh, promise.zh));
                wanted("", "").then(&free).then(&self.held).then(&line)
            }
            Why::BehindHead => {
                let delay = delay(turn, rank);
                wanted(&format!(", and that is free, but {}", delay.en), &format!("，资源有空闲，但{}", delay.zh)).then(&place_in_line)
            }
        }
    }
}

/// `a, b, c and 7 more nodes`; in Chinese `a、b、c 等共 12 个节点`.
fn listed(items: impl ExactSizeIterator<Item = Words>, marks: [&str; 2], what: [&str; 2]) -> Words {
    let count = items.len();
    let shown: Vec<Words> = items.take(LISTED_MAX).collect();
    let join = |say: fn(&Words) -> &str, mark: &str| shown.iter().map(say).collect::<Vec<_>>().join(mark);
    let mut words = Words::new(join(|it| &it.en, marks[0]), join(|it| &it.zh, marks[1]));
    if count > LISTED_MAX {
        write!(words.en, " and {} more {}", count - LISTED_MAX, what[0]).expect("a string takes all text");
        write!(words.zh, " 等共 {count} 个{}", what[1]).expect("a string takes all text");
    }
    words
}

const NODES: [&str; 2] = ["nodes", "节点"];
const JOBS: [&str; 2] = ["jobs", "作业"];
const ROLES: [&str; 2] = ["roles", "角色"];

fn needs(gang: &[Demand]) -> Words {
    let need = |demand: &Demand| {
        let Demand { role, tasks, each } = demand;
        Words::new(format!("{tasks} × ({each}) for {role}"), format!("{role} 角色 {tasks} × ({each})"))
    };
    listed(gang.iter().map(need), [" and ", "和 "], ROLES)
}

fn free(turn: &Turn<'_>) -> Words {
    if turn.nodes.is_empty() {
        return Words::new("nothing, there are 0 nodes", "没有，共 0 个节点");
    }
    let line = |(at, node): (usize, &&Node)| {
        let (name, part) = (&node.name, part(turn, at));
        if node.open { part.of(name) } else { Words::new(format!("{name} is closed"), format!("{name} 已关闭")) }
    };
    listed(turn.nodes.iter().enumerate().map(line), ["; ", "；"], NODES)
}

/// `1 of 2 CPU, 512MiB of 4GiB, 0 of 2 × A100`.
fn part(turn: &Turn<'_>, node: usize) -> Words {
    let (free, have) = (turn.free.row(node), turn.capacity.row(node));
    let (free_cpus, cpus) = (Cpus(free[CPUS]), Cpus(have[CPUS]));
    let (free_memory, memory) = (Bytes(free[MEMORY]), Bytes(have[MEMORY]));
    let mut words = Words::new(
        format!("{free_cpus} of {cpus} CPU, {free_memory} of {memory}"),
        format!("CPU {free_cpus}/{cpus}，内存 {free_memory}/{memory}"),
    );
    for (kind, (free, have)) in turn.kinds.names().iter().zip(free.iter().zip(have).skip(FIRST_DEVICE)) {
        if *have > 0 {
            write!(words.en, ", {free} of {have} × {kind}").expect("a string takes all text");
            write!(words.zh, "，{kind} {free}/{have}").expect("a string takes all text");
        }
    }
    words
}

/// Those who hold the most come first.
fn held(turn: &Turn<'_>) -> Words {
    let mut sums: BTreeMap<&str, (usize, Vec<u64>)> = BTreeMap::new();
    for Stay { holder, amount, .. } in &turn.stays {
        match sums.entry(turn.holders[*holder]) {
            Entry::Occupied(mut sum) => add(&mut sum.get_mut().1, amount),
            Entry::Vacant(first) => _ = first.insert((*holder, amount.clone())),
        }
    }
    if sums.is_empty() {
        return Words::default();
    }
    let mut sums: Vec<(&str, (usize, Vec<u64>))> = sums.into_iter().collect();
    sums.sort_by(|(_, one), (_, other)| (&other.1, one.0).cmp(&(&one.1, other.0)));
    let line = |(label, (_, sum)): &(&str, (usize, Vec<u64>))| {
        let amount = turn.kinds.resources(sum);
        Words::new(format!("{label} ({amount})"), format!("{label}（{amount}）"))
    };
    let holders = listed(sums.iter().map(line), [", ", "、"], JOBS);
    Words::new(format!("held by {}", holders.en), format!("其余被 {}占用", holders.zh))
}

/// What is known about when the head will start.
fn promise(turn: &Turn<'_>, rank: usize) -> Words {
    match turn.head.as_ref().filter(|head| head.rank == rank).map(|head| &head.start) {
        Some(Start::By { freed_by, .. }) => {
            let holder = turn.holders[*freed_by];
            Words::new(
                format!(", at the latest when {holder} reaches its maximum duration"),
                format!("，最迟在 {holder} 达到时长上限时启动"),
            )
        }
        Some(Start::Unknown) | None => Words::default(),
    }
}

fn delay(turn: &Turn<'_>, rank: usize) -> Words {
    let Some(head) = &turn.head else { return Words::default() };
    let label = &turn.queue[head.rank].label;
    match (&head.start, turn.queue[rank].max_duration_ms) {
        (Start::Unknown, _) => Words::new(format!("{label} could be delayed by it"), format!("可能会推迟 {label}")),
        (Start::By { .. }, None) => Words::new(
            format!("{label} could be delayed by it, as it has no max_duration"),
            format!("它没有设置 max_duration，可能会推迟 {label}"),
        ),
        (Start::By { .. }, Some(_)) => Words::new(
            format!("{label} would be delayed by it, as its max_duration reaches too far"),
            format!("它的 max_duration 太长，会推迟 {label}"),
        ),
    }
}

/// What the largest is that would fit.
fn never(turn: &Turn<'_>, rank: usize) -> Words {
    let count = turn.nodes.len();
    if count == 0 {
        return Words::new("there are 0 nodes", "共 0 个节点");
    }
    let (jobs, needs) = (&turn.queue[rank].gang, &turn.gang(rank).needs);
    let roles = || jobs.iter().map(|demand| &demand.role).zip(needs);
    let fits_nowhere = |need: &Need| (0..count).all(|node| need.fits(turn.capacity.row(node)).is_none());
    if let Some((role, _)) = roles().find(|(_, (need, _))| fits_nowhere(need)) {
        let none =
            Words::new(format!("no node holds one {role} task even when empty"), format!("任何节点即使完全空闲，也放不下一个 {role} 任务"));
        return none.then(&largest(turn));
    }
    let most = |need: &Need, tasks: u32| (0..count).map(|node| u64::from(need.count(turn.capacity.row(node), tasks))).sum::<u64>();
    let count_of = |(role, (need, tasks)): (&RoleName, &(Need, u32))| {
        let most = most(need, *tasks).min((*tasks).into());
        Words::new(format!("{most} {role}"), format!("{most} 个 {role}"))
    };
    let counts: Vec<Words> = roles().map(count_of).collect();
    let most = listed(counts.into_iter(), [" or ", "或 "], ROLES);
    let nodes = if count == 1 { "the 1 node".into() } else { format!("the {count} nodes together") };
    Words::new(
        format!("{nodes}, when empty, can hold at most {} tasks", most.en),
        format!("{count} 个节点全部空闲时最多也只能放下 {} 任务", most.zh),
    )
}

fn largest(turn: &Turn<'_>) -> Words {
    let mut nodes: Vec<usize> = (0..turn.nodes.len()).collect();
    nodes.sort_by(|one, other| turn.capacity.row(*other).cmp(turn.capacity.row(*one)));
    let line = |node: usize| {
        let (name, has) = (&turn.nodes[node].name, turn.kinds.resources(turn.capacity.row(node)));
        Words::new(format!("{name} has {has}"), format!("{name} 有 {has}"))
    };
    listed(nodes.into_iter().map(line), [", ", "，"], NODES)
}
