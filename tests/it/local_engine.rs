//! The local engine against the contract, with real processes.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
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
    rundir::RunDir,
    supervisor::{RUN_VARIABLE, SupervisorRecord},
};

trainmaster::engine_contract!(ground);

fn ground() -> Ground {
    let home = Arc::new(tempfile::tempdir().unwrap());
    let nodes = ServerConfig::virtual_nodes(1, 2.0, "1GiB", &BTreeMap::new());
    let config = ServerConfig {
        data: home.path().to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        insecure_http: false,
        allow_hosts: Vec::new(),
        nodes,
        devices: BTreeMap::new(),
    };
    let engine = LocalEngine::new(Local { exe: env!("CARGO_BIN_EXE_trainmaster").into(), ..Local::from_config(&config).unwrap() });
    let (for_output, for_kill, for_left) = (home.clone(), home.clone(), home);
    Ground {
        engine: Box::new(engine),
        node: "node-1".parse().unwrap(),
        limits_hold: nix::unistd::geteuid().is_root(),
        output: Box::new(move |run| output(&dir(&for_output, run))),
        kill_supervisor: Box::new(move |run| {
            let text = fs::read(dir(&for_kill, run).supervisor()).unwrap();
            let record: SupervisorRecord = serde_json::from_slice(&text).unwrap();
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
    let record = fs::read(dir.supervisor()).ok().and_then(|text| serde_json::from_slice::<SupervisorRecord>(&text).ok());
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
