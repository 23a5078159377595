//! What the engines own, as last seen, for readers who must not wait for an engine.

use std::sync::{Arc, RwLock};

use model::{
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

fn view(node: engine::Node, held: &[Held]) -> NodeView {
    let mut free = node.capacity.clone();
    let mut held_by = Vec::new();
    for held in held.iter().filter(|held| held.node == node.name) {
        free.take(&held.amount);
        held_by.push(HeldView { job: held.label.clone(), amount: held.amount.clone() });
    }
    NodeView {
        name: node.name.to_string(),
        address: node.address,
        open: node.open,
        reason: node.reason.en,
        reason_zh: node.reason.zh,
        capacity: node.capacity,
        free,
        held_by,
    }
}
