//! One role of the spec → its part of the plan.

use std::collections::BTreeMap;

use super::{
    CompletionPlan, PortPlan, RolePlan,
    compile::{Compile, check_word, env, filled, filled_line, limited_retries},
};
use crate::{
    ids::RoleName,
    order::only_line,
    resources::{ANY_ACCELERATOR, Bytes, MIB, Resources, parse_bytes},
    said,
    spec::{Accelerators, Command, Completion, JobSpec, PortCount, Ports, RoleSpec, Size, Threshold, ThresholdWord, join, shown},
    words::{Said, Words},
};

pub(crate) const CPUS_MAX: f64 = 100_000.0;
const MEMORY_BYTES_MIN: u64 = 4 * MIB;
const DISK_BYTES_MIN: u64 = MIB;
/// A pebibyte: sums over all tasks stay far from the edge of their numbers.
pub(crate) const MEMORY_BYTES_MAX: u64 = 1 << 50;
pub(crate) const ACCELERATORS_MAX: u32 = 10_000;
const LABEL_CHARACTERS_MAX: usize = 64;

/// A role's plan before it is known to have a good name.
pub(super) struct Unnamed {
    tasks: u32,
    command: Vec<String>,
    image: Option<String>,
    task_retries: u32,
    resources: Resources,
    shared_memory_bytes: u64,
    disk_bytes: Option<u64>,
    ports: BTreeMap<String, PortPlan>,
    env: BTreeMap<String, String>,
    min_failed: Option<u32>,
    min_succeeded: Option<u32>,
}

impl Unnamed {
    /// The job's environment lies under the role's.
    pub fn named(self, name: RoleName, waited_for: bool, job_env: &BTreeMap<String, String>) -> RolePlan {
        let mut env = job_env.clone();
        env.extend(self.env);
        RolePlan {
            name,
            tasks: self.tasks,
            command: self.command,
            image: self.image,
            task_retries: self.task_retries,
            resources: self.resources,
            shared_memory_bytes: self.shared_memory_bytes,
            disk_bytes: self.disk_bytes,
            ports: self.ports,
            env,
            completion: CompletionPlan { min_failed: self.min_failed, min_succeeded: self.min_succeeded, waited_for },
        }
    }
}

pub(super) fn compile(c: &mut Compile<'_>, path: &str, role: &RoleSpec, job: &JobSpec) -> Unnamed {
    let (tasks, counted) = tasks(c, &join(path, "tasks"), role.tasks);
    let (min_failed, min_succeeded) = completion(c, &join(path, "completion"), &role.completion, counted);
    let at = |key: &str| join(path, key);
    let command = filled_command(c, &at("command"), &role.command, job);
    let cpus_milli = role.cpus.map_or(c.house.cpus_milli_default, |cpus| cpus_milli(c, &at("cpus"), cpus));
    Unnamed {
        tasks,
        command,
        image: role.image.clone().or_else(|| job.image.clone()),
        task_retries: role.retries.map_or(0, |retries| task_retries(c, &at("retries"), retries, job)),
        resources: Resources {
            cpus_milli,
            memory_bytes: memory(c, &at("memory"), role.memory.as_ref(), cpus_milli),
            accelerators: role.accelerators.as_ref().map(|it| accelerators(c, &at("accelerators"), it)).unwrap_or_default(),
        },
        shared_memory_bytes: shared_memory(c, &at("shared_memory"), role.shared_memory.as_ref()),
        disk_bytes: role.disk.as_ref().and_then(|size| disk(c, &at("disk"), size)),
        ports: role.ports.as_ref().map(|it| ports(c, &at("ports"), it)).unwrap_or_default(),
        env: env(c, &at("env"), &role.env, job),
        min_failed,
        min_succeeded,
    }
}

/// The number of tasks, and the same again if it is one that other numbers can be held against.
fn tasks(c: &mut Compile<'_>, path: &str, tasks: Option<u32>) -> (u32, Option<u32>) {
    let (tasks, most) = (tasks.unwrap_or(1), c.house.tasks_max);
    if (1..=most).contains(&tasks) {
        return (tasks, Some(tasks));
    }
    c.tell(
        path,
        said!("is {tasks}; a role has 1 to {most} tasks", "写的是 {tasks}，一个角色可以有 1 到 {most} 个任务"),
        said!("write a number from 1 to {most}", "请写 1 到 {most} 之间的数"),
    );
    (tasks, None)
}

fn filled_command(c: &mut Compile<'_>, path: &str, given: &Command, job: &JobSpec) -> Vec<String> {
    let words = command(c, path, given);
    let line = only_line(&words);
    let fill = |(at, word): (usize, &String)| if line == Some(at) { filled_line(c, path, word, job) } else { filled(c, path, word, job) };
    words.iter().enumerate().map(fill).collect()
}

fn command(c: &mut Compile<'_>, path: &str, command: &Command) -> Vec<String> {
    const HINT: Said = (
        "write a line such as `command: python3 train.py`, or a list of words",
        "请写一行命令，如 `command: python3 train.py`，或由各个词组成的列表",
    );
    match command {
        Command::Line(line) if line.trim().is_empty() => {
            c.tell(path, ("is empty, so there is nothing to run", "是空的，没有可运行的内容"), HINT)
        }
        Command::Line(line) => {
            check_word(c, path, line, 0);
            return vec!["/bin/sh".into(), "-c".into(), line.clone()];
        }
        Command::Words(words) if words.is_empty() => {
            c.tell(path, ("is empty, so there is nothing to run", "是空的，没有可运行的内容"), HINT)
        }
        Command::Words(words) if words[0].is_empty() => {
            c.tell(&format!("{path}[0]"), ("the program has an empty name", "程序的名字是空的"), HINT)
        }
        Command::Words(words) => {
            for (index, word) in words.iter().enumerate() {
                check_word(c, &format!("{path}[{index}]"), word, 0);
            }
            return words.clone();
        }
    }
    Vec::new()
}

fn task_retries(c: &mut Compile<'_>, path: &str, retries: u32, job: &JobSpec) -> u32 {
    if retries > 0 && job.gang.unwrap_or(true) {
        let hint = ("write `gang: false` for the job, or give the job `retries`", "请给作业写 `gang: false`，或改用作业的 `retries`");
        c.tell(
            path,
            (
                "is for a job whose tasks stand alone; here all tasks start again together",
                "只适用于任务各自独立的作业；这个作业的任务会一起重新开始",
            ),
            hint,
        );
    }
    limited_retries(c, path, retries, c.house.retries_max)
}

fn cpus_milli(c: &mut Compile<'_>, path: &str, cpus: f64) -> u64 {
    let milli = (cpus * 1000.0).round();
    if cpus.is_finite() && milli >= 1.0 && cpus <= CPUS_MAX {
        return milli as u64;
    }
    c.tell(
        path,
        said!("is {cpus}; a task has 0.001 to {CPUS_MAX} CPUs", "写的是 {cpus}，一个任务可以用 0.001 到 {CPUS_MAX} 个 CPU"),
        ("write a number such as 2 or 0.5", "请写一个数，如 2 或 0.5"),
    );
    0
}

fn bytes(c: &mut Compile<'_>, path: &str, size: &Size) -> Option<u64> {
    const HINT: Said = ("write a size such as 512MiB or 4GiB", "请写大小，如 512MiB 或 4GiB");
    let (bytes, written) = match size {
        Size::Bytes(bytes) => (Some(*bytes), bytes.to_string()),
        Size::Text(text) => (parse_bytes(text), text.clone()),
    };
    match bytes {
        None => c.tell(path, said!("{} is not a size", "{} 不是大小", shown(&written)), HINT),
        Some(bytes) if bytes > MEMORY_BYTES_MAX => {
            c.tell(path, said!("{} is more than any machine has", "{} 超过了任何机器的容量", shown(&written)), HINT);
        }
        Some(bytes) => return Some(bytes),
    }
    None
}

/// A task that does not say gets the memory that goes with its CPUs.
fn memory(c: &mut Compile<'_>, path: &str, size: Option<&Size>, cpus_milli: u64) -> u64 {
    let share = u128::from(c.house.memory_bytes_per_cpu) * u128::from(cpus_milli) / 1000;
    let Some(size) = size else { return (share as u64).max(MEMORY_BYTES_MIN) };
    let Some(bytes) = bytes(c, path, size) else { return 0 };
    if bytes < MEMORY_BYTES_MIN {
        let hint = ("write a unit after the number: 512MiB, 4GiB", "请在数字后面写上单位：512MiB、4GiB");
        c.tell(
            path,
            said!("is {}; nothing runs in less than {}", "只有 {}，少于 {} 什么也运行不了", Bytes(bytes), Bytes(MEMORY_BYTES_MIN)),
            hint,
        );
    }
    bytes
}

fn shared_memory(c: &mut Compile<'_>, path: &str, size: Option<&Size>) -> u64 {
    size.map_or(Some(c.house.shared_memory_bytes_default), |size| bytes(c, path, size)).unwrap_or(0)
}

fn disk(c: &mut Compile<'_>, path: &str, size: &Size) -> Option<u64> {
    let bytes = bytes(c, path, size)?;
    if bytes < DISK_BYTES_MIN {
        let least = Bytes(DISK_BYTES_MIN);
        c.tell(
            path,
            said!("is {}; a task needs at least {least}", "只有 {}，任务至少需要 {least}", Bytes(bytes)),
            ("write a unit after the number: 512MiB, 4GiB", "请在数字后面写上单位：512MiB、4GiB"),
        );
    }
    Some(bytes)
}

/// A type with none wanted is the same as the type not named.
fn accelerators(c: &mut Compile<'_>, path: &str, wanted: &Accelerators) -> BTreeMap<String, u32> {
    let counts = match wanted {
        Accelerators::AnyType(count) => BTreeMap::from([(ANY_ACCELERATOR.to_owned(), *count)]),
        Accelerators::ByType(counts) => counts.clone(),
    };
    for (kind, count) in &counts {
        let path = if matches!(wanted, Accelerators::AnyType(_)) { path.to_owned() } else { join(path, kind) };
        check_label(c, &path, kind, ("a type of accelerator", "加速卡型号"));
        if *count > ACCELERATORS_MAX {
            c.tell(
                &path,
                said!("is {count}; the most is {ACCELERATORS_MAX}", "写的是 {count}，最多 {ACCELERATORS_MAX}"),
                ("ask for fewer", "请少要一些"),
            );
        }
    }
    counts.into_iter().filter(|(_, count)| *count > 0).collect()
}

fn check_label(c: &mut Compile<'_>, path: &str, label: &str, (en, zh): Said) {
    if let Some((message, hint)) = bad_label(label, (en, zh)) {
        c.tell(path, message, hint);
    }
}

/// What is wrong with the name of a type of accelerator or of a port, and what to do about it.
pub(crate) fn bad_label(label: &str, (en, zh): Said) -> Option<(Words, Words)> {
    let good = |it: char| it.is_ascii_alphanumeric() || "._~-".contains(it);
    let is_bad = label.is_empty() || label.len() > LABEL_CHARACTERS_MAX || !label.chars().all(good);
    let hint = said!(
        "use 1 to {LABEL_CHARACTERS_MAX} letters, digits, `-`, `.`, `_` and `~`",
        "请用 1 到 {LABEL_CHARACTERS_MAX} 个字母、数字、`-`、`.`、`_` 或 `~`"
    );
    let message = Words::new(format!("{} is not a name for {en}", shown(label)), format!("{} 不能用作{zh}", shown(label)));
    is_bad.then_some((message, hint))
}

fn ports(c: &mut Compile<'_>, path: &str, ports: &Ports) -> BTreeMap<String, PortPlan> {
    let most = c.house.ports_max;
    let plans = match ports {
        Ports::Labels(labels) => one_for_each(c, path, labels),
        Ports::Counts(counts) => counted(c, path, counts),
    };
    let total: u64 = plans.values().map(|plan| u64::from(plan.count)).sum();
    if total > u64::from(most) && plans.values().all(|plan| plan.count <= most) {
        c.tell(
            path,
            said!("has {total} ports together; the most is {most} for each task", "一共要了 {total} 个端口，每个任务最多 {most} 个"),
            ("ask for fewer ports", "请少要一些端口"),
        );
    }
    check_variables(c, path, &plans);
    plans
}

fn one_for_each(c: &mut Compile<'_>, path: &str, labels: &[String]) -> BTreeMap<String, PortPlan> {
    let mut plans = BTreeMap::new();
    for (index, label) in labels.iter().enumerate() {
        let path = format!("{path}[{index}]");
        check_label(c, &path, label, ("a port", "端口标签"));
        if plans.insert(label.clone(), PortPlan { count: 1, from: None }).is_some() {
            c.tell(
                &path,
                said!("{} is there twice", "{} 写了两次", shown(label)),
                said!("write `{{{label}: 2}}` for two ports of that label", "同一标签要两个端口，请写 `{{{label}: 2}}`"),
            );
        }
    }
    plans
}

fn counted(c: &mut Compile<'_>, path: &str, counts: &BTreeMap<String, PortCount>) -> BTreeMap<String, PortPlan> {
    let mut plans = BTreeMap::new();
    for (label, count) in counts {
        let path = join(path, label);
        check_label(c, &path, label, ("a port", "端口标签"));
        plans.insert(label.clone(), port_plan(c, &path, count));
    }
    plans
}

fn port_plan(c: &mut Compile<'_>, path: &str, count: &PortCount) -> PortPlan {
    let most = c.house.ports_max;
    let plan = match count {
        PortCount::Any(count) => PortPlan { count: *count, from: None },
        PortCount::Fixed(fixed) => PortPlan { count: fixed.count.unwrap_or(1), from: Some(fixed.from) },
    };
    if !(1..=most).contains(&plan.count) {
        c.tell(
            path,
            said!("is {}; a label has 1 to {most} ports", "写的是 {}，一个标签可以有 1 到 {most} 个端口", plan.count),
            said!("write a number from 1 to {most}", "请写 1 到 {most} 之间的数"),
        );
    } else if let Some(from) = plan.from.filter(|from| *from == 0 || u32::from(*from) + plan.count > 65_536) {
        c.tell(
            path,
            said!("asks for {} ports from {from}; there are 1 to 65535", "要从 {from} 起的 {} 个端口，而端口只有 1 到 65535", plan.count),
            ("begin lower, or ask for fewer", "请从更小的端口开始，或少要一些"),
        );
    }
    plan
}

/// Tasks find their ports in variables named after the labels, so two labels must not share a name.
fn check_variables(c: &mut Compile<'_>, path: &str, plans: &BTreeMap<String, PortPlan>) {
    let mut taken: BTreeMap<String, &str> = BTreeMap::new();
    for label in plans.keys() {
        let variable = crate::rendezvous::variable_name(label);
        if let Some(other) = taken.insert(variable.clone(), label) {
            let message = said!(
                "{} and {} would both be TRAINMASTER_PORTS_{variable} to the task",
                "{} 和 {} 在任务里都会变成 TRAINMASTER_PORTS_{variable}",
                shown(other),
                shown(label)
            );
            c.tell(path, message, ("choose labels that differ in letters or digits", "请换成字母或数字不同的标签"));
        }
    }
}

fn completion(c: &mut Compile<'_>, path: &str, given: &Completion, tasks: Option<u32>) -> (Option<u32>, Option<u32>) {
    let min_failed = given.min_failed.map_or(Some(1), |it| threshold(c, &join(path, "min_failed"), it, tasks));
    let min_succeeded = given.min_succeeded.and_then(|it| threshold(c, &join(path, "min_succeeded"), it, tasks));
    (min_failed, min_succeeded)
}

/// `None` is never. Without a sound number of tasks there is nothing to hold the threshold against.
fn threshold(c: &mut Compile<'_>, path: &str, given: Threshold, tasks: Option<u32>) -> Option<u32> {
    match given {
        Threshold::Word(ThresholdWord::Never) => None,
        Threshold::Word(ThresholdWord::All) => tasks,
        Threshold::Count(0) => {
            c.tell(
                path,
                ("is 0, which would decide the job before it begins", "写的是 0，作业还没开始就会有结果"),
                ("write 1 or more, all, or never", "请写 1 或更大的数、all 或 never"),
            );
            None
        }
        Threshold::Count(count) => {
            if let Some(tasks) = tasks.filter(|tasks| count > *tasks) {
                let of = if tasks == 1 { "1 task".into() } else { format!("{tasks} tasks") };
                c.tell(
                    path,
                    said!(
                        "is {count}, and the role has {of}, so it would never be met",
                        "写的是 {count}，而角色只有 {tasks} 个任务，永远达不到"
                    ),
                    ("write `all` or `never`, or more tasks", "请写 `all` 或 `never`，或增加任务数"),
                );
            }
            Some(count)
        }
    }
}
