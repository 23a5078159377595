//! The page for Prometheus, read by Prometheus's own parser.

use std::{
    io::Write,
    path::PathBuf,
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use trainmaster::client::{Call, Client, ClientError};

use crate::house::{Asking, House, text, until_some};

/// Reads a page as Prometheus does and prints families and samples as JSON.
const READ: &str = "
import json, sys
from prometheus_client import parser
from prometheus_client.openmetrics import parser as openmetrics
text = sys.stdin.read()
families = list((openmetrics if text.endswith('# EOF\\n') else parser).text_string_to_metric_families(text))
assert len({f.name for f in families}) == len(families), 'a family comes twice'
samples = [[s.name, s.labels, s.value] for f in families for s in f.samples]
assert len({(n, tuple(sorted(l.items()))) for n, l, _ in samples}) == len(samples), 'a sample comes twice'
print(json.dumps({'kinds': {f.name: f.type for f in families}, 'samples': samples}))
";

fn parsed(page: &[u8]) -> Value {
    let python = PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cache/trainmaster/tools/prometheus-client-0.26.0/bin/python");
    let mut child = Command::new(&python)
        .args(["-c", READ])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{}: {error}; run scripts/setup.sh tests", python.display()));
    child.stdin.take().unwrap().write_all(page).unwrap();
    let read = child.wait_with_output().unwrap();
    assert!(read.status.success(), "{}\n{}", text(&read.stderr), text(page));
    serde_json::from_slice(&read.stdout).unwrap()
}

/// The value of the one sample with this name and these labels among others.
fn value(page: &Value, name: &str, labels: Value) -> Option<f64> {
    let has = |found: &Value| labels.as_object().unwrap().iter().all(|(name, value)| found[name] == *value);
    let mut found = page["samples"].as_array().unwrap().iter().filter(|it| it[0] == name && has(&it[1]));
    let value = found.next()?[2].as_f64();
    assert!(found.next().is_none(), "{name} {labels} is there more than once");
    value
}

fn running(house: &House) -> String {
    let script = "import os,time\nwhile not os.path.exists('/output/go'): time.sleep(0.01)";
    let role = json!({ "command": ["python3", "-c", script], "memory": "256MiB", "tasks": 2, "cpus": 0.5 });
    let job = house.submit(&json!({ "name": "quo\u{2d}te", "roles": { "worker": role } }).to_string());
    house.wait_for(&job, "running");
    job
}

#[test]
fn everything_is_read_by_prometheus_itself() {
    let house = House::new();
    let job = running(&house);
    let waiting = house.submit(&json!({ "name": "waits", "roles": { "main": { "command": "true", "cpus": 2 } } }).to_string());
    let page = until_some("its tasks are seen", || {
        let page = parsed(&house.get("/metrics").unwrap());
        let seen = |task: &str| value(&page, "trainmaster_task_memory_bytes", json!({ "task": task }));
        (seen("worker-0")? > 0.0 && seen("worker-1")? > 0.0 && value(&page, "trainmaster_node_memory_bytes", json!({}))? > 0.0)
            .then_some(page)
    });
    let at = |name: &str, labels: Value| value(&page, name, labels.clone()).unwrap_or_else(|| panic!("no {name} {labels}"));
    assert_eq!(at("trainmaster_jobs", json!({ "state": "running" })), 1.0);
    assert_eq!((at("trainmaster_queue_length", json!({})), at("trainmaster_jobs", json!({ "state": "failed" }))), (1.0, 0.0));
    assert!(at("trainmaster_queue_oldest_wait_seconds", json!({})) > 0.0);
    let worker = json!({ "id": job, "role": "worker", "task": "worker-1", "node": "node-1", "owner": "admin" });
    assert_eq!(at("trainmaster_task_memory_limit_bytes", worker.clone()), f64::from(256 << 20));
    assert_eq!(page["kinds"]["trainmaster_task_cpu_seconds"], "counter");
    let memory = |what: &str, labels: Value| at(&format!("trainmaster_{what}_memory_bytes"), labels);
    let both = memory("task", json!({ "task": "worker-0" })) + memory("task", json!({ "task": "worker-1" }));
    assert_eq!((memory("role", json!({ "role": "worker" })), memory("job", json!({ "id": job }))), (both, both));
    assert!(at("trainmaster_machine_cpus", json!({})) >= 1.0 && at("trainmaster_node_cpus_free", json!({})) == 1.0);

    // The server itself.
    assert!(at("process_resident_memory_bytes", json!({})) > 1e6 && at("process_open_fds", json!({})) > 5.0);
    let submitted = json!({ "route": "/api/v1/jobs", "method": "POST", "status": "201" });
    assert_eq!(at("trainmaster_http_requests_total", submitted), 2.0);
    let timed = json!({ "route": "/api/v1/jobs", "method": "POST" });
    assert_eq!(at("trainmaster_http_request_duration_seconds_count", timed), 2.0);
    assert!(at("trainmaster_store_commit_duration_seconds_count", json!({})) > 2.0);
    assert!(at("trainmaster_loop_turn_duration_seconds_count", json!({})) > 2.0);
    assert!(at("trainmaster_event_seq_total", json!({})) > 2.0);
    assert_eq!(page["kinds"]["trainmaster_http_request_duration_seconds"], "histogram");

    let open = Call { headers: vec![("accept", "application/openmetrics-text; version=1.0.0".into())], ..Call::get("/metrics") };
    let open = parsed(&house.call(open).unwrap());
    assert_eq!(open["kinds"].as_object().unwrap().len(), page["kinds"].as_object().unwrap().len());

    for task in ["worker-0", "worker-1"] {
        std::fs::write(house.output_dir(&job, task).join("go"), "").unwrap();
    }
    house.wait_for(&waiting, "succeeded");
    let after = parsed(&house.get("/metrics").unwrap());
    assert_eq!(value(&after, "trainmaster_task_memory_bytes", json!({ "id": job })), None, "what is over has no series");
}

fn ask(house: &House, token: &str) -> Result<Vec<u8>, ClientError> {
    Asking::new(Client::new(&house.url(), token).unwrap()).call(Call::get("/metrics"))
}

#[test]
fn only_who_may_reads_the_page() {
    let house = House::new();
    assert!(ask(&house, "tm_nobody").is_err() && ask(&house, "").is_err(), "loopback alone opens nothing");
    assert!(ask(&house, &house.token()).is_ok());

    let mut house = House::unopened(&[]);
    let (config, token) = (house.place().join("server.toml"), house.place().join("scraper"));
    std::fs::write(&token, "tm_scraper\n").unwrap();
    std::fs::write(&config, format!("[prometheus]\ntoken_file = '{}'\n", token.display())).unwrap();
    house.args(&["--config", &config.display().to_string()]);
    house.start();
    assert!(ask(&house, "tm_scraper").is_ok() && ask(&house, "").is_err());
    let elsewhere = Asking::new(Client::new(&house.url(), "tm_scraper").unwrap()).call(Call::get("/api/v1/jobs"));
    assert!(elsewhere.is_err(), "it opens this page and nothing else");

    house.kill();
    std::fs::write(&config, "[prometheus]\nloopback = true\n").unwrap();
    house.start();
    assert!(ask(&house, "").is_ok() && ask(&house, "tm_nobody").is_err());
    assert!(Asking::new(Client::new(&house.url(), "").unwrap()).call(Call::get("/api/v1/usage/now")).is_err());
}

#[test]
fn followers_are_counted_for_as_long_as_they_follow() {
    let house = House::new();
    let job = running(&house);
    let followers = || value(&parsed(&house.get("/metrics").unwrap()), "trainmaster_followers", json!({})).unwrap();
    assert_eq!(followers(), 0.0);
    let mut following = house.cli_in_background(&["logs", "-f", &job]);
    until_some("it follows", || (followers() == 1.0).then_some(()));
    following.kill().unwrap();
    following.wait().unwrap();
    until_some("it is gone", || (followers() == 0.0).then_some(()));
}
