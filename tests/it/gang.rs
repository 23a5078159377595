//! A gang begins together: nobody before everyone is ready.

use std::time::{Duration, Instant};

use model::ids::RunKey;
use serde_json::{Value, json};
use trainmaster::{client::Call, rundir::RunDir, supervisor::lock::Lock};

use crate::{
    house::{House, binary, holds_for, until, until_some},
    tcp_only::Placed,
};

const FOUR_CPUS: [&str; 6] = ["--nodes", "1", "--node-cpus", "4", "--node-memory", "4GiB"];

fn run_of(job: &Value, task: &str) -> Value {
    job["runs"].as_array().unwrap().iter().find(|run| run["task"] == task).unwrap().clone()
}

fn two_workers(line: &str) -> String {
    json!({ "name": "pair", "conventions": [], "roles": { "worker": { "tasks": 2, "cpus": 2, "command": line } } }).to_string()
}

/// A gang of which one task's run is kept from this machine's engine, as if it were somebody else's to start.
fn place_without(house: &House, task: &str, job_file: &str) -> (String, Placed) {
    let hog = house.submit("{name: hog, roles: {main: {cpus: 4, command: 'sleep 600'}}}");
    house.wait_for(&hog, "running");
    let job = house.submit(job_file);
    let run: RunKey = format!("{job}:{task}:1").parse().unwrap();
    let dir = RunDir::new(&house.data(), &run);
    std::fs::create_dir_all(dir.path()).unwrap();
    let lock = Lock::take(&dir.letter()).unwrap().expect("nobody else knows the run yet");
    house.call(Call::post(&format!("/api/v1/jobs/{hog}/stop"), "")).unwrap();
    house.wait_for(&job, "starting");
    (job, Placed { run, lock })
}

fn until_ready(house: &House, job: &str, task: &str) {
    until(&format!("{task} is ready"), || run_of(&house.show(job), task)["reason"].as_str().unwrap().starts_with("ready"));
}

#[test]
fn no_child_begins_before_every_task_is_ready() {
    let house = House::with_args(&FOUR_CPUS);
    let (job, held) = place_without(&house, "worker-1", &two_workers("echo began"));
    until_ready(&house, &job, "worker-0");
    let waiting = run_of(&house.show(&job), "worker-0");
    assert_eq!((waiting["state"].as_str(), waiting["reason"].as_str()), (Some("starting"), Some("ready; waits for worker-1")));
    holds_for(Duration::from_millis(300), "worker-0 says nothing", || house.log(&job, "worker-0").is_empty());
    drop(held);
    house.wait_for(&job, "succeeded");
    assert_eq!((house.log(&job, "worker-0"), house.log(&job, "worker-1")), ("began\n".into(), "began\n".into()));
}

#[test]
fn who_is_missing_when_the_time_is_over_is_named_and_the_platform_is_blamed() {
    let house = House::with_args(&[&FOUR_CPUS[..], &["--gang-timeout", "1s"]].concat());
    let (job, _held) = place_without(&house, "worker-1", &two_workers("echo began"));
    let ended = until_some("worker-0 gives up", || Some(run_of(&house.show(&job), "worker-0")).filter(|it| it["state"] == "failed"));
    assert_eq!(ended["reason"], "could not start: worker-1 was not ready within 1s");
    assert_eq!(ended["ending"]["cause"]["whose"], "platform");
    assert_eq!(house.log(&job, "worker-0"), "");
}

#[test]
fn a_stop_ends_the_waiting_at_once() {
    let house = House::with_args(&FOUR_CPUS);
    let (job, held) = place_without(&house, "worker-1", &two_workers("echo began"));
    until_ready(&house, &job, "worker-0");
    let asked = Instant::now();
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    until("worker-0 is stopped", || run_of(&house.show(&job), "worker-0")["state"] == "stopped");
    assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
    drop(held);
    house.wait_for(&job, "stopped");
    assert_eq!(house.log(&job, "worker-0"), "");
}

#[test]
fn a_server_that_was_away_gives_the_same_answer_when_it_is_back() {
    let mut house = House::with_args(&FOUR_CPUS);
    let (job, held) = place_without(&house, "worker-1", &two_workers("echo began"));
    until_ready(&house, &job, "worker-0");
    house.restart();
    assert_eq!(run_of(&house.show(&job), "worker-0")["reason"], "ready; waits for worker-1");
    drop(held);
    house.wait_for(&job, "succeeded");
}

#[test]
fn when_one_task_cannot_start_the_others_end_without_having_begun() {
    let house = House::with_args(&FOUR_CPUS);
    let submitted = Instant::now();
    let file = json!({ "name": "lacks", "input": house.place().join("gone"), "roles": {
        "worker": { "tasks": 2, "command": "echo began" } } });
    let job = house.submit(&file.to_string());
    let shown = house.wait_for(&job, "failed");
    assert!(shown["reason"].as_str().unwrap().contains("gone` is not there"), "{}", shown["reason"]);
    assert!(submitted.elapsed() < Duration::from_secs(10));
    assert_eq!((house.log(&job, "worker-0"), house.log(&job, "worker-1")), (String::new(), String::new()));
}

#[test]
fn a_port_that_somebody_took_is_the_platforms_fault_and_is_retried_without_counting() {
    let house = House::with_args(&FOUR_CPUS);
    let file = json!({ "name": "ports", "conventions": [], "roles": { "worker": { "tasks": 2, "cpus": 2, "ports": { "grpc": 1 }, "command": "echo began" } } });
    let (job, held) = place_without(&house, "worker-1", &file.to_string());
    until_ready(&house, &job, "worker-0");
    let port = run_of(&house.show(&job), "worker-1")["ports"]["grpc"][0].as_u64().unwrap() as u16;
    let address = house.get_json("/api/v1/nodes")[0]["address"].as_str().unwrap().to_owned();
    let _somebody = std::net::TcpListener::bind((address, port)).unwrap();
    drop(held);
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["attempt"], 2);
    let first = shown["runs"].as_array().unwrap().iter().find(|run| run["task"] == "worker-1" && run["attempt"] == 1).unwrap();
    assert!(first["reason"].as_str().unwrap().contains(&format!("port {port} on")), "{first:#}");
    assert_eq!(house.log(&job, "worker-0"), "began\n");
}

#[test]
fn tasks_that_need_not_begin_together_do_not_wait() {
    let house = House::with_args(&FOUR_CPUS);
    let file = json!({ "name": "loose", "gang": false, "roles": { "worker": { "tasks": 2, "cpus": 2, "command": "echo began" } } });
    let (job, _held) = place_without(&house, "worker-1", &file.to_string());
    until("worker-0 is done", || run_of(&house.show(&job), "worker-0")["state"] == "succeeded");
    assert_eq!(house.log(&job, "worker-0"), "began\n");
    let order = std::fs::read_to_string(house.run_dir(&job, "worker-0", 1).join("order.json")).unwrap();
    assert!(!order.contains("\"gang\""), "{order}");
}

/// Its only way to the server is the address it was given.
#[test]
fn a_supervisor_far_away_waits_at_the_same_barrier() {
    let house = House::with_args(&FOUR_CPUS);
    let (job, held) = place_without(&house, "worker-1", &two_workers("echo began"));
    until_ready(&house, &job, "worker-0");
    let far = tempfile::tempdir().unwrap();
    let token = trainmaster::run_token::RunSecret::of(&house.data()).unwrap().token(&held.run);
    std::fs::write(far.path().join("its-token"), token).unwrap();
    std::fs::create_dir(far.path().join("run")).unwrap();
    let mut command = std::process::Command::new(binary());
    command.arg("supervise").args(["--server", &house.url(), "--run", &held.run.to_string()]);
    command.arg("--token-file").arg(far.path().join("its-token")).arg("--dir").arg(far.path().join("run"));
    let mut supervisor = command.stdin(std::process::Stdio::null()).spawn().unwrap();
    house.wait_for(&job, "succeeded");
    assert_eq!((house.log(&job, "worker-0"), house.log(&job, "worker-1")), ("began\n".into(), "began\n".into()));
    until_some("the far supervisor is done", || supervisor.try_wait().unwrap());
}
