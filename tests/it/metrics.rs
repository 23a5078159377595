//! Numbers that tasks write: found, kept over every kill, shown to those who may see them.

use serde_json::Value;
use trainmaster::{
    client::{Call, Client},
    store::tokens,
};

use crate::{
    house::{House, text, until, until_some},
    training::Hall,
};

pub mod boards;
mod real;

fn everything_was_read(house: &House) {
    until("everything was read", || std::fs::read_dir(house.data().join("reading")).unwrap().next().is_none());
}

fn points(house: &House, job: &str, asked: &str) -> Value {
    house.get_json(&format!("/api/v1/jobs/{job}/metrics/points?{asked}"))
}

/// Step and value of every point of the first curve.
fn curve(answer: &Value) -> Vec<(i64, f64)> {
    let points = answer["curves"][0]["points"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    points.iter().map(|it| (it["step"].as_i64().unwrap(), it["value"].as_f64().unwrap_or(f64::NAN))).collect()
}

fn job(name: &str, line: &str, more: Value) -> String {
    let mut job = serde_json::json!({ "name": name, "stop_grace": "100ms", "roles": { "main": { "command": line } } });
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job.to_string()
}

const PRINTED: &str = "printf 'Step: 1,  Epoch: 1,  Batch: 1 of 2,  Cost: 2.5,  AvgTime: 6.79ms\\nStep: 2,  Epoch: 1,  Batch: 2 of 2,  Cost: nan,  AvgTime: 7ms\\n\
                       Test-Accuracy: 0.89\\nTotal Time: 3.50s\\nFinal Cost: 1.25'; mkdir -p /output/run; \
                       for i in 1 2 3; do echo \"{\\\"step\\\": $i, \\\"lr\\\": 0.$i}\"; done > /output/run/metrics.jsonl";

#[test]
fn what_a_task_prints_and_writes_becomes_curves() {
    let house = House::new();
    let id = house.submit(&job("curves", PRINTED, serde_json::json!({})));
    house.wait_for(&id, "succeeded");
    everything_was_read(&house);
    let found = house.get_json(&format!("/api/v1/jobs/{id}/metrics"));
    let mut seen: Vec<String> = found["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| format!("{} {}/{} {}", it["source"], it["group"], it["name"], it["points"]).replace('"', ""))
        .collect();
    seen.sort();
    let expected =
        ["file run/lr 3", "output /AvgTime 2", "output /Cost 2", "output /Final Cost 1", "output /Test-Accuracy 1", "output /Total Time 1"];
    assert_eq!(seen, expected);
    let cost = found["series"].as_array().unwrap().iter().find(|it| it["name"] == "Cost").unwrap();
    assert_eq!((&cost["last"], &cost["least"]["value"], cost["not_finite"].as_u64()), (&Value::from("NaN"), &Value::from(2.5), Some(1)));
    assert_eq!(curve(&points(&house, "curves", "name=lr")), [(1, 0.1), (2, 0.2), (3, 0.3)]);
    let two = points(&house, "curves", "name=lr,Cost&x=time");
    assert_eq!(two["curves"].as_array().unwrap().len(), 2);
    let csv = text(&house.get(&format!("/api/v1/jobs/{id}/metrics/csv?name=lr")).unwrap());
    assert!(
        csv.starts_with("task,attempt,source,group,name,step,at_ms,value\nmain-0,1,file,run,lr,1,") && csv.lines().count() == 4,
        "{csv}"
    );
    let drawn = house.cli(&["metrics", "curves"]);
    let drawn = text(&drawn.stdout);
    assert!(drawn.contains("Cost") && drawn.contains("Test-Accuracy") && drawn.contains('┤') && drawn.contains('!'), "{drawn}");
    let printed = house.cli(&["metrics", "curves", "--csv", "--name", "lr"]);
    assert_eq!(text(&printed.stdout), csv);
}

#[test]
fn rules_of_the_job_file_count_and_a_bad_one_is_refused_where_it_stands() {
    let house = House::new();
    let text = "name: bad\nroles: {main: {command: 'true'}}\nmetrics:\n  rules: ['loss (?P<loss']\n";
    let refused = house.call(Call::post("/api/v1/jobs", text.to_owned())).unwrap_err().to_string();
    assert!(refused.contains("problem"), "{refused}");
    let file = house.place().join("bad.yaml");
    std::fs::write(&file, text).unwrap();
    let told = crate::house::text(&house.cli(&["submit", file.to_str().unwrap()]).stderr);
    assert!(told.contains("bad.yaml:4:") && told.contains("not a regular expression"), "{told}");
    let rules = serde_json::json!({ "metrics": { "rules": ["at (?P<step>\\d+) err=(?P<err>\\S+)"], "files": ["history.csv"] } });
    let line =
        "echo at 5 err=0.5; echo loss: 3; printf 'epoch,loss\\n1,9\\n' > /output/history.csv; cp /output/history.csv /output/metrics.csv";
    let ruled = house.submit(&job("ruled", line, rules));
    let silent = house.submit(&job("silent", line, serde_json::json!({ "metrics": { "off": true } })));
    house.wait_for(&ruled, "succeeded");
    house.wait_for(&silent, "succeeded");
    everything_was_read(&house);
    let names = |job: &str| {
        house.get_json(&format!("/api/v1/jobs/{job}/metrics"))["series"]
            .as_array()
            .unwrap()
            .iter()
            .map(|it| it["name"].to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!((names(&ruled), names(&silent)), (vec!["\"err\"".into(), "\"loss\"".into()], vec![]));
    assert_eq!(curve(&points(&house, &ruled, "name=err")), [(5, 0.5)]);
}

/// Prints and writes point after point, as many as there is time for.
const STEADY: &str = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo \"step: $i loss: 0.$i\"; echo \"{\\\"step\\\": $i, \\\"lr\\\": $i}\" >> /output/metrics.jsonl; \
                      [ $((i % 100)) = 0 ] && sleep 0.1; done; true";

fn every_point_is_there_once(house: &House, id: &str) {
    let everything: Vec<i64> = (1..=3000).collect();
    for asked in ["name=loss&buckets=4000", "name=lr&buckets=4000"] {
        let steps: Vec<i64> = curve(&points(house, id, asked)).into_iter().map(|it| it.0).collect();
        assert_eq!(steps, everything, "{asked}");
    }
}

#[test]
fn a_server_that_is_killed_again_and_again_loses_no_point_and_has_none_twice() {
    let mut house = House::new();
    let id = house.submit(&job("steady", STEADY, serde_json::json!({})));
    for number in 1..=4_u64 {
        let grown = |house: &House| house.get_json(&format!("/api/v1/jobs/{id}/metrics"))["series"][0]["points"].as_u64().unwrap_or(0);
        until("some more points are there", || grown(&house) >= number * 300);
        house.restart();
    }
    house.wait_for(&id, "succeeded");
    everything_was_read(&house);
    every_point_is_there_once(&house, &id);
}

#[test]
fn a_server_that_dies_before_or_after_it_wrote_points_down_goes_on_where_it_was() {
    for (point, time) in [("metrics.before-commit", 2), ("metrics.before-unmark", 1)] {
        let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
        house.crash_at(&format!("{point}#{time}"));
        house.start();
        let id = house.submit(&job("steady", STEADY, serde_json::json!({})));
        house.ended();
        assert!(house.crashed(), "nobody came to {point}");
        house.start();
        house.wait_for(&id, "succeeded");
        everything_was_read(&house);
        every_point_is_there_once(&house, &id);
    }
}

#[test]
fn an_attempt_that_goes_on_from_a_checkpoint_replaces_what_the_last_one_wrote_after_it() {
    let house = House::new();
    let line = "log() { echo \"{\\\"step\\\": $1, \\\"loss\\\": $2}\" >> /output/metrics.jsonl; }; \
                if [ $TRAINMASTER_ATTEMPT = 1 ]; then for i in 1 2 3 4 5; do log $i 1; done; exit 1; fi; for i in 4 5 6; do log $i 2; done";
    let id = house.submit(&job("resumed", line, serde_json::json!({ "retries": 1 })));
    house.wait_for(&id, "succeeded");
    everything_was_read(&house);
    let joined = points(&house, &id, "name=loss");
    let attempts: Vec<(u64, usize)> = joined["curves"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (it["attempt"].as_u64().unwrap(), it["points"].as_array().unwrap().len()))
        .collect();
    assert_eq!(attempts, [(1, 3), (2, 3)], "{joined:#}");
    assert_eq!(curve(&points(&house, &id, "name=loss&attempt=1")).len(), 5);
}

#[test]
fn a_follower_hears_of_every_point_and_of_the_end() {
    let house = House::new();
    let id = house.submit(&job("followed", STEADY, serde_json::json!({})));
    let stream = text(&house.get(&format!("/api/v1/jobs/{id}/metrics/follow?name=lr&buckets=10")).unwrap());
    let mut seen = 0;
    for event in stream.split("\n\n").filter(|it| it.contains("event: points")) {
        let data = event.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
        for news in serde_json::from_str::<Vec<Value>>(data).unwrap() {
            let buckets = news["buckets"].as_array().into_iter().flatten().map(|it| it["count"].as_u64().unwrap()).sum::<u64>();
            assert!(news["buckets"].as_array().is_none_or(|it| it.len() <= 10));
            seen += buckets + news["points"].as_array().map_or(0, |it| it.len() as u64);
        }
    }
    assert_eq!(seen, 3000);
    assert!(stream.trim_end().ends_with("data: {}") && stream.contains("event: end"), "{:.300}", stream);
}

#[test]
fn curves_are_seen_by_their_owner_and_by_nobody_else() {
    let mut house = House::new();
    house.kill();
    for user in ["ann", "bob"] {
        let store = trainmaster::store::Store::open(&house.data()).unwrap();
        let hash = trainmaster::api::token_hash(user);
        let add = move |sql: &trainmaster::store::Sql<'_>| tokens::add(sql, &hash, user, tokens::Role::User, "test", 1, None);
        block_on(store.write(add)).unwrap();
    }
    house.start();
    let ask = |user: &str, call: Call<'_>| {
        let client = Client::new(&house.url(), user).unwrap();
        block_on(client.call(call)).map(|bytes| text(&bytes)).map_err(|error| error.to_string())
    };
    let answer = ask("ann", Call::post("/api/v1/jobs", job("hers", "echo loss: 1", serde_json::json!({})))).unwrap();
    let id = serde_json::from_str::<Value>(&answer).unwrap()["id"].as_str().unwrap().to_owned();
    house.wait_for(&id, "succeeded");
    everything_was_read(&house);
    for route in ["metrics", "metrics/points", "metrics/csv", "metrics/follow"] {
        let path = format!("/api/v1/jobs/{id}/{route}");
        assert!(ask("ann", Call::get(&path)).unwrap().contains("loss"), "{route}");
        assert!(ask("bob", Call::get(&path)).unwrap_err().contains("there is no job"), "{route}");
    }
}

#[test]
fn the_numbers_of_a_job_go_with_it() {
    let house = House::new();
    let id = house.submit(&job("gone", "echo loss: 1", serde_json::json!({})));
    house.wait_for(&id, "succeeded");
    let book = house.data().join("runs").join(&id).join("main-0.metrics");
    until("there is a book", || book.join("book.db").exists());
    everything_was_read(&house);
    house.call(Call::delete(&format!("/api/v1/jobs/{id}"))).unwrap();
    until("it is gone", || !book.exists() && !book.parent().unwrap().exists());
}

#[test]
fn a_hostile_task_gets_no_further_than_its_own_curves() {
    let house = House::new();
    let line = "ln -s /etc/passwd /output/metrics.csv; mkfifo /output/metrics.jsonl; mkdir -p /output/d; \
                head -c 3000000 /dev/zero > /output/d/metrics.jsonl; head -c 100000 /dev/urandom > /output/d/events.out.tfevents.1; \
                i=0; while [ $i -lt 5000 ]; do i=$((i+1)); echo \"loss_$i: 1\"; done; head -c 200000 /dev/zero | tr '\\0' x; echo; echo loss: 7";
    let id = house.submit(&job("hostile", line, serde_json::json!({})));
    house.wait_for(&id, "succeeded");
    everything_was_read(&house);
    let found = until_some("it answers", || house.get(&format!("/api/v1/jobs/{id}/metrics")).ok());
    let found: Value = serde_json::from_slice(&found).unwrap();
    assert_eq!(found["series"].as_array().unwrap().len(), 4000);
    let notes = found["notes"].to_string();
    assert!(notes.contains("more than 4000 series") && notes.contains("damaged at byte 0"), "{notes}");
    assert!(house.get("/api/v1/health").is_ok());
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}
