//! What the engines own, as last seen, for readers who must not wait for an engine.

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use model::{
    ids::JobId,
    resources::Resources,
    schedule::{self, Held},
    wire::{HeldView, NodeView},
};

use crate::engine;

#[derive(Clone, Default)]
pub struct Board(Arc<RwLock<Vec<engine::Node>>>);

impl Board {
    pub fn set(&self, nodes: Vec<engine::Node>) {
        *self.0.write().unwrap_or_else(std::sync::PoisonError::into_inner) = nodes;
    }

    pub(super) fn nodes(&self) -> Vec<engine::Node> {
        self.0.read().unwrap_or_else(std::sync::PoisonError::into_inner).clone()
    }

    /// The nodes as placing sees them.
    pub fn for_placing(&self) -> Vec<schedule::Node> {
        let node = |it: engine::Node| schedule::Node { name: it.name, capacity: it.capacity, open: it.open };
        self.nodes().into_iter().map(node).collect()
    }

    /// The nodes as a person sees them, with what the live runs hold.
    pub fn with_use(&self, held: &[Held]) -> Vec<NodeView> {
        self.nodes().into_iter().map(|node| view(node, held)).collect()
    }
}

/// A job with many tasks on a node is one who holds, with all of it together.
fn view(node: engine::Node, held: &[Held]) -> NodeView {
    let mut free = node.capacity.clone();
    let mut held_by: BTreeMap<JobId, HeldView> = BTreeMap::new();
    for held in held.iter().filter(|held| held.node == node.name) {
        free.take(&held.amount);
        let nothing = || HeldView { job: held.label.clone(), amount: Resources::default() };
        held_by.entry(held.job).or_insert_with(nothing).amount.add(&held.amount);
    }
    NodeView {
        name: node.name.to_string(),
        address: node.address,
        open: node.open,
        reason: node.reason.en,
        reason_zh: node.reason.zh,
        capacity: node.capacity,
        free,
        held_by: held_by.into_values().collect(),
    }
}

#[cfg(test)]
mod tests {
    use model::words::Words;

    use super::*;

    fn amount(cpus_milli: u64, memory_bytes: u64) -> Resources {
        Resources { cpus_milli, memory_bytes, accelerators: BTreeMap::new() }
    }

    #[test]
    fn a_job_with_several_tasks_on_a_node_is_named_once_with_all_that_it_holds() {
        let node = engine::Node {
            name: "node-1".parse().unwrap(),
            address: "127.0.0.1".into(),
            capacity: amount(8_000, 800),
            devices: BTreeMap::new(),
            open: true,
            reason: Words::default(),
        };
        let held = |job: u8, node: &str| Held {
            job: JobId::new(1, &[job; 10]),
            label: format!("job-{job}@1"),
            node: node.parse().unwrap(),
            amount: amount(1_000, 100),
            until_ms: None,
        };
        let seen = view(node, &[held(1, "node-1"), held(2, "node-1"), held(1, "node-1"), held(1, "node-2")]);
        let of = |job: &str, cpus_milli, memory_bytes| HeldView { job: job.into(), amount: amount(cpus_milli, memory_bytes) };
        assert_eq!(seen.held_by, [of("job-1@1", 2_000, 200), of("job-2@1", 1_000, 100)]);
        assert_eq!(seen.free, amount(5_000, 500));
    }
}
