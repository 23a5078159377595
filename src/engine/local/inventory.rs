//! What this machine has, and how it is divided into nodes.

use std::{collections::BTreeMap, fs, io};

use model::{
    ids::NodeName,
    resources::{MIB, Resources},
};

use super::NodeConfig;
use crate::engine::Node;

pub fn nodes(configured: &[NodeConfig]) -> io::Result<Vec<Node>> {
    let found = Found::here()?;
    if configured.is_empty() {
        return Ok(vec![node(&NodeConfig { devices: found.devices.clone(), ..NodeConfig::default() }, 0, &found)]);
    }
    Ok(configured.iter().enumerate().map(|(index, config)| node(config, index, &found)).collect())
}

/// What there is without anyone having said so.
struct Found {
    name: NodeName,
    cpus_milli: u64,
    memory_bytes: u64,
    devices: BTreeMap<String, Vec<u32>>,
}

impl Found {
    fn here() -> io::Result<Self> {
        let cpus = std::thread::available_parallelism()?.get() as u64;
        let memory_bytes = usable_memory_bytes(&fs::read_to_string("/proc/meminfo")?);
        Ok(Self { name: own_name(), cpus_milli: cpus * 1000, memory_bytes, devices: nvidia_devices() })
    }
}

fn node(config: &NodeConfig, index: usize, found: &Found) -> Node {
    // Each node of the machine gets a loopback address of its own, so that each can use every port.
    let address = config.address.clone().unwrap_or_else(|| format!("127.0.0.{}", index + 1));
    let name = config.name.clone().unwrap_or_else(|| found.name.clone());
    let accelerators = config.devices.iter().map(|(kind, indices)| (kind.clone(), indices.len() as u32)).collect();
    let capacity = Resources {
        cpus_milli: config.cpus_milli.unwrap_or(found.cpus_milli),
        memory_bytes: config.memory_bytes.unwrap_or(found.memory_bytes),
        accelerators,
    };
    Node { name, address, capacity, devices: config.devices.clone(), open: true, reason: String::new() }
}

/// The machine keeps something for itself: 5 %, and at least half a gibibyte.
fn usable_memory_bytes(meminfo: &str) -> u64 {
    const KEPT_BYTES_MIN: u64 = 512 * MIB;
    let total = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:")?.split_whitespace().next()?.parse::<u64>().ok());
    let total = total.unwrap_or(0) * 1024;
    total.saturating_sub((total / 20).max(KEPT_BYTES_MIN))
}

/// The host's name as far as a node may be called so.
fn own_name() -> NodeName {
    let host = nix::unistd::gethostname().unwrap_or_default().to_string_lossy().into_owned();
    let short = host.split('.').next().unwrap_or_default();
    NodeName::parse(short).unwrap_or_else(|_| NodeName::parse("local").expect("`local` is a good name"))
}

/// NVIDIA's devices by model, if the driver's library is there to ask.
pub fn nvidia_devices() -> BTreeMap<String, Vec<u32>> {
    let mut devices: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let Ok(library) = nvml_wrapper::Nvml::init() else { return devices };
    for index in 0..library.device_count().unwrap_or(0) {
        let name = library.device_by_index(index).and_then(|device| device.name());
        devices.entry(short_model(name.as_deref().unwrap_or("GPU"))).or_default().push(index);
    }
    devices
}

/// `NVIDIA A100-SXM4-80GB` → `A100`, `Tesla V100-PCIE-16GB` → `V100`, `NVIDIA GeForce RTX 3090` → `RTX3090`.
fn short_model(product: &str) -> String {
    const BRANDS: [&str; 6] = ["NVIDIA", "Tesla", "GeForce", "Quadro", "Graphics", "Device"];
    let words: Vec<&str> = product.split_whitespace().filter(|word| !BRANDS.contains(word)).collect();
    let plain = match words.as_slice() {
        [series @ ("RTX" | "GTX" | "TITAN"), model, ..] => format!("{series}{}", model.split('-').next().unwrap_or_default()),
        [model, ..] => model.split('-').next().unwrap_or_default().to_owned(),
        [] => String::new(),
    };
    if plain.is_empty() { "GPU".into() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_is_called_by_its_model() {
        for (product, model) in [
            ("NVIDIA A100-SXM4-80GB", "A100"),
            ("Tesla V100-PCIE-16GB", "V100"),
            ("NVIDIA GeForce RTX 3090", "RTX3090"),
            ("NVIDIA H100 80GB HBM3", "H100"),
            ("Tesla T4", "T4"),
            ("NVIDIA RTX A6000", "RTXA6000"),
            ("NVIDIA", "GPU"),
        ] {
            assert_eq!(short_model(product), model, "{product}");
        }
    }

    #[test]
    fn a_machine_keeps_some_memory_for_itself() {
        assert_eq!(usable_memory_bytes("MemTotal:       2097152 kB\nMemFree: 1 kB\n"), 1536 * MIB);
        assert_eq!(usable_memory_bytes("MemTotal:       104857600 kB\n"), 95 * 1024 * MIB);
        assert_eq!(usable_memory_bytes("MemTotal:       1024 kB\n"), 0);
        assert_eq!(usable_memory_bytes(""), 0);
    }

    #[test]
    fn virtual_nodes_have_their_own_addresses_and_what_they_were_given() {
        let small = |name: &str| NodeConfig { name: name.parse().ok(), cpus_milli: Some(500), ..NodeConfig::default() };
        let with_devices = NodeConfig { devices: BTreeMap::from([("Ascend910".to_owned(), vec![0, 1])]), ..small("b") };
        let text: String = nodes(&[small("a"), with_devices])
            .unwrap()
            .iter()
            .map(|node| format!("{} {} {} {:?}\n", node.name, node.address, node.capacity.cpus_milli, node.capacity.accelerators))
            .collect();
        insta::assert_snapshot!(text, @r#"
        a 127.0.0.1 500 {}
        b 127.0.0.2 500 {"Ascend910": 2}
        "#);
    }
}
