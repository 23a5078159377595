//! Jobs whose code comes from git, from the job file to the child.

use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

use serde_json::json;

use crate::{
    git_server::{GitServer, Mood},
    house::{House, text, until},
};

fn job(name: &str, code: serde_json::Value, line: &str) -> String {
    json!({ "name": name, "code": code, "roles": { "main": { "cpus": 0.1, "command": line } } }).to_string()
}

/// A house whose data a task may see: `/tmp` it may not.
fn house() -> (tempfile::TempDir, House) {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut house = House::unopened_at(data.path());
    house.start();
    (data, house)
}

#[test]
fn a_job_runs_what_its_repository_has_and_shows_which_commit_that_was() {
    let ((_data, house), server) = (house(), GitServer::new());
    let repository = server.repository("p");
    let first = repository.commit(&[("train.txt", "one\n"), ("sub/more.txt", "more\n")]);
    let line = "cat train.txt; cat sub/more.txt; ls -A";
    let by_address = house.submit(&job("by-address", json!(format!("{}#main", server.url("p"))), line));
    assert_eq!(house.wait_until_over(&by_address)["state"], "succeeded");
    assert_eq!(house.log(&by_address, "main-0"), "one\nmore\nsub\ntrain.txt\n");
    let second = repository.commit(&[("train.txt", "two\n")]);
    let line = "cat more.txt";
    let inside = house.submit(&job("inside", json!({ "git": server.url("p"), "ref": "main", "directory": "sub" }), line));
    house.wait_until_over(&inside);
    assert_eq!(house.log(&inside, "main-0"), "more\n");
    let shown = |job: &str| text(&house.cli(&["show", job]).stdout);
    assert!(shown("by-address").contains(&format!("commit {first}")), "{}", shown("by-address"));
    assert!(shown("inside").contains(&format!("commit {second}")), "{}", shown("inside"));
    server.set(Mood::Answers(500));
    let again = house.submit(&job("again", json!({ "git": server.url("p"), "ref": first }), "cat train.txt"));
    house.wait_until_over(&again);
    assert_eq!(house.log(&again, "main-0"), "one\n", "a commit that is there needs no server");
}

#[test]
fn an_attempt_gets_the_code_of_the_first_wherever_its_branch_has_gone() {
    let ((_data, house), server) = (house(), GitServer::new());
    let repository = server.repository("p");
    repository.commit(&[("train.txt", "one\n")]);
    let line = "cat train.txt; [ $TRAINMASTER_ATTEMPT = 1 ] || exit 0; until [ -e /output/go ]; do sleep 0.05; done; exit 1";
    let code = json!({ "git": server.url("p"), "ref": "main" });
    let spec = json!({ "name": "moves", "retries": 1, "code": code, "roles": { "main": { "cpus": 0.1, "command": line } } });
    let id = house.submit(&spec.to_string());
    house.wait_for_output(&id, "main-0", "one\n");
    repository.commit(&[("train.txt", "two\n")]);
    std::fs::write(house.output_dir(&id, "main-0").join("go"), "").unwrap();
    let over = house.wait_until_over(&id);
    assert_eq!((over["state"].as_str(), over["attempt"].as_u64()), (Some("succeeded"), Some(2)), "{over:#}");
    assert_eq!(house.log(&id, "main-0"), "one\n");
    let newer = house.submit(&job("moves", json!({ "git": server.url("p"), "ref": "main" }), "cat train.txt"));
    house.wait_until_over(&newer);
    assert_eq!(house.log(&newer, "main-0"), "two\n");
}

#[test]
fn code_that_cannot_be_had_ends_the_job_with_the_reason() {
    let ((_data, house), server) = (house(), GitServer::new());
    server.repository("p").commit(&[("a", "x")]);
    let id = house.submit(&job("mistyped", json!({ "git": server.url("p"), "ref": "mian" }), "true"));
    let over = house.wait_until_over(&id);
    assert_eq!(over["state"], "failed");
    let reason = over["runs"][0]["reason"].as_str().unwrap();
    assert!(reason.contains(&format!("there is no branch, tag or commit `mian` in {}; it has main", server.url("p"))), "{reason}");
}

#[test]
fn an_address_we_would_not_give_to_git_is_refused_with_the_file() {
    let (_data, house) = house();
    for (code, said) in [
        (json!("ssh://git@example.org/a.git"), "SSH is not supported: give the https address"),
        (json!("git@example.org:a.git"), "SSH is not supported"),
        (json!("https://me:hunter2@example.org/a"), "put them under `user` and `password`"),
        (json!({ "git": "ext::sh -c x" }), "code.git"),
        (json!({ "git": "https://example.org/a", "ref": "--upload-pack=x" }), "begins with `-`"),
        (json!({ "git": "https://example.org/a", "directory": "../x" }), "leads elsewhere"),
    ] {
        let file = house.place().join("job.json");
        std::fs::write(&file, job("bad", code, "true")).unwrap();
        let output = house.cli(&["submit", file.to_str().unwrap()]);
        let told = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains(said) && !told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_job_that_is_stopped_while_its_server_hangs_leaves_nobody_behind() {
    let ((_data, house), server) = (house(), GitServer::new());
    server.repository("p").commit(&[("a", "x")]);
    server.set(Mood::Hangs);
    let id = house.submit(&job("hangs", json!({ "git": server.url("p") }), "true"));
    until("git asks the server", || !server.seen().is_empty());
    let asked = Instant::now();
    house.cli(&["stop", &id]);
    assert_eq!(house.wait_until_over(&id)["state"], "stopped");
    assert!(asked.elapsed() < Duration::from_secs(10), "{:?}", asked.elapsed());
    let url = server.url("p");
    until("git is gone", || {
        !std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .any(|it| std::fs::read(it.path().join("cmdline")).is_ok_and(|line| line.windows(url.len()).any(|part| part == url.as_bytes())))
    });
}

#[test]
fn every_task_runs_the_same_commit_though_somebody_pushes_before_each_of_them_looks() {
    let ((_data, house), server) = (house(), GitServer::new());
    let repository = server.repository("p");
    let commits: Vec<String> = (0..12).map(|number| repository.commit(&[("train.txt", &format!("{number}\n"))])).collect();
    for gang in [true, false] {
        server.push_at_each_look(&repository, &commits);
        let roles = json!({ "main": { "tasks": 4, "cpus": 0.1, "command": "cat train.txt" } });
        let code = json!({ "git": server.url("p"), "ref": "main" });
        let id = house.submit(&json!({ "name": "pushed", "gang": gang, "code": code, "roles": roles }).to_string());
        let over = house.wait_until_over(&id);
        assert_eq!(over["state"], "succeeded", "{over:#}");
        let logs: BTreeSet<String> = (0..4).map(|task| house.log(&id, &format!("main-{task}"))).collect();
        let shown: BTreeSet<&str> = over["runs"].as_array().unwrap().iter().map(|run| run["commit"].as_str().unwrap()).collect();
        assert_eq!((logs.len(), shown.len()), (1, 1), "gang: {gang}; {logs:?} {shown:?}");
        let number: usize = logs.first().unwrap().trim().parse().unwrap();
        assert_eq!(shown.first(), Some(&commits[number].as_str()), "what is shown is what ran");
        assert!(server.requests("/info/refs") >= 4, "every task looked for itself");
    }
}
