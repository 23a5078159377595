//! What a job was given at `/input` and `/code`, looked at from outside. Nothing leads out of it.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    compare::{ask, house_with_people, write},
    git_server::GitServer,
    house::{House, text},
    web_files::WebFiles,
};

const CANARY: &str = "canary-of-somebody-else";

/// The paths of a list, sorted, directories with a `/`.
fn listed(house: &House, at: &str) -> Vec<String> {
    let out = house.cli(&["files", "ls", "-R", at]);
    let said = text(&out.stdout);
    let mut names: Vec<String> = said.lines().filter_map(|line| line.split_whitespace().last()).map(str::to_owned).collect();
    names.sort();
    assert!(out.status.success(), "{at}: {}", text(&out.stderr));
    names
}

fn cat(house: &House, at: &str) -> Result<String, String> {
    let out = house.cli(&["files", "cat", at]);
    if out.status.success() { Ok(text(&out.stdout)) } else { Err(text(&out.stderr)) }
}

fn succeeded(house: &House, job: Value) -> String {
    let id = house.submit(&job.to_string());
    let over = house.wait_until_over(&id);
    assert_eq!(over["state"], "succeeded", "{over:#}");
    id
}

#[test]
fn uploaded_code_and_a_commit_are_looked_at_as_tasks_see_them() {
    let (house, server) = (House::new(), GitServer::new());
    let dir = house.place().join("mine");
    write(&dir, &[("job.yaml", "name: mine\ncode: .\nroles: {main: {command: 'true'}}\n"), ("sub/a.py", "print(1)\n")]);
    symlink("/etc/passwd", dir.join("sub/out")).unwrap();
    symlink("a.py", dir.join("sub/near")).unwrap();
    let sent = house.cli_in(&dir, &["submit", "job.yaml"]);
    assert!(sent.status.success(), "{}", text(&sent.stderr));
    house.wait_until_over("mine");
    assert_eq!(listed(&house, "mine:/code"), ["job.yaml", "sub/a.py"]);
    assert_eq!(cat(&house, "mine/main-0:/code/sub/a.py"), Ok("print(1)\n".into()));
    for hostile in ["mine:/code/sub/near", "mine:/code/sub/out", "mine:/code/nothing"] {
        assert!(cat(&house, hostile).is_err(), "{hostile}");
    }
    let refused = house.get("/api/v1/files/content?at=mine:/code/../../admin-token").unwrap_err().to_string();
    assert!(refused.contains(".."), "{refused}");

    server.repository("p").commit(&[("train.txt", "one\n"), ("sub/more.txt", "more\n")]);
    succeeded(&house, json!({"name": "git", "code": server.url("p"), "roles": {"main": {"command": "true", "cpus": 0.1}}}));
    assert_eq!(listed(&house, "git:/code"), ["sub/more.txt", "train.txt"]);
    assert_eq!(listed(&house, "git:/code/sub"), ["sub/more.txt"]);
    assert_eq!(cat(&house, "git:/code/train.txt"), Ok("one\n".into()));
    succeeded(&house, json!({"name": "none", "roles": {"main": {"command": "true", "cpus": 0.1}}}));
    assert!(cat(&house, "none:/code/x").unwrap_err().contains("it has no code of its own"));
}

#[test]
fn everything_below_a_place_comes_as_one_archive() {
    let house = House::new();
    let dir = house.place().join("mine");
    let long = format!("{}/x.txt", "d".repeat(120));
    write(&dir, &[("job.yaml", "name: mine\ncode: .\nroles: {main: {command: 'true'}}\n"), (&long, "deep\n")]);
    assert!(house.cli_in(&dir, &["submit", "job.yaml"]).status.success());
    house.wait_until_over("mine");
    let bytes = house.get("/api/v1/files/archive?at=mine:/code").unwrap();
    let mut found = Vec::new();
    for entry in tar::Archive::new(&bytes[..]).entries().unwrap() {
        let mut entry = entry.unwrap();
        let mut content = String::new();
        std::io::Read::read_to_string(&mut entry, &mut content).unwrap();
        found.push((entry.path().unwrap().to_string_lossy().into_owned(), content));
    }
    found.sort();
    assert_eq!(found.last(), Some(&("job.yaml".to_owned(), fs::read_to_string(dir.join("job.yaml")).unwrap())));
    assert_eq!(found[0], (long, "deep\n".to_owned()));
    assert_eq!(found.len(), 2);
}

#[test]
fn inputs_are_looked_at_where_they_are_and_where_they_were_fetched_to() {
    let (house, web) = (House::new(), WebFiles::start());
    web.put("a.csv", "v1", b"1,2\n");
    let volume = house.place().join("volume");
    write(&volume, &[("mnist/train/x", "ex"), ("mnist/one.csv", "one"), ("other/secret", CANARY)]);
    symlink("../../other/secret", volume.join("mnist/train/link")).unwrap();
    house.cli(&["volumes", "add", "data", "--local", volume.to_str().unwrap()]);
    let main = json!({"main": {"command": "true", "cpus": 0.1}});
    succeeded(&house, json!({"name": "one", "input": "data:mnist", "roles": main}));
    assert_eq!(listed(&house, "one:/input"), ["one.csv", "train/x"]);
    assert_eq!(listed(&house, "one:/input/train"), ["train/x"]);
    assert_eq!(cat(&house, "one:/input/train/x"), Ok("ex".into()));

    let inputs = json!({"train": "data:mnist/train", "file": "data:mnist/one.csv", "web": web.url("a.csv")});
    succeeded(&house, json!({"name": "many", "inputs": inputs, "roles": main}));
    let names = text(&house.cli(&["files", "ls", "many:/input"]).stdout);
    assert!(["file/", "train/", "web/"].iter().all(|it| names.contains(it)), "{names}");
    assert_eq!(listed(&house, "many:/input"), ["file/one.csv", "train/x", "web/a.csv"]);
    assert_eq!(cat(&house, "many:/input/file/one.csv"), Ok("one".into()));
    assert_eq!(cat(&house, "many:/input/web/a.csv"), Ok("1,2\n".into()));
    for elsewhere in
        ["one:/input/train/link", "many:/input/train/link", "many:/input/file/train/x", "many:/input/other/secret", "many:/input/nothing"]
    {
        assert!(cat(&house, elsewhere).is_err(), "{elsewhere}");
    }
    let refused = house.call(Call::delete("/api/v1/files/content?at=one:/input/train/x")).unwrap_err().to_string();
    assert!(refused.contains("can only be read"), "{refused}");
}

#[test]
fn a_directory_of_the_machine_is_opened_for_administrators_alone_and_never_the_server_s_own() {
    let house = house_with_people();
    let dir = house.place().join("srv");
    write(&dir, &[("x", "ex")]);
    let job =
        |name: &str, input: &str| json!({"name": name, "input": input, "roles": {"main": {"command": "true", "cpus": 0.1}}}).to_string();
    ask(&house, "ann", Call::post("/api/v1/jobs", job("hers", dir.to_str().unwrap()))).unwrap();
    house.wait_until_over("hers");
    let refused = ask(&house, "ann", Call::get("/api/v1/files?at=hers:/input")).unwrap_err();
    assert!(refused.contains("only administrators open"), "{refused}");
    assert_eq!(cat(&house, "hers:/input/x"), Ok("ex".into()));
    house.submit(&job("sly", house.data().to_str().unwrap()));
    house.wait_until_over("sly");
    assert!(cat(&house, "sly:/input/admin-token").is_err());
    let refused = ask(&house, "bob", Call::get("/api/v1/files?at=hers:/input")).unwrap_err();
    assert!(refused.contains("no job `hers`"), "{refused}");
}
