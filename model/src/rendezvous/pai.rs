//! OpenPAI's variables: those of its JSON jobs (v1, with the names of every release) and those of its
//! YAML jobs (v2).
//!
//! A role's name is part of many of them. Under v2 some were made from the name as it is written and some
//! from the name without capitals and signs, so every one is given in both spellings; where two roles
//! would share one, the name as it is written wins.

use super::{
    Circle, Peer, Peers, Variables,
    ports::{HTTP, SSH},
    variables,
};
use crate::{
    plan::RolePlan,
    resources::{Cpus, MIB},
};

mod v1;
mod v2;

pub use v1::{for_all as v1_for_all, tell as v1};
pub use v2::{for_all as v2_for_all, tell as v2};

/// The name as the runtime under v2 had it.
fn stripped(role: &str) -> String {
    role.chars().filter(char::is_ascii_alphanumeric).map(|it| it.to_ascii_lowercase()).collect()
}

/// Both spellings of a role's name. The one that may be shared comes first, so that the other goes over it.
fn spellings(role: &RolePlan) -> [String; 2] {
    let written = role.name.to_string();
    let stripped = stripped(&written);
    // A name of signs alone has nothing left.
    [if stripped.is_empty() { written.clone() } else { stripped }, written]
}

/// Calls for every role with its first spelling, then for every role with its second.
fn each_spelling(circle: &Circle<'_>, mut tell: impl FnMut(&RolePlan, &str)) {
    for at in 0..2 {
        circle.gang.plan.roles.iter().for_each(|role| tell(role, &spellings(role)[at]));
    }
}

/// What both sets say of the job.
fn of_the_job(circle: &Circle<'_>) -> Variables {
    let gang = &circle.gang;
    let job = format!("{}~{}", gang.owner, gang.name);
    let roles: Vec<&str> = gang.plan.roles.iter().map(|role| role.name.as_str()).collect();
    let (tasks, count) = (gang.plan.task_count().to_string(), roles.len().to_string());
    variables([
        ("PAI_JOB_NAME", job),
        ("PAI_USER_NAME", gang.owner.to_owned()),
        ("PAI_USERNAME", gang.owner.to_owned()),
        ("PAI_DEFAULT_FS_URI", String::new()),
        ("PAI_JOB_TASK_COUNT", tasks.clone()),
        ("PAI_TASKS_NUM", tasks),
        ("PAI_TASK_ROLE_COUNT", count.clone()),
        ("PAI_TASK_ROLES_NUM", count.clone()),
        ("PAI_JOB_TASK_ROLE_COUNT", count),
        ("PAI_TASK_ROLE_LIST", roles.join(",")),
        ("PAI_JOB_TASK_ROLE_LIST", roles.join(",")),
    ])
}

/// What both sets say of every task: its address and its ports. Who has no place yet is left out.
fn of_every_task(circle: &Circle<'_>) -> Variables {
    let mut env = Variables::new();
    each_spelling(circle, |role, name| {
        env.insert(format!("PAI_TASK_ROLE_TASK_COUNT_{name}"), role.tasks.to_string());
        env.insert(format!("PAI_TASK_ROLE_{name}_HOST_LIST"), host_list(circle, role));
        for peer in circle.of_role(role) {
            let Some(spot) = &peer.spot else { continue };
            env.insert(format!("PAI_HOST_IP_{name}_{}", peer.index), spot.address.clone());
            for (label, ports) in &spot.ports {
                env.insert(format!("PAI_PORT_LIST_{name}_{}_{label}", peer.index), ports.join(","));
                env.insert(format!("PAI_{name}_{}_{label}_PORT", peer.index), ports.join(","));
            }
        }
    });
    env
}

/// `address:port` with each task's first `http` port, by index.
fn host_list(circle: &Circle<'_>, role: &RolePlan) -> String {
    let host = |peer: &Peer<'_>| match peer.port(HTTP) {
        Some(port) => Some(super::circle::joined(peer.address()?, port)),
        None => peer.reached(),
    };
    circle.of_role(role).filter_map(host).collect::<Vec<_>>().join(",")
}

/// What both sets say of the task itself.
fn of_myself(me: &Peer<'_>, peers: &mut Peers) {
    let index = me.index.to_string();
    peers.env.extend(variables([
        ("PAI_CURRENT_TASK_ROLE_NAME", me.role.name.to_string()),
        ("PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX", index.clone()),
        ("PAI_TASK_INDEX", index),
    ]));
    peers.paths.insert("PAI_WORK_DIR".into(), "/code".into());
    let Some(spot) = &me.spot else { return };
    let port = |label| me.port(label).unwrap_or_default().to_owned();
    // A `;` stands behind the last one too, and programs have come to rely on it.
    let all: String = spot.ports.iter().map(|(label, ports)| format!("{label}:{};", ports.join(","))).collect();
    peers.env.extend(variables([
        ("PAI_CONTAINER_HOST_IP", spot.address.clone()),
        ("PAI_CURRENT_CONTAINER_IP", spot.address.clone()),
        ("PAI_CONTAINER_HOST_PORT", port(HTTP)),
        ("PAI_CURRENT_CONTAINER_PORT", port(HTTP)),
        ("PAI_CONTAINER_SSH_PORT", port(SSH)),
        ("PAI_CONTAINER_HOST_PORT_LIST", all),
    ]));
    for (label, ports) in &spot.ports {
        peers.env.insert(format!("PAI_CONTAINER_HOST_{label}_PORT_LIST"), ports.join(","));
    }
}

/// How much a task of the role has, in the units of OpenPAI.
struct Amounts {
    gpus: String,
    cpus: String,
    memory_mb: String,
    shared_memory_mb: String,
}

impl Amounts {
    fn of(role: &RolePlan) -> Self {
        Self {
            gpus: role.resources.accelerators.values().sum::<u32>().to_string(),
            cpus: Cpus(role.resources.cpus_milli).to_string(),
            memory_mb: (role.resources.memory_bytes / MIB).to_string(),
            shared_memory_mb: (role.shared_memory_bytes / MIB).to_string(),
        }
    }
}
