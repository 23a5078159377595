//! Placing: which waiting jobs start now, on which nodes, and why the others wait.

use serde::{Deserialize, Serialize};

use crate::{
    ids::{JobId, NodeName, RoleName},
    resources::Resources,
};

/// A job that waits, as much of it as placing needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Waiting {
    pub job: JobId,
    /// How to call it in a reason: `digits@2`.
    pub label: String,
    pub priority: i32,
    pub max_duration_ms: Option<u64>,
    pub gang: Vec<Demand>,
}

/// What `tasks` tasks of one role need, each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Demand {
    pub role: RoleName,
    pub tasks: u32,
    pub each: Resources,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub name: NodeName,
    pub capacity: Resources,
    /// A node that cannot be seen, or is drained, takes nothing new.
    pub open: bool,
}

/// What a started job holds on one node.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    pub job: JobId,
    pub label: String,
    pub node: NodeName,
    pub amount: Resources,
    /// When it will be gone at the latest, if its maximum duration says so.
    pub until_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    pub job: JobId,
    pub what: What,
}

#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// One entry for every task of the gang, in the order of the demands and their indices.
    Start(Vec<Assignment>),
    Wait(String),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    pub role: RoleName,
    pub index: u32,
    pub node: NodeName,
    /// What it gets, with "any" accelerator replaced by the type it was given.
    pub amount: Resources,
}
