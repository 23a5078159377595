//! Fifty process trees that do not want to be stopped.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::json;
use trainmaster::client::Call;

use crate::house::{House, marked, until};

const TREES: usize = 50;

/// The ways to escape, as the artist itself lists them.
fn kinds(artist: &Path) -> Vec<String> {
    let text = fs::read_to_string(artist).unwrap();
    let list = text.split("KINDS = [").nth(1).unwrap().split(']').next().unwrap();
    list.split(',').map(|kind| kind.trim().to_owned()).collect()
}

/// A job with a role for each of these ways.
fn submit(house: &House, number: usize, kinds: &[String], marker: &str, code: &Path) -> String {
    let role = |kind: &String| {
        let command = ["python3", "/code/escape_artist.py", kind, marker, "/output/ready"];
        (kind.replace('_', "-"), json!({ "cpus": 0.2, "memory": "128MiB", "env": { "ESCAPE": marker }, "command": command }))
    };
    let roles: BTreeMap<_, _> = kinds.iter().map(role).collect();
    house.submit(&json!({ "name": format!("escape-{number}"), "code": code, "stop_grace": "300ms", "roles": roles }).to_string())
}

#[test]
fn nobody_is_left_of_fifty_escape_artists_once_they_are_said_to_be_stopped() {
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/inside");
    let kinds = kinds(&code.join("escape_artist.py"));
    assert!(kinds.len() >= 15, "{kinds:?}");
    let trees: Vec<String> = kinds.iter().cycle().take(TREES).cloned().collect();
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "20", "--node-memory", "20GiB"]);
    let marker = format!("escape-{}", std::process::id());
    let jobs: Vec<(String, &[String])> = trees
        .chunks(kinds.len())
        .enumerate()
        .map(|(number, kinds)| (submit(&house, number, kinds, &format!("{marker}-{number}-"), &code), kinds))
        .collect();
    for (job, kinds) in &jobs {
        for kind in *kinds {
            let ready = house.output_dir(job, &format!("{}-0", kind.replace('_', "-"))).join("ready");
            until(&format!("the tree {kind} stands"), || ready.exists());
        }
    }
    assert!(marked(&marker).len() > TREES * 2, "the trees are small: {}", marked(&marker).len());
    for (job, _) in &jobs {
        house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    }
    for (number, (job, _)) in jobs.iter().enumerate() {
        house.wait_for(job, "stopped");
        // Looked for more than once, for those that hop from pid to pid.
        for _ in 0..3 {
            assert_eq!(marked(&format!("{marker}-{number}-")), Vec::<i32>::new(), "stopped was said while something lived");
        }
    }
    until("no control group is left", || house.groups().is_empty());
}
