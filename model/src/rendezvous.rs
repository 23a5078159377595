//! How a task finds itself and its peers: one source, the plan and the places of its gang, written down
//! in every convention that training programs read. One file for each convention.

use std::collections::BTreeMap;

use crate::{
    ids::{JobId, JobName, RoleName, TaskName},
    plan::Plan,
    spec::Convention,
    template,
};

mod arena;
mod ascend;
mod circle;
mod cluster_config;
mod devices;
mod jax;
mod modelarts;
mod mpi;
mod own;
mod pai;
mod ports;
#[cfg(test)]
mod tests;
mod tf_config;
mod torch;

pub(crate) use circle::leading_role;
use circle::{Circle, Peer, Unplaced};
pub use ports::{Extra, extra_ports, ports};

/// Where one task of the gang can be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub role: RoleName,
    pub index: u32,
    pub address: String,
    /// Ports by label, in the order they were given out.
    pub ports: BTreeMap<String, Vec<u16>>,
    /// Device indices by accelerator type.
    pub devices: BTreeMap<String, Vec<u32>>,
}

/// A gang, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub struct Gang<'a> {
    pub owner: &'a str,
    pub job: JobId,
    pub name: &'a JobName,
    pub version: u32,
    /// The attempt of the task; in a gang, that of the job.
    pub attempt: u32,
    pub job_attempt: u32,
    pub plan: &'a Plan,
    /// In any order. Without `gang` some tasks may have none yet.
    pub places: &'a [Place],
}

/// What one task is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Peers {
    /// Secrets are not in yet.
    pub env: Variables,
    /// Variables that hold a path, as it is inside the sandbox: `/peers/hostfile`, `/output`. Only the
    /// supervisor knows where that really is if there is no sandbox.
    pub paths: Variables,
    /// Text by name, to be seen in [`DIRECTORY`].
    pub files: BTreeMap<String, String>,
}

impl Peers {
    /// As people are shown it: secrets stand there by name.
    pub fn shown(mut self) -> Self {
        self.env.values_mut().for_each(|value| *value = template::shown(value));
        self
    }
}

pub type Variables = BTreeMap<String, String>;

/// Where a task finds the files.
pub const DIRECTORY: &str = "/peers";

/// Everything that is the same for the whole gang, made once; a task's own part is small beside it.
pub struct Rendezvous<'a> {
    circle: Circle<'a>,
    for_all: Variables,
    tf_cluster: Option<tf_config::Cluster>,
    hostfile: Option<String>,
    rank_table: Option<ascend::RankTable>,
}

impl<'a> Rendezvous<'a> {
    pub fn new(gang: Gang<'a>) -> Self {
        Self::of_circle(Circle::new(gang, Unplaced::LeftOut))
    }

    /// For a job that waits: a task without a place has words where its address will be.
    pub fn imagined(gang: Gang<'a>) -> Self {
        Self::of_circle(Circle::new(gang, Unplaced::Imagined))
    }

    fn of_circle(circle: Circle<'a>) -> Self {
        let wanted = |convention| circle.gang.plan.conventions.contains(&convention);
        let mut for_all = Variables::new();
        circle.gang.plan.conventions.iter().for_each(|it| for_all.extend(for_everyone(*it, &circle)));
        for_all.extend(own::for_all(&circle));
        Self {
            tf_cluster: wanted(Convention::TfConfig).then(|| tf_config::Cluster::new(&circle)).flatten(),
            hostfile: wanted(Convention::Mpi).then(|| mpi::hostfile_of(&circle)).flatten(),
            rank_table: wanted(Convention::Ascend).then(|| ascend::RankTable::new(&circle)).flatten(),
            for_all,
            circle,
        }
    }

    /// What one task is told. The job file's own variables win over every convention but ours.
    pub fn of(&self, task: &TaskName) -> Option<Peers> {
        let me = self.circle.peer(task)?;
        let mut peers = Peers { env: self.for_all.clone(), ..Peers::default() };
        peers.env.extend(devices::variables(me));
        for convention in &self.circle.gang.plan.conventions {
            self.tell(*convention, me, &mut peers);
        }
        peers.paths.retain(|name, _| !me.role.env.contains_key(name));
        let written = me.role.env.iter().filter(|(name, _)| !name.starts_with(own::PREFIX));
        peers.env.extend(written.map(|(name, value)| (name.clone(), value.clone())));
        peers.env.extend(own::for_one(me));
        Some(peers)
    }

    fn tell(&self, convention: Convention, me: &Peer<'_>, peers: &mut Peers) {
        let circle = &self.circle;
        match convention {
            Convention::PaiV1 => pai::v1(circle, me, peers),
            Convention::PaiV2 => pai::v2(circle, me, peers),
            Convention::TfConfig => peers.env.extend(self.tf_cluster.as_ref().and_then(|cluster| cluster.variable(me))),
            Convention::ClusterConfig => peers.env.extend(cluster_config::for_one(circle, me)),
            Convention::Torch => peers.env.extend(torch::for_one(circle, me)),
            Convention::Jax => peers.env.extend(jax::for_one(circle, me)),
            Convention::Mpi => mpi::tell(self.hostfile.as_deref(), peers),
            Convention::Modelarts => modelarts::tell(circle, me, peers),
            Convention::Arena => {}
            Convention::Ascend => ascend::tell(self.rank_table.as_ref(), me, peers),
        }
    }
}

/// The part of a convention that does not depend on the task.
fn for_everyone(convention: Convention, circle: &Circle<'_>) -> Variables {
    match convention {
        Convention::PaiV1 => pai::v1_for_all(circle),
        Convention::PaiV2 => pai::v2_for_all(circle),
        Convention::ClusterConfig => cluster_config::for_all(circle),
        Convention::Modelarts => modelarts::for_all(circle),
        Convention::Arena => arena::for_all(circle),
        Convention::TfConfig | Convention::Torch | Convention::Jax | Convention::Mpi | Convention::Ascend => Variables::new(),
    }
}

/// A label as the tail of a variable's name: `http-api` → `HTTP_API`.
pub(crate) fn variable_name(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// Pairs as variables.
fn variables<const N: usize>(pairs: [(&str, String); N]) -> Variables {
    pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
