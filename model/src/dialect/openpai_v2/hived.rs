//! `extras.hivedScheduler`: priority, and on which machines a role would like to run.

use std::collections::BTreeMap;

use super::{
    field::{Field, Reader},
    job::Job,
    js::Word,
};
use crate::{
    dialect::note::with_words,
    said,
    spec::shown,
    words::{Said, listed},
};

const PRIORITIES: [(&str, i32); 3] = [("prod", 100), ("test", 10), ("oppo", -1)];
const DEFAULT_PRIORITY: i32 = 10;
const KEYS: [&str; 5] = ["jobPriorityClass", "taskRoles", "gangReleaseEnable", "lazyPreemptionEnable", "ignoreK8sSuggestedNodes"];

/// Answers the job's priority.
pub(super) fn read(reader: &mut Reader, field: &Field<'_>, job: &Job<'_>) -> Option<i32> {
    let mut keys =
        reader.keys(field, &KEYS, ("write `jobPriorityClass: test` under it", "请在它下面写 `jobPriorityClass: test` 这样的内容"))?;
    let priority = keys.take("jobPriorityClass").map_or(Some(DEFAULT_PRIORITY), |it| priority(reader, &it));
    if let Some(roles) = keys.take("taskRoles") {
        roles_of(reader, &roles, job);
    }
    for key in &KEYS[2..] {
        if let Some(field) = keys.take(key) {
            let en = "this scheduler has no such choice: it places a gang whole and moves nobody";
            reader.notes.ignored(&field.path, field.place, (en, "这里的调度没有这个选项：任务组总是整体放置，放好之后不再移动"));
        }
    }
    for (_, other) in keys.rest() {
        reader.no_effect(&other);
    }
    priority
}

fn priority(reader: &mut Reader, field: &Field<'_>) -> Option<i32> {
    let names = PRIORITIES.map(|(name, _)| name);
    let known = PRIORITIES.iter().find(|(name, _)| field.word() == Some(Word::Text(name)));
    match known {
        Some((_, priority)) => reader.notes.kept(&field.path, field.place, with_words("priority", priority.to_string())),
        None => reader.wrong(
            field,
            (format!("one of {}", names.join(", ")), format!("{} 之一", names.join("、"))),
            ("write `jobPriorityClass: test`, which is also the default", "请写 `jobPriorityClass: test`，这也是默认值"),
        ),
    }
    known.map(|(_, priority)| *priority)
}

/// What one role asks for.
#[derive(Clone, Copy, PartialEq)]
struct Wish<'a> {
    sku_type: Option<&'a str>,
    pinned_cell: Option<&'a str>,
}

fn roles_of(reader: &mut Reader, field: &Field<'_>, job: &Job<'_>) {
    const HINT: Said = ("write the name of a role and under it `skuType`", "请写角色名，并在它下面写 `skuType`");
    let roles = reader.entries(field, HINT);
    if roles.is_empty() && matches!(field.node.value, crate::located::Value::Map(_)) {
        reader.tell(field, ("is empty", "是空的"), HINT);
    }
    let mut groups: BTreeMap<&str, Wish<'_>> = BTreeMap::new();
    for (name, field) in roles {
        if !job.roles.contains_key(name) {
            let names: Vec<&str> = job.roles.keys().copied().collect();
            reader.tell(&field, said!("there is no role {}", "没有名为 {} 的角色", shown(name)), listed(("there are", "可用的有"), &names));
        }
        role(reader, &field, &mut groups);
    }
}

fn role<'a>(reader: &mut Reader, field: &Field<'a>, groups: &mut BTreeMap<&'a str, Wish<'a>>) {
    const KEYS: [&str; 3] = ["skuType", "pinnedCellId", "affinityGroupName"];
    let Some(mut keys) = reader.keys(field, &KEYS, ("write `skuType: …` under it", "请在它下面写 `skuType: …`")) else { return };
    let [sku_type, pinned_cell, group] = KEYS.map(|key| keys.take(key).and_then(|it| text_or_null(reader, &it)));
    let wish = Wish { sku_type, pinned_cell };
    if sku_type.is_some() && pinned_cell.is_some() {
        reader.tell(
            field,
            ("has both `skuType` and `pinnedCellId`", "同时写了 `skuType` 和 `pinnedCellId`"),
            ("keep one of them", "请只留一个"),
        );
    }
    if let Some(group) = group
        && *groups.entry(group).or_insert(wish) != wish
    {
        let message = said!(
            "the roles of the group {} do not agree on `skuType` and `pinnedCellId`",
            "组 {} 里各角色的 `skuType` 和 `pinnedCellId` 不一致",
            shown(group)
        );
        reader.tell(field, message, ("write the same for each of them", "请把它们写成一样的"));
    }
    for (key, other) in keys.rest() {
        match key {
            "skuNum" | "skuNumber" => reader.for_people(
                &other,
                ("the number follows from `resourcePerInstance`, here as there", "数量由 `resourcePerInstance` 得出，在 OpenPAI 里也一样"),
            ),
            "gpuType" | "reservationId" => reader.for_people(
                &other,
                ("OpenPAI takes it and does nothing about it; neither do we", "OpenPAI 接受它，但不起作用；这里也一样"),
            ),
            _ => reader.no_effect(&other),
        }
    }
}

fn text_or_null<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<&'a str> {
    if field.is_null() {
        reader.for_people(field, ("asks for nothing", "没有要求什么"));
        return None;
    }
    let text = reader.text(field, ("write a name, or remove the key", "请写名字，或删掉这个键"))?;
    let reason = match field.path.rsplit('.').next() {
        Some("skuType") => (
            "which machines are called so is not known here; write `accelerators: {TYPE: N}` in the converted file to ask for a type",
            "这里不知道哪些机器叫这个名字；要指定型号，请在转换后的文件里写 `accelerators: {TYPE: N}`",
        ),
        Some("pinnedCellId") => {
            ("no cells are pinned here; the job is placed wherever it fits", "这里没有固定的 cell；作业放到放得下的地方")
        }
        _ => ("tasks are placed wherever they fit; there are no affinity groups here", "任务放到放得下的地方；这里没有亲和组"),
    };
    reader.notes.ignored(&field.path, field.place, reason);
    Some(text)
}
