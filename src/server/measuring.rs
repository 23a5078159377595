//! Looks at the machine and at what tasks use on each of its nodes, and writes it down. While the server is away there is
//! nobody to look, and there will be a gap; tasks have their own, who do not stop.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    time::Duration,
};

use model::{
    ids::{NodeName, RunKey},
    usage::{Absence, Basis, Figure, Kind, Reading, Source},
};

use crate::{
    control::now_ms,
    rundir::{RunDir, private_dir},
    store::{Store, runs},
    usage::{self, Devices, Keeper, Place, machine},
};

const LOOK_EVERY: Duration = Duration::from_secs(5);

/// Never ends. What cannot be written down is said, and tried again at the next look.
pub async fn keep_measuring(store: Store, data: PathBuf) {
    let mut measures = Measures::new(data);
    let mut pace = tokio::time::interval(LOOK_EVERY);
    pace.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        pace.tick().await;
        let Ok(live) = store.read(runs::live).await else { continue };
        let live = live.into_iter().map(|run| (run.run, run.node, run.placed_at_ms)).collect();
        let looked = tokio::task::spawn_blocking(move || {
            let done = measures.look(live);
            (measures, done)
        });
        let Ok((back, done)) = looked.await else { return tracing::error!("the machine is no longer looked at") };
        measures = back;
        if let Err(error) = done {
            tracing::warn!("what the machine uses could not be written down: {error}");
        }
    }
}

struct Measures {
    data: PathBuf,
    began_ms: u64,
    devices: Devices,
    machine: Option<Keeper>,
    nodes: BTreeMap<NodeName, Keeper>,
    /// How far each live run was.
    seen: HashMap<RunKey, (NodeName, Reading)>,
}

type Live = Vec<(RunKey, NodeName, u64)>;

impl Measures {
    fn new(data: PathBuf) -> Self {
        let devices = Devices::all();
        Self { data, began_ms: now_ms(), devices, machine: None, nodes: BTreeMap::new(), seen: HashMap::new() }
    }

    fn look(&mut self, live: Live) -> std::io::Result<()> {
        let folder = usage::folder(&self.data);
        private_dir(&folder)?;
        self.machine()?;
        for (node, (added, gauges)) in self.by_node(live) {
            let place = Place::of_node(&self.data, &node);
            if !self.nodes.contains_key(&node) {
                place.write_basis(&node_basis())?;
                self.nodes.insert(node.clone(), Keeper::open(place)?);
            }
            let Some(keeper) = self.nodes.get_mut(&node) else { continue };
            let reading = grown(keeper.last(), &added, &gauges);
            keeper.add(&reading)?;
        }
        Ok(())
    }

    fn machine(&mut self) -> std::io::Result<()> {
        let mut basis = Basis::default();
        let reading = machine::reading(&self.data, now_ms(), &self.devices, &mut basis);
        let place = Place::of_machine(&self.data);
        if self.machine.is_none() {
            place.write_basis(&basis)?;
            self.machine = Some(Keeper::open(place)?);
        }
        self.machine.as_mut().map_or(Ok(()), |keeper| keeper.add(&reading))
    }

    /// For each node what was added to its counters since the last look, and how its gauges stand.
    fn by_node(&mut self, live: Live) -> BTreeMap<NodeName, (Reading, Reading)> {
        let mut found: BTreeMap<NodeName, (Reading, Reading)> = self.nodes.keys().map(|node| (node.clone(), Default::default())).collect();
        let mut before = std::mem::take(&mut self.seen);
        for (run, node, placed_at_ms) in live {
            let sums = found.entry(node.clone()).or_default();
            let Some(now) = last_of(&self.data, &run) else { continue };
            // What a run did before there was anybody to look belongs to no moment we know of.
            let unseen = if placed_at_ms >= self.began_ms { Reading::default() } else { now.clone() };
            let earlier = before.remove(&run).map_or(unseen, |(_, reading)| reading);
            add_growth(&mut sums.0, &earlier, &now);
            add_gauges(&mut sums.1, &now);
            self.seen.insert(run, (node, now));
        }
        // Those that have ended since the last look have left their last word.
        for (run, (node, earlier)) in before {
            if let Some(last) = last_of(&self.data, &run) {
                add_growth(&mut found.entry(node).or_default().0, &earlier, &last);
            }
        }
        found
    }
}

fn last_of(data: &Path, run: &RunKey) -> Option<Reading> {
    Place::of_run(&RunDir::new(data, run)).recent(1).pop()
}

fn add_growth(sum: &mut Reading, earlier: &Reading, now: &Reading) {
    for figure in Figure::of_tasks().filter(|it| it.kind() == Kind::Counter) {
        let grown = now.get(figure).map(|now| now.saturating_sub(earlier.get(figure).unwrap_or(0)));
        sum.set(figure, Some(sum.get(figure).unwrap_or(0).saturating_add(grown.unwrap_or(0))));
    }
}

fn add_gauges(sum: &mut Reading, now: &Reading) {
    for figure in Figure::of_tasks().filter(|it| it.kind() == Kind::Gauge) {
        if let Some(value) = now.get(figure) {
            sum.set(figure, Some(sum.get(figure).unwrap_or(0).saturating_add(value)));
        }
    }
}

/// The next reading of a node: counters go on from where they were, and a node without tasks uses nothing.
fn grown(last: Option<&Reading>, added: &Reading, gauges: &Reading) -> Reading {
    let mut reading = Reading { at_ms: now_ms(), ..Reading::default() };
    for figure in Figure::of_tasks() {
        let value = match figure.kind() {
            Kind::Counter => last.and_then(|it| it.get(figure)).unwrap_or(0).saturating_add(added.get(figure).unwrap_or(0)),
            Kind::Gauge => gauges.get(figure).unwrap_or(0),
        };
        reading.set(figure, Some(value));
    }
    reading
}

fn node_basis() -> Basis {
    let mut basis = Basis::default();
    let of_tasks: Vec<Figure> = Figure::of_tasks().collect();
    basis.note(&of_tasks, Ok(Source::SumOfTasks));
    basis.note(&[Figure::Load, Figure::DiskUsedBytes], Err(Absence::NotPerNode));
    basis
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(cpu: u64, memory: u64) -> Reading {
        let mut reading = Reading { at_ms: 1, ..Reading::default() };
        reading.set(Figure::CpuCores, Some(cpu));
        reading.set(Figure::MemoryBytes, Some(memory));
        reading
    }

    fn run(number: u8) -> RunKey {
        RunKey { job: model::ids::JobId::new(7, &[number; 10]), task: "worker-0".parse().unwrap(), attempt: 1 }
    }

    fn keep(data: &Path, run: &RunKey, at_ms: u64, cpu: u64, memory: u64) {
        let dir = RunDir::new(data, run);
        std::fs::create_dir_all(dir.path()).unwrap();
        Keeper::open(Place::of_run(&dir)).unwrap().add(&Reading { at_ms, ..reading(cpu, memory) }).unwrap();
    }

    #[test]
    fn a_node_uses_what_its_tasks_use_and_their_end_takes_nothing_back() {
        let home = tempfile::tempdir().unwrap();
        let (data, node) = (home.path(), "left".parse::<NodeName>().unwrap());
        let mut measures = Measures::new(data.to_owned());
        let live = |runs: &[u8], placed_at_ms: u64| runs.iter().map(|it| (run(*it), node.clone(), placed_at_ms)).collect::<Live>();
        let later = measures.began_ms + 1;
        let mut used = |live: Live| {
            let found = measures.by_node(live);
            let (added, gauges) = found.get(&"left".parse().unwrap()).cloned().unwrap_or_default();
            (added.get(Figure::CpuCores), gauges.get(Figure::MemoryBytes))
        };
        // One that ran before anybody looked begins where it is; one that began since begins at nothing.
        keep(data, &run(1), 10, 500, 7);
        keep(data, &run(2), 10, 30, 5);
        assert_eq!(used(live(&[1], 0)), (Some(0), Some(7)));
        assert_eq!(used([live(&[1], 0), live(&[2], later)].concat()), (Some(30), Some(12)));
        keep(data, &run(1), 20, 600, 9);
        keep(data, &run(2), 20, 45, 1);
        // The second has ended meanwhile, and what it did until then counts.
        assert_eq!(used(live(&[1], 0)), (Some(115), Some(9)));
    }
}
