//! What an algorithm can run on, held against what a job asks for.

use super::{NO_ACCELERATOR, Needs, apply::Laying};
use crate::{
    said,
    spec::{Accelerators, JobSpec, RoleSpec, join, shown},
    words::{Words, listed},
};

pub(super) fn check(laying: &mut Laying<'_>, spec: &JobSpec) {
    let needs = &laying.algorithm.needs;
    for (name, role) in &spec.roles {
        let path = join(&join("roles", name), "accelerators");
        check_types(laying, &path, (needs, role));
        check_count(laying, &path, (needs, role));
    }
    if spec.roles.is_empty() {
        check_types(laying, "roles", (needs, &RoleSpec::default()));
    }
    check_tasks(laying, needs, spec);
}

/// Those that a task asks for, with their paths below the role's.
fn asked(role: &RoleSpec) -> Vec<(Option<&str>, u32)> {
    let all = match &role.accelerators {
        None => Vec::new(),
        Some(Accelerators::AnyType(count)) => vec![(None, *count)],
        Some(Accelerators::ByType(counts)) => counts.iter().map(|(kind, count)| (Some(kind.as_str()), *count)).collect(),
    };
    all.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn check_types(laying: &mut Laying<'_>, path: &str, (needs, role): (&Needs, &RoleSpec)) {
    let Some(usable) = &needs.accelerators else { return };
    let types: Vec<&str> = usable.iter().map(String::as_str).filter(|it| *it != NO_ACCELERATOR).collect();
    let hint = || hint(&types);
    let asked = asked(role);
    if asked.is_empty() && !usable.iter().any(|it| it == NO_ACCELERATOR) {
        laying.tell(path, said!("asks for none, and the algorithm needs accelerators", "没有要加速卡，而算法需要加速卡"), hint());
    }
    for (kind, _) in asked {
        match kind {
            None => laying.tell(
                path,
                said!(
                    "asks for accelerators of any type, and the algorithm cannot use every type",
                    "要的是任意型号的加速卡，而算法并非什么型号都能用"
                ),
                hint(),
            ),
            Some(kind) if !types.contains(&kind) => {
                laying.tell(
                    &join(path, kind),
                    said!("{} is no type that the algorithm can use", "算法不能用 {} 这种型号", shown(kind)),
                    hint(),
                );
            }
            Some(_) => {}
        }
    }
}

fn hint(types: &[&str]) -> Words {
    match types {
        [] => said!("ask for none: it uses CPUs alone", "请不要加速卡：它只用 CPU"),
        [first, ..] => listed(("it can use", "它能用的型号有"), types)
            .then(&said!("write the type, such as `accelerators: {{{first}: 1}}`", "请写明型号，如 `accelerators: {{{first}: 1}}`")),
    }
}

fn check_count(laying: &mut Laying<'_>, path: &str, (needs, role): (&Needs, &RoleSpec)) {
    let Some(most) = needs.accelerators_max else { return };
    let asked = asked(role);
    let total: u64 = asked.iter().map(|(_, count)| u64::from(*count)).sum();
    if total > u64::from(most) {
        let path = if let [(Some(kind), _)] = asked.as_slice() { join(path, kind) } else { path.to_owned() };
        laying.tell(
            &path,
            said!("is {total}; the algorithm can use at most {most} in one task", "写的是 {total}，算法的一个任务最多只能用 {most} 个"),
            said!("write a number up to {most}", "请写不超过 {most} 的数"),
        );
    }
}

fn check_tasks(laying: &mut Laying<'_>, needs: &Needs, spec: &JobSpec) {
    let Some(most) = needs.tasks_max else { return };
    let total: u64 = spec.roles.values().map(|role| u64::from(role.tasks.unwrap_or(1))).sum();
    if total <= u64::from(most) {
        return;
    }
    let path = match spec.roles.keys().collect::<Vec<_>>().as_slice() {
        [one] => join(&join("roles", one), "tasks"),
        _ => "roles".to_owned(),
    };
    let message = match most {
        1 => said!(
            "makes {total} tasks, and the algorithm is not distributed: it runs in 1",
            "一共有 {total} 个任务，而算法不支持分布式，只能有 1 个"
        ),
        _ => said!("makes {total} tasks; the algorithm can run in at most {most}", "一共有 {total} 个任务，而算法最多支持 {most} 个"),
    };
    laying.tell(&path, message, said!("ask for no more than {most}", "请不要超过 {most} 个"));
}
