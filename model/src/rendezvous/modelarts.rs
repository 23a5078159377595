//! ModelArts. Scripts make a torchrun line of these: `NNODES=$MA_NUM_HOSTS`, `NODE_RANK=$VC_TASK_INDEX`,
//! `MASTER_ADDR=${VC_WORKER_HOSTS%%,*}`. So everyone with a rank is a worker here, in the order of ranks.

use super::{Circle, Peer, Peers, Variables, circle::joined, torch, variable_name, variables};

pub fn for_all(circle: &Circle<'_>) -> Variables {
    if !circle.is_complete() {
        return Variables::new();
    }
    let list = |addresses: Vec<&str>| addresses.join(",");
    let workers: Vec<&str> = circle.world().filter_map(Peer::address).collect();
    let mut env = variables([
        ("MA_VJ_NAME", format!("{}-{}", circle.gang.name, circle.gang.version)),
        ("MA_NUM_HOSTS", workers.len().to_string()),
        ("DLS_TASK_NUMBER", workers.len().to_string()),
    ]);
    let mut groups = vec![("WORKER".to_owned(), workers)];
    for role in &circle.gang.plan.roles {
        let others: Vec<&str> = circle.of_role(role).filter(|peer| peer.rank.is_none()).filter_map(Peer::address).collect();
        groups.push((variable_name(role.name.as_str()), others));
    }
    for (name, addresses) in groups.into_iter().filter(|(_, addresses)| !addresses.is_empty()) {
        env.insert(format!("VC_{name}_NUM"), addresses.len().to_string());
        env.insert(format!("VC_{name}_HOSTS"), list(addresses));
    }
    let master = torch::master(circle).map(|(address, port)| ("BATCH_CUSTOM0_HOSTS".to_owned(), joined(address, port)));
    env.extend(master);
    env
}

pub fn tell(circle: &Circle<'_>, me: &Peer<'_>, peers: &mut Peers) {
    if !circle.is_complete() {
        return;
    }
    let index = me.rank.unwrap_or(me.index as usize).to_string();
    let name = if me.rank.is_some() { "worker".to_owned() } else { me.role.name.to_string() };
    peers.env.extend(variables([
        ("MA_CURRENT_IP", me.address().unwrap_or_default().to_owned()),
        ("MA_CURRENT_INSTANCE_NAME", format!("{}-{}-{name}-{index}", circle.gang.name, circle.gang.version)),
        ("MA_NUM_GPUS", me.accelerators().to_string()),
        ("MA_TASK_NAME", name),
        ("VC_TASK_INDEX", index.clone()),
        ("MA_TASK_INDEX", index.clone()),
        ("DLS_TASK_INDEX", index),
    ]));
    for (name, path) in [("MA_JOB_DIR", "/code"), ("DLS_APP_URL", "/code"), ("DLS_DATA_URL", "/input"), ("DLS_TRAIN_URL", "/output")] {
        peers.paths.insert(name.into(), path.into());
    }
}
