//! What this machine has, and how it is divided into nodes.

use std::{collections::BTreeMap, fs};

use model::{
    ids::NodeName,
    resources::{MIB, Resources},
    words::Words,
};

use crate::{config::NodeConfig, engine::Node};

/// The configured nodes, or this machine as one, with what `devices` says no library can find.
pub fn nodes(configured: &[NodeConfig], devices: &BTreeMap<String, u32>) -> anyhow::Result<Vec<Node>> {
    let mut numbers = Numbers::default();
    if configured.is_empty() {
        return Ok(vec![this_machine(devices, &mut numbers)?]);
    }
    configured.iter().enumerate().map(|(index, config)| node(config, index, &mut numbers)).collect()
}

fn this_machine(declared: &BTreeMap<String, u32>, numbers: &mut Numbers) -> anyhow::Result<Node> {
    let cpus = std::thread::available_parallelism()?.get() as u64;
    let memory_bytes = usable_memory_bytes(&fs::read_to_string("/proc/meminfo")?);
    let mut devices = nvidia_devices();
    for (kind, indices) in numbers.give(declared) {
        devices.entry(kind).or_insert(indices);
    }
    Ok(open_node(own_name(), "127.0.0.1".into(), (cpus * 1000, memory_bytes), devices))
}

/// Each node of the machine gets a loopback address of its own, so that each can use every port.
fn node(config: &NodeConfig, index: usize, numbers: &mut Numbers) -> anyhow::Result<Node> {
    let address = config.address.clone().unwrap_or_else(|| format!("127.0.0.{}", index + 1));
    Ok(open_node(config.name.clone(), address, config.amounts()?, numbers.give(&config.devices)))
}

fn open_node(name: NodeName, address: String, (cpus_milli, memory_bytes): (u64, u64), devices: BTreeMap<String, Vec<u32>>) -> Node {
    let accelerators = devices.iter().map(|(kind, indices)| (kind.clone(), indices.len() as u32)).collect();
    let capacity = Resources { cpus_milli, memory_bytes, accelerators };
    Node { name, address, capacity, devices, open: true, reason: Words::default() }
}

/// Nodes that share a machine share its numbering of devices: no index is given to two of them.
#[derive(Default)]
struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    fn give(&mut self, counts: &BTreeMap<String, u32>) -> BTreeMap<String, Vec<u32>> {
        let mut give = |kind: &String, count: u32| {
            let next = self.0.entry(kind.clone()).or_default();
            let first = std::mem::replace(next, *next + count);
            (first..first + count).collect()
        };
        counts.iter().map(|(kind, count)| (kind.clone(), give(kind, *count))).collect()
    }
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
    fn nodes_of_one_machine_have_their_own_addresses_and_devices() {
        let config = |name: &str, devices: u32| NodeConfig {
            name: name.parse().unwrap(),
            address: None,
            cpus: 0.5,
            memory: "1GiB".into(),
            devices: BTreeMap::from([("Ascend910".to_owned(), devices)]),
        };
        let shown = |node: &Node| format!("{} {} {} {:?}\n", node.name, node.address, node.capacity, node.devices);
        let text: String = nodes(&[config("a", 2), config("b", 1)], &BTreeMap::new()).unwrap().iter().map(shown).collect();
        insta::assert_snapshot!(text, @r#"
        a 127.0.0.1 0.5 CPU, 1GiB, 2 × Ascend910 {"Ascend910": [0, 1]}
        b 127.0.0.2 0.5 CPU, 1GiB, 1 × Ascend910 {"Ascend910": [2]}
        "#);
    }

    #[test]
    fn this_machine_is_a_node_with_the_devices_that_were_declared() {
        let found = nodes(&[], &BTreeMap::from([("Ascend910".to_owned(), 2)])).unwrap();
        let [node] = found.as_slice() else { panic!("one node") };
        assert_eq!((node.address.as_str(), &node.devices["Ascend910"]), ("127.0.0.1", &vec![0, 1]));
        assert!(node.capacity.cpus_milli >= 1000 && node.open);
    }
}
