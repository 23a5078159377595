//! How tasks find each other, and what happens when a place they were given turns out not to be free.

use std::{collections::BTreeMap, net::TcpListener};

use serde_json::Value;

use crate::house::{House, text, until};

const FOUR_NODES: [&str; 6] = ["--nodes", "4", "--node-cpus", "0.5", "--node-memory", "256MiB"];

/// `env` as a task printed it.
fn printed(log: &str) -> BTreeMap<String, String> {
    log.lines().filter_map(|line| line.split_once('=')).map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

#[test]
fn a_gang_on_virtual_nodes_has_every_convention_and_each_task_its_own_place() {
    let house = House::with_args(&FOUR_NODES);
    let role = |tasks| format!("{{tasks: {tasks}, cpus: 0.5, memory: 64MiB, command: 'env; cat /peers/hostfile; touch /peers/x || true'}}");
    let job = house.submit(&format!(
        "{{name: meet, conventions: [tf_config, cluster_config, torch, jax, mpi, modelarts, arena, pai_v1, pai_v2], env: {{JOB_NAME: mine}}, \
         roles: {{chief: {}, worker: {}, ps: {}}}}}",
        role(1),
        role(2),
        role(1)
    ));
    house.wait_for(&job, "succeeded");
    let env = printed(&house.log(&job, "worker-1"));
    let tf: Value = serde_json::from_str(&env["TF_CONFIG"]).unwrap();
    let hosts: Vec<&str> =
        tf["cluster"].as_object().unwrap().values().flat_map(|it| it.as_array().unwrap()).map(|it| it.as_str().unwrap()).collect();
    let addresses: std::collections::BTreeSet<&str> = hosts.iter().map(|host| host.split_once(':').unwrap().0).collect();
    assert_eq!((hosts.len(), addresses.len()), (4, 4), "each has a node, and so an address, of its own: {hosts:?}");
    assert_eq!((&*env["RANK"], &*env["WORLD_SIZE"], &*env["POD_NAME"], &*env["workers"]), ("2", "3", "worker-1", "2"));
    assert_eq!((&*env["JOB_NAME"], &*env["PAI_JOB_NAME"]), ("mine", "admin~meet"), "the job file's own variables win");
    assert_eq!(env["OMPI_MCA_orte_default_hostfile"], "/peers/hostfile");
    let log = house.log(&job, "worker-1");
    assert!(log.contains("chief-0 slots=1\nworker-0 slots=1\nworker-1 slots=1\n"), "{log}");
    assert!(!house.run_dir(&job, "worker-1", 1).join("peers/x").exists(), "a task cannot change what it is told");

    let shown = house.cli(&["show", "meet", "--env", "worker-1"]);
    let told = text(&shown.stdout);
    for (name, value) in env.iter().filter(|(name, _)| name.starts_with("TF_") || name.starts_with("PAI_") || name.starts_with("PET_")) {
        let line = told.lines().find(|line| line.starts_with(&format!("{name}="))).unwrap_or_else(|| panic!("{name} is not shown"));
        assert_eq!(line[name.len() + 1..].trim_matches('\''), value, "what is shown is what the task got");
    }
    assert!(told.ends_with("# /peers/hostfile:\n#   chief-0 slots=1\n#   worker-0 slots=1\n#   worker-1 slots=1\n"), "{told}");
}

#[test]
fn a_job_that_waits_shows_what_its_tasks_will_get_and_no_secret() {
    let house = House::new();
    let job = house.submit(
        "{name: waits, secrets: {key: hush-hush}, env: {KEY: 'is {{ secrets.key }}'}, \
         roles: {ps: {command: x, cpus: 64}, worker: {command: 'x {{ secrets.key }}', tasks: 2}}}",
    );
    let json = house.cli(&["show", &job, "--env", "worker-1", "--json"]);
    let view: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((view["placed"].as_bool(), view["env"]["KEY"].as_str()), (Some(false), Some("is {{ secrets.key }}")));
    assert_eq!(view["env"]["MASTER_ADDR"], "<address of worker-0>");
    let shown = house.cli(&["show", &job, "--env", "worker-1"]);
    assert!(text(&shown.stdout).contains("PS_HOSTS='<address of ps-0>:<grpc port of ps-0>'\n"), "{}", text(&shown.stdout));
    assert!(text(&shown.stderr).contains("worker-1 has no place"), "{}", text(&shown.stderr));
    for (task, told) in [("worker-2", "has no task `worker-2`"), ("main", "`main` is not a task name such as worker-0")] {
        let refused = house.cli(&["show", &job, "--env", task]);
        assert_eq!(refused.status.code(), Some(2));
        assert!(text(&refused.stderr).contains(told), "{}", text(&refused.stderr));
    }
}

#[test]
fn a_port_that_was_taken_meanwhile_is_replaced_and_the_retry_does_not_count() {
    let mut house = House::unopened(&FOUR_NODES);
    house.crash_at("schedule.after-reserve-commit");
    house.start();
    let job = house
        .submit("{name: clash, roles: {main: {cpus: 0.5, memory: 64MiB, ports: [grpc], command: 'echo mine is $TRAINMASTER_PORTS_GRPC'}}}");
    until("the server is dead", || house.crashed());
    house.ended();
    let (address, port) = reserved(&house);
    let _stranger = TcpListener::bind((address.as_str(), port)).unwrap();
    house.clear_env();
    house.start();
    let shown = house.wait_for(&job, "succeeded");
    let runs = shown["runs"].as_array().unwrap();
    assert_eq!((runs.len(), shown["attempt"].as_u64()), (2, Some(2)), "{shown:#}");
    let clash = runs[1]["reason"].as_str().unwrap();
    assert!(clash.contains(&format!("port {port} on {address} cannot be used")), "{clash}");
    assert_eq!(house.log(&job, "main-0"), format!("mine is {}\n", runs[0]["ports"]["grpc"][0]));
    assert_ne!(runs[0]["ports"]["grpc"][0], port);
}

/// Where the only run of the house is to listen, from the database of a server that is dead.
fn reserved(house: &House) -> (String, u16) {
    let database = rusqlite::Connection::open(house.data().join("store.db")).unwrap();
    let (address, ports): (String, String) =
        database.query_row("SELECT address, ports FROM run", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let ports: Value = serde_json::from_str(&ports).unwrap();
    (address, ports["grpc"][0].as_u64().unwrap().try_into().unwrap())
}
