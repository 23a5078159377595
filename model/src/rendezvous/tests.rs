use super::*;
use crate::plan::{HouseRules, from_text};

mod pai;

fn plan(text: &str) -> Plan {
    from_text(text, &HouseRules::default()).unwrap_or_else(|problems| panic!("{problems:?}")).1
}

/// Everyone on a node of its own, with the ports that placing would give out.
fn places(plan: &Plan) -> Vec<Place> {
    let mut places = Vec::new();
    let mut next = 20_001;
    for role in &plan.roles {
        for index in 0..role.tasks {
            let task = TaskName { role: role.name.clone(), index };
            let mut given = BTreeMap::new();
            for (label, wanted) in ports(plan, &task) {
                let first = wanted.from.unwrap_or(next);
                given.insert(label, (first..first + wanted.count as u16).collect());
                next += wanted.count as u16;
            }
            let devices = role.resources.accelerators.iter().map(|(kind, count)| (kind.clone(), (0..*count).collect()));
            let address = format!("127.0.0.{}", places.len() + 2);
            places.push(Place { role: task.role, index, address, ports: given, devices: devices.collect() });
        }
    }
    places
}

fn gang<'a>(plan: &'a Plan, places: &'a [Place]) -> Gang<'a> {
    Gang { owner: "ann", job: JobId::new(1, &[0; 10]), name: &plan.name, version: 3, attempt: 2, job_attempt: 2, plan, places }
}

fn told(text: &str, task: &str) -> Peers {
    let plan = plan(text);
    Rendezvous::new(gang(&plan, &places(&plan))).of(&task.parse().unwrap()).unwrap()
}

/// As a person would see it: without what every task has.
fn shown(text: &str, task: &str) -> String {
    let peers = told(text, task);
    let is_new = |name: &&String| !name.ends_with("_VISIBLE_DEVICES") && *name != "CUDA_DEVICE_ORDER" && !name.starts_with("TRAINMASTER_");
    let mut lines: Vec<String> = peers.env.iter().filter(|it| is_new(&it.0)).map(|(name, value)| format!("{name}={value}")).collect();
    lines.extend(peers.paths.iter().filter(|it| is_new(&it.0)).map(|(name, path)| format!("{name}={path}")));
    lines.sort();
    lines.extend(peers.files.iter().map(|(name, text)| format!("--- {name}\n{text}")));
    lines.join("\n")
}

fn three_roles(convention: &str) -> String {
    format!(
        "{{name: digits, conventions: [{convention}], roles: {{ps: {{command: x}}, worker: {{command: x, tasks: 2}}, chief: {{command: x}}}}}}"
    )
}

#[test]
fn every_task_learns_where_its_peers_are() {
    let text = "{name: digits, conventions: [], roles: {ps: {command: x, ports: [grpc]}, worker: {command: x, tasks: 2, ports: {grpc: 1, web-api: 2}}, eye: {command: x}}}";
    let env = told(text, "worker-1").env;
    let lines: Vec<String> = env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    ASCEND_VISIBLE_DEVICES=
    CUDA_DEVICE_ORDER=PCI_BUS_ID
    CUDA_VISIBLE_DEVICES=
    NVIDIA_VISIBLE_DEVICES=none
    TRAINMASTER_ATTEMPT=2
    TRAINMASTER_CLUSTER={"ps":["127.0.0.2:20001"],"worker":["127.0.0.3:20002","127.0.0.4:20005"],"eye":["127.0.0.5"]}
    TRAINMASTER_JOB=digits@3
    TRAINMASTER_JOB_ID=job-00000000000170008000000000000000
    TRAINMASTER_PORTS_GRPC=20005
    TRAINMASTER_PORTS_WEB_API=20006,20007
    TRAINMASTER_ROLE=worker
    TRAINMASTER_TASK_INDEX=1
    "#);
}

#[test]
fn tensorflow_has_its_cluster_and_the_task_s_own_place_in_it() {
    insta::assert_snapshot!(shown(&three_roles("tf_config"), "worker-1"), @r#"
    TF_CONFIG={"cluster":{"chief":["127.0.0.5:20004"],"ps":["127.0.0.2:20001"],"worker":["127.0.0.3:20002","127.0.0.4:20003"]},"task":{"type":"worker","index":1}}
    "#);
    insta::assert_snapshot!(shown(&three_roles("tf_config"), "ps-0"), @r#"
    TF_CONFIG={"cluster":{"chief":["127.0.0.5:20004"],"ps":["127.0.0.2:20001"],"worker":["127.0.0.3:20002","127.0.0.4:20003"]},"task":{"type":"ps","index":0}}
    "#);
}

#[test]
fn the_samples_of_aliyun_find_their_lists() {
    insta::assert_snapshot!(shown(&three_roles("cluster_config"), "worker-1"), @r#"
    CHIEF_HOSTS=127.0.0.5:20004
    CLUSTER_CONFIG={'ps': ['127.0.0.2:20001'], 'worker': ['127.0.0.3:20002', '127.0.0.4:20003'], 'chief': ['127.0.0.5:20004']}
    JOB_NAME=worker
    POD_NAME=worker-1
    PS_HOSTS=127.0.0.2:20001
    TASK_INDEX=1
    WORKER_HOSTS=127.0.0.3:20002,127.0.0.4:20003
    "#);
    insta::assert_snapshot!(shown(&three_roles("cluster_config"), "ps-0"), @r#"
    CHIEF_HOSTS=127.0.0.5:20004
    CLUSTER_CONFIG={'ps': ['127.0.0.2:20001'], 'worker': ['127.0.0.3:20002', '127.0.0.4:20003'], 'chief': ['127.0.0.5:20004']}
    JOB_NAME=ps
    POD_NAME=ps-0
    PS_HOSTS=127.0.0.2:20001
    TASK_INDEX=0
    WORKER_HOSTS=127.0.0.3:20002,127.0.0.4:20003
    "#);
}

#[test]
fn pytorch_has_its_ranks_and_torchrun_its_meeting_point() {
    insta::assert_snapshot!(shown(&three_roles("torch"), "worker-1"), @r#"
    GROUP_RANK=2
    LOCAL_RANK=0
    LOCAL_WORLD_SIZE=1
    MASTER_ADDR=127.0.0.5
    MASTER_PORT=20001
    NODE_RANK=2
    PET_MASTER_ADDR=127.0.0.5
    PET_MASTER_PORT=20001
    PET_NNODES=3
    PET_NODE_RANK=2
    PET_NPROC_PER_NODE=1
    PET_RDZV_BACKEND=static
    PET_RDZV_ENDPOINT=127.0.0.5:20001
    PET_RDZV_ID=job-00000000000170008000000000000000-2
    RANK=2
    WORLD_SIZE=3
    "#);
    assert_eq!(shown(&three_roles("torch"), "ps-0"), "", "a parameter server has no rank");
}

#[test]
fn jax_has_its_coordinator() {
    insta::assert_snapshot!(shown(&three_roles("jax"), "worker-1"), @r#"
    JAX_COORDINATOR_ADDRESS=127.0.0.5:20001
    JAX_NUM_PROCESSES=3
    JAX_PROCESS_COUNT=3
    JAX_PROCESS_ID=2
    JAX_PROCESS_INDEX=2
    "#);
    assert_eq!(shown(&three_roles("jax"), "ps-0"), "", "a parameter server has no rank");
}

#[test]
fn mpi_has_a_host_file_of_tasks() {
    insta::assert_snapshot!(shown(&three_roles("mpi"), "worker-1"), @r#"
    OMPI_MCA_orte_default_hostfile=/peers/hostfile
    PRTE_MCA_prte_default_hostfile=/peers/hostfile
    --- hostfile
    chief-0 slots=1
    worker-0 slots=1
    worker-1 slots=1
    "#);
}

#[test]
fn modelarts_scripts_count_their_hosts() {
    insta::assert_snapshot!(shown(&three_roles("modelarts"), "worker-1"), @r#"
    BATCH_CUSTOM0_HOSTS=127.0.0.5:20001
    DLS_APP_URL=/code
    DLS_DATA_URL=/input
    DLS_TASK_INDEX=2
    DLS_TASK_NUMBER=3
    DLS_TRAIN_URL=/output
    MA_CURRENT_INSTANCE_NAME=digits-3-worker-2
    MA_CURRENT_IP=127.0.0.4
    MA_JOB_DIR=/code
    MA_NUM_GPUS=0
    MA_NUM_HOSTS=3
    MA_TASK_INDEX=2
    MA_TASK_NAME=worker
    MA_VJ_NAME=digits-3
    VC_PS_HOSTS=127.0.0.2
    VC_PS_NUM=1
    VC_TASK_INDEX=2
    VC_WORKER_HOSTS=127.0.0.5,127.0.0.3,127.0.0.4
    VC_WORKER_NUM=3
    "#);
}

#[test]
fn arena_s_commands_can_multiply() {
    insta::assert_snapshot!(shown(&three_roles("arena"), "worker-1"), @r#"
    gpus=0
    workers=2
    "#);
}

#[test]
fn an_evaluator_knows_the_cluster_and_is_not_in_it() {
    let text = "{name: a, conventions: [tf_config], roles: {evaluator: {command: x}, Worker: {command: x}, master: {command: x}, tensorboard: {command: x}}}";
    insta::assert_snapshot!(shown(text, "evaluator-0"), @r#"
    TF_CONFIG={"cluster":{"chief":["127.0.0.4:20003"],"worker":["127.0.0.3:20002"]},"task":{"type":"evaluator","index":0}}
    "#);
    insta::assert_snapshot!(shown(text, "master-0"), @r#"
    TF_CONFIG={"cluster":{"chief":["127.0.0.4:20003"],"worker":["127.0.0.3:20002"]},"task":{"type":"chief","index":0}}
    "#);
    assert_eq!(shown(text, "tensorboard-0"), "");
}

#[test]
fn where_nobody_is_called_worker_everyone_with_a_rank_is_one() {
    let text = "{name: a, conventions: [tf_config], roles: {ps: {command: x}, left: {command: x}, right: {command: x}}}";
    insta::assert_snapshot!(shown(text, "right-0"), @r#"
    TF_CONFIG={"cluster":{"ps":["127.0.0.2:20001"],"worker":["127.0.0.3:20002","127.0.0.4:20003"]},"task":{"type":"worker","index":1}}
    "#);
}

#[test]
fn a_name_that_programs_would_cut_in_the_wrong_place_is_written_otherwise() {
    let text = "{name: a, conventions: [cluster_config], roles: {parameter-server: {command: x}, worker: {command: x, tasks: 2}}}";
    insta::assert_snapshot!(shown(text, "parameter-server-0"), @r#"
    CLUSTER_CONFIG={'parameter_server': ['127.0.0.2:20001'], 'worker': ['127.0.0.3:20002', '127.0.0.4:20003']}
    JOB_NAME=parameter_server
    PARAMETER_SERVER_HOSTS=127.0.0.2:20001
    POD_NAME=parameter_server-0
    TASK_INDEX=0
    WORKER_HOSTS=127.0.0.3:20002,127.0.0.4:20003
    "#);
}

#[test]
fn a_launcher_starts_ranks_and_is_none() {
    let text =
        "{name: a, conventions: [mpi, arena], roles: {worker: {command: x, tasks: 2, accelerators: {A100: 4}}, launcher: {command: x}}}";
    insta::assert_snapshot!(shown(text, "launcher-0"), @r#"
    OMPI_MCA_orte_default_hostfile=/peers/hostfile
    PRTE_MCA_prte_default_hostfile=/peers/hostfile
    gpus=4
    workers=2
    --- hostfile
    worker-0 slots=4
    worker-1 slots=4
    "#);
}

#[test]
fn ascend_devices_are_ranks_and_other_devices_are_not() {
    let text = "{name: a, conventions: [ascend], roles: {worker: {command: x, tasks: 2, accelerators: {Ascend910: 2, A100: 1}}, ps: {command: x}}}";
    insta::assert_snapshot!(shown(text, "worker-1"), @r#"
    ASCEND_DEVICE_ID=0
    RANK_ID=2
    RANK_SIZE=4
    RANK_TABLE_FILE=/peers/rank_table.json
    --- rank_table.json
    {"version":"1.0","server_count":"2","server_list":[{"server_id":"127.0.0.2","device":[{"device_id":"0","rank_id":"0"},{"device_id":"1","rank_id":"1"}]},{"server_id":"127.0.0.3","device":[{"device_id":"0","rank_id":"2"},{"device_id":"1","rank_id":"3"}]}],"status":"completed"}
    "#);
    assert_eq!(shown(text, "ps-0"), "");
    assert_eq!(shown(&three_roles("ascend"), "worker-1"), "", "nobody has such a device");
}

#[test]
fn a_task_that_is_alone_is_a_world_of_one() {
    let text = "{name: a, conventions: [tf_config, torch, jax], roles: {main: {command: x, accelerators: 2}}}";
    insta::assert_snapshot!(shown(text, "main-0"), @r#"
    GROUP_RANK=0
    JAX_COORDINATOR_ADDRESS=127.0.0.2:20002
    JAX_COORDINATOR_BIND_ADDRESS=127.0.0.2:20002
    JAX_NUM_PROCESSES=1
    JAX_PROCESS_COUNT=1
    JAX_PROCESS_ID=0
    JAX_PROCESS_INDEX=0
    LOCAL_RANK=0
    LOCAL_WORLD_SIZE=1
    MASTER_ADDR=127.0.0.2
    MASTER_PORT=20003
    NODE_RANK=0
    PET_MASTER_ADDR=127.0.0.2
    PET_MASTER_PORT=20003
    PET_NNODES=1
    PET_NODE_RANK=0
    PET_NPROC_PER_NODE=2
    PET_RDZV_BACKEND=static
    PET_RDZV_ENDPOINT=127.0.0.2:20003
    PET_RDZV_ID=job-00000000000170008000000000000000-2
    RANK=0
    TF_CONFIG={"cluster":{"worker":["127.0.0.2:20001"]},"task":{"type":"worker","index":0}}
    WORLD_SIZE=1
    "#);
    assert_eq!(shown("{name: a, roles: {main: {command: x}}}", "main-0"), "", "nobody asked");
}

#[test]
fn a_port_of_the_job_file_is_used_where_it_says_what_it_is_for() {
    let role = |ports: &str| format!("{{name: a, conventions: [tf_config, torch, jax], roles: {{w: {{command: x, ports: {ports}}}}}}}");
    let used = |ports: &str| {
        let env = told(&role(ports), "w-0").env;
        let tf: serde_json::Value = serde_json::from_str(&env["TF_CONFIG"]).unwrap();
        let tf = tf["cluster"]["worker"][0].as_str().unwrap().to_owned();
        let jax = &env["JAX_COORDINATOR_ADDRESS"];
        [&tf, &env["MASTER_PORT"], jax].map(|it| it.rsplit(':').next().unwrap().to_owned()).join(" ")
    };
    assert_eq!(used("{grpc: {from: 8000}, a: {from: 1}}"), "8000 20004 20003", "grpc before others");
    assert_eq!(used("{b: {from: 8001}, http: {from: 9000}}"), "9000 20004 20003");
    assert_eq!(used("{b: {from: 8001}, ssh: {from: 22}}"), "8001 20004 20002");
    assert_eq!(used("{ssh: {from: 22}, TensorBoard: {from: 6006}}"), "20002 20005 20003", "a port of our own");
    assert_eq!(used("{torch: {from: 29500}, JAX: {from: 1234}}"), "20002 29500 1234");
}

#[test]
fn the_job_file_s_own_variables_win_over_every_convention_but_ours() {
    let text = "{name: a, conventions: [torch, mpi, pai_v1], env: {MASTER_PORT: '1', PAI_DATA_DIR: /mine}, roles: {w: {command: x, env: {CUDA_VISIBLE_DEVICES: '7'}}}}";
    let peers = told(text, "w-0");
    assert_eq!((&*peers.env["MASTER_PORT"], &*peers.env["CUDA_VISIBLE_DEVICES"], &*peers.env["PAI_DATA_DIR"]), ("1", "7", "/mine"));
    assert!(!peers.paths.contains_key("PAI_DATA_DIR") && peers.paths.contains_key("PAI_OUTPUT_DIR"));
}

#[test]
fn a_job_that_waits_has_words_where_addresses_will_be() {
    let plan = plan(
        "{name: a, conventions: [tf_config, torch, ascend], secrets: {key: hush-hush}, env: {KEY: 'is {{ secrets.key }}'}, roles: {w: {command: x, tasks: 2, ports: {grpc: 1, x: 2}, accelerators: {npu: 1}}}}",
    );
    let peers = Rendezvous::imagined(gang(&plan, &[])).of(&"w-1".parse().unwrap()).unwrap().shown();
    let lines: Vec<String> =
        peers.env.iter().filter(|(name, _)| !name.starts_with("PET_")).map(|(name, value)| format!("{name}={value}")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
    ASCEND_DEVICE_ID=<npu 0 of w-1>
    ASCEND_VISIBLE_DEVICES=<npu 0 of w-1>
    CUDA_DEVICE_ORDER=PCI_BUS_ID
    CUDA_VISIBLE_DEVICES=
    GROUP_RANK=1
    KEY=is {{ secrets.key }}
    LOCAL_RANK=0
    LOCAL_WORLD_SIZE=1
    MASTER_ADDR=<address of w-0>
    MASTER_PORT=<torch port of w-0>
    NODE_RANK=1
    NVIDIA_VISIBLE_DEVICES=none
    RANK=1
    RANK_ID=1
    RANK_SIZE=2
    TF_CONFIG={"cluster":{"worker":["<address of w-0>:<grpc port of w-0>","<address of w-1>:<grpc port of w-1>"]},"task":{"type":"worker","index":1}}
    TRAINMASTER_ATTEMPT=2
    TRAINMASTER_CLUSTER={"w":["<address of w-0>:<grpc port of w-0>","<address of w-1>:<grpc port of w-1>"]}
    TRAINMASTER_DEVICES_NPU=<npu 0 of w-1>
    TRAINMASTER_JOB=a@3
    TRAINMASTER_JOB_ID=job-00000000000170008000000000000000
    TRAINMASTER_PORTS_GRPC=<grpc port of w-1>
    TRAINMASTER_PORTS_X=<x port 0 of w-1>,<x port 1 of w-1>
    TRAINMASTER_ROLE=w
    TRAINMASTER_TASK_INDEX=1
    WORLD_SIZE=2
    "#);
    insta::assert_snapshot!(peers.files["rank_table.json"], @r#"
    {"version":"1.0","server_count":"2","server_list":[{"server_id":"<address of w-0>","device":[{"device_id":"<npu 0 of w-0>","rank_id":"0"}]},{"server_id":"<address of w-1>","device":[{"device_id":"<npu 0 of w-1>","rank_id":"1"}]}],"status":"completed"}
    "#);
}

/// Of the only task of a job, which was given these devices.
fn with_devices(devices: &[(&str, &[u32])]) -> String {
    let plan = plan("{name: a, conventions: [], roles: {w: {command: x}}}");
    let mut places = places(&plan);
    places[0].devices = devices.iter().map(|(kind, indices)| (kind.to_string(), indices.to_vec())).collect();
    let env = Rendezvous::new(gang(&plan, &places)).of(&"w-0".parse().unwrap()).unwrap().env;
    let said = env.iter().filter(|(name, _)| name.contains("DEVICE"));
    said.map(|(name, value)| format!("{name}={value}\n")).collect()
}

#[test]
fn the_variables_of_each_maker_name_its_own_devices_and_no_other_s() {
    insta::assert_snapshot!(with_devices(&[("T4", &[0]), ("A100", &[10, 2]), ("Ascend910", &[1])]), @"
    ASCEND_VISIBLE_DEVICES=1
    CUDA_DEVICE_ORDER=PCI_BUS_ID
    CUDA_VISIBLE_DEVICES=0,2,10
    NVIDIA_VISIBLE_DEVICES=0,2,10
    TRAINMASTER_DEVICES_A100=10,2
    TRAINMASTER_DEVICES_ASCEND910=1
    TRAINMASTER_DEVICES_T4=0
    ");
    insta::assert_snapshot!(with_devices(&[("MI300X", &[3]), ("FPGA", &[0])]), @"
    ASCEND_VISIBLE_DEVICES=
    CUDA_DEVICE_ORDER=PCI_BUS_ID
    CUDA_VISIBLE_DEVICES=
    HIP_VISIBLE_DEVICES=3
    NVIDIA_VISIBLE_DEVICES=none
    TRAINMASTER_DEVICES_FPGA=0
    TRAINMASTER_DEVICES_MI300X=3
    ");
}

#[test]
fn an_address_with_colons_is_told_from_its_port() {
    let plan = plan("{name: a, conventions: [torch], roles: {w: {command: x, ports: [grpc]}}}");
    let mut places = places(&plan);
    places[0].address = "::1".into();
    let env = Rendezvous::new(gang(&plan, &places)).of(&"w-0".parse().unwrap()).unwrap().env;
    assert_eq!(env["TRAINMASTER_CLUSTER"], r#"{"w":["[::1]:20001"]}"#);
    assert_eq!((&*env["MASTER_ADDR"], &*env["PET_RDZV_ENDPOINT"]), ("::1", "[::1]:20002"));
}
