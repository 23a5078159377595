//! When is a job over, how, and is it tried again?

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    house::{House, holds_for, text, until_some},
    place::is_root,
};

fn stop(house: &House, job: &str) {
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
}

fn reason(shown: &Value) -> &str {
    shown["reason"].as_str().unwrap()
}

/// The run of a task, of its newest attempt.
fn run_of<'a>(shown: &'a Value, task: &str) -> Option<&'a Value> {
    shown["runs"].as_array().unwrap().iter().filter(|run| run["task"] == task).max_by_key(|run| run["attempt"].as_u64())
}

#[test]
fn a_service_is_started_again_after_success_and_failure_until_it_is_stopped() {
    let house = House::new();
    let job = house.submit("{name: service, retries: forever, roles: {main: {command: 'exit $((TRAINMASTER_ATTEMPT % 2))'}}}");
    let shown = until_some("there is a third attempt", || {
        let shown = house.show(&job);
        (shown["attempt"].as_u64().unwrap() >= 3).then_some(shown)
    });
    let states: Vec<&str> = [1, 2]
        .map(|attempt| {
            let run = shown["runs"].as_array().unwrap().iter().find(|run| run["attempt"] == attempt).unwrap();
            run["state"].as_str().unwrap()
        })
        .to_vec();
    assert_eq!(states, ["failed", "succeeded"]);
    stop(&house, &job);
    let shown = house.wait_for(&job, "stopped");
    let attempts = shown["attempt"].clone();
    holds_for(Duration::from_secs(2), "nothing starts any more", || house.show(&job)["attempt"] == attempts);
}

#[test]
fn a_job_that_dies_at_once_waits_longer_each_time_and_others_pass_it_by() {
    let mut house = House::new();
    let job = house.submit("{name: dies, retries: always, roles: {main: {cpus: 2, command: 'exit 3'}}}");
    let began = Instant::now();
    let waits = |house: &House| {
        until_some("it waits before its fifth attempt", || {
            let shown = house.show(&job);
            (shown["attempt"] == 5 && shown["state"] == "queued").then(|| reason(&shown).to_owned())
        })
    };
    let said = waits(&house);
    assert!(said.starts_with("main-0 exited with code 3 after"), "{said}");
    assert!(said.ends_with("retry 4, as often as it takes; waits 4s before attempt 5"), "{said}");
    assert!(began.elapsed() >= Duration::from_secs(3), "1 s and 2 s came before, not {:?}", began.elapsed());
    let explained = house.get_json(&format!("/api/v1/jobs/{job}/explain"));
    assert!(reason(&explained).ends_with("s of that are left"), "{}", reason(&explained));
    let other = house.submit("{name: other, roles: {main: {cpus: 2, command: 'true'}}}");
    house.wait_for(&other, "succeeded");
    // A pause is not forgotten by a server that dies.
    house.restart();
    assert_eq!(waits(&house), said);
    let shown = until_some("the fifth attempt is over", || Some(house.show(&job)).filter(|shown| shown["attempt"] == 6));
    assert!(began.elapsed() >= Duration::from_secs(7), "it took only {:?}", began.elapsed());
    assert!(reason(&shown).contains("waits 8s before attempt 6"), "{}", reason(&shown));
    stop(&house, &job);
    assert_eq!(house.state(&job), "stopped");
}

#[test]
fn what_can_never_start_is_not_tried_again_however_many_retries_it_has() {
    let house = House::new();
    let job = house.submit("{name: wrong, retries: always, roles: {main: {command: [no-such-program]}}}");
    let shown = house.wait_for(&job, "failed");
    assert_eq!(shown["attempt"], 1);
    assert!(reason(&shown).ends_with("a retry would end the same way"), "{}", reason(&shown));
}

#[test]
fn who_is_stopped_because_the_job_was_decided_has_not_failed() {
    let house = House::new();
    let worker = json!({ "command": "until [ -e /cache/go ]; do sleep 0.01; done; exit 4" });
    let file = json!({ "name": "decided", "roles": { "ps": { "cpus": 0.5, "command": "sleep 600" }, "worker": worker } });
    let job = house.submit(&file.to_string());
    house.wait_for(&job, "running");
    std::fs::write(house.data().join("cache").join("go"), "").unwrap();
    let shown = house.wait_for(&job, "failed");
    assert!(reason(&shown).starts_with("worker-0 exited with code 4 after"), "{}", reason(&shown));
    let ps = run_of(&shown, "ps-0").unwrap();
    assert_eq!(ps["state"], "stopped", "{shown:#}");
    assert!(reason(ps).starts_with("stopped after") && reason(ps).ends_with(", because the job was decided"), "{}", reason(ps));
}

fn attempts_of(shown: &Value, task: &str) -> Vec<u64> {
    let runs = shown["runs"].as_array().unwrap().iter().filter(|run| run["task"] == task);
    let mut attempts: Vec<u64> = runs.map(|run| run["attempt"].as_u64().unwrap()).collect();
    attempts.sort_unstable();
    attempts
}

#[test]
fn ten_tasks_that_are_no_gang_finish_on_two_cpus_in_waves() {
    let house = House::new();
    let line = "until [ -e /cache/go ]; do sleep 0.01; done; echo $TRAINMASTER_TASK_INDEX of $TRAINMASTER_CLUSTER";
    let file = json!({ "name": "waves", "gang": false, "roles": { "worker": { "tasks": 10, "command": line } } });
    let job = house.submit(&file.to_string());
    let shown = until_some("it says what runs and what waits", || {
        Some(house.show(&job)).filter(|shown| shown["state"] == "running" && reason(shown).contains("the next needs"))
    });
    assert!(reason(&shown).starts_with("2 of 10 tasks run; the next needs 1 × (1 CPU,"), "{}", reason(&shown));
    assert_eq!(shown["runs"].as_array().unwrap().len(), 2, "{shown:#}");
    let explained = house.get_json(&format!("/api/v1/jobs/{job}/explain"));
    assert!(reason(&explained).starts_with("2 of 10 tasks run; the next needs"), "{}", reason(&explained));
    std::fs::write(house.data().join("cache").join("go"), "").unwrap();
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!((shown["attempt"].as_u64(), reason(&shown)), (Some(1), "every task that counts has ended"));
    for index in 0..10 {
        let task = format!("worker-{index}");
        assert_eq!(attempts_of(&shown, &task), [1], "{shown:#}");
        let log = house.log(&job, &task);
        assert!(log.starts_with(&format!("{index} of {{\"worker\":[")), "{log}");
        assert!(log.matches("127.0.0.1").count() <= 2, "peers that are not placed have no address: {log}");
    }
}

#[test]
fn a_task_that_is_no_part_of_a_gang_is_tried_again_alone_while_the_others_go_on() {
    let mut house = House::new();
    let flaky = "echo try $TRAINMASTER_ATTEMPT; [ $TRAINMASTER_ATTEMPT = 3 ]";
    let steady = "echo $$ in $TRAINMASTER_ATTEMPT; until [ -e /cache/go ]; do sleep 0.01; done";
    let roles = json!({ "flaky": { "command": flaky, "retries": 2 }, "steady": { "command": steady } });
    let job = house.submit(&json!({ "name": "alone", "gang": false, "roles": roles }).to_string());
    until_some("the second try is over", || (attempts_of(&house.show(&job), "flaky-0").len() >= 2).then_some(()));
    let pid = run_of(&house.show(&job), "steady-0").unwrap()["pid"].clone();
    // In the middle of the pause before the third.
    house.restart();
    let shown = until_some("the third try has succeeded", || {
        Some(house.show(&job)).filter(|shown| run_of(shown, "flaky-0").unwrap()["state"] == "succeeded")
    });
    assert_eq!(attempts_of(&shown, "flaky-0"), [1, 2, 3], "{shown:#}");
    assert_eq!((attempts_of(&shown, "steady-0"), &shown["state"]), (vec![1], &json!("running")), "{shown:#}");
    assert_eq!(run_of(&shown, "steady-0").unwrap()["pid"], pid);
    std::fs::write(house.data().join("cache").join("go"), "").unwrap();
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["attempt"], 1);
    assert_eq!(house.log(&job, "steady-0").lines().count(), 1);
    assert_eq!(house.log(&job, "flaky-0"), "try 3\n");
}

#[test]
fn a_task_without_retries_left_fails_the_job_whose_own_retries_start_all_of_it_again() {
    let house = House::new();
    let line = "[ $TRAINMASTER_TASK_INDEX = 0 ] || [ $TRAINMASTER_ATTEMPT -ge 3 ] || exit 5";
    let worker = json!({ "tasks": 2, "retries": 1, "command": line });
    let job = house.submit(&json!({ "name": "both", "gang": false, "retries": 1, "roles": { "worker": worker } }).to_string());
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["attempt"], 2);
    assert_eq!(attempts_of(&shown, "worker-0"), [1, 2], "{shown:#}");
    assert_eq!(attempts_of(&shown, "worker-1"), [1, 2, 3], "{shown:#}");
}

#[test]
fn a_server_that_dies_in_the_middle_of_a_wave_loses_no_task_and_starts_none_twice() {
    let mut house = House::new();
    let line = "echo x >> /cache/$TRAINMASTER_TASK_INDEX; sleep 0.1";
    let job =
        house.submit(&json!({ "name": "killed", "gang": false, "roles": { "worker": { "tasks": 12, "command": line } } }).to_string());
    for round in 1..=3 {
        let over = |shown: &Value| shown["runs"].as_array().unwrap().iter().filter(|run| run["state"] == "succeeded").count();
        until_some("some more are over", || (over(&house.show(&job)) >= round * 2).then_some(()));
        house.restart();
    }
    house.wait_for(&job, "succeeded");
    for index in 0..12 {
        let lines = std::fs::read_to_string(house.data().join("cache").join(index.to_string())).unwrap();
        assert_eq!(lines, "x\n", "worker-{index} ran once");
    }
}

#[test]
fn a_stop_ends_the_tasks_that_run_and_those_that_wait_never_start() {
    let house = House::new();
    let worker = json!({ "tasks": 10, "command": "echo up; sleep 600" });
    let job = house.submit(&json!({ "name": "stopped", "gang": false, "roles": { "worker": worker } }).to_string());
    house.wait_for_output(&job, "worker-1", "up");
    stop(&house, &job);
    let shown = house.wait_for(&job, "stopped");
    let runs = shown["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 2, "{shown:#}");
    assert!(runs.iter().all(|run| run["state"] == "stopped" && reason(run).contains("because the job was stopped by")), "{shown:#}");
    holds_for(Duration::from_secs(1), "nothing starts any more", || house.show(&job)["runs"].as_array().unwrap().len() == 2);
    house.call(Call::delete(&format!("/api/v1/jobs/{job}"))).unwrap();
    assert!(house.get(&format!("/api/v1/jobs/{job}")).is_err());
}

#[test]
fn a_gang_takes_its_turn_between_the_tasks_of_a_job_that_is_none() {
    let house = House::new();
    let many = house.submit("{name: many, gang: false, roles: {worker: {tasks: 8, command: 'sleep 0.2'}}}");
    house.wait_for(&many, "running");
    let urgent = house.submit("{name: urgent, priority: 5, roles: {main: {tasks: 2, command: 'true'}}}");
    house.wait_for(&urgent, "succeeded");
    assert_eq!(house.state(&many), "running", "the gang did not wait for all of the others");
    house.wait_for(&many, "succeeded");
}

/// A job of one task whose sandbox is kept for that long if it fails.
fn keeping(house: &House, time: &str, line: &str) -> String {
    let code = house.place().join("code");
    std::fs::create_dir_all(&code).unwrap();
    std::fs::write(code.join("train.py"), "the code").unwrap();
    let file = json!({ "name": "kept", "keep_failed": time, "code": code, "roles": { "main": { "command": line } } });
    house.submit(&file.to_string())
}

fn wait_until_kept(house: &House, job: &str) -> Value {
    until_some("its sandbox is kept", || Some(house.show(job)).filter(|shown| reason(shown).contains("its sandbox is kept until")))
}

#[test]
fn one_can_step_into_the_sandbox_of_a_failed_task_until_the_job_is_stopped() {
    let mut house = House::new();
    let job = keeping(&house, "30m", "sleep 600 & echo trace > /tmp/trace; exit 3");
    let shown = wait_until_kept(&house, &job);
    let run = run_of(&shown, "main-0").unwrap();
    assert_eq!((shown["state"].as_str(), run["state"].as_str()), (Some("running"), Some("running")), "{shown:#}");
    assert!(reason(run).starts_with("exited with code 3 after"), "{}", reason(run));
    let held = house.get_json("/api/v1/nodes");
    assert!(held.to_string().contains("kept@1"), "what it holds stays held: {held:#}");
    house.restart();
    assert_eq!(run_of(&house.show(&job), "main-0"), Some(run), "a server's death changes nothing");
    if is_root("enter another process's namespaces") {
        let pid = run["pid"].to_string();
        let seen = std::process::Command::new("nsenter")
            .args(["-t", &pid, "-m", "-p", "-w", "sh", "-c", "cat /code/train.py /tmp/trace"])
            .output()
            .unwrap();
        assert_eq!(text(&seen.stdout), "the codetrace\n", "{}", text(&seen.stderr));
    }
    stop(&house, &job);
    let shown = house.wait_for(&job, "failed");
    assert_eq!((&shown["attempt"], &shown["runs"][0]["exit_code"]), (&json!(1), &json!(3)), "{shown:#}");
    assert!(
        reason(&shown).starts_with("main-0 exited with code 3 after") && reason(&shown).ends_with("while its sandbox was kept"),
        "{shown:#}"
    );
    assert_eq!(house.groups(), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_kept_sandbox_is_given_up_when_its_time_is_over_and_only_then_has_the_job_failed() {
    let house = House::new();
    let began = Instant::now();
    let job = keeping(&house, "2s", "exit 3");
    wait_until_kept(&house, &job);
    let shown = house.wait_for(&job, "failed");
    assert!(began.elapsed() >= Duration::from_secs(2), "it took only {:?}", began.elapsed());
    assert!(reason(&shown).ends_with("no retries were asked for"), "{}", reason(&shown));
    let ending = &shown["runs"][0]["ending"];
    let ran_ms = ending["ended_at_ms"].as_u64().unwrap() - ending["started_at_ms"].as_u64().unwrap();
    assert!(ran_ms < 1500, "the child's own time counts, not the sandbox's: {ran_ms} ms");
    house.wait_for(&keeping(&house, "30m", "exit 0"), "succeeded");
    let stopped = keeping(&house, "30m", "echo up; sleep 600");
    house.wait_for_output(&stopped, "main-0", "up");
    stop(&house, &stopped);
    house.wait_for(&stopped, "stopped");
}

#[test]
fn a_supervisor_that_is_killed_while_it_keeps_a_sandbox_has_told_before_how_the_child_ended() {
    let house = House::new();
    let job = keeping(&house, "30m", "exit 3");
    wait_until_kept(&house, &job);
    for pid in house.supervisors() {
        // SAFETY: plain system call on a process of this test.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    let shown = house.wait_for(&job, "failed");
    assert_eq!((&shown["attempt"], &shown["runs"][0]["exit_code"]), (&json!(1), &json!(3)), "{shown:#}");
}

#[test]
fn a_server_that_dies_right_after_it_has_placed_a_wave_finds_it_again() {
    let mut house = House::new();
    let line = "echo x >> /cache/$TRAINMASTER_TASK_INDEX";
    house.kill();
    house.env("TRAINMASTER_CRASH_AT", "schedule.after-reserve-commit");
    house.start();
    let file = json!({ "name": "reserved", "gang": false, "roles": { "worker": { "tasks": 6, "command": line } } });
    let job = house.submit(&file.to_string());
    house.ended();
    // Whatever was placed ends, and the next wave is placed by a server that dies as well.
    house.spawn();
    house.ended();
    house.clear_env();
    house.start();
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["runs"].as_array().unwrap().len(), 6, "{shown:#}");
    for index in 0..6 {
        assert_eq!(std::fs::read_to_string(house.data().join("cache").join(index.to_string())).unwrap(), "x\n", "worker-{index} ran once");
    }
}
