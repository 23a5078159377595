//! `--dry-run --debug`: every task that would be made, with names where addresses and ports will be.

use std::{collections::BTreeMap, fmt};

use model::{
    plan::{PlanView, PortView, RoleView},
    spec::Convention,
};
use serde::Serialize;

use crate::cli::terminal::plain;

#[derive(Serialize)]
pub struct Made {
    tasks: Vec<Task>,
    /// Where each role's tasks will find each other, in the order of their index.
    cluster: BTreeMap<String, Vec<String>>,
    /// The variables that tell a task about its peers, by convention.
    variables: BTreeMap<String, Vec<&'static str>>,
}

#[derive(Serialize)]
struct Task {
    name: String,
    address: String,
    /// Certain ports as they are; for any others a name.
    ports: BTreeMap<String, Vec<String>>,
    image: Option<String>,
    env: BTreeMap<String, String>,
    script: String,
}

impl Made {
    pub fn of(plan: &PlanView) -> Self {
        let of_role = |role: &RoleView| (0..role.tasks).map(|index| task(role, index)).collect::<Vec<_>>();
        let cluster = plan.roles.iter().map(|role| (role.name.clone(), of_role(role).iter().map(reached).collect()));
        let variables = plan.conventions.iter().filter_map(|name| Some((name.clone(), variables(Convention::from_text(name)?))));
        Self { tasks: plan.roles.iter().flat_map(of_role).collect(), cluster: cluster.collect(), variables: variables.collect() }
    }
}

fn task(role: &RoleView, index: u32) -> Task {
    let name = format!("{}-{index}", role.name);
    Task {
        address: format!("<{name}>"),
        ports: role.ports.iter().map(|(label, port)| (label.clone(), ports(label, port))).collect(),
        image: role.image.clone(),
        env: role.env.clone(),
        script: role.script.clone(),
        name,
    }
}

fn ports(label: &str, port: &PortView) -> Vec<String> {
    let number = |index: u32| match (port.from, port.count) {
        (Some(from), _) => (u32::from(from) + index).to_string(),
        (None, 1) => format!("<{label}>"),
        (None, _) => format!("<{label}.{index}>"),
    };
    (0..port.count).map(number).collect()
}

/// Its address and first port, as the others will be told.
fn reached(task: &Task) -> String {
    let first = task.ports.values().flatten().next();
    first.map_or(task.address.clone(), |port| format!("{}:{port}", task.address))
}

/// The main ones of each.
fn variables(convention: Convention) -> Vec<&'static str> {
    match convention {
        Convention::PaiV1 => vec!["PAI_TASK_ROLE_NAME", "PAI_CURRENT_TASK_ROLE_NAME", "PAI_CURRENT_TASK_ROLE_CURRENT_TASK_INDEX"],
        Convention::PaiV2 => vec!["PAI_TASK_INDEX", "PAI_HOST_IP_<role>_<index>", "PAI_PORT_LIST_<role>_<index>_<label>"],
        Convention::TfConfig => vec!["TF_CONFIG"],
        Convention::ClusterConfig => vec!["CLUSTER_CONFIG", "POD_NAME", "WORKER_HOSTS", "PS_HOSTS", "JOB_NAME", "TASK_INDEX"],
        Convention::Torch => vec!["MASTER_ADDR", "MASTER_PORT", "RANK", "LOCAL_RANK", "WORLD_SIZE", "NODE_RANK"],
        Convention::Jax => vec!["JAX_COORDINATOR_ADDRESS", "JAX_NUM_PROCESSES", "JAX_PROCESS_ID"],
        Convention::Mpi => vec!["OMPI_MCA_orte_default_hostfile"],
        Convention::Modelarts => vec!["MA_NUM_HOSTS", "VC_TASK_INDEX", "VC_WORKER_HOSTS", "MA_NUM_GPUS", "MA_TASK_NAME"],
        Convention::Arena => vec!["workers", "gpus"],
        Convention::Ascend => vec!["RANK_TABLE_FILE", "RANK_ID"],
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "\nwould be made:")?;
        self.tasks.iter().try_for_each(|task| write!(f, "{task}"))?;
        for (role, places) in &self.cluster {
            writeln!(f, "  {role} is found at {}", places.join(", "))?;
        }
        for (convention, variables) in &self.variables {
            writeln!(f, "  {convention} tells it by {}", variables.join(", "))?;
        }
        Ok(())
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "  {}", self.name)?;
        writeln!(f, "    address  {}", self.address)?;
        for (label, ports) in &self.ports {
            writeln!(f, "    port     {label}: {}", ports.join(", "))?;
        }
        if let Some(image) = &self.image {
            writeln!(f, "    image    {}", plain(image))?;
        }
        for (name, value) in &self.env {
            writeln!(f, "    env      {name}={}", plain(value))?;
        }
        for (at, line) in self.script.lines().enumerate() {
            writeln!(f, "    {:<8} {}", if at == 0 { "script" } else { "" }, plain(line))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use model::plan::{HouseRules, from_text};

    use super::*;

    #[test]
    fn every_task_is_told_with_names_for_what_is_not_known_yet() {
        let text = "name: a\nconventions: [tf_config]\nenv: {A: b}\nroles:\n  ps: {command: serve, image: me/tf, ports: {grpc: {from: 8000, count: 2}}}\n  worker: {tasks: 2, ports: [grpc], command: \"cd /code\\npython3 train.py\"}\n";
        let (_, plan) = from_text(text, &HouseRules::default()).unwrap();
        insta::assert_snapshot!(Made::of(&PlanView::from(&plan)).to_string(), @"

        would be made:
          ps-0
            address  <ps-0>
            port     grpc: 8000, 8001
            image    me/tf
            env      A=b
            script   serve
          worker-0
            address  <worker-0>
            port     grpc: <grpc>
            env      A=b
            script   cd /code
                     python3 train.py
          worker-1
            address  <worker-1>
            port     grpc: <grpc>
            env      A=b
            script   cd /code
                     python3 train.py
          ps is found at <ps-0>:8000
          worker is found at <worker-0>:<grpc>, <worker-1>:<grpc>
          tf_config tells it by TF_CONFIG
        ");
    }
}
