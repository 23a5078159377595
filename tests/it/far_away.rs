//! A supervisor that has nothing but a TCP route to its server: no shared disk, no shared network.

use std::{
    collections::BTreeMap,
    fs,
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
    sync::{Arc, Mutex},
};

use model::{
    channels::InputPlan,
    ids::JobId,
    ids::RunKey,
    logs::{Stream, pieces},
    order::{Limits, Report, RunOrder},
    plan::Freight,
    provenance::Found,
    task::Cause,
};

use crate::{
    house::{binary, until},
    place::{has_program, is_root, with_own_mounts_and_network},
};

/// What the server has been told.
#[derive(Default)]
struct Heard {
    /// What is to be run.
    order: Option<RunOrder>,
    reports: Vec<Report>,
    log: Vec<u8>,
    index: Vec<u8>,
    provenance: Vec<u8>,
    /// Calls that were cut off, to see that nothing is lost or doubled by it.
    cut: usize,
    calls: usize,
}

fn order() -> RunOrder {
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

/// Runs it to its end, in `far` and by `first`, such as `strace` with its arguments. Answers what the server was told.
fn run(order: RunOrder, far: &Path, first: &[&str]) -> Heard {
    let (network, listener) = network_with_listener();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let run = order.run.to_string();
    let heard = Arc::new(Mutex::new(Heard { order: Some(order), ..Heard::default() }));
    let serving = heard.clone();
    std::thread::spawn(move || serve(listener, serving));
    let token = far.join("its-token");
    fs::write(&token, "far-token\n").unwrap();

    let mut words = first.iter().copied().chain([binary()]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words).arg("supervise").args(["--server", &url, "--run", &run]);
    command.arg("--token-file").arg(&token).arg("--dir").arg(far).stdin(Stdio::null()).stdout(Stdio::null());
    // SAFETY: two system calls, with a descriptor that is open in the parent.
    unsafe {
        command.pre_exec(move || {
            nix::sched::setns(&network, nix::sched::CloneFlags::CLONE_NEWNET)?;
            Ok(nix::sched::unshare(nix::sched::CloneFlags::CLONE_NEWNS)?)
        })
    };
    let mut supervisor = command.spawn().unwrap();
    let mut ended = None;
    until("the supervisor is done", || {
        ended = supervisor.try_wait().unwrap();
        ended.is_some()
    });
    assert!(ended.unwrap().success(), "{}", read(&far.join("supervisor.log")));
    std::mem::take(&mut *heard.lock().unwrap())
}

#[test]
fn a_supervisor_with_nothing_but_a_route_to_the_server_does_all_its_work() {
    if !is_root("build a place with nothing but a route") {
        return;
    }
    let far = tempfile::tempdir().unwrap();
    let heard = run(order(), far.path(), &[]);
    assert!(
        matches!(&heard.reports[..], [.., Report::Ended { ending }] if ending.cause == Cause::Exited { code: 4 }),
        "{:?}",
        heard.reports
    );
    assert!(heard.cut > 0, "no answer was ever cut off");
    let said = |stream: Stream| -> Vec<u8> {
        let of_stream = pieces(&heard.index).filter(|piece| piece.stream == stream);
        of_stream.flat_map(|piece| heard.log[piece.offset as usize..piece.end() as usize].to_vec()).collect()
    };
    let lines: String = (1..=300).map(|i| format!("line {i}\n")).collect();
    let stdout = String::from_utf8(said(Stream::Stdout)).unwrap();
    assert!(stdout.starts_with(&lines), "{stdout}");
    assert_eq!(said(Stream::Stderr), b"warn\n");
    assert_eq!(fs::read(far.path().join("output.log")).unwrap(), heard.log);
    let found: Found = serde_json::from_slice(&heard.provenance).unwrap();
    assert_eq!((found.inputs[0].path.as_str(), found.inputs[0].from.as_str()), ("/input", "/usr/sbin"));
    assert!(found.inputs[0].content.files > 0, "{found:?}");
}

#[test]
fn why_a_task_far_away_could_not_start_is_on_disk_before_anyone_is_called() {
    if !is_root("build a place with nothing but a route") || !has_program("strace", "see system calls") {
        return;
    }
    let (far, seen) = (tempfile::tempdir().unwrap(), tempfile::NamedTempFile::new().unwrap());
    let run_key = RunKey { task: "worker-1".parse().unwrap(), ..order().run };
    let order = RunOrder { run: run_key, command: vec!["/no/such/program".into()], ..order() };
    let seen_at = seen.path().to_str().unwrap();
    let heard = run(order, far.path(), &["strace", "-f", "-y", "-e", "trace=rename,fsync,connect", "-o", seen_at]);
    let told = heard.reports.last();
    assert!(matches!(told, Some(Report::Ended { ending }) if matches!(ending.cause, Cause::CannotStart { .. })), "{told:?}");
    let calls = read(seen.path());
    let after = calls.split_once("/exit.json\")").map(|(_, after)| after).unwrap_or_else(|| panic!("no record was written: {calls}"));
    let before_a_call = after.split("connect(").next().unwrap();
    assert!(before_a_call.contains("/exit.json>)"), "the record is not synced: {calls}");
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}
