//! One turn of placing: what is free, who stays, and what was decided so far.

use std::collections::HashMap;

use super::{
    Assignment, Held, Node, Waiting,
    amount::{Kinds, Need, minus, times},
    head::{Head, Stay, held_on_each},
    packing::{Gang, Room, Share, pack},
};

pub(super) struct Turn<'a> {
    /// In the order of placing.
    pub queue: &'a [&'a Waiting],
    gangs: Gangs,
    pub kinds: Kinds,
    /// In the order of their names; `capacity` and `free` go by the same positions.
    pub nodes: Vec<&'a Node>,
    /// What the nodes have when they are empty, closed ones too.
    pub capacity: Room,
    pub free: Room,
    pub stays: Vec<Stay>,
    /// Jobs that hold something, by the positions that [`Stay`] knows them by.
    pub holders: Vec<&'a str>,
    pub head: Option<Head>,
    /// What became of each of the different gangs that had to wait. Room only shrinks during a turn, so a gang equal to one
    /// that found none need not look again.
    refusals: Vec<Option<Refusal>>,
    now_ms: u64,
}

/// The different gangs of a queue. In a long one most ask for the same.
struct Gangs {
    different: Vec<Gang>,
    /// Which of them each job of the queue is.
    of: Vec<usize>,
}

#[derive(Clone, Copy)]
struct Refusal {
    why: Why,
    /// The shortest of those that were refused; the longest of times for one without an end.
    lasts_ms: u64,
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
        let row_of = |node: &&Node| (kinds.capacity(&node.capacity), true);
        let capacity = Room::new(kinds.width(), nodes.iter().map(row_of));
        let gangs = Gangs::of(queue, &kinds);
        let refusals = vec![None; gangs.different.len()];
        let (stays, holders) = stays(held, &nodes, &kinds);
        let held = held_on_each(&stays, &capacity);
        let free_on = |(at, node): (usize, &&Node)| (minus(capacity.row(at), held.row(at)), node.open);
        let free = Room::new(kinds.width(), nodes.iter().enumerate().map(free_on));
        Self { queue, gangs, kinds, nodes, capacity, free, stays, holders, head: None, refusals, now_ms }
    }

    pub fn gang(&self, rank: usize) -> &Gang {
        self.gangs.get(rank)
    }

    pub fn decide(&mut self, rank: usize) -> Outcome {
        if let Some(why) = self.known(rank) {
            return Outcome::Wait(why);
        }
        match self.find(rank) {
            Ok(shares) => {
                self.start(rank, &shares);
                Outcome::Start(shares)
            }
            Err(why) => {
                self.remember(rank, why);
                Outcome::Wait(why)
            }
        }
    }

    /// What is known of the job because an equal one was refused. Behind the head, another of the same gang may have a
    /// shorter maximum duration.
    fn known(&self, rank: usize) -> Option<Why> {
        let Refusal { why, lasts_ms } = self.refusals[self.gangs.of[rank]]?;
        match why {
            Why::NoRoom | Why::Never => Some(why),
            Why::BehindHead => (self.lasts_ms(rank) >= lasts_ms).then_some(why),
        }
    }

    fn lasts_ms(&self, rank: usize) -> u64 {
        self.queue[rank].max_duration_ms.unwrap_or(u64::MAX)
    }

    /// Where the job may start now, if anywhere.
    fn find(&mut self, rank: usize) -> Result<Vec<Share>, Why> {
        let gang = self.gangs.get(rank);
        match pack(gang, &self.free, &self.capacity) {
            Some(fitting) => self.behind_head(rank, fitting),
            None if pack(gang, &self.capacity, &self.capacity).is_none() => Err(Why::Never),
            None => Err(Why::NoRoom),
        }
    }

    /// Where a job that fits may start without delaying the head.
    ///
    /// If the head starts by a known time, the job is gone by then or leaves the head its room. If nobody
    /// can say when the head starts, the job takes only what the head could not use anyway.
    fn behind_head(&mut self, rank: usize, fitting: Vec<Share>) -> Result<Vec<Share>, Why> {
        let Some(head) = &mut self.head else { return Ok(fitting) };
        let end_ms = self.queue[rank].max_duration_ms.map(|most| self.now_ms.saturating_add(most));
        if end_ms.is_some_and(|end_ms| head.starts_after(end_ms)) {
            return Ok(fitting);
        }
        let (gang, head_gang) = (self.gangs.get(rank), self.gangs.get(head.rank));
        let room = head.beside(head_gang, &self.free, &self.stays, &self.capacity);
        let beside = pack(gang, &room, &self.capacity);
        beside.filter(|shares| head.let_stay(shares, head_gang, &self.capacity)).ok_or(Why::BehindHead)
    }

    fn remember(&mut self, rank: usize, why: Why) {
        if self.head.is_none() && matches!(why, Why::NoRoom) {
            self.head = Some(Head::new(rank, self.gangs.get(rank), &self.free, &self.stays, &self.capacity));
        }
        self.refusals[self.gangs.of[rank]] = Some(Refusal { why, lasts_ms: self.lasts_ms(rank) });
    }

    fn start(&mut self, rank: usize, shares: &[Share]) {
        self.free.take_shares(shares);
        let until_ms = self.queue[rank].max_duration_ms.map(|most| self.now_ms.saturating_add(most));
        let label = self.queue[rank].label.as_str();
        if self.holders.last() != Some(&label) {
            self.holders.push(label);
        }
        let holder = self.holders.len() - 1;
        let stay = |share: &Share| Stay { holder, node: share.node, amount: times(&share.each, share.tasks), until_ms };
        self.stays.extend(shares.iter().map(stay));
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

impl Gangs {
    fn of(queue: &[&Waiting], kinds: &Kinds) -> Self {
        let mut known: HashMap<Vec<(Need, u32)>, usize> = HashMap::new();
        let mut different = Vec::new();
        let mut which = |waiting: &&Waiting| {
            let needs: Vec<(Need, u32)> = waiting.gang.iter().map(|demand| (kinds.need(&demand.each), demand.tasks)).collect();
            if let Some(at) = known.get(&needs) {
                return *at;
            }
            different.push(Gang::new(needs.clone(), kinds.width()));
            known.insert(needs, different.len() - 1);
            different.len() - 1
        };
        let of = queue.iter().map(&mut which).collect();
        Self { different, of }
    }

    fn get(&self, rank: usize) -> &Gang {
        &self.different[self.of[rank]]
    }
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
            stays.push(Stay { holder: holders.len() - 1, node, amount: kinds.row(&it.amount), until_ms: it.until_ms });
        }
    }
    (stays, holders)
}
