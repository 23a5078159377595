//! The environment a task needs to find itself and its peers.

use std::collections::BTreeMap;

use crate::ids::{JobName, RoleName, RunKey};

/// Where one task of the gang can be reached.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub role: RoleName,
    pub index: u32,
    pub address: String,
    /// Ports by label, in the order they were given out.
    pub ports: BTreeMap<String, Vec<u16>>,
}

/// Our own convention. `TRAINMASTER_CLUSTER` is a JSON object: role → list of `address:port` in the
/// order of the task index, with each task's first port, or the bare address if it has none.
pub fn own(name: &JobName, version: u32, run: &RunKey, gang: &[Place]) -> BTreeMap<String, String> {
    let mut cluster: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for place in gang {
        let first = place.ports.values().flatten().next();
        let reached = first.map_or(place.address.clone(), |port| format!("{}:{port}", place.address));
        cluster.entry(place.role.as_str()).or_default().push(reached);
    }
    let mut env = BTreeMap::from([
        ("TRAINMASTER_JOB".into(), format!("{name}@{version}")),
        ("TRAINMASTER_JOB_ID".into(), run.job.to_string()),
        ("TRAINMASTER_ROLE".into(), run.task.role.to_string()),
        ("TRAINMASTER_TASK_INDEX".into(), run.task.index.to_string()),
        ("TRAINMASTER_ATTEMPT".into(), run.attempt.to_string()),
        ("TRAINMASTER_CLUSTER".into(), serde_json::to_string(&cluster).expect("a map of strings is JSON")),
    ]);
    let own_place = gang.iter().find(|place| place.role == run.task.role && place.index == run.task.index);
    for (label, ports) in own_place.into_iter().flat_map(|place| &place.ports) {
        let list: Vec<String> = ports.iter().map(u16::to_string).collect();
        env.insert(format!("TRAINMASTER_PORTS_{}", variable_name(label)), list.join(","));
    }
    env
}

/// A label as the tail of a variable's name: `http-api` → `HTTP_API`.
pub(crate) fn variable_name(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// The variables by which frameworks choose devices: the indices given to this task, or none at all,
/// so that a CPU task never takes a device it was not given.
pub fn devices(indices: &BTreeMap<String, Vec<u32>>) -> BTreeMap<String, String> {
    let list: Vec<String> = indices.values().flatten().map(u32::to_string).collect();
    let (visible, nvidia) = if list.is_empty() { (String::new(), "none".into()) } else { (list.join(","), list.join(",")) };
    BTreeMap::from([
        ("CUDA_VISIBLE_DEVICES".into(), visible.clone()),
        ("NVIDIA_VISIBLE_DEVICES".into(), nvidia),
        ("ASCEND_VISIBLE_DEVICES".into(), visible),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::JobId;

    #[test]
    fn every_task_learns_where_its_peers_are() {
        let place = |role: &str, index, port| Place {
            role: role.parse().unwrap(),
            index,
            address: "127.0.0.1".into(),
            ports: BTreeMap::from([("grpc".to_string(), vec![port])]),
        };
        let run = RunKey { job: JobId::new(1, &[0; 10]), task: "worker-1".parse().unwrap(), attempt: 2 };
        let env = own(&"digits".parse().unwrap(), 3, &run, &[place("ps", 0, 20001), place("worker", 0, 20002), place("worker", 1, 20003)]);
        let text: String = env.iter().map(|(key, value)| format!("{key}={value}\n")).collect();
        insta::assert_snapshot!(text, @r#"
        TRAINMASTER_ATTEMPT=2
        TRAINMASTER_CLUSTER={"ps":["127.0.0.1:20001"],"worker":["127.0.0.1:20002","127.0.0.1:20003"]}
        TRAINMASTER_JOB=digits@3
        TRAINMASTER_JOB_ID=job-00000000000170008000000000000000
        TRAINMASTER_PORTS_GRPC=20003
        TRAINMASTER_ROLE=worker
        TRAINMASTER_TASK_INDEX=1
        "#);
    }

    #[test]
    fn a_cpu_task_sees_no_device_and_a_device_task_only_its_own() {
        assert_eq!(devices(&BTreeMap::new())["NVIDIA_VISIBLE_DEVICES"], "none");
        assert_eq!(devices(&BTreeMap::new())["CUDA_VISIBLE_DEVICES"], "");
        let two = devices(&BTreeMap::from([("A100".to_string(), vec![1, 3])]));
        assert_eq!(two["CUDA_VISIBLE_DEVICES"], "1,3");
        assert_eq!(two["ASCEND_VISIBLE_DEVICES"], "1,3");
    }
}
