//! Whole gangs into the room there is, or not at all.

use std::{cell::OnceCell, cmp::Ordering};

use super::{
    amount::{CPUS, MEMORY, Need, Row, add, devices, holds, take, times},
    search::search,
};

/// A gang as placing sees it: what a task of each demand needs, and how many there are.
pub(super) struct Gang {
    pub needs: Vec<(Need, u32)>,
    /// The sum over all tasks of what is named, and of "any" devices.
    total: Vec<u64>,
    any_total: u64,
    orders: OnceCell<Vec<Vec<usize>>>,
}

/// What is free on each node. A closed node has a row as well, but nothing is put there.
#[derive(Clone)]
pub(super) struct Room {
    rows: Vec<u64>,
    width: usize,
    open: Vec<bool>,
}

/// Some tasks of one demand on one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    pub demand: usize,
    pub node: usize,
    pub tasks: u32,
    pub each: Vec<u64>,
}

impl Room {
    pub fn new(width: usize, nodes: impl Iterator<Item = (Vec<u64>, bool)>) -> Self {
        let (rows, open): (Vec<Vec<u64>>, Vec<bool>) = nodes.unzip();
        Self { rows: rows.concat(), width, open }
    }

    pub fn nodes(&self) -> usize {
        self.open.len()
    }

    pub fn is_open(&self, node: usize) -> bool {
        self.open[node]
    }

    pub fn row(&self, node: usize) -> &Row {
        &self.rows[node * self.width..][..self.width]
    }

    pub fn row_mut(&mut self, node: usize) -> &mut Row {
        &mut self.rows[node * self.width..][..self.width]
    }

    pub fn take_shares(&mut self, shares: &[Share]) {
        for share in shares {
            take(self.row_mut(share.node), &times(&share.each, share.tasks));
        }
    }

    fn sum_of_open(&self) -> Vec<u64> {
        let mut sum = vec![0; self.width];
        (0..self.nodes()).filter(|node| self.is_open(*node)).for_each(|node| add(&mut sum, self.row(node)));
        sum
    }
}

impl Gang {
    pub fn new(needs: Vec<(Need, u32)>, width: usize) -> Self {
        let mut total = vec![0; width];
        needs.iter().for_each(|(need, tasks)| add(&mut total, &times(&need.named, *tasks)));
        let any_total = needs.iter().map(|(need, tasks)| need.any * u64::from(*tasks)).sum();
        Self { needs, total, any_total, orders: OnceCell::new() }
    }

    /// A quick no: not even the sum of everything free would be enough.
    fn exceeds(&self, free: &Row) -> bool {
        !holds(free, &self.total) || devices(free) < devices(&self.total) + self.any_total
    }

    /// The orders in which to try the demands: the hardest to fit first, by four ideas of hard. One greedy
    /// order can miss a packing that another finds.
    fn orders(&self, sum: &Row) -> Vec<Vec<usize>> {
        let share = |need: &Need| need.named.iter().zip(sum).map(|(each, all)| *each as f64 / (*all).max(1) as f64).fold(0.0, f64::max);
        let ideas: [&dyn Fn(&Need) -> f64; 4] =
            [&|need| (devices(&need.named) + need.any) as f64 + share(need), &share, &|need| need.named[CPUS] as f64, &|need| {
                need.named[MEMORY] as f64
            }];
        let mut orders: Vec<Vec<usize>> = Vec::new();
        for hardness in ideas {
            let mut order: Vec<usize> = (0..self.needs.len()).collect();
            order.sort_by(|one, other| hardness(&self.needs[*other].0).total_cmp(&hardness(&self.needs[*one].0)));
            if !orders.contains(&order) {
                orders.push(order);
            }
        }
        orders
    }
}

/// Finds a node for every task of the gang, or answers that there is none for the whole of it.
pub(super) fn pack(gang: &Gang, room: &Room, capacity: &Room) -> Option<Vec<Share>> {
    if gang.exceeds(&room.sum_of_open()) {
        return None;
    }
    let orders = gang.orders.get_or_init(|| gang.orders(&capacity.sum_of_open()));
    let greedy = orders.iter().find_map(|order| pack_in(order, gang, room.clone(), capacity));
    // One role alone is always packed as well as can be.
    greedy.or_else(|| if gang.needs.len() > 1 { search(gang, &orders[0], room) } else { None })
}

fn pack_in(order: &[usize], gang: &Gang, mut room: Room, capacity: &Room) -> Option<Vec<Share>> {
    let mut shares = Vec::new();
    for demand in order {
        let (need, tasks) = &gang.needs[*demand];
        let mut left = *tasks;
        while left > 0 {
            let (node, each) = best(need, &room, capacity)?;
            let tasks = if need.any == 0 { need.count(room.row(node), left) } else { 1 };
            shares.push(Share { demand: *demand, node, tasks, each });
            room.take_shares(&shares[shares.len() - 1..]);
            left -= tasks;
        }
    }
    Some(shares)
}

/// The node where a task would leave the least behind; the first by name among equals. The next task of
/// the kind leaves even less there, so a node once chosen is filled before another is looked at.
fn best(need: &Need, room: &Room, capacity: &Room) -> Option<(usize, Vec<u64>)> {
    let mut best: Option<(f64, usize, usize)> = None;
    for node in (0..room.nodes()).filter(|node| room.is_open(*node)) {
        let Some(from) = need.fits(room.row(node)) else { continue };
        let left = left_over(room.row(node), need, from, capacity.row(node));
        if best.is_none_or(|(least, ..)| left.total_cmp(&least) == Ordering::Less) {
            best = Some((left, node, from));
        }
    }
    best.map(|(_, node, from)| (node, need.given(from)))
}

/// The unused part of each resource, added up: a task that needs no device thus keeps away from devices.
fn left_over(free: &Row, need: &Need, from: usize, capacity: &Row) -> f64 {
    let any = need.any as f64 / capacity[from].max(1) as f64;
    let part = |((free, each), have): ((&u64, &u64), &u64)| (free - each) as f64 / (*have).max(1) as f64;
    free.iter().zip(&need.named).zip(capacity).map(part).sum::<f64>() - any
}
