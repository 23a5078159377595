//! `extras`: what a cluster's administrator might have added to OpenPAI.

use indexmap::IndexMap;

use super::{
    field::{ASKS_FOR_NONE, Field, Reader},
    hived,
    job::Job,
    js::Word,
    plugins::{self, Plugin},
};
use crate::{dialect::note::with_words, located::Value, said, words::Words};

#[derive(Default)]
pub(super) struct Extras<'a> {
    pub gang: bool,
    pub priority: Option<i32>,
    /// Whether tasks start programs in one another, by `jobssh`.
    pub launches: bool,
    /// In the order in which they run, for each role.
    pub plugins: IndexMap<&'a str, Vec<Plugin<'a>>>,
}

const PLUGINS: &str = "com.microsoft.pai.runtimeplugin";
const KEYS: [&str; 6] = ["submitFrom", "gangAllocation", "hivedScheduler", "storages", "jobStatusChangeNotification", PLUGINS];

/// What to write instead of a storage that OpenPAI mounted, for tasks to read and to write.
pub(super) fn not_mounted(name: &str, mounted_at: &str) -> Words {
    said!(
        "is not mounted here. If `{name}` is a volume (`trainmaster volumes list`, else `trainmaster volumes add {name}`), write \
         `inputs: {{{name}: \"{name}:\"}}` in the converted file to read it, and /input/{name} in its commands for {mounted_at}; \
         `output: {name}` has what tasks write to /output copied there",
        "这里不挂载。如果 `{name}` 是数据卷（见 `trainmaster volumes list`，没有就用 `trainmaster volumes add {name}` 添加），请在转换后的文件里写 \
         `inputs: {{{name}: \"{name}:\"}}` 来读取它，并把命令里的 {mounted_at} 换成 /input/{name}；写 `output: {name}` 则把任务写到 /output 的内容复制到那里"
    )
}

pub(super) const EVERYONE_S: (&str, &str) = (
    "asks for the storages everyone had, which are not known here; write `inputs: {NAME: \"NAME:\"}` in the converted file for each volume \
     that the job reads (`trainmaster volumes list`), and /input/NAME in its commands",
    "要求的是人人都有的存储，这里无从得知；请在转换后的文件里为作业要读的每个数据卷（见 `trainmaster volumes list`）写 \
     `inputs: {NAME: \"NAME:\"}`，命令里用 /input/NAME",
);

pub(super) fn read<'a>(reader: &mut Reader, job: &Job<'a>) -> Extras<'a> {
    let mut extras = Extras { gang: true, ..Extras::default() };
    let mut from_extras = Vec::new();
    if let Some(mut keys) = job
        .extras
        .as_ref()
        .and_then(|it| reader.keys(it, &KEYS, ("remove the key, or write what belongs under it", "请删掉这个键，或写上它该有的内容")))
    {
        if let Some(field) = keys.take("submitFrom") {
            reader.for_people(
                &field,
                (
                    "says which program wrote the file; it has no effect, here as there",
                    "说明文件由哪个程序写出；没有作用，在 OpenPAI 里也一样",
                ),
            );
        }
        extras.gang = keys.take("gangAllocation").is_none_or(|it| gang(reader, &it));
        extras.priority = keys.take("hivedScheduler").and_then(|it| hived::read(reader, &it, job));
        let storages = keys.take("storages");
        if let Some(storages) = &storages {
            note_storages(reader, storages);
        }
        if let Some(field) = keys.take("jobStatusChangeNotification") {
            notifications(reader, &field);
        }
        from_extras = keys.take(PLUGINS).map(|it| plugins::read(reader, &it)).unwrap_or_default();
        for (_, other) in keys.rest() {
            reader.no_effect(&other);
        }
    }
    extras.plugins = plugins::by_role(reader, job, &from_extras);
    extras.launches = plugins::note_ssh(reader, job, &extras);
    extras
}

/// Only the very word `false` makes a difference.
fn gang(reader: &mut Reader, field: &Field<'_>) -> bool {
    match field.word() {
        Some(Word::Truth(gang)) => {
            reader.notes.kept(&field.path, field.place, "gang");
            gang
        }
        Some(_) | None => {
            reader.notes.changed(
                &field.path,
                field.place,
                with_words(
                    "gang",
                    (
                        "only `false` without quotes switches it off, so it stays on, as in OpenPAI",
                        "只有不带引号的 `false` 才会关闭它，所以保持开启，与 OpenPAI 相同",
                    ),
                ),
            );
            true
        }
    }
}

fn note_storages(reader: &mut Reader, field: &Field<'_>) {
    if matches!(field.word(), Some(Word::Null | Word::Truth(false))) {
        return reader.for_people(field, ASKS_FOR_NONE);
    }
    let items =
        reader.items(field, ("write a list such as `[{name: data, mountPath: /data}]`", "请写列表，如 `[{name: data, mountPath: /data}]`"));
    if matches!(&field.node.value, Value::List(items) if items.is_empty()) {
        reader.notes.ignored(&field.path, field.place, EVERYONE_S);
    }
    for item in items {
        let text = |key| match item.get(key).and_then(|it| it.word()) {
            Some(Word::Text(text)) => Some(text.to_owned()),
            Some(Word::Null | Word::Truth(_) | Word::Number(_) | Word::Date(_)) | None => None,
        };
        let reason = match (text("name"), item.get("name").is_some_and(|it| !it.is_null())) {
            (Some(name), _) => not_mounted(&name, &text("mountPath").unwrap_or_else(|| format!("/mnt/{name}"))),
            (None, true) => EVERYONE_S.into(),
            (None, false) => ("has no `name`, so it is skipped, as in OpenPAI", "没有 `name`，所以跳过，与 OpenPAI 相同").into(),
        };
        reader.notes.ignored(&item.path, item.place, reason);
    }
}

fn notifications(reader: &mut Reader, field: &Field<'_>) {
    let wanted = reader
        .entries(field, ("write `{succeeded: true, failed: true}`", "请写成 `{succeeded: true, failed: true}` 这样"))
        .iter()
        .any(|(_, it)| it.word() == Some(Word::Truth(true)));
    if wanted {
        let en = "no letters are sent here; `trainmaster list` and the job's page show its state";
        reader.notes.ignored(&field.path, field.place, (en, "这里不发通知邮件；用 `trainmaster list` 或在作业页面查看状态"));
    } else {
        reader.for_people(field, ASKS_FOR_NONE);
    }
}
