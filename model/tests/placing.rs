//! What placing promises, whatever it is given.

mod world;

use std::collections::BTreeMap;

use model::{
    ids::{JobId, NodeName},
    resources::{ANY_ACCELERATOR, Resources},
    schedule::{Assignment, Decision, Held, Node, Waiting, What, place, place_telling},
};
use proptest::prelude::*;
use world::{NOW_MS, Starts, World, a_loose_world, a_world, run_on};

fn free(nodes: &[Node], held: &[Held]) -> BTreeMap<NodeName, Resources> {
    let mut free: BTreeMap<NodeName, Resources> = nodes.iter().map(|node| (node.name.clone(), node.capacity.clone())).collect();
    for it in held {
        free.get_mut(&it.node).expect("a node of the world").take(&it.amount);
    }
    free
}

fn started(decisions: &[Decision]) -> impl Iterator<Item = (JobId, &[Assignment])> {
    decisions.iter().filter_map(|decision| match &decision.what {
        What::Start(assignments) | What::Part(assignments, _) => Some((decision.job, assignments.as_slice())),
        What::Wait(_) => None,
    })
}

fn waiting(world: &World, job: JobId) -> &Waiting {
    world.queue.iter().find(|waiting| waiting.job == job).expect("a job of the queue")
}

/// Whether a task was given what it asked for, with "any" device made into one type.
fn is_met(asked: &Resources, given: &Resources) -> bool {
    let Some(any) = asked.accelerators.get(ANY_ACCELERATOR) else { return asked == given };
    let mut named = asked.clone();
    named.accelerators.remove(ANY_ACCELERATOR);
    given.accelerators.keys().any(|kind| {
        let mut with_any = named.clone();
        *with_any.accelerators.entry(kind.clone()).or_default() += any;
        with_any == *given
    })
}

fn can_be_placed(tasks: &[&Resources], free: &mut [Resources]) -> bool {
    let Some((task, rest)) = tasks.split_first() else { return true };
    (0..free.len()).any(|node| {
        kinds(task, &free[node]).iter().filter(|given| free[node].holds(given)).any(|given| {
            let mut with_it = free.to_vec();
            with_it[node].take(given);
            can_be_placed(rest, &mut with_it)
        })
    })
}

/// The task with its "any" device made into each type the node has.
fn kinds(task: &Resources, node: &Resources) -> Vec<Resources> {
    let Some(any) = task.accelerators.get(ANY_ACCELERATOR) else { return vec![task.clone()] };
    let of_kind = |kind: &String| Resources { accelerators: BTreeMap::from([(kind.clone(), *any)]), ..task.clone() };
    node.accelerators.keys().map(of_kind).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_node_is_never_given_more_than_it_has_and_a_closed_one_nothing(world in a_loose_world()) {
        let mut free = free(&world.nodes, &world.held);
        for (_, assignments) in started(&world.place()) {
            for it in assignments {
                prop_assert!(world.nodes.iter().any(|node| node.name == it.node && node.open));
                let free = free.get_mut(&it.node).unwrap();
                prop_assert!(free.holds(&it.amount), "{} has {free}, not {}", it.node, it.amount);
                free.take(&it.amount);
            }
        }
    }

    #[test]
    fn a_gang_starts_whole_and_every_task_gets_what_it_asked_for(world in a_loose_world()) {
        for (job, assignments) in started(&world.place()).filter(|(job, _)| waiting(&world, *job).loose.is_none()) {
            let asked: Vec<_> = waiting(&world, job).gang.iter().flat_map(|demand| (0..demand.tasks).map(move |index| (demand, index))).collect();
            prop_assert_eq!(asked.len(), assignments.len());
            for ((demand, index), it) in asked.into_iter().zip(assignments) {
                prop_assert_eq!((&demand.role, index), (&it.role, it.index));
                prop_assert!(is_met(&demand.each, &it.amount), "asked {}, got {}", demand.each, it.amount);
            }
        }
    }

    /// Of a job that is no gang, tasks start in the order of their indices, and what waits would not fit alone.
    #[test]
    fn a_task_of_a_job_that_is_no_gang_starts_if_it_is_the_first_and_fits(world in a_loose_world()) {
        let decisions = world.place();
        for (job, assignments) in started(&decisions).filter(|(job, _)| waiting(&world, *job).loose.is_some()) {
            let its = waiting(&world, job);
            for (demand, indices) in its.gang.iter().zip(&its.loose.as_ref().unwrap().indices) {
                let given: Vec<u32> = assignments.iter().filter(|it| it.role == demand.role).map(|it| it.index).collect();
                prop_assert!(indices.starts_with(&given), "{given:?} of {indices:?}");
                prop_assert!(assignments.iter().filter(|it| it.role == demand.role).all(|it| is_met(&demand.each, &it.amount)));
            }
        }
        let Some(first) = decisions.first().filter(|it| waiting(&world, it.job).loose.is_some()) else { return Ok(()) };
        let its = waiting(&world, first.job);
        let fits = |each: &Resources| {
            let open = world.nodes.iter().filter(|node| node.open).map(|node| &node.name);
            let mut free: Vec<Resources> = open.map(|name| free(&world.nodes, &world.held)[name].clone()).collect();
            can_be_placed(&[each], &mut free)
        };
        let first_role = its.gang.iter().zip(&its.loose.as_ref().unwrap().indices).find(|(_, indices)| !indices.is_empty());
        let starts = matches!(&first.what, What::Start(_) | What::Part(..));
        if let Some((demand, _)) = first_role.filter(|(demand, _)| fits(&demand.each)) {
            prop_assert!(starts, "a {} task fits", demand.role);
        }
    }

    /// In waves, each beginning when the one before has ended, every task that fits at all is started exactly once.
    #[test]
    fn a_job_that_is_no_gang_starts_every_task_once_in_waves(world in a_loose_world()) {
        for waiting in world.queue.iter().filter(|it| it.loose.is_some()) {
            let mut rest = waiting.clone();
            let mut started = Vec::new();
            loop {
                let decision = place(std::slice::from_ref(&rest), &world.nodes, &[], NOW_MS).remove(0);
                let (wave, all) = match decision.what {
                    What::Start(wave) => (wave, true),
                    What::Part(wave, _) => (wave, false),
                    What::Wait(_) => break,
                };
                for (demand, indices) in rest.gang.iter().zip(&mut rest.loose.as_mut().unwrap().indices) {
                    indices.retain(|index| !wave.iter().any(|it| it.role == demand.role && it.index == *index));
                }
                started.extend(wave.into_iter().map(|it| (it.role, it.index)));
                if all {
                    break;
                }
            }
            let mut expected = Vec::new();
            for (demand, indices) in waiting.gang.iter().zip(&waiting.loose.as_ref().unwrap().indices) {
                let mut open: Vec<Resources> = world.nodes.iter().filter(|node| node.open).map(|node| node.capacity.clone()).collect();
                if can_be_placed(&[&demand.each], &mut open) {
                    expected.extend(indices.iter().map(|index| (demand.role.clone(), *index)));
                }
            }
            started.sort();
            expected.sort();
            prop_assert_eq!(started, expected);
        }
    }

    #[test]
    fn the_order_of_what_is_given_changes_nothing(world in a_loose_world(), seed in any::<u64>()) {
        prop_assert_eq!(world.shuffled(seed).place(), world.place());
    }

    #[test]
    fn every_job_is_decided_once_and_one_that_waits_has_a_reason_with_numbers(world in a_loose_world()) {
        let decisions = world.place();
        let mut jobs: Vec<JobId> = decisions.iter().map(|decision| decision.job).collect();
        jobs.sort();
        let mut queued: Vec<JobId> = world.queue.iter().map(|waiting| waiting.job).collect();
        queued.sort();
        prop_assert_eq!(jobs, queued);
        for decision in &decisions {
            if let What::Wait(reason) | What::Part(_, reason) = &decision.what {
                for said in [&reason.en, &reason.zh] {
                    prop_assert!(said.contains(|c: char| c.is_ascii_digit()) && said.len() < 2000, "{said}");
                }
            }
        }
    }

    #[test]
    fn whom_to_tell_changes_nothing_but_who_is_told(world in a_loose_world(), told in prop::collection::vec(any::<bool>(), 16)) {
        let is_told = |job: JobId| world.queue.iter().position(|it| it.job == job).is_some_and(|at| told[at % told.len()]);
        let some = place_telling(&world.queue, &world.nodes, &world.held, NOW_MS, is_told);
        let mut all = world.place();
        all.retain(|it| is_told(it.job) || !matches!(it.what, What::Wait(_)));
        prop_assert_eq!(some, all);
    }

    #[test]
    fn the_answer_comes_by_priority_and_then_by_arrival(world in a_loose_world()) {
        let ranks: Vec<_> = world.place().iter().map(|it| (std::cmp::Reverse(waiting(&world, it.job).priority), it.job)).collect();
        prop_assert!(ranks.is_sorted());
    }

    #[test]
    fn among_equals_the_older_job_starts_first(world in a_world()) {
        let decisions = world.place();
        for (at, later) in decisions.iter().enumerate().filter(|(_, it)| matches!(it.what, What::Start(_))) {
            let its = waiting(&world, later.job);
            for earlier in &decisions[..at] {
                let other = waiting(&world, earlier.job);
                let equal = (&other.gang, other.max_duration_ms, other.priority) == (&its.gang, its.max_duration_ms, its.priority);
                prop_assert!(!equal || matches!(earlier.what, What::Start(_)), "{} before {}", its.label, other.label);
            }
        }
    }

    /// Every way to put the tasks on the nodes is tried here, one after the other.
    #[test]
    fn the_first_job_starts_exactly_if_there_is_a_way_to_place_it(world in a_world()) {
        let first = world.place().into_iter().next();
        let Some(Decision { job, what }) = first else { return Ok(()) };
        let gang = &waiting(&world, job).gang;
        let open = world.nodes.iter().filter(|node| node.open).map(|node| &node.name);
        let mut free: Vec<Resources> = open.map(|name| free(&world.nodes, &world.held)[name].clone()).collect();
        let tasks: Vec<&Resources> = gang.iter().flat_map(|demand| vec![&demand.each; demand.tasks as usize]).collect();
        prop_assert_eq!(matches!(what, What::Start(_)), can_be_placed(&tasks, &mut free));
    }

    /// Everyone takes as long as they may. The head starts when it would have started had nobody come after it.
    #[test]
    fn nobody_behind_the_head_delays_it_when_ends_are_known(world in a_world()) {
        let Some(head) = world.head() else { return Ok(()) };
        let (with, without) = (run_on(&world, &[]), run_on(&world.up_to(head), &[]));
        prop_assert!(not_later(&with, &without, head), "with {with:?}, without {without:?}");
    }

    /// Nobody says how long they take, and those who hold something leave in any order.
    #[test]
    fn nobody_behind_the_head_delays_it_when_no_end_is_known(world in a_world(), leave_at in prop::collection::vec(1_u64..100, 8)) {
        let world = world.without_ends();
        let Some(head) = world.head() else { return Ok(()) };
        let (with, without) = (run_on(&world, &leave_at), run_on(&world.up_to(head), &leave_at));
        prop_assert!(not_later(&with, &without, head), "with {with:?}, without {without:?}");
    }
}

fn not_later(with: &Starts, without: &Starts, job: JobId) -> bool {
    let at = |starts: &Starts| starts.get(&job).copied().unwrap_or(u64::MAX);
    at(with) <= at(without)
}
