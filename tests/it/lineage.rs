//! From data, code and former jobs to results, and on to those who used them.

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    compare::{ask, house_with_people, write},
    house::{House, text},
};

/// `from -how-> to` by the names of things.
fn edges(graph: &Value) -> Vec<String> {
    let label = |id: &Value| {
        let node = graph["nodes"].as_array().unwrap().iter().find(|node| node["id"] == *id);
        node.unwrap_or_else(|| panic!("{id} is no node of {graph:#}"))["label"].as_str().unwrap().to_owned()
    };
    let edge = |it: &Value| format!("{} -{}-> {}", label(&it["from"]), it["how"].as_str().unwrap(), label(&it["to"]));
    graph["edges"].as_array().unwrap().iter().map(edge).collect()
}

fn volume(house: &House) -> std::path::PathBuf {
    let place = house.place().join("volume");
    write(&place, &[("mnist/a", "1")]);
    let added = house.cli(&["volumes", "add", "data", "--local", place.to_str().unwrap()]);
    assert!(added.status.success(), "{}", text(&added.stderr));
    place
}

fn job(name: &str, more: Value) -> Value {
    let mut job = json!({"name": name, "roles": {"main": {"command": "echo $RANDOM > /output/model", "cpus": 0.1}}});
    job.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    job
}

#[test]
fn a_result_is_traced_back_to_its_data_and_forward_to_its_users() {
    let house = House::new();
    volume(&house);
    let run = |name: &str, more: Value| house.wait_for(&house.submit(&job(name, more).to_string()), "succeeded");
    run("train", json!({"input": "data:mnist", "output": "data:models"}));
    run("tune", json!({"from": "train", "output": "data:tuned/best"}));
    run("check", json!({"inputs": {"model": "data:tuned/best/model", "truth": "data:mnist"}}));
    let rerun = house.cli(&["rerun", "tune"]);
    assert!(rerun.status.success(), "{}", text(&rerun.stderr));
    house.wait_for("tune@2", "succeeded");
    let of = |job: &str| edges(&house.get_json(&format!("/api/v1/jobs/{job}/lineage")));

    assert_eq!(
        of("tune@1"),
        [
            "train@1 -output it began with-> tune@1",
            "data:mnist -/input-> train@1",
            "tune@1 -output-> data:tuned/best",
            "data:tuned/best -input-> check@1",
            "tune@1 -job it is a rerun of-> tune@2",
        ]
    );
    let check = of("check");
    assert!(check.contains(&"tune@1 -output-> data:tuned/best/model".to_owned()), "{check:#?}");
    assert!(check.contains(&"train@1 -output it began with-> tune@1".to_owned()), "{check:#?}");
    assert!(!check.iter().any(|edge| edge.contains("tune@2")), "it was not there yet: {check:#?}");
    let node = |graph: &Value, label: &str| graph["nodes"].as_array().unwrap().iter().find(|it| it["label"] == label).unwrap().clone();
    let graph = house.get_json("/api/v1/jobs/check/lineage");
    let data = node(&graph, "data:mnist");
    assert!(data["detail"].as_str().unwrap().starts_with("1 file, 1B") && data["fingerprint"].is_string(), "{data:#}");

    let tree = text(&house.cli(&["lineage", "tune@1"]).stdout);
    for line in [
        "└─ output it began with: train@1 succeeded",
        "   └─ /input: data:mnist",
        "│  └─ input of: check@1 succeeded",
        "└─ was rerun as: tune@2 succeeded",
    ] {
        assert!(tree.contains(line), "{line}\n{tree}");
    }
    let gone = house.cli(&["delete", "train"]);
    assert!(gone.status.success(), "{}", text(&gone.stderr));
    let left = house.get_json("/api/v1/jobs/tune@1/lineage");
    assert_eq!(node(&left, "train@1")["detail"], "deleted since");
}

#[test]
fn a_lineage_shows_nobody_the_job_of_another() {
    let house = house_with_people();
    volume(&house);
    let submit = |user: &str, name: &str, more: Value| -> Value {
        serde_json::from_str(&ask(&house, user, Call::post("/api/v1/jobs", job(name, more).to_string())).unwrap()).unwrap()
    };
    let made = submit("ann", "writes", json!({"output": "data:models/x"}));
    house.wait_for(made["id"].as_str().unwrap(), "succeeded");
    submit("bob", "spies", json!({"input": "data:models/x"}));
    submit("ann", "reads", json!({"input": "data:models/x"}));
    let of = |user: &str, job: &str| ask(&house, user, Call::get(&format!("/api/v1/jobs/{job}/lineage"))).unwrap();
    let (ann, bob) = (of("ann", "writes"), of("bob", "spies"));
    assert!(ann.contains("reads@1") && !ann.contains("spies"), "{ann}");
    assert!(bob.contains("data:models/x") && !bob.contains("writes") && !bob.contains("reads@1"), "{bob}");
    let all = house.get_json("/api/v1/jobs/spies/lineage").to_string();
    assert!(all.contains("writes@1"), "an administrator sees all: {all}");
}
