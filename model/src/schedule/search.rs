//! A patient look at gangs of several roles, for when every greedy order has failed.
//!
//! Greedy packing can put the parameter server where the last worker had to go. A job must not be told that it
//! never fits because of that, so we try other ways, as many as time allows.

use super::{
    amount::Need,
    packing::{Gang, Room, Share},
};

/// Each step looks at all nodes once.
const STEPS_MAX: u32 = 500;

pub(super) fn search(gang: &Gang, order: &[usize], room: &Room) -> Option<Vec<Share>> {
    let mut search = Search { gang, order, room: room.clone(), shares: Vec::new(), steps_left: STEPS_MAX };
    search.demand(0).then_some(search.shares)
}

struct Search<'a> {
    gang: &'a Gang,
    order: &'a [usize],
    room: Room,
    shares: Vec<Share>,
    steps_left: u32,
}

impl Search<'_> {
    /// Whether the demands from this one on can be placed.
    fn demand(&mut self, at: usize) -> bool {
        match self.order.get(at) {
            None => true,
            Some(demand) => self.tasks(at, 0, self.gang.needs[*demand].1),
        }
    }

    /// Whether `left` tasks of a demand can be placed on the nodes from this one on, and all later demands anywhere.
    fn tasks(&mut self, at: usize, node: usize, left: u32) -> bool {
        if left == 0 {
            return self.demand(at + 1);
        }
        if self.steps_left == 0 || !self.is_enough(at, node, left) {
            return false;
        }
        self.steps_left -= 1;
        let most = if self.room.is_open(node) { self.need(at).count(self.room.row(node), left) } else { 0 };
        (0..=most).rev().any(|tasks| self.with(at, node, tasks, |search| search.tasks(at, node + 1, left - tasks)))
    }

    /// A quick no: the nodes from this one on cannot hold that many, even if nothing else were put there.
    fn is_enough(&self, at: usize, node: usize, left: u32) -> bool {
        let mut still = left;
        for node in (node..self.room.nodes()).filter(|node| self.room.is_open(*node)) {
            still -= self.need(at).count(self.room.row(node), still);
            if still == 0 {
                return true;
            }
        }
        false
    }

    fn need(&self, at: usize) -> &Need {
        &self.gang.needs[self.order[at]].0
    }

    /// Tries with so many tasks on the node, and takes them back if that leads nowhere.
    fn with(&mut self, at: usize, node: usize, tasks: u32, then: impl Fn(&mut Self) -> bool) -> bool {
        let (before, shares) = (self.room.row(node).to_vec(), self.shares.len());
        self.put(at, node, tasks);
        if then(self) {
            return true;
        }
        self.room.row_mut(node).copy_from_slice(&before);
        self.shares.truncate(shares);
        false
    }

    /// "Any" devices may be of another type for each task, so such tasks are put there one by one.
    fn put(&mut self, at: usize, node: usize, tasks: u32) {
        let demand = self.order[at];
        let need = &self.gang.needs[demand].0;
        let together = if need.any == 0 { tasks } else { 1 };
        for _ in 0..tasks.checked_div(together).unwrap_or(0) {
            let from = need.fits(self.room.row(node)).expect("as many as were counted fit");
            self.shares.push(Share { demand, node, tasks: together, each: need.given(from) });
            self.room.take_shares(&self.shares[self.shares.len() - 1..]);
        }
    }
}
