//! The first job that does not fit, and what may start behind it without delaying it.

use super::{
    amount::{Row, add, lesser, minus, plus, take, times},
    packing::{Gang, Room, Share, pack},
};

/// States of one node that are looked at; a node that can be in more is judged by its extremes.
const STATES_MAX: usize = 256;

/// Something that stays on a node, perhaps until a known time.
pub(super) struct Stay {
    /// The position of the job that holds it.
    pub holder: usize,
    pub node: usize,
    pub amount: Vec<u64>,
    pub until_ms: Option<u64>,
}

pub(super) struct Head {
    /// Its position in the order of placing.
    pub rank: usize,
    pub start: Start,
    /// What a job may take that will still be there when the head starts; worked out when the first one asks.
    beside: Option<Room>,
}

/// When the head will start.
pub(super) enum Start {
    /// By this time enough of those that stay have reached their end.
    By {
        at_ms: u64,
        /// The job whose end makes the room.
        freed_by: usize,
        /// What will be free then, the head not yet placed.
        room: Room,
    },
    /// Nobody can say, so nothing may be taken that it could use in any future.
    Unknown,
}

impl Head {
    pub fn new(rank: usize, gang: &Gang, free: &Room, stays: &[Stay], capacity: &Room) -> Self {
        match promise(gang, free, stays, capacity) {
            Some((start, beside)) => Self { rank, start, beside: Some(beside) },
            None => Self { rank, start: Start::Unknown, beside: None },
        }
    }

    /// Whether a job that ends at `end_ms` is sure to be gone when the head starts.
    pub fn starts_after(&self, end_ms: u64) -> bool {
        match self.start {
            Start::By { at_ms, .. } => end_ms <= at_ms,
            Start::Unknown => false,
        }
    }

    /// Room for a job that will still be there when the head starts.
    pub fn beside(&mut self, gang: &Gang, free: &Room, stays: &[Stay], capacity: &Room) -> Room {
        let beside = self.beside.get_or_insert_with(|| spare(gang, free, stays, capacity));
        let mut room = free.clone();
        for node in 0..room.nodes() {
            let narrower = lesser(room.row(node), beside.row(node));
            room.row_mut(node).copy_from_slice(&narrower);
        }
        room
    }

    /// Counts the shares as staying beyond the start of the head; refuses if the head could not start then.
    pub fn let_stay(&mut self, shares: &[Share], gang: &Gang, capacity: &Room) -> bool {
        if let Start::By { room, .. } = &mut self.start {
            let mut with_them = room.clone();
            with_them.take_shares(shares);
            if pack(gang, &with_them, capacity).is_none() {
                return false;
            }
            *room = with_them;
        }
        self.beside.iter_mut().for_each(|beside| beside.take_shares(shares));
        true
    }
}

/// Lets those who stay go in the order of their ends until the head fits.
fn promise(gang: &Gang, free: &Room, stays: &[Stay], capacity: &Room) -> Option<(Start, Room)> {
    let mut ends: Vec<(u64, &Stay)> = stays.iter().filter_map(|stay| Some((stay.until_ms?, stay))).collect();
    ends.sort_by_key(|(until, stay)| (*until, stay.holder, stay.node));
    let mut room = free.clone();
    let mut held = held_on_each(stays, capacity);
    for (at, (until, stay)) in ends.iter().enumerate() {
        take(held.row_mut(stay.node), &stay.amount);
        let then_free = minus(capacity.row(stay.node), held.row(stay.node));
        room.row_mut(stay.node).copy_from_slice(&then_free);
        let more_end_then = ends.get(at + 1).is_some_and(|(next, _)| next == until);
        if more_end_then {
            continue;
        }
        if let Some(shares) = pack(gang, &room, capacity) {
            let mut beside = room.clone();
            beside.take_shares(&shares);
            return Some((Start::By { at_ms: *until, freed_by: stay.holder, room }, beside));
        }
    }
    None
}

/// What the head could not use of each node.
fn spare(head: &Gang, free: &Room, stays: &[Stay], capacity: &Room) -> Room {
    let mut spare = free.clone();
    for node in 0..free.nodes() {
        let on_node: Vec<&Stay> = stays.iter().filter(|stay| stay.node == node).collect();
        spare.row_mut(node).copy_from_slice(&never_used(head, free.row(node), &on_node, capacity.row(node)));
    }
    spare
}

/// What the head could not use of a node, whoever leaves it and whoever stays.
///
/// Only a job that takes no more than this is sure to delay nothing: in each state the node can come
/// into, the head could still put there whatever it could have put there.
fn never_used(head: &Gang, free: &Row, stays: &[&Stay], capacity: &Row) -> Vec<u64> {
    let unused = |state: &Row, free: &Row| {
        let mut left = free.to_vec();
        head.needs.iter().for_each(|(need, tasks)| take(&mut left, &need.most_used(state, *tasks)));
        left
    };
    match states(stays, capacity) {
        Some(states) => states.iter().fold(free.to_vec(), |least, state| lesser(&least, &unused(state, state))),
        None => unused(capacity, free),
    }
}

/// Every amount that can be free on a node while some who stay have gone and others not, if these are few.
/// Counted from what is held, because a node that shrank holds more than it has.
fn states(stays: &[&Stay], capacity: &Row) -> Option<Vec<Vec<u64>>> {
    let mut amounts: Vec<&Row> = stays.iter().map(|stay| stay.amount.as_slice()).collect();
    amounts.sort_unstable();
    let mut sums = vec![vec![0; capacity.len()]];
    for equal in amounts.chunk_by(|one, other| one == other) {
        let some_of_them = |sum: &Vec<u64>| (0..=equal.len() as u32).map(|count| plus(sum, &times(equal[0], count))).collect::<Vec<_>>();
        sums = sums.iter().flat_map(some_of_them).collect();
        sums.sort_unstable();
        sums.dedup();
        if sums.len() > STATES_MAX {
            return None;
        }
    }
    Some(sums.iter().map(|held| minus(capacity, held)).collect())
}

/// What is held on each node, whatever it has.
pub(super) fn held_on_each(stays: &[Stay], capacity: &Room) -> Room {
    let mut held = capacity.clone();
    (0..held.nodes()).for_each(|node| held.row_mut(node).fill(0));
    stays.iter().for_each(|stay| add(held.row_mut(stay.node), &stay.amount));
    held
}
