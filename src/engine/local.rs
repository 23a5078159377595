//! This machine as a cluster. Every run is a supervisor process of its own, started here and then left
//! alone: what is known about it is read from its directory, where it also survives the server.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    path::PathBuf,
    process::Child,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
};

use model::{ids::NodeName, ids::RunKey, reconcile::Seen};

use super::{Answer, Engine, EngineError, Node, Start};

mod clean;
mod doctor;
mod inventory;
mod look;
mod ports;
mod start;
mod stop;

pub use doctor::{Check, doctor};

/// What the local engine is told at the start.
#[derive(Clone, Debug)]
pub struct LocalConfig {
    pub data: PathBuf,
    /// The program to start as supervisor: this one.
    pub exe: PathBuf,
    /// Empty means one node: this machine as it is.
    pub nodes: Vec<NodeConfig>,
    pub ports: RangeInclusive<u16>,
}

impl LocalConfig {
    pub const PORTS_DEFAULT: RangeInclusive<u16> = 20_000..=29_999;
}

/// A node on this machine, with an address and resources of its own. What is not said is as it is found.
#[derive(Clone, Debug, Default)]
pub struct NodeConfig {
    pub name: Option<NodeName>,
    pub address: Option<String>,
    pub cpus_milli: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Accelerator type to the indices of its devices.
    pub devices: BTreeMap<String, Vec<u32>>,
}

#[derive(Clone)]
pub struct LocalEngine {
    house: Arc<House>,
}

/// What all calls share. None of it matters after a restart.
struct House {
    config: LocalConfig,
    nodes: Vec<Node>,
    /// Nodes that are taken down, to try what happens then.
    down: Mutex<BTreeSet<NodeName>>,
    /// Supervisors we have started, until they are reaped.
    supervisors: Mutex<Vec<Child>>,
    next_port: AtomicUsize,
}

impl LocalEngine {
    pub fn new(config: LocalConfig) -> std::io::Result<Self> {
        let nodes = inventory::nodes(&config.nodes)?;
        for dir in [config.data.join("runs"), config.data.join("live")] {
            crate::supervisor::rundir::private_dir(&dir)?;
        }
        let house = House { config, nodes, down: Mutex::default(), supervisors: Mutex::default(), next_port: AtomicUsize::new(0) };
        Ok(Self { house: Arc::new(house) })
    }

    /// Makes a node disappear with everything on it, as if its plug had been pulled.
    pub fn take_down(&self, node: &NodeName) -> Result<(), EngineError> {
        self.house.node(node)?;
        lock(&self.house.down).insert(node.clone());
        self.house.kill_supervisors_on(node)
    }

    pub fn bring_up(&self, node: &NodeName) {
        lock(&self.house.down).remove(node);
    }
}

impl House {
    fn node(&self, name: &NodeName) -> Result<&Node, EngineError> {
        self.nodes
            .iter()
            .find(|node| node.name == *name)
            .ok_or_else(|| EngineError::Never(format!("there is no node `{name}` on this machine")))
    }

    fn is_down(&self, name: &NodeName) -> bool {
        lock(&self.down).contains(name)
    }

    fn nodes(&self) -> Vec<Node> {
        let with_state = |node: &Node| match self.is_down(&node.name) {
            true => Node { open: false, reason: "it was taken down".into(), ..node.clone() },
            false => node.clone(),
        };
        self.nodes.iter().map(with_state).collect()
    }
}

/// Nothing in here can be left half done by a panic, so a poisoned lock is as good as any.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Files and processes are slow at times; the server's threads are not theirs to hold.
fn aside<'a, T: Send + 'static>(work: impl FnOnce() -> Result<T, EngineError> + Send + 'static) -> Answer<'a, T> {
    let work = tokio::task::spawn_blocking(work);
    Box::pin(async { work.await.unwrap_or_else(|panic| Err(EngineError::Away(format!("the local engine failed: {panic}")))) })
}

impl Engine for LocalEngine {
    fn nodes(&self) -> Answer<'_, Vec<Node>> {
        Box::pin(std::future::ready(Ok(self.house.nodes())))
    }

    fn free_ports<'a>(&'a self, node: &'a NodeName, count: usize, taken: &'a [u16]) -> Answer<'a, Vec<u16>> {
        Box::pin(std::future::ready(self.house.free_ports(node, count, taken)))
    }

    fn start<'a>(&'a self, start: Start<'a>) -> Answer<'a, ()> {
        let (house, letter) = (self.house.clone(), start::Letter::of(&start));
        aside(move || house.start(&letter?))
    }

    fn stop<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()> {
        let (house, run) = (self.house.clone(), run.clone());
        aside(move || house.stop(&run))
    }

    fn list(&self) -> Answer<'_, Vec<Seen>> {
        let house = self.house.clone();
        aside(move || house.list())
    }

    fn remove<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()> {
        let (house, run) = (self.house.clone(), run.clone());
        aside(move || house.remove(&run))
    }

    fn erase<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()> {
        let (house, run) = (self.house.clone(), run.clone());
        aside(move || house.erase(&run))
    }
}
