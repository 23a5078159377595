//! Secrets that people keep with the server: set, listed, named by jobs, and sealed wherever they lie.

use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    process::{Command, Output, Stdio},
};

use serde_json::{Value, json};
use trainmaster::client::{Call, Client, ClientError};

use crate::house::{House, binary, text, until};

/// The command line with something on its standard input.
pub fn cli_with_input(house: &House, args: &[&str], input: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env("TRAINMASTER_DATA", house.data()).env_remove("TRAINMASTER_URL").current_dir(house.place());
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn set(house: &House, name: &str, value: &str) {
    let out = cli_with_input(house, &["secrets", "set", name], value);
    assert!(out.status.success(), "{}", text(&out.stderr));
}

/// A job of one task, with these secrets and variables.
fn job(name: &str, command: &str, secrets: Value, env: Value) -> String {
    json!({ "name": name, "secrets": secrets, "roles": { "main": { "command": command, "env": env } } }).to_string()
}

fn refusal(answer: Result<Vec<u8>, ClientError>) -> (u16, String) {
    match answer {
        Err(ClientError::Refused(status, body)) => (status.as_u16(), body.code),
        other => panic!("it should have been refused: {other:?}"),
    }
}

#[test]
fn a_kept_secret_is_in_the_variable_and_the_file_that_the_job_names_and_is_never_shown() {
    let house = House::new();
    set(&house, "wandb", "k3pt\n");
    fs::write(house.place().join("key.pem"), "BEGIN\nEND\n").unwrap();
    assert!(house.cli(&["secrets", "set", "pem", "--file", "key.pem"]).status.success());
    let listed = house.cli(&["secrets", "list", "--json"]);
    assert!(!text(&listed.stdout).contains("k3pt") && text(&listed.stdout).contains(r#""name": "wandb""#), "{}", text(&listed.stdout));
    let command = r#"echo "$KEY $KEY_AGAIN"; cat /secrets/pem; stat -c %a /secrets /secrets/pem; echo $TRAINMASTER_SECRETS; touch /secrets/x || findmnt -no FSTYPE /secrets"#;
    let secrets = json!({ "key": { "named": "wandb" }, "pem": { "named": "pem", "file": true } });
    let told =
        house.submit(&job("told", command, secrets.clone(), json!({ "KEY": "is {{ secrets.key }}", "KEY_AGAIN": "\\{{ secrets.key }}" })));
    assert_eq!(house.wait_until_over(&told)["state"], "succeeded", "{}", house.log(&told, "main-0"));
    let log = house.log(&told, "main-0").replace("touch: cannot touch '/secrets/x': Read-only file system\n", "");
    assert_eq!(log, "is k3pt {{ secrets.key }}\nBEGIN\nEND\n700\n400\n/secrets\ntmpfs\n");
    let other = house.submit_line("other", "ls -d /secrets; env | grep -c SECRETS");
    assert_eq!(house.wait_until_over(&other)["state"], "failed");
    assert!(house.log(&other, "main-0").contains("No such file"), "a job without secrets has no room for them");
    assert_eq!(house.show(&told)["spec"]["secrets"], secrets);
    let order = fs::read_to_string(house.run_dir(&told, "main-0", 1).join("order.json")).unwrap();
    assert!(order.contains("is {{ secrets.key }}") && !order.contains("k3pt"), "{order}");
}

#[test]
fn a_secret_that_nobody_keeps_is_told_of_before_the_job_waits() {
    let house = House::new();
    set(&house, "wandb", "x");
    let wants = |name: &str| job("wants", "true", json!({ "key": { "named": name } }), json!({}));
    for path in ["/api/v1/jobs", "/api/v1/jobs?dry_run=true"] {
        match house.call(Call::post(path, wants("wendb"))) {
            Err(ClientError::Refused(status, body)) => {
                assert_eq!((status.as_u16(), body.problems[0].path.as_str()), (422, "secrets.key.named"));
                assert_eq!(body.problems[0].message, "you have no secret `wendb`; you keep wandb");
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(house.cli(&["secrets", "remove", "wandb"]).status.success());
    assert_eq!(refusal(house.call(Call::delete("/api/v1/secrets/wandb"))), (404, "no_such_secret".into()));
    assert_eq!(refusal(house.call(Call::put("/api/v1/secrets/a%20b", "x"))), (400, "bad_value".into()));
    assert_eq!(refusal(house.call(Call::put("/api/v1/secrets/ab", "x\0y"))), (400, "bad_value".into()));
    assert_eq!(refusal(house.call(Call::put("/api/v1/secrets/ab", vec![b'x'; 70_000]))), (413, "too_large".into()));
}

#[test]
fn only_a_run_that_lives_gets_its_secrets_and_only_those_it_needs() {
    let house = House::new();
    set(&house, "kept", "k3pt");
    let file = json!({ "name": "two", "secrets": { "a": "s3cretA", "b": { "named": "kept" } }, "roles": {
        "left": { "command": "test {{ secrets.a }} && sleep 600", "cpus": 0.5, "memory": "64MiB" },
        "right": { "command": "sleep 600", "cpus": 0.5, "memory": "64MiB", "env": { "B": "{{ secrets.b }}" } },
        "none": { "command": "sleep 600", "cpus": 0.5, "memory": "64MiB" } } });
    let job = house.submit(&file.to_string());
    house.wait_for(&job, "running");
    let token = |task: &str| house.letter(&job, task).token;
    let ask = |task: &str, token: &str| {
        let client = Client::new(&house.url(), token).unwrap();
        let path = format!("/api/v1/runs/{job}:{task}:1/secrets");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.call(Call::get(&path))).map(|bytes| bytes.to_vec())
    };
    let values = |task: &str| serde_json::from_slice::<Value>(&ask(task, &token(task)).unwrap()).unwrap()["values"].clone();
    assert_eq!((values("left-0"), values("right-0"), values("none-0")), (json!({ "a": "s3cretA" }), json!({ "b": "k3pt" }), json!({})));
    assert_eq!(refusal(ask("left-0", &token("right-0"))), (401, "no_token".into()));
    assert_eq!(refusal(ask("left-0", &house.token())), (401, "no_token".into()), "not even an administrator");
    let left = token("left-0");
    house.cli(&["stop", "two"]);
    house.wait_until_over(&job);
    assert_eq!(refusal(ask("left-0", &left)), (410, "stale_run".into()));
}

#[test]
fn a_secret_that_was_removed_meanwhile_ends_the_run_with_its_name() {
    let house = House::new();
    set(&house, "wandb", "x");
    // It waits for the first to end, and by then the secret is gone.
    let first = house.submit_line("first", "sleep 600");
    house.wait_for(&first, "running");
    let late = json!({ "name": "late", "secrets": { "key": { "named": "wandb" } }, "roles": { "main": { "command": "echo {{ secrets.key }}", "cpus": 2 } } });
    let late = house.submit(&late.to_string());
    assert!(house.cli(&["secrets", "remove", "wandb"]).status.success());
    house.cli(&["stop", "first"]);
    let over = house.wait_until_over(&late);
    assert_eq!(over["state"], "failed");
    assert!(over.to_string().contains("its secrets cannot be had: there is no secret `wandb`"), "{over:#}");
}

#[test]
fn a_server_whose_key_is_gone_or_another_one_does_not_start_and_makes_none_up() {
    let mut house = House::new();
    set(&house, "wandb", "x");
    let key = house.data().join("keys/secrets.key");
    assert_eq!(fs::metadata(&key).unwrap().permissions().mode() & 0o777, 0o600);
    let good = fs::read(&key).unwrap();
    house.kill();
    let mut refused = |what: &str| {
        house.spawn();
        assert!(!house.ended().success());
        assert!(house.server_log().contains(what), "{}", house.server_log());
    };
    fs::remove_file(&key).unwrap();
    refused("is not there, and the database has secrets that it sealed");
    assert!(!key.exists(), "no key was made up");
    fs::write(&key, format!("{}\n", "ab".repeat(32))).unwrap();
    refused("may be read by others");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    refused("sealed with the key");
    fs::write(&key, good).unwrap();
    house.start();
    assert!(text(&house.cli(&["secrets", "list"]).stdout).contains("wandb"));
}

#[test]
fn a_new_key_seals_everything_and_a_crash_in_between_loses_nothing() {
    for crash in [None, Some("admin.key-renewed-before-resealing")] {
        let mut house = House::new();
        set(&house, "wandb", "k3pt");
        let key = house.data().join("keys/secrets.key");
        let before = fs::read_to_string(&key).unwrap();
        if let Some(point) = crash {
            house.kill();
            house.crash_at(point);
            house.start();
        }
        let rotated = house.cli(&["secrets", "rotate"]);
        assert_eq!(rotated.status.success(), crash.is_none(), "{}", text(&rotated.stderr));
        until("the server is there or dead", || house.is_alive() == crash.is_none());
        if crash.is_some() {
            assert!(!house.ended().success() && house.crashed());
            house.start();
        } else {
            house.restart();
        }
        let after = fs::read_to_string(&key).unwrap();
        assert!(after.lines().count() == 1 && !after.contains(before.trim()), "the old key is gone");
        let told = house.submit(&job("told", "echo $KEY", json!({ "key": { "named": "wandb" } }), json!({ "KEY": "{{ secrets.key }}" })));
        house.wait_until_over(&told);
        assert_eq!(house.log(&told, "main-0"), "k3pt\n");
    }
}
