//! `input`, `inputs`, `output` and `outputs` in a job file: one text where that is enough, a map where it is not.

use serde::{Deserialize, Serialize};

use super::{
    read::{OF_NOTHING_ELSE, truth},
    walk::{Field, Walk},
};
use crate::{channels::Layout, located::Value, said, words::Said};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Input {
    Place(String),
    Channel(InputChannel),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputChannel {
    pub from: String,
    /// Whether an archive is wanted as the files that are in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpack: Option<bool>,
    /// The flag that tells the program where it is, such as `--data_url`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The variable that tells the program where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Output {
    Place(String),
    Channel(OutputChannel),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OutputChannel {
    pub to: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<String>,
}

impl Input {
    /// As a channel with everything said.
    pub fn channel(&self) -> InputChannel {
        match self {
            Input::Place(from) => InputChannel { from: from.clone(), ..InputChannel::default() },
            Input::Channel(channel) => channel.clone(),
        }
    }

    /// The same with another place.
    pub fn with_place(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Input::Place(from) => Input::Place(change(from)),
            Input::Channel(channel) => Input::Channel(InputChannel { from: change(channel.from.clone()), ..channel }),
        }
    }
}

impl Output {
    pub fn channel(&self) -> OutputChannel {
        match self {
            Output::Place(to) => OutputChannel { to: to.clone(), ..OutputChannel::default() },
            Output::Channel(channel) => channel.clone(),
        }
    }
}

impl From<String> for Input {
    fn from(place: String) -> Self {
        Input::Place(place)
    }
}

impl From<String> for Output {
    fn from(place: String) -> Self {
        Output::Place(place)
    }
}

const INPUT_HINT: Said = (
    "write a volume and a path such as `data:mnist`, a dataset such as `mnist@latest`, a directory, a URL, or a map with `from`",
    "请写数据卷加路径（如 `data:mnist`）、数据集（如 `mnist@latest`）、目录、URL，或带 `from` 的键值对",
);
const OUTPUT_HINT: Said = (
    "write a volume and a path such as `results:digits`, or a map with `to`",
    "请写数据卷加路径（如 `results:digits`），或带 `to` 的键值对",
);
const FLAG_HINT: Said = ("write a flag such as `--data_url`", "请写一个命令行选项，如 `--data_url`");
const VARIABLE_HINT: Said = ("write the name of a variable, such as `DATA_DIR`", "请写变量名，如 `DATA_DIR`");

pub(super) fn input(walk: &mut Walk, field: &Field<'_>) -> Option<Input> {
    if !matches!(field.node.value, Value::Map(_)) {
        return walk.text(field, INPUT_HINT).map(Input::Place);
    }
    let keys = &mut walk.keys(field, field.node.place, INPUT_HINT)?;
    let from =
        walk.required(keys, "from", ("write where the data is, such as `from: data:mnist`", "请写数据在哪里，如 `from: data:mnist`"));
    let from = from.and_then(|it| walk.text(&it, INPUT_HINT));
    let unpack = walk.optional(keys, "unpack").and_then(|it| truth(walk, &it));
    let argument = walk.optional(keys, "argument").and_then(|it| walk.text(&it, FLAG_HINT));
    let env = walk.optional(keys, "env").and_then(|it| walk.text(&it, VARIABLE_HINT));
    walk.no_more(keys, &OF_NOTHING_ELSE);
    Some(Input::Channel(InputChannel { from: from?, unpack, argument, env }))
}

pub(super) fn output(walk: &mut Walk, field: &Field<'_>) -> Option<Output> {
    if !matches!(field.node.value, Value::Map(_)) {
        return walk.text(field, OUTPUT_HINT).map(Output::Place);
    }
    let keys = &mut walk.keys(field, field.node.place, OUTPUT_HINT)?;
    let to = walk.required(
        keys,
        "to",
        ("write where the files shall go, such as `to: results:digits`", "请写文件要放到哪里，如 `to: results:digits`"),
    );
    let to = to.and_then(|it| walk.text(&it, OUTPUT_HINT));
    let layout = walk.optional(keys, "layout").and_then(|it| layout(walk, &it));
    let argument = walk.optional(keys, "argument").and_then(|it| walk.text(&it, FLAG_HINT));
    let env = walk.optional(keys, "env").and_then(|it| walk.text(&it, VARIABLE_HINT));
    walk.no_more(keys, &OF_NOTHING_ELSE);
    Some(Output::Channel(OutputChannel { to: to?, layout, argument, env }))
}

pub(crate) fn layout(walk: &mut Walk, field: &Field<'_>) -> Option<Layout> {
    const HINT: Said = (
        "write `chief` for the chief at the place itself and others below their names, or `tasks` for everyone below its name",
        "写 `chief`：主任务直接放在该位置，其余任务放在各自名字的目录下；写 `tasks`：每个任务都放在各自名字的目录下",
    );
    match walk.text(field, HINT)?.as_str() {
        "chief" => Some(Layout::Chief),
        "tasks" => Some(Layout::Tasks),
        other => {
            walk.tell(field, said!("{} is not a layout", "{} 不是可用的布局", super::shown(other)), HINT);
            None
        }
    }
}
