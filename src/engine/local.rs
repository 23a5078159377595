//! This machine as a cluster. Every run is a supervisor process of its own, started here and then left
//! alone: what is known about it is read from its directory, where it also survives the server.

use std::{
    collections::{BTreeMap, BTreeSet},
    ops::RangeInclusive,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError, atomic::AtomicUsize},
};

use anyhow::Context;
use model::{ids::NodeName, ids::RunKey, plan::PortPlan, reconcile::Seen, said, sync::Synced, words::Words};
use nix::sys::resource::{Resource, getrlimit};

use super::{Answer, Engine, EngineError, Node, Start};
use crate::{
    config::{Keeping, ServerConfig, Staging},
    rundir::{live_dir, private_dir, reading_dir, runs_dir},
    supervisor::Nursery,
};

mod clean;
mod doctor;
mod inventory;
mod look;
mod ports;
mod python;
mod room;
mod start;
mod stop;
mod sync;

pub use doctor::{Check, doctor};

/// Where the local engine works, and with what.
#[derive(Clone, Debug)]
pub struct Local {
    /// Without links or dots in it.
    pub data: PathBuf,
    /// The program to start as supervisor: this one.
    pub exe: PathBuf,
    pub nodes: Vec<Node>,
    pub ports: RangeInclusive<u16>,
    /// What supervisors find in their environment about Python packages, inputs and logs.
    pub python: BTreeMap<String, String>,
}

impl Local {
    pub const PORTS_DEFAULT: RangeInclusive<u16> = 20_000..=29_999;

    pub fn from_config(config: &ServerConfig) -> anyhow::Result<Self> {
        let exe = std::env::current_exe().context("finding our own program")?;
        let nodes = inventory::nodes(&config.nodes, &config.devices)?;
        for dir in [runs_dir(&config.data), live_dir(&config.data), reading_dir(&config.data)] {
            private_dir(&dir).with_context(|| format!("making {}", dir.display()))?;
        }
        let data = std::fs::canonicalize(&config.data).with_context(|| format!("finding {}", config.data.display()))?;
        let texts = std::env::vars_os().filter_map(|(name, value)| name.into_string().ok().zip(value.into_string().ok()));
        let mut python = python::variables(&config.python, texts);
        python.insert(Staging::VARIABLE.into(), config.staging()?.text());
        python.insert(Keeping::VARIABLE.into(), config.logs.keeping()?.text());
        Ok(Self { data, exe, nodes, ports: Self::PORTS_DEFAULT, python })
    }
}

#[derive(Clone)]
pub struct LocalEngine {
    house: Arc<House>,
}

/// What all calls share. None of it matters after a restart.
struct House {
    config: Local,
    /// Nodes that are taken down, to try what happens then.
    down: Mutex<BTreeSet<NodeName>>,
    /// Held while a run is started: two who start the same must not write its letter at once.
    starting: Mutex<()>,
    /// Where supervisors come from, while there is something to do.
    nursery: Mutex<Option<Nursery>>,
    /// Nurseries that have closed and are not yet reaped.
    retired: Mutex<Vec<Nursery>>,
    next_port: AtomicUsize,
    /// How many files our own program was allowed to have open; the tasks' limit too, whatever the server
    /// asks for itself later.
    open_files: Option<(u64, u64)>,
}

impl LocalEngine {
    pub fn new(config: Local) -> Self {
        let (down, starting, nursery, retired) = (Mutex::default(), Mutex::default(), Mutex::default(), Mutex::default());
        let open_files = getrlimit(Resource::RLIMIT_NOFILE).ok();
        // Two servers on one machine would else give out the same ports until one of them listens there.
        let next_port = AtomicUsize::new(std::process::id() as usize * 101);
        let house = House { config, down, starting, nursery, retired, next_port, open_files };
        Self { house: Arc::new(house) }
    }

    /// Makes a node disappear with everything on it, as if its plug had been pulled. Answers whether
    /// there is such a node.
    pub fn take_down(&self, node: &str) -> bool {
        let Some(name) = self.house.named(node) else { return false };
        lock(&self.house.down).insert(name.clone());
        // Who is starting a run in this moment may have asked before whether its node is up.
        drop(lock(&self.house.starting));
        self.house.kill_supervisors_on(name);
        true
    }

    /// Answers whether there is such a node.
    pub fn bring_up(&self, node: &str) -> bool {
        let name = self.house.named(node);
        name.inspect(|name| _ = lock(&self.house.down).remove(*name)).is_some()
    }
}

impl House {
    fn named(&self, name: &str) -> Option<&NodeName> {
        self.config.nodes.iter().map(|node| &node.name).find(|it| it.as_str() == name)
    }

    fn node(&self, name: &NodeName) -> Result<&Node, EngineError> {
        self.config
            .nodes
            .iter()
            .find(|node| node.name == *name)
            .ok_or_else(|| EngineError::Never(format!("there is no node `{name}` on this machine")))
    }

    fn is_down(&self, name: &NodeName) -> bool {
        lock(&self.down).contains(name)
    }

    fn any_is_down(&self) -> bool {
        !lock(&self.down).is_empty()
    }

    fn nodes(&self) -> Vec<Node> {
        let full = room::lacking(&runs_dir(&self.config.data));
        let closed = |node: &Node, reason: Words| Node { open: false, reason, ..node.clone() };
        let with_state = |node: &Node| match &full {
            _ if self.is_down(&node.name) => closed(node, said!("it was taken down", "已被手动下线")),
            Some(why) => closed(node, why.clone()),
            None => node.clone(),
        };
        self.config.nodes.iter().map(with_state).collect()
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

    fn free_ports<'a>(&'a self, node: &'a NodeName, wanted: PortPlan, taken: &'a [u16]) -> Answer<'a, Vec<u16>, Words> {
        Box::pin(std::future::ready(self.house.free_ports(node, wanted, taken)))
    }

    fn start<'a>(&'a self, start: Start<'a>) -> Answer<'a, ()> {
        let (house, letter) = (self.house.clone(), start::letter(&start));
        aside(move || house.start(&letter))
    }

    fn stop<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()> {
        let (house, run) = (self.house.clone(), run.clone());
        aside(move || house.stop(&run))
    }

    fn list(&self) -> Answer<'_, Vec<Seen>> {
        let house = self.house.clone();
        aside(move || house.list())
    }

    fn sync<'a>(&'a self, start: Start<'a>, now: bool) -> Answer<'a, Option<Synced>> {
        let (house, letter) = (self.house.clone(), start::letter(&start));
        aside(move || house.sync(&letter, now))
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
