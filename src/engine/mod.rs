//! Where tasks run. One trait, because Docker and Kubernetes stand beside this machine.

use std::{collections::BTreeMap, future::Future, pin::Pin};

use model::{
    ids::NodeName, ids::RunKey, order::RunOrder, plan::PortPlan, reconcile::Seen, resources::Resources, sync::Synced, words::Words,
};

pub mod contract;
pub mod local;

/// A future in a box, so that engines can be swapped at run time.
pub type Answer<'a, T, Not = EngineError> = Pin<Box<dyn Future<Output = Result<T, Not>> + Send + 'a>>;

/// Somewhere tasks can run: this machine, a Docker host, a Kubernetes cluster.
///
/// An engine starts and stops; it does not watch. Logs, metrics and exit codes come from the
/// supervisor, which is the same program on every engine. That is why there is no `wait`, no
/// `logs` and no `status` here: three engines would answer them in three ways.
///
/// Every method may be called again with the same arguments after a crash, and must then do
/// nothing new. [`Engine::list`] is how a restarted server learns what is really out there.
pub trait Engine: Send + Sync {
    /// What this engine owns, whether or not it is in use.
    fn nodes(&self) -> Answer<'_, Vec<Node>>;
    /// Ports on a node that nobody listens on and that are not in `taken`.
    fn free_ports<'a>(&'a self, node: &'a NodeName, wanted: PortPlan, taken: &'a [u16]) -> Answer<'a, Vec<u16>, Words>;
    /// Starts one run. `Ok` means accepted, not running. While an older attempt of its task may live, it is refused for now.
    fn start<'a>(&'a self, start: Start<'a>) -> Answer<'a, ()>;
    /// Asks politely, then after the order's grace does not ask. A run that is gone is a success.
    fn stop<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()>;
    /// Every run that is ours, including ones the database has forgotten.
    fn list(&self) -> Answer<'_, Vec<Seen>>;
    /// Sees to it that the output of a run that is over comes out: answers what is written down about that, sends somebody if
    /// nobody is at it, and lets whoever waits there try now if that is wished.
    fn sync<'a>(&'a self, start: Start<'a>, now: bool) -> Answer<'a, Option<Synced>>;
    /// Forgets a run that is over: `list` no longer shows it. Its logs and outputs stay.
    fn remove<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()>;
    /// Deletes everything a run has left behind, logs and outputs too.
    fn erase<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()>;
}

pub struct Start<'a> {
    pub order: &'a RunOrder,
    /// Good for this run alone.
    pub token: &'a str,
    /// Where the supervisor reports to.
    pub server_url: &'a str,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: NodeName,
    /// Where its tasks listen.
    pub address: String,
    pub capacity: Resources,
    /// Which devices of each accelerator type it has.
    pub devices: BTreeMap<String, Vec<u32>>,
    pub open: bool,
    /// Why it is not open.
    pub reason: Words,
}

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Trying again later may work: the daemon is away, the disk is full.
    #[error("{0}")]
    Away(String),
    /// Trying again will not help: no such image, no permission.
    #[error("{0}")]
    Never(String),
}
