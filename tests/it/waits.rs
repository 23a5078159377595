//! Scripted waits: real situations, each with the sentence it must be told in both languages.
//!
//! The sentences stand in `waits/expected.txt`; `UPDATE_SNAPSHOTS=1` writes them anew, to be read by a person.

use std::{collections::BTreeMap, fs};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::house::{House, until, until_some};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/waits/expected.txt");

/// What was said in each situation, by its name.
#[derive(Default)]
struct Told(BTreeMap<String, String>);

impl Told {
    /// Waits until `explain` has `part` in it, and keeps what it says.
    fn explained(&mut self, house: &House, (situation, job): (&str, &str), part: &str) {
        let ask = |lang: &str| house.get_json(&format!("/api/v1/jobs/{job}/explain?lang={lang}"))["reason"].as_str().unwrap().to_owned();
        let en = until_some(&format!("{situation}: `{part}` is said"), || Some(ask("en")).filter(|said| said.contains(part)));
        self.keep(situation, &en, &ask("zh"));
    }

    fn keep(&mut self, situation: &str, en: &str, zh: &str) {
        assert!(zh.chars().any(|it| ('\u{4e00}'..='\u{9fff}').contains(&it)), "{situation}: {zh}");
        assert!(!has_english_clause(zh), "{situation} is half translated: {zh}");
        self.0.insert(situation.into(), format!("{situation}\n  {en}\n  {zh}\n"));
    }

    /// Every sentence must stand in the file, word for word.
    fn as_expected(&self) {
        let text = fs::read_to_string(EXPECTED).unwrap_or_default();
        let mut known: BTreeMap<String, String> =
            text.lines().collect::<Vec<_>>().chunks(3).map(|lines| (lines[0].to_owned(), lines.join("\n") + "\n")).collect();
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            known.extend(self.0.clone());
            fs::write(EXPECTED, known.values().cloned().collect::<String>()).unwrap();
        }
        for (situation, said) in &self.0 {
            assert_eq!(known.get(situation), Some(said));
        }
    }
}

/// Names of ours stand in Chinese sentences too, but never three words in a row.
fn has_english_clause(zh: &str) -> bool {
    let words: Vec<bool> = zh.split(' ').map(|word| word.len() > 1 && word.chars().all(|it| it.is_ascii_lowercase())).collect();
    words.windows(3).any(|three| three.iter().all(|is_word| *is_word))
}

fn job(name: &str, role: &Value, more: &Value) -> String {
    let mut spec = json!({ "name": name, "roles": { "main": role } });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    if spec["roles"]["main"]["memory"].is_null() {
        spec["roles"]["main"]["memory"] = json!("64MiB");
    }
    if spec["roles"]["main"]["command"].is_null() {
        spec["roles"]["main"]["command"] = json!("sleep 600");
    }
    spec.to_string()
}

fn submit(house: &House, name: &str, role: &Value) -> String {
    house.submit(&job(name, role, &json!({})))
}

fn stop(house: &House, job: &str) {
    let _ = house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), ""));
}

const TWO_NODES: [&str; 8] = ["--nodes", "2", "--node-cpus", "2", "--node-memory", "4GiB", "--device", "A100=1"];

#[test]
fn who_can_never_be_placed_is_told_so() {
    let house = House::with_args(&TWO_NODES);
    let mut told = Told::default();
    for (situation, role) in [
        ("never: more CPUs than any node", json!({ "cpus": 64 })),
        ("never: more memory than any node", json!({ "cpus": 1, "memory": "64GiB" })),
        ("never: devices of a type nobody has", json!({ "cpus": 1, "accelerators": { "H100": 1 } })),
        ("never: a gang larger than all nodes", json!({ "cpus": 1, "tasks": 5 })),
        ("never: more devices than one node has", json!({ "cpus": 1, "accelerators": { "A100": 2 } })),
    ] {
        let name = situation.replace([':', ' '], "-");
        let job = submit(&house, &name, &role);
        told.explained(&house, (situation, &job), "which can never fit");
    }
    told.as_expected();
}

#[test]
fn who_waits_for_room_is_told_what_is_free_and_who_is_before_it() {
    let house = House::with_args(&TWO_NODES);
    let mut told = Told::default();
    let hog = submit(&house, "hog", &json!({ "cpus": 2, "accelerators": { "A100": 1 } }));
    let half = submit(&house, "half", &json!({ "cpus": 1 }));
    house.wait_for(&hog, "running");
    house.wait_for(&half, "running");
    let first = submit(&house, "first", &json!({ "cpus": 2 }));
    told.explained(&house, ("room: next in line", &first), "it is next");
    let second = submit(&house, "second", &json!({ "cpus": 2 }));
    told.explained(&house, ("room: behind one other", &second), "1 job is before it");
    let third = submit(&house, "third", &json!({ "cpus": 2 }));
    told.explained(&house, ("room: behind two others", &third), "2 jobs are before it");
    let small = submit(&house, "small", &json!({ "cpus": 1 }));
    told.explained(&house, ("room: it fits but the first in line could be delayed", &small), "could be delayed by it");
    let urgent = house.submit(&job("urgent", &json!({ "cpus": 2 }), &json!({ "priority": 10 })));
    told.explained(&house, ("room: more important than the others", &urgent), "it is next");
    told.explained(&house, ("room: overtaken by someone more important", &first), "1 job is before it");
    let gang = house.submit(&job("gang", &json!({ "cpus": 2, "tasks": 2 }), &json!({ "priority": 20 })));
    told.explained(&house, ("room: a gang that fits only when all is free", &gang), "needs 2 × (2 CPU");
    let devices =
        house.submit(&job("devices", &json!({ "cpus": 1, "tasks": 2, "accelerators": { "A100": 1 } }), &json!({ "priority": 30 })));
    told.explained(&house, ("room: devices that somebody holds", &devices), "0 of 1 × A100");
    house.call(Call::post("/api/v1/nodes/node-2/down", "")).unwrap();
    told.explained(&house, ("room: a node is down", &devices), "node-2 is closed");
    told.as_expected();
}

#[test]
fn who_waits_behind_a_promise_is_told_of_it() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let mut told = Told::default();
    let limited = house.submit(&job("limited", &json!({ "cpus": 1 }), &json!({ "max_duration": "2h" })));
    house.wait_for(&limited, "running");
    let head = submit(&house, "head", &json!({ "cpus": 2 }));
    told.explained(&house, ("promise: at the latest then", &head), "at the latest when limited@1 reaches its maximum duration");
    let endless = submit(&house, "endless", &json!({ "cpus": 1 }));
    told.explained(&house, ("promise: without an end it could delay", &endless), "as it has no max_duration");
    let long = house.submit(&job("long", &json!({ "cpus": 1 }), &json!({ "max_duration": "9h" })));
    told.explained(&house, ("promise: its end is too far", &long), "reaches too far");
    told.as_expected();
}

#[test]
fn tasks_that_are_no_gang_are_told_what_runs_and_what_waits() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let mut told = Told::default();
    let line = "until [ -e /cache/go-$TRAINMASTER_TASK_INDEX ]; do sleep 0.02; done";
    let waves = house.submit(&job("waves", &json!({ "cpus": 1, "tasks": 5, "command": line }), &json!({ "gang": false })));
    house.wait_for(&waves, "running");
    told.explained(&house, ("waves: two of five run", &waves), "2 of 5 tasks run; the next needs");
    fs::write(house.data().join("cache/go-0"), "").unwrap();
    told.explained(&house, ("waves: one is over", &waves), "2 of 5 tasks run and 1 are over");
    stop(&house, &waves);
    house.wait_for(&waves, "stopped");
    let pausing = json!({ "name": "pausing", "gang": false, "roles": { "main": { "cpus": 1, "memory": "64MiB", "retries": 9, "command": "exit 3" } } });
    let pausing = house.submit(&pausing.to_string());
    let said = until_some("a task pauses", || {
        let shown = house.show(&pausing);
        let reason = shown["reason"].as_str().unwrap();
        reason.contains("waits 4s before attempt 5").then(|| (reason.to_owned(), shown["reason_zh"].as_str().unwrap().to_owned()))
    });
    told.keep("waves: a task pauses before its next try", &without_times(&said.0), &without_times(&said.1));
    told.as_expected();
}

/// How long a process took is not the test's business.
fn without_times(text: &str) -> String {
    let took = |text: &str, before: &str, after: char| match text.split_once(before) {
        Some((head, tail)) => {
            format!("{head}{before}…{}", tail.split_once(after).map_or(String::new(), |(_, rest)| format!("{after}{rest}")))
        }
        None => text.to_owned(),
    };
    took(&took(text, " after ", ';'), "，运行了 ", '；')
}

#[test]
fn who_waits_for_something_else_than_room_is_told_what_it_is() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "4", "--node-memory", "4GiB"]);
    let mut told = Told::default();
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let greedy = submit(&house, "greedy", &json!({ "cpus": 1, "ports": { "http": { "from": port } } }));
    let shown =
        until_some("it waits for the port", || Some(house.show(&greedy)).filter(|it| it["reason"].as_str().unwrap().contains("not free")));
    let of = |it: &Value, field: &str| it[field].as_str().unwrap().replace(&port.to_string(), "PORT");
    told.keep("other: a port that somebody holds", &of(&shown, "reason"), &of(&shown, "reason_zh"));
    let explained = house.get_json(&format!("/api/v1/jobs/{greedy}/explain?lang=zh"));
    assert_eq!(explained["reason"], shown["reason_zh"], "explain says the same");
    stop(&house, &greedy);

    let set_up = house.submit(&job("set-up", &json!({ "cpus": 1 }), &json!({ "setup": "sleep 600" })));
    told.explained(&house, ("other: its setup runs", &set_up), "runs its setup");
    stop(&house, &set_up);

    let roles = json!({ "quick": { "cpus": 0.5, "memory": "64MiB", "command": "true" }, "slow": { "cpus": 0.5, "memory": "64MiB", "command": "true" } });
    let line = "case $TRAINMASTER_ROLE in slow*) until [ -e /cache/ready ]; do sleep 0.02; done;; esac";
    let gang = house.submit(&json!({ "name": "barrier", "setup": line, "roles": roles }).to_string());
    let explained = |lang: &str| house.get_json(&format!("/api/v1/jobs/{gang}/explain?lang={lang}"))["reason"].as_str().unwrap().to_owned();
    until("quick-0 is ready", || explained("en").ends_with("1 of 2 tasks are ready and wait for slow-0"));
    // What comes before is what one of the two said last.
    let (en, zh) = (explained("en"), explained("zh"));
    told.keep("other: the gang is not complete", en.rsplit("; ").next().unwrap(), zh.rsplit('；').next().unwrap());
    let quick = house.show(&gang)["runs"].as_array().unwrap().iter().find(|it| it["task"] == "quick-0").unwrap().clone();
    told.keep("other: a task at the barrier", quick["reason"].as_str().unwrap(), quick["reason_zh"].as_str().unwrap());
    fs::write(house.data().join("cache/ready"), "").unwrap();
    house.wait_for(&gang, "succeeded");

    let dies = house.submit(&job("dies", &json!({ "cpus": 1, "command": "exit 3" }), &json!({ "retries": "always" })));
    let said = until_some("it pauses", || {
        let shown = house.show(&dies);
        shown["reason"].as_str().unwrap().contains("waits 4s before attempt 5").then_some(shown)
    });
    let of = |field: &str| without_times(said[field].as_str().unwrap());
    told.keep("other: a pause between two tries", &of("reason"), &of("reason_zh"));
    stop(&house, &dies);
    told.as_expected();
}

#[test]
fn who_is_about_to_end_is_told_what_that_takes() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "4", "--node-memory", "4GiB"]);
    let mut told = Told::default();
    let stubborn = "trap '' TERM; echo up; while :; do sleep 0.05; done";
    let grace = json!({ "stop_grace": "60s" });
    let slow = house.submit(&job("stubborn", &json!({ "cpus": 1, "command": stubborn }), &grace));
    house.wait_for_output(&slow, "main-0", "up");
    stop(&house, &slow);
    told.explained(&house, ("end: it is being stopped by someone", &slow), "being stopped by");

    let both = json!({ "stop_grace": "60s", "max_duration": "1s" });
    let limited = house.submit(&job("limited", &json!({ "cpus": 1, "command": stubborn }), &both));
    told.explained(&house, ("end: its time is over", &limited), "being stopped by its maximum duration of 1s");

    let worker = json!({ "cpus": 0.5, "memory": "64MiB", "command": "until [ -e /cache/done ]; do sleep 0.02; done" });
    let ps = json!({ "cpus": 0.5, "memory": "64MiB", "command": stubborn });
    let decided = house.submit(&json!({ "name": "decided", "stop_grace": "60s", "roles": { "ps": ps, "worker": worker } }).to_string());
    house.wait_for_output(&decided, "ps-0", "up");
    fs::write(house.data().join("cache/done"), "").unwrap();
    told.explained(&house, ("end: decided while others still run", &decided), "every task that counts has ended");

    let kept = house.submit(&job("kept", &json!({ "cpus": 1, "command": "exit 3" }), &json!({ "keep_failed": "10m" })));
    until("its sandbox is kept", || house.show(&kept)["reason"].as_str().unwrap().contains("its sandbox is kept until"));
    let shown = house.show(&kept);
    let zh = shown["reason_zh"].as_str().unwrap();
    assert!(zh.contains("沙箱保留到") && zh.contains("可用 `nsenter -t"), "{zh}");
    told.as_expected();
}
