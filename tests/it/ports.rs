//! Ports that must be certain ones.

use serde_json::Value;

use crate::house::{House, until};

fn free_port() -> u16 {
    std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn a_job_whose_port_cannot_be_had_says_so_and_leaves_its_room_to_others() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let stranger = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = stranger.local_addr().unwrap().port();
    let greedy = house.submit(&format!("{{name: greedy, roles: {{w: {{cpus: 2, ports: {{http: {{from: {port}}}}}, command: 'true'}}}}}}"));
    let behind = house.submit("{name: behind, roles: {main: {cpus: 2, command: 'true'}}}");
    house.wait_for(&behind, "succeeded");
    until("it says why it waits", || {
        house.show(&greedy)["reason"]
            .as_str()
            .unwrap()
            .contains(&format!("port {port} is not free on 127.0.0.1, and only that one will do"))
    });
    assert_eq!(house.state(&greedy), "queued");
    drop(stranger);
    house.wait_for(&greedy, "succeeded");
}

#[test]
fn every_node_has_every_port() {
    let house = House::with_args(&["--nodes", "2", "--node-cpus", "4", "--node-memory", "4GiB"]);
    let port = free_port();
    let job = house.submit(&format!(
        "{{name: same, roles: {{w: {{tasks: 2, memory: 512MiB, ports: {{http: {{from: {port}}}}}, command: 'echo $TRAINMASTER_PORTS_HTTP'}}}}}}"
    ));
    let shown = house.wait_for(&job, "succeeded");
    let mut nodes: Vec<&Value> = shown["runs"].as_array().unwrap().iter().map(|run| &run["node"]).collect();
    nodes.sort_by_key(|node| node.to_string());
    assert_eq!(nodes, ["node-1", "node-2"]);
    assert_eq!(house.log(&job, "w-0") + &house.log(&job, "w-1"), format!("{port}\n{port}\n"));
}

#[test]
fn a_task_that_gives_up_its_rights_still_knows_its_peers() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let look = "getent hosts w-1 && head -n 1 /peers/hostfile";
    let line = format!("if [ $(id -u) = 0 ]; then exec setpriv --reuid 65534 --regid 65534 --clear-groups sh -c '{look}'; else {look}; fi");
    let job = house.submit(
        &serde_json::json!({ "name": "dropped", "roles": { "w": { "tasks": 2, "cpus": 0.5, "memory": "256MiB", "command": line } } })
            .to_string(),
    );
    house.wait_for(&job, "succeeded");
    let log = house.log(&job, "w-0");
    assert!(log.starts_with("127.0.0.1") && log.contains("w-1") && log.contains("w-0 slots="), "{log}");
}

#[test]
fn a_dry_run_shows_the_ports_by_which_peers_find_each_other() {
    let house = House::new();
    std::fs::write(house.place().join("p.yaml"), "{name: p, conventions: [tf_config, torch], roles: {w: {tasks: 2, command: 'true'}}}")
        .unwrap();
    let out = house.cli(&["--json", "submit", "p.yaml", "--dry-run"]);
    let answer: Value = serde_json::from_slice(&out.stdout).unwrap();
    let ports = answer["plan"]["roles"][0]["ports"].as_object().unwrap();
    assert_eq!(ports.keys().collect::<Vec<_>>(), ["grpc", "torch"], "{answer:#}");
}
