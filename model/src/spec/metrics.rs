//! `metrics` in a job file: how numbers are found in what tasks write.

use serde::{Deserialize, Serialize};

use super::{
    read::{OF_NOTHING_ELSE, texts, truth},
    walk::{Field, Walk},
};
use crate::words::Said;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metrics {
    /// Regular expressions for printed lines, in place of the ready-made ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Names of files of lines below `/output`, in place of `metrics.jsonl` and `metrics.csv`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// Whether nothing is looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub off: Option<bool>,
}

const HINT: Said = ("write `rules`, `files` or `off: true` below it", "请在它下面写 `rules`、`files` 或 `off: true`");
const RULES_HINT: Said = (
    r"write a list of regular expressions in single quotes, such as ['loss (?P<loss>\S+)']",
    r"请写正则表达式的列表，放在单引号里，如 ['loss (?P<loss>\S+)']",
);
const FILES_HINT: Said = ("write a list of file names, such as [history.csv]", "请写文件名的列表，如 [history.csv]");

pub(super) fn read(walk: &mut Walk, field: &Field<'_>) -> Option<Metrics> {
    let keys = &mut walk.keys(field, field.node.place, HINT)?;
    let metrics = Metrics {
        rules: walk.optional(keys, "rules").map(|it| texts(walk, &it, RULES_HINT)).unwrap_or_default(),
        files: walk.optional(keys, "files").map(|it| texts(walk, &it, FILES_HINT)).unwrap_or_default(),
        off: walk.optional(keys, "off").and_then(|it| truth(walk, &it)),
    };
    walk.no_more(keys, &OF_NOTHING_ELSE);
    Some(metrics)
}
