//! Inputs of jobs, from the job file to what the program sees.

use std::{collections::BTreeMap, fs, path::Path, time::Duration};

use model::volume::Volume;
use serde_json::{Value, json};
use trainmaster::client::{Call, ClientError};

use super::{
    faulty::{Fault, Faulty},
    house::{House, processes, text, until},
    stores::{ACCESS_KEY, Origin, S3Server, SECRET_KEY, block_on, volume_at},
};

fn add_volume(house: &House, name: &str, volume: &Volume, with_keys: bool) {
    let mut new = json!({ "name": name, "volume": volume });
    if with_keys {
        new["credentials"] = json!({ "access_key": ACCESS_KEY, "secret_key": SECRET_KEY });
    }
    house.call(Call::post("/api/v1/volumes", new.to_string())).unwrap();
}

/// A directory of the test's own as the volume `data`.
fn with_local_volume(house: &House, files: &[(&str, &str)]) {
    let root = house.place().join("volume");
    for (path, content) in files {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), content).unwrap();
    }
    add_volume(house, "data", &local(&root), false);
}

fn local(root: &Path) -> Volume {
    fs::create_dir_all(root).unwrap();
    Volume::Local { path: root.to_str().unwrap().into() }
}

fn job(name: &str, more: Value, command: Value) -> String {
    let mut job = json!({ "name": name, "roles": { "main": { "cpus": 0.5, "command": command } } });
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job.to_string()
}

/// What a job printed that must have succeeded.
fn printed(house: &House, job: &str) -> String {
    let over = house.wait_until_over(job);
    let log = house.log(job, "main-0");
    assert_eq!(over["state"], "succeeded", "{over:#}\n{log}");
    log
}

fn why_it_failed(house: &House, job: &str) -> String {
    let over = house.wait_until_over(job);
    assert_eq!(over["state"], "failed", "{over:#}");
    over["reason"].as_str().unwrap().to_owned()
}

#[test]
fn a_program_is_told_where_its_channels_are_as_it_likes_to_be_told() {
    let house = House::new();
    with_local_volume(&house, &[("mnist/a", "one\n")]);
    add_volume(&house, "results", &local(&house.place().join("results")), false);
    let channels = json!({
        "inputs": { "data": { "from": "data:mnist", "argument": "--data_url", "env": "DATA_DIR" } },
        "outputs": { "train": { "to": "results:x", "argument": "--train_url", "env": "TRAIN_DIR" } },
    });
    let line = "cat $DATA_DIR/a; ls -d $TRAIN_DIR; ls /input; echo $TRAINMASTER_INPUT_DATA $TRAINMASTER_OUTPUT_TRAIN; echo got";
    let seen = "one\n/output/train\ndata\n/input/data /output/train\ngot --data_url=/input/data --train_url=/output/train\n";
    let by_line = house.submit(&job("line", channels.clone(), json!(line)));
    let by_words = house.submit(&job("words", channels, json!(["sh", "-c", format!("{line} \"$@\""), "sh"])));
    assert_eq!(printed(&house, &by_line), seen);
    assert_eq!(printed(&house, &by_words), seen);
    let shown = text(&house.cli(&["show", "line", "--env", "main-0"]).stdout);
    for part in [
        "DATA_DIR=/input/data\n",
        "TRAINMASTER_OUTPUT_TRAIN=/output/train\n",
        "# arguments: --data_url=/input/data --train_url=/output/train\n",
    ] {
        assert!(shown.contains(part), "{shown}");
    }
}

#[test]
fn a_local_volume_is_seen_as_it_is_and_cannot_be_changed() {
    let house = House::new();
    with_local_volume(&house, &[("sets/a.txt", "one\n"), ("one.bin", "two\n")]);
    let whole = house.submit(&job(
        "whole",
        json!({ "input": "data:" }),
        json!("cd /input; cat sets/a.txt one.bin; touch x 2>&1 | grep -o Read-only"),
    ));
    assert_eq!(printed(&house, &whole), "one\ntwo\nRead-only\n");
    let one = house.submit(&job(
        "one",
        json!({ "input": "data:one.bin" }),
        json!("cd /input; ls; cat one.bin; echo x 2>&1 >>one.bin | grep -o Read-only"),
    ));
    assert_eq!(printed(&house, &one), "one.bin\ntwo\nRead-only\n", "a file is found by its name");
    let inputs = json!({ "inputs": { "a": "data:sets/a.txt", "b": house.place().join("volume/one.bin"), "c": "data:sets" } });
    let channels = house.submit(&job("channels", inputs, json!("cd /input; ls -R; touch a/x 2>&1 | grep -o Read-only")));
    assert_eq!(printed(&house, &channels), ".:\na\nb\nc\n\n./a:\na.txt\n\n./b:\none.bin\n\n./c:\na.txt\nRead-only\n");
    assert!(!house.data().join("inputs").exists(), "nothing was copied");
}

#[test]
fn a_volume_that_is_not_there_is_refused_with_those_that_are() {
    let house = House::new();
    with_local_volume(&house, &[("x", "")]);
    let text = job("a", json!({ "inputs": { "set": "dta:mnist" } }), json!("true"));
    for path in ["/api/v1/jobs", "/api/v1/jobs?dry_run=true"] {
        let Err(ClientError::Refused(status, body)) = house.call(Call::post(path, text.clone())) else { panic!("it is taken") };
        assert_eq!((status.as_u16(), body.code.as_str()), (422, "bad_spec"));
        let problem = &body.problems[0];
        assert_eq!((problem.path.as_str(), problem.message.as_str()), ("inputs.set", "there is no volume `dta`"));
        assert_eq!(problem.hint.as_deref(), Some("did you mean `data`? The volumes are `data`"));
    }
}

#[test]
fn nobody_is_shown_what_is_the_server_s_own() {
    let house = House::new();
    let data = fs::canonicalize(house.data()).unwrap();
    let link = house.place().join("link");
    std::os::unix::fs::symlink(&data, &link).unwrap();
    for place in [data.clone(), data.join("runs"), data.parent().unwrap().to_owned(), link, "/".into()] {
        for key in ["input", "code"] {
            let place = if key == "code" { json!({ "at": place }) } else { json!(place) };
            let job = house.submit(&job("curious", json!({ key: place }), json!("cat /input/admin-token /code/admin-token")));
            assert!(why_it_failed(&house, &job).contains("the server keeps its own files there"));
        }
    }
}

#[test]
fn what_is_wrong_with_a_place_is_told() {
    let house = House::new();
    with_local_volume(&house, &[("x", "")]);
    let failed = |input: &str| why_it_failed(&house, &house.submit(&job("a", json!({ "input": input }), json!("true"))));
    assert!(failed("data:none").contains("data:none is not there"));
    assert!(failed("/no/such/place").contains("`/no/such/place` is not there"));
    let code = house.submit(&job("b", json!({ "code": "data:x" }), json!("true")));
    assert!(why_it_failed(&house, &code).contains("data:x is a file, and code is a directory"));
}

/// Fits a line to points that lie on one.
const TRAIN: &str = "
import glob, sys
points = [tuple(map(float, line.split(','))) for path in sorted(glob.glob(sys.argv[1].split('=')[1] + '/*/*.csv')) for line in open(path)]
a = b = 0.0
for step in range(2000):
    da = sum((a * x + b - y) * x for x, y in points) / len(points)
    db = sum((a * x + b - y) for x, y in points) / len(points)
    a, b = a - 0.1 * da, b - 0.1 * db
print(f'{len(points)} points: {a:.2f} {b:.2f}')
";

fn points() -> BTreeMap<String, Vec<u8>> {
    let lines =
        |part: i32| (0..10).map(|at| f64::from(part * 10 + at) / 10.0).map(|x| format!("{x},{}\n", 3.0 * x + 1.0)).collect::<String>();
    let file = |part| (format!("points/part-{part}/x.csv"), lines(part).into_bytes());
    (0..3).map(file).chain([("code/train.py".to_owned(), TRAIN.as_bytes().to_vec())]).collect()
}

fn bucket_of_points() -> S3Server {
    let server = S3Server::start(Origin::Minio);
    let store = server.store();
    block_on(async {
        for (path, bytes) in points() {
            store.put_bytes(&path, bytes.into()).await.unwrap();
        }
    });
    server
}

fn training(name: &str) -> String {
    let from = json!({ "code": "data:code", "inputs": { "data": { "from": "data:points", "argument": "--data_url" } } });
    job(name, from, json!(["python3", "/code/train.py"]))
}

#[test]
fn a_model_is_trained_on_a_bucket_s_data_and_the_second_time_nothing_is_downloaded() {
    let server = bucket_of_points();
    let (house, line) = (House::new(), Faulty::before(&server.endpoint));
    add_volume(&house, "data", &volume_at(&line.endpoint), true);
    let first = house.submit(&training("first"));
    assert_eq!(printed(&house, &first), "30 points: 3.00 1.00\n");
    line.plan(|first, _| if first.contains("list-type") { Fault::None } else { Fault::Status(400) });
    let second = house.submit(&training("second"));
    assert_eq!(printed(&house, &second), "30 points: 3.00 1.00\n");
    assert_eq!(line.faults(), 0);
    assert!(text(&house.cli(&["volumes", "remove", "data"]).stderr).is_empty(), "nobody needs it any more");
}

#[test]
fn a_job_that_waits_for_its_data_says_so_and_a_dead_porter_is_sent_again() {
    let server = bucket_of_points();
    let line = Faulty::before(&server.endpoint);
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    house.crash_at("input.piece-written#2");
    house.start();
    add_volume(&house, "data", &volume_at(&line.endpoint), true);
    line.plan(|first, _| if first.contains("list-type") { Fault::None } else { Fault::Slow(Duration::from_secs(3)) });
    let job = house.submit(&training("patient"));
    until("it says why it has not begun", || {
        house.show(&job)["reason"].as_str().is_some_and(|it| it.contains("main-0 fetches data:") && it.contains(" of "))
    });
    assert_eq!(printed(&house, &job), "30 points: 3.00 1.00\n");
    assert!(house.crashed() && house.show(&job)["attempt"] == 2);
}

#[test]
fn nobody_dead_stands_beside_a_task_whose_input_was_fetched() {
    let server = bucket_of_points();
    let house = House::new();
    add_volume(&house, "data", &server.volume(), true);
    let job = house.submit(&job("long", json!({ "input": "data:points" }), json!(["sleep", "1000"])));
    house.wait_for(&job, "running");
    let supervisor = house.supervisors()[0];
    let is_child = |pid: &i32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')').next().unwrap().split_whitespace().nth(1) == Some(&supervisor.to_string())
    };
    until("there is nobody but the first process of the task", || processes().iter().filter(|pid| is_child(pid)).count() == 1);
    house.cli(&["stop", &job]);
    house.wait_for(&job, "stopped");
}
