//! What tasks write to `/output` comes out: while they run, and all of it before their job is over.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use trainmaster::client::Call;

use super::{
    house::{House, holds_for, text, until, until_some},
    stores::{ORIGINS, S3Server, block_on, keys},
};
use futures_util::TryStreamExt;

/// A volume that is a directory beside the house's data.
fn local_volume(house: &House) -> PathBuf {
    let directory = house.place().join("results");
    fs::create_dir_all(&directory).unwrap();
    add_volume(house, json!({ "name": "results", "volume": { "kind": "local", "path": directory } }));
    directory
}

pub fn add_volume(house: &House, volume: Value) {
    house.call(Call::post("/api/v1/volumes", volume.to_string())).unwrap_or_else(|error| panic!("{volume}: {error:?}"));
}

pub fn bucket(house: &House, volume: &model::volume::Volume) {
    add_volume(house, json!({ "name": "results", "volume": volume, "credentials": keys() }));
}

fn job(line: &str) -> Value {
    json!({ "name": "digits", "output": "results", "stop_grace": "100ms", "roles": { "main": { "command": line } } })
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn reason(shown: &Value) -> &str {
    shown["reason"].as_str().unwrap()
}

fn manifest(text: &str) -> Vec<String> {
    let manifest: Value = serde_json::from_str(text).unwrap();
    let mut paths: Vec<String> =
        manifest["files"].as_array().unwrap().iter().map(|it| format!("{} {}", it["path"].as_str().unwrap(), it["size"])).collect();
    paths.sort();
    paths
}

#[test]
fn a_file_is_outside_within_seconds_while_the_job_runs_and_all_of_it_before_it_has_succeeded() {
    let house = House::new();
    let results = local_volume(&house);
    let id = house.submit(
        &job("mkdir /output/run; echo first > /output/run/early; until [ -e /cache/go ]; do sleep 0.05; done; echo last > /output/late")
            .to_string(),
    );
    until("the first file is outside", || read(&results.join("digits/1/run/early")) == "first\n");
    assert_eq!(house.state(&id), "running");
    fs::write(house.data().join("cache/go"), "").unwrap();
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}");
    assert_eq!(read(&results.join("digits/1/late")), "last\n");
    assert_eq!(manifest(&read(&results.join("digits/1/.trainmaster/manifest-main-0.json"))), ["late 5", "run/early 6"]);
    assert_eq!((&shown["runs"][0]["sync"]["kind"], &shown["runs"][0]["sync"]["files"]), (&json!("done"), &json!(2)));
    until("no supervisor is left", || house.supervisors().is_empty());
}

#[test]
fn a_job_in_a_blink_has_its_output_saved_too() {
    let house = House::new();
    let results = local_volume(&house);
    let id = house.submit(&job("echo x > /output/x").to_string());
    assert_eq!(house.wait_until_over(&id)["state"], "succeeded");
    assert_eq!(read(&results.join("digits/1/x")), "x\n");
}

#[test]
fn a_job_that_writes_nothing_leaves_nothing_outside() {
    let house = House::new();
    let results = local_volume(&house);
    let id = house.submit(&job("true").to_string());
    assert_eq!(house.wait_until_over(&id)["state"], "succeeded");
    assert_eq!(fs::read_dir(&results).unwrap().count(), 0);
}

#[test]
fn files_go_to_buckets_of_two_origins_and_nothing_half_is_left() {
    for origin in ORIGINS {
        let (house, server) = (House::new(), S3Server::start(origin));
        bucket(&house, &server.volume());
        let line = "mkdir -p '/output/a b'; echo small > '/output/a b/检查点.txt'; \
                    head -c 20000000 /dev/urandom > /output/large; sha256sum < /output/large";
        let id = house.submit(&job(line).to_string());
        let shown = house.wait_until_over(&id);
        assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}", journal(&house, &id));
        let entries: Vec<_> = block_on(server.store().list("digits/1").try_collect()).unwrap();
        let mut names: Vec<String> = entries.iter().map(|it| format!("{} {}", it.path, it.size)).collect();
        names.sort();
        assert_eq!(names[1..], ["digits/1/a b/检查点.txt 6", "digits/1/large 20000000"]);
        assert!(names[0].starts_with("digits/1/.trainmaster/manifest-main-0.json "));
        let sum = house.log(&id, "main-0");
        assert_eq!(format!("{}  -\n", sha256(&read_object(&server, "digits/1/large"))), sum);
    }
}

pub fn journal(house: &House, job: &str) -> String {
    read(&house.run_dir(job, "main-0", 1).join("supervisor.log"))
}

pub fn read_object(server: &S3Server, path: &str) -> Vec<u8> {
    block_on(async {
        let (_, pieces) = server.store().read(path, 0).await.unwrap();
        pieces
            .try_fold(Vec::new(), async |mut all, piece| {
                all.extend_from_slice(&piece);
                Ok(all)
            })
            .await
            .unwrap()
    })
}

pub fn sha256(bytes: &[u8]) -> String {
    use sha2::Digest;
    sha2::Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn workers_never_write_to_each_others_paths() {
    let house = House::new();
    let results = local_volume(&house);
    let file = json!({ "name": "two", "output": "results:shared", "roles": {
        "worker": { "tasks": 2, "cpus": 0.5, "command": "echo $TRAINMASTER_ROLE-$TRAINMASTER_TASK_INDEX > /output/who; mkdir -p /output/worker-1; echo stolen > /output/worker-1/who" } } });
    let id = house.submit(&file.to_string());
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}");
    assert_eq!((read(&results.join("shared/who")), read(&results.join("shared/worker-1/who"))), ("worker-0\n".into(), "worker-1\n".into()));
    assert!(reason(&shown).contains("worker-1/who: `worker-1` is where the task worker-1 writes"), "{}", reason(&shown));
    assert_eq!(read(&results.join("shared/worker-1/worker-1/who")), "stolen\n", "below its own name it may have any");
}

#[test]
fn a_checkpoint_that_is_written_slowly_is_never_outside_half() {
    let house = House::new();
    let results = local_volume(&house);
    // Each half rests for longer than a file must to be taken for finished.
    let line =
        "exec 3> /output/model; printf 'one ' >&3; sleep 4; printf 'two' >&3; exec 3>&-; echo written; sleep 5; echo other > /output/model";
    let id = house.submit(&job(line).to_string());
    let model = results.join("digits/1/model");
    let mut seen = std::collections::BTreeSet::new();
    until("the job is over", || {
        seen.insert(read(&model));
        house.state(&id) == "succeeded"
    });
    seen.insert(read(&model));
    let seen: Vec<&str> = seen.iter().map(String::as_str).collect();
    assert_eq!(seen, ["", "one two", "other\n"], "{}", journal(&house, &id));
}

#[test]
fn a_retry_finds_its_output_as_it_left_it() {
    let house = House::new();
    let results = local_volume(&house);
    let line = "if [ -e /output/checkpoint ]; then cat /output/checkpoint; echo two >> /output/checkpoint; else echo one > /output/checkpoint; exit 3; fi";
    let file = json!({ "name": "digits", "output": "results", "retries": 1, "roles": { "main": { "command": line } } });
    let id = house.submit(&file.to_string());
    let shown = house.wait_until_over(&id);
    assert_eq!((shown["state"].as_str().unwrap(), house.log(&id, "main-0").as_str()), ("succeeded", "one\n"));
    assert_eq!(read(&results.join("digits/1/checkpoint")), "one\ntwo\n");
    house.cli(&["delete", "digits"]);
    until("nothing of it is left", || !house.data().join("runs").join(&id).exists());
}

#[test]
fn the_log_is_saved_as_well() {
    let house = House::new();
    let results = local_volume(&house);
    let file = json!({ "name": "digits", "logs": "results:logs", "roles": { "main": { "command": "echo hello; echo there >&2" } } });
    let id = house.submit(&file.to_string());
    assert_eq!(house.wait_until_over(&id)["state"], "succeeded");
    let log = read(&results.join("logs/digits/1/main-0.1.log"));
    assert!(log.contains("hello\n") && log.contains("there\n"), "{log}");
}

#[test]
fn the_log_of_an_attempt_that_failed_while_its_place_was_away_is_saved_by_the_next() {
    let house = House::new();
    let results = local_volume(&house);
    let hidden = house.place().join("hidden");
    fs::rename(&results, &hidden).unwrap();
    let line = "echo try $TRAINMASTER_ATTEMPT; [ -e /output/tried ] || { touch /output/tried; exit 3; }; until [ -e /cache/go ]; do sleep 0.05; done";
    let file = json!({ "name": "digits", "logs": "results:logs", "retries": 1, "roles": { "main": { "command": line } } });
    let id = house.submit(&file.to_string());
    until("it is tried again", || house.log(&id, "main-0").contains("try 2"));
    fs::rename(&hidden, &results).unwrap();
    fs::write(house.data().join("cache/go"), "").unwrap();
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}");
    for attempt in [1, 2] {
        assert_eq!(read(&results.join(format!("logs/digits/1/main-0.{attempt}.log"))), format!("try {attempt}\n"));
    }
}

#[test]
fn a_place_that_is_away_holds_the_job_up_with_a_reason_and_nothing_is_lost() {
    let house = House::new();
    let results = local_volume(&house);
    let hidden = house.place().join("hidden");
    fs::rename(&results, &hidden).unwrap();
    let id = house.submit(&job("echo precious > /output/model").to_string());
    house.wait_for(&id, "finishing");
    let shown = until_some("it says why", || Some(house.show(&id)).filter(|it| reason(it).contains("tries again in")));
    assert!(reason(&shown).contains("/output of main-0 is still being copied"), "{}", reason(&shown));
    holds_for(Duration::from_millis(500), "the job is not over", || house.state(&id) == "finishing");
    assert_eq!(shown["runs"][0]["state"], "succeeded", "what it held is free: {shown:#}");
    fs::rename(&hidden, &results).unwrap();
    assert_eq!(
        text(&house.cli(&["sync", "digits"]).stdout),
        "digits@1: its output is being saved; `trainmaster show digits@1` tells how it goes\n"
    );
    assert_eq!(house.wait_until_over(&id)["state"], "succeeded");
    assert_eq!(read(&results.join("digits/1/model")), "precious\n");
}

#[test]
fn what_is_given_up_fails_the_job_keeps_the_files_and_can_be_saved_later() {
    let house = House::new();
    let results = local_volume(&house);
    let hidden = house.place().join("hidden");
    fs::rename(&results, &hidden).unwrap();
    let id = house.submit(&job("echo precious > /output/model").to_string());
    house.wait_for(&id, "finishing");
    assert!(house.cli(&["sync", "digits", "--give-up"]).status.success());
    let shown = house.wait_for(&id, "failed");
    assert!(reason(&shown).starts_with("its tasks succeeded, but /output of main-0 is not saved: given up by admin"), "{}", reason(&shown));
    assert_eq!(read(&house.output_dir(&id, "main-0").join("model")), "precious\n");
    let explained = text(&house.cli(&["explain", "digits"]).stdout);
    assert!(explained.contains("what it wrote is kept here; `trainmaster sync digits@1` saves it"), "{explained}");
    let refused = house.cli(&["delete", "digits"]);
    assert!(text(&refused.stderr).contains("has output that is not saved"), "{}", text(&refused.stderr));
    fs::rename(&hidden, &results).unwrap();
    assert!(house.cli(&["sync", "digits"]).status.success());
    until("it is saved", || read(&results.join("digits/1/model")) == "precious\n");
    until("the job says so", || reason(&house.show(&id)).ends_with("/output of main-0 was saved afterwards"));
    assert!(text(&house.cli(&["sync", "digits"]).stderr).contains("has no output that is still to be saved"));
    assert!(house.cli(&["delete", "digits"]).status.success());
}

#[test]
fn a_job_that_is_stopped_has_its_output_saved() {
    let house = House::new();
    let results = local_volume(&house);
    let id = house.submit(&job("trap 'echo saved > /output/last; exit 0' TERM; echo up; while :; do sleep 0.05; done").to_string());
    house.wait_for_output(&id, "main-0", "up");
    house.call(Call::post(&format!("/api/v1/jobs/{id}/stop"), "")).unwrap();
    house.wait_for(&id, "stopped");
    assert_eq!(read(&results.join("digits/1/last")), "saved\n");
}
