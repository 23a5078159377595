//! MPI: a host file, and the variables by which Open MPI finds it without being told.
//!
//! A host is a task and is called by its name: two tasks on one node share its address, and a rank must
//! start in the rooms of its own task.

use super::{Circle, DIRECTORY, Peer, Peers};

const FILE: &str = "hostfile";

/// A launcher starts ranks and is none. `None` while someone has no place.
pub fn hostfile_of(circle: &Circle<'_>) -> Option<String> {
    if !circle.is_complete() {
        return None;
    }
    let launches = |peer: &&Peer<'_>| peer.is_called("launcher");
    let alone = circle.world().all(|peer| launches(&peer));
    let ranks = circle.world().filter(|peer| alone || !launches(peer));
    Some(ranks.map(|peer| format!("{}-{} slots={}\n", peer.role.name, peer.index, slots(peer))).collect())
}

/// One rank for each accelerator, as programs for them expect; one for a task without.
fn slots(peer: &Peer<'_>) -> u32 {
    peer.accelerators().max(1)
}

pub fn tell(hostfile: Option<&str>, peers: &mut Peers) {
    let Some(hostfile) = hostfile else { return };
    peers.files.insert(FILE.into(), hostfile.to_owned());
    // Open MPI 4 and before, Open MPI 5, and everyone else.
    for name in ["OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile", "TRAINMASTER_HOSTFILE"] {
        peers.paths.insert(name.into(), format!("{DIRECTORY}/{FILE}"));
    }
}
