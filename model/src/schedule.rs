//! Placing: which waiting jobs start now, on which nodes, and why the others wait.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};

use crate::{
    ids::{JobId, NodeName, RoleName},
    resources::Resources,
};

mod amount;
#[cfg(test)]
mod examples;
mod head;
mod packing;
mod reason;
mod search;
mod turn;

use reason::Scene;
use turn::{Outcome, Turn, Why};

/// A job that waits, as much of it as placing needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub job: JobId,
    /// How to call it in a reason: `digits@2`.
    pub label: String,
    pub priority: i32,
    pub max_duration_ms: Option<u64>,
    pub gang: Vec<Demand>,
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
    /// One entry for every task of the gang, in the order of the demands and their indices.
    Start(Vec<Assignment>),
    Wait(String),
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
/// A gang starts whole or not at all. The first job that does not fit is the head, and behind it a job
/// starts only if the head does not start later for it. The answer depends on nothing but the values
/// given, whatever their order.
pub fn place(queue: &[Waiting], nodes: &[Node], held: &[Held], now_ms: u64) -> Vec<Decision> {
    let mut queue: Vec<&Waiting> = queue.iter().collect();
    queue.sort_by_key(|waiting| (Reverse(waiting.priority), waiting.job));
    let mut turn = Turn::new(&queue, nodes, held, now_ms);
    let outcomes: Vec<Outcome> = (0..queue.len()).map(|rank| turn.decide(rank)).collect();
    let scene = Scene::of(&turn);
    let mut before = 0;
    let mut decisions = Vec::with_capacity(queue.len());
    for (rank, outcome) in outcomes.iter().enumerate() {
        let what = match outcome {
            Outcome::Start(shares) => What::Start(turn.assignments(rank, shares)),
            Outcome::Wait(why) => What::Wait(scene.reason(&turn, rank, *why, before)),
        };
        before += usize::from(matches!(outcome, Outcome::Wait(Why::NoRoom | Why::BehindHead)));
        decisions.push(Decision { job: queue[rank].job, what });
    }
    decisions
}
