//! The gang as every convention sees it: everyone in order, where they are, and who has which rank.

use std::collections::BTreeMap;

use super::{Gang, Place, ports};
use crate::{
    ids::{RoleName, TaskName},
    plan::{Plan, RolePlan},
};

/// Roles that lead: they have the first ranks.
const LEADING: [&str; 3] = ["chief", "master", "launcher"];
/// Roles that serve or watch, and so have no rank.
const BESIDE: [&str; 3] = ["ps", "evaluator", "tensorboard"];

/// What to do about a task that has no place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unplaced {
    LeftOut,
    /// Words stand for its address and ports.
    Imagined,
}

pub struct Circle<'a> {
    pub gang: Gang<'a>,
    /// Roles in the order of the file, tasks by index.
    pub peers: Vec<Peer<'a>>,
    /// Indices of `peers`, by rank.
    world: Vec<usize>,
}

pub struct Peer<'a> {
    pub role: &'a RolePlan,
    pub index: u32,
    /// Only tasks that work together on one model have one.
    pub rank: Option<usize>,
    /// `None` if it has no place yet.
    pub spot: Option<Spot>,
}

pub struct Spot {
    pub address: String,
    pub ports: BTreeMap<String, Vec<String>>,
    pub devices: BTreeMap<String, Vec<String>>,
    /// The port on which peers expect it, if it has any.
    server_port: Option<String>,
}

impl<'a> Circle<'a> {
    pub fn new(gang: Gang<'a>, unplaced: Unplaced) -> Self {
        let plan = gang.plan;
        let places: BTreeMap<(&RoleName, u32), &Place> = gang.places.iter().map(|it| ((&it.role, it.index), it)).collect();
        let mut peers = Vec::with_capacity(plan.task_count() as usize);
        for role in &plan.roles {
            let server = ports::server_label(plan, role);
            for index in 0..role.tasks {
                let spot = match places.get(&(&role.name, index)) {
                    Some(place) => Some(Spot::real(place, server.as_deref())),
                    None if unplaced == Unplaced::Imagined => Some(Spot::imagined(plan, role, index, server.as_deref())),
                    None => None,
                };
                peers.push(Peer { role, index, rank: None, spot });
            }
        }
        let world = ranked(plan);
        for (rank, at) in world.iter().enumerate() {
            peers[*at].rank = Some(rank);
        }
        Self { gang, peers, world }
    }

    pub fn peer(&self, task: &TaskName) -> Option<&Peer<'a>> {
        self.peers.iter().find(|peer| peer.role.name == task.role && peer.index == task.index)
    }

    pub fn of_role(&self, role: &RolePlan) -> impl Iterator<Item = &Peer<'a>> {
        self.peers.iter().filter(move |peer| peer.role.name == role.name)
    }

    /// By rank.
    pub fn world(&self) -> impl Iterator<Item = &Peer<'a>> {
        self.world.iter().map(|at| &self.peers[*at])
    }

    pub fn world_size(&self) -> usize {
        self.world.len()
    }

    /// Whoever has rank 0.
    pub fn leader(&self) -> Option<&Peer<'a>> {
        self.world().next()
    }

    /// Whether everyone has a place. Conventions that count places need all of them.
    pub fn is_complete(&self) -> bool {
        self.peers.iter().all(|peer| peer.spot.is_some())
    }
}

impl Peer<'_> {
    pub fn address(&self) -> Option<&str> {
        Some(&self.spot.as_ref()?.address)
    }

    /// The first port with this label.
    pub fn port(&self, label: &str) -> Option<&str> {
        let ports = &self.spot.as_ref()?.ports;
        let label = ports::same_label(ports.keys(), label)?;
        ports.get(label)?.first().map(String::as_str)
    }

    /// Where peers reach it: `address:port`, or the bare address if it has no port.
    pub fn reached(&self) -> Option<String> {
        let spot = self.spot.as_ref()?;
        Some(spot.server_port.as_ref().map_or_else(|| spot.address.clone(), |port| joined(&spot.address, port)))
    }

    pub fn is_called(&self, name: &str) -> bool {
        self.role.name.as_str().eq_ignore_ascii_case(name)
    }

    /// How many accelerators it has.
    pub fn accelerators(&self) -> u32 {
        self.role.resources.accelerators.values().sum()
    }
}

impl Spot {
    fn real(place: &Place, server: Option<&str>) -> Self {
        let texts = |numbers: &Vec<u16>| numbers.iter().map(u16::to_string).collect();
        let ports: BTreeMap<String, Vec<String>> = place.ports.iter().map(|(label, them)| (label.clone(), texts(them))).collect();
        let devices = place.devices.iter().map(|(kind, them)| (kind.clone(), them.iter().map(u32::to_string).collect())).collect();
        Self { address: place.address.clone(), devices, server_port: server_port(&ports, server), ports }
    }

    fn imagined(plan: &Plan, role: &RolePlan, index: u32, server: Option<&str>) -> Self {
        let task = TaskName { role: role.name.clone(), index };
        let mut ports = BTreeMap::new();
        for (label, wanted) in super::ports(plan, &task) {
            let port = |number: u32| match wanted.from {
                Some(from) => (u32::from(from) + number).to_string(),
                None if wanted.count == 1 => format!("<{label} port of {task}>"),
                None => format!("<{label} port {number} of {task}>"),
            };
            ports.insert(label.clone(), (0..wanted.count).map(port).collect());
        }
        let devices = role.resources.accelerators.iter();
        let devices =
            devices.map(|(kind, count)| (kind.clone(), (0..*count).map(|number| format!("<{kind} {number} of {task}>")).collect()));
        Self { address: format!("<address of {task}>"), devices: devices.collect(), server_port: server_port(&ports, server), ports }
    }
}

/// A run may have been placed without the port that the plan speaks of; then its first one serves.
fn server_port(ports: &BTreeMap<String, Vec<String>>, label: Option<&str>) -> Option<String> {
    let named = label.and_then(|label| ports.get(label)?.first());
    named.or_else(|| ports.values().flatten().next()).cloned()
}

/// An IPv6 address has colons of its own.
pub fn joined(address: &str, port: &str) -> String {
    if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
}

/// The role whose first task has rank 0.
pub fn leading_role(plan: &Plan) -> Option<&RolePlan> {
    in_order_of_rank(plan).next().map(|(role, _)| role)
}

/// Which tasks have a rank, as numbers of the whole gang's list.
fn ranked(plan: &Plan) -> Vec<usize> {
    in_order_of_rank(plan).flat_map(|(role, first)| first..first + role.tasks as usize).collect()
}

/// Roles with ranks, those that lead first, each with the number of its first task.
fn in_order_of_rank(plan: &Plan) -> impl Iterator<Item = (&RolePlan, usize)> {
    let is_one_of = |role: &RolePlan, names: [&str; 3]| names.iter().any(|name| role.name.as_str().eq_ignore_ascii_case(name));
    let mut next = 0;
    let mut numbered = Vec::new();
    for role in &plan.roles {
        numbered.push((role, next));
        next += role.tasks as usize;
    }
    numbered.retain(|(role, _)| !is_one_of(role, BESIDE));
    numbered.sort_by_key(|(role, first)| (!is_one_of(role, LEADING), *first));
    numbered.into_iter()
}
