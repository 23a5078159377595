//! The server dies in every way; the tasks do not notice, and nothing is lost.

use serde_json::Value;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, marked, until, until_some};

fn child_pid(house: &House, job: &str) -> u64 {
    until_some("the child has a pid", || house.show(job)["runs"][0]["pid"].as_u64())
}

#[test]
fn tasks_go_on_through_server_kills_with_the_same_pid_and_every_byte() {
    let mut house = House::new();
    let job = house.submit_line("counting", "for i in $(seq 1 300); do echo $i; sleep 0.01; done; exit 5");
    house.wait_for(&job, "running");
    let pid = child_pid(&house, &job);
    for _ in 0..3 {
        house.kill();
        house.start();
        assert_eq!(house.state(&job), "running");
        assert_eq!(child_pid(&house, &job), pid);
    }
    let shown = house.wait_for(&job, "failed");
    assert!(shown["reason"].as_str().unwrap().contains("exited with code 5"));
    assert_eq!(shown["attempt"], 1);
    let wanted: String = (1..=300).map(|i| format!("{i}\n")).collect();
    assert_eq!(house.log(&job, "main-0"), wanted);
}

#[test]
fn endings_while_the_server_was_away_are_all_true() {
    let mut house = House::with_args(&["--nodes", "1", "--node-cpus", "20", "--node-memory", "8GiB"]);
    let codes = [0, 1, 7, 126, 255];
    let gate = house.place().join("gate");
    let wait = "until [ -e /input/gate ]; do sleep 0.02; done";
    let jobs: Vec<String> = codes
        .iter()
        .map(|code| {
            let line = format!("{wait}; exit {code}");
            house.submit(
                &serde_json::json!({ "name": format!("away-{code}"), "input": house.place(), "roles": { "main": { "command": line } } })
                    .to_string(),
            )
        })
        .collect();
    jobs.iter().for_each(|job| drop(house.wait_for(job, "running")));
    house.kill();
    std::fs::write(gate, "").unwrap();
    until("all exit records are written", || jobs.iter().all(|job| house.run_dir(job, "main-0", 1).join("exit.json").exists()));
    house.start();
    for (job, code) in jobs.iter().zip(codes) {
        let shown = house.wait_until_over(job);
        assert_eq!(shown["runs"][0]["exit_code"], code, "{shown:#}");
        assert_eq!(shown["attempt"], 1);
    }
}

fn submit_with_key(house: &House, key: &str, file: &str) -> Result<Value, ClientError> {
    let answer = house.call(Call::post("/api/v1/jobs", file.to_owned()).header("idempotency-key", key))?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

#[test]
fn a_key_used_for_another_job_is_refused() {
    let house = House::new();
    submit_with_key(&house, "k", "{name: a, roles: {main: {command: 'true'}}}").unwrap();
    match submit_with_key(&house, "k", "{name: b, roles: {main: {command: 'true'}}}") {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.code.as_str()), (409, "key_reused")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_stop_that_was_answered_is_carried_out_after_a_crash() {
    let mut house = House::new();
    let marker = format!("stop-marker-{}", std::process::id());
    let job = house.submit(
        &serde_json::json!({ "name": "stopped", "stop_grace": "100ms", "env": { "MARKER": marker },
            "roles": { "main": { "command": "trap '' TERM; echo ready; while :; do sleep 0.1; done" } } })
        .to_string(),
    );
    house.wait_for_output(&job, "main-0", "ready");
    house.kill();
    house.env("TRAINMASTER_CRASH_AT", "cancel.intent-committed-before-signal");
    house.start();
    let _dies = house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), ""));
    house.ended();
    house.clear_env();
    house.start();
    house.wait_for(&job, "stopped");
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn a_killed_supervisor_leaves_no_child_and_an_honest_ending() {
    let house = House::new();
    let marker = format!("sup-marker-{}", std::process::id());
    let job = house.submit(
        &serde_json::json!({ "name": "orphan", "env": { "MARKER": marker },
            "roles": { "main": { "command": "echo attempt $TRAINMASTER_ATTEMPT; [ $TRAINMASTER_ATTEMPT = 1 ] && sleep 600; true" } } })
        .to_string(),
    );
    house.wait_for(&job, "running");
    for pid in house.supervisors() {
        // SAFETY: plain system call on a process of this test.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    let shown = house.wait_until_over(&job);
    assert_eq!(shown["state"], "succeeded", "{shown:#}");
    assert_eq!(shown["attempt"], 2);
    let first = shown["runs"].as_array().unwrap().iter().find(|run| run["attempt"] == 1).unwrap();
    assert_eq!(first["state"], "unknown");
    assert_eq!(marked(&marker), Vec::<i32>::new());
}

#[test]
fn a_second_server_on_one_directory_is_refused_and_the_first_goes_on() {
    let house = House::new();
    let data = house.data().display().to_string();
    let out = house.cli(&["up", "--data", &data, "--listen", "127.0.0.1:0"]);
    assert_eq!(out.status.code(), Some(2), "{}", crate::house::text(&out.stderr));
    assert!(crate::house::text(&out.stderr).contains("another server"), "{}", crate::house::text(&out.stderr));
    house.get("/api/v1/health").unwrap();
}

#[test]
fn a_child_whose_start_was_not_heard_is_running_all_the_same_for_the_next_server() {
    let mut house = House::new();
    house.kill();
    house.env("TRAINMASTER_CRASH_AT", "finish.notified-before-commit");
    house.start();
    let job = house.submit_line("unheard", "sleep 600");
    house.ended();
    house.clear_env();
    house.start();
    assert_eq!(house.wait_for(&job, "running")["attempt"], 1);
}
