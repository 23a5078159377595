//! The roles of a job, from `taskRoles[]`.

use std::collections::BTreeMap;

use super::{ports, reader::Reader};
use crate::{
    dialect::{note::with_words, openpai_common::role_name},
    located::{Place, Value},
    said,
    spec::{
        Accelerators, Command, Completion, Elsewhere, Field, JobSpec, Keys, Problem, RoleSpec, Size, Threshold, ThresholdWord, is_null,
        join, shown,
    },
    template,
    words::Said,
};

/// A mebibyte is the unit of OpenPAI's memory; a pebibyte is more than any machine has.
pub(crate) const MEMORY_MB: std::ops::RangeInclusive<i64> = 4..=1 << 30;
const SHARED_MEMORY_MB: std::ops::RangeInclusive<i64> = 0..=1 << 30;
const DISK_GB: std::ops::RangeInclusive<i64> = 1..=1 << 20;
const CPUS: std::ops::RangeInclusive<i64> = 1..=100_000;
const GPUS: std::ops::RangeInclusive<i64> = 0..=10_000;
const TASKS: std::ops::RangeInclusive<i64> = 1..=u32::MAX as i64;

const OF_THE_JOB: Elsewhere = Elsewhere {
    keys: &[
        "jobName",
        "image",
        "authFile",
        "dataDir",
        "outputDir",
        "codeDir",
        "virtualCluster",
        "gpuType",
        "retryCount",
        "killAllOnCompletedTaskNumber",
        "jobEnvs",
        "extras",
        "taskRoles",
    ],
    place: ("at the top of the file, for the whole job", "写在文件最外层，对整个作业生效"),
};

/// One role, and what the job as a whole still has to know about it.
pub(crate) struct Role {
    pub name: String,
    /// Where the file names it.
    pub path: String,
    pub place: Place,
    pub spec: RoleSpec,
    /// Whether the file says how many tasks decide the job.
    pub decides: bool,
}

/// What all roles share.
pub(crate) struct Shared<'a> {
    pub gpu_type: Option<&'a str>,
    /// Goes before every command.
    pub first_line: Option<String>,
}

/// Where a role's numbers stand, whatever the dialect calls them.
#[derive(Default)]
pub(crate) struct Numbers<'a> {
    pub tasks: Option<Field<'a>>,
    pub cpus: Option<Field<'a>>,
    pub memory_mb: Option<Field<'a>>,
    pub shared_memory_mb: Option<Field<'a>>,
    /// Only one of OpenPAI's descendants has it.
    pub disk_gb: Option<Field<'a>>,
    pub gpus: Option<Field<'a>>,
    pub ports: Option<Field<'a>>,
    pub min_failed: Option<Field<'a>>,
    pub min_succeeded: Option<Field<'a>>,
}

pub(super) fn roles(r: &mut Reader, keys: &mut Keys<'_>, shared: &Shared<'_>) -> Vec<Role> {
    const HINT: Said = (
        "write a list with at least one role: [{\"name\": \"worker\", \"command\": \"python train.py\"}]",
        "请写列表，至少有一个角色：[{\"name\": \"worker\", \"command\": \"python train.py\"}]",
    );
    let Some(field) = r.walk.required(keys, "taskRoles", HINT) else { return Vec::new() };
    let items = r.walk.list(&field, HINT).unwrap_or_default();
    if items.is_empty() && matches!(field.node.value, Value::List(_)) {
        r.walk.tell(&field, ("has no role, so there is nothing to run", "没有角色，也就没有可运行的内容"), HINT);
    }
    let mut roles = Vec::new();
    for item in &items {
        let role = role(r, item, shared);
        roles.extend(role);
    }
    roles
}

fn role(r: &mut Reader, item: &Field<'_>, shared: &Shared<'_>) -> Option<Role> {
    let keys =
        &mut r.walk.keys(item, item.node.place, ("write {\"name\": …, \"command\": …}", "请写成 {\"name\": …, \"command\": …} 这样"))?;
    let name = r.walk.required(keys, "name", ("give the role a name, such as \"worker\"", "请给角色起名，如 \"worker\""));
    let name = name.and_then(|it| named(r, &it));
    let path = join("roles", name.as_deref().unwrap_or_default());
    let numbers = Numbers {
        tasks: r.field(keys, "taskNumber"),
        cpus: r.field(keys, "cpuNumber"),
        memory_mb: r.field(keys, "memoryMB"),
        shared_memory_mb: r.field(keys, "shmMB"),
        disk_gb: r.field(keys, "storageGB"),
        gpus: r.field(keys, "gpuNumber"),
        ports: r.field(keys, "portList"),
        min_failed: r.field(keys, "minFailedTaskCount"),
        min_succeeded: r.field(keys, "minSucceededTaskCount"),
    };
    let (mut spec, decides) = numbered(r, &path, numbers, shared.gpu_type);
    let command = r.walk.required(
        keys,
        "command",
        ("write the line to run, such as \"python train.py\"", "请写要运行的命令，如 \"python train.py\""),
    );
    spec.command = command.and_then(|it| command_of(r, &it, &path, shared)).unwrap_or_default();
    r.walk.no_more(keys, &OF_THE_JOB);
    Some(Role { name: name?, path: join(&item.path, "name"), place: item.node.place, spec, decides })
}

/// `-` was fine until version 0.4, and is again.
pub(crate) fn named(r: &mut Reader, field: &Field<'_>) -> Option<String> {
    let written = r.name(field, "-._~")?;
    let (name, changed) = role_name(&written);
    if changed {
        let en = "a role's name has at most 64 characters and begins with a letter, a digit or _";
        r.changed(field, with_words(join("roles", &name), (en, "角色名最多 64 个字符，以字母、数字或 _ 开头")));
    } else {
        r.kept(field, join("roles", &name));
    }
    Some(name)
}

/// A role without its command, and whether the file says how many tasks decide the job.
pub(crate) fn numbered(r: &mut Reader, path: &str, numbers: Numbers<'_>, gpu_type: Option<&str>) -> (RoleSpec, bool) {
    let decides = numbers.min_failed.is_some() || numbers.min_succeeded.is_some();
    let tasks = match &numbers.tasks {
        Some(field) => number(r, field, TASKS, join(path, "tasks")),
        None => Some(1),
    };
    let memory_mb = number_or(r, numbers.memory_mb.as_ref(), MEMORY_MB, join(path, "memory"), 100);
    let shared_mb = number_or(r, numbers.shared_memory_mb.as_ref(), SHARED_MEMORY_MB, join(path, "shared_memory"), 64);
    if let Some(field) = numbers.shared_memory_mb.as_ref().filter(|_| shared_mb > memory_mb) {
        r.walk.tell(
            field,
            said!("is {shared_mb}, more than the role's memory of {memory_mb}", "写的是 {shared_mb}，比角色的内存 {memory_mb} 还多"),
            ("write a smaller number, or more memory", "请写小一些，或增加内存"),
        );
    }
    let disk_gb = numbers.disk_gb.as_ref().and_then(|field| number(r, field, DISK_GB, join(path, "disk")));
    let spec = RoleSpec {
        tasks: tasks.map(|it| it as u32),
        cpus: Some(number_or(r, numbers.cpus.as_ref(), CPUS, join(path, "cpus"), 1) as f64),
        memory: Some(Size::Text(format!("{memory_mb}MiB"))),
        shared_memory: Some(Size::Text(format!("{shared_mb}MiB"))),
        disk: disk_gb.map(|gb| Size::Text(format!("{gb}GiB"))),
        accelerators: accelerators(r, numbers.gpus.as_ref(), path, gpu_type),
        ports: Some(ports::ports(r, numbers.ports.as_ref(), &join(path, "ports"))),
        completion: completion(r, &join(path, "completion"), &numbers, tasks),
        ..RoleSpec::default()
    };
    (spec, decides)
}

fn number(r: &mut Reader, field: &Field<'_>, range: std::ops::RangeInclusive<i64>, becomes: String) -> Option<i64> {
    let number = r.whole(field, range)?;
    r.kept(field, becomes);
    Some(number)
}

fn number_or(r: &mut Reader, field: Option<&Field<'_>>, range: std::ops::RangeInclusive<i64>, becomes: String, default: i64) -> i64 {
    field.and_then(|field| number(r, field, range, becomes)).unwrap_or(default)
}

fn accelerators(r: &mut Reader, field: Option<&Field<'_>>, path: &str, gpu_type: Option<&str>) -> Option<Accelerators> {
    let count = number_or(r, field, GPUS, join(path, "accelerators"), 0) as u32;
    match gpu_type {
        _ if count == 0 => None,
        None => Some(Accelerators::AnyType(count)),
        Some(kind) => Some(Accelerators::ByType(BTreeMap::from([(kind.to_owned(), count)]))),
    }
}

/// In OpenPAI every task of every role counts, also one called `ps`, so all are waited for.
fn completion(r: &mut Reader, path: &str, numbers: &Numbers<'_>, tasks: Option<i64>) -> Completion {
    let never = Threshold::Word(ThresholdWord::Never);
    let min_failed = numbers.min_failed.as_ref().map(|it| threshold(r, it, join(path, "min_failed"), tasks));
    let min_succeeded = numbers.min_succeeded.as_ref().map(|it| threshold(r, it, join(path, "min_succeeded"), tasks));
    Completion {
        min_failed: Some(min_failed.unwrap_or(Threshold::Count(1))),
        min_succeeded: Some(min_succeeded.unwrap_or(never)),
        wait: Some(true),
    }
}

fn threshold(r: &mut Reader, field: &Field<'_>, becomes: String, tasks: Option<i64>) -> Threshold {
    const NEVER: Threshold = Threshold::Word(ThresholdWord::Never);
    if is_null(field.node) {
        r.kept(field, with_words(becomes, ("null means never", "null 表示不设")));
        return NEVER;
    }
    let Some(count) = r.whole(field, 1..=u32::MAX as i64) else { return NEVER };
    if let Some(tasks) = tasks.filter(|tasks| count > *tasks) {
        let of = if tasks == 1 { "1 task".into() } else { format!("{tasks} tasks") };
        r.walk.tell(
            field,
            said!("is {count}, and the role has {of}", "写的是 {count}，而角色只有 {tasks} 个任务"),
            ("write a number that can be reached, or null for never", "请写能达到的数；想写“永不”就写 null"),
        );
    }
    r.kept(field, becomes);
    Threshold::Count(count as u32)
}

/// OpenPAI ran the command by bash, and went on after a line that failed.
fn command_of(r: &mut Reader, field: &Field<'_>, path: &str, shared: &Shared<'_>) -> Option<Command> {
    const HINT: Said = ("write the line to run, such as \"python train.py\"", "请写要运行的命令，如 \"python train.py\"");
    let text = r.walk.text(field, HINT)?;
    if text.trim().is_empty() {
        r.walk.tell(field, ("is empty, so there is nothing to run", "是空的，没有可运行的内容"), HINT);
        return None;
    }
    r.kept(field, join(path, "command"));
    Some(by_bash(shared.first_line.as_deref(), &text))
}

/// Nothing in the command is a tag of ours, whatever it looks like.
pub(crate) fn by_bash(first_line: Option<&str>, command: &str) -> Command {
    let script = first_line.map_or_else(|| command.to_owned(), |first| format!("{first}\n{command}"));
    Command::Words(vec!["/bin/bash".into(), "-c".into(), template::escaped(&script)])
}

/// Puts the roles into the job. A name that is there twice would make one role of two.
pub(crate) fn put(r: &mut Reader, roles: Vec<Role>, job: &mut JobSpec) {
    for role in roles {
        if job.roles.contains_key(&role.name) {
            let problem =
                Problem::new(role.path, said!("there is a role called {} before this one", "前面已经有名为 {} 的角色", shown(&role.name)));
            r.walk.problems.push(problem.at(role.place).hint(("give each role a name of its own", "每个角色的名字要各不相同")));
            continue;
        }
        job.roles.insert(role.name, role.spec);
    }
}
