//! What is held on the nodes. Of a run whose row cannot be read as a whole, the most that it may hold is taken for held: nothing of what
//! a live task has is given out again, and as little as can be is kept from others for it.

use model::{
    resources::{Resources, is_port},
    schedule::Held,
};

use super::Board;
use crate::{
    engine::Node,
    store::{
        Sql, StoreError,
        runs::{self, Hold, Unclear},
    },
};

pub fn holds(sql: &Sql<'_>, board: &Board) -> Result<Vec<Hold>, StoreError> {
    let runs::Holds { mut clear, unclear } = runs::holds(sql)?;
    if !unclear.is_empty() {
        let nodes = board.nodes();
        clear.extend(unclear.iter().flat_map(|it| at_most(it, &nodes)));
    }
    Ok(clear)
}

/// What the live runs hold, and until when.
pub fn held(sql: &Sql<'_>, board: &Board) -> Result<Vec<Held>, StoreError> {
    Ok(holds(sql, board)?.into_iter().map(|it| it.held).collect())
}

/// If its node cannot be read either, it may be on any.
fn at_most(it: &Unclear, nodes: &[Node]) -> Vec<Hold> {
    let may_be_on = |node: &&Node| it.node.as_ref().is_none_or(|name| *name == node.name);
    nodes.iter().filter(may_be_on).map(|node| at_most_on(node, it)).collect()
}

fn at_most_on(node: &Node, it: &Unclear) -> Hold {
    let mut amount = it.amount.clone().unwrap_or_else(|| node.capacity.clone());
    let devices = it.devices.clone().unwrap_or_else(|| {
        take_all_devices(&mut amount, &node.capacity);
        node.devices
            .iter()
            .filter(|(kind, _)| amount.accelerators.contains_key(*kind))
            .map(|(kind, all)| (kind.clone(), all.clone()))
            .collect()
    });
    let held = Held { job: it.job, label: it.label.clone(), node: node.name.clone(), amount, until_ms: None };
    Hold { held, devices, ports: it.ports.clone() }
}

/// Nobody can say which of them it has, so it has all of their type.
fn take_all_devices(amount: &mut Resources, capacity: &Resources) {
    amount.accelerators.retain(|kind, count| is_port(kind) || *count > 0);
    for (kind, count) in amount.accelerators.iter_mut().filter(|(kind, _)| !is_port(kind)) {
        *count = capacity.accelerators.get(kind).copied().unwrap_or(0).max(*count);
    }
}
