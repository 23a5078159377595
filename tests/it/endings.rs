//! How tasks end that do not end plainly.

use std::time::{Duration, Instant};

use serde_json::json;
use trainmaster::client::Call;

use crate::{
    house::{House, marked, until},
    place::is_root,
};

#[test]
fn a_task_ends_with_its_main_process_whoever_keeps_its_output_open() {
    let house = House::new();
    let marker = format!("keeps-open-{}", std::process::id());
    let line = "(trap '' TERM HUP; echo from the child; sleep 600) & until [ -s /tmp/up ]; do echo x > /tmp/up; done; sleep 0.1; echo main; exit 3";
    let job = house.submit(&json!({ "name": "open", "env": { "MARKER": marker }, "roles": { "main": { "command": line } } }).to_string());
    let began = Instant::now();
    let shown = house.wait_for(&job, "failed");
    assert!(began.elapsed() < Duration::from_secs(10), "it took {:?}", began.elapsed());
    assert_eq!(shown["runs"][0]["exit_code"], 3);
    assert_eq!(house.log(&job, "main-0"), "from the child\nmain\n");
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

/// A job of at most 64 MiB whose child process wants 300 MiB.
fn with_a_greedy_child(house: &House, name: &str, after: &str) -> serde_json::Value {
    let command = format!("python3 -c 'x = bytearray(300 << 20)'; {after}");
    let job = house.submit(&json!({ "name": name, "roles": { "main": { "memory": "64MiB", "command": command } } }).to_string());
    house.wait_until_over(&job)
}

#[test]
fn a_child_that_ran_out_of_memory_is_the_reason_when_its_parent_fails_of_it() {
    if !is_root("limit the memory of a task everywhere") {
        return;
    }
    let house = House::new();
    let shown = with_a_greedy_child(&house, "fails", "code=$?; echo child $code; exit $code");
    assert_eq!(shown["state"], "failed", "{shown:#}");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.starts_with("main-0 out of memory: its limit is 64MiB and the kernel killed 1 of its processes"), "{reason}");
    assert!(shown["runs"][0]["ending"]["peak_memory_bytes"].as_u64().unwrap() > 32 << 20, "{shown:#}");
    let log = house.log("fails", "main-0");
    assert!(log.contains("Killed\n") && log.contains("child 137\n"), "{log}");

    let shown = with_a_greedy_child(&house, "copes", "echo never mind");
    assert_eq!((shown["state"].as_str(), &shown["runs"][0]["exit_code"]), (Some("succeeded"), &0.into()), "{shown:#}");
}

#[test]
fn a_task_that_does_nothing_but_fork_holds_up_neither_the_server_nor_other_tasks() {
    if !is_root("limit what a task takes everywhere") {
        return;
    }
    let house = House::new();
    let marker = format!("bomb-{}", std::process::id());
    // As wild as a bomb, but with an end to its growth: what would stop a real one is its memory.
    let bomb = "import os\n\
        for _ in range(300):\n \
          if os.fork() == 0:\n  \
            while True:\n   \
              if os.fork() == 0: os._exit(0)\n   \
              os.wait()\n\
        os.wait()\n";
    let role = json!({ "cpus": 0.5, "memory": "1GiB", "command": ["python3", "-c", bomb] });
    let file = json!({ "name": "bomb", "stop_grace": "100ms", "env": { "MARKER": marker }, "roles": { "main": role } });
    let job = house.submit(&file.to_string());
    until("it goes off", || marked(&marker).len() > 100);
    let mut slowest = Duration::ZERO;
    for number in 0..5 {
        let other = house.submit(&format!("{{name: other-{number}, roles: {{main: {{cpus: 0.5, command: 'echo fine'}}}}}}"));
        until("another task ends", || {
            let asked = Instant::now();
            let state = house.state(&other);
            slowest = slowest.max(asked.elapsed());
            state == "succeeded"
        });
    }
    assert!(slowest < Duration::from_secs(10), "an answer took {slowest:?}");
    assert_eq!(house.state(&job), "running");
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    house.wait_for(&job, "stopped");
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn what_cannot_start_fails_at_once_with_the_reason_and_is_not_tried_again() {
    let house = House::new();
    let code = house.place();
    std::fs::write(code.join("text"), "no program\n").unwrap();
    std::fs::write(code.join("closed"), "#!/bin/sh\n").unwrap();
    std::fs::write(code.join("lost"), "#!/no/such/interpreter\n").unwrap();
    for (name, mode) in [("text", 0o755), ("closed", 0o644), ("lost", 0o755)] {
        std::fs::set_permissions(code.join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    for (command, wanted) in [
        (json!(["pyhton3", "train.py"]), "no program `pyhton3` in PATH"),
        (json!(["/no/such/program"]), "no program `/no/such/program`"),
        (json!(["./text"]), "exec format error"),
        (json!(["./closed"]), "permission denied"),
        (json!(["./lost"]), "the interpreter its first line names is not there"),
        (json!(["/tmp"]), "permission denied"),
    ] {
        let began = Instant::now();
        let job =
            house.submit(&json!({ "name": "wrong", "retries": 0, "code": code, "roles": { "main": { "command": command } } }).to_string());
        let shown = house.wait_for(&job, "failed");
        let reason = shown["reason"].as_str().unwrap();
        assert!(reason.contains("could not start") && reason.contains(wanted), "{wanted}: {reason}");
        assert_eq!(shown["runs"].as_array().unwrap().len(), 1, "{shown:#}");
        assert!(began.elapsed() < Duration::from_secs(5), "{wanted}: it took {:?}", began.elapsed());
    }
}
