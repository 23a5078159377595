//! Variables that only this file knows. All others about the job and its tasks come from the convention `pai_v2`,
//! and these win over it.

use std::collections::BTreeMap;

use super::{
    job::{DEFAULT_CLUSTER, Job, stripped},
    role::Facts,
};

pub(super) fn of(job: &Job<'_>, roles: &[Facts], has_more_roles: bool) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    if job.virtual_cluster != DEFAULT_CLUSTER {
        // The second name is only in the manual (hazard H9), and some read it from there.
        env.extend(["PAI_VIRTUAL_CLUSTER", "PAI_JOB_VC_NAME"].map(|key| (key.to_owned(), job.virtual_cluster.clone())));
    }
    for Facts { name, resources: it, .. } in roles {
        // The plan does not tell 512 MB that were asked for from 512 MB that were not (hazard H10), nor no limit from the usual one.
        if it.shm_mb == 512 || it.cpu == 0 || it.memory_mb == 0 {
            env.insert(format!("PAI_RESOURCE_{name}"), format!("{},{},{},{}", it.gpu, it.cpu, it.memory_mb, it.shm_mb));
        }
    }
    if has_more_roles {
        env.extend(counts(roles));
    }
    env
}

/// A role that we add is none of the job's own, and must not be counted by it.
fn counts(roles: &[Facts]) -> Vec<(String, String)> {
    let names: Vec<&str> = roles.iter().map(|role| role.name.as_str()).collect();
    let tasks: u64 = roles.iter().map(|role| u64::from(role.instances)).sum();
    let same = |keys: &[&str], value: String| keys.iter().map(|key| ((*key).to_owned(), value.clone())).collect::<Vec<_>>();
    let spelled = |name: &str| Some(stripped(name)).filter(|it| !it.is_empty()).unwrap_or_else(|| name.to_owned());
    let instances = roles.iter().flat_map(|role| (0..role.instances).map(move |index| format!("{}:{index}", spelled(&role.name))));
    [
        same(&["PAI_TASK_ROLE_INSTANCES"], instances.collect::<Vec<_>>().join(",")),
        same(&["PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"], roles.len().to_string()),
        same(&["PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"], names.join(",")),
        same(&["PAI_TASKS_NUM", "PAI_JOB_TASK_COUNT"], tasks.to_string()),
    ]
    .concat()
}
