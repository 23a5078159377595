//! One of `taskRoles` → a role of our spec.

use indexmap::IndexMap;

use super::{
    deployments,
    extras::Extras,
    field::{Field, Keys, Reader},
    job::{Job, stripped},
    plugins,
    prerequisites::Kind,
    render::{View, render},
    script::{Script, composed},
};
use crate::{
    dialect::note::with_words,
    said,
    spec::{Completion, RoleSpec, Threshold, ThresholdWord, join, shown},
    words::{Said, Words},
};

mod resources;

pub(super) use resources::Resources;

const KEYS: [&str; 12] = [
    "protocolVersion",
    "instances",
    "completion",
    "taskRetryCount",
    "prerequisites",
    "dockerImage",
    "data",
    "output",
    "script",
    "extraContainerOptions",
    "resourcePerInstance",
    "commands",
];

/// All scripts together; plugins of a job with many roles could make them endless.
const SCRIPT_BYTES_MAX: usize = 8 << 20;

/// What variables say about a role, beside what our spec says.
pub(super) struct Facts {
    pub name: String,
    pub instances: u32,
    pub resources: Resources,
}

pub(super) fn all(reader: &mut Reader, job: &Job<'_>, extras: &Extras<'_>) -> (IndexMap<String, RoleSpec>, Vec<Facts>) {
    let (mut specs, mut facts) = (IndexMap::new(), Vec::new());
    let mut bytes = 0;
    for (name, field) in &job.roles {
        let mut role = Role { reader, job, extras, name, field };
        let Some((spec, fact, script)) = role.read() else { continue };
        bytes += script;
        specs.insert((*name).to_owned(), spec);
        facts.push(fact);
        if bytes > SCRIPT_BYTES_MAX {
            reader.tell(
                field,
                said!("the scripts of all roles have more than {SCRIPT_BYTES_MAX} bytes", "所有角色的脚本合计超过 {SCRIPT_BYTES_MAX} 字节"),
                ("put long texts into files", "请把长文本放进文件"),
            );
            break;
        }
    }
    (specs, facts)
}

struct Role<'r, 'j, 'a> {
    reader: &'r mut Reader,
    job: &'j Job<'a>,
    extras: &'j Extras<'a>,
    name: &'j str,
    field: &'j Field<'a>,
}

impl<'a> Role<'_, '_, 'a> {
    fn read(&mut self) -> Option<(RoleSpec, Facts, usize)> {
        let mut keys = self.reader.keys(
            self.field,
            &KEYS,
            (
                "write `dockerImage`, `resourcePerInstance` and `commands` under it",
                "请在它下面写 `dockerImage`、`resourcePerInstance` 和 `commands`",
            ),
        )?;
        if let Some(version) = keys.take("protocolVersion") {
            self.reader.version_2(&version);
        }
        self.note_name();
        let instances = keys.take("instances").map_or(1, |it| self.instances(&it));
        let completion = self.completion(keys.take("completion"), instances);
        let retries = keys.take("taskRetryCount").and_then(|it| self.retries(&it));
        let image = self.image(&mut keys);
        let resources = resources::read(self.reader, &mut keys, self.name);
        let view = self.view(&mut keys);
        if let Some(field) = keys.take("prerequisites") {
            self.opt_in(&field);
        }
        let script = self.script(&mut keys, &view);
        self.reader.no_more(keys);
        let bytes = script.bytes();
        let spec = RoleSpec { tasks: Some(instances), command: script.into_command(), image, retries, completion, ..resources.spec() };
        Some((spec, Facts { name: self.name.to_owned(), instances, resources }, bytes))
    }

    fn becomes(&self, key: &str) -> String {
        join(&join("roles", self.name), key)
    }

    /// Variables that are known once all tasks have a place carry the name as Kubernetes knew it (hazard H1).
    fn note_name(&mut self) {
        let stripped = stripped(self.name);
        let place = join("roles", self.name);
        if stripped == self.name {
            self.reader.notes.kept(&self.field.path, self.field.place, place);
        } else {
            let name = shown(self.name);
            let en = format!("PAI_ variables about where its tasks are have both names, {name} and `{stripped}`");
            let zh = format!("说明任务位置的 PAI_ 变量同时有两个名字：{name} 和 `{stripped}`");
            self.reader.notes.changed(&self.field.path, self.field.place, with_words(place, (en, zh)));
        }
    }

    fn instances(&mut self, field: &Field<'_>) -> u32 {
        const HINT: Said = ("write a number such as 2", "请写一个数，如 2");
        let Some(count) = self.reader.integer(field, HINT) else { return 1 };
        match u32::try_from(count).ok().filter(|count| *count > 0) {
            Some(count) => {
                self.reader.notes.kept(&field.path, field.place, self.becomes("tasks"));
                count
            }
            None => {
                self.reader.tell(field, said!("is {count}; it must be 1 or more", "写的是 {count}，不能小于 1"), HINT);
                1
            }
        }
    }

    /// Missing, null and 0 are the default; -1 is never (hazard H3).
    fn completion(&mut self, field: Option<Field<'_>>, instances: u32) -> Completion {
        const KEYS: [&str; 2] = ["minFailedInstances", "minSucceededInstances"];
        let mut completion = Completion {
            min_failed: Some(Threshold::Count(1)),
            min_succeeded: Some(Threshold::Word(ThresholdWord::All)),
            // In OpenPAI all tasks of all roles count, parameter servers too.
            wait: Some(true),
        };
        let keys = field.as_ref().and_then(|it| {
            self.reader.keys(it, &KEYS, ("write `minFailedInstances: 1` under it", "请在它下面写 `minFailedInstances: 1` 这样的规则"))
        });
        let Some(mut keys) = keys else { return completion };
        let failed = keys.take(KEYS[0]).and_then(|it| self.threshold(&it, "min_failed", instances));
        let succeeded = keys.take(KEYS[1]).and_then(|it| self.threshold(&it, "min_succeeded", instances));
        completion.min_failed = failed.or(completion.min_failed);
        completion.min_succeeded = succeeded.or(completion.min_succeeded);
        self.reader.no_more(keys);
        completion
    }

    /// None for the default.
    fn threshold(&mut self, field: &Field<'_>, ours: &str, instances: u32) -> Option<Threshold> {
        let becomes = format!("{}.{ours}", self.becomes("completion"));
        let number = if field.is_null() {
            0
        } else {
            self.reader.integer(field, ("write a number, or -1 for never", "请写一个数；想写“永不”就写 -1"))?
        };
        if number == 0 {
            let default = match ours {
                "min_failed" => Words::new("1", "1"),
                _ => Words::new(format!("all {instances}"), format!("全部 {instances} 个")),
            };
            let en = format!("means the default, {}, as in OpenPAI", default.en);
            let zh = format!("表示默认值：{}，与 OpenPAI 相同", default.zh);
            self.reader.notes.changed(&field.path, field.place, with_words(becomes, (en, zh)));
            return None;
        }
        if number > i64::from(instances) {
            let about = ("the role has fewer tasks, so it is never met", "角色没有这么多任务，所以永远达不到");
            self.reader.notes.changed(&field.path, field.place, with_words(becomes, about));
        } else {
            self.reader.notes.kept(&field.path, field.place, becomes);
        }
        let met = u32::try_from(number).ok().filter(|count| *count <= instances);
        Some(met.map_or(Threshold::Word(ThresholdWord::Never), Threshold::Count))
    }

    /// Only tasks that do not stand and fall together are retried alone (hazard H7).
    fn retries(&mut self, field: &Field<'_>) -> Option<u32> {
        const HINT: Said = ("write a number such as 2", "请写一个数，如 2");
        let count = self.reader.integer(field, HINT)?;
        if count == 0 {
            self.reader.for_people(field, ("no task is retried alone", "任务不单独重试"));
            return None;
        }
        if self.extras.gang {
            let reason = (
                "all tasks start again together, as in OpenPAI; write `extras.gangAllocation: false` to have each retried alone",
                "所有任务一起重新开始，与 OpenPAI 相同；想让任务各自重试，请写 `extras.gangAllocation: false`",
            );
            self.reader.notes.ignored(&field.path, field.place, reason);
            return None;
        }
        match u32::try_from(count) {
            Ok(count) => {
                self.reader.notes.kept(&field.path, field.place, self.becomes("retries"));
                Some(count)
            }
            Err(_) => {
                self.reader.tell(
                    field,
                    said!("is {count}; a task can be retried 0 or more times", "写的是 {count}，重试次数不能小于 0"),
                    HINT,
                );
                None
            }
        }
    }

    fn image(&mut self, keys: &mut Keys<'a>) -> Option<String> {
        const HINT: Said = ("write the name of a prerequisite of type dockerimage", "请写一个 dockerimage 类型的 prerequisite 的名字");
        let field = self.reader.required(keys, "dockerImage", HINT)?;
        let name = self.reader.text(&field, HINT)?;
        let uri = self.prerequisite(&field, Kind::DockerImage, name)?.get("uri")?;
        self.reader.notes.kept(&field.path, field.place, self.becomes("image"));
        Some(self.reader.text(&uri, HINT)?.to_owned())
    }

    fn prerequisite(&mut self, field: &Field<'_>, kind: Kind, name: &str) -> Option<Field<'a>> {
        let found = self.job.prerequisites.find(kind, name).map(|it| it.field.clone());
        if found.is_none() && !self.job.prerequisites.some_are_missing {
            let hint = self.job.prerequisites.names(Some(kind));
            self.reader.tell(
                field,
                said!("there is no prerequisite {} of that type", "没有名为 {} 的这种类型的 prerequisite", shown(name)),
                hint,
            );
        }
        found
    }

    /// What the role's commands can refer to.
    fn view(&mut self, keys: &mut Keys<'a>) -> View<'a> {
        let mut view: Vec<_> = self.job.parameters.map(|node| ("$parameters", node)).into_iter().collect();
        for (key, root, kind) in [("script", "$script", Kind::Script), ("output", "$output", Kind::Output), ("data", "$data", Kind::Data)] {
            let Some(field) = keys.take(key) else { continue };
            let Some(name) = self.reader.text(&field, ("write the name of a prerequisite", "请写一个 prerequisite 的名字")) else {
                continue;
            };
            let Some(found) = self.prerequisite(&field, kind, name) else { continue };
            let words = (format!("`{root}` in the role's commands"), format!("角色命令里的 `{root}`"));
            self.reader.notes.kept(&field.path, field.place, words);
            view.push((root, found.node));
        }
        View(view)
    }

    fn opt_in(&mut self, field: &Field<'_>) {
        for (name, item) in self.reader.texts(field, ("write a list of names of prerequisites", "请写 prerequisite 名字的列表")) {
            if self.job.prerequisites.named(name).is_some() {
                let words = ("its plugin, if it has one, runs in the role's tasks", "如果它有插件，插件在这个角色的任务里运行");
                self.reader.notes.kept(&item.path, item.place, words);
            } else if !self.job.prerequisites.some_are_missing {
                self.reader.tell(
                    &item,
                    said!("there is no prerequisite {}", "没有名为 {} 的 prerequisite", shown(name)),
                    self.job.prerequisites.names(None),
                );
            }
        }
    }

    fn script(&mut self, keys: &mut Keys<'a>, view: &View<'a>) -> Script {
        let Some(field) = self.reader.required(keys, "commands", ("write a list of commands", "请写命令的列表")) else {
            return Script::default();
        };
        let own = deployments::commands(self.reader, &field);
        let around = self.job.deployment.as_ref().and_then(|it| it.around(self.name)).cloned().unwrap_or_default();
        let lines: Vec<&str> =
            around.before.into_iter().chain(own).chain(around.after).map(|it| it.trim_matches(super::js::is_space)).collect();
        let rendered = match render(&lines.join("\n"), view) {
            Ok(rendered) => rendered,
            Err(error) => {
                self.reader.tell(&field, error.words(), error.hint());
                return Script::default();
            }
        };
        self.reader.notes.kept(&field.path, field.place, self.becomes("command"));
        self.note_unresolved(&field, &rendered.unresolved);
        let commands = self.job.secrets.fill(&rendered.text);
        let steps = plugins::steps(self.reader, self.job, self.extras, self.name);
        composed(&commands, &steps, &self.job.secrets)
    }

    /// Hazard H6: what becomes of a reference to nothing depends on whether the job has secrets.
    fn note_unresolved(&mut self, field: &Field<'_>, unresolved: &[String]) {
        let with_secrets = self.job.secrets.any();
        let mut told: Vec<&str> = Vec::new();
        for reference in unresolved {
            let filled = with_secrets && self.job.secrets.resolves(reference);
            if filled || told.contains(&reference.as_str()) || told.len() >= 20 {
                continue;
            }
            told.push(reference);
            let fate = match with_secrets {
                true => ("is left out, as in OpenPAI, because the job has secrets", "因为作业有密钥，所以去掉，与 OpenPAI 相同"),
                false => ("stays as it is, as in OpenPAI", "保持原样，与 OpenPAI 相同"),
            };
            let reference = crate::spec::harmless(reference);
            let about = (format!("`{reference}` stands for nothing and {}", fate.0), format!("`{reference}` 没有对应的值，{}", fate.1));
            self.reader.notes.changed(&field.path, field.place, with_words(self.becomes("command"), about));
        }
    }
}
