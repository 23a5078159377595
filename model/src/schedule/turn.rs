//! One turn of placing: what is free, who stays, and what was decided so far.

use super::{
    Assignment, Held, Node, Waiting,
    amount::{Amount, Kinds},
    head::{Futures, Head, Promise, Reservation, Stay, held_on_each, minus, used, without},
    packing::{Gang, Room, Share, pack},
};

pub(super) struct Turn<'a> {
    /// In the order of placing; `gangs` are the same jobs.
    pub queue: &'a [&'a Waiting],
    pub gangs: Vec<Gang>,
    pub kinds: Kinds,
    /// In the order of their names; `capacity` and `free` go by the same positions.
    pub nodes: Vec<&'a Node>,
    pub capacity: Vec<Amount>,
    pub free: Room,
    pub stays: Vec<Stay>,
    /// Jobs that hold something, by the positions that [`Stay`] knows them by.
    pub holders: Vec<&'a str>,
    pub head: Option<Head>,
    now_ms: u64,
}

pub(super) enum Outcome {
    Start(Vec<Share>),
    Wait(Why),
}

#[derive(Clone, Copy)]
pub(super) enum Why {
    /// Not with what is free now.
    NoRoom,
    /// There is room, but the head might start later for it.
    BehindHead,
    /// Not even if every node were empty and open.
    Never,
}

impl<'a> Turn<'a> {
    pub fn new(queue: &'a [&'a Waiting], nodes: &'a [Node], held: &'a [Held], now_ms: u64) -> Self {
        let demands = queue.iter().flat_map(|waiting| &waiting.gang).map(|demand| &demand.each);
        let kinds = Kinds::of(demands.chain(nodes.iter().map(|node| &node.capacity)).chain(held.iter().map(|held| &held.amount)));
        let mut nodes: Vec<&Node> = nodes.iter().collect();
        nodes.sort_by(|one, other| one.name.cmp(&other.name));
        let capacity: Vec<Amount> = nodes.iter().map(|node| kinds.amount(&node.capacity)).collect();
        let mut all = kinds.amount(&Default::default());
        capacity.iter().for_each(|amount| all.add(amount));
        let gangs = queue.iter().map(|waiting| gang(waiting, &kinds, &all)).collect();
        let (stays, holders) = stays(held, &nodes, &kinds);
        let held = held_on_each(&stays, &capacity);
        let free_on = |at: usize| nodes[at].open.then(|| minus(&capacity[at], &held[at]));
        let free = (0..nodes.len()).map(free_on).collect();
        Self { queue, gangs, kinds, nodes, capacity, free, stays, holders, head: None, now_ms }
    }

    pub fn decide(&mut self, rank: usize) -> Outcome {
        let found =
            if self.head.is_none() { pack(&self.gangs[rank], &self.free, &self.capacity).ok_or(Why::NoRoom) } else { self.behind(rank) };
        match found {
            Ok(shares) => {
                self.start(rank, &shares);
                Outcome::Start(shares)
            }
            Err(Why::NoRoom) if !self.could_ever_fit(rank) => Outcome::Wait(Why::Never),
            Err(why) => {
                if self.head.is_none() {
                    self.head = Some(self.head_at(rank));
                }
                Outcome::Wait(why)
            }
        }
    }

    fn could_ever_fit(&self, rank: usize) -> bool {
        let empty: Room = self.capacity.iter().cloned().map(Some).collect();
        pack(&self.gangs[rank], &empty, &self.capacity).is_some()
    }

    fn head_at(&self, rank: usize) -> Head {
        let reservation = Reservation::find(&self.gangs[rank], &self.free, &self.stays, &self.capacity);
        let promise = match reservation {
            Some(reservation) => Promise::At(reservation),
            None => Promise::Open(Futures::of(&self.free, &self.stays, &self.capacity)),
        };
        Head { rank, promise }
    }

    /// Where a job behind the head may start now, if anywhere.
    ///
    /// If the head's start is promised for a time, the job is gone by then or leaves the head its room.
    /// If nobody can say when the head starts, the job takes only what the head could not use anyway.
    fn behind(&mut self, rank: usize) -> Result<Vec<Share>, Why> {
        let Self { queue, gangs, free, capacity, head, now_ms, .. } = self;
        let Some(head) = head else { return Err(Why::NoRoom) };
        let (gang, head_gang) = (&gangs[rank], &gangs[head.rank]);
        let fitting = pack(gang, free, capacity).ok_or(Why::NoRoom)?;
        let ends_by = |at_ms: u64| queue[rank].max_duration_ms.is_some_and(|most| now_ms.saturating_add(most) <= at_ms);
        let spared = match &mut head.promise {
            Promise::At(reservation) if ends_by(reservation.at_ms) => Some(fitting),
            Promise::At(reservation) => {
                pack(gang, &reservation.beside(free), capacity).filter(|shares| reservation.try_stay(shares, head_gang, capacity))
            }
            Promise::Open(futures) => {
                let apart = pack(gang, &futures.out_of_reach(head_gang, free, capacity), capacity);
                let shares = apart.unwrap_or(fitting);
                futures.spared_by(&shares, head_gang, capacity).then(|| {
                    futures.stay(&shares);
                    shares
                })
            }
        };
        spared.ok_or(Why::BehindHead)
    }

    fn start(&mut self, rank: usize, shares: &[Share]) {
        self.free = without(&self.free, shares);
        let until_ms = self.queue[rank].max_duration_ms.map(|most| self.now_ms.saturating_add(most));
        let holder = self.holders.len();
        self.holders.push(&self.queue[rank].label);
        self.stays.extend(used(shares).into_iter().map(|(node, amount)| Stay { holder, node, amount, until_ms }));
    }

    /// One for every task, in the order of the demands and their indices.
    pub fn assignments(&self, rank: usize, shares: &[Share]) -> Vec<Assignment> {
        let mut assignments = Vec::new();
        for (at, demand) in self.queue[rank].gang.iter().enumerate() {
            let own = shares.iter().filter(|share| share.demand == at);
            let tasks = own.flat_map(|share| (0..share.tasks).map(move |_| share));
            assignments.extend(tasks.zip(0..).map(|(share, index)| Assignment {
                role: demand.role.clone(),
                index,
                node: self.nodes[share.node].name.clone(),
                amount: self.kinds.resources(&share.each),
            }));
        }
        assignments
    }
}

fn gang(waiting: &Waiting, kinds: &Kinds, all: &Amount) -> Gang {
    Gang::new(waiting.gang.iter().map(|demand| (kinds.need(&demand.each), demand.tasks)).collect(), all)
}

/// What is held on nodes we know, and by whom. Positions come from the order of job ids, never of the input.
fn stays<'a>(held: &'a [Held], nodes: &[&Node], kinds: &Kinds) -> (Vec<Stay>, Vec<&'a str>) {
    let mut held: Vec<&Held> = held.iter().collect();
    held.sort_by(|one, other| (one.job, &one.node, one.until_ms).cmp(&(other.job, &other.node, other.until_ms)));
    let (mut stays, mut holders, mut last) = (Vec::new(), Vec::new(), None);
    for it in held {
        if last.replace(it.job) != Some(it.job) {
            holders.push(it.label.as_str());
        }
        if let Ok(node) = nodes.binary_search_by(|node| node.name.cmp(&it.node)) {
            stays.push(Stay { holder: holders.len() - 1, node, amount: kinds.amount(&it.amount), until_ms: it.until_ms });
        }
    }
    (stays, holders)
}
