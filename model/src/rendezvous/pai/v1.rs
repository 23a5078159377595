//! The set of the JSON jobs, release upon release: nothing that a job file of any of them may read was
//! ever taken away. Only the class path is left out: there is no Hadoop here.

use super::{Amounts, Circle, Peer, Peers, RolePlan, Variables, each_spelling, host_list, of_every_task, of_myself, of_the_job, variables};

pub fn for_all(circle: &Circle<'_>) -> Variables {
    let gang = &circle.gang;
    let mut env = of_the_job(circle);
    env.extend(variables([
        ("APP_ID", gang.job.to_string()),
        ("FRAMEWORK_NAME", format!("{}~{}", gang.owner, gang.name)),
        ("HADOOP_USER_NAME", gang.owner.to_owned()),
        ("PAI_KILL_ALL_ON_COMPLETED_TASK_NUM", "0".into()),
    ]));
    // The oldest samples count roles; a role that is called by a number goes before them.
    for (number, role) in gang.plan.roles.iter().enumerate() {
        env.insert(format!("PAI_TASK_ROLE_{number}_HOST_LIST"), host_list(circle, role));
    }
    env.extend(of_every_task(circle));
    env
}

pub fn tell(circle: &Circle<'_>, me: &Peer<'_>, peers: &mut Peers) {
    of_myself(me, peers);
    for (name, path) in [("PAI_DATA_DIR", "/input"), ("PAI_OUTPUT_DIR", "/output"), ("PAI_CODE_DIR", "/code")] {
        peers.paths.insert(name.into(), path.into());
    }
    peers.env.extend(of_my_role(me.role));
    let (name, index) = (me.role.name.to_string(), me.index.to_string());
    let number = circle.gang.plan.roles.iter().position(|role| role.name == me.role.name).unwrap_or_default();
    peers.env.extend(variables([
        ("PAI_CONTAINER_ID", format!("{}_{}_{name}_{index}", circle.gang.job, circle.gang.attempt)),
        ("PAI_TASK_ROLE_NAME", name),
        ("PAI_TASK_ROLE_INDEX", index),
        ("PAI_TASK_ROLE_NO", number.to_string()),
    ]));
    each_spelling(circle, |role, name| {
        if role.name == me.role.name {
            peers.env.insert(format!("PAI_MIN_FAILED_TASK_COUNT_{name}"), least(role.completion.min_failed));
            peers.env.insert(format!("PAI_MIN_SUCCEEDED_TASK_COUNT_{name}"), least(role.completion.min_succeeded));
        }
    });
}

fn of_my_role(role: &RolePlan) -> Variables {
    let it = Amounts::of(role);
    let tasks = role.tasks.to_string();
    variables([
        ("PAI_RESOURCE", format!("{},{},{},{}", it.gpus, it.cpus, it.memory_mb, it.shared_memory_mb)),
        ("PAI_CURRENT_TASK_ROLE_TASK_COUNT", tasks.clone()),
        ("PAI_CURRENT_TASK_ROLE_CPU_COUNT", it.cpus.clone()),
        ("PAI_CURRENT_TASK_ROLE_MEM_MB", it.memory_mb.clone()),
        ("PAI_CURRENT_TASK_ROLE_SHM_MB", it.shared_memory_mb),
        ("PAI_CURRENT_TASK_ROLE_GPU_COUNT", it.gpus.clone()),
        ("PAI_CURRENT_TASK_ROLE_MIN_FAILED_TASK_COUNT", least(role.completion.min_failed)),
        ("PAI_CURRENT_TASK_ROLE_MIN_SUCCEEDED_TASK_COUNT", least(role.completion.min_succeeded)),
        ("PAI_TASK_ROLE_NUM", tasks),
        ("PAI_TASK_CPU_NUM", it.cpus),
        ("PAI_TASK_MEM_MB", it.memory_mb),
        ("PAI_TASK_GPU_NUM", it.gpus),
    ])
}

/// Never is written as nothing.
fn least(threshold: Option<u32>) -> String {
    threshold.map(|count| count.to_string()).unwrap_or_default()
}
