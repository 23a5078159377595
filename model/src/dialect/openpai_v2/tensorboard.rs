//! The plugin `tensorboard`: OpenPAI ran it beside the first task; here it is a role of its own.

use indexmap::IndexMap;

use super::{
    extras::Extras,
    field::{Field, Reader},
    job::{self, Job},
    js::Word,
    plugins::{NO_PARAMETERS, Plugin, reference},
    script::Script,
};
use crate::spec::{Completion, PortCount, Ports, RoleSpec, Size, Threshold, ThresholdWord};
use crate::{dialect::note::with_words, words::Said};

pub(super) fn role(
    reader: &mut Reader,
    job: &Job<'_>,
    extras: &Extras<'_>,
    roles: &IndexMap<String, RoleSpec>,
) -> Option<(String, RoleSpec)> {
    let (first, plugins) = extras.plugins.first()?;
    let others = extras.plugins.values().skip(1).flatten().filter(|it| it.name == "tensorboard");
    let plugin = plugins.iter().find(|it| it.name == "tensorboard");
    for other in others.filter(|it| plugin.is_none_or(|plugin| plugin.field.path != it.field.path)) {
        let en = "it runs in the first role alone, and is not for that one; it has no effect, here as there";
        reader.for_people(&other.field, (en, "它只在第一个角色里运行，而这一个不是给第一个角色的；没有作用，在 OpenPAI 里也一样"));
    }
    let plugin = plugin?;
    let name = free_name(roles);
    let script = script(reader, job, first, plugin)?;
    let about = (
        "a role of its own, which ends with the job; it sees what tasks write where their directories are shared",
        "单独成为一个角色，随作业一起结束；任务写在共享目录里的内容它都看得到",
    );
    reader.notes.changed(&plugin.field.path, plugin.field.place, with_words(format!("roles.{name}"), about));
    let spec = RoleSpec {
        tasks: Some(1),
        command: script.into_command(),
        image: roles.first().and_then(|(_, role)| role.image.clone()),
        cpus: Some(1.0),
        memory: Some(Size::Text("2GiB".into())),
        ports: Some(Ports::Counts([("http".to_owned(), PortCount::Any(1))].into())),
        completion: Completion { min_failed: Some(Threshold::Word(ThresholdWord::Never)), wait: Some(false), ..Completion::default() },
        ..RoleSpec::default()
    };
    Some((name, spec))
}

fn free_name(roles: &IndexMap<String, RoleSpec>) -> String {
    let stripped: Vec<String> = roles.keys().map(|name| job::stripped(name)).collect();
    let numbered = (2..).map(|number| format!("tensorboard{number}"));
    let mut names = std::iter::once("tensorboard".to_owned()).chain(numbered);
    names.find(|name| !stripped.contains(name)).expect("there are more numbers than roles")
}

fn script(reader: &mut Reader, job: &Job<'_>, role: &str, plugin: &Plugin<'_>) -> Option<Script> {
    let Some(parameters) = &plugin.parameters else {
        reader.for_people(&plugin.field, NO_PARAMETERS);
        return None;
    };
    note_parameters(reader, parameters, plugin);
    let directories = directories(reader, parameters);
    let (option, named) = if directories.len() > 1 { ("--logdir_spec", true) } else { ("--logdir", false) };
    let mut script = Script::default();
    script.text(&format!("set -o errexit -o nounset -o pipefail\nexec tensorboard {option}="));
    for (index, (name, field, path)) in directories.iter().enumerate() {
        script.text(if index > 0 { "," } else { "" });
        if named {
            script.text(&format!("{name}:"));
        }
        script.append(&reference::fill(reader, job, role, field, path), &job.secrets);
    }
    script.text(" --host=0.0.0.0 --port=\"$TRAINMASTER_PORTS_HTTP\"");
    Some(script)
}

/// Two jobs that name the same port would not run side by side here, where all of them share one machine.
fn note_parameters(reader: &mut Reader, parameters: &Field<'_>, plugin: &Plugin<'_>) {
    match parameters.get("port") {
        Some(port) => {
            let reason = (
                "any free port instead, so that several jobs can run side by side; `trainmaster show JOB` says which",
                "改用任意空闲端口，这样几个作业可以同时运行；`trainmaster show JOB` 会显示是哪一个",
            );
            reader.notes.changed(&port.path, port.place, reason);
        }
        None => reader.tell(
            &plugin.field,
            ("has no `port`", "没有写 `port`"),
            ("write a port under `parameters`, such as `port: 6006`", "请在 `parameters` 下写端口，如 `port: 6006`"),
        ),
    }
    if let Some(logdir) = parameters.get("logdir") {
        reader.for_people(&logdir, ("the directories it shows", "它要显示的目录"));
    }
    plugin.note_others(reader, &["port", "logdir"]);
}

fn directories<'a>(reader: &mut Reader, parameters: &Field<'a>) -> Vec<(&'a str, Field<'a>, &'a str)> {
    const HINT: Said = ("write `logdir: {run: /path/of/the/logs}`", "请写成 `logdir: {run: /path/of/the/logs}` 这样");
    let Some(logdir) = parameters.get("logdir") else {
        reader.tell(parameters, ("has no `logdir`", "没有写 `logdir`"), HINT);
        return Vec::new();
    };
    let entries = reader.entries(&logdir, HINT);
    if entries.is_empty() && matches!(logdir.node.value, crate::located::Value::Map(_)) {
        reader.tell(&logdir, ("is empty", "是空的"), HINT);
    }
    entries
        .into_iter()
        .filter_map(|(name, field)| match field.word() {
            Some(Word::Text(path)) => Some((name, field, path)),
            Some(_) | None => {
                reader.wrong(&field, ("the path of a directory", "目录的路径"), HINT);
                None
            }
        })
        .collect()
}
