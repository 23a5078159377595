//! What this machine can and cannot do for tasks, found out by trying: a small run is started as every
//! run is, and what the kernel refused it is what it would refuse others.

use std::{
    collections::BTreeMap,
    fs, io,
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use model::{
    code::CodePlan,
    ids::{JobId, NodeName, RunKey},
    location::Location,
    order::{Limits, RunOrder},
    task::{Cause, Ending},
};

use super::{clean::delete_tree, inventory};
use crate::{
    code,
    rundir::{
        RunDir,
        record::{Record, find_line, last_line},
    },
    supervisor::{ChildRecord, letter::Letter},
};

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    pub name: &'static str,
    pub ok: bool,
    /// What was found, in words.
    pub what: String,
    /// What to do about it.
    pub hint: Option<String>,
}

/// Looks this machine over, with `exe` as the supervisor. The trial run takes place below `data` if that
/// is there, because what a file system can do differs from place to place.
pub fn doctor(data: &Path, exe: &Path) -> Vec<Check> {
    let base = if data.is_dir() { data.to_owned() } else { std::env::temp_dir() };
    let trial = Trial { place: base.join(format!(".doctor-{}", std::process::id())), exe: exe.to_owned() };
    let mut checks = trial.checks();
    checks.push(addresses());
    checks.push(devices());
    checks.push(python());
    checks
}

struct Trial {
    /// With data of its own in it, and code beside that.
    place: PathBuf,
    exe: PathBuf,
}

/// What a trial run has shown.
struct Shown {
    ending: Ending,
    missing: Vec<String>,
}

impl Trial {
    fn checks(&self) -> Vec<Check> {
        let shown = self.run();
        let cleaned = delete_tree(&self.place);
        let mut checks = match shown {
            Ok(shown) => judge(&shown),
            Err(error) => {
                let hint = Some(format!("is {} writable, and this program still where it was?", self.place.display()));
                vec![Check { name: "trial run", ok: false, what: format!("a small task could not be run: {error}"), hint }]
            }
        };
        let left = cleaned.err().map(|error| format!("{} could not be removed: {error}", self.place.display()));
        checks.extend(left.map(|what| Check { name: "cleaning up", ok: false, what, hint: None }));
        checks
    }

    fn run(&self) -> io::Result<Shown> {
        let order = self.order();
        let dir = RunDir::new(&self.place.join("data"), &order.run);
        fs::create_dir_all(dir.path())?;
        fs::create_dir_all(self.place.join("code"))?;
        // Nobody listens there, and nobody needs to: the records on disk say everything.
        let letter = Letter { order, token: "none".into(), server: "http://127.0.0.1:9".into() };
        fs::write(dir.letter(), serde_json::to_vec(&letter)?)?;
        let mut command = Command::new(&self.exe);
        command.arg("supervise").arg("--dir").arg(dir.path());
        let mut supervisor = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let shown = wait_for(&dir, &mut supervisor);
        let _ = supervisor.kill();
        supervisor.wait()?;
        shown
    }

    fn order(&self) -> RunOrder {
        let run = RunKey { job: JobId::new(0, &[0; 10]), task: "doctor-0".parse().expect("a task's name"), attempt: std::process::id() };
        RunOrder {
            run,
            node: NodeName::parse("local").expect("a node's name"),
            command: ["/bin/sh", "-c", "test -d /code && : > /code/written"].map(String::from).to_vec(),
            env: BTreeMap::new(),
            secrets: BTreeMap::new(),
            paths: BTreeMap::new(),
            files: BTreeMap::new(),
            code: Some(CodePlan::At(Location::Host(self.place.join("code").to_string_lossy().into_owned()))),
            agrees_on_code: false,
            requirements: Default::default(),
            setup: None,
            freight: Default::default(),
            not_ours: Vec::new(),
            metrics: Default::default(),
            volumes: Default::default(),
            environment: None,
            limits: Limits { cpus_milli: 1000, memory_bytes: 64 << 20, shared_memory_bytes: 1 << 20, disk_bytes: None, processes_max: 64 },
            stop_grace_ms: 1000,
            keep_failed_ms: None,
            ports: Vec::new(),
            address: "127.0.0.1".into(),
            gang: None,
        }
    }
}

fn wait_for(dir: &RunDir, supervisor: &mut Child) -> io::Result<Shown> {
    const PATIENCE: Duration = Duration::from_secs(20);
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Record::Whole(ending) = last_line(&dir.exit())? {
            let missing = match find_line::<ChildRecord>(&dir.supervisor())? {
                Record::Whole(record) => record.missing,
                Record::None | Record::Torn => Vec::new(),
            };
            return Ok(Shown { ending, missing });
        }
        if supervisor.try_wait()?.is_some() && !dir.exit().exists() {
            let words = fs::read_to_string(dir.journal()).unwrap_or_default();
            return Err(io::Error::other(format!("its supervisor gave up: {}", words.trim())));
        }
        if Instant::now() > deadline {
            return Err(io::Error::other("it took too long"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// What a refusal is about, by the words it is given in, and what helps.
const REMEDIES: [(&str, &str); 5] = [
    (
        "namespaces were refused",
        "allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns=0), or run as root",
    ),
    ("is not enforced", "run as root, or in a systemd service or scope with Delegate=yes"),
    ("/code is read-only", "put the data directory on a file system that can carry an overlay layer: ext4, xfs, btrfs, tmpfs"),
    ("a fresh one was refused", "in a container: unmask /proc (Docker: --security-opt systempaths=unconfined)"),
    ("sandbox could not be built", "allow mounts in user namespaces, or run as root"),
];

fn judge(shown: &Shown) -> Vec<Check> {
    let ok = shown.ending.cause == Cause::Exited { code: 0 };
    let what = if ok { "a small task runs".to_owned() } else { format!("a small task {}", shown.ending) };
    let mut checks = vec![Check { name: "trial run", ok, what, hint: None }];
    if ok && shown.missing.is_empty() {
        let all = "every task has its own rooms and processes, and its limits hold";
        checks.push(Check { name: "sandbox and limits", ok, what: all.into(), hint: None });
    }
    checks.extend(shown.missing.iter().map(|missing| {
        let remedy = REMEDIES.iter().find(|(words, _)| missing.contains(words));
        Check { name: "sandbox and limits", ok: false, what: missing.clone(), hint: remedy.map(|(_, hint)| (*hint).to_owned()) }
    }));
    checks
}

fn addresses() -> Check {
    let bound = TcpListener::bind(("127.0.0.2", 0));
    let (ok, what) = match bound {
        Ok(_) => (true, "nodes on this machine can have loopback addresses of their own".to_owned()),
        Err(error) => (false, format!("127.0.0.2 cannot be used: {error}")),
    };
    let hint = (!ok).then(|| "give every node the address 127.0.0.1 in the configuration".to_owned());
    Check { name: "loopback addresses", ok, what, hint }
}

/// Only jobs that name a framework need them, so a machine without is not a broken one.
fn python() -> Check {
    let uv = code::python::uv_on_path().map(|path| format!("uv is {}", path.display()));
    let uv = uv.unwrap_or_else(|| "no uv here; one is installed when the first environment is made".into());
    let version = Command::new("python3").arg("--version").output().ok().filter(|it| it.status.success());
    let found = version.map(|it| String::from_utf8_lossy(&it.stdout).trim().to_owned());
    let hint = found.is_none().then(|| "jobs with a `framework` need it: install python3 and python3-venv".to_owned());
    let ok = found.is_some();
    Check { name: "python", ok, what: format!("{}; {uv}", found.unwrap_or_else(|| "no python3".into())), hint }
}

fn devices() -> Check {
    let found = inventory::nvidia_devices();
    let list: Vec<String> = found.iter().map(|(kind, indices)| format!("{} × {kind}", indices.len())).collect();
    let what =
        if list.is_empty() { "no NVIDIA driver answers; devices can be declared in the configuration".into() } else { list.join(", ") };
    Check { name: "accelerators", ok: true, what, hint: None }
}
