//! Runtime plugins: from `extras`, and from prerequisites that roles opt in to.

use indexmap::IndexMap;

use super::{
    extras::{EVERYONE_S, Extras, not_mounted},
    field::{Field, Reader},
    job::Job,
    script::{Script, Step},
};
use crate::{located::Value, said, spec::shown, words::listed};

mod cmd;
mod git;
pub(super) mod reference;
mod ssh;

pub(super) use ssh::note as note_ssh;

/// One plugin, as it is to run.
#[derive(Clone, Debug)]
pub(super) struct Plugin<'a> {
    pub name: &'a str,
    pub field: Field<'a>,
    /// None if there are none, or nothing in them.
    pub parameters: Option<Field<'a>>,
    pub failure_is_fine: bool,
    /// Where it runs; everywhere if not given.
    roles: Option<Vec<&'a str>>,
    /// Whether it is a prerequisite, whose other keys are its parameters.
    is_prerequisite: bool,
}

impl Plugin<'_> {
    /// A word on each parameter, where what becomes of it is said of the whole plugin.
    fn note_parameters(&self, reader: &mut Reader, known: &[(&str, (&str, &str))]) {
        for (key, reason) in known {
            if let Some(field) = self.parameters.as_ref().and_then(|it| it.get(key)) {
                reader.for_people(&field, *reason);
            }
        }
        self.note_others(reader, &known.iter().map(|(key, _)| *key).collect::<Vec<_>>());
    }

    /// The keys of a prerequisite are not only its parameters, and have a word already.
    pub(super) fn note_others(&self, reader: &mut Reader, known: &[&str]) {
        let Some(parameters) = self.parameters.as_ref().filter(|_| !self.is_prerequisite) else { return };
        for (key, field) in reader.entries(parameters, ("write the parameters of the plugin by name", "请按名字写出插件的参数"))
        {
            if !known.contains(&key) {
                reader.no_effect(&field);
            }
        }
    }
}

pub(super) const NO_PARAMETERS: (&str, &str) =
    ("has no parameters, so it does nothing, here as there", "没有参数，所以什么也不做，在 OpenPAI 里也一样");
const KNOWN: [&str; 5] = ["ssh", "tensorboard", "cmd", "git", "teamwise_storage"];
const PREFIX: &str = "com.microsoft.pai.runtimeplugin.";

pub(super) fn read<'a>(reader: &mut Reader, field: &Field<'a>) -> Vec<Plugin<'a>> {
    let items = reader.items(
        field,
        (
            "write a list such as `[{plugin: ssh, parameters: {jobssh: true}}]`",
            "请写列表，如 `[{plugin: ssh, parameters: {jobssh: true}}]`",
        ),
    );
    items.iter().filter_map(|item| one(reader, item)).collect()
}

fn one<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<Plugin<'a>> {
    const KEYS: [&str; 4] = ["plugin", "parameters", "failurePolicy", "taskroles"];
    let mut keys = reader.keys(field, &KEYS, ("write `plugin: NAME` and its `parameters`", "请写 `plugin: NAME` 和它的 `parameters`"))?;
    let name = reader.required(&mut keys, "plugin", ("write the name of the plugin", "请写插件名"));
    let name = name.and_then(|it| {
        reader.for_people(&it, ("says which plugin it is", "说明是哪个插件"));
        reader.text(&it, ("write the name of the plugin", "请写插件名"))
    });
    let failure_is_fine = keys.take("failurePolicy").is_some_and(|it| failure_is_fine(reader, &it));
    let roles = keys.take("taskroles").map(|it| {
        reader.for_people(&it, ("where it runs", "说明在哪些角色里运行"));
        reader.texts(&it, ("write a list of roles", "请写角色的列表")).into_iter().map(|(name, _)| name).collect()
    });
    let parameters = keys.take("parameters").filter(|it| !it.is_null()).filter(|it| !is_empty(reader, it));
    for (_, other) in keys.rest() {
        reader.no_effect(&other);
    }
    Some(Plugin { name: name?, field: field.clone(), parameters, failure_is_fine, roles, is_prerequisite: false })
}

fn is_empty(reader: &mut Reader, field: &Field<'_>) -> bool {
    match &field.node.value {
        Value::Map(entries) => entries.is_empty(),
        Value::Scalar(_) | Value::List(_) | Value::Refused => {
            reader.wrong(field, ("a map", "键值对"), ("write the parameters of the plugin by name", "请按名字写出插件的参数"));
            true
        }
    }
}

fn failure_is_fine(reader: &mut Reader, field: &Field<'_>) -> bool {
    let policy = reader.text(field, ("write `fail` or `ignore`", "请写 `fail` 或 `ignore`")).unwrap_or("fail").to_ascii_lowercase();
    reader.for_people(field, ("whether the task goes on when a command of the plugin fails", "插件的命令失败时，任务是否继续"));
    if policy != "fail" && policy != "ignore" {
        reader.tell(
            field,
            said!("{} is not a failure policy", "没有 {} 这种失败策略", shown(&policy)),
            ("write `fail` or `ignore`", "请写 `fail` 或 `ignore`"),
        );
    }
    policy == "ignore"
}

/// The plugins of each role in the order in which they start: first those of its prerequisites.
pub(super) fn by_role<'a>(reader: &mut Reader, job: &Job<'a>, from_extras: &[Plugin<'a>]) -> IndexMap<&'a str, Vec<Plugin<'a>>> {
    let mut by_role = IndexMap::new();
    for (name, role) in &job.roles {
        let mut plugins = of_prerequisites(reader, job, role);
        plugins.extend(from_extras.iter().filter(|it| it.roles.as_ref().is_none_or(|roles| roles.contains(name))).cloned());
        by_role.insert(*name, plugins);
    }
    for plugin in from_extras {
        let runs = by_role.values().flatten().any(|it: &Plugin<'_>| it.field.path == plugin.field.path);
        if !runs {
            let reason = (
                "`taskroles` names no role of the job, so it has no effect, here as there; name one, or remove the plugin",
                "`taskroles` 里没有这个作业的角色，所以没有作用，在 OpenPAI 里也一样；请写上一个角色，或删掉这个插件",
            );
            reader.notes.ignored(&plugin.field.path, plugin.field.place, reason);
        }
    }
    tell_all(reader, &by_role);
    by_role
}

fn of_prerequisites<'a>(reader: &mut Reader, job: &Job<'a>, role: &Field<'a>) -> Vec<Plugin<'a>> {
    let Some(names) = role.get("prerequisites").filter(|it| matches!(it.node.value, Value::List(_))) else { return Vec::new() };
    let mut plugins = Vec::new();
    for item in reader.items(&names, ("write a list of names", "请写名字的列表")) {
        let Some(super::js::Word::Text(name)) = item.word() else { continue };
        let Some(prerequisite) = job.prerequisites.named(name) else { continue };
        let Some(super::js::Word::Text(plugin)) = prerequisite.field.get("plugin").and_then(|it| it.word()) else { continue };
        let Some(name) = plugin.strip_prefix(PREFIX) else { continue };
        let failure_is_fine = prerequisite.field.get("failurePolicy").is_some_and(|it| failure_is_fine(reader, &it));
        let field = prerequisite.field.clone();
        plugins.push(Plugin { name, parameters: Some(field.clone()), field, failure_is_fine, roles: None, is_prerequisite: true });
    }
    plugins
}

/// A word on each plugin that runs somewhere, once.
fn tell_all(reader: &mut Reader, by_role: &IndexMap<&str, Vec<Plugin<'_>>>) {
    let mut told: Vec<&str> = Vec::new();
    for plugin in by_role.values().flatten() {
        if told.contains(&plugin.field.path.as_str()) {
            continue;
        }
        told.push(&plugin.field.path);
        match plugin.name {
            "cmd" => cmd::check(reader, plugin),
            "git" => git::check(reader, plugin),
            "ssh" | "tensorboard" => {}
            "teamwise_storage" => note_storage(reader, plugin),
            unknown => {
                let hint = listed(("there are", "可用的有"), &KNOWN);
                reader.tell(&plugin.field, said!("there is no plugin {}", "没有名为 {} 的插件", shown(unknown)), hint);
            }
        }
    }
}

/// Without names it means the storages everyone had.
fn note_storage(reader: &mut Reader, plugin: &Plugin<'_>) {
    let names = plugin.parameters.as_ref().and_then(|it| it.get("storageConfigNames"));
    let names = names.map(|it| reader.texts(&it, ("write a list of names", "请写名字的列表"))).unwrap_or_default();
    let each = names.iter().map(|(name, _)| not_mounted(name, &format!("/mnt/{name}")));
    let reason = each.reduce(|all, one| all.then(&one)).unwrap_or_else(|| EVERYONE_S.into());
    reader.notes.ignored(&plugin.field.path, plugin.field.place, reason);
}

/// What the plugins of a role run in its tasks.
pub(super) fn steps(reader: &mut Reader, job: &Job<'_>, extras: &Extras<'_>, role: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    for plugin in extras.plugins.get(role).into_iter().flatten() {
        let mut filled = |field: &Field<'_>, text: &str| reference::fill(reader, job, role, field, text);
        let step = match plugin.name {
            "cmd" => cmd::step(plugin, &mut filled),
            "git" => git::step(plugin, &mut filled, &job.secrets),
            _ => None,
        };
        steps.extend(step);
    }
    steps
}

/// Puts references into a text of a plugin's parameters.
pub(super) type Fill<'f> = dyn FnMut(&Field<'_>, &str) -> Script + 'f;
