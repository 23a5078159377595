//! What a task of a gang finds of its neighbours: their names in `/etc/hosts`, a name of its own for the
//! machine it seems to be, and, where tasks may reach into each other, the way to do so.

use std::{
    collections::BTreeMap,
    fs, io,
    net::IpAddr,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use model::order::{GangOrder, RunOrder};
use nix::{
    ifaddrs::{InterfaceAddress, getifaddrs},
    net::if_::InterfaceFlags,
};

use super::{
    mounts::{bind, make_read_only},
    reach::book::{Book, KEY_FILE},
    sandbox::{open_dir, open_file},
};
use crate::rundir::RunDir;

/// Where the child finds it in its sandbox.
pub const ROOM: &str = "/.trainmaster";
/// By which `reach` finds the room.
pub const ROOM_VARIABLE: &str = "TRAINMASTER_GANG";
const PROGRAM: &str = "bin/trainmaster";
/// The same program: called by this name it understands what callers of ssh say.
const SSH: &str = "bin/ssh";

pub struct Neighbours {
    name: String,
    hosts: String,
    /// Who can be reached where, and the key to all of them.
    reach: Option<(Book, String)>,
    /// Our own program, for tasks that have to reach others.
    program: PathBuf,
}

impl Neighbours {
    pub fn new(gang: &GangOrder, name: String) -> Self {
        let machine = fs::read_to_string("/etc/hosts").unwrap_or_else(|_| "127.0.0.1 localhost\n::1 localhost\n".into());
        let reach = gang.launch.as_ref().map(|launch| (Book::new(&name, gang, launch), launch.key.clone()));
        Self { hosts: hosts(gang, &machine), name, reach, program: std::env::current_exe().unwrap_or_default() }
    }

    /// Puts everything into the run's directory.
    pub fn furnish(&self, dir: &RunDir) -> io::Result<()> {
        let room = dir.gang();
        open_dir(&room)?;
        open_file(&room.join("hosts"), &self.hosts)?;
        let Some((book, key)) = &self.reach else { return Ok(()) };
        book.write(&room)?;
        fs::write(room.join(KEY_FILE), key)?;
        open_dir(&room.join("bin"))?;
        // Only a place to lay the program over; without a sandbox it is a link to it.
        fs::write(room.join(PROGRAM), "")?;
        symlink("trainmaster", room.join(SSH))
    }

    /// Shows it in the child's new root. Answers what could not be had.
    pub fn move_in(&self, dir: &RunDir, root: &Path) -> Vec<String> {
        let hosts = bind(&dir.gang().join("hosts"), &root.join("etc/hosts"), false);
        let hosts = hosts.map_err(|error| format!("/etc/hosts does not know the tasks of its gang: {error}"));
        let named = self.name_machine().map_err(|error| format!("the machine has its own name and not the task's: {error}"));
        let reach = if self.reach.is_some() { self.show_room(dir, root) } else { Ok(()) };
        let reach = reach.map_err(|error| format!("other tasks cannot be reached: {error}"));
        [hosts, named, reach].into_iter().filter_map(Result::err).collect()
    }

    /// MPI and NCCL take processes with one host name to share their memory, which ours do not.
    fn name_machine(&self) -> io::Result<()> {
        nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWUTS)?;
        Ok(nix::unistd::sethostname(&self.name)?)
    }

    fn show_room(&self, dir: &RunDir, root: &Path) -> io::Result<()> {
        let room = root.join(ROOM.trim_start_matches('/'));
        fs::create_dir(&room)?;
        bind(&dir.gang(), &room, false)?;
        bind(&self.program, &room.join(PROGRAM), false)?;
        make_read_only(&room, false)
    }

    /// Without a sandbox nothing can be laid over anything.
    pub fn do_without(&self, dir: &RunDir) -> io::Result<()> {
        if self.reach.is_none() {
            return Ok(());
        }
        let program = dir.gang().join(PROGRAM);
        fs::remove_file(&program)?;
        symlink(&self.program, program)
    }
}

/// The gang's names come first: what the machine calls by them is not meant here.
fn hosts(gang: &GangOrder, machine: &str) -> String {
    let ours: String = gang.addresses.iter().map(|(task, address)| format!("{address} {task}\n")).collect();
    ours + machine
}

/// What MPI's launchers need to know to reach the other tasks. The job's own variables win over these.
pub fn variables(order: &RunOrder, room: &Path) -> BTreeMap<String, String> {
    if order.gang.as_ref().is_none_or(|gang| gang.launch.is_none()) {
        return BTreeMap::new();
    }
    let text = |path: PathBuf| path.to_string_lossy().into_owned();
    let ssh = text(room.join(SSH));
    let mut all = vec![
        (ROOM_VARIABLE, text(room.to_owned())),
        // Open MPI before 5, Open MPI 5, MPICH and Intel MPI.
        ("OMPI_MCA_plm_rsh_agent", ssh.clone()),
        ("PRTE_MCA_plm_ssh_agent", ssh.clone()),
        ("HYDRA_LAUNCHER", "ssh".into()),
        ("HYDRA_LAUNCHER_EXEC", ssh),
        // Two tasks on one node have one address, and are two hosts all the same.
        ("OMPI_MCA_if_base_do_not_resolve", "1".into()),
        ("PRTE_MCA_prte_do_not_resolve", "1".into()),
    ];
    if room != Path::new(ROOM) {
        // Without a sandbox all tasks have the machine's name, and Open MPI would take them for one host.
        all.push(("OMPI_MCA_btl", "tcp,self".into()));
    }
    if order.address.parse::<IpAddr>().is_ok_and(|it| it.is_loopback()) {
        // Open MPI does not look there by itself, and elsewhere the tasks of virtual nodes are not to be found.
        let loopback = ["OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_oob_tcp_if_include"];
        all.extend(loopback.map(|name| (name, "127.0.0.0/8".into())));
        // Open MPI 5 has no use for the loopback at all, and must not take another hint for itself.
        all.extend(outward_interface().map(|name| ("PRTE_MCA_prte_if_include", name)));
    }
    if nix::unistd::geteuid().is_root() {
        let allow =
            ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "PRTE_ALLOW_RUN_AS_ROOT", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM"];
        all.extend(allow.map(|name| (name, "1".into())));
    }
    all.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// An interface with an address that is not this machine's alone.
fn outward_interface() -> Option<String> {
    let is_outward = |it: &InterfaceAddress| {
        let is_up = it.flags.contains(InterfaceFlags::IFF_UP) && !it.flags.contains(InterfaceFlags::IFF_LOOPBACK);
        is_up && it.address.is_some_and(|address| address.as_sockaddr_in().is_some())
    };
    getifaddrs().ok()?.find(is_outward).map(|it| it.interface_name)
}

/// Our ssh comes first in `PATH`. For a host that is none of the gang's it steps aside for the machine's own.
pub fn put_first(env: &mut BTreeMap<String, String>, order: &RunOrder, room: &Path) {
    if order.gang.as_ref().is_some_and(|gang| gang.launch.is_some()) {
        let path = env.entry("PATH".into()).or_default();
        *path = format!("{}:{path}", room.join("bin").display());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gang_is_known_before_the_rest_of_the_world() {
        let addresses = [("ps-0", "127.0.0.2"), ("worker-0", "127.0.0.3")].map(|(task, address)| (task.into(), address.into()));
        let gang = GangOrder { timeout_ms: 1, back_ms: 0, addresses: addresses.into(), launch: None };
        insta::assert_snapshot!(hosts(&gang, "127.0.0.1 localhost\n10.0.0.1 worker-0\n"), @"
        127.0.0.2 ps-0
        127.0.0.3 worker-0
        127.0.0.1 localhost
        10.0.0.1 worker-0
        ");
    }

    #[test]
    fn only_a_task_that_may_reach_others_is_told_how() {
        let order = |gang: serde_json::Value| -> RunOrder {
            let limits = serde_json::json!({ "cpus_milli": 1, "memory_bytes": 1, "shared_memory_bytes": 1, "processes_max": 1 });
            let run = "job-00000000000170008000000000000000:worker-0:1";
            let order = serde_json::json!({ "run": run, "node": "a", "command": [], "env": {}, "code": null, "input": null, "limits": limits,
                "stop_grace_ms": 1, "ports": [], "address": "127.0.0.2", "gang": gang });
            serde_json::from_value(order).unwrap()
        };
        let mut gang = serde_json::json!({ "timeout_ms": 1, "addresses": {} });
        assert!(variables(&order(gang.clone()), Path::new(ROOM)).is_empty());
        gang["launch"] = serde_json::json!({ "port": 1, "ports": {}, "key": "" });
        let order = order(gang);
        let told = variables(&order, Path::new(ROOM));
        assert_eq!(told["OMPI_MCA_plm_rsh_agent"], "/.trainmaster/bin/ssh");
        assert_eq!(told["OMPI_MCA_btl_tcp_if_include"], "127.0.0.0/8");
        assert_ne!(told.get("PRTE_MCA_prte_if_include").map(String::as_str), Some("lo"));
        assert!(!told.contains_key("OMPI_MCA_btl"));
        let outside = variables(&order, Path::new("/data/gang"));
        assert_eq!((outside["TRAINMASTER_GANG"].as_str(), outside["OMPI_MCA_btl"].as_str()), ("/data/gang", "tcp,self"));
        let mut env = BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]);
        put_first(&mut env, &order, Path::new(ROOM));
        assert_eq!(env["PATH"], "/.trainmaster/bin:/bin");
    }
}
