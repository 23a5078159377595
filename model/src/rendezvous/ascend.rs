//! Ascend: HCCL's rank table (version 1.0), one rank for each device. Devices' own network addresses are
//! not known here, so they are left out; HCCL needs them only between servers.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{Circle, DIRECTORY, Peer, Peers, variables};
use crate::maker::Maker;

const FILE: &str = "rank_table.json";

pub struct RankTable {
    text: String,
    size: usize,
    /// By rank of the task: its first device and the rank of that.
    first: BTreeMap<usize, (usize, String)>,
}

impl RankTable {
    /// `None` if nobody has such a device, or if someone has no place yet.
    pub fn new(circle: &Circle<'_>) -> Option<Self> {
        if !circle.is_complete() {
            return None;
        }
        let (mut size, mut first) = (0, BTreeMap::new());
        let mut servers: Vec<(&str, Vec<Value>)> = Vec::new();
        for (rank, peer) in circle.world().enumerate() {
            for device in devices(peer) {
                first.entry(rank).or_insert_with(|| (size, device.to_owned()));
                let address = peer.address().unwrap_or_default();
                let entry = json!({ "device_id": device, "rank_id": size.to_string() });
                match servers.iter_mut().find(|(known, _)| *known == address) {
                    Some((_, devices)) => devices.push(entry),
                    None => servers.push((address, vec![entry])),
                }
                size += 1;
            }
        }
        (size > 0).then(|| Self { text: text(servers), size, first })
    }
}

fn text(servers: Vec<(&str, Vec<Value>)>) -> String {
    let count = servers.len().to_string();
    let list: Vec<Value> = servers.into_iter().map(|(address, devices)| json!({ "server_id": address, "device": devices })).collect();
    json!({ "version": "1.0", "server_count": count, "server_list": list, "status": "completed" }).to_string() + "\n"
}

/// Its Ascend devices, and no others.
fn devices<'p>(peer: &'p Peer<'_>) -> impl Iterator<Item = &'p str> {
    let all = peer.spot.iter().flat_map(|spot| &spot.devices);
    all.filter(|(kind, _)| Maker::of(kind) == Maker::Ascend).flat_map(|(_, indices)| indices).map(String::as_str)
}

pub fn tell(table: Option<&RankTable>, me: &Peer<'_>, peers: &mut Peers) {
    let Some(table) = table else { return };
    let Some((rank, device)) = me.rank.and_then(|rank| table.first.get(&rank)) else { return };
    peers.env.extend(variables([
        ("RANK_ID", rank.to_string()),
        ("RANK_SIZE", table.size.to_string()),
        ("ASCEND_DEVICE_ID", device.clone()),
    ]));
    peers.files.insert(FILE.into(), table.text.clone());
    peers.paths.insert("RANK_TABLE_FILE".into(), format!("{DIRECTORY}/{FILE}"));
}
