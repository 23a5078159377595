//! The local engine against the contract, with real processes.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::{fs::PermissionsExt, process::CommandExt},
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use model::{
    ids::RunKey,
    logs::{Stream, pieces},
};
use tempfile::TempDir;
use trainmaster::{
    config::ServerConfig,
    engine::{
        contract::Ground,
        local::{Local, LocalEngine},
    },
    rundir::{RunDir, record::find_line},
    supervisor::{RUN_VARIABLE, SupervisorRecord},
};

mod promises {
    trainmaster::engine_contract!(super::ground);
}

/// Runs the promises once more as an ordinary user, after `wrapper` has done its part.
fn hold_for_an_ordinary_user(wrapper: &[&str]) {
    const NOBODY: u32 = 65534;
    if !nix::unistd::geteuid().is_root() {
        // Then the promises have been tried as an ordinary user already.
        return;
    }
    // The repository may lie where nobody else can look.
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let (tests, exe) = (place.path().join("it"), place.path().join("trainmaster"));
    fs::copy(std::env::current_exe().unwrap(), &tests).unwrap();
    fs::copy(exe_under_test(), &exe).unwrap();
    let tests = tests.to_str().unwrap();
    let line: Vec<&str> = wrapper.iter().copied().chain([tests, "local_engine::promises::", "--test-threads=4"]).collect();
    let mut command = Command::new(line[0]);
    command.args(&line[1..]).uid(NOBODY).gid(NOBODY).current_dir("/").env("TMPDIR", place.path()).env(EXE_VARIABLE, &exe);
    let done = command.output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("test result: ok. 18 passed"), "{said}{}", String::from_utf8_lossy(&done.stderr));
}

const EXE_VARIABLE: &str = "TRAINMASTER_EXE_UNDER_TEST";

fn exe_under_test() -> PathBuf {
    std::env::var_os(EXE_VARIABLE).map_or_else(|| env!("CARGO_BIN_EXE_trainmaster").into(), PathBuf::from)
}

#[test]
fn an_ordinary_user_is_promised_the_same() {
    hold_for_an_ordinary_user(&["/usr/bin/env"]);
}

#[test]
fn where_the_kernel_refuses_every_namespace_the_same_is_promised() {
    let refuse = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --inh-caps=-all --ambient-caps=-all --bounding-set=-all \"$0\" \"$@\"";
    hold_for_an_ordinary_user(&["unshare", "--user", "--map-current-user", "--keep-caps", "sh", "-c", refuse]);
}

fn ground() -> Ground {
    let home = Arc::new(tempfile::tempdir().unwrap());
    let nodes = ServerConfig::virtual_nodes(1, 2.0, "1GiB", &BTreeMap::new());
    let config = ServerConfig {
        catalogue: None,
        data: home.path().to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        insecure_http: false,
        allow_hosts: Vec::new(),
        nodes,
        devices: BTreeMap::new(),
        python: trainmaster::config::PythonConfig::default(),
        volumes: Vec::new(),
        code: Default::default(),
        inputs: Default::default(),
        logs: Default::default(),
        gang_timeout_ms: None,
        sync_patience_ms: None,
        secrets_key: None,
        prometheus: Default::default(),
    };
    let engine = LocalEngine::new(Local { exe: exe_under_test(), ..Local::from_config(&config).unwrap() });
    let (for_output, for_kill, for_left) = (home.clone(), home.clone(), home);
    Ground {
        engine: Box::new(engine),
        node: "node-1".parse().unwrap(),
        limits_hold: nix::unistd::geteuid().is_root(),
        output: Box::new(move |run| output(&dir(&for_output, run))),
        kill_supervisor: Box::new(move |run| {
            let record: SupervisorRecord = find_line(&dir(&for_kill, run).supervisor()).unwrap().whole().unwrap();
            assert!(record.identity.signal(libc::SIGKILL).unwrap());
        }),
        left_behind: Box::new(move |run| left_behind(&dir(&for_left, run), run)),
    }
}

fn dir(home: &TempDir, run: &RunKey) -> RunDir {
    RunDir::new(home.path(), run)
}

fn output(dir: &RunDir) -> Vec<(Stream, Vec<u8>)> {
    let (log, index) = (fs::read(dir.log()).unwrap_or_default(), fs::read(dir.index()).unwrap_or_default());
    let whole = |start: u64, end: u64| log.get(start as usize..end as usize);
    pieces(&index).filter_map(|piece| Some((piece.stream, whole(piece.offset, piece.end())?.to_vec()))).collect()
}

fn left_behind(dir: &RunDir, run: &RunKey) -> Vec<String> {
    let mut left: Vec<String> = processes_of(run).into_iter().map(|path| format!("process {}", path.display())).collect();
    let record = find_line::<SupervisorRecord>(&dir.supervisor()).unwrap().whole();
    let groups = record.into_iter().flat_map(|record| record.cgroups).filter(|path| path.exists());
    left.extend(groups.map(|path| format!("group {}", path.display())));
    left.extend(mounts_below(dir.path()).into_iter().map(|path| format!("mount {path}")));
    left
}

/// Whoever was born with the run's variable is the run's.
fn processes_of(run: &RunKey) -> Vec<PathBuf> {
    let mark = format!("{RUN_VARIABLE}={run}");
    let entries = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
    let marked = |path: &PathBuf| {
        let environment = fs::read(path.join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|it| it == mark.as_bytes())
    };
    entries.filter(marked).collect()
}

fn mounts_below(path: &Path) -> Vec<String> {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let points = mounts.lines().filter_map(|line| line.split(' ').nth(4));
    points.filter(|point| Path::new(point).starts_with(path)).map(str::to_owned).collect()
}
