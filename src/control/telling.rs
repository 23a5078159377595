//! Who is told anew why they wait. In a long queue each start changes a number for everybody behind it, and to write all of that
//! down at every look would cost more than the jobs themselves. So a look tells the front, then those who were told nothing yet,
//! and then some more, from where the last look ended.

use std::{
    cmp::Reverse,
    collections::BTreeSet,
    ops::Bound::{Excluded, Unbounded},
};

use model::{ids::JobId, schedule::Waiting};

/// How many are told in one look.
const TOLD_MAX: usize = 200;
/// How many of them stand at the front.
const FRONT_MAX: usize = 50;

/// Where a job stands in the queue.
type Rank = (Reverse<i32>, JobId);

/// Whom the last look told last. A restart forgets it and begins at the front.
#[derive(Default)]
pub struct Telling(Option<Rank>);

impl Telling {
    /// Whom to tell in a look at the whole queue.
    pub fn next(&mut self, queue: &[Waiting], untold: &BTreeSet<JobId>) -> BTreeSet<JobId> {
        let ranks = ranks(queue);
        let mut told = first(&ranks);
        let new = ranks.iter().map(|(_, job)| *job).filter(|job| untold.contains(job));
        told.extend(new.take(TOLD_MAX - FRONT_MAX));
        let behind = self.0.map_or(Unbounded, Excluded);
        let round = ranks.range((behind, Unbounded)).chain(&ranks).take(ranks.len());
        for rank in round {
            if told.len() >= TOLD_MAX {
                break;
            }
            told.insert(rank.1);
            self.0 = Some(*rank);
        }
        told
    }
}

/// Whom to tell in a look that goes no further than the front.
pub fn front(queue: &[Waiting]) -> BTreeSet<JobId> {
    first(&ranks(queue))
}

fn ranks(queue: &[Waiting]) -> BTreeSet<Rank> {
    queue.iter().map(|it| (Reverse(it.priority), it.job)).collect()
}

fn first(ranks: &BTreeSet<Rank>) -> BTreeSet<JobId> {
    ranks.iter().take(FRONT_MAX).map(|(_, job)| *job).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::job_id;

    fn queue(numbers: impl Iterator<Item = u64>) -> Vec<Waiting> {
        let waiting = |number| Waiting {
            job: job_id(number),
            label: String::new(),
            priority: 0,
            max_duration_ms: None,
            gang: Vec::new(),
            loose: None,
        };
        numbers.map(waiting).collect()
    }

    fn jobs(numbers: impl Iterator<Item = u64>) -> BTreeSet<JobId> {
        numbers.map(job_id).collect()
    }

    #[test]
    fn a_short_queue_is_told_whole_at_every_look() {
        let mut telling = Telling::default();
        for _ in 0..3 {
            assert_eq!(telling.next(&queue(1..=200), &BTreeSet::new()), jobs(1..=200));
        }
        assert_eq!(telling.next(&[], &BTreeSet::new()), BTreeSet::new());
    }

    #[test]
    fn in_a_long_queue_everyone_has_their_turn_and_the_front_has_it_always() {
        let (mut telling, queue) = (Telling::default(), queue(1..=5000));
        let mut told = BTreeSet::new();
        for _ in 0..34 {
            let now = telling.next(&queue, &BTreeSet::new());
            assert!(now.len() == TOLD_MAX && now.is_superset(&jobs(1..=50)));
            told.extend(now);
        }
        assert_eq!(told, jobs(1..=5000));
    }

    #[test]
    fn the_round_goes_on_although_jobs_leave_the_front() {
        let mut telling = Telling::default();
        let first = telling.next(&queue(1..=5000), &BTreeSet::new());
        let second = telling.next(&queue(101..=5000), &BTreeSet::new());
        assert_eq!((first, second), (jobs(1..=200), jobs((101..=150).chain(201..=350))));
    }

    #[test]
    fn where_only_the_front_is_looked_at_only_the_front_is_told() {
        assert_eq!(front(&queue((1..=200).rev())), jobs(1..=50));
    }

    #[test]
    fn whoever_was_told_nothing_yet_comes_before_the_others() {
        let told = Telling::default().next(&queue(1..=5000), &jobs(4900..=5000));
        assert!(told.is_superset(&jobs(4900..=5000)) && told.len() == TOLD_MAX);
    }
}
