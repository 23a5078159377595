//! When is a job over, how, and is it tried again?

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::house::{House, holds_for, until_some};

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
