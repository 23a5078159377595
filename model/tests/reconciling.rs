//! What reconciling promises, whatever it finds.

use std::collections::BTreeMap;

use model::{
    ids::{JobId, RunKey, TaskName},
    reconcile::{Action, Phase, Seen, Wanted, decide},
    task::{Cause, Ending},
};
use proptest::prelude::*;

/// More turns than any world here needs.
const TURNS_MAX: usize = 8;

/// What the database wants, and what really runs.
#[derive(Clone, Debug, PartialEq)]
struct World {
    wanted: BTreeMap<RunKey, bool>,
    seen: BTreeMap<RunKey, Phase>,
    /// Asked to end, and gone before the next turn; a stop takes its time.
    stopping: Vec<RunKey>,
}

fn ending(code: i32) -> Ending {
    Ending::new(Cause::Exited { code }, Some(1), 2)
}

fn run(job: u64, task: u32, attempt: u32) -> RunKey {
    let task = TaskName { role: "worker".parse().expect("a good name"), index: task };
    RunKey { job: JobId::new(job, &[0; 10]), task, attempt }
}

fn a_phase() -> impl Strategy<Value = Phase> {
    prop_oneof![
        1 => Just(Phase::NotTaken),
        3 => Just(Phase::Alive),
        1 => (0..3).prop_map(|code| Phase::Ended(ending(code))),
        1 => Just(Phase::Vanished { why: "its supervisor is gone".into() }),
    ]
}

/// The database wants at most one attempt of each task; anything at all may be out there, but never two
/// live attempts of one task, because nobody ever starts a second.
fn a_world() -> impl Strategy<Value = World> {
    let wanted = prop::collection::btree_map((0..2_u64, 0..3_u32), (1..4_u32, any::<bool>()), 0..6);
    let seen = prop::collection::btree_map((0..2_u64, 0..3_u32, 1..4_u32), a_phase(), 0..10);
    (wanted, seen).prop_map(|(wanted, seen)| {
        let wanted = wanted.into_iter().map(|((job, task), (attempt, stop))| (run(job, task, attempt), stop)).collect();
        let mut world = World { wanted, seen: BTreeMap::new(), stopping: Vec::new() };
        for ((job, task, attempt), phase) in seen {
            let phase = if phase == Phase::Alive && world.lives(&run(job, task, attempt)) { Phase::Ended(ending(0)) } else { phase };
            world.seen.insert(run(job, task, attempt), phase);
        }
        world
    })
}

impl World {
    fn decide(&self) -> Vec<Action> {
        let wanted: Vec<Wanted> = self.wanted.iter().map(|(run, stop)| Wanted { run: run.clone(), stop: *stop }).collect();
        let seen: Vec<Seen> = self.seen.iter().map(|(run, phase)| Seen { run: run.clone(), phase: phase.clone() }).collect();
        decide(&wanted, &seen)
    }

    /// Whether any attempt of the same task is alive.
    fn lives(&self, run: &RunKey) -> bool {
        self.seen.iter().any(|(it, phase)| it.job == run.job && it.task == run.task && *phase == Phase::Alive)
    }

    fn apply(&mut self, action: Action) {
        match action {
            Action::Start(run) => {
                assert!(!self.lives(&run), "{run} would be a second live attempt");
                self.seen.insert(run, Phase::Alive);
            }
            Action::Stop(run) => {
                assert!(matches!(self.seen[&run], Phase::Alive | Phase::NotTaken));
                self.stopping.push(run);
            }
            Action::Record(run, ending) => {
                assert_eq!(self.seen[&run], Phase::Ended(ending));
                self.wanted.remove(&run).expect("it was wanted until now");
            }
            Action::GiveUp(run, why) => {
                assert_eq!(self.seen[&run], Phase::Vanished { why });
                self.wanted.remove(&run).expect("it was wanted until now");
            }
            Action::NeverStarted(run) => {
                assert_eq!(self.seen.get(&run), None);
                assert_eq!(self.wanted.remove(&run), Some(true));
            }
            Action::Remove(run) => {
                assert!(!self.wanted.contains_key(&run) && self.seen[&run] != Phase::Alive);
                self.seen.remove(&run);
            }
        }
    }

    /// Takes turns until there is nothing to do. In the first turns the server dies after that many actions.
    fn settle(mut self, dies_after: &[usize]) -> World {
        for turn in 0..TURNS_MAX + dies_after.len() {
            let actions = self.decide();
            if actions.is_empty() {
                return self;
            }
            let most = dies_after.get(turn).copied().unwrap_or(usize::MAX);
            actions.into_iter().take(most).for_each(|action| self.apply(action));
            for run in std::mem::take(&mut self.stopping) {
                self.seen.insert(run, Phase::Ended(ending(0)));
            }
        }
        panic!("still something to do: {:?}", self.decide());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn turn_by_turn_the_world_becomes_what_is_wanted_and_then_nothing_is_done(world in a_world()) {
        let settled = world.settle(&[]);
        prop_assert_eq!(settled.decide(), []);
        prop_assert!(settled.wanted.values().all(|stop| !stop));
        let alive: Vec<_> = settled.seen.iter().map(|(run, phase)| (run.clone(), phase.clone())).collect();
        let wanted: Vec<_> = settled.wanted.keys().map(|run| (run.clone(), Phase::Alive)).collect();
        prop_assert_eq!(alive, wanted);
    }

    #[test]
    fn a_server_that_dies_half_way_comes_to_the_same_end(world in a_world(), dies_after in prop::collection::vec(0..4_usize, 0..4)) {
        prop_assert_eq!(world.clone().settle(&dies_after), world.settle(&[]));
    }

    #[test]
    fn no_run_is_told_to_do_two_things_at_once(world in a_world()) {
        let mut runs: Vec<RunKey> = world.decide().into_iter().map(run_of).collect();
        let count = runs.len();
        runs.sort();
        runs.dedup();
        prop_assert_eq!(runs.len(), count);
    }
}

fn run_of(action: Action) -> RunKey {
    match action {
        Action::Start(run) | Action::Stop(run) | Action::NeverStarted(run) | Action::Remove(run) => run,
        Action::Record(run, _) | Action::GiveUp(run, _) => run,
    }
}
