//! `trainmaster up`: the flags of the server. What they do is the server's business.

use std::{net::SocketAddr, path::PathBuf};

/// Start the server
#[derive(Clone, Debug, clap::Args)]
pub struct UpArgs {
    /// Where it listens [default: 127.0.0.1:7077]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: Option<SocketAddr>,
    /// Listen on an address that others can reach, although tokens travel unencrypted
    #[arg(long)]
    pub insecure_http: bool,
    /// Another name this server is called by, such as a proxy's; may be given again
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// The configuration file, TOML
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Pretend to be this many machines, each with its own loopback address
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=250))]
    pub nodes: Option<u32>,
    /// CPUs of each node, instead of what the machine has
    #[arg(long, value_name = "N", value_parser = positive_number)]
    pub node_cpus: Option<f64>,
    /// Memory of each node, such as 16GiB, instead of what the machine has
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub node_memory: Option<u64>,
    /// Devices of each node by type, such as A100=2; may be given again
    #[arg(long, value_name = "TYPE=COUNT", value_parser = device)]
    pub device: Vec<(String, u32)>,
}

fn positive_number(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0).ok_or_else(|| "give a number above 0".into())
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
        assert_eq!(positive_number("0.5"), Ok(0.5));
        assert!(positive_number("0").is_err() && positive_number("NaN").is_err() && positive_number("-1").is_err());
    }
}
