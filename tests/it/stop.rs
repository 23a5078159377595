//! Stopping: nothing of a stopped job lives.

use std::time::{Duration, Instant};

use trainmaster::client::Call;

use crate::{
    house::{House, cpu_ms, marked, text, until},
    place::is_root,
    tcp_only::{Placed, place},
};

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
    let stop = |job: &str| house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    // As a supervisor that was frozen before it could say who it is.
    let Placed { run, lock } = place(&house, serde_json::json!({ "cpus": 1.1, "command": "true" }));
    let stuck = run.job.to_string();
    stop(&stuck);
    let other = house.submit("{name: other, roles: {main: {cpus: 0.5, command: 'sleep 600'}}}");
    house.wait_for(&other, "running");
    stop(&other);
    house.wait_for(&other, "stopped");
    assert_eq!(house.state(&stuck), "stopping");
    drop(lock);
    house.wait_for(&stuck, "stopped");
}

/// A job that lets the kernel work for it, far more than its share of a CPU, so that nobody in it gets to run
/// for a long time: not even the one who should end it.
fn submit_debtor(house: &House, marker: &str) -> String {
    // They go all at once: whoever went before the last is born would keep the others from it.
    let debtor = "import os, signal\n\
        signal.signal(signal.SIGTERM, signal.SIG_IGN)\n\
        born, all = os.pipe()\n\
        file = os.open('/dev/shm/large', os.O_RDWR | os.O_CREAT)\n\
        os.ftruncate(file, 64 << 30)\n\
        null = os.open('/dev/null', os.O_WRONLY)\n\
        for _ in range(40):\n \
          if os.fork() == 0:\n  \
            os.close(all)\n  \
            os.read(born, 1)\n  \
            while True: os.sendfile(null, file, 0, 2 << 30)\n\
        os.close(all)\n\
        signal.pause()\n";
    let role = serde_json::json!({ "cpus": 0.1, "memory": "512MiB", "command": ["python3", "-c", debtor] });
    let file = serde_json::json!({ "name": "debtor", "stop_grace": "100ms", "env": { "MARKER": marker }, "roles": { "main": role } });
    let job = house.submit(&file.to_string());
    until("it is deep in debt", || marked(marker).into_iter().filter_map(cpu_ms).sum::<u64>() > 1_000);
    job
}

#[test]
fn a_tree_that_leaves_no_cpu_to_anyone_is_stopped_in_time_all_the_same() {
    if !is_root("limit the CPUs of a task everywhere") {
        return;
    }
    let house = House::new();
    let marker = format!("busy-{}", std::process::id());
    let job = submit_debtor(&house, &marker);
    let began = Instant::now();
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    house.wait_for(&job, "stopped");
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    assert_eq!(marked(&marker), Vec::<i32>::new());
}
