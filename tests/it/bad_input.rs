//! Wrong job files, calls and flags: each has its clear error, and nothing is left behind.

use std::process::Output;

use hyper::Method;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, text};

/// Job file, then words its refusal must hold.
const FILES: &[(&str, &[&str])] = &[
    ("", &["the file is empty"]),
    ("just words", &["must be a map"]),
    ("[1, 2]", &["must be a map"]),
    ("name: a", &["roles", "is missing"]),
    ("roles: {}", &["name", "is missing"]),
    ("{name: a, roles: {}}", &["roles", "has no role"]),
    ("{name: '', roles: {m: {command: x}}}", &["name", "is empty"]),
    ("{name: 'a b', roles: {m: {command: x}}}", &["name", "has a space"]),
    ("{name: ../../etc, roles: {m: {command: x}}}", &["name", "has `/`"]),
    ("{name: a, name: b, roles: {m: {command: x}}}", &["`name`", "a second time"]),
    ("{name: a, roles: {'w w': {command: x}}}", &["roles", "has a space"]),
    ("{name: a, roles: {m: {}}}", &["roles.m.command", "is missing"]),
    ("{name: a, roles: {m: {command: ''}}}", &["roles.m.command", "empty"]),
    ("{name: a, roles: {m: {command: []}}}", &["roles.m.command", "empty"]),
    ("{name: a, roles: {m: {command: x, cpus: 0}}}", &["roles.m.cpus", "0"]),
    ("{name: a, roles: {m: {command: x, cpus: -1}}}", &["roles.m.cpus", "-1"]),
    ("{name: a, roles: {m: {command: x, cpus: .nan}}}", &["roles.m.cpus"]),
    ("{name: a, roles: {m: {command: x, memory: lots}}}", &["roles.m.memory", "lots"]),
    ("{name: a, roles: {m: {command: x, memory: 1KiB}}}", &["roles.m.memory", "4MiB"]),
    ("{name: a, roles: {m: {command: x, tasks: 0}}}", &["roles.m.tasks", "0"]),
    ("{name: a, roles: {m: {command: x, tasks: 1000000}}}", &["roles.m.tasks", "1000000"]),
    ("{name: a, roles: {m: {command: x, tasks: two}}}", &["roles.m.tasks", "two"]),
    ("{name: a, roles: {m: {command: x, comand: y}}}", &["unknown key `comand`", "did you mean `command`"]),
    ("{name: a, retries: -1, roles: {m: {command: x}}}", &["retries", "-1"]),
    ("{name: a, max_duration: soon, roles: {m: {command: x}}}", &["max_duration", "soon"]),
    ("{name: a, max_duration: 0s, roles: {m: {command: x}}}", &["max_duration"]),
    ("{name: a, env: {'A B': c}, roles: {m: {command: x}}}", &["env", "A B"]),
    ("{name: a, env: {TRAINMASTER_JOB: c}, roles: {m: {command: x}}}", &["env", "TRAINMASTER_"]),
    ("{name: a, roles: {m: {command: x, ports: {'h t': 1}}}}", &["ports", "h t"]),
    ("{name: a, roles: {m: {command: x, completion: {min_failed: 0}}}}", &["min_failed", "0"]),
    ("{name: a, roles: {m: {command: x, completion: {min_failed: null}}}}", &["min_failed", "never"]),
    ("{name: a, roles: {m: {command: x, completion: {min_succeeded: 5}}}}", &["min_succeeded", "5"]),
    ("{name: a, code: relative/dir, roles: {m: {command: x}}}", &["code", "whole path"]),
    ("{name: a, input: mnist, roles: {m: {command: x}}}", &["input", "`mnist@latest`", "`mnist:`"]),
    ("{name: a, input: mnist@new, roles: {m: {command: x}}}", &["input", "`new`", "`./mnist@3`"]),
    ("{name: a, inputs: {d: {from: mnist@0}}, roles: {m: {command: x}}}", &["inputs.d.from", "a number from 1"]),
    ("{name: a, inputs: {d: {from: mnist@3}}, roles: {m: {command: x}}}", &["inputs.d", "no dataset `mnist`", "datasets add mnist"]),
    ("{name: a, output: mnist@3, roles: {m: {command: x}}}", &["output", "`mnist@3`", "`results:digits`"]),
    ("{name: a, tags: ['a,b'], roles: {m: {command: x}}}", &["tags"]),
    ("{name: a, algorithm: mlp}", &["algorithm", "says no version", "mnist-mlp@latest"]),
    ("{name: a, algorithm: mlp@1, code: /x}", &["algorithm", "there is no algorithm `mlp`", "code", "is the algorithm's to say"]),
    ("a: &x 1\nb: *x", &["alias"]),
    ("{name: a, roles: {m: {command: x}}", &["line"]),
    ("name: a\n\troles: x", &["tab"]),
];

#[test]
fn a_wrong_job_file_is_refused_with_its_place_and_leaves_nothing() {
    let house = House::new();
    let mut unclear = Vec::new();
    for (file, wanted) in FILES {
        let said = match house.call(Call::post("/api/v1/jobs", *file)) {
            Err(ClientError::Refused(status, body)) if status == 422 && body.code == "bad_spec" => body
                .problems
                .iter()
                .map(|it| format!("line {}: {}: {} {}\n", it.line, it.path, it.message, it.hint.as_deref().unwrap_or("")))
                .collect(),
            other => format!("{other:?}"),
        };
        if !wanted.iter().all(|words| said.contains(words)) {
            unclear.push(format!("{file}\n  wanted {wanted:?}\n  said {said}"));
        }
    }
    assert!(unclear.is_empty(), "{}", unclear.join("\n"));
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 0);
}

#[test]
fn a_wrong_call_is_refused_with_its_code() {
    let house = House::new();
    house.submit("{name: hog, roles: {main: {cpus: 2, command: 'sleep 600'}}}");
    let over = house.submit("{name: over, roles: {main: {cpus: 0.1, command: 'true'}}}");
    house.wait_for("hog", "running");
    let stop = |job: &str| house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), ""));
    stop(&over).unwrap();
    house.wait_until_over(&over);
    let sets = house.place().join("sets");
    std::fs::create_dir_all(sets.join("empty")).unwrap();
    std::fs::write(sets.join("x"), "").unwrap();
    let volume = serde_json::json!({ "name": "sets", "volume": { "kind": "local", "path": sets } });
    house.call(Call::post("/api/v1/volumes", volume.to_string())).unwrap();
    house.call(Call::post("/api/v1/datasets", r#"{"name": "set", "at": "sets:x"}"#)).unwrap();
    house.call(Call::post("/api/v1/algorithms", "{name: mlp, image: x, command: x}")).unwrap();
    let long_key = "k".repeat(300);
    let put = |path| Call { method: Method::PUT, ..Call::get(path) };
    let calls: Vec<(Call<'_>, u16, &str)> = vec![
        (Call::get("/api/v1/jobs/none"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/none@1"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/hog@2"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/hog@x"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/job-00000000000000000000000000000001"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/..%2f..%2fetc"), 404, "no_such_job"),
        (Call::get("/api/v1/jobs/hog/tasks/worker-0/log"), 404, "no_such_task"),
        (Call::get("/api/v1/jobs/hog/tasks/main-1/log"), 404, "no_such_task"),
        (Call::get("/api/v1/jobs/hog/tasks/..%2f..%2fx-0/log"), 404, "no_such_task"),
        (Call::get("/api/v1/jobs/hog/tasks/main-0/log?tail=many"), 400, "bad_value"),
        (Call::get("/api/v1/jobs/hog/tasks/main-0/log?stream=both"), 400, "bad_value"),
        (Call::get("/api/v1/jobs/hog/follow?task=nobody"), 404, "no_such_task"),
        (Call::get("/api/v1/jobs?limit=0"), 400, "bad_value"),
        (Call::get("/api/v1/jobs?limit=501"), 400, "bad_value"),
        (Call::get("/api/v1/jobs?limit=x"), 400, "bad_value"),
        (Call::get("/api/v1/jobs?state=happy"), 400, "bad_value"),
        (Call::get("/api/v1/jobs?cursor=x"), 400, "bad_value"),
        (Call::get("/api/v1/nowhere"), 404, "no_such_route"),
        (put("/api/v1/jobs"), 405, "wrong_method"),
        (Call::delete("/api/v1/jobs/hog"), 409, "not_over"),
        (Call::delete("/api/v1/jobs/none"), 404, "no_such_job"),
        (Call::post("/api/v1/jobs/over/stop", ""), 409, "already_over"),
        (Call::post("/api/v1/jobs/none/stop", ""), 404, "no_such_job"),
        (Call::post("/api/v1/jobs/hog/duration", "{\"max_duration\": \"soon\"}"), 400, "bad_value"),
        (Call::post("/api/v1/jobs/hog/duration", "{\"other\": 1}"), 400, "bad_value"),
        (Call::post("/api/v1/jobs/hog/duration", "not json"), 400, "bad_value"),
        (Call::post("/api/v1/jobs/hog/description", "{\"text\": 1}"), 400, "bad_value"),
        (Call::post("/api/v1/jobs/hog/description", "{\"description\": \"\\u0007\"}"), 422, "bad_spec"),
        (Call::post("/api/v1/jobs/none/description", "{\"description\": \"\"}"), 404, "no_such_job"),
        (Call::get("/api/v1/datasets/none"), 404, "no_such_dataset"),
        (Call::get("/api/v1/datasets/..%2f..%2fetc"), 404, "no_such_dataset"),
        (Call::get("/api/v1/datasets/none/versions/1"), 404, "no_such_dataset"),
        (Call::get("/api/v1/datasets/set/versions/2"), 404, "no_such_dataset_version"),
        (Call::get("/api/v1/datasets/set/versions/01"), 400, "bad_value"),
        (Call::delete("/api/v1/datasets/none"), 404, "no_such_dataset"),
        (Call::delete("/api/v1/datasets/set/versions/2"), 404, "no_such_dataset_version"),
        (Call::delete("/api/v1/datasets/set/versions/latest"), 400, "bad_value"),
        (Call::delete("/api/v1/volumes/sets"), 409, "volume_has_dataset"),
        (Call::post("/api/v1/datasets", "not json"), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets:x", "version": 3}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a@3", "at": "sets:x"}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets"}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets:../x"}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets:empty"}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets:x", "note": "\u0007"}"#), 400, "bad_value"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "sets:none"}"#), 404, "no_such_file"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "/no/such/place"}"#), 404, "no_such_file"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "none:x"}"#), 404, "no_such_volume"),
        (Call::post("/api/v1/datasets", r#"{"name": "a", "at": "file:///etc"}"#), 400, "bad_value"),
        (Call::post("/api/v1/nodes/none/down", ""), 404, "no_such_node"),
        (Call::get("/api/v1/algorithms/none"), 404, "no_such_algorithm"),
        (Call::get("/api/v1/algorithms/none/versions/1"), 404, "no_such_algorithm"),
        (Call::delete("/api/v1/algorithms/none"), 404, "no_such_algorithm"),
        (Call::get("/api/v1/algorithms/mlp/versions/2"), 404, "no_such_algorithm_version"),
        (Call::delete("/api/v1/algorithms/mlp/versions/2"), 404, "no_such_algorithm_version"),
        (Call::delete("/api/v1/algorithms/mlp/versions/latest"), 400, "bad_value"),
        (Call::get("/api/v1/algorithms/mlp/versions/newest"), 400, "bad_value"),
        (Call::post("/api/v1/algorithms", "name: mlp"), 422, "bad_algorithm"),
        (Call::post("/api/v1/algorithms", "{name: mlp, code: {upload: x}, command: x}"), 422, "bad_algorithm"),
        (Call::post("/api/v1/algorithms", vec![0xff, 0xfe]), 400, "bad_value"),
        (Call::post("/api/v1/algorithms", vec![b'#'; 2 << 20]), 413, "too_large"),
        (Call::post("/api/v1/jobs", vec![0xff, 0xfe]), 400, "bad_value"),
        (Call::post("/api/v1/jobs", vec![b'#'; 2 << 20]), 413, "too_large"),
        (Call::post("/api/v1/jobs", vec![b'#'; 9 << 20]), 413, "too_large"),
        (Call::post("/api/v1/jobs", "{}").header("idempotency-key", ""), 400, "bad_value"),
        (Call::post("/api/v1/jobs", "{}").header("idempotency-key", long_key), 400, "bad_value"),
    ];
    for (call, status, code) in calls {
        let what = format!("{} {}", call.method, call.path);
        match house.call(call) {
            Err(ClientError::Refused(got, body)) => {
                assert_eq!((got.as_u16(), body.code.as_str()), (status, code), "{what}: {}", body.message);
                assert!(!body.message.is_empty());
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_wrong_flag_or_file_ends_the_command_with_code_2_and_a_reason() {
    let house = House::new();
    std::fs::write(house.place().join("bad.yaml"), "name: a\nroles: {m: {comand: x}}\n").unwrap();
    for (arguments, wanted) in [
        (&["fly"][..], "unrecognized subcommand"),
        (&["run"], "required"),
        (&["run", "--cpus", "many", "--", "true"], "many"),
        (&["run", "--memory", "lots", "--", "true"], "lots"),
        (&["run", "--env", "NOVALUE", "--", "true"], "NOVALUE"),
        (&["run", "--code", "/no/such/place", "--", "true"], "/no/such/place"),
        (&["run", "--name", "a b", "--", "true"], "has a space"),
        (&["algorithms", "add", "missing.yaml"], "missing.yaml"),
        (&["algorithms", "add", "bad.yaml"], "bad.yaml:2:"),
        (&["algorithms", "show", "nobody"], "no algorithm `nobody`"),
        (&["algorithms", "remove", "nobody@x"], "neither a number from 1 nor `latest`"),
        (&["submit", "missing.yaml"], "missing.yaml"),
        (&["submit", "bad.yaml"], "bad.yaml:2:"),
        (&["submit", "."], "."),
        (&["show", "nobody"], "no job `nobody`"),
        (&["logs", "nobody"], "no job `nobody`"),
        (&["logs", "nobody", "-f", "--head", "5"], "'--follow' cannot be used with '--head <LINES>'"),
        (&["logs", "nobody", "--tail-bytes", "5", "-f"], "'--tail-bytes <BYTES>' cannot be used with '--follow'"),
        (&["logs", "nobody", "--download", "a.tar.gz", "--no-platform"], "--no-platform cannot be used with --download a.tar.gz"),
        (&["logs", "nobody", "--download", "a", "--raw"], "'--raw'"),
        (&["stop", "nobody"], "no job `nobody`"),
        (&["delete", "nobody"], "no job `nobody`"),
        (&["explain", "nobody"], "no job `nobody`"),
        (&["wait", "nobody"], "no job `nobody`"),
        (&["rerun", "nobody"], "no job `nobody`"),
        (&["datasets", "show", "nobody"], "no dataset `nobody`"),
        (&["datasets", "show", "mnist@0"], "a number from 1"),
        (&["datasets", "remove", "a b"], "has a space"),
        (&["datasets", "add", "mnist"], "PLACE"),
        (&["datasets", "add", "mnist", "nowhere"], "at = `nowhere`"),
        (&["list", "--state", "happy"], "happy"),
        (&["nodes", "down", "nobody"], "nobody"),
        (&["completions", "noshell"], "noshell"),
        (&["up", "--listen", "0.0.0.0:0"], "--insecure-http"),
        (&["up", "--listen", "nowhere"], "nowhere"),
        (&["up", "--device", "A100"], "TYPE=COUNT"),
        (&["up", "--config", "missing.toml"], "missing.toml"),
    ] {
        let out: Output = house.cli(arguments);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{arguments:?}: {said}");
        assert!(said.contains(wanted), "{arguments:?} should say {wanted:?}: {said}");
        assert!(said.contains("error:"), "{arguments:?}: {said}");
    }
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 0);
}

#[test]
fn without_a_server_the_command_ends_with_code_4_and_says_what_to_do() {
    let house = House::unopened(&[]);
    let out = house.cli(&["list"]);
    assert_eq!(out.status.code(), Some(4));
    assert!(text(&out.stderr).contains("trainmaster up"), "{}", text(&out.stderr));
}
