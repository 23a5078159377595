//! What must hold for every gang: all its tasks are told the same world, and each its own place in it.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ids::{JobId, TaskName},
    plan::{HouseRules, Plan, from_text},
    rendezvous::{Gang, Peers, Place, Rendezvous, ports},
};
use proptest::prelude::*;
use serde_json::Value;

const ROLES: [&str; 9] = ["ps", "worker", "chief", "master", "launcher", "evaluator", "tensorboard", "odd_Name.1", "parameter-server"];

/// Any roles in any order, each with or without ports of its own, on few nodes.
fn any_gang() -> impl Strategy<Value = (Plan, Vec<Place>)> {
    let ports = prop::sample::select(vec!["[]", "[grpc]", "[http, ssh]", "[zeta]", "{torch: 2, a: 1}", "[SSH]"]);
    let role = (prop::sample::select(ROLES.to_vec()), 1_u32..5, ports);
    (prop::collection::vec(role, 1..6), 1_usize..4).prop_map(|(roles, nodes)| {
        let mut seen = BTreeSet::new();
        let roles: Vec<String> = (roles.iter().filter(|(name, _, _)| seen.insert(*name)))
            .map(|(name, tasks, ports)| format!("{name}: {{command: x, tasks: {tasks}, ports: {ports}}}"))
            .collect();
        let all = "pai_v1, pai_v2, tf_config, cluster_config, torch, jax, mpi, modelarts, arena, ascend";
        let text = format!("{{name: any, conventions: [{all}], roles: {{{}}}}}", roles.join(", "));
        let (_, plan) = from_text(&text, &HouseRules::default()).expect("a good file");
        let places = places(&plan, nodes);
        (plan, places)
    })
}

fn tasks(plan: &Plan) -> Vec<TaskName> {
    plan.roles.iter().flat_map(|role| (0..role.tasks).map(|index| TaskName { role: role.name.clone(), index })).collect()
}

fn places(plan: &Plan, nodes: usize) -> Vec<Place> {
    let mut next = 20_000_u16;
    let mut give = |count: u32| {
        (0..count)
            .map(|_| {
                next += 1;
                next
            })
            .collect()
    };
    let place = |(number, task): (usize, TaskName)| Place {
        ports: ports(plan, &task).into_iter().map(|(label, wanted)| (label, give(wanted.count))).collect(),
        address: format!("127.0.0.{}", number % nodes + 2),
        role: task.role,
        index: task.index,
        devices: BTreeMap::new(),
    };
    tasks(plan).into_iter().enumerate().map(place).collect()
}

fn gang<'a>(plan: &'a Plan, places: &'a [Place]) -> Gang<'a> {
    Gang { owner: "ann", job: JobId::new(1, &[0; 10]), name: &plan.name, version: 1, attempt: 1, job_attempt: 1, plan, places }
}

fn all_told(plan: &Plan, places: &[Place]) -> Vec<Peers> {
    let rendezvous = Rendezvous::new(gang(plan, places));
    tasks(plan).iter().map(|task| rendezvous.of(task).expect("a task of the plan")).collect()
}

/// The values that a variable has, over all tasks that have it.
fn values<'p>(told: &'p [Peers], name: &str) -> Vec<&'p str> {
    told.iter().filter_map(|peers| peers.env.get(name)).map(String::as_str).collect()
}

fn are_the_same(values: &[&str]) -> bool {
    values.windows(2).all(|pair| pair[0] == pair[1])
}

fn tf_configs(told: &[Peers]) -> Vec<Value> {
    values(told, "TF_CONFIG").into_iter().map(|text| serde_json::from_str(text).expect("JSON")).collect()
}

proptest! {
    #[test]
    fn ranks_have_no_gap_and_no_repeat((plan, places) in any_gang()) {
        let told = all_told(&plan, &places);
        for (name, size) in [("RANK", "WORLD_SIZE"), ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"), ("PET_NODE_RANK", "PET_NNODES")] {
            let mut ranks: Vec<usize> = values(&told, name).iter().map(|rank| rank.parse().unwrap()).collect();
            ranks.sort_unstable();
            prop_assert_eq!(&ranks, &(0..ranks.len()).collect::<Vec<_>>(), "{}", name);
            prop_assert!(values(&told, size).iter().all(|it| *it == ranks.len().to_string()), "{}", size);
        }
    }

    #[test]
    fn everyone_is_told_the_same_world((plan, places) in any_gang()) {
        let told = all_told(&plan, &places);
        let shared = [
            "TRAINMASTER_CLUSTER", "CLUSTER_CONFIG", "WORKER_HOSTS", "PS_HOSTS", "MASTER_HOSTS", "MASTER_ADDR", "MASTER_PORT",
            "JAX_COORDINATOR_ADDRESS", "VC_WORKER_HOSTS", "MA_NUM_HOSTS", "workers", "gpus", "PAI_TASK_ROLE_LIST",
            "PAI_TASK_ROLE_worker_HOST_LIST", "PAI_TASK_ROLE_INSTANCES",
        ];
        for name in shared {
            prop_assert!(are_the_same(&values(&told, name)), "{} differs between tasks", name);
        }
        let hostfiles: Vec<&str> = told.iter().map(|peers| peers.files["hostfile"].as_str()).collect();
        prop_assert!(are_the_same(&hostfiles));
    }

    #[test]
    fn every_tf_config_agrees_and_puts_its_task_where_it_listens((plan, places) in any_gang()) {
        let told = all_told(&plan, &places);
        let configs = tf_configs(&told);
        prop_assert!(configs.windows(2).all(|pair| pair[0]["cluster"] == pair[1]["cluster"]));
        let mut seen = BTreeSet::new();
        for config in &configs {
            let (job, index) = (config["task"]["type"].as_str().unwrap(), config["task"]["index"].as_u64().unwrap() as usize);
            prop_assert!(seen.insert((job.to_owned(), index)), "two tasks are {}-{}", job, index);
            prop_assert_eq!(config["cluster"][job][index].is_string(), job != "evaluator", "{}-{}", job, index);
        }
        for (job, members) in configs.first().and_then(|it| it["cluster"].as_object()).into_iter().flatten() {
            prop_assert!(["chief", "worker", "ps"].contains(&job.as_str()), "TensorFlow does not know {}", job);
            prop_assert_eq!(members.as_array().unwrap().len(), seen.iter().filter(|(it, _)| it == job).count());
        }
    }

    #[test]
    fn whoever_meets_at_rank_0_finds_ports_of_its_own_there((plan, places) in any_gang()) {
        let told = all_told(&plan, &places);
        let Some(leader) = told.iter().find(|peers| peers.env.get("RANK").is_some_and(|rank| rank == "0")) else { return Ok(()) };
        let tail = |text: &str| text.rsplit(':').next().unwrap().to_owned();
        let torch = leader.env["MASTER_PORT"].clone();
        let jax = tail(&leader.env["JAX_COORDINATOR_ADDRESS"]);
        prop_assert_ne!(&torch, &jax);
        for member in tf_configs(&told).iter().flat_map(|it| it["cluster"].as_object().unwrap().values().flat_map(|list| list.as_array().unwrap())) {
            let port = tail(member.as_str().unwrap());
            prop_assert!(port != torch && port != jax, "{} is taken twice", port);
        }
    }
}

#[test]
fn a_thousand_tasks_are_told_in_a_moment() {
    let (_, plan) =
        from_text("{name: big, roles: {ps: {command: x, tasks: 100}, worker: {command: x, tasks: 900}}}", &HouseRules::default()).unwrap();
    let places = places(&plan, 3);
    let begun = std::time::Instant::now();
    let rendezvous = Rendezvous::new(gang(&plan, &places));
    let bytes = |peers: &Peers| peers.env.iter().map(|(name, value)| name.len() + value.len()).sum::<usize>();
    let sizes: Vec<usize> = tasks(&plan).iter().map(|task| bytes(&rendezvous.of(task).expect("a task of the plan"))).collect();
    let took = begun.elapsed();
    // The kernel takes two megabytes of arguments and environment; one at a time is what we hold.
    let most = sizes.iter().max().unwrap();
    assert!(*most < 200_000, "{most} bytes for one task");
    assert!(took.as_secs() < 20, "{took:?} for a thousand tasks");
    println!("{most} bytes for a task, {took:?} for all");
}
