//! Variables that only this file knows. All others about the job and its tasks come from the convention `pai_v2`.

use std::collections::BTreeMap;

use super::{job::Job, role::Facts};

pub(super) fn of(job: &Job<'_>, roles: &[Facts], user: Option<&str>, has_more_roles: bool) -> BTreeMap<String, String> {
    let mut env =
        BTreeMap::from([("PAI_VIRTUAL_CLUSTER".to_owned(), job.virtual_cluster.clone()), ("PAI_DEFAULT_FS_URI".to_owned(), String::new())]);
    for Facts { name, resources: it, .. } in roles {
        env.insert(format!("PAI_RESOURCE_{name}"), format!("{},{},{},{}", it.gpu, it.cpu, it.memory_mb, it.shm_mb));
    }
    // The job's name there is `user~job` (hazard H2), as the file spells it.
    if let (Some(user), Some(name)) = (user, job.written_name()) {
        for key in ["PAI_USER_NAME", "PAI_USERNAME"] {
            env.insert(key.to_owned(), user.to_owned());
        }
        for key in ["PAI_JOB_NAME", "PAI_FRAMEWORK_NAME"] {
            env.insert(key.to_owned(), format!("{user}~{name}"));
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
    [
        same(&["PAI_TASK_ROLE_COUNT", "PAI_TASK_ROLES_NUM", "PAI_JOB_TASK_ROLE_COUNT"], roles.len().to_string()),
        same(&["PAI_TASK_ROLE_LIST", "PAI_JOB_TASK_ROLE_LIST"], names.join(",")),
        same(&["PAI_TASKS_NUM", "PAI_JOB_TASK_COUNT"], tasks.to_string()),
    ]
    .concat()
}
