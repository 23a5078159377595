//! The first job that does not fit, and what may start behind it without delaying it.

use super::{
    amount::Amount,
    packing::{Gang, Room, Share, pack},
};

/// States of one node that are looked at; a node that can be in more is judged by its extremes.
const STATES_MAX: usize = 256;

/// Something that stays on a node, perhaps until a known time.
#[derive(Clone)]
pub(super) struct Stay {
    pub holder: usize,
    pub node: usize,
    pub amount: Amount,
    pub until_ms: Option<u64>,
}

pub(super) struct Head {
    /// Its position in the order of placing.
    pub rank: usize,
    pub promise: Promise,
}

pub(super) enum Promise {
    /// By this time enough of those that stay have reached their end.
    At(Reservation),
    /// Nobody knows when it can start, so nothing may be taken that it could use in any future.
    Open(Futures),
}

pub(super) struct Reservation {
    pub at_ms: u64,
    /// The job whose end makes the room.
    pub freed_by: usize,
    /// What will be free then, the head not yet placed.
    room: Room,
    /// What will be left then with the head placed.
    left: Room,
}

/// For each node, every amount that can be free there while some who stay have gone and others not.
pub(super) struct Futures {
    states: Vec<Option<Vec<Amount>>>,
    free_now: Room,
}

impl Reservation {
    /// Lets those who stay go in the order of their ends until the head fits.
    pub fn find(gang: &Gang, free: &Room, stays: &[Stay], capacity: &[Amount]) -> Option<Self> {
        let mut ends: Vec<(u64, &Stay)> = stays.iter().filter_map(|stay| Some((stay.until_ms?, stay))).collect();
        ends.sort_by_key(|(until, stay)| (*until, stay.holder, stay.node));
        let mut room = free.clone();
        let mut held = held_on_each(stays, capacity);
        for (at, (until, stay)) in ends.iter().enumerate() {
            held[stay.node].take(&stay.amount);
            if let Some(free) = &mut room[stay.node] {
                *free = minus(&capacity[stay.node], &held[stay.node]);
            }
            let more_end_then = ends.get(at + 1).is_some_and(|(next, _)| next == until);
            if more_end_then {
                continue;
            }
            if let Some(shares) = pack(gang, &room, capacity) {
                let left = without(&room, &shares);
                return Some(Self { at_ms: *until, freed_by: stay.holder, room, left });
            }
        }
        None
    }

    /// Room for a job that will still be there when the head starts.
    pub fn beside(&self, free: &Room) -> Room {
        let narrower = |(free, left): (&Option<Amount>, &Option<Amount>)| {
            let mut free = free.clone()?;
            free.at_most(left.as_ref()?);
            Some(free)
        };
        free.iter().zip(&self.left).map(narrower).collect()
    }

    /// Counts the shares as staying beyond the start of the head, if the head would still be placed then.
    pub fn try_stay(&mut self, shares: &[Share], head: &Gang, capacity: &[Amount]) -> bool {
        let room = without(&self.room, shares);
        if pack(head, &room, capacity).is_none() {
            return false;
        }
        self.left = without(&self.left, shares);
        self.room = room;
        true
    }
}

impl Futures {
    pub fn of(free: &Room, stays: &[Stay], capacity: &[Amount]) -> Self {
        let states_of = |node: usize| states(&capacity[node], stays.iter().filter(|stay| stay.node == node));
        Self { states: (0..free.len()).map(states_of).collect(), free_now: free.clone() }
    }

    /// Whether the head could put as much on every node as before, whoever leaves and whoever stays.
    pub fn spared_by(&self, shares: &[Share], head: &Gang, capacity: &[Amount]) -> bool {
        used(shares).iter().all(|(node, taken)| match &self.states[*node] {
            Some(states) => states.iter().all(|free| most_used(head, free).spares(free, taken)),
            None => {
                let free = self.free_now[*node].as_ref().expect("a node that was chosen takes tasks");
                most_used(head, &capacity[*node]).spares(free, taken)
            }
        })
    }

    /// The shares may stay or go as well from now on.
    pub fn stay(&mut self, shares: &[Share]) {
        for (node, taken) in used(shares) {
            if let Some(free) = &mut self.free_now[node] {
                free.take(&taken);
            }
            if let Some(states) = &mut self.states[node] {
                let with_it: Vec<Amount> = states.iter().map(|free| minus(free, &taken)).collect();
                states.extend(with_it);
                states.sort();
                states.dedup();
            }
            self.states[node] = self.states[node].take().filter(|states| states.len() <= STATES_MAX);
        }
    }

    /// The nodes on which no task of the head could ever be.
    pub fn out_of_reach(&self, head: &Gang, free: &Room, capacity: &[Amount]) -> Room {
        let reach = |node: usize| head.needs.iter().any(|(need, _)| need.picked(&capacity[node]).is_some());
        free.iter().enumerate().map(|(node, free)| free.clone().filter(|_| !reach(node))).collect()
    }
}

/// Counted from what is held, because a node that shrank holds more than it has.
fn states<'a>(capacity: &Amount, stays: impl Iterator<Item = &'a Stay>) -> Option<Vec<Amount>> {
    let mut sums = vec![capacity.times(0)];
    for stay in stays {
        let mut with_it = sums.clone();
        with_it.iter_mut().for_each(|sum| sum.add(&stay.amount));
        sums.extend(with_it);
        sums.sort();
        sums.dedup();
        if sums.len() > STATES_MAX {
            return None;
        }
    }
    Some(sums.iter().map(|held| minus(capacity, held)).collect())
}

/// What is held on each node.
pub(super) fn held_on_each(stays: &[Stay], capacity: &[Amount]) -> Vec<Amount> {
    let mut held: Vec<Amount> = capacity.iter().map(|amount| amount.times(0)).collect();
    stays.iter().for_each(|stay| held[stay.node].add(&stay.amount));
    held
}

/// The most of each resource the head could use of `free`, each counted by itself.
struct MostUsed(Vec<u64>);

fn most_used(head: &Gang, free: &Amount) -> MostUsed {
    let mut most = vec![0_u64; free.row().count()];
    for (need, tasks) in &head.needs {
        let count = u64::from(need.count(free, *tasks));
        let devices = most.len() - free.devices.len();
        for (at, (sum, each)) in most.iter_mut().zip(need.named.row()).enumerate() {
            let any = if at >= devices { u64::from(need.any) } else { 0 };
            *sum = sum.saturating_add(count.saturating_mul(each + any));
        }
    }
    MostUsed(most)
}

impl MostUsed {
    fn spares(&self, free: &Amount, taken: &Amount) -> bool {
        let enough = |((most, free), taken): ((&u64, u64), u64)| taken == 0 || *most.min(&free) + taken <= free;
        self.0.iter().zip(free.row()).zip(taken.row()).all(enough)
    }
}

/// What the shares take of each node.
pub(super) fn used(shares: &[Share]) -> Vec<(usize, Amount)> {
    let mut used: Vec<(usize, Amount)> = Vec::new();
    for share in shares {
        let amount = share.each.times(share.tasks);
        match used.iter_mut().find(|(node, _)| *node == share.node) {
            Some((_, sum)) => sum.add(&amount),
            None => used.push((share.node, amount)),
        }
    }
    used
}

pub(super) fn without(room: &Room, shares: &[Share]) -> Room {
    let mut room = room.clone();
    for share in shares {
        if let Some(free) = &mut room[share.node] {
            free.take(&share.each.times(share.tasks));
        }
    }
    room
}

pub(super) fn minus(free: &Amount, taken: &Amount) -> Amount {
    let mut left = free.clone();
    left.take(taken);
    left
}
