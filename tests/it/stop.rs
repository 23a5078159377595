//! Stopping: nothing of a stopped job lives.

use model::ids::RunKey;
use trainmaster::{
    client::Call,
    rundir::{RunDir, live_marker},
    supervisor::lock::Lock,
};

use crate::house::{House, marked, text, until};

#[test]
fn a_queued_job_is_stopped_at_once() {
    let house = House::new();
    house.submit("{name: hog, roles: {main: {cpus: 2, command: 'sleep 600'}}}");
    let waiting = house.submit("{name: waiting, roles: {main: {cpus: 2, command: 'true'}}}");
    assert_eq!(house.state(&waiting), "queued");
    house.call(Call::post(&format!("/api/v1/jobs/{waiting}/stop"), "")).unwrap();
    assert_eq!(house.state(&waiting), "stopped");
}

#[test]
fn a_child_that_is_asked_politely_can_save_its_work() {
    let house = House::new();
    let job = house.submit_line("polite", "trap 'echo saved; exit 0' TERM; echo ready; while :; do sleep 0.05; done");
    house.wait_for_output(&job, "main-0", "ready");
    let out = house.cli(&["stop", &job]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    assert_eq!(house.state(&job), "stopped");
    let log = house.log(&job, "main-0");
    assert!(log.starts_with("ready\n") && log.contains("saved\n"), "{log}");
}

#[test]
fn a_child_that_ignores_the_polite_signal_is_killed_with_all_its_children() {
    let house = House::new();
    let marker = format!("marker-{}", std::process::id());
    let job = house.submit(
        &serde_json::json!({ "name": "stubborn", "stop_grace": "200ms", "env": { "MARKER": marker }, "roles": { "main": { "command":
            "trap '' TERM; (setsid sh -c 'trap \"\" TERM; sleep 600 & sleep 600' &) ; nohup sleep 600 & echo ready; sleep 600" } } })
        .to_string(),
    );
    house.wait_for_output(&job, "main-0", "ready");
    assert!(!marked(&marker).is_empty());
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    house.wait_for(&job, "stopped");
    assert_eq!(marked(&marker), Vec::<i32>::new(), "stopped was said while something lived");
}

#[test]
fn a_job_is_stopped_when_its_maximum_duration_is_over() {
    let house = House::new();
    let job = house.submit("{name: long, max_duration: 300ms, roles: {main: {command: 'sleep 600'}}}");
    let shown = house.wait_for(&job, "stopped");
    assert!(shown["reason"].as_str().unwrap().contains("maximum duration of 300ms"), "{}", shown["reason"]);
}

#[test]
fn a_run_that_cannot_be_stopped_yet_holds_nobody_up() {
    let house = House::new();
    let stuck: RunKey = "job-0198c0de000070008000000000000001:main-0:1".parse().unwrap();
    let dir = RunDir::new(&house.data(), &stuck);
    std::fs::create_dir_all(dir.path()).unwrap();
    // As a supervisor that was frozen before it could say who it is.
    let lock = Lock::take(&dir.letter()).unwrap().unwrap();
    let marker = live_marker(&house.data(), &stuck);
    std::fs::write(&marker, "").unwrap();
    let job = house.submit_line("other", "sleep 600");
    house.wait_for(&job, "running");
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    house.wait_for(&job, "stopped");
    drop(lock);
    until("it is swept up when it lets go", || !marker.exists());
}
