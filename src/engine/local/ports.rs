//! Ports that nobody listens on.

use std::{net::TcpListener, sync::atomic::Ordering};

use model::ids::NodeName;

use super::House;
use crate::engine::EngineError;

impl House {
    /// Every answer begins where the last one ended: a port that was just given out, and is not yet
    /// listened on, is not given out again soon.
    pub fn free_ports(&self, node: &NodeName, count: usize, taken: &[u16]) -> Result<Vec<u16>, EngineError> {
        let address = self.node(node)?.address.as_str();
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
        Err(EngineError::Away(format!(
            "only {} of {count} ports between {} and {} are free on {address}",
            found.len(),
            range.start(),
            range.end()
        )))
    }
}
