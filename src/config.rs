//! What the server's owner decides: from flags, and from a TOML file where there is one.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use model::{
    ids::NodeName,
    resources::{Cpus, parse_bytes},
};
use serde::Deserialize;

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub data: PathBuf,
    pub listen: SocketAddr,
    /// Without TLS, only loopback is listened on unless the owner insists.
    pub insecure_http: bool,
    /// Further names the server answers to.
    pub allow_hosts: Vec<String>,
    /// Empty: this machine as one node.
    pub nodes: Vec<NodeConfig>,
    /// Devices that no library can find, by type, for the one node of an empty `nodes`.
    pub devices: BTreeMap<String, u32>,
    /// How long a task that is ready waits for the others of its gang, where the owner says.
    pub gang_timeout_ms: Option<u64>,
    pub python: PythonConfig,
}

/// Where Python environments are kept, and where their packages come from.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PythonConfig {
    /// Instead of the usual one.
    pub index: Option<String>,
    /// Asked before the other, such as one with smaller builds.
    #[serde(default)]
    pub extra_indexes: Vec<String>,
    /// A directory several servers may share; `environments` in the data directory if absent.
    pub environments: Option<PathBuf>,
}

/// A virtual node: a share of this machine with its own address.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeConfig {
    pub name: NodeName,
    /// Its own loopback address, such as 127.0.0.2; given out in order if absent.
    pub address: Option<String>,
    pub cpus: f64,
    pub memory: String,
    /// Devices by type: `A100 = 4`.
    #[serde(default)]
    pub devices: BTreeMap<String, u32>,
}

/// The TOML file.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    pub listen: Option<SocketAddr>,
    #[serde(default)]
    pub insecure_http: bool,
    #[serde(default)]
    pub allow_hosts: Vec<String>,
    #[serde(default, rename = "node")]
    pub nodes: Vec<NodeConfig>,
    #[serde(default)]
    pub devices: BTreeMap<String, u32>,
    #[serde(default)]
    pub python: PythonConfig,
}

#[derive(Debug, thiserror::Error)]
pub enum BadConfig {
    #[error("{path} cannot be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("{path}: {why}")]
    Wrong { path: String, why: String },
    #[error("{address} can be reached from other machines, and the connection would not be encrypted")]
    OpenToAll { address: SocketAddr },
    #[error("node {node}: `{memory}` is not an amount of memory; write 4GiB or 512MiB")]
    BadMemory { node: NodeName, memory: String },
    #[error("node {node}: {cpus} is not a number of CPUs")]
    BadCpus { node: NodeName, cpus: f64 },
}

impl ConfigFile {
    pub fn read(path: &Path) -> Result<Self, BadConfig> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| BadConfig::Unreadable { path: shown.clone(), why: error.to_string() })?;
        toml::from_str(&text).map_err(|error| BadConfig::Wrong { path: shown, why: error.to_string() })
    }
}

impl ServerConfig {
    /// Refuses what would be regretted.
    pub fn check(&self) -> Result<(), BadConfig> {
        if !self.listen.ip().is_loopback() && !self.insecure_http {
            return Err(BadConfig::OpenToAll { address: self.listen });
        }
        self.nodes.iter().try_for_each(|node| node.amounts().map(|_| ()))
    }

    /// `count` equal nodes named `node-1`, `node-2`, …
    pub fn virtual_nodes(count: u32, cpus: f64, memory: &str, devices: &BTreeMap<String, u32>) -> Vec<NodeConfig> {
        let name = |number| NodeName::parse(&format!("node-{number}")).expect("a word and a number is a name");
        let node = |number| NodeConfig { name: name(number), address: None, cpus, memory: memory.to_owned(), devices: devices.clone() };
        (1..=count).map(node).collect()
    }
}

impl NodeConfig {
    /// Thousandths of a CPU, and bytes.
    pub fn amounts(&self) -> Result<(u64, u64), BadConfig> {
        if !self.cpus.is_finite() || self.cpus <= 0.0 || self.cpus > 1e6 {
            return Err(BadConfig::BadCpus { node: self.name.clone(), cpus: self.cpus });
        }
        let bad_memory = || BadConfig::BadMemory { node: self.name.clone(), memory: self.memory.clone() };
        let memory_bytes = parse_bytes(&self.memory).filter(|bytes| *bytes > 0).ok_or_else(bad_memory)?;
        Ok((Cpus::from_number(self.cpus).0, memory_bytes))
    }
}

/// Where everything is kept unless another place is named.
pub fn default_data_dir() -> PathBuf {
    let from_env = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let share = from_env("XDG_DATA_HOME").or_else(|| from_env("HOME").map(|home| home.join(".local/share")));
    share.unwrap_or_else(|| PathBuf::from("/var/lib")).join("trainmaster")
}

/// Where things are kept that can be made again.
pub fn default_cache_dir() -> PathBuf {
    let from_env = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = from_env("XDG_CACHE_HOME").or_else(|| from_env("HOME").map(|home| home.join(".cache")));
    cache.unwrap_or_else(|| PathBuf::from("/var/cache")).join("trainmaster")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_file_names_nodes_with_their_devices() {
        let file: ConfigFile =
            toml::from_str("listen = '127.0.0.1:9000'\n[[node]]\nname = 'left'\ncpus = 4\nmemory = '8GiB'\ndevices = { A100 = 2 }\n")
                .unwrap();
        assert_eq!(file.nodes[0].amounts().unwrap(), (4000, 8 << 30));
        assert_eq!(file.nodes[0].devices["A100"], 2);
    }

    #[test]
    fn a_wrong_configuration_says_where_and_what() {
        let said = |text: &str| toml::from_str::<ConfigFile>(text).unwrap_err().to_string();
        assert!(said("lisen = '127.0.0.1:9000'").contains("unknown field `lisen`"));
        assert!(said("[[node]]\nname = 'a b'\ncpus = 1\nmemory = '1GiB'").contains("has ` `"));
    }

    #[test]
    fn an_address_open_to_others_needs_the_owners_word() {
        let config = |listen: &str, insecure_http| ServerConfig {
            data: PathBuf::new(),
            listen: listen.parse().unwrap(),
            insecure_http,
            allow_hosts: Vec::new(),
            nodes: Vec::new(),
            devices: BTreeMap::new(),
            python: PythonConfig::default(),
            gang_timeout_ms: None,
        };
        assert!(config("127.0.0.1:1", false).check().is_ok());
        assert!(config("[::1]:1", false).check().is_ok());
        assert!(config("0.0.0.0:1", false).check().is_err());
        assert!(config("0.0.0.0:1", true).check().is_ok());
    }
}
