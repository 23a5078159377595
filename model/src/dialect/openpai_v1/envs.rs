//! `jobEnvs`: variables for every task, two of which OpenPAI obeyed itself.

use std::collections::BTreeMap;

use super::reader::Reader;
use crate::{
    dialect::{note::with_words, openpai_common::js_number},
    located::Kind,
    said,
    spec::{Field, Keys, join, scalar, shown},
    template,
};

#[derive(Default)]
pub(super) struct Envs {
    pub env: BTreeMap<String, String>,
    pub keep_failed: Option<String>,
}

/// How long OpenPAI kept the container of a failed debug job.
const DEBUG_KEPT: &str = "7d";

pub(super) fn envs(r: &mut Reader, keys: &mut Keys<'_>) -> Envs {
    let mut envs = Envs::default();
    let Some(field) = r.field(keys, "jobEnvs") else { return envs };
    for (name, field, _) in r.map(&field, ("write {\"NAME\": \"value\"}", "请写成 {\"NAME\": \"value\"} 这样")) {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !name.contains(word) {
            r.walk.tell(
                &field,
                said!("unknown key {}", "不认识的键 {}", shown(name)),
                ("a variable's name has letters, digits and _", "变量名由字母、数字和 _ 组成"),
            );
        } else if !name.chars().all(word) || name.starts_with(|c: char| c.is_ascii_digit()) {
            let en = "no shell takes this for the name of a variable; use letters, digits and _, and begin with a letter or _";
            r.ignored(&field, (en, "shell 不认这样的变量名；请用字母、数字和 _，并以字母或 _ 开头"));
        } else if name.starts_with("TRAINMASTER_") {
            r.ignored(
                &field,
                ("names that begin with TRAINMASTER_ are ours; choose another name", "TRAINMASTER_ 开头的名字由本系统使用，请换一个"),
            );
        } else if let Some(value) = value(r, &field) {
            noted(r, &field, name, &mut envs);
            // Nothing in it is a tag of ours.
            envs.env.insert(name.to_owned(), template::escaped(&value));
        }
    }
    envs
}

fn value(r: &mut Reader, field: &Field<'_>) -> Option<String> {
    match scalar(field.node) {
        Some((scalar, Kind::Text | Kind::Bool(_))) => Some(scalar.text.clone()),
        Some((scalar, Kind::Int(_) | Kind::Float(_))) => Some(js_number(&scalar.text)),
        Some((_, Kind::Null)) => Some(String::new()),
        None => {
            r.ignored(
                field,
                ("a list or a map is no value for a variable; write it as one text", "列表或映射不能作为变量的值，请写成一段文本"),
            );
            None
        }
    }
}

/// Only the truth value itself was magic, not the text "true".
fn noted(r: &mut Reader, field: &Field<'_>, name: &str, envs: &mut Envs) {
    let on = matches!(scalar(field.node), Some((_, Kind::Bool(true))));
    let becomes = join("env", name);
    match name {
        "isDebug" if on => {
            envs.keep_failed = Some(DEBUG_KEPT.into());
            let en = format!("a failed task's sandbox stays for {DEBUG_KEPT}, and {becomes} is set too");
            let zh = format!("失败任务的现场保留 {DEBUG_KEPT}，同时也会设置 {becomes}");
            r.kept(field, with_words("keep_failed", (en, zh)));
        }
        "paiAzRDMA" if on => {
            let en = "no RDMA device is mounted for it: a task sees those that its machine gives it";
            r.changed(field, with_words(becomes, (en, "不会为它挂载 RDMA 设备：机器给任务看到什么，任务就用什么")));
        }
        _ => r.kept(field, becomes),
    }
}
