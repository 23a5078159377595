//! JAX: `jax.distributed.initialize` reads the addresses by itself; programs hand it the two numbers.

use super::{Circle, Peer, Variables, circle::joined, ports::JAX, variables};

pub fn for_one(circle: &Circle<'_>, me: &Peer<'_>) -> Variables {
    let Some((rank, coordinator)) = me.rank.zip(coordinator(circle)) else { return Variables::new() };
    let (count, id) = (circle.world_size().to_string(), rank.to_string());
    let mut env = variables([
        ("JAX_COORDINATOR_ADDRESS", coordinator.clone()),
        ("JAX_NUM_PROCESSES", count.clone()),
        ("JAX_PROCESS_ID", id.clone()),
        // The same two under the names that jax.process_count() and jax.process_index() suggest.
        ("JAX_PROCESS_COUNT", count),
        ("JAX_PROCESS_INDEX", id),
    ]);
    if rank == 0 {
        // Else it would listen on every address of the machine.
        env.insert("JAX_COORDINATOR_BIND_ADDRESS".into(), coordinator);
    }
    env
}

fn coordinator(circle: &Circle<'_>) -> Option<String> {
    let leader = circle.leader()?;
    Some(joined(leader.address()?, leader.port(JAX)?))
}
