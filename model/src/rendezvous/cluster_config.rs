//! The two ways of the Aliyun samples: `CLUSTER_CONFIG`, a Python literal, with `POD_NAME`; and
//! `WORKER_HOSTS`, `PS_HOSTS`, `MASTER_HOSTS` with `JOB_NAME` and `TASK_INDEX`.

use super::{Circle, Peer, Variables, variable_name, variables};

/// Empty while someone has no place: the index of a host in its list is the index of its task.
pub fn for_all(circle: &Circle<'_>) -> Variables {
    let mut env = Variables::new();
    if !circle.is_complete() {
        return env;
    }
    let mut jobs = Vec::new();
    for role in &circle.gang.plan.roles {
        let hosts: Vec<String> = circle.of_role(role).filter(|it| serves(it)).filter_map(Peer::reached).collect();
        if hosts.is_empty() {
            continue;
        }
        env.insert(format!("{}_HOSTS", variable_name(role.name.as_str())), hosts.join(","));
        jobs.push(format!("'{}': ['{}']", job_name(role.name.as_str()), hosts.join("', '")));
    }
    env.insert("CLUSTER_CONFIG".into(), format!("{{{}}}", jobs.join(", ")));
    env
}

pub fn for_one(circle: &Circle<'_>, me: &Peer<'_>) -> Variables {
    if !circle.is_complete() {
        return Variables::new();
    }
    let job = job_name(me.role.name.as_str());
    variables([("POD_NAME", format!("{job}-{}", me.index)), ("JOB_NAME", job), ("TASK_INDEX", me.index.to_string())])
}

/// Programs cut `POD_NAME` at every `-` and want exactly two pieces.
fn job_name(role: &str) -> String {
    role.replace('-', "_")
}

/// Whether a TensorFlow server of this cluster runs in it.
fn serves(peer: &Peer<'_>) -> bool {
    !peer.is_called("evaluator") && !peer.is_called("tensorboard")
}
