//! Who of a gang can be reached where: written by a supervisor for its task, read by `reach`.

use std::{collections::BTreeMap, fs, io, path::Path};

use model::order::{GangOrder, LaunchOrder};
use serde::{Deserialize, Serialize};

pub const KEY_FILE: &str = "key";
const BOOK_FILE: &str = "reach.json";

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Book {
    /// Whose book it is.
    pub own: String,
    pub tasks: BTreeMap<String, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub address: String,
    pub port: u16,
}

impl Book {
    pub fn new(own: &str, gang: &GangOrder, launch: &LaunchOrder) -> Self {
        let entry = |(task, port): (&String, &u16)| Some((task.clone(), Entry { address: gang.addresses.get(task)?.clone(), port: *port }));
        Self { own: own.to_owned(), tasks: launch.ports.iter().filter_map(entry).collect() }
    }

    pub fn write(&self, room: &Path) -> io::Result<()> {
        fs::write(room.join(BOOK_FILE), serde_json::to_vec(self)?)
    }

    pub fn read(room: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(room.join(BOOK_FILE))?)?)
    }

    /// The task that a host's name means: its own name, that name with a domain behind it, or an address that
    /// no other task has.
    pub fn find(&self, host: &str) -> Option<(&str, &Entry)> {
        let by_name = |name: &str| self.tasks.get_key_value(name).map(|(task, entry)| (task.as_str(), entry));
        let by_address = || {
            let mut there = self.tasks.iter().filter(|(_, entry)| entry.address == host);
            there.next().filter(|_| there.next().is_none()).map(|(task, entry)| (task.as_str(), entry))
        };
        let first_label = host.split('.').next().unwrap_or_default();
        by_name(host)
            .or_else(|| if host == "localhost" { by_name(&self.own) } else { None })
            .or_else(by_address)
            .or_else(|| by_name(first_label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_a_task_by_its_name_or_by_an_address_it_has_alone() {
        let entry = |address: &str| Entry { address: address.into(), port: 1 };
        let tasks = [("ps-0", "127.0.0.2"), ("worker-0", "127.0.0.3"), ("worker-1", "127.0.0.3")];
        let tasks = tasks.map(|(task, address)| (task.to_owned(), entry(address))).into();
        let book = Book { own: "worker-0".into(), tasks };
        let found = |host: &str| book.find(host).map_or("nobody", |it| it.0);
        let hosts = ["worker-1", "worker-1.gang.local", "localhost", "127.0.0.2", "127.0.0.3", "127.0.0.1", "worker-2", ""];
        assert_eq!(hosts.map(found), ["worker-1", "worker-1", "worker-0", "ps-0", "nobody", "nobody", "nobody", "nobody"]);
    }
}
