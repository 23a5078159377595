//! What the server's owner decides: from flags, and from a TOML file where there is one.

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use model::{
    bundle::CodeLimits,
    ids::NodeName,
    resources::{Cpus, parse_bytes, parse_duration_ms},
};
use serde::{Deserialize, Serialize};

mod logs;
mod volume;

pub use logs::{Keeping, LogsConfig};
pub use volume::VolumeConfig;

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
    /// How long it is tried to save the output of a run that is over, where the owner says.
    pub sync_patience_ms: Option<u64>,
    pub python: PythonConfig,
    pub volumes: Vec<VolumeConfig>,
    pub code: CodeConfig,
    pub inputs: InputsConfig,
    pub logs: LogsConfig,
    pub prometheus: PrometheusConfig,
    /// The file with the key that seals secrets; `keys/secrets.key` in the data directory if absent.
    pub secrets_key: Option<PathBuf>,
    /// A file with further causes of failures.
    pub catalogue: Option<PathBuf>,
}

/// What the operator knows of failures besides what everyone does.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CatalogueConfig {
    /// TOML, in the form of our own; see docs/endings.md.
    pub file: Option<PathBuf>,
}

/// How much is kept of what jobs have fetched, and how long a store that is away is waited for.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputsConfig {
    /// Such as `200GiB`; four fifths of the disk if absent.
    pub cache: Option<String>,
    /// Such as `10m`, which is also the usual.
    pub patience: Option<String>,
}

/// What the porters of this house hold themselves to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staging {
    pub cache_bytes_max: Option<u64>,
    pub patience_ms: u64,
    pub code_bytes_max: u64,
}

impl Default for Staging {
    fn default() -> Self {
        Self { cache_bytes_max: None, patience_ms: 600_000, code_bytes_max: CodeLimits::default().bytes_max }
    }
}

impl Staging {
    /// Where it stands for supervisors and their porters to read.
    pub const VARIABLE: &str = "TRAINMASTER_STAGING";

    pub fn of_this_process() -> Self {
        std::env::var(Self::VARIABLE).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers are JSON")
    }
}

/// Who may read `/metrics` besides an administrator.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrometheusConfig {
    /// Whoever calls from this machine, without a token. Tasks run on this machine too.
    #[serde(default)]
    pub loopback: bool,
    /// A file with a token that opens this page and nothing else.
    pub token_file: Option<PathBuf>,
}

/// How much a person's folder of code may be, where the owner says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodeConfig {
    /// Such as `1GiB`.
    pub size_max: Option<String>,
    pub files_max: Option<u64>,
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
    /// Directories and addresses of packages, looked into besides the indexes.
    #[serde(default)]
    pub find_links: Vec<String>,
    /// Nothing is fetched: what is in `find_links` and in `uv`'s cache must do.
    #[serde(default)]
    pub offline: bool,
    /// Whether packages that come as source may be built here, which runs what is in them.
    #[serde(default)]
    pub build: bool,
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
    #[serde(default, rename = "volume")]
    pub volumes: Vec<VolumeConfig>,
    #[serde(default)]
    pub code: CodeConfig,
    #[serde(default)]
    pub inputs: InputsConfig,
    #[serde(default)]
    pub logs: LogsConfig,
    #[serde(default)]
    pub catalogue: CatalogueConfig,
    #[serde(default)]
    pub prometheus: PrometheusConfig,
    pub secrets_key: Option<PathBuf>,
    /// How long it is tried to save the output of a run that is over, such as `24h`; then the job has failed.
    #[serde(default, deserialize_with = "time_ms")]
    pub sync_patience: Option<u64>,
}

fn time_ms<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bad = || serde::de::Error::custom(format!("`{text}` is not a time; write 90s, 15m or 24h"));
    parse_duration_ms(&text).map(Some).ok_or_else(bad)
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
    #[error("code.size_max: `{0}` is not a size; write 200MiB or 1GiB")]
    BadCodeSize(String),
    #[error("inputs.cache: `{0}` is not a size; write 200GiB")]
    BadCacheSize(String),
    #[error("inputs.patience: `{0}` is not a time; write 10m")]
    BadPatience(String),
    #[error("logs.{name}: `{value}` is not {wanted}")]
    BadLogs { name: &'static str, value: String, wanted: &'static str },
}

impl ConfigFile {
    pub fn read(path: &Path) -> Result<Self, BadConfig> {
        let shown = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| BadConfig::Unreadable { path: shown.clone(), why: error.to_string() })?;
        toml::from_str(&text).map_err(|error| BadConfig::Wrong { path: shown, why: error.to_string() })
    }
}

impl ServerConfig {
    pub fn secrets_key(&self) -> PathBuf {
        self.secrets_key.clone().unwrap_or_else(|| self.data.join("keys/secrets.key"))
    }

    /// Refuses what would be regretted.
    pub fn check(&self) -> Result<(), BadConfig> {
        if !self.listen.ip().is_loopback() && !self.insecure_http {
            return Err(BadConfig::OpenToAll { address: self.listen });
        }
        self.staging()?;
        self.logs.keeping()?;
        self.nodes.iter().try_for_each(|node| node.amounts().map(|_| ()))
    }

    pub fn staging(&self) -> Result<Staging, BadConfig> {
        let InputsConfig { cache, patience } = &self.inputs;
        let size = |text: &String| parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| BadConfig::BadCacheSize(text.clone()));
        let time = |text: &String| parse_duration_ms(text).filter(|ms| *ms > 0).ok_or_else(|| BadConfig::BadPatience(text.clone()));
        Ok(Staging {
            cache_bytes_max: cache.as_ref().map(size).transpose()?,
            patience_ms: patience.as_ref().map(time).transpose()?.unwrap_or(Staging::default().patience_ms),
            code_bytes_max: self.code.limits()?.bytes_max,
        })
    }

    /// `count` equal nodes named `node-1`, `node-2`, …
    pub fn virtual_nodes(count: u32, cpus: f64, memory: &str, devices: &BTreeMap<String, u32>) -> Vec<NodeConfig> {
        let name = |number| NodeName::parse(&format!("node-{number}")).expect("a word and a number is a name");
        let node = |number| NodeConfig { name: name(number), address: None, cpus, memory: memory.to_owned(), devices: devices.clone() };
        (1..=count).map(node).collect()
    }
}

impl CodeConfig {
    pub fn limits(&self) -> Result<CodeLimits, BadConfig> {
        let usual = CodeLimits::default();
        let read = |text: &String| parse_bytes(text).ok_or_else(|| BadConfig::BadCodeSize(text.clone()));
        let bytes_max = self.size_max.as_ref().map(read).transpose()?.unwrap_or(usual.bytes_max);
        Ok(CodeLimits { bytes_max, files_max: self.files_max.unwrap_or(usual.files_max) })
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
    fn a_configuration_file_says_how_much_code_may_be() {
        let limits = |text: &str| toml::from_str::<ConfigFile>(text).unwrap().code.limits().map_err(|bad| bad.to_string());
        assert_eq!(limits("[code]\nsize_max = '1GiB'\n"), Ok(CodeLimits { bytes_max: 1 << 30, ..CodeLimits::default() }));
        assert_eq!(limits("[code]\nsize_max = 'much'\n"), Err("code.size_max: `much` is not a size; write 200MiB or 1GiB".into()));
    }

    #[test]
    fn a_configuration_file_says_how_much_of_inputs_is_kept() {
        let staging = |text: &str| {
            let file: ConfigFile = toml::from_str(text).unwrap();
            let config = ServerConfig { inputs: file.inputs, ..config_at("127.0.0.1:1", false) };
            config.staging().map(|it| (it.cache_bytes_max, it.patience_ms)).map_err(|bad| bad.to_string())
        };
        assert_eq!(staging(""), Ok((None, 600_000)));
        assert_eq!(staging("[inputs]\ncache = '2GiB'\npatience = '90s'"), Ok((Some(2 << 30), 90_000)));
        assert_eq!(staging("[inputs]\ncache = 'much'"), Err("inputs.cache: `much` is not a size; write 200GiB".into()));
        assert_eq!(staging("[inputs]\npatience = 'much'"), Err("inputs.patience: `much` is not a time; write 10m".into()));
    }

    #[test]
    fn a_wrong_configuration_says_where_and_what() {
        let said = |text: &str| toml::from_str::<ConfigFile>(text).unwrap_err().to_string();
        assert!(said("lisen = '127.0.0.1:9000'").contains("unknown field `lisen`"));
        assert!(said("[[node]]\nname = 'a b'\ncpus = 1\nmemory = '1GiB'").contains("has a space"));
    }

    fn config_at(listen: &str, insecure_http: bool) -> ServerConfig {
        ServerConfig {
            catalogue: None,
            data: PathBuf::new(),
            listen: listen.parse().unwrap(),
            insecure_http,
            allow_hosts: Vec::new(),
            nodes: Vec::new(),
            devices: BTreeMap::new(),
            python: PythonConfig::default(),
            volumes: Vec::new(),
            gang_timeout_ms: None,
            sync_patience_ms: None,
            code: CodeConfig::default(),
            secrets_key: None,
            inputs: InputsConfig::default(),
            logs: LogsConfig::default(),
            prometheus: PrometheusConfig::default(),
        }
    }

    #[test]
    fn an_address_open_to_others_needs_the_owners_word() {
        let config = config_at;
        assert!(config("127.0.0.1:1", false).check().is_ok());
        assert!(config("[::1]:1", false).check().is_ok());
        assert!(config("0.0.0.0:1", false).check().is_err());
        assert!(config("0.0.0.0:1", true).check().is_ok());
    }
}
