//! PyTorch: what `init_process_group("env://")` reads, for a task that is one process; and torchrun's
//! `PET_*`, so that a bare `torchrun train.py` in every task is one world.

use super::{
    Circle, Peer, Variables,
    circle::joined,
    ports::{SSH, TORCH},
    variables,
};

/// Where rank 0 listens.
pub fn master<'c>(circle: &'c Circle<'_>) -> Option<(&'c str, &'c str)> {
    let leader = circle.leader()?;
    // A gang that was placed without this port has another one at best.
    let spare = || leader.spot.as_ref()?.ports.iter().find(|(label, _)| *label != SSH)?.1.first().map(String::as_str);
    Some((leader.address()?, leader.port(TORCH).or_else(spare)?))
}

pub fn for_one(circle: &Circle<'_>, me: &Peer<'_>) -> Variables {
    let (Some(rank), Some((address, port))) = (me.rank, master(circle)) else { return Variables::new() };
    let (rank, size) = (rank.to_string(), circle.world_size().to_string());
    let mut env = variables([
        ("MASTER_ADDR", address.to_owned()),
        ("MASTER_PORT", port.to_owned()),
        ("RANK", rank.clone()),
        ("WORLD_SIZE", size.clone()),
        ("LOCAL_RANK", "0".into()),
        ("LOCAL_WORLD_SIZE", "1".into()),
        ("NODE_RANK", rank.clone()),
        ("GROUP_RANK", rank.clone()),
    ]);
    env.extend(torchrun(circle, me, rank));
    env
}

/// The static rendezvous keeps our ranks and listens where we say. The elastic one would guess who
/// listens from host names, which many tasks on one machine share.
fn torchrun(circle: &Circle<'_>, me: &Peer<'_>, rank: String) -> Variables {
    let Some((address, port)) = master(circle) else { return Variables::new() };
    variables([
        ("PET_NNODES", circle.world_size().to_string()),
        ("PET_NODE_RANK", rank),
        ("PET_NPROC_PER_NODE", me.accelerators().max(1).to_string()),
        ("PET_MASTER_ADDR", address.to_owned()),
        ("PET_MASTER_PORT", port.to_owned()),
        ("PET_RDZV_BACKEND", "static".into()),
        ("PET_RDZV_ENDPOINT", joined(address, port)),
        ("PET_RDZV_ID", format!("{}-{}", circle.gang.job, circle.gang.attempt)),
    ])
}
