//! A home for one run: it answers the supervisor of that run and nobody else, in a network in which there is nothing but it.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex},
};

use model::{
    channels::InputPlan,
    ids::{JobId, RunKey},
    order::{Limits, Report, RunOrder},
    plan::Freight,
};
use nix::sched::{CloneFlags, setns, unshare};

use crate::{house::until, place::with_own_mounts_and_network};

/// What the server has been told.
#[derive(Default)]
pub struct Heard {
    /// What is to be run.
    order: Option<RunOrder>,
    pub reports: Vec<Report>,
    pub log: Vec<u8>,
    pub index: Vec<u8>,
    pub provenance: Vec<u8>,
    /// Calls that were cut off, to see that nothing is lost or doubled by it.
    pub cut: usize,
    calls: usize,
}

pub fn order() -> RunOrder {
    RunOrder {
        run: RunKey { job: JobId::new(9, &[9; 10]), task: "worker-0".parse().unwrap(), attempt: std::process::id() },
        node: "far".parse().unwrap(),
        command: ["/bin/sh", "-c", "for i in $(seq 300); do echo line $i; done; echo warn >&2; ls -d /data 2>&1; exit 4"]
            .map(String::from)
            .to_vec(),
        env: BTreeMap::new(),
        paths: BTreeMap::new(),
        files: BTreeMap::new(),
        code: None,
        agrees_on_code: false,
        requirements: Default::default(),
        setup: None,
        freight: Freight {
            inputs: vec![InputPlan { name: None, from: "/usr/sbin".parse().unwrap(), unpack: false }],
            ..Freight::default()
        },
        not_ours: Vec::new(),
        metrics: Default::default(),
        secrets: Default::default(),
        volumes: Default::default(),
        environment: None,
        limits: Limits { cpus_milli: 1000, memory_bytes: 128 << 20, shared_memory_bytes: 1 << 20, disk_bytes: None, processes_max: 50 },
        stop_grace_ms: 500,
        keep_failed_ms: None,
        ports: Vec::new(),
        address: "127.0.0.1".into(),
        gang: None,
    }
}

/// A network of its own, with nothing in it but a loopback and a listener of ours.
fn network_with_listener() -> (fs::File, TcpListener) {
    with_own_mounts_and_network(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        (fs::File::open("/proc/thread-self/ns/net").unwrap(), listener)
    })
}

/// Reads one request: its first line, and its body.
fn read_request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.contains("Bearer far-token"), "{head}");
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some((head.lines().next()?.to_owned(), body))
}

fn answer(heard: &mut Heard, line: &str, body: &[u8]) -> String {
    let reply = |status: &str, extra: &str, body: &str| format!("HTTP/1.1 {status}\r\n{extra}content-length: {}\r\n\r\n{body}", body.len());
    if line.starts_with("GET ") {
        assert!(line.contains("/order "), "{line}");
        return reply("200 OK", "", &serde_json::to_string(heard.order.as_ref().unwrap()).unwrap());
    }
    if line.contains("/report ") {
        heard.reports.push(serde_json::from_slice(body).unwrap());
        return reply("204 No Content", "", "");
    }
    let offset: usize = line.split("offset=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    let file = match line.split("file=").nth(1).unwrap().split('&').next().unwrap() {
        "log" => &mut heard.log,
        "index" => &mut heard.index,
        "provenance" => &mut heard.provenance,
        other => panic!("nobody knows the file {other}"),
    };
    if offset != file.len() {
        return reply("409 Conflict", &format!("x-length: {}\r\n", file.len()), "{}");
    }
    file.extend_from_slice(body);
    reply("200 OK", "", &format!("{{\"length\":{}}}", file.len()))
}

/// Every third answer is lost on the way, after the server has acted on it.
fn serve(listener: TcpListener, heard: Arc<Mutex<Heard>>) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        let Some((line, body)) = read_request(&mut stream) else { continue };
        let mut heard = heard.lock().unwrap();
        heard.calls += 1;
        let answer = answer(&mut heard, &line, &body);
        if heard.calls.is_multiple_of(3) && !line.contains("/report ") {
            heard.cut += 1;
            continue;
        }
        let _ = stream.write_all(answer.as_bytes());
    }
}

pub struct Home {
    network: fs::File,
    url: String,
    run: RunKey,
    heard: Arc<Mutex<Heard>>,
}

impl Home {
    pub fn with(order: RunOrder) -> Self {
        let (network, listener) = network_with_listener();
        let (url, run) = (format!("http://{}", listener.local_addr().unwrap()), order.run.clone());
        let heard = Arc::new(Mutex::new(Heard { order: Some(order), ..Heard::default() }));
        let serving = heard.clone();
        std::thread::spawn(move || serve(listener, serving));
        Self { network, url, run, heard }
    }

    /// What begins with `words` goes on as a supervisor in the network of this home, with mounts of its own. The directory is
    /// called `dir` where it runs, and `far` here.
    pub fn supervisor(&self, words: &[&str], dir: &Path, far: &Path) -> Command {
        fs::write(far.join("its-token"), "far-token\n").unwrap();
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).arg("supervise").args(["--server", &self.url, "--run", &self.run.to_string()]);
        command.arg("--token-file").arg(dir.join("its-token")).arg("--dir").arg(dir).stdin(Stdio::null()).stdout(Stdio::null());
        let network = self.network.try_clone().unwrap();
        // SAFETY: two system calls, with a descriptor that is open in the parent.
        unsafe {
            command.pre_exec(move || {
                setns(&network, CloneFlags::CLONE_NEWNET)?;
                Ok(unshare(CloneFlags::CLONE_NEWNS)?)
            })
        };
        command
    }

    /// Everything that was told until the supervisor went.
    pub fn hears(self, mut supervisor: Child, far: &Path) -> Heard {
        let mut ended = None;
        until("the supervisor is done", || {
            ended = supervisor.try_wait().unwrap();
            ended.is_some()
        });
        let said = fs::read_to_string(far.join("supervisor.log")).unwrap_or_default();
        assert!(ended.unwrap().success(), "{said}");
        std::mem::take(&mut *self.heard.lock().unwrap())
    }
}
