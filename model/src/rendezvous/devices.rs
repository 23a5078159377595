//! The variables by which frameworks choose devices: the indices given to this task, or none at all,
//! so that a CPU task never takes a device it was not given.

use super::{Peer, Variables};

pub fn variables(me: &Peer<'_>) -> Variables {
    let list: Vec<&str> = me.spot.iter().flat_map(|spot| spot.devices.values().flatten()).map(String::as_str).collect();
    let visible = list.join(",");
    let nvidia = if list.is_empty() { "none".into() } else { visible.clone() };
    super::variables([("CUDA_VISIBLE_DEVICES", visible.clone()), ("NVIDIA_VISIBLE_DEVICES", nvidia), ("ASCEND_VISIBLE_DEVICES", visible)])
}
