//! The set of the YAML jobs: the server's part, the runtime's part and the controller's part.

use super::{Amounts, Circle, Peer, Peers, RolePlan, Variables, each_spelling, of_every_task, of_myself, of_the_job, spellings, variables};
use crate::resources::MIB;

/// What a task had as shared memory when its job file did not say.
const SHARED_MEMORY_UNSAID_BYTES: u64 = 512 * MIB;

pub fn for_all(circle: &Circle<'_>) -> Variables {
    let gang = &circle.gang;
    let mut env = of_the_job(circle);
    let name = |peer: &Peer<'_>| spellings(peer.role)[0].clone();
    let instances = circle.peers.iter().map(|peer| format!("{}:{}", name(peer), peer.index));
    env.extend(variables([
        ("PAI_FRAMEWORK_NAME", format!("{}~{}", gang.owner, gang.name)),
        ("PAI_VIRTUAL_CLUSTER", "default".into()),
        // The manual has this name; the original never set it.
        ("PAI_JOB_VC_NAME", "default".into()),
        ("PAI_TASK_ROLE_INSTANCES", instances.collect::<Vec<_>>().join(",")),
        ("RUNTIME_LOG_PIPE", "/dev/stderr".into()),
        ("FC_FRAMEWORK_NAMESPACE", "default".into()),
        ("FC_FRAMEWORK_NAME", gang.job.to_string()),
        ("FC_FRAMEWORK_UID", gang.job.to_string()),
        ("FC_FRAMEWORK_ATTEMPT_ID", gang.job_attempt.saturating_sub(1).to_string()),
        ("FC_FRAMEWORK_ATTEMPT_INSTANCE_UID", format!("{}_{}", gang.job_attempt.saturating_sub(1), gang.job)),
        ("FC_CONFIGMAP_NAME", format!("{}-attempt", gang.job)),
        ("FC_CONFIGMAP_UID", format!("{}-attempt", gang.job)),
    ]));
    each_spelling(circle, |role, name| {
        env.insert(format!("PAI_RESOURCE_{name}"), resource(role));
        env.insert(format!("PAI_MIN_FAILED_TASK_COUNT_{name}"), least(role.completion.min_failed));
        env.insert(format!("PAI_MIN_SUCCEEDED_TASK_COUNT_{name}"), least(role.completion.min_succeeded));
    });
    env.extend(of_every_task(circle));
    env
}

pub fn tell(circle: &Circle<'_>, me: &Peer<'_>, peers: &mut Peers) {
    of_myself(me, peers);
    let [role, _] = spellings(me.role);
    let (job, attempt) = (circle.gang.job, circle.gang.attempt.saturating_sub(1));
    let again = circle.gang.attempt.saturating_sub(circle.gang.job_attempt);
    let task = format!("{job}-{role}-{}", me.index);
    peers.env.extend(variables([
        ("FC_TASKROLE_UID", format!("{job}-{role}")),
        ("FC_TASKROLE_NAME", role),
        ("FC_TASK_INDEX", me.index.to_string()),
        ("FC_TASK_UID", task.clone()),
        ("FC_TASK_ATTEMPT_ID", again.to_string()),
        ("FC_TASK_ATTEMPT_INSTANCE_UID", format!("{again}_{task}-{attempt}")),
        ("FC_POD_NAME", task.clone()),
        ("FC_POD_UID", format!("{task}-{attempt}")),
    ]));
}

/// `gpu,cpu,memory,shared memory`. The original said 0 for shared memory that a job file does not speak
/// of, though it gave 512 MB; who wrote exactly that much gets the same 0.
fn resource(role: &RolePlan) -> String {
    let it = Amounts::of(role);
    let unsaid = role.shared_memory_bytes == SHARED_MEMORY_UNSAID_BYTES;
    format!("{},{},{},{}", it.gpus, it.cpus, it.memory_mb, if unsaid { "0" } else { &it.shared_memory_mb })
}

/// Never is written as -1.
fn least(threshold: Option<u32>) -> String {
    threshold.map_or_else(|| "-1".into(), |count| count.to_string())
}
