//! What is placed together: a whole gang, or one task of a role after the other.

use std::borrow::Cow;

use super::{
    Assignment, Demand, Waiting,
    packing::Share,
    turn::{Outcome, Turn, Why},
};
use crate::words::Words;

pub(super) struct Unit<'a> {
    /// The position of its job in the order of placing.
    pub of: usize,
    /// What is asked for at once.
    pub asks: Cow<'a, Waiting>,
    /// The tasks of one role, to be placed one by one; none for a gang.
    one_by_one: Option<&'a [u32]>,
}

/// What came of a unit.
pub(super) struct Tried {
    /// For each start, where it goes.
    starts: Vec<Vec<Share>>,
    pub why: Option<Why>,
}

/// The units of the queue, those of one job beside each other.
pub(super) fn units<'a>(queue: &[&'a Waiting]) -> Vec<Unit<'a>> {
    let mut units = Vec::with_capacity(queue.len());
    for (of, waiting) in queue.iter().enumerate() {
        let Some(loose) = &waiting.loose else {
            units.push(Unit { of, asks: Cow::Borrowed(waiting), one_by_one: None });
            continue;
        };
        for (demand, indices) in waiting.gang.iter().zip(&loose.indices).filter(|(_, indices)| !indices.is_empty()) {
            let one = Waiting { gang: vec![Demand { tasks: 1, ..demand.clone() }], loose: None, ..(*waiting).clone() };
            units.push(Unit { of, asks: Cow::Owned(one), one_by_one: Some(indices) });
        }
    }
    units
}

impl Unit<'_> {
    /// Room only shrinks, so where one task of a role finds none, the next need not look.
    pub fn try_at(&self, rank: usize, turn: &mut Turn<'_>) -> Tried {
        let mut tried = Tried { starts: Vec::new(), why: None };
        for _ in 0..self.one_by_one.map_or(1, <[u32]>::len) {
            match turn.decide(rank) {
                Outcome::Start(shares) => tried.starts.push(shares),
                Outcome::Wait(why) => {
                    tried.why = Some(why);
                    break;
                }
            }
        }
        tried
    }

    pub fn assignments(&self, turn: &Turn<'_>, rank: usize, tried: &Tried) -> Vec<Assignment> {
        let placed = tried.starts.iter().flat_map(|shares| turn.assignments(rank, shares));
        match self.one_by_one {
            None => placed.collect(),
            Some(indices) => placed.zip(indices).map(|(it, index)| Assignment { index: *index, ..it }).collect(),
        }
    }
}

/// The reason of a task that waits, beside what the other tasks of its job do.
pub(super) fn with_the_others(waiting: &Waiting, starting: usize, reason: &Words) -> Words {
    let Some(loose) = &waiting.loose else { return reason.clone() };
    let (running, all) = (loose.running as usize + starting, loose.all);
    let over = match loose.over {
        0 => Words::default(),
        over => Words::new(format!(" and {over} are over"), format!("，{over} 个已结束")),
    };
    Words::new(
        format!("{running} of {all} tasks run{}; the next {}", over.en, reason.en),
        format!("{all} 个任务中 {running} 个在运行{}；下一个{}", over.zh, reason.zh),
    )
}
