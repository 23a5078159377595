//! Ports that nobody listens on.

use std::{net::TcpListener, sync::atomic::Ordering};

use model::{ids::NodeName, plan::PortPlan, words::Words};

use super::House;

impl House {
    /// Every answer begins where the last one ended: a port that was just given out, and is not yet
    /// listened on, is not given out again soon.
    pub fn free_ports(&self, node: &NodeName, wanted: PortPlan, taken: &[u16]) -> Result<Vec<u16>, Words> {
        let home = self.node(node).map_err(|error| Words::from(error.to_string().as_str()))?;
        let (address, count) = (home.address.as_str(), wanted.count as usize);
        if let Some(from) = wanted.from {
            return certain_ports(address, from, count, taken);
        }
        let range = &self.config.ports;
        let width = usize::from(range.end().saturating_sub(*range.start())) + 1;
        let first = self.next_port.load(Ordering::Relaxed);
        let mut found = Vec::with_capacity(count);
        for step in 0..width {
            if found.len() == count {
                self.next_port.store((first + step) % width, Ordering::Relaxed);
                return Ok(found);
            }
            let port = range.start() + ((first + step) % width) as u16;
            if !taken.contains(&port) && TcpListener::bind((address, port)).is_ok() {
                found.push(port);
            }
        }
        if found.len() == count {
            return Ok(found);
        }
        let (found, first, last) = (found.len(), range.start(), range.end());
        Err(Words::new(
            format!("only {found} of {count} ports between {first} and {last} are free on {address}"),
            format!("{address} 上 {first} 到 {last} 之间只有 {found} 个端口空闲，需要 {count} 个"),
        ))
    }
}

/// These and no others.
fn certain_ports(address: &str, from: u16, count: usize, taken: &[u16]) -> Result<Vec<u16>, Words> {
    let ports: Vec<u16> = (from..=u16::MAX).take(count).collect();
    match ports.iter().find(|port| taken.contains(port) || TcpListener::bind((address, **port)).is_err()) {
        Some(port) => Err(Words::new(
            format!("port {port} is not free on {address}, and only that one will do"),
            format!("{address} 上的端口 {port} 已被占用，而作业指定要用它"),
        )),
        None => Ok(ports),
    }
}
