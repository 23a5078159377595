//! `--dry-run --debug`: every task that would be made and what it would be told, with words where
//! addresses and ports will be.

use std::{collections::BTreeMap, fmt};

use model::{
    ids::{JobId, TaskName},
    plan::{HouseRules, PlanView, RoleView, compile},
    rendezvous::{Gang, Peers, Rendezvous},
    spec::JobSpec,
};
use serde::Serialize;

use crate::cli::terminal::plain;

#[derive(Serialize)]
pub struct Made {
    tasks: Vec<Task>,
}

#[derive(Serialize)]
struct Task {
    name: String,
    image: Option<String>,
    /// The job's own variables and those of every convention.
    env: BTreeMap<String, String>,
    /// What the task finds in `/peers`, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    files: BTreeMap<String, String>,
    script: String,
}

impl Made {
    /// None where only the server's own rules make a plan of the spec.
    pub fn of(spec: &JobSpec) -> Option<Self> {
        const NOBODY_YET: &str = "owner";
        let plan = compile(spec, &HouseRules::default()).ok()?;
        let job = JobId::new(0, &[0; 10]);
        let gang = Gang { owner: NOBODY_YET, job, name: &plan.name, version: 1, attempt: 1, job_attempt: 1, plan: &plan, places: &[] };
        let rendezvous = Rendezvous::imagined(gang);
        let mut tasks = Vec::new();
        for (role, view) in plan.roles.iter().zip(PlanView::from(&plan).roles) {
            for index in 0..role.tasks {
                let name = TaskName { role: role.name.clone(), index };
                let peers = rendezvous.of(&name).unwrap_or_default().shown();
                tasks.push(task(name.to_string(), &view, peers));
            }
        }
        Some(Self { tasks })
    }
}

fn task(name: String, role: &RoleView, peers: Peers) -> Task {
    let mut env = peers.env;
    env.extend(peers.paths);
    Task { name, image: role.image.clone(), env, files: peers.files, script: role.script.clone() }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nwould be made:")?;
        self.tasks.iter().try_for_each(|task| write!(f, "{task}"))
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.name)?;
        if let Some(image) = &self.image {
            writeln!(f, "    image    {}", plain(image))?;
        }
        for (name, value) in &self.env {
            writeln!(f, "    env      {name}={}", plain(value))?;
        }
        for (name, text) in &self.files {
            several(f, &format!("file     {name}: "), text)?;
        }
        several(f, "script   ", &self.script)
    }
}

/// Further lines stand under the first.
fn several(f: &mut fmt::Formatter<'_>, head: &str, text: &str) -> fmt::Result {
    for (at, line) in text.lines().enumerate() {
        let head = if at == 0 { head.to_owned() } else { " ".repeat(head.chars().count()) };
        writeln!(f, "    {head}{}", plain(line))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_is_told_with_words_for_what_is_not_known_yet() {
        let text = "name: a\nconventions: [tf_config]\nenv: {A: b}\nsecrets: {key: s3cret}\nroles:\n  ps: {command: serve, image: me/tf, \
                    ports: [grpc]}\n  worker: {tasks: 2, ports: [grpc], command: \"cd /code\\npython3 train.py {{ secrets.key }}\"}\n";
        let made = Made::of(&model::spec::read(text).unwrap()).unwrap().to_string();
        let worker = made.split("  worker-1\n").nth(1).unwrap();
        insta::assert_snapshot!(worker, @r#"
        env      A=b
        env      ASCEND_VISIBLE_DEVICES=
        env      CUDA_DEVICE_ORDER=PCI_BUS_ID
        env      CUDA_VISIBLE_DEVICES=
        env      NVIDIA_VISIBLE_DEVICES=none
        env      TF_CONFIG={"cluster":{"ps":["<address of ps-0>:<grpc port of ps-0>"],"worker":["<address of worker-0>:<grpc port of worker-0>","<address of worker-1>:<grpc port of worker-1>"]},"task":{"type":"worker","index":1}}
        env      TRAINMASTER_ATTEMPT=1
        env      TRAINMASTER_CLUSTER={"ps":["<address of ps-0>:<grpc port of ps-0>"],"worker":["<address of worker-0>:<grpc port of worker-0>","<address of worker-1>:<grpc port of worker-1>"]}
        env      TRAINMASTER_JOB=a@1
        env      TRAINMASTER_JOB_ID=job-00000000000070008000000000000000
        env      TRAINMASTER_PORTS_GRPC=<grpc port of worker-1>
        env      TRAINMASTER_ROLE=worker
        env      TRAINMASTER_TASK_INDEX=1
        script   cd /code
                 python3 train.py {{ secrets.key }}
        "#);
        assert!(made.starts_with("\nwould be made:\n  ps-0\n    image    me/tf\n") && !made.contains("s3cret"), "{made}");
    }
}
