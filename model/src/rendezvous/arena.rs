//! Arena: `workers` and `gpus`, so that a command may say `mpirun -np $((workers * gpus))`.

use super::{Circle, Peer, Variables, variables};

/// A launcher is none of the workers, and neither is a chief beside them; a master is.
pub fn for_all(circle: &Circle<'_>) -> Variables {
    let leads_only = |peer: &&Peer<'_>| ["launcher", "chief"].iter().any(|name| peer.is_called(name));
    let alone = circle.world().all(|peer| leads_only(&peer));
    let workers: Vec<&Peer<'_>> = circle.world().filter(|peer| alone || !leads_only(peer)).collect();
    let gpus = workers.iter().find(|peer| peer.is_called("worker")).or(workers.first()).map_or(0, |peer| peer.accelerators());
    variables([("workers", workers.len().to_string()), ("gpus", gpus.to_string())])
}
