//! Every named crash point: whoever dies there, one truth is left, and the rest goes on.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::Value;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, marked, until, until_some};

/// The beginning of a task that notices when another attempt of it is alive: it holds a lock for as long
/// as anything of it lives, and says so where every attempt can read it.
const ALONE: &str = "exec 9>>/cache/alive; flock -n 9 || echo two at once >> /cache/history; \
                     echo $TRAINMASTER_ATTEMPT >> /cache/history; ";

fn job(name: &str, marker: &str, line: &str) -> String {
    let command = format!("{ALONE}{line}");
    serde_json::json!({ "name": name, "stop_grace": "100ms", "env": { "MARKER": marker }, "roles": { "main": { "command": command } } })
        .to_string()
}

/// Which attempts were ever alive, in their order; panics if two were at once.
fn attempts_that_lived(house: &House) -> Vec<u32> {
    let history = fs::read_to_string(house.data().join("cache/history")).unwrap_or_default();
    history.lines().map(|line| line.parse().unwrap_or_else(|_| panic!("{line}:\n{history}"))).collect()
}

/// The states of a job's runs, the first attempt first.
fn states(shown: &Value) -> Vec<&str> {
    let mut runs: Vec<&Value> = shown["runs"].as_array().unwrap().iter().collect();
    runs.sort_by_key(|run| run["attempt"].as_u64());
    runs.into_iter().map(|run| run["state"].as_str().unwrap()).collect()
}

fn nothing_is_left(house: &House, marker: &str) {
    until("no supervisor is left", || house.supervisors().is_empty());
    until("no control group is left", || house.groups().is_empty());
    until("the engine has forgotten every run", || fs::read_dir(house.data().join("live")).unwrap().next().is_none());
    assert_eq!(marked(marker), Vec::<i32>::new());
}

#[test]
fn a_supervisor_that_dies_anywhere_leaves_one_true_ending_or_an_honest_unknown() {
    for (point, wanted) in [
        ("start.after-spawn-before-identity-recorded", &[vec!["failed"]][..]),
        ("start.after-identity-before-exec", &[vec!["unknown", "failed"]]),
        ("run.log-append-before-index", &[vec!["unknown", "failed"]]),
        // Here the ending is written down, but not under its name. Both are honest.
        ("finish.exit-record-tmp-written", &[vec!["unknown", "failed"], vec!["failed"]]),
        ("finish.exit-record-renamed-before-notify", &[vec!["failed"]]),
    ] {
        let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
        house.crash_at(point);
        house.start();
        let marker = format!("crash-{point}-{}", std::process::id());
        let id = house.submit(&job("dying", &marker, "echo ran; exit 3"));
        let shown = house.wait_until_over(&id);
        assert!(house.crashed(), "nobody came to {point}");
        assert!(wanted.contains(&states(&shown)), "{point}: {shown:#}");
        assert_eq!(shown["runs"].as_array().unwrap().iter().find(|run| run["state"] == "failed").unwrap()["exit_code"], 3);
        let lived = attempts_that_lived(&house);
        assert!(lived.is_sorted_by(|a, b| a < b) && lived.last() == Some(&(states(&shown).len() as u32)), "{point}: {lived:?}");
        assert_eq!(house.log(&id, "main-0"), "ran\n", "{point}");
        nothing_is_left(&house, &marker);
    }
}

#[test]
fn a_supervisor_and_its_server_killed_together_leave_no_child_and_one_attempt_after_another() {
    let mut house = House::new();
    let marker = format!("together-{}", std::process::id());
    let id = house.submit(&job("together", &marker, "echo up; [ $TRAINMASTER_ATTEMPT = 2 ] || sleep 600"));
    house.wait_for_output(&id, "main-0", "up");
    let supervisors = house.supervisors();
    house.kill();
    supervisors.into_iter().for_each(kill);
    until("nothing of the task is left", || marked(&marker).is_empty());
    house.start();
    let shown = house.wait_until_over(&id);
    assert_eq!(states(&shown), ["unknown", "succeeded"]);
    assert_eq!(attempts_that_lived(&house), [1, 2]);
    nothing_is_left(&house, &marker);
}

#[test]
fn a_supervisor_killed_between_asking_and_killing_leaves_a_stopped_job_and_nobody_alive() {
    let house = House::new();
    let marker = format!("in-grace-{}", std::process::id());
    let deaf = "trap 'echo asked' TERM; echo up; while :; do sleep 0.05; done";
    let id = house.submit(&job("deaf", &marker, deaf).replace("100ms", "1h"));
    house.wait_for_output(&id, "main-0", "up");
    house.call(Call::post(&format!("/api/v1/jobs/{id}/stop"), "")).unwrap();
    house.wait_for_output(&id, "main-0", "asked");
    assert_eq!(house.state(&id), "stopping");
    house.supervisors().into_iter().for_each(kill);
    let shown = house.wait_for(&id, "stopped");
    assert_eq!(states(&shown), ["unknown"], "nobody saw how it ended");
    assert_eq!(attempts_that_lived(&house), [1]);
    nothing_is_left(&house, &marker);
}

#[test]
fn a_frozen_supervisor_is_neither_lost_nor_doubled() {
    let house = House::new();
    let marker = format!("frozen-{}", std::process::id());
    let id = house.submit(&job("frozen", &marker, "echo up; until [ -e /cache/go ]; do sleep 0.02; done; exit 5"));
    house.wait_for_output(&id, "main-0", "up");
    let supervisor = house.supervisors()[0];
    signal(supervisor, libc::SIGSTOP);
    fs::write(house.data().join("cache/go"), "").unwrap();
    // Others come and go meanwhile, so the server has looked at everything several times.
    for number in 0..3 {
        let other = house.submit_line(&format!("other-{number}"), "sleep 0.3");
        house.wait_for(&other, "succeeded");
    }
    // It may have been frozen before it could say that the child runs.
    assert!(["starting", "running"].contains(&house.state(&id).as_str()));
    signal(supervisor, libc::SIGCONT);
    let shown = house.wait_until_over(&id);
    assert_eq!((states(&shown), &shown["runs"][0]["exit_code"]), (vec!["failed"], &Value::from(5)));
    assert_eq!(attempts_that_lived(&house), [1]);
}

fn kill(pid: i32) {
    signal(pid, libc::SIGKILL);
}

fn signal(pid: i32, signal: i32) {
    // SAFETY: plain system call on a process of this test.
    unsafe { libc::kill(pid, signal) };
}

/// A client that wants its way: it starts the server again when it finds it dead, and asks again.
struct Stubborn<'a>(&'a mut House);

impl Stubborn<'_> {
    fn revive(&mut self) {
        self.0.ended();
        assert!(self.0.crashed(), "the server died of something else:\n{}", self.0.server_log());
        self.0.clear_env();
        self.0.start();
    }

    fn start(&mut self) {
        self.0.spawn();
        let card = self.0.data().join("server.json");
        until("the server answers or dies", || (card.exists() && self.0.get("/api/v1/health").is_ok()) || !self.0.is_alive());
        if !self.0.is_alive() {
            self.revive();
        }
    }

    fn ask(&mut self, call: impl Fn() -> Call<'static>) -> Result<Value, (u16, String)> {
        until_some("the server answers", || match self.0.call(call()) {
            Ok(answer) => Some(Ok(serde_json::from_slice(&answer).unwrap_or(Value::Null))),
            Err(ClientError::Refused(status, body)) => Some(Err((status.as_u16(), body.code))),
            Err(ClientError::Away(..) | ClientError::BadUrl(_)) => {
                self.revive();
                None
            }
        })
    }

    fn submit(&mut self, key: &'static str, file: &'static str) -> String {
        let answer = self.ask(|| Call::post("/api/v1/jobs", file).header("idempotency-key", key)).unwrap();
        answer["id"].as_str().unwrap().to_owned()
    }

    fn wait_until_over(&mut self, path: &'static str) -> Value {
        until_some("the job is over", || {
            let shown = self.ask(|| Call::get(path)).unwrap();
            ["succeeded", "failed", "stopped"].contains(&shown["state"].as_str().unwrap()).then_some(shown)
        })
    }
}

const ONCE: &str = "{name: once, roles: {main: {command: 'echo $TRAINMASTER_ATTEMPT >> /cache/history; echo ran'}}}";
const WAITS: &str = "{name: waits, stop_grace: 50ms, roles: {main: {command: 'echo up; sleep 600'}}}";

/// Submits, runs to the end, stops and deletes, whatever becomes of the server on the way.
fn whole_life(house: &mut House) {
    let mut client = Stubborn(house);
    client.start();
    let id = client.submit("first", ONCE);
    let shown = client.wait_until_over("/api/v1/jobs/once");
    assert_eq!((states(&shown), &shown["attempt"]), (vec!["succeeded"], &Value::from(1)), "{shown:#}");

    let second = client.submit("second", WAITS);
    // A stop that was answered twice is one stop, and one that came too late says so.
    let stopped = client.ask(|| Call::post("/api/v1/jobs/waits/stop", ""));
    assert!(stopped.as_ref().is_ok_and(|it| it["id"] == second.as_str()) || stopped == Err((409, "already_over".into())), "{stopped:?}");
    let shown = client.wait_until_over("/api/v1/jobs/waits");
    assert_eq!(shown["state"], "stopped", "{shown:#}");

    for path in ["/api/v1/jobs/once", "/api/v1/jobs/waits"] {
        let deleted = client.ask(|| Call::delete(path));
        assert!(deleted.is_ok() || deleted == Err((404, "no_such_job".into())), "{deleted:?}");
    }
    let runs = client.0.data().join("runs");
    until("its files are gone", || {
        client.ask(|| Call::get("/api/v1/jobs")).unwrap();
        fs::read_dir(&runs).unwrap().next().is_none()
    });
    assert_eq!(client.submit("first", ONCE), id, "a key names its job for ever");
    assert_eq!(client.ask(|| Call::get("/api/v1/jobs")).unwrap()["jobs"].as_array().unwrap().len(), 0);
    assert_eq!(attempts_that_lived(client.0), [1]);
}

#[test]
fn the_server_may_die_at_any_point_of_a_job_s_life() {
    for point in [
        "admin.between-migration-steps",
        "submit.before-tx",
        "submit.after-commit-before-reply",
        "schedule.before-reserve",
        "schedule.after-reserve-commit",
        "start.before-spawn",
        "finish.notified-before-commit",
        "cancel.intent-committed-before-signal",
        "gc.rows-deleted-before-files",
        "gc.files-deleted-before-rows",
    ] {
        let mut house = House::unopened(&[]);
        house.crash_at(point);
        whole_life(&mut house);
        assert!(house.crashed(), "nobody came to {point}");
    }
}

#[test]
fn the_server_may_die_at_every_commit_of_a_job_s_life() {
    for point in ["store.before-commit", "store.after-commit-before-answer"] {
        let mut deaths = 0;
        loop {
            let mut house = House::unopened(&[]);
            house.crash_at(&format!("{point}#{}", deaths + 1));
            whole_life(&mut house);
            if !house.crashed() {
                break;
            }
            deaths += 1;
        }
        assert!(deaths >= 8, "a life has more commits than {deaths}");
    }
}

/// The names a text gives to crash points, each in quotes after `before`.
fn named(folder: &str, before: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let text = fs::read_to_string(&entry).unwrap();
                names.extend(text.split(before).skip(1).filter_map(|rest| rest.split('"').next()).map(str::to_owned));
            }
        }
    }
    names
}

#[test]
fn every_point_in_the_source_is_tried_here() {
    let points = named("src", "crash::point(\"");
    assert!(points.len() >= 15, "{points:?}");
    let tried = named("tests/it", "\"");
    let untried: Vec<&String> = points.difference(&tried).collect();
    assert!(untried.is_empty(), "no test names {untried:?}");
}
