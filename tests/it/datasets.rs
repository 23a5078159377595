//! Datasets, from the place that becomes a version to the task that reads it, and what happens when it is not what it was.

use std::{fs, path::PathBuf, thread};

use serde_json::{Value, json};
use trainmaster::client::{Call, Client, ClientError};

use super::{
    compare::{ask, house_with_people, write},
    house::{House, text},
    stores::{ACCESS_KEY, Origin, S3Server, SECRET_KEY, block_on},
    web_files::WebFiles,
};

/// A directory of the test's own as the volume `data`.
fn with_volume(house: &House, files: &[(&str, &str)]) -> PathBuf {
    let root = house.place().join("volume");
    write(&root, files);
    let added = house.cli(&["volumes", "add", "data", "--local", root.to_str().unwrap()]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    root
}

fn job(name: &str, more: Value, command: &str) -> String {
    let mut job = json!({ "name": name, "roles": { "main": { "cpus": 0.1, "command": command } } });
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job.to_string()
}

fn done(house: &House, args: &[&str]) -> String {
    let output = house.cli(args);
    assert!(output.status.success(), "{}{}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

fn refused(house: &House, args: &[&str]) -> String {
    let output = house.cli(args);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
    text(&output.stderr)
}

fn make(house: &House, body: Value) -> Result<Value, ClientError> {
    house.call(Call::post("/api/v1/datasets", body.to_string())).map(|answer| serde_json::from_slice(&answer).unwrap())
}

fn printed(house: &House, job: &str) -> String {
    let over = house.wait_until_over(job);
    let log = house.log(job, "main-0");
    assert_eq!(over["state"], "succeeded", "{over:#}\n{log}");
    log
}

fn spec_of(house: &House, job: &str) -> String {
    text(&house.get(&format!("/api/v1/jobs/{job}/spec")).unwrap())
}

#[test]
fn latest_is_a_number_from_the_submission_on_and_a_rerun_reads_the_same() {
    let house = House::new();
    with_volume(&house, &[("mnist/v1/a", "one\n"), ("mnist/v2/a", "two\n"), ("mnist/v2/b", "")]);
    assert_eq!(done(&house, &["datasets", "add", "mnist", "data:mnist/v1", "--note", "raw"]), "mnist@1 is data:mnist/v1: 1 file with 4B\n");
    let again = house.cli(&["datasets", "add", "mnist", "data:mnist/v1", "--note", "clean"]);
    assert_eq!(text(&again.stderr), "note: mnist@1 is just that already; it keeps its own note, and yours is not kept\n");
    fs::write(
        house.place().join("job.yaml"),
        "name: read\ninputs: {set: mnist@latest}\nroles: {main: {cpus: 0.1, command: cat /input/set/a}}\n",
    )
    .unwrap();
    let dry = done(&house, &["submit", "job.yaml", "--dry-run"]);
    assert!(dry.contains("mnist@1 (data:mnist/v1)"), "{dry}");
    done(&house, &["submit", "job.yaml"]);
    assert_eq!(printed(&house, "read@1"), "one\n");
    assert!(spec_of(&house, "read@1").contains("mnist@1"), "{}", spec_of(&house, "read@1"));

    assert_eq!(done(&house, &["datasets", "add", "mnist", "data:mnist/v2"]), "mnist@2 is data:mnist/v2: 2 files with 4B\n");
    done(&house, &["rerun", "read@1"]);
    assert_eq!(printed(&house, "read@2"), "one\n", "the same again, though there is a newer one");
    done(&house, &["submit", "job.yaml"]);
    assert_eq!(printed(&house, "read@3"), "two\n");

    assert_eq!(done(&house, &["files", "cat", "mnist@1:a"]), "one\n");
    let listed = done(&house, &["files", "ls", "-R", "mnist@latest:", "--json"]);
    assert!(listed.lines().count() == 2 && listed.contains(r#""path":"b""#), "{listed}");
    done(&house, &["files", "cp", "mnist@2:", "out"]);
    assert_eq!(fs::read_to_string(house.place().join("out/a")).unwrap(), "two\n");
    assert!(refused(&house, &["files", "rm", "mnist@2:a"]).contains("can only be read"));
    assert!(refused(&house, &["files", "ls", "mnist@7:"]).contains("has no version 7"));

    let made_of = done(&house, &["show", "read@3", "--provenance"]);
    assert!(made_of.contains("/input/set from mnist@2 (data:mnist/v2): 2 files, 4B"), "{made_of}");
    let lineage = done(&house, &["lineage", "read@3"]);
    assert!(lineage.contains("/input/set: mnist@2 (data:mnist/v2)"), "{lineage}");
    let diff = done(&house, &["diff", "read@1", "read@3"]);
    assert!(diff.contains("mnist@1 (data:mnist/v1)") && diff.contains("mnist@2 (data:mnist/v2)"), "{diff}");
    let one = done(&house, &["datasets", "show", "mnist@1"]);
    assert!(one.contains("read@2 read@1") && !one.contains("read@3") && one.contains("raw"), "{one}");
    let all = done(&house, &["datasets", "show", "mnist"]);
    assert!(all.find("mnist@2").unwrap() < all.find("mnist@1").unwrap(), "{all}");
    let original = done(&house, &["show", "read@1", "--original"]);
    assert!(original.contains("mnist@latest"), "the file as it was handed over: {original}");
}

#[test]
fn data_that_is_not_what_it_was_fails_the_job_before_anything_runs_and_is_not_tried_again() {
    let house = House::new();
    let root = with_volume(&house, &[("mnist/a", "one"), ("mnist/b", "two")]);
    done(&house, &["datasets", "add", "mnist", "data:mnist"]);
    fs::write(root.join("mnist/c"), "three").unwrap();
    let id = house.submit(&job("read", json!({ "input": "mnist@1", "retries": 3 }), "touch /output/ran"));
    let over = house.wait_until_over(&id);
    let reason = over["reason"].as_str().unwrap();
    let said = "mnist@1 is not what it was when it was made: then 2 files with 6B, now 3 files with 11B; \
                make it a version of its own: trainmaster datasets add mnist data:mnist";
    assert!(over["state"] == "failed" && reason.contains(said), "{over:#}");
    assert!(!house.output_dir(&id, "main-0").join("ran").exists());
    assert_eq!(done(&house, &["datasets", "add", "mnist", "data:mnist"]), "mnist@2 is data:mnist: 3 files with 11B\n");
    printed(&house, &house.submit(&job("read", json!({ "input": "mnist@2" }), "ls /input/c")));

    fs::rename(root.join("mnist"), root.join("gone")).unwrap();
    let over = house.wait_until_over(&house.submit(&job("read", json!({ "input": "mnist@2" }), "true")));
    assert!(over["reason"].as_str().unwrap().contains("mnist@2: data:mnist is not there"), "{over:#}");
}

#[test]
fn a_dataset_in_a_bucket_is_fetched_unpacked_and_held_to_what_it_was() {
    for origin in [Origin::Minio, Origin::Versity] {
        let server = S3Server::start(origin);
        let house = House::new();
        let volume =
            json!({ "name": "data", "volume": server.volume(), "credentials": { "access_key": ACCESS_KEY, "secret_key": SECRET_KEY } });
        house.call(Call::post("/api/v1/volumes", volume.to_string())).unwrap();
        let put = |path: &str, bytes: Vec<u8>| block_on(server.store().put_bytes(path, bytes.into())).unwrap();
        put("mnist/train/a", b"one\n".to_vec());
        put("mnist/b", b"two\n".to_vec());
        put("mnist-other", b"no part of it".to_vec());
        put("set.tar", tar_of("x", b"packed\n"));
        let made = make(&house, json!({ "name": "mnist", "at": "data:mnist" })).unwrap();
        assert_eq!((&made["files"], &made["bytes"]), (&json!(2), &json!(8)), "{made:#}");
        let file = make(&house, json!({ "name": "packed", "at": "data:set.tar" })).unwrap();
        assert_eq!(file["files"], 1, "{file:#}");
        let inputs = json!({ "inputs": { "a": "mnist@latest", "b": { "from": "packed@1", "unpack": true } } });
        let first = house.submit(&job("read", inputs.clone(), "cat /input/a/train/a /input/a/b /input/b/x"));
        assert_eq!(printed(&house, &first), "one\ntwo\npacked\n");

        put("mnist/b", b"TWO\n".to_vec());
        let over = house.wait_until_over(&house.submit(&job("read", inputs, "true")));
        let reason = over["reason"].as_str().unwrap();
        assert!(reason.contains("mnist@1 is not what it was when it was made: still 2 files with 8B, but with other content"), "{over:#}");
    }
}

#[test]
fn a_file_of_a_web_server_is_a_dataset_and_what_opens_it_is_told_to_nobody() {
    let (house, site) = (House::new(), WebFiles::start());
    site.put("mnist.bin", "one", b"one\n");
    let made = make(&house, json!({ "name": "mnist", "at": site.url("mnist.bin?sign=canary") })).unwrap();
    assert_eq!((&made["at"], &made["files"], &made["bytes"]), (&json!(site.url("mnist.bin")), &json!(1), &json!(4)));
    let id = house.submit(&job("read", json!({ "input": "mnist@1" }), "cat /input/mnist.bin"));
    assert_eq!(printed(&house, &id), "one\n");
    for path in ["plan", "spec", "provenance", "lineage", "events"] {
        let told = text(&house.get(&format!("/api/v1/jobs/{id}/{path}")).unwrap());
        assert!(!told.contains("canary"), "{path}: {told}");
    }
    site.put("mnist.bin", "two", b"two\n");
    let over = house.wait_until_over(&house.submit(&job("read", json!({ "input": "mnist@1" }), "true")));
    let reason = over["reason"].as_str().unwrap();
    assert!(reason.contains("still 1 file with 4B, but with other content") && !reason.contains("canary"), "{over:#}");
    let explained = done(&house, &["explain", "read", "--lang", "zh"]);
    assert!(explained.contains("mnist@1 的内容与做成这个版本时不一样"), "{explained}");
    make(&house, json!({ "name": "mnist", "at": site.url("mnist.bin?sign=canary") })).unwrap();
    let no_archive = json!({ "input": { "from": "mnist@latest", "unpack": true } });
    let over = house.wait_until_over(&house.submit(&job("unpack", no_archive, "true")));
    let reason = over["reason"].as_str().unwrap();
    assert!(reason.contains("mnist@2") && reason.contains("cannot be unpacked") && !reason.contains("canary"), "{over:#}");
}

fn tar_of(name: &str, content: &[u8]) -> Vec<u8> {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join(name), content).unwrap();
    let packed = std::process::Command::new("tar").arg("-C").arg(home.path()).args(["-cf", "-", name]).output().unwrap();
    assert!(packed.status.success());
    packed.stdout
}

#[test]
fn the_same_again_is_no_new_version_and_many_at_once_have_numbers_of_their_own() {
    let house = House::new();
    let sets: Vec<(String, &str)> = (0..8).map(|set| (format!("s{set}/a"), "x")).collect();
    with_volume(&house, &sets.iter().map(|(path, content)| (path.as_str(), *content)).collect::<Vec<_>>());
    let first = make(&house, json!({ "name": "mnist", "at": "data:s0", "description": "digits" })).unwrap();
    assert_eq!(make(&house, json!({ "name": "mnist", "at": "data:s0/" })).unwrap(), first, "safe to repeat");
    let add = |name: &'static str, set: usize| {
        let asking = house.asking();
        thread::spawn(move || {
            let body = json!({ "name": name, "at": format!("data:s{set}") }).to_string();
            let answer = asking.call(Call::post("/api/v1/datasets", body)).unwrap();
            serde_json::from_slice::<Value>(&answer).unwrap()["version"].as_u64().unwrap()
        })
    };
    let adding: Vec<_> = (1..8).map(|set| add("mnist", set)).chain((0..4).map(|_| add("faces", 0))).collect();
    let mut numbers: Vec<u64> = adding.into_iter().map(|it| it.join().unwrap()).collect();
    numbers[..7].sort_unstable();
    assert_eq!(numbers, [2, 3, 4, 5, 6, 7, 8, 1, 1, 1, 1], "others are others, and the same is the same");
    let shown = house.get_json("/api/v1/datasets/mnist");
    assert_eq!((&shown["versions"], &shown["description"], &shown["latest"]["version"]), (&json!(8), &json!("digits"), &json!(8)));
}

#[test]
fn what_was_forgotten_is_refused_with_what_there_is_and_jobs_that_named_it_go_on() {
    let house = House::new();
    with_volume(&house, &[("a/x", "1\n"), ("b/x", "2\n")]);
    done(&house, &["datasets", "add", "mnist", "data:a"]);
    done(&house, &["datasets", "add", "mnist", "data:b"]);
    let running = house.submit(&job(
        "reads",
        json!({ "input": "mnist@1" }),
        "echo here; while ! test -e /output/go; do sleep 0.05; done; cat /input/x",
    ));
    house.wait_for_output(&running, "main-0", "here");
    let said = refused(&house, &["volumes", "remove", "data"]);
    assert!(said.contains("volume `data` is used by reads@1"), "{said}");
    done(&house, &["datasets", "remove", "mnist@1"]);
    let submitted = |file: &str| {
        fs::write(house.place().join("job.yaml"), format!("name: a\ninput:\n  from: {file}\nroles: {{main: {{command: 'true'}}}}\n"))
            .unwrap();
        refused(&house, &["submit", "job.yaml"])
    };
    let said = submitted("mnist@1");
    assert!(said.contains("job.yaml:2:1") || said.contains("job.yaml:3:"), "{said}");
    assert!(said.contains("the dataset `mnist` has no version 1") && said.contains("the versions are `mnist@2`"), "{said}");
    let said = submitted("mnits@1");
    assert!(said.contains("there is no dataset `mnits`") && said.contains("did you mean `mnist`"), "{said}");
    assert!(refused(&house, &["rerun", "reads@1"]).contains("has no version 1"));
    fs::write(house.output_dir(&running, "main-0").join("go"), "").unwrap();
    assert_eq!(printed(&house, &running), "here\n1\n");

    let said = refused(&house, &["volumes", "remove", "data"]);
    assert!(said.contains("there are datasets in volume `data`: mnist") && said.contains("datasets remove mnist`"), "{said}");
    done(&house, &["datasets", "remove", "mnist"]);
    assert!(refused(&house, &["datasets", "show", "mnist"]).contains("there is no dataset `mnist`"));
    assert!(done(&house, &["datasets", "add", "mnist", "data:b"]).starts_with("mnist@3 "), "a number is never used again");
    let said = done(&house, &["datasets", "rm", "mnist@latest"]);
    assert_eq!(said, "mnist@3 is forgotten; the data stays, and jobs that read it go on\n");
    assert!(refused(&house, &["datasets", "show", "mnist@latest"]).contains("the dataset `mnist` has no version latest"));
    done(&house, &["volumes", "remove", "data"]);
}

#[test]
fn a_dataset_is_its_owner_s_and_opens_nobody_s_volume() {
    let house = house_with_people();
    with_volume(&house, &[("a/x", "1")]);
    let site = WebFiles::start();
    site.put(".trainmaster-index", "", b"1\tset/x\n");
    let hers = json!({ "name": "hers", "volume": { "kind": "http", "url": site.address } });
    ask(&house, "ann", Call::post("/api/v1/volumes", hers.to_string())).unwrap();
    let add =
        |user: &str, name: &str, at: &str| ask(&house, user, Call::post("/api/v1/datasets", json!({ "name": name, "at": at }).to_string()));
    assert!(add("bob", "his", "hers:x").unwrap_err().contains("there is no volume `hers`"));
    assert!(add("bob", "his", "/etc").unwrap_err().contains("administrators alone"));
    let own = house.data().display().to_string();
    assert!(make(&house, json!({ "name": "own", "at": own })).unwrap_err().to_string().contains("apart from the server's own data"));
    add("ann", "mnist", "data:a").unwrap();
    assert!(add("bob", "mnist", "data:a").unwrap_err().contains("the dataset `mnist` is somebody else's"));
    let submit = |user: &str, input: &str| ask(&house, user, Call::post("/api/v1/jobs", job("a", json!({ "input": input }), "true")));
    for call in
        [Call::get("/api/v1/datasets/mnist"), Call::delete("/api/v1/datasets/mnist"), Call::get("/api/v1/datasets/mnist/versions/1")]
    {
        assert_eq!(ask(&house, "bob", call).unwrap_err(), "there is no dataset `mnist`");
    }
    assert_eq!(ask(&house, "bob", Call::get("/api/v1/datasets")).unwrap(), "[]");
    assert!(submit("bob", "mnist@1").is_err());
    submit("ann", "mnist@1").unwrap();

    // An administrator's is there for everyone, and the volume is not for that.
    site.put("set/x", "1", b"x");
    make(&house, json!({ "name": "hidden", "at": "hers:set/x" })).unwrap();
    for path in ["/api/v1/jobs", "/api/v1/jobs?dry_run=true"] {
        let body = job("a", json!({ "inputs": { "set": "hidden@1" } }), "true");
        let client = Client::new(&house.url(), "bob").unwrap();
        let Err(ClientError::Refused(_, said)) = block_on(client.call(Call::post(path, body))) else { panic!("{path} was taken") };
        let problem = format!("{}: {}", said.problems[0].path, said.problems[0].message);
        assert_eq!(problem, "inputs.set: hidden@1 is at hers:set/x, and you have no volume `hers`");
    }
    let files = |user: &str, at: &str| ask(&house, user, Call::get(&format!("/api/v1/files?recursive=true&at={at}")));
    assert_eq!(files("bob", "hidden@1:").unwrap_err(), "there is no volume `hers`");
    assert!(files("ann", "hidden@1:").unwrap().contains(r#""path":"x""#));
    let hers: Value = serde_json::from_str(&submit("ann", "hidden@1").unwrap()).unwrap();
    printed(&house, hers["id"].as_str().unwrap());
    let place = house.place().join("private");
    write(&place, &[("x", "1")]);
    make(&house, json!({ "name": "open", "at": place })).unwrap();
    submit("bob", "open@1").unwrap();
    assert_eq!(ask(&house, "bob", Call::delete("/api/v1/datasets/open")).unwrap_err(), "this token may not do that");
    assert!(files("bob", "open@1:").unwrap_err().contains("only administrators open"));
    let jobs = |user: &str| ask(&house, user, Call::get("/api/v1/datasets/open/versions/latest")).unwrap();
    assert!(jobs("bob").contains("\"jobs\":[{") && jobs("ann").contains("\"jobs\":[]"), "nobody learns of another's job");
}
