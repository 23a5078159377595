//! `git`: a repository that is there before the commands run.

use super::{Fill, Plugin};
use crate::dialect::openpai_v2::{
    field::{Field, Reader},
    js::Word,
    script::{Script, Step},
    secrets::Secrets,
};
use crate::located::Value;

const TRIES: u32 = 10;
const DEFAULT_DIRECTORY: &str = "/usr/local/pai/code";

pub(super) fn check(reader: &mut Reader, plugin: &Plugin<'_>) {
    let uri = plugin.parameters.as_ref().and_then(|it| it.get("repo_uri"));
    match uri {
        Some(uri) => {
            reader.text(&uri, ("write the address of the repository", "请写仓库的地址"));
        }
        None => reader.tell(
            &plugin.field,
            ("has no `repo_uri`, so there is nothing to clone", "没有写 `repo_uri`，不知道要克隆什么"),
            ("write `parameters: {repo_uri: https://…}`", "请写 `parameters: {repo_uri: https://…}`"),
        ),
    }
    let Some(parameters) = &plugin.parameters else { return };
    if let Some(options) = parameters.get("options") {
        reader.texts(&options, ("write a list of options, such as `[\"--depth 1\"]`", "请写选项的列表，如 `[\"--depth 1\"]`"));
    }
    if let Some(directory) = parameters.get("clone_dir") {
        reader.text(&directory, ("write the path of a directory", "请写目录的路径"));
    }
    let known = [
        ("repo_uri", ("what is cloned", "要克隆的仓库")),
        ("options", ("given to `git clone`", "交给 `git clone` 的选项")),
        ("clone_dir", ("where it is cloned to", "克隆到哪里")),
    ];
    plugin.note_parameters(reader, &known);
    let reason = (
        "every task clones the repository itself before its commands, with up to 10 tries",
        "每个任务在运行命令之前自己克隆仓库，最多尝试 10 次",
    );
    reader.notes.changed(&plugin.field.path, plugin.field.place, reason);
}

/// Git itself refuses a directory that is there and not empty, as OpenPAI did.
pub(super) fn step(plugin: &Plugin<'_>, fill: &mut Fill<'_>, secrets: &Secrets<'_>) -> Option<Step> {
    let parameters = plugin.parameters.as_ref()?;
    let text = |field: &Field<'_>| if let Some(Word::Text(text)) = field.word() { Some(text.to_owned()) } else { None };
    let uri = parameters.get("repo_uri")?;
    let mut script = Script::default();
    script.text("for try in $(seq ");
    script.text(&format!("{TRIES}); do\n  git clone "));
    if let Some(options) = parameters.get("options")
        && let Value::List(items) = &options.node.value
    {
        for node in items {
            let option = Field { path: options.path.clone(), place: node.place, node };
            script.append(&fill(&option, &text(&option)?), secrets);
            script.text(" ");
        }
    }
    script.append(&fill(&uri, &text(&uri)?), secrets);
    script.text(" ");
    match parameters.get("clone_dir") {
        Some(directory) => script.append(&fill(&directory, &text(&directory)?), secrets),
        None => script.text(DEFAULT_DIRECTORY),
    }
    let at_last = if plugin.failure_is_fine { "break" } else { "exit 1" };
    script.text(&format!(" && break\n  [ \"$try\" -lt {TRIES} ] || {at_last}\n  sleep $((try * 5))\ndone"));
    Some(Step { before: Some(script), after: None, failure_is_fine: plugin.failure_is_fine })
}
