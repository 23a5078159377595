//! The supervisor by itself: what a child sees, and what is left when something dies.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::Duration,
};

use model::{
    channels::InputPlan,
    code::CodePlan,
    ids::{JobId, RunKey},
    location::Location,
    logs::pieces,
    order::{Limits, RunOrder},
    plan::Freight,
    reconcile::Phase,
    task::{Cause, Ending},
};
use trainmaster::{
    config::{PythonConfig, ServerConfig},
    engine::{
        Engine, Start,
        local::{Local, LocalEngine},
    },
    rundir::{RunDir, live_marker, record::find_line},
    supervisor::{ChildRecord, exit, letter::Letter},
};

use crate::{
    house::{binary, until, until_some},
    place::{is_root, mount_small_disk, with_own_mounts},
};

fn code_at(path: &str) -> CodePlan {
    CodePlan::At(Location::Host(path.into()))
}

fn input_at(path: &str) -> Freight {
    let input = InputPlan { name: None, from: Location::Host(path.into()).into(), unpack: false };
    Freight { inputs: vec![input], ..Freight::default() }
}

/// A run of its own, in a fresh data directory, with nobody to report to.
struct Run {
    data: tempfile::TempDir,
    order: RunOrder,
}

impl Run {
    fn of(script: &str) -> Self {
        Self::below(&std::env::temp_dir(), script)
    }

    fn below(place: &Path, script: &str) -> Self {
        let order = RunOrder {
            run: RunKey { job: JobId::new(7, &[7; 10]), task: "worker-0".parse().unwrap(), attempt: std::process::id() },
            node: "node-1".parse().unwrap(),
            command: ["/bin/sh", "-c", script].map(String::from).to_vec(),
            env: BTreeMap::new(),
            paths: BTreeMap::new(),
            files: BTreeMap::new(),
            code: None,
            agrees_on_code: false,
            requirements: Default::default(),
            setup: None,
            freight: Default::default(),
            not_ours: Vec::new(),
            metrics: Default::default(),
            secrets: Default::default(),
            volumes: Default::default(),
            environment: None,
            limits: Limits {
                cpus_milli: 1000,
                memory_bytes: 256 << 20,
                shared_memory_bytes: 3 << 20,
                disk_bytes: None,
                processes_max: 100,
            },
            stop_grace_ms: 500,
            keep_failed_ms: None,
            ports: Vec::new(),
            address: "127.0.0.1".into(),
            gang: None,
        };
        let mut run = Self { data: tempfile::tempdir_in(place).unwrap(), order };
        // Every test has a run of its own also in the eyes of the kernel's control groups.
        let unique = run.data.path().file_name().unwrap().to_str().unwrap().trim_start_matches('.').to_owned();
        run.order.run.task = format!("{unique}-0").parse().unwrap();
        run
    }

    fn dir(&self) -> RunDir {
        RunDir::new(self.data.path(), &self.order.run)
    }

    fn prepare(&self) -> RunDir {
        let dir = self.dir();
        fs::create_dir_all(dir.path()).unwrap();
        let letter = Letter { order: self.order.clone(), token: "none".into(), server: "http://127.0.0.1:9".into() };
        fs::write(dir.letter(), serde_json::to_vec(&letter).unwrap()).unwrap();
        dir
    }

    fn supervise(&self, env: &[(&str, &str)]) -> Supervisor {
        let mut command = Command::new(binary());
        command.arg("supervise").arg("--dir").arg(self.prepare().path()).envs(env.iter().copied());
        Supervisor(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap())
    }

    fn ending(&self) -> Ending {
        until_some("the exit record is there", || exit::read(&self.dir()).unwrap())
    }

    /// What it printed, having ended with success.
    fn said(&self) -> String {
        let _supervisor = self.supervise(&[]);
        let ending = self.ending();
        let text = self.log();
        assert_eq!(ending.cause, Cause::Exited { code: 0 }, "{text}");
        text
    }

    fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.dir().log()).unwrap_or_default()).into_owned()
    }

    /// An engine that finds this run among its own.
    fn engine(&self) -> LocalEngine {
        let nodes = ServerConfig::virtual_nodes(1, 2.0, "1GiB", &BTreeMap::new());
        let listen = ([127, 0, 0, 1], 0).into();
        let data = self.data.path().to_owned();
        let config = ServerConfig {
            catalogue: None,
            data,
            listen,
            insecure_http: false,
            allow_hosts: Vec::new(),
            nodes,
            devices: BTreeMap::new(),
            python: PythonConfig::default(),
            volumes: Vec::new(),
            code: Default::default(),
            inputs: Default::default(),
            logs: Default::default(),
            gang_timeout_ms: None,
            sync_patience_ms: None,
            secrets_key: None,
            prometheus: Default::default(),
        };
        let local = Local { exe: binary().into(), ..Local::from_config(&config).unwrap() };
        fs::write(live_marker(self.data.path(), &self.order.run), "").unwrap();
        LocalEngine::new(local)
    }

    fn missing(&self) -> Vec<String> {
        find_line::<ChildRecord>(&self.dir().supervisor()).unwrap().whole().unwrap().missing
    }
}

/// Killed when the test is over, if it has not ended by itself.
struct Supervisor(Child);

impl Drop for Supervisor {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn a_place_outside_tmp() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

#[test]
fn a_child_finds_its_rooms_and_changes_only_its_own() {
    let place = tempfile::tempdir().unwrap();
    let (code, input) = (place.path().join("code, with: oddities"), place.path().join("input"));
    fs::create_dir_all(&code).unwrap();
    fs::create_dir_all(&input).unwrap();
    fs::write(code.join("train.py"), "original\n").unwrap();
    fs::write(input.join("data"), "numbers\n").unwrap();
    let mut run = Run::of(
        "pwd; cat train.py /input/data; echo changed > train.py; echo new > extra; cat train.py extra; \
         echo result > /output/model; echo kept > /cache/c; echo scratch > /tmp/s; \
         for place in /input/data /x; do (echo no > $place) 2>/dev/null || echo $place cannot be written; done",
    );
    run.order.code = Some(code_at(code.to_str().unwrap()));
    run.order.freight = input_at(input.to_str().unwrap());
    insta::assert_snapshot!(run.said(), @"
    /code
    original
    numbers
    changed
    new
    /input/data cannot be written
    /x cannot be written
    ");
    assert_eq!(run.missing(), Vec::<String>::new());
    assert_eq!(fs::read_to_string(code.join("train.py")).unwrap(), "original\n");
    assert!(!code.join("extra").exists());
    assert_eq!(fs::read_to_string(run.dir().output().join("model")).unwrap(), "result\n");
    assert_eq!(fs::read_to_string(run.dir().cache().join("c")).unwrap(), "kept\n");
    assert_eq!(fs::read_to_string(run.dir().tmp().join("s")).unwrap(), "scratch\n");
}

#[test]
fn the_servers_data_cannot_be_seen_wherever_it_lies() {
    for place in [std::env::temp_dir(), a_place_outside_tmp(), "/dev/shm".into()] {
        let mut run = Run::below(&place, "");
        let data = run.data.path().to_owned();
        fs::write(data.join("admin-token"), "secret").unwrap();
        // Code that lies beside it is still there for the child.
        let code = tempfile::tempdir_in(&place).unwrap();
        fs::write(code.path().join("train.py"), "print()\n").unwrap();
        run.order.code = Some(code_at(code.path().to_str().unwrap()));
        run.order.command[2] =
            format!("find {} 2>/dev/null | tail -n +2; cat /code/train.py; ls /proc/1/root 2>&1 | grep -c token", data.display());
        let _supervisor = run.supervise(&[]);
        run.ending();
        assert_eq!(run.log(), "print()\n0\n", "{}", place.display());
    }
}

#[test]
fn a_child_inherits_nothing_of_ours() {
    let mut run = Run::of(
        "env | sed 's/=.*//' | sort | tr '\\n' ' '; echo; ls /proc/$$/fd; \
         grep -E 'Sig(Blk|Ign)' /proc/self/status; umask; ulimit -c",
    );
    run.order.env.insert("LR".into(), "0.1".into());
    let _supervisor = run.supervise(&[("SECRET", "ours")]);
    assert_eq!(run.ending().cause, Cause::Exited { code: 0 });
    insta::assert_snapshot!(run.log(), @"
    HOME LANG LR PATH PWD TERM TMPDIR TRAINMASTER_CACHE TRAINMASTER_CODE TRAINMASTER_INPUT TRAINMASTER_OUTPUT TRAINMASTER_RUN USER 
    0
    1
    2
    SigBlk:	0000000000000000
    SigIgn:	0000000000000000
    0022
    0
    ");
}

#[test]
fn a_child_has_the_shared_memory_it_asked_for_and_sees_only_its_own_processes() {
    let run = Run::of("df -k /dev/shm | tail -n 1 | awk '{print $2}'; set -- /proc/[0-9]*; echo $#; echo $$");
    // Itself and init.
    insta::assert_snapshot!(run.said(), @"
    3072
    2
    2
    ");
}

#[test]
fn what_cannot_be_started_says_why() {
    let place = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        let path = place.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
    };
    file("plain", "echo no first line\n", 0o755);
    file("closed", "#!/bin/sh\n", 0o644);
    file("lost", "#!/no/such/interpreter\n", 0o755);
    let said = |change: &dyn Fn(&mut RunOrder)| {
        let mut run = Run::of("echo never");
        run.order.code = Some(code_at(place.path().to_str().unwrap()));
        change(&mut run.order);
        let _supervisor = run.supervise(&[]);
        let cause = run.ending().cause;
        format!("{:?} {cause}\n", cause.whose().unwrap())
    };
    let command = |word: &str| vec![word.to_owned()];
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text = [
        said(&|order| order.command = command("pyhton3")),
        said(&|order| order.command = command("/no/such/program")),
        said(&|order| order.command = command("./plain")),
        said(&|order| order.command = command("./closed")),
        said(&|order| order.command = command("./lost")),
        said(&|order| order.command = command("/tmp")),
        said(&|order| order.command = Vec::new()),
        said(&|order| order.env = BTreeMap::from([("A\0B".to_owned(), "x".to_owned())])),
        said(&|order| order.code = Some(code_at("/no/such/code"))),
        said(&|order| order.freight = input_at("/no/such/input")),
        said(&|order| order.env = BTreeMap::from([("HUGE".to_owned(), "x".repeat(3 << 20))])),
        said(&|order| order.ports = vec![port]).replace(&port.to_string(), "PORT"),
        said(&|order| order.address = "192.0.2.1".into()),
    ];
    insta::assert_snapshot!(text.concat(), @"
    User could not start: no program `pyhton3` in PATH
    User could not start: no program `/no/such/program`
    User could not start: exec format error: `./plain` is neither a program for this machine nor a script with a #! line
    User could not start: permission denied: `./closed` may not be executed
    User could not start: `./lost`: the interpreter its first line names is not there
    User could not start: permission denied: `/tmp` may not be executed
    User could not start: the command is empty
    User could not start: `A\\u{0}B` has a null character in it
    User could not start: `/no/such/code` is not there
    User could not start: `/no/such/input` is not there
    User could not start: the arguments and environment of `/bin/sh` are too long
    Platform could not start: port PORT on 127.0.0.1 cannot be used: Address already in use (os error 98)
    Platform could not start: the address 192.0.2.1 is not of this machine: Cannot assign requested address (os error 99)
    ");
}

#[test]
fn a_lot_of_output_is_kept_to_the_byte_and_indexed_without_a_gap() {
    const BYTES: usize = 48 << 20;
    let run = Run::of(&format!("yes 0123456789abcde | head -c {BYTES}"));
    let _supervisor = run.supervise(&[]);
    assert_eq!(run.ending().cause, Cause::Exited { code: 0 });
    let (log, index) = (fs::read(run.dir().log()).unwrap(), fs::read(run.dir().index()).unwrap());
    assert_eq!(log.len(), BYTES);
    assert!(log.chunks(16).all(|line| line == b"0123456789abcde\n"));
    let mut end = 0;
    for piece in pieces(&index) {
        assert_eq!(piece.offset, end);
        end = piece.end();
    }
    assert_eq!(end, BYTES as u64);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_supervisor_that_dies_at_any_point_leaves_one_truth() {
    let mut table = String::new();
    for point in [
        "start.after-spawn-before-identity-recorded",
        "start.after-identity-before-exec",
        "run.log-append-before-index",
        "finish.exit-record-tmp-written",
        "finish.exit-record-renamed-before-notify",
    ] {
        let run = Run::of("echo ran; exit 3");
        let mut supervisor = run.supervise(&[("TRAINMASTER_CRASH_AT", point)]);
        assert_eq!(supervisor.0.wait().unwrap().signal(), Some(libc::SIGKILL), "{point} was not reached");
        let engine = run.engine();
        let seen = async || match engine.list().await.unwrap().remove(0).phase {
            Phase::NotTaken => "not taken".to_owned(),
            Phase::Alive => "alive".to_owned(),
            Phase::Ended(ending) => ending.cause.to_string(),
            Phase::Vanished { why } => format!("vanished: {why}"),
        };
        let settled = async |passing: &str| loop {
            let now = seen().await;
            if !passing.contains(&now) {
                return now;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        };
        let after = settled("alive").await;
        // A second start must never make a second child.
        let start = Start { order: &run.order, token: "none", server_url: "http://127.0.0.1:9" };
        engine.start(start).await.unwrap();
        let again = settled("alive, not taken").await;
        let lines = fs::read_to_string(run.dir().log()).unwrap_or_default().lines().count();
        table += &format!("{point}\n  {after}\n  {again}; said {lines} time(s)\n");
    }
    insta::assert_snapshot!(table, @"
    start.after-spawn-before-identity-recorded
      not taken
      exited with code 3; said 1 time(s)
    start.after-identity-before-exec
      vanished: its supervisor was killed
      vanished: its supervisor was killed; said 0 time(s)
    run.log-append-before-index
      vanished: its supervisor was killed
      vanished: its supervisor was killed; said 0 time(s)
    finish.exit-record-tmp-written
      exited with code 3
      exited with code 3; said 1 time(s)
    finish.exit-record-renamed-before-notify
      exited with code 3
      exited with code 3; said 1 time(s)
    ");
}

/// Runs a test with a file system of its own, two mebibytes small, that nobody else sees.
fn on_a_small_disk(test: impl FnOnce(&Path) + Send) {
    if !is_root("mount a small disk") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(place.path(), "size=2m");
        test(place.path());
    });
}

const FLOOD_BYTES: usize = 3_000_000;
const FLOOD: &str = "head -c 3000000 /dev/zero | tr '\\0' x; ";

#[test]
fn a_full_disk_keeps_no_ending_from_being_written_down() {
    on_a_small_disk(|place| {
        let run = Run::below(place, &format!("{FLOOD} exit 6"));
        let _supervisor = run.supervise(&[]);
        assert_eq!(run.ending().cause, Cause::Exited { code: 6 });
        assert!(run.log().len() < FLOOD_BYTES);
    });
}

#[test]
fn what_a_full_disk_dropped_is_counted_in_the_log_once_there_is_room() {
    on_a_small_disk(|place| {
        let ballast = place.join("ballast");
        // More than the pipe between child and supervisor can hold back.
        fs::write(&ballast, vec![0; 1_200_000]).unwrap();
        let run =
            Run::below(place, &format!("{FLOOD} : > /output/mark; while [ ! -e /cache/go ]; do sleep 0.02; done; echo after; exit 6"));
        let _supervisor = run.supervise(&[]);
        until("the flood is over", || run.dir().output().join("mark").exists());
        fs::remove_file(ballast).unwrap();
        fs::write(run.dir().cache().join("go"), "").unwrap();
        assert_eq!(run.ending().cause, Cause::Exited { code: 6 });
        let log = run.log();
        let kept = log.bytes().filter(|byte| *byte == b'x').count();
        let counted = log.split("[trainmaster: ").skip(1).map(|rest| rest.split(' ').next().unwrap().parse::<usize>().unwrap());
        assert_eq!(kept + counted.sum::<usize>(), FLOOD_BYTES);
        assert!(log.contains("bytes dropped: no space left on the disk]\n") && log.ends_with("after\n"), "{}", &log[log.len() - 200..]);
        let index = fs::read(run.dir().index()).unwrap();
        assert_eq!(pieces(&index).last().unwrap().end(), log.len() as u64);
    });
}
