//! What this machine has, and how it is divided into nodes.

use std::{collections::BTreeMap, fs};

use model::{
    ids::NodeName,
    maker::Maker,
    resources::{MIB, Resources},
    words::Words,
};

use crate::{config::NodeConfig, engine::Node};

/// The configured nodes, or this machine as one, with what `devices` says no library can find.
pub fn nodes(configured: &[NodeConfig], devices: &BTreeMap<String, u32>) -> anyhow::Result<Vec<Node>> {
    let mut numbers = Numbers::of(nvidia_devices());
    if configured.is_empty() {
        return Ok(vec![this_machine(numbers.all(devices))?]);
    }
    configured.iter().enumerate().map(|(index, config)| node(config, index, &mut numbers)).collect()
}

fn this_machine(devices: BTreeMap<String, Vec<u32>>) -> anyhow::Result<Node> {
    let cpus = std::thread::available_parallelism()?.get() as u64;
    let memory_bytes = usable_memory_bytes(&fs::read_to_string("/proc/meminfo")?);
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

/// The devices of a machine by the numbers of their makers' drivers. Nodes that share a machine share these: none is given to
/// two of them. A type the driver does not know of is counted on from those it knows.
struct Numbers {
    found: BTreeMap<String, Vec<u32>>,
    next: BTreeMap<String, u32>,
}

impl Numbers {
    fn of(found: BTreeMap<String, Vec<u32>>) -> Self {
        let mut next = BTreeMap::new();
        for (kind, indices) in &found {
            let behind = indices.iter().max().map_or(0, |last| last + 1);
            let next: &mut u32 = next.entry(counted_as(kind)).or_default();
            *next = behind.max(*next);
        }
        Self { found, next }
    }

    /// Everything that was found, and what was declared besides.
    fn all(&mut self, declared: &BTreeMap<String, u32>) -> BTreeMap<String, Vec<u32>> {
        let mut all = std::mem::take(&mut self.found);
        let unknown = declared.iter().filter(|(kind, _)| !all.contains_key(*kind)).map(|(kind, count)| (kind.clone(), *count));
        let given = self.give(&unknown.collect());
        all.extend(given);
        all
    }

    fn give(&mut self, counts: &BTreeMap<String, u32>) -> BTreeMap<String, Vec<u32>> {
        counts.iter().map(|(kind, count)| (kind.clone(), self.give_of(kind, *count as usize))).collect()
    }

    fn give_of(&mut self, kind: &str, count: usize) -> Vec<u32> {
        let found = self.found.get_mut(kind);
        let mut given: Vec<u32> = found.map(|it| it.drain(..count.min(it.len())).collect()).unwrap_or_default();
        let next = self.next.entry(counted_as(kind)).or_default();
        while given.len() < count {
            given.push(*next);
            *next += 1;
        }
        given
    }
}

/// What shares a numbering with a type: all of its maker, or only itself where we do not know that.
fn counted_as(kind: &str) -> String {
    match Maker::of(kind) {
        maker @ (Maker::Nvidia | Maker::Amd | Maker::Ascend) => format!("{maker:?}"),
        Maker::Other => kind.to_owned(),
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
    fn models_of_one_maker_share_a_numbering_and_makers_do_not() {
        let counts = |counts: &[(&str, u32)]| counts.iter().map(|(kind, count)| (kind.to_string(), *count)).collect::<BTreeMap<_, _>>();
        let given = |numbers: &mut Numbers, wanted: &[(&str, u32)]| format!("{:?}", numbers.give(&counts(wanted)));
        let mut declared = Numbers::of(BTreeMap::new());
        let first = given(&mut declared, &[("A100", 2), ("Ascend910", 2), ("FPGA", 1), ("T4", 1)]);
        assert_eq!(first, r#"{"A100": [0, 1], "Ascend910": [0, 1], "FPGA": [0], "T4": [2]}"#);
        assert_eq!(given(&mut declared, &[("A100", 1), ("Ascend910", 1)]), r#"{"A100": [3], "Ascend910": [2]}"#);

        let found = || BTreeMap::from([("T4".to_owned(), vec![0, 2]), ("A100".to_owned(), vec![1])]);
        let mut shared = Numbers::of(found());
        assert_eq!(given(&mut shared, &[("A100", 1), ("T4", 1)]), r#"{"A100": [1], "T4": [0]}"#);
        assert_eq!(given(&mut shared, &[("A100", 1), ("T4", 1)]), r#"{"A100": [3], "T4": [2]}"#);
        let all = Numbers::of(found()).all(&counts(&[("A100", 7), ("V100", 1), ("Ascend910", 1)]));
        assert_eq!(format!("{all:?}"), r#"{"A100": [1], "Ascend910": [0], "T4": [0, 2], "V100": [3]}"#);
    }

    #[test]
    fn this_machine_is_a_node_with_the_devices_that_were_declared() {
        let found = nodes(&[], &BTreeMap::from([("Ascend910".to_owned(), 2)])).unwrap();
        let [node] = found.as_slice() else { panic!("one node") };
        assert_eq!((node.address.as_str(), &node.devices["Ascend910"]), ("127.0.0.1", &vec![0, 1]));
        assert!(node.capacity.cpus_milli >= 1000 && node.open);
    }
}
