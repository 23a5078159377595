//! Ports that a convention needs and the job file does not speak of.
//!
//! They are worked out from the plan when a task is placed, and are not written into the plan: only the
//! task with rank 0 needs a port for torch's and JAX's meeting point, and the plan's ports are the same
//! for all tasks of a role. Three ports for each of a thousand workers would be two thousand wasted.

use std::collections::BTreeMap;

use super::{circle::leading_role, variable_name};
use crate::{
    ids::TaskName,
    plan::{Plan, PortPlan, RolePlan},
    spec::Convention,
};

/// Where a TensorFlow server listens.
const GRPC: &str = "grpc";
/// Where rank 0 waits for everyone, apart from the port of its TensorFlow server: one program may use both.
pub const TORCH: &str = "torch";
pub const JAX: &str = "jax";
/// What an OpenPAI job always has.
pub const HTTP: &str = "http";
pub const SSH: &str = "ssh";

const ONE: PortPlan = PortPlan { count: 1, from: None };

/// A label that the job file does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    EveryTask(&'static str),
    FirstTask(&'static str),
}

/// All ports of one task.
pub fn ports(plan: &Plan, task: &TaskName) -> BTreeMap<String, PortPlan> {
    let Some(role) = plan.role(&task.role) else { return BTreeMap::new() };
    let mut ports = role.ports.clone();
    for extra in extra_ports(plan, role) {
        match extra {
            Extra::EveryTask(label) => _ = ports.insert(label.to_owned(), ONE),
            Extra::FirstTask(label) if task.index == 0 => _ = ports.insert(label.to_owned(), ONE),
            Extra::FirstTask(_) => {}
        }
    }
    ports
}

/// What a role gets beside what it asks for.
pub fn extra_ports(plan: &Plan, role: &RolePlan) -> Vec<Extra> {
    let any = |of: &[Convention]| of.iter().any(|it| plan.conventions.contains(it));
    let leads = leading_role(plan).is_some_and(|leading| leading.name == role.name);
    let serves = any(&[Convention::TfConfig, Convention::ClusterConfig]) && declared_server(role).is_none();
    let pai = any(&[Convention::PaiV1, Convention::PaiV2]);
    let extras = [
        (serves, Extra::EveryTask(GRPC), GRPC),
        (pai, Extra::EveryTask(HTTP), HTTP),
        (pai, Extra::EveryTask(SSH), SSH),
        (leads && any(&[Convention::Torch, Convention::Modelarts]), Extra::FirstTask(TORCH), TORCH),
        (leads && any(&[Convention::Jax]), Extra::FirstTask(JAX), JAX),
    ];
    let is_new = |label| same_label(role.ports.keys(), label).is_none();
    extras.into_iter().filter(|(wanted, _, label)| *wanted && is_new(label)).map(|(_, extra, _)| extra).collect()
}

/// The label of the port on which a task of this role is expected by its peers.
pub fn server_label(plan: &Plan, role: &RolePlan) -> Option<String> {
    let extras = extra_ports(plan, role);
    let extra = |label| extras.contains(&Extra::EveryTask(label)).then(|| label.to_owned());
    declared_server(role).map(str::to_owned).or_else(|| extra(GRPC)).or_else(|| extra(HTTP))
}

/// A port that says what it is for is not taken for something else.
fn declared_server(role: &RolePlan) -> Option<&str> {
    const FOR_SOMETHING_ELSE: [&str; 4] = ["SSH", "TENSORBOARD", "TORCH", "JAX"];
    let any = || role.ports.keys().find(|label| !FOR_SOMETHING_ELSE.contains(&variable_name(label).as_str()));
    let labels = || role.ports.keys();
    same_label(labels(), GRPC).or_else(|| same_label(labels(), HTTP)).or_else(|| any().map(String::as_str))
}

/// The label that is the same to a task, whose variables are named after it.
pub fn same_label<'a>(mut labels: impl Iterator<Item = &'a String>, wanted: &str) -> Option<&'a str> {
    labels.find(|label| variable_name(label) == variable_name(wanted)).map(String::as_str)
}
