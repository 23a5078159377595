//! Job files of OpenPAI, run as they are: nothing in them is changed, and only the image is not there.

use serde_json::Value;

use crate::house::House;

/// A parameter server and two workers, with comments and commas as people keep them.
const V1: &str = r#"{
  // Who trains what
  "jobName": "tf-distributed",
  "image": "example/pai.run.tensorflow",
  "dataDir": "$PAI_DEFAULT_FS_URI/data",
  "retryCount": 0,
  "taskRoles": [
    {
      "name": "ps_server",
      "taskNumber": 1, "cpuNumber": 1, "memoryMB": "128", "gpuNumber": 0,
      "command": "echo serving $PAI_TASK_ROLE_ps_server_HOST_LIST; sleep 600",
    },
    {
      "name": "worker",
      "taskNumber": 2, "cpuNumber": 1, "memoryMB": 128, "gpuNumber": 0,
      "portList": [{"label": "model_server", "beginAt": 0, "portNumber": 2}],
      "command": "false\necho $PAI_JOB_NAME $PAI_CURRENT_TASK_ROLE_NAME $PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX of $PAI_TASK_ROLE_TASK_COUNT_worker\necho ps=$PAI_TASK_ROLE_ps_server_HOST_LIST ip=$PAI_HOST_IP_ps_server_0 list=$PAI_TASK_ROLE_LIST $UNSET",
      "minFailedTaskCount": 1,
      "minSucceededTaskCount": 2
    },
  ]
}
"#;

const V2: &str = r#"protocolVersion: 2
name: digits_v2
type: job
jobRetryCount: 0
prerequisites:
  - protocolVersion: 2
    name: image
    type: dockerimage
    uri: example/pytorch
  - name: corpus
    type: data
    uri: [/first, /second]
parameters:
  lr: 1.0
  epochs: 3
secrets:
  key: s3cret
taskRoles:
  worker:
    instances: 2
    dockerImage: image
    data: corpus
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0, ports: {tb: 1}}
    commands:
      - export RATE=<% $parameters.lr %>
      - echo rate=$RATE epochs=<% $parameters.epochs %> data=<% $data.uri[1] %> key=<% $secrets.key %> missing=<% $parameters.none %>.
      - echo $PAI_JOB_NAME $PAI_TASK_INDEX of $PAI_TASKS_NUM
  watcher:
    instances: 1
    dockerImage: image
    resourcePerInstance: {cpu: 1, memoryMB: 256, gpu: 0}
    commands: [sleep 600]
deployments:
  - name: prod
    taskRoles:
      worker:
        preCommands: [echo before]
        postCommands: [echo after]
defaults: {deployment: prod}
extras:
  submitFrom: submit-job-v2
  hivedScheduler: {jobPriorityClass: prod}
"#;

fn house() -> House {
    House::with_args(&["--nodes", "2", "--node-cpus", "4", "--node-memory", "4GiB"])
}

fn states(shown: &Value) -> String {
    let word = |run: &Value, key: &str| run[key].as_str().unwrap_or_default().to_owned();
    let mut states: Vec<String> =
        shown["runs"].as_array().unwrap().iter().map(|run| format!("{} {}", word(run, "task"), word(run, "state"))).collect();
    states.sort();
    states.join(", ")
}

fn port(shown: &Value, task: &str, label: &str) -> u64 {
    let runs = shown["runs"].as_array().unwrap();
    runs.iter().find(|run| run["task"] == task).unwrap()["ports"][label][0].as_u64().unwrap()
}

#[test]
fn a_v1_file_runs_as_it_is_and_its_workers_decide() {
    let house = house();
    let job = house.submit(V1);
    let shown = house.wait_for(&job, "succeeded");
    // 1.4 rule 5: whoever still runs is stopped, and that is no failure.
    assert_eq!(states(&shown), "ps_server-0 stopped, worker-0 succeeded, worker-1 succeeded");
    let log = house.log(&job, "worker-1");
    let address = shown["runs"].as_array().unwrap().iter().find(|run| run["task"] == "ps_server-0").unwrap()["node"].as_str().unwrap();
    assert!(["node-1", "node-2"].contains(&address));
    let (first, second) = log.trim_end().split_once('\n').expect("two lines: `false` ended nothing, H4");
    assert_eq!(first, "admin~tf-distributed worker 1 of 2", "H2");
    let list = second.strip_prefix("ps=").unwrap().split(' ').next().unwrap();
    let (ip, http) = list.split_once(':').unwrap();
    assert_eq!(http, port(&shown, "ps_server-0", "http").to_string());
    assert_eq!(second, format!("ps={list} ip={ip} list=ps_server,worker"), "both spellings of the role's name, H1");
}

#[test]
fn a_v2_file_runs_as_it_is_and_one_role_that_is_done_decides() {
    let house = house();
    let job = house.submit(V2);
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["priority"], 100);
    // 2.4: a role with all its instances succeeded ends the job.
    assert_eq!(states(&shown), "watcher-0 stopped, worker-0 succeeded, worker-1 succeeded");
    let log = house.log(&job, "worker-1");
    // H5: JavaScript prints 1.0 as 1. H6: with secrets, what nobody knows vanishes.
    assert_eq!(log, "before\nrate=1 epochs=3 data=/second key=s3cret missing=.\nadmin~digits_v2 1 of 3\nafter\n");
    assert!(!shown.to_string().contains("s3cret"), "{shown:#}");
}

#[test]
fn in_a_v2_file_the_first_command_that_fails_ends_the_task() {
    let house = house();
    for (command, code) in [("cat /no-such-file", 1), ("echo $NOBODY_SET_THIS", 1), ("exit 7 | cat", 7)] {
        let file = V2.replace("export RATE=<% $parameters.lr %>", command);
        let job = house.submit(&file);
        let shown = house.wait_for(&job, "failed");
        let failed = shown["runs"].as_array().unwrap().iter().find(|run| run["state"] == "failed").unwrap();
        assert_eq!(failed["exit_code"], code, "H4: {command}: {shown:#}");
        assert!(!house.log(&job, "worker-0").contains("after"), "{command}");
    }
}
