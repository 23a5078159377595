//! Small clusters with jobs on them, made by chance, and a clock to run them by.

use std::collections::BTreeMap;

use model::{
    ids::JobId,
    resources::{GIB, Resources},
    schedule::{Assignment, Decision, Demand, Held, Loose, Node, Waiting, What, place},
};
use proptest::prelude::*;

pub const NOW_MS: u64 = 1_000;

#[derive(Clone, Debug)]
pub struct World {
    pub queue: Vec<Waiting>,
    pub nodes: Vec<Node>,
    pub held: Vec<Held>,
}

/// When each job was started.
pub type Starts = BTreeMap<JobId, u64>;

fn job(number: u64) -> JobId {
    JobId::new(number, &[0; 10])
}

fn amount(cpus: u64, memory_gib: u64, devices: &[(&str, u32)]) -> Resources {
    let accelerators = devices.iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind.to_string(), *count)).collect();
    Resources { cpus_milli: cpus * 1000, memory_bytes: memory_gib * GIB, accelerators }
}

fn a_node() -> impl Strategy<Value = (Resources, bool)> {
    let devices = prop_oneof![3 => Just((0, 0)), 1 => (0..4_u32, 0..3_u32)];
    let capacity =
        (1..=8_u64, 1..=8_u64, devices).prop_map(|(cpus, memory, (a100, t4))| amount(cpus, memory, &[("A100", a100), ("T4", t4)]));
    (capacity, prop::bool::weighted(0.9))
}

fn a_task() -> impl Strategy<Value = Resources> {
    let devices = prop_oneof![4 => Just(("any", 0)), 1 => (prop::sample::select(vec!["any", "A100", "T4"]), 1..3_u32)];
    (1..=5_u64, 1..=4_u64, devices).prop_map(|(cpus, memory, device)| amount(cpus, memory, &[device]))
}

fn a_gang() -> impl Strategy<Value = Vec<Demand>> {
    let demand = |role: &'static str| {
        (a_task(), 1..=3_u32).prop_map(move |(each, tasks)| Demand { role: role.parse().expect("a good name"), tasks, each })
    };
    prop_oneof![3 => demand("worker").prop_map(|it| vec![it]), 2 => (demand("ps"), demand("worker")).prop_map(|(ps, worker)| vec![ps, worker])]
}

type Shape = (Vec<Demand>, i32, Option<u64>);

fn a_shape() -> impl Strategy<Value = Shape> {
    (a_gang(), -1..=1_i32, prop::option::weighted(0.7, 1..100_u64))
}

/// Those who hold something were placed by the same rules as everyone.
pub fn a_world() -> impl Strategy<Value = World> {
    let nodes = prop::collection::vec(a_node(), 1..=4);
    let jobs = || prop::collection::vec(a_shape(), 0..8);
    (nodes, jobs(), jobs()).prop_map(|(nodes, before, queue)| {
        let named = |(at, (capacity, open)): (usize, (Resources, bool))| Node {
            name: format!("node-{at}").parse().expect("a good name"),
            capacity,
            open,
        };
        let nodes: Vec<Node> = nodes.into_iter().enumerate().map(named).collect();
        let open: Vec<Node> = nodes.iter().cloned().map(|node| Node { open: true, ..node }).collect();
        let mut world = World { queue: jobs_from(1, before), nodes: open, held: Vec::new() };
        world.start(NOW_MS);
        World { queue: jobs_from(100, queue), nodes, held: world.held }
    })
}

/// The same, with some of those that wait made into jobs that are no gangs, and some of their tasks gone already.
pub fn a_loose_world() -> impl Strategy<Value = World> {
    (a_world(), prop::collection::vec((any::<bool>(), 0..4_u32), 8)).prop_map(|(mut world, which)| {
        for (waiting, (_, gone)) in world.queue.iter_mut().zip(which).filter(|(_, (loose, _))| *loose) {
            let mut loose = Loose::whole(&waiting.gang);
            loose.running = gone.min(waiting.gang[0].tasks - 1);
            loose.indices[0].drain(..loose.running as usize);
            waiting.loose = Some(loose);
        }
        world
    })
}

fn jobs_from(first: u64, shapes: Vec<Shape>) -> Vec<Waiting> {
    let waiting = |(number, (gang, priority, max_duration_ms)): (u64, Shape)| Waiting {
        job: job(number),
        label: format!("job{number}@1"),
        priority,
        max_duration_ms,
        gang,
        loose: None,
    };
    (first..).zip(shapes).map(waiting).collect()
}

impl World {
    pub fn place(&self) -> Vec<Decision> {
        place(&self.queue, &self.nodes, &self.held, NOW_MS)
    }

    /// The first job that waits and would fit into the empty cluster.
    pub fn head(&self) -> Option<JobId> {
        let waits = |it: &Decision| matches!(&it.what, What::Wait(reason) if !reason.en.contains("can never fit"));
        self.place().iter().find(|it| waits(it)).map(|it| it.job)
    }

    /// The same with nobody behind `last`.
    pub fn up_to(&self, last: JobId) -> World {
        let order: Vec<JobId> = self.place().iter().map(|it| it.job).collect();
        let rank = |job: JobId| order.iter().position(|it| *it == job);
        let queue = self.queue.iter().filter(|it| rank(it.job) <= rank(last)).cloned().collect();
        World { queue, ..self.clone() }
    }

    pub fn without_ends(&self) -> World {
        let queue = self.queue.iter().cloned().map(|it| Waiting { max_duration_ms: None, ..it }).collect();
        let held = self.held.iter().cloned().map(|it| Held { until_ms: None, ..it }).collect();
        World { queue, held, nodes: self.nodes.clone() }
    }

    pub fn shuffled(&self, seed: u64) -> World {
        let mut world = self.clone();
        let mut state = seed;
        let mut by_chance = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        world.queue.sort_by_cached_key(|_| by_chance());
        world.nodes.sort_by_cached_key(|_| by_chance());
        world.held.sort_by_cached_key(|_| by_chance());
        world
    }

    /// One turn: whatever may start holds its part from now on.
    fn start(&mut self, now_ms: u64) -> Vec<JobId> {
        let mut jobs = Vec::new();
        for decision in place(&self.queue, &self.nodes, &self.held, now_ms) {
            let assignments: Vec<Assignment> = match decision.what {
                What::Start(assignments) => assignments,
                What::Part(..) => unreachable!("there are only gangs here"),
                What::Wait(_) => continue,
            };
            let at = self.queue.iter().position(|it| it.job == decision.job).expect("a job of the queue");
            let waiting = self.queue.remove(at);
            self.held.extend(assignments.into_iter().map(|it| Held {
                job: waiting.job,
                label: waiting.label.clone(),
                node: it.node,
                amount: it.amount,
                until_ms: waiting.max_duration_ms.map(|most| now_ms + most),
            }));
            jobs.push(decision.job);
        }
        jobs
    }
}

/// Runs the world turn by turn until nothing happens any more. Jobs with a maximum duration take all of it; those
/// that held something from the beginning without one leave after `leave_after_ms`, taken in turn.
pub fn run_on(world: &World, leave_after_ms: &[u64]) -> Starts {
    let mut world = world.clone();
    let mut leaving: BTreeMap<JobId, u64> = BTreeMap::new();
    for (held, after) in world.held.iter().zip(leave_after_ms.iter().cycle()) {
        leaving.entry(held.job).or_insert(NOW_MS + after);
    }
    let mut starts = Starts::new();
    let mut now_ms = NOW_MS;
    loop {
        starts.extend(world.start(now_ms).into_iter().map(|job| (job, now_ms)));
        let end = |held: &Held| held.until_ms.or(leaving.get(&held.job).copied());
        let Some(next) = world.held.iter().filter_map(end).min() else { return starts };
        now_ms = next;
        world.held.retain(|held| end(held) != Some(now_ms));
    }
}
