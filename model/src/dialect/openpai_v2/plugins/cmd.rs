//! `cmd`: commands before and after those of the role.

use super::{Fill, NO_PARAMETERS, Plugin};
use crate::dialect::openpai_v2::{
    field::{Field, Reader},
    js::Word,
    script::{Script, Step},
};
use crate::{located::Value, spec::shown, words::Said};

const TEXT_HINT: Said = ("write a list of commands, each a text", "请写命令的列表，每条命令都是文本");

pub(super) fn check(reader: &mut Reader, plugin: &Plugin<'_>) {
    let Some(parameters) = &plugin.parameters else {
        return reader.for_people(&plugin.field, NO_PARAMETERS);
    };
    let of_old = ["preCommands", "postCommands"].map(|key| parameters.get(key));
    for field in of_old.iter().flatten() {
        reader.texts(field, TEXT_HINT);
    }
    if let Some(callbacks) = parameters.get("callbacks") {
        if of_old.iter().flatten().next().is_some() {
            reader.tell(
                &callbacks,
                ("stands beside `preCommands` or `postCommands`", "不能和 `preCommands` 或 `postCommands` 一起写"),
                ("write all commands as callbacks, or none", "命令要么都写成 callbacks，要么都不写成 callbacks"),
            );
        }
        for callback in
            reader.items(&callbacks, ("write `- {event: taskStarts, commands: […]}`", "请写成 `- {event: taskStarts, commands: […]}` 这样"))
        {
            check_callback(reader, &callback);
        }
    }
    let known = [
        ("preCommands", ("they run before those of the role", "在角色的命令之前运行")),
        ("postCommands", ("they run after those of the role, once these have ended well", "角色的命令成功结束后运行")),
        (
            "callbacks",
            (
                "those for taskStarts run before the role's commands, those for taskSucceeds after them",
                "taskStarts 的在角色的命令之前运行，taskSucceeds 的在其后运行",
            ),
        ),
    ];
    plugin.note_parameters(reader, &known);
    reader.notes.kept(
        &plugin.field.path,
        plugin.field.place,
        (
            "its commands run before the role's, and after them once they have ended well",
            "它的命令在角色的命令之前运行，或在其成功结束后运行",
        ),
    );
}

fn check_callback(reader: &mut Reader, callback: &Field<'_>) {
    let Some(mut keys) = reader.keys(callback, &["event", "commands"], ("write `event` and `commands`", "请写 `event` 和 `commands`"))
    else {
        return;
    };
    if let Some(field) =
        reader.required(&mut keys, "event", ("write `event: taskStarts` or `taskSucceeds`", "请写 `event: taskStarts` 或 `taskSucceeds`"))
        && let Some(event) = reader.text(&field, ("write `taskStarts` or `taskSucceeds`", "请写 `taskStarts` 或 `taskSucceeds`"))
        && event != "taskStarts"
        && event != "taskSucceeds"
    {
        let event = shown(event);
        let en = format!("nothing happens at {event}, here as there: there are taskStarts and taskSucceeds");
        let zh = format!("没有 {event} 这个时机，在 OpenPAI 里也一样；只有 taskStarts 和 taskSucceeds");
        reader.for_people(&field, (en, zh));
    }
    if let Some(field) = reader.required(&mut keys, "commands", TEXT_HINT) {
        reader.texts(&field, TEXT_HINT);
    }
}

pub(super) fn step(plugin: &Plugin<'_>, fill: &mut Fill<'_>) -> Option<Step> {
    let parameters = plugin.parameters.as_ref()?;
    let callbacks = parameters.get("callbacks");
    let mut lines = |key: &str, event: &str| {
        let lists: Vec<Field<'_>> = match &callbacks {
            Some(callbacks) => at_event(callbacks, event),
            None => parameters.get(key).into_iter().collect(),
        };
        joined(&lists, fill)
    };
    let (before, after) = (lines("preCommands", "taskStarts"), lines("postCommands", "taskSucceeds"));
    (before.is_some() || after.is_some()).then_some(Step { before, after, failure_is_fine: plugin.failure_is_fine })
}

/// The commands of every callback for that event.
fn at_event<'a>(callbacks: &Field<'a>, event: &str) -> Vec<Field<'a>> {
    items(callbacks)
        .iter()
        .filter(|it| it.get("event").and_then(|it| it.word()) == Some(Word::Text(event)))
        .filter_map(|it| it.get("commands"))
        .collect()
}

fn items<'a>(field: &Field<'a>) -> Vec<Field<'a>> {
    let Value::List(items) = &field.node.value else { return Vec::new() };
    items.iter().map(|node| Field { path: field.path.clone(), place: node.place, node }).collect()
}

fn joined(lists: &[Field<'_>], fill: &mut Fill<'_>) -> Option<Script> {
    let mut script: Option<Script> = None;
    for item in lists.iter().flat_map(items) {
        let Some(Word::Text(text)) = item.word() else { continue };
        let line = fill(&item, text);
        script = Some(match script {
            Some(before) => before.then_line(line),
            None => line,
        });
    }
    script
}
