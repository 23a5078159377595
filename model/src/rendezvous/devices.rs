//! The variables by which frameworks choose devices: for each maker the indices of its own devices given to this task, or none at
//! all, so that a task never takes a device it was not given.

use super::{Peer, Variables};
use crate::maker::Maker;

pub fn variables(me: &Peer<'_>) -> Variables {
    let [cuda, ascend, amd] = [Maker::Nvidia, Maker::Ascend, Maker::Amd].map(|maker| indices(me, maker));
    let nvidia = if cuda.is_empty() { "none".into() } else { cuda.clone() };
    let mut env = super::variables([
        // As the driver counts them. CUDA by itself counts the fastest first.
        ("CUDA_DEVICE_ORDER", "PCI_BUS_ID".to_owned()),
        ("CUDA_VISIBLE_DEVICES", cuda),
        ("NVIDIA_VISIBLE_DEVICES", nvidia),
        ("ASCEND_VISIBLE_DEVICES", ascend),
    ]);
    // Empty would mean all of them.
    if !amd.is_empty() {
        env.insert("HIP_VISIBLE_DEVICES".into(), amd);
    }
    env
}

fn indices(me: &Peer<'_>, maker: Maker) -> String {
    let own = me.spot.iter().flat_map(|spot| &spot.devices).filter(|(kind, _)| Maker::of(kind) == maker);
    let mut indices: Vec<&str> = own.flat_map(|(_, indices)| indices).map(String::as_str).collect();
    // What is to be imagined is no number, and stays in the order of the file.
    indices.sort_by_key(|index| index.parse::<u32>().unwrap_or(0));
    indices.join(",")
}
