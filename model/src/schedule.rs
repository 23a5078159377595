//! Placing: which waiting jobs start now, on which nodes, and why the others wait.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{JobId, NodeName, RoleName},
    resources::Resources,
    words::Words,
};

mod amount;
#[cfg(test)]
mod examples;
mod head;
mod packing;
mod reason;
mod search;
mod turn;
mod unit;

use reason::Scene;
use turn::{Turn, Why};
use unit::{Tried, Unit, units};

/// A job that waits, as much of it as placing needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub job: JobId,
    /// How to call it in a reason: `digits@2`.
    pub label: String,
    pub priority: i32,
    pub max_duration_ms: Option<u64>,
    pub gang: Vec<Demand>,
    /// For a job whose tasks start as they fit.
    pub loose: Option<Loose>,
}

/// A job that is no gang: each of its tasks is placed alone, at the job's place in the queue.
#[derive(Clone, Debug, PartialEq)]
pub struct Loose {
    /// Which tasks wait, for each of the demands.
    pub indices: Vec<Vec<u32>>,
    pub running: u32,
    /// Over for good.
    pub over: u32,
    pub all: u32,
}

impl Loose {
    /// How many tasks of one role are looked at in one turn. The next turn goes on with the others.
    const TASKS_MAX: u32 = 1_000;

    /// A job of which nothing is placed yet.
    pub fn whole(gang: &[Demand]) -> Self {
        let indices = gang.iter().map(|demand| (0..demand.tasks.min(Self::TASKS_MAX)).collect()).collect();
        Self { indices, running: 0, over: 0, all: gang.iter().map(|demand| demand.tasks).sum() }
    }
}

/// What `tasks` tasks of one role need, each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    pub role: RoleName,
    pub tasks: u32,
    pub each: Resources,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: NodeName,
    pub capacity: Resources,
    /// A node that cannot be seen, or is drained, takes nothing new.
    pub open: bool,
}

/// What a started job holds on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub job: JobId,
    pub label: String,
    pub node: NodeName,
    pub amount: Resources,
    /// When it will be gone at the latest, if its maximum duration says so.
    pub until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub job: JobId,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// One entry for every task that waited, in the order of the demands and their indices.
    Start(Vec<Assignment>),
    /// Some tasks of a job that is no gang, and why the next of them waits.
    Part(Vec<Assignment>, Words),
    Wait(Words),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub role: RoleName,
    pub index: u32,
    pub node: NodeName,
    /// What it gets, with "any" accelerator replaced by the type it was given.
    pub amount: Resources,
}

/// Decides what to do with every waiting job, and answers in the order of placing: the highest priority
/// first, then the oldest.
///
/// A gang starts whole or not at all; of a job that is none, each task is placed alone. The first that does
/// not fit is the head, and behind it something starts only if the head does not start later for it. The
/// answer depends on nothing but the values given, whatever their order.
pub fn place(queue: &[Waiting], nodes: &[Node], held: &[Held], now_ms: u64) -> Vec<Decision> {
    place_telling(queue, nodes, held, now_ms, |_| true)
}

/// The same for a long queue, in which to say why a job waits costs more than to find out. Of the jobs of which
/// nothing starts, the answer has those that are to be `told`.
pub fn place_telling(queue: &[Waiting], nodes: &[Node], held: &[Held], now_ms: u64, told: impl Fn(JobId) -> bool) -> Vec<Decision> {
    let mut queue: Vec<&Waiting> = queue.iter().collect();
    queue.sort_by_key(|waiting| (Reverse(waiting.priority), waiting.job));
    let units = units(&queue);
    let asked: Vec<&Waiting> = units.iter().map(|unit| unit.asks.as_ref()).collect();
    let mut turn = Turn::new(&asked, nodes, held, now_ms);
    let tried: Vec<Tried> = units.iter().enumerate().map(|(rank, unit)| unit.try_at(rank, &mut turn)).collect();
    let scene = Scene::of(&turn);
    let mut before = 0;
    let mut decisions = Vec::new();
    let ranked: Vec<(usize, &Unit<'_>)> = units.iter().enumerate().collect();
    for own in ranked.chunk_by(|one, other| one.1.of == other.1.of) {
        let waits = own.iter().find_map(|(rank, _)| Some((*rank, tried[*rank].why?)));
        let starts: Vec<Assignment> = own.iter().flat_map(|(rank, unit)| unit.assignments(&turn, *rank, &tried[*rank])).collect();
        let waiting = queue[own[0].1.of];
        let reason = |(rank, why)| unit::with_the_others(waiting, starts.len(), &scene.reason(&turn, rank, why, before));
        let what = match waits {
            None => Some(What::Start(starts)),
            Some(why) if starts.is_empty() => told(waiting.job).then(|| What::Wait(reason(why))),
            Some(why) => {
                let reason = reason(why);
                Some(What::Part(starts, reason))
            }
        };
        before += usize::from(matches!(waits, Some((_, Why::NoRoom | Why::BehindHead))));
        decisions.extend(what.map(|what| Decision { job: waiting.job, what }));
    }
    decisions
}
