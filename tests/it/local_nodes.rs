//! What the local engine does beyond the contract: nodes that can be taken down, ports, doors that close.

use std::{collections::BTreeMap, fs, net::TcpListener, path::Path, process::Command, time::Duration};

use model::{
    ids::{JobId, RunKey},
    order::{Limits, RunOrder},
    reconcile::Phase,
    task::{Cause, Whose},
};
use trainmaster::{
    config::ServerConfig,
    engine::{
        Engine, EngineError, Start,
        local::{Local, LocalEngine, doctor},
    },
    rundir::{RunDir, live_marker},
    supervisor::{exit, letter::Letter},
};

use crate::house::{binary, until_some};

fn engine(data: &Path, nodes: u32) -> LocalEngine {
    let config = ServerConfig {
        catalogue: None,
        data: data.to_owned(),
        listen: ([127, 0, 0, 1], 0).into(),
        insecure_http: false,
        allow_hosts: Vec::new(),
        nodes: ServerConfig::virtual_nodes(nodes, 1.0, "1GiB", &BTreeMap::new()),
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
    LocalEngine::new(Local { exe: binary().into(), ..Local::from_config(&config).unwrap() })
}

/// Each of another task, as no two attempts of one live at a time.
fn order(node: &str, number: u32, script: &str) -> RunOrder {
    RunOrder {
        run: RunKey {
            job: JobId::new(u64::from(std::process::id()), &[3; 10]),
            task: format!("worker-{number}").parse().unwrap(),
            attempt: 1,
        },
        node: node.parse().unwrap(),
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
        limits: Limits { cpus_milli: 0, memory_bytes: 0, shared_memory_bytes: 0, disk_bytes: None, processes_max: 0 },
        stop_grace_ms: 500,
        keep_failed_ms: None,
        ports: Vec::new(),
        address: "127.0.0.1".into(),
        gang: None,
    }
}

async fn start(engine: &LocalEngine, order: &RunOrder) -> Result<(), EngineError> {
    engine.start(Start { order, token: "none", server_url: "http://127.0.0.1:9" }).await
}

async fn phase(engine: &LocalEngine, order: &RunOrder) -> Phase {
    engine.list().await.unwrap().into_iter().find(|it| it.run == order.run).unwrap().phase
}

async fn until_phase(engine: &LocalEngine, order: &RunOrder, wanted: impl Fn(&Phase) -> bool) -> Phase {
    let give_up = tokio::time::Instant::now() + Duration::from_secs(30);
    loop {
        let now = phase(engine, order).await;
        if wanted(&now) || tokio::time::Instant::now() > give_up {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

fn log_of(data: &Path, order: &RunOrder) -> String {
    fs::read_to_string(RunDir::new(data, &order.run).log()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_goes_down_takes_its_runs_with_it_and_no_others() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path(), 2);
    let (lost, kept) = (order("node-1", 11, "echo up; sleep 1000"), order("node-2", 12, "echo up; sleep 1000"));
    for order in [&lost, &kept] {
        start(&engine, order).await.unwrap();
        until_some("it runs", || (log_of(home.path(), order) == "up\n").then_some(()));
    }
    assert!(engine.take_down("node-1") && !engine.take_down("node-9"));
    let why = "its node `node-1` went down".to_owned();
    assert_eq!(until_phase(&engine, &lost, |it| *it != Phase::Alive).await, Phase::Vanished { why });
    assert_eq!(phase(&engine, &kept).await, Phase::Alive);
    let open: Vec<bool> = engine.nodes().await.unwrap().iter().map(|node| node.open).collect();
    assert_eq!(open, [false, true]);

    let next = order("node-1", 13, "exit 0");
    assert!(matches!(start(&engine, &next).await, Err(EngineError::Never(why)) if why == "node `node-1` is down"));
    assert!(engine.bring_up("node-1"));
    start(&engine, &next).await.unwrap();
    assert!(matches!(until_phase(&engine, &next, |it| *it != Phase::Alive && *it != Phase::NotTaken).await, Phase::Ended(_)));
    engine.stop(&kept.run).await.unwrap();
    assert!(
        matches!(until_phase(&engine, &kept, |it| *it != Phase::Alive).await, Phase::Ended(ending) if ending.cause == Cause::Stopped { killed: false })
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_just_being_taken_up_goes_down_with_its_node_too() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path(), 1);
    let order = order("node-1", 14, "echo up; sleep 1000");
    start(&engine, &order).await.unwrap();
    until_some("it runs", || (log_of(home.path(), &order) == "up\n").then_some(()));
    // Who takes a run up has its lock first, and writes down who that is after it.
    let dir = RunDir::new(home.path(), &order.run);
    let not_yet = dir.path().join("not-yet");
    fs::rename(dir.supervisor(), &not_yet).unwrap();
    assert!(engine.take_down("node-1"));
    assert_eq!(phase(&engine, &order).await, Phase::Alive);
    fs::rename(&not_yet, dir.supervisor()).unwrap();
    let why = "its node `node-1` went down".to_owned();
    assert_eq!(until_phase(&engine, &order, |it| *it != Phase::Alive).await, Phase::Vanished { why });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_was_given_up_before_it_was_taken_up_never_starts() {
    type Do = fn(&LocalEngine, &RunOrder) -> Result<(), EngineError>;
    fn wait<T>(done: impl Future<Output = T>) -> T {
        tokio::task::block_in_place(|| tokio::runtime::Handle::current().block_on(done))
    }
    let stopped = Cause::Stopped { killed: false };
    let went_down = Cause::CannotStart { why: "node `node-1` is down".into(), whose: Whose::Platform };
    let ways: [(u32, Cause, Do); 3] = [
        (21, stopped.clone(), |engine, order| wait(engine.stop(&order.run))),
        (22, stopped, |engine, order| wait(engine.remove(&order.run))),
        (23, went_down, |engine, order| {
            assert!(engine.take_down("node-1") && wait(start(engine, order)).is_err() && engine.bring_up("node-1"));
            Ok(())
        }),
    ];
    for (attempt, cause, give_up) in ways {
        let home = tempfile::tempdir().unwrap();
        let engine = engine(home.path(), 1);
        let order = order("node-1", attempt, "echo started");
        // As if the server had died just before it started a supervisor.
        let dir = RunDir::new(home.path(), &order.run);
        fs::create_dir_all(dir.path()).unwrap();
        let letter = Letter { order: order.clone(), token: "none".into(), server: "http://127.0.0.1:9".into() };
        fs::write(dir.letter(), serde_json::to_vec(&letter).unwrap()).unwrap();
        fs::write(live_marker(home.path(), &order.run), "").unwrap();
        assert_eq!(phase(&engine, &order).await, Phase::NotTaken);

        give_up(&engine, &order).unwrap();
        // A supervisor that was on its way all the same.
        let mut late = Command::new(binary()).arg("supervise").arg("--dir").arg(dir.path()).spawn().unwrap();
        start(&engine, &order).await.unwrap();
        assert_eq!(exit::read(&dir).unwrap().unwrap().cause, cause);
        late.kill().unwrap();
        late.wait().unwrap();
        assert_eq!((dir.log().exists(), dir.supervisor().exists()), (false, false));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ports_are_free_on_their_own_node_and_not_given_twice() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path(), 2);
    let (first, second) = ("node-1".parse().unwrap(), "node-2".parse().unwrap());
    let given = engine.free_ports(&first, any(3), &[]).await.unwrap();
    let _listener = TcpListener::bind(("127.0.0.1", given[2] + 1)).ok();
    let more = engine.free_ports(&first, any(3), &[given[2] + 2]).await.unwrap();
    assert!(more.iter().all(|port| !given.contains(port) && ![given[2] + 1, given[2] + 2].contains(port)), "{given:?} {more:?}");
    assert_eq!(engine.free_ports(&second, any(2), &[]).await.unwrap().len(), 2);
    let too_many = engine.free_ports(&first, any(20_000), &[]).await.unwrap_err().en;
    assert!(too_many.starts_with("only ") && too_many.ends_with("between 20000 and 29999 are free on 127.0.0.1"), "{too_many}");
    let nowhere = engine.free_ports(&"nowhere".parse().unwrap(), any(1), &[]).await.unwrap_err();
    assert_eq!(nowhere.en, "there is no node `nowhere` on this machine");
}

#[test]
fn the_doctor_tries_a_task_and_leaves_nothing_behind() {
    let home = tempfile::tempdir().unwrap();
    let checks = doctor(home.path(), Path::new(binary()));
    let shown: String = checks.iter().map(|check| format!("{} {}: {}\n", check.ok, check.name, check.what)).collect();
    assert!(shown.starts_with("true trial run: a small task runs\n"), "{shown}");
    assert!(checks.iter().all(|check| check.ok || check.hint.is_some()), "{shown}");
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_marker_was_lost_is_found_again_by_the_next_start() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path(), 1);
    let order = order("node-1", 31, "echo up; sleep 1000");
    start(&engine, &order).await.unwrap();
    until_some("it runs", || (log_of(home.path(), &order) == "up\n").then_some(()));
    // As after a power cut, which may take the newest names of one directory and leave those of another.
    fs::remove_file(live_marker(home.path(), &order.run)).unwrap();
    assert_eq!(engine.list().await.unwrap(), []);
    start(&engine, &order).await.unwrap();
    assert_eq!(phase(&engine, &order).await, Phase::Alive);
    engine.stop(&order.run).await.unwrap();
    assert!(matches!(until_phase(&engine, &order, |it| *it != Phase::Alive).await, Phase::Ended(_)));
    assert_eq!(log_of(home.path(), &order), "up\n", "it was not started a second time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_cannot_be_looked_at_is_taken_for_alive_and_hides_no_other() {
    let home = tempfile::tempdir().unwrap();
    let engine = engine(home.path(), 1);
    let (broken, sound) = (order("node-1", 41, "sleep 1000"), order("node-1", 42, "exit 3"));
    let dir = RunDir::new(home.path(), &broken.run);
    for order in [&broken, &sound] {
        start(&engine, order).await.unwrap();
        until_phase(&engine, order, |it| *it != Phase::NotTaken).await;
    }
    fs::create_dir(dir.exit()).unwrap();
    assert!(matches!(until_phase(&engine, &sound, |it| *it != Phase::Alive).await, Phase::Ended(_)));
    assert_eq!(phase(&engine, &broken).await, Phase::Alive);
    fs::remove_dir(dir.exit()).unwrap();
    engine.stop(&broken.run).await.unwrap();
    assert!(matches!(until_phase(&engine, &broken, |it| *it != Phase::Alive).await, Phase::Ended(_)));
}

fn any(count: u32) -> model::plan::PortPlan {
    model::plan::PortPlan { count, from: None }
}
