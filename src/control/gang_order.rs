//! What a task's order says about its gang.

use std::collections::BTreeMap;

use model::{
    gang::{LAUNCH_LABEL, stands_back_ms},
    order::{GangOrder, LaunchOrder, RunOrder},
};

use crate::{
    run_token::RunSecret,
    store::{jobs::Job, runs::Run},
};

/// Adds what the order of a task that begins together with others needs to know of them.
pub fn complete(order: RunOrder, job: &Job, gang: &[Run], secret: &RunSecret) -> RunOrder {
    if !job.plan.begins_together() {
        return order;
    }
    let addresses = gang.iter().map(|run| (run.run.task.to_string(), run.address.clone())).collect();
    let launch = launch(&order, gang, || secret.gang_key(job.id, order.run.attempt));
    let back_ms = stands_back_ms(&job.plan, &order.run.task);
    RunOrder { gang: Some(GangOrder { timeout_ms: job.plan.gang_timeout_ms, back_ms, addresses, launch }), ..order }
}

/// Only a task that was given a port for it can be reached.
fn launch(order: &RunOrder, gang: &[Run], key: impl FnOnce() -> String) -> Option<LaunchOrder> {
    let port = |run: &Run| Some((run.run.task.to_string(), *run.ports.get(LAUNCH_LABEL)?.first()?));
    let ports: BTreeMap<String, u16> = gang.iter().filter_map(port).collect();
    Some(LaunchOrder { port: *ports.get(&order.run.task.to_string())?, ports, key: key() })
}
