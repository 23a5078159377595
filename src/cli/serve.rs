//! `trainmaster up`, behind its flags: puts the configuration together and hands over to the server.

use std::{collections::BTreeMap, process::ExitCode};

use tracing_subscriber::EnvFilter;

use super::{
    context::ServerArgs,
    failure::{Exit, Failure},
    output,
    up::UpArgs,
};
use crate::{
    config::{BadConfig, ConfigFile, ServerConfig, default_data_dir},
    server::{self, Ready},
    store::OpenError,
};

const LISTEN_DEFAULT: std::net::SocketAddr = std::net::SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 7077);
/// A virtual node has what a small machine has, unless the flags say otherwise.
const NODE_CPUS_DEFAULT: f64 = 2.0;
const NODE_MEMORY_DEFAULT: &str = "4GiB";

pub fn serve(common: ServerArgs, args: UpArgs) -> ExitCode {
    let json = common.json;
    let exit = try_serve(common, args).map_or_else(
        |failure| {
            output::failure(&failure, json);
            failure.exit
        },
        |()| Exit::Done,
    );
    ExitCode::from(exit.code())
}

fn try_serve(common: ServerArgs, args: UpArgs) -> Result<(), Failure> {
    let config = config(common, args).map_err(|error| bad_config(&error))?;
    tell_our_own_log();
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get).clamp(2, 8);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Us, "runtime", format!("cannot start: {error}")))?;
    runtime.block_on(server::up(config, welcome)).map_err(|error| not_up(&error))
}

fn config(common: ServerArgs, args: UpArgs) -> Result<ServerConfig, BadConfig> {
    let file = args.config.as_deref().map(ConfigFile::read).transpose()?.unwrap_or_default();
    let mut devices = file.devices;
    devices.extend(args.device.iter().cloned().collect::<BTreeMap<_, _>>());
    let asks_for_nodes = args.nodes.is_some() || args.node_cpus.is_some() || args.node_memory.is_some();
    let nodes = if asks_for_nodes {
        let memory = args.node_memory.map_or(NODE_MEMORY_DEFAULT.to_owned(), |bytes| bytes.to_string());
        ServerConfig::virtual_nodes(args.nodes.unwrap_or(1), args.node_cpus.unwrap_or(NODE_CPUS_DEFAULT), &memory, &devices)
    } else {
        file.nodes
    };
    let config = ServerConfig {
        data: std::path::absolute(common.data.unwrap_or_else(default_data_dir)).unwrap_or_default(),
        listen: args.listen.or(file.listen).unwrap_or(LISTEN_DEFAULT),
        insecure_http: args.insecure_http || file.insecure_http,
        allow_hosts: file.allow_hosts.into_iter().chain(args.allow_host).collect(),
        nodes,
        devices,
    };
    config.check()?;
    Ok(config)
}

fn bad_config(error: &BadConfig) -> Failure {
    let failure = Failure::usage(error.to_string());
    match error {
        BadConfig::OpenToAll { .. } => failure.hint("listen on 127.0.0.1, or add --insecure-http if the network is yours alone"),
        BadConfig::Unreadable { .. } | BadConfig::Wrong { .. } | BadConfig::BadMemory { .. } | BadConfig::BadCpus { .. } => failure,
    }
}

fn tell_our_own_log() {
    let filter = EnvFilter::try_from_env("TRAINMASTER_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    let is_terminal = std::io::IsTerminal::is_terminal(&std::io::stderr());
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_ansi(is_terminal).init();
}

fn welcome(ready: &Ready) {
    let told = output::line(&format!("Trainmaster is at {}\nits data is in {}", ready.url, ready.data.display()));
    // Whoever started us may have closed the pipe; the server is up all the same.
    drop(told);
}

/// A data directory that cannot be opened is for its owner to mend; anything else is ours.
fn not_up(error: &anyhow::Error) -> Failure {
    match error.downcast_ref::<OpenError>() {
        Some(open) => Failure::usage(open.to_string()),
        None => Failure::new(Exit::Us, "server", format!("{error:#}")),
    }
}
