//! The server dies in every way; the tasks do not notice, and nothing is lost.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Write,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use trainmaster::client::{Call, ClientError};

use crate::house::{House, marked, text, until, until_some};

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

/// Every task waits for one byte of it, whenever it comes to that.
struct Gate(File);

impl Gate {
    fn build(place: &Path) -> Self {
        let path = place.join("gate");
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        Self(File::options().read(true).write(true).open(path).unwrap())
    }

    fn open(&self, tasks: usize) {
        (&self.0).write_all(&vec![b'\n'; tasks]).unwrap();
    }
}

#[test]
fn endings_of_every_kind_while_the_server_was_away_are_all_true() {
    // All that end a process which has not asked for them.
    let signals: Vec<i32> = (1..=31).filter(|signal| !(17..=23).contains(signal) && *signal != 28).collect();
    let mut house = House::with_args(&["--nodes", "1", "--node-cpus", "300", "--node-memory", "300GiB"]);
    let gate = Gate::build(&house.place());
    let role = |tasks: usize, ends: &str| {
        let command = format!("read word < /input/gate; {ends}");
        json!({ "tasks": tasks, "memory": "64MiB", "completion": { "min_failed": "never" }, "command": command })
    };
    let killing = format!("set -- {}; shift $TRAINMASTER_TASK_INDEX; kill -$1 $$", listed(&signals));
    let roles = json!({ "code": role(256, "exit $TRAINMASTER_TASK_INDEX"), "signal": role(signals.len(), &killing) });
    let job = house.submit(&json!({ "name": "away", "gang": false, "input": house.place(), "roles": roles }).to_string());
    let runs = |house: &House| house.show(&job)["runs"].as_array().unwrap().clone();
    let all = 256 + signals.len();
    until("all of them run", || runs(&house).iter().filter(|run| run["state"] == "running").count() == all);
    let tasks: Vec<String> = runs(&house).iter().map(|run| run["task"].as_str().unwrap().to_owned()).collect();
    house.kill();
    gate.open(all);
    until("all exit records are written", || tasks.iter().all(|task| house.run_dir(&job, task, 1).join("exit.json").exists()));
    let over_ms = jiff::Timestamp::now().as_millisecond();
    house.start();
    assert_eq!(house.wait_until_over(&job)["attempt"], 1);
    for run in runs(&house) {
        let (role, index) = run["task"].as_str().unwrap().rsplit_once('-').unwrap();
        let index: usize = index.parse().unwrap();
        let cause = match role {
            "code" => json!({ "kind": "exited", "code": index }),
            _ => json!({ "kind": "signaled", "signal": signals[index] }),
        };
        assert_eq!(run["ending"]["cause"], cause, "{run:#}");
        assert!(run["ended_at_ms"].as_i64().unwrap() <= over_ms, "{run:#}");
    }
    assert_eq!(runs(&house).len(), all);
}

fn listed(signals: &[i32]) -> String {
    signals.iter().map(i32::to_string).collect::<Vec<_>>().join(" ")
}

/// All names in the data directory, and all that is told of the jobs.
fn everything(house: &House) -> (BTreeSet<PathBuf>, Vec<String>) {
    let (mut names, mut dirs) = (BTreeSet::new(), vec![house.data()]);
    while let Some(dir) = dirs.pop() {
        for entry in dir.read_dir().unwrap().flatten() {
            names.insert(entry.path());
            dirs.extend(Some(entry.path()).filter(|_| entry.file_type().unwrap().is_dir()));
        }
    }
    let told = ["jobs/runs", "jobs/waits", "jobs/runs/events", "jobs/waits/events", "lost"];
    (names, told.map(|path| text(&house.get(&format!("/api/v1/{path}")).unwrap())).into())
}

#[test]
fn a_server_that_is_killed_again_and_again_as_it_starts_leaves_everything_as_it_was() {
    const KILLS: u64 = 60;
    let mut house = House::new();
    let runs = house.submit("{name: runs, roles: {main: {cpus: 2, command: 'echo on; sleep 600'}}}");
    house.submit("{name: waits, roles: {main: {cpus: 2, command: 'true'}}}");
    house.wait_for_output("runs", "main-0", "on");
    until("it says what it waits for", || house.show("waits")["reason"].as_str().unwrap().contains("runs"));
    until("its use is measured", || house.run_dir(&runs, "main-0", 1).join("usage.fine").exists());
    house.restart();
    let before = everything(&house);
    house.kill();
    for kill in 0..KILLS {
        house.spawn();
        // Spread over all that a start does, and a little beyond.
        std::thread::sleep(Duration::from_millis(kill * 37 % 300));
        house.kill();
    }
    house.start();
    assert_eq!(everything(&house), before);
    house.call(Call::post("/api/v1/jobs/runs/stop", "")).unwrap();
    house.wait_for("waits", "succeeded");
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
