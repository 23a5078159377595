//! Our own convention. `TRAINMASTER_CLUSTER` is a JSON object: role → list of `address:port` in the order
//! of the task index, with the bare address of a task that has no port, and null for one without a place.

use super::{Circle, Peer, Variables, variable_name, variables};

/// Names that begin so are ours alone.
pub const PREFIX: &str = "TRAINMASTER_";

pub fn for_all(circle: &Circle<'_>) -> Variables {
    let gang = &circle.gang;
    let mut cluster = serde_json::Map::new();
    for role in &gang.plan.roles {
        let reached = circle.of_role(role).map(Peer::reached).collect::<Vec<_>>();
        cluster.insert(role.name.to_string(), reached.into());
    }
    let from = gang.plan.freight.from.as_ref().map(|from| ("TRAINMASTER_FROM", from.to_string()));
    let mut all = variables([
        ("TRAINMASTER_JOB", format!("{}@{}", gang.name, gang.version)),
        ("TRAINMASTER_JOB_ID", gang.job.to_string()),
        ("TRAINMASTER_ATTEMPT", gang.attempt.to_string()),
        ("TRAINMASTER_CLUSTER", serde_json::Value::from(cluster).to_string()),
    ]);
    all.extend(from.map(|(name, value)| (name.to_owned(), value)));
    all
}

pub fn for_one(me: &Peer<'_>) -> Variables {
    let mut env = variables([("TRAINMASTER_ROLE", me.role.name.to_string()), ("TRAINMASTER_TASK_INDEX", me.index.to_string())]);
    for (label, ports) in me.spot.iter().flat_map(|spot| &spot.ports) {
        env.insert(format!("TRAINMASTER_PORTS_{}", variable_name(label)), ports.join(","));
    }
    for (kind, indices) in me.spot.iter().flat_map(|spot| &spot.devices) {
        env.insert(format!("TRAINMASTER_DEVICES_{}", variable_name(kind)), indices.join(","));
    }
    env
}
