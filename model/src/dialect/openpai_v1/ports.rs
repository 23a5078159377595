//! `portList[]` → ports by label.

use std::collections::{BTreeMap, btree_map::Entry};

use super::reader::Reader;
use crate::spec::{Elsewhere, Field, FixedPorts, PortCount, Ports, join};

const OF_NOTHING_ELSE: Elsewhere = Elsewhere { keys: &[], place: ("", "") };

/// Every task of OpenPAI had these, asked for or not.
const ALWAYS: [&str; 2] = ["http", "ssh"];

pub(super) fn ports(r: &mut Reader, field: Option<&Field<'_>>, path: &str) -> Ports {
    let mut counts = BTreeMap::new();
    if let Some(field) = field {
        let items = r
            .walk
            .list(
                field,
                (
                    "write a list: [{\"label\": \"grpc\", \"beginAt\": 0, \"portNumber\": 1}]",
                    "请写列表：[{\"label\": \"grpc\", \"beginAt\": 0, \"portNumber\": 1}]",
                ),
            )
            .unwrap_or_default();
        r.kept(field, path);
        // OpenPAI kept ports by label, so the last one of a label counted.
        for item in items.into_iter().rev() {
            let Some((label, count)) = port(r, &item) else { continue };
            match counts.entry(label) {
                Entry::Vacant(free) => {
                    r.kept(&item, join(path, free.key()));
                    free.insert(count);
                }
                Entry::Occupied(_) => {
                    let en = "there is another entry with the same label further on, and the last one counts; remove one of them";
                    r.ignored(&item, (en, "后面还有标签相同的一项，以最后一项为准；请删掉其中一项"));
                }
            }
        }
    }
    for label in ALWAYS {
        counts.entry(label.to_owned()).or_insert(PortCount::Any(1));
    }
    Ports::Counts(counts)
}

fn port(r: &mut Reader, item: &Field<'_>) -> Option<(String, PortCount)> {
    let keys = &mut r.walk.keys(
        item,
        item.node.place,
        ("write {\"label\": \"grpc\", \"portNumber\": 1}", "请写成 {\"label\": \"grpc\", \"portNumber\": 1} 这样"),
    )?;
    let label = r.walk.required(keys, "label", ("give the port a label, such as \"grpc\"", "请给端口写标签，如 \"grpc\""));
    let label = label.and_then(|it| r.name(&it, "._~"));
    let begin = r.field(keys, "beginAt").and_then(|it| r.whole(&it, 0..=65_535)).unwrap_or(0) as u16;
    let count = r.field(keys, "portNumber").and_then(|it| r.whole(&it, 1..=65_535)).unwrap_or(1) as u32;
    r.walk.no_more(keys, &OF_NOTHING_ELSE);
    let label = label?;
    let count = if begin == 0 { PortCount::Any(count) } else { PortCount::Fixed(FixedPorts { from: begin, count: Some(count) }) };
    Some((label, count))
}
