//! Whole gangs into the room there is, or not at all.

use super::amount::{Amount, Need};

/// A gang as placing sees it.
pub(super) struct Gang {
    pub needs: Vec<(Need, u32)>,
    /// The sum over all tasks of what is named, and of "any" devices.
    total: Amount,
    any_total: u64,
    orders: Vec<Vec<usize>>,
}

/// Some tasks of one demand on one node.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Share {
    pub demand: usize,
    pub node: usize,
    pub tasks: u32,
    pub each: Amount,
}

/// What is free on each node; `None` on one that takes nothing new.
pub(super) type Room = Vec<Option<Amount>>;

impl Gang {
    pub fn new(needs: Vec<(Need, u32)>, capacity: &Amount) -> Self {
        let mut total = capacity.times(0);
        for (need, tasks) in &needs {
            total.add(&need.named.times(*tasks));
        }
        let any_total = needs.iter().map(|(need, tasks)| u64::from(need.any) * u64::from(*tasks)).sum();
        let orders = orders(&needs, capacity);
        Self { needs, total, any_total, orders }
    }

    /// A quick no: not even the sum of everything free would be enough.
    pub fn exceeds(&self, free: &Amount) -> bool {
        let devices: u64 = free.devices.iter().copied().map(u64::from).sum();
        let named: u64 = self.total.devices.iter().copied().map(u64::from).sum();
        !free.holds(&self.total) || devices < named + self.any_total
    }
}

/// The orders in which to try the demands: the hardest to fit first, by four ideas of hard. One greedy
/// order can miss a packing that another finds.
fn orders(needs: &[(Need, u32)], capacity: &Amount) -> Vec<Vec<usize>> {
    let part = |(have, each): (u64, u64)| u128::from(each) * 1_000_000 / u128::from(have.max(1));
    let share = |need: &Need| capacity.row().zip(need.named.row()).map(part).max().unwrap_or(0);
    let devices = |need: &Need| need.named.devices.iter().sum::<u32>() + need.any;
    let ideas: [&dyn Fn(&Need) -> u128; 4] =
        [&|need| u128::from(devices(need)) << 64 | share(need), &share, &|need| need.named.cpus_milli.into(), &|need| {
            need.named.memory_bytes.into()
        }];
    let mut orders: Vec<Vec<usize>> = Vec::new();
    for hardness in ideas {
        let mut order: Vec<usize> = (0..needs.len()).collect();
        order.sort_by_key(|index| std::cmp::Reverse(hardness(&needs[*index].0)));
        if !orders.contains(&order) {
            orders.push(order);
        }
    }
    orders
}

/// Finds a node for every task of the gang, or answers that there is none for the whole of it.
pub(super) fn pack(gang: &Gang, room: &Room, capacity: &[Amount]) -> Option<Vec<Share>> {
    if gang.exceeds(&sum(room, &gang.total)) {
        return None;
    }
    gang.orders.iter().find_map(|order| pack_in(order, gang, room.clone(), capacity))
}

fn sum(room: &Room, like: &Amount) -> Amount {
    let mut sum = like.times(0);
    room.iter().flatten().for_each(|free| sum.add(free));
    sum
}

fn pack_in(order: &[usize], gang: &Gang, mut room: Room, capacity: &[Amount]) -> Option<Vec<Share>> {
    let mut shares = Vec::new();
    for demand in order {
        let (need, tasks) = &gang.needs[*demand];
        let mut left = *tasks;
        while left > 0 {
            let (node, each) = best(need, &room, capacity)?;
            let free = room[node].as_mut().expect("a node that was chosen takes tasks");
            let tasks = if need.any == 0 { need.count(free, left) } else { 1 };
            free.take(&each.times(tasks));
            shares.push(Share { demand: *demand, node, tasks, each });
            left -= tasks;
        }
    }
    Some(shares)
}

/// The node where a task would leave the least behind; the first by name among equals. The next task of
/// the kind leaves even less there, so a node once chosen is filled before another is looked at.
fn best(need: &Need, room: &Room, capacity: &[Amount]) -> Option<(usize, Amount)> {
    let fitting = room.iter().enumerate().filter_map(|(node, free)| {
        let free = free.as_ref()?;
        let each = need.picked(free)?;
        Some((left_over(free, &each, &capacity[node]), node, each))
    });
    fitting.min_by_key(|(left, node, _)| (*left, *node)).map(|(_, node, each)| (node, each))
}

/// The unused part of each resource in millionths, added up: a CPU task thus keeps away from devices.
fn left_over(free: &Amount, each: &Amount, capacity: &Amount) -> u128 {
    let part = |((free, each), have): ((u64, u64), u64)| u128::from(free - each) * 1_000_000 / u128::from(have.max(1));
    free.row().zip(each.row()).zip(capacity.row()).map(part).sum()
}
