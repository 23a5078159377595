//! `trainmaster up`: flags and configuration file become the server's configuration.

use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

use super::{
    context::Context,
    failure::{Exit, Failure},
    output,
};
use crate::{
    config::{BadConfig, ConfigFile, ServerConfig},
    server::{self, Ready},
};

/// Where the server listens unless told otherwise.
const LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7077);

/// The server waits far more than it computes.
const THREADS_MAX: usize = 8;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct UpArgs {
    /// Where to listen [default: 127.0.0.1:7077]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Listen on an address that others can reach, although tokens travel unencrypted
    #[arg(long)]
    pub insecure_http: bool,
    /// Another name this server is called by, such as a proxy's; may be given again
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// A configuration file, TOML; flags win over it
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Pretend to be this many machines, each with its own loopback address
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=250))]
    pub nodes: Option<u32>,
    /// CPUs of each node; an equal share of the machine's if not given
    #[arg(long, value_name = "N", value_parser = positive_number)]
    pub node_cpus: Option<f64>,
    /// Memory of each node, such as 16GiB; an equal share of the machine's if not given
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub node_memory: Option<u64>,
    /// Devices of each node by type, such as A100=2; may be given again
    #[arg(long, value_name = "TYPE=COUNT", value_parser = device)]
    pub device: Vec<(String, u32)>,
    /// How long a task that is ready waits for the others of its job [default: 10m]
    #[arg(long, value_name = "TIME", value_parser = time_ms)]
    pub gang_timeout: Option<u64>,
}

pub fn up(context: &Context, args: &UpArgs) -> Result<Exit, Failure> {
    start_log();
    let file = args.config.as_deref().map(ConfigFile::read).transpose().map_err(wrong)?.unwrap_or_default();
    let data = std::path::absolute(context.data_dir())?;
    let config = configure(args, file, data, Machine::read());
    config.check().map_err(wrong)?;
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, THREADS_MAX);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?;
    let mut answers = false;
    let ended = runtime.block_on(server::up(config, |ready| {
        answers = true;
        welcome(ready);
    }));
    // Until it answers, what is wrong is for the person to put right; after that it is ours.
    let exit = if answers { Exit::Us } else { Exit::You };
    ended.map_err(|error| Failure::new(exit, "server", format!("{error:#}")))?;
    Ok(Exit::Done)
}

fn welcome(ready: &Ready) {
    // Whoever started us may not listen; the server is up all the same.
    let (url, data) = (&ready.url, ready.data.display());
    output::line(&format!("Trainmaster is at {url}\nits data is in {data}\nthe console, logged in, once: {url}{}", ready.console)).ok();
}

/// Our own log goes to standard error; `TRAINMASTER_LOG` says how much of it.
fn start_log() {
    let filter = tracing_subscriber::EnvFilter::try_from_env("TRAINMASTER_LOG").unwrap_or_else(|_| "info".into());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(output::Sink::Stderr.has_colour()).init();
}

fn wrong(error: BadConfig) -> Failure {
    let failure = Failure::new(Exit::You, "bad_config", error.to_string().trim_end());
    match error {
        BadConfig::OpenToAll { .. } => failure.hint("add --insecure-http if only people you trust can reach it"),
        BadConfig::Unreadable { .. }
        | BadConfig::Wrong { .. }
        | BadConfig::BadMemory { .. }
        | BadConfig::BadCpus { .. }
        | BadConfig::BadCodeSize(_)
        | BadConfig::BadCacheSize(_)
        | BadConfig::BadPatience(_)
        | BadConfig::BadLogs { .. } => failure,
    }
}

/// What there is to share out among virtual nodes.
struct Machine {
    cpus: f64,
    memory_bytes: u64,
}

impl Machine {
    fn read() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64;
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let kib = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        Self { cpus, memory_bytes: kib.unwrap_or(1 << 20) << 10 }
    }
}

fn configure(args: &UpArgs, file: ConfigFile, data: PathBuf, machine: Machine) -> ServerConfig {
    let mut devices: BTreeMap<String, u32> = file.devices;
    devices.extend(args.device.iter().cloned());
    let wants_virtual = args.nodes.is_some() || args.node_cpus.is_some() || args.node_memory.is_some();
    let nodes = if wants_virtual {
        let count = args.nodes.unwrap_or(1);
        let cpus = args.node_cpus.unwrap_or(machine.cpus / f64::from(count));
        let memory_bytes = args.node_memory.unwrap_or(machine.memory_bytes / u64::from(count));
        ServerConfig::virtual_nodes(count, cpus, &memory_bytes.to_string(), &devices)
    } else {
        file.nodes
    };
    ServerConfig {
        data,
        listen: args.listen.or(file.listen).unwrap_or(LISTEN),
        insecure_http: args.insecure_http || file.insecure_http,
        allow_hosts: file.allow_hosts.into_iter().chain(args.allow_host.iter().cloned()).collect(),
        nodes,
        devices,
        python: file.python,
        volumes: file.volumes,
        code: file.code,
        inputs: file.inputs,
        logs: file.logs,
        prometheus: file.prometheus,
        gang_timeout_ms: args.gang_timeout,
        sync_patience_ms: file.sync_patience,
        secrets_key: file.secrets_key,
        catalogue: file.catalogue.file,
    }
}

fn positive_number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0).ok_or_else(|| "give a number above 0".into())
}

fn time_ms(text: &str) -> Result<u64, String> {
    model::resources::parse_duration_ms(text).filter(|ms| *ms > 0).ok_or_else(|| "give a time such as 90s or 10m".into())
}

fn size(text: &str) -> Result<u64, String> {
    model::resources::parse_bytes(text).filter(|bytes| *bytes > 0).ok_or_else(|| "give a size such as 16GiB".into())
}

fn device(text: &str) -> Result<(String, u32), String> {
    let (kind, count) = text.split_once('=').ok_or("write it as TYPE=COUNT, such as A100=2")?;
    model::ids::NodeName::parse(kind).map_err(|why| format!("the type `{kind}` {why}"))?;
    let count = count.parse().map_err(|_| format!("`{count}` is not a number of devices"))?;
    Ok((kind.to_owned(), count))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn configured(args: &UpArgs, file: ConfigFile) -> String {
        let config = configure(args, file, "/data".into(), Machine { cpus: 8.0, memory_bytes: 16 << 30 });
        let node = |node: &crate::config::NodeConfig| format!("{} {} {} {:?}", node.name, node.cpus, node.memory, node.devices);
        let nodes: Vec<String> = config.nodes.iter().map(node).collect();
        format!("{} {:?} {:?} [{}]", config.listen, config.allow_hosts, config.devices, nodes.join("; "))
    }

    #[test]
    fn without_flags_the_machine_is_one_node_on_the_usual_port() {
        assert_eq!(configured(&UpArgs::default(), ConfigFile::default()), "127.0.0.1:7077 [] {} []");
    }

    #[test]
    fn virtual_nodes_share_the_machine_unless_told_otherwise() {
        let two = UpArgs { nodes: Some(2), device: vec![("A100".into(), 2)], ..UpArgs::default() };
        assert_eq!(
            configured(&two, ConfigFile::default()),
            "127.0.0.1:7077 [] {\"A100\": 2} [node-1 4 8589934592 {\"A100\": 2}; node-2 4 8589934592 {\"A100\": 2}]"
        );
        let one = UpArgs { node_cpus: Some(0.5), ..UpArgs::default() };
        assert_eq!(configured(&one, ConfigFile::default()), "127.0.0.1:7077 [] {} [node-1 0.5 17179869184 {}]");
    }

    #[test]
    fn flags_win_over_the_file() {
        let file = || ConfigFile { listen: Some("127.0.0.1:1".parse().unwrap()), allow_hosts: vec!["a".into()], ..ConfigFile::default() };
        assert_eq!(configured(&UpArgs::default(), file()), "127.0.0.1:1 [\"a\"] {} []");
        let args = UpArgs { listen: Some("127.0.0.1:2".parse().unwrap()), allow_host: vec!["b".into()], ..UpArgs::default() };
        assert_eq!(configured(&args, file()), "127.0.0.1:2 [\"a\", \"b\"] {} []");
    }

    #[test]
    fn devices_are_a_type_and_a_number() {
        assert_eq!(device("A100=2"), Ok(("A100".into(), 2)));
        assert_eq!(device("A100").unwrap_err(), "write it as TYPE=COUNT, such as A100=2");
        assert_eq!(device("A100=two").unwrap_err(), "`two` is not a number of devices");
        assert_eq!(device("=2").unwrap_err(), "the type `` is empty");
    }

    #[test]
    fn sizes_and_numbers_of_nothing_are_refused() {
        assert_eq!(size("2GiB"), Ok(2 << 30));
        assert!(size("0").is_err() && size("much").is_err());
        assert_eq!(time_ms("2m"), Ok(120_000));
        assert!(time_ms("0s").is_err() && time_ms("soon").is_err());
        assert_eq!(positive_number("0.5"), Ok(0.5));
        assert!(positive_number("0").is_err() && positive_number("NaN").is_err() && positive_number("-1").is_err());
    }
}
