//! The file that a job was made from, as it was handed over, and the plan that it became.

use std::fs;

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    compare::{ask, house_with_people, write},
    house::{House, text},
};

const SECRET: &str = "hush-hush-8c1f";

/// Neither in the database nor in anything beside it.
fn is_nowhere(house: &House, secret: &str) {
    for entry in fs::read_dir(house.data()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            let bytes = fs::read(&path).unwrap();
            let found = bytes.windows(secret.len()).any(|it| it == secret.as_bytes());
            assert!(!found, "{} is in {}", secret, path.display());
        }
    }
}

#[test]
fn a_file_is_kept_as_it_was_written_but_for_its_secrets() {
    let house = House::new();
    let written = format!("# why we train\nname: a\nsecrets: {{ key: {SECRET} }}   # {SECRET}\nroles:\n  main: {{ command: 'true' }}\n");
    let id = house.submit(&written);
    let kept = house.get_json(&format!("/api/v1/jobs/{id}/original"));
    assert_eq!(kept["text"], written.replace(&format!("key: {SECRET}"), "key: \"******\"").replace(SECRET, "******"));
    assert_eq!((&kept["dialect"], &kept["report"], &kept["missing"]), (&json!(""), &json!([]), &Value::Null));
    let shown = house.cli(&["show", "a", "--original"]);
    assert_eq!(text(&shown.stdout), kept["text"].as_str().unwrap());

    let odd = house.submit(&format!("name: odd\nsecrets:\n  key: |\n    {SECRET}\n    more\nroles: {{main: {{command: 'true'}}}}\n"));
    let kept = house.get_json(&format!("/api/v1/jobs/{odd}/original"));
    assert_eq!(kept["text"], Value::Null);
    assert!(kept["missing"]["en"].as_str().unwrap().contains("could not be masked"), "{kept:#}");
    assert!(!text(&house.cli(&["show", "odd", "--original"]).stderr).contains(SECRET));
    house.wait_until_over(&id);
    is_nowhere(&house, SECRET);
}

#[test]
fn another_system_s_file_is_kept_with_what_became_of_it_whoever_translated_it() {
    let house = House::new();
    let dir = house.place().join("pai");
    let pai = json!({"jobName": "from-pai", "image": "pai/tf", "taskRoles": [
        {"name": "main", "taskNumber": 1, "cpuNumber": 1, "memoryMB": 100, "gpuNumber": 0, "command": "true"}]});
    let written = serde_json::to_string_pretty(&pai).unwrap();
    write(&dir, &[("pai.json", &written)]);
    house.submit(&written);
    let sent = house.cli_in(&dir, &["submit", "pai.json"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    for job in ["from-pai@1", "from-pai@2"] {
        let kept = house.get_json(&format!("/api/v1/jobs/{job}/original"));
        assert_eq!(
            (&kept["dialect"], &kept["title"], &kept["text"]),
            (&json!("openpai_v1"), &json!("OpenPAI v1"), &json!(written)),
            "{job}"
        );
        let notes = kept["report"].as_array().unwrap();
        assert!(notes.iter().any(|it| it["path"] == "taskRoles[0].command" && it["fate"] == "kept"), "{notes:#?}");
    }
    let shown = house.cli(&["show", "from-pai", "--original"]);
    assert_eq!(text(&shown.stdout), written);
    assert!(text(&shown.stderr).contains("OpenPAI v1; 7 kept, 1 changed"), "{}", text(&shown.stderr));
}

#[test]
fn a_file_that_was_completed_on_its_way_is_kept_as_it_was_before() {
    let house = House::new();
    let dir = house.place().join("mine");
    let written = "name: mine # of me\ncode: .\nroles: {main: {command: 'true'}}\n";
    write(&dir, &[("job.yaml", written), ("train.py", "print()\n")]);
    let sent = house.cli_in(&dir, &["submit", "job.yaml", "--set", "priority=3"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    let kept = house.get_json("/api/v1/jobs/mine/original");
    assert_eq!((&kept["text"], &kept["file"]), (&json!(written), &json!("job.yaml")));
    house.wait_until_over("mine");
    let rerun = house.cli(&["rerun", "mine"]);
    assert!(rerun.status.success(), "{}", text(&rerun.stderr));
    let kept = house.get_json("/api/v1/jobs/mine@2/original");
    assert_eq!(kept["text"], Value::Null);
    assert!(kept["missing"]["zh"].as_str().unwrap().contains("mine@1"), "{kept:#}");
}

#[test]
fn a_plan_has_every_default_and_no_secret_and_is_its_owner_s() {
    let house = house_with_people();
    let job = format!("name: a\nsecrets: {{key: {SECRET}}}\nroles: {{main: {{command: 'login {{{{ secrets.key }}}}', ports: [http]}}}}\n");
    ask(&house, "ann", Call::post("/api/v1/jobs", job)).unwrap();
    let plan = ask(&house, "ann", Call::get("/api/v1/jobs/a/plan")).unwrap();
    let view: Value = serde_json::from_str(&plan).unwrap();
    let main = &view["roles"][0];
    assert_eq!((&main["script"], &main["tasks"], &main["min_failed"]), (&json!("login {{ secrets.key }}"), &json!(1), &json!(1)));
    assert!(main["memory_bytes"].as_u64() > Some(0) && main["ports"]["http"]["count"] == 1 && !plan.contains(SECRET), "{plan}");
    for path in ["plan", "original"] {
        let refused = ask(&house, "bob", Call::get(&format!("/api/v1/jobs/a/{path}"))).unwrap_err();
        assert!(refused.contains("no job `a`"), "{refused}");
    }
}
