//! `tasks[]` → roles.

use super::{
    downloads, params,
    prerequisites::{Kind, Prerequisite, for_people},
};
use crate::{
    dialect::{
        note::with_words,
        openpai_v1::{
            reader::{NOTHING, Reader},
            roles::{self, Numbers, Role, by_bash},
        },
    },
    located::Value,
    said,
    spec::{Command, Elsewhere, Field, Keys, is_null, join, shown},
    words::Said,
};

const OF_THE_JOB: Elsewhere = Elsewhere {
    keys: &["protocol_version", "name", "retryCount", "virtualCluster", "gpuType", "tasks", "prerequisites"],
    place: ("at the top of the file, for the whole job", "写在文件最外层，对整个作业生效"),
};
const OF_A_TASK: Elsewhere = Elsewhere {
    keys: &["role", "dockerimage", "command", "minFailedTaskCount", "minSucceededTaskCount"],
    place: ("in the task, beside `resource`", "写在任务里，与 `resource` 并列"),
};

/// What all tasks share.
pub(super) struct Shared<'a> {
    pub gpu_type: Option<&'a str>,
    pub prerequisites: &'a [Prerequisite<'a>],
}

pub(super) fn tasks(r: &mut Reader, keys: &mut Keys<'_>, shared: &Shared<'_>) -> Vec<Role> {
    const HINT: Said = (
        "write a list with at least one task: `- {role: worker, dockerimage: …, command: [python train.py]}`",
        "请写列表，至少有一个任务：`- {role: worker, dockerimage: …, command: [python train.py]}`",
    );
    let Some(field) = r.walk.required(keys, "tasks", HINT) else { return Vec::new() };
    let items = r.walk.list(&field, HINT).unwrap_or_default();
    if items.is_empty() && matches!(field.node.value, Value::List(_)) {
        r.walk.tell(&field, ("has no task, so there is nothing to run", "没有任务，也就没有可运行的内容"), HINT);
    }
    items.iter().filter_map(|item| task(r, item, shared)).collect()
}

fn task(r: &mut Reader, item: &Field<'_>, shared: &Shared<'_>) -> Option<Role> {
    let keys = &mut r.walk.keys(
        item,
        item.node.place,
        ("write `role: worker` and under it `command: […]`", "请写 `role: worker`，并在它下面写 `command: […]`"),
    )?;
    let name = r
        .walk
        .required(keys, "role", ("give the role a name, such as worker", "请给角色起名，如 worker"))
        .and_then(|it| roles::named(r, &it));
    let path = join("roles", name.as_deref().unwrap_or_default());
    for_people(r, keys, "type");
    image(r, keys, shared);
    let mut numbers = r.field(keys, "resource").map(|it| resource(r, &it)).unwrap_or_default();
    numbers.min_failed = r.field(keys, "minFailedTaskCount");
    numbers.min_succeeded = r.field(keys, "minSucceededTaskCount");
    let (mut spec, decides) = roles::numbered(r, &path, numbers, shared.gpu_type);
    let mut steps = vec!["export PAI_CURRENT_DIR=`pwd`".to_owned()];
    for kind in [Kind::Data, Kind::Script] {
        steps.extend(fetched(r, keys, kind, shared));
    }
    parameters(r, keys);
    spec.command = command(r, keys, steps, &join(&path, "command")).unwrap_or_default();
    r.walk.no_more(keys, &OF_THE_JOB);
    Some(Role { name: name?, path: join(&item.path, "role"), place: item.node.place, spec, decides })
}

/// OpenPAI used the first image of the file for all tasks, whatever they named.
fn image(r: &mut Reader, keys: &mut Keys<'_>, shared: &Shared<'_>) {
    let Some(field) = r.walk.required(
        keys,
        "dockerimage",
        ("name a prerequisite of type dockerimage", "请写一个 dockerimage 类型的 prerequisite 的名字"),
    ) else {
        return;
    };
    let Some(name) = r.walk.word(&field, ("name a prerequisite of type dockerimage", "请写一个 dockerimage 类型的 prerequisite 的名字"))
    else {
        return;
    };
    let first = shared.prerequisites.iter().find(|it| it.kind == Kind::Image);
    match first {
        Some(first) if first.name == name => r.kept(&field, "image"),
        Some(first) => {
            let name = shown(&first.name);
            let en = format!("OpenPAI ran all tasks in the first image of the file, {name}, and so do we");
            r.changed(&field, with_words("image", (en, format!("OpenPAI 用文件里的第一个镜像 {name} 运行所有任务，这里也一样"))));
        }
        None => {}
    }
}

fn resource<'a>(r: &mut Reader, field: &Field<'a>) -> Numbers<'a> {
    let Some(mut keys) = r.walk.keys(
        field,
        field.node.place,
        ("write `instances: 1` and `resourcePerInstance: {cpu: 1, …}`", "请写 `instances: 1` 和 `resourcePerInstance: {cpu: 1, …}`"),
    ) else {
        return Numbers::default();
    };
    let tasks = r.field(&mut keys, "instances");
    let ports = r.field(&mut keys, "portList");
    let each = r.field(&mut keys, "resourcePerInstance");
    r.walk.no_more(&keys, &OF_A_TASK);
    let numbers = each.and_then(|it| for_each(r, &it)).unwrap_or_default();
    Numbers { tasks, ports, ..numbers }
}

fn for_each<'a>(r: &mut Reader, field: &Field<'a>) -> Option<Numbers<'a>> {
    let keys = &mut r.walk.keys(
        field,
        field.node.place,
        ("write `{cpu: 1, memoryMB: 1024, gpu: 0}`", "请写成 `{cpu: 1, memoryMB: 1024, gpu: 0}` 这样"),
    )?;
    let numbers = Numbers {
        cpus: r.field(keys, "cpu"),
        memory_mb: r.field(keys, "memoryMB"),
        shared_memory_mb: r.field(keys, "shmMB"),
        gpus: r.field(keys, "gpu"),
        ..Numbers::default()
    };
    r.walk.no_more(keys, &OF_A_TASK);
    Some(numbers)
}

/// The steps that fetch what a task names as its data or script.
fn fetched(r: &mut Reader, keys: &mut Keys<'_>, kind: Kind, shared: &Shared<'_>) -> Vec<String> {
    let Some(field) = r.field(keys, kind.text()) else { return Vec::new() };
    let hint = said!("name a prerequisite of type {}", "请写一个 {} 类型的 prerequisite 的名字", kind.text());
    let Some(name) = r.walk.word(&field, &hint) else { return Vec::new() };
    if name.is_empty() {
        r.kept(&field, NOTHING);
        return Vec::new();
    }
    let Some(found) = shared.prerequisites.iter().rev().find(|it| it.kind == kind && it.name == name) else {
        r.walk.tell(
            &field,
            said!("there is no prerequisite of type {} called {}", "没有类型为 {}、名为 {} 的 prerequisite", kind.text(), shown(&name)),
            &hint,
        );
        return Vec::new();
    };
    let steps = downloads::steps(&found.name, &found.uri);
    if steps.is_empty() {
        let en = "its address is not one of the web, so nothing is fetched; copy it to a directory and write `code` or `input` in the converted file";
        let zh = "它的地址不是网页地址，不会拉取任何内容；请把它复制到一个目录，并在转换后的文件里写 `code` 或 `input`";
        r.ignored(&field, (en, zh));
    } else {
        r.kept(&field, ("fetched by the first steps of the command", "由命令的最初几步拉取"));
    }
    steps
}

/// They were put in already.
fn parameters(r: &mut Reader, keys: &mut Keys<'_>) {
    let Some(field) = r.field(keys, "parameters").filter(|field| !is_null(field.node)) else { return };
    for (_, field, _) in r.map(&field, ("write `NAME: value` pairs", "请写成一组 `NAME: value`")) {
        r.kept(&field, ("put in where this task says `$$NAME$$`", "填入这个任务中写着 `$$NAME$$` 的地方"));
    }
}

fn command(r: &mut Reader, keys: &mut Keys<'_>, mut steps: Vec<String>, path: &str) -> Option<Command> {
    const HINT: Said = ("write a list of lines to run: [python train.py]", "请写要运行的命令的列表：[python train.py]");
    let field = r.walk.required(keys, "command", HINT)?;
    let items = r.walk.list(&field, HINT)?;
    let own: Vec<String> = items.iter().filter_map(|it| r.walk.text(it, HINT)).collect();
    if own.iter().all(|line| line.trim().is_empty()) && own.len() == items.len() {
        r.walk.tell(&field, ("is empty, so there is nothing to run", "是空的，没有可运行的内容"), HINT);
    }
    match own.iter().find_map(|line| params::reference(line)) {
        None => r.kept(&field, path),
        Some(left) => {
            let en = format!("`$${left}$$` stays as it is, for the nearest `parameters` have no such name");
            r.changed(&field, with_words(path, (en, format!("`$${left}$$` 保持原样，因为最近的 `parameters` 里没有这个名字"))));
        }
    }
    // A line break before the `;` would be an error to the shell.
    steps.extend(own.iter().map(|line| line.trim_end().to_owned()));
    Some(by_bash(None, &steps.join(";")))
}
