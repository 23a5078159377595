//! `deployments` and `defaults`: commands around those of a role, of which one set is chosen.

use super::{
    field::{Field, Reader},
    job::{self, DEFAULT_CLUSTER},
    js::{self, Word},
};
use crate::{
    dialect::note::with_words,
    said,
    spec::shown,
    words::{Said, listed},
};

#[derive(Clone)]
pub(super) struct Deployment<'a> {
    name: Option<&'a str>,
    field: Field<'a>,
    roles: Vec<(&'a str, Around<'a>)>,
}

/// Commands before and after those of a role.
#[derive(Clone, Default)]
pub(super) struct Around<'a> {
    pub before: Vec<&'a str>,
    pub after: Vec<&'a str>,
}

impl<'a> Deployment<'a> {
    pub fn around(&self, role: &str) -> Option<&Around<'a>> {
        self.roles.iter().find(|(name, _)| *name == role).map(|(_, around)| around)
    }
}

const KEYS: [&str; 3] = ["protocolVersion", "name", "taskRoles"];

pub(super) fn read<'a>(reader: &mut Reader, field: &Field<'a>) -> Vec<Deployment<'a>> {
    let items = reader.some_items(field, ("write `- {name: …, taskRoles: …}`", "请写成 `- {name: …, taskRoles: …}` 这样"));
    let mut all: Vec<Deployment<'_>> = Vec::new();
    for item in items {
        let Some(read) = one(reader, &item) else { continue };
        if read.name.is_some() && all.iter().any(|it| it.name == read.name) {
            let message = said!("{} is here a second time", "{} 重复了", shown(read.name.unwrap_or_default()));
            reader.tell(&item, message, ("give each deployment a name of its own", "每个 deployment 的名字要各不相同"));
        }
        all.push(read);
    }
    all
}

fn one<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<Deployment<'a>> {
    let mut keys = reader.keys(field, &KEYS, ("write `name` and `taskRoles`", "请写 `name` 和 `taskRoles`"))?;
    let name = reader
        .required(&mut keys, "name", ("give it a name for `defaults.deployment`", "请给它起名，供 `defaults.deployment` 引用"))
        .and_then(|it| job::name(reader, &it));
    if let Some(version) = keys.take("protocolVersion") {
        reader.version_2(&version);
    }
    const HINT: Said = (
        "write the name of a role and under it `preCommands` or `postCommands`",
        "请写角色名，并在它下面写 `preCommands` 或 `postCommands`",
    );
    let roles = reader.required(&mut keys, "taskRoles", HINT).map(|it| reader.named(&it, HINT)).unwrap_or_default();
    let roles = roles.into_iter().map(|(role, field)| (role, around(reader, &field))).collect();
    for (_, other) in keys.rest() {
        reader.no_effect(&other);
    }
    Some(Deployment { name, field: field.clone(), roles })
}

fn around<'a>(reader: &mut Reader, field: &Field<'a>) -> Around<'a> {
    const KEYS: [&str; 2] = ["preCommands", "postCommands"];
    let Some(mut keys) = reader.keys(field, &KEYS, ("write `preCommands` or `postCommands`", "请写 `preCommands` 或 `postCommands`"))
    else {
        return Around::default();
    };
    let [before, after] = KEYS.map(|key| keys.take(key).map(|it| commands(reader, &it)).unwrap_or_default());
    reader.no_more(keys);
    Around { before, after }
}

pub(super) fn commands<'a>(reader: &mut Reader, field: &Field<'a>) -> Vec<&'a str> {
    const HINT: Said = ("write a list of commands, each a text", "请写命令的列表，每条命令都是文本");
    reader.some_items(field, HINT).iter().filter_map(|item| reader.text(item, HINT)).collect()
}

/// The deployment that is chosen, and the virtual cluster.
pub(super) fn defaults<'a>(reader: &mut Reader, field: Option<Field<'a>>, all: Vec<Deployment<'a>>) -> (Option<Deployment<'a>>, String) {
    const KEYS: [&str; 2] = ["virtualCluster", "deployment"];
    let keys = field
        .as_ref()
        .and_then(|it| reader.keys(it, &KEYS, ("write `virtualCluster` or `deployment`", "请写 `virtualCluster` 或 `deployment`")));
    let Some(mut keys) = keys else {
        note_unused(reader, &all, None);
        return (None, DEFAULT_CLUSTER.into());
    };
    let cluster = keys.take("virtualCluster").map_or(DEFAULT_CLUSTER.into(), |it| virtual_cluster(reader, &it));
    let name = keys
        .take("deployment")
        .and_then(|it| Some((reader.text(&it, ("write the name of a deployment", "请写一个 deployment 的名字"))?, it)));
    for (_, other) in keys.rest() {
        reader.no_effect(&other);
    }
    note_unused(reader, &all, name.as_ref().map(|(name, _)| *name));
    let Some((name, field)) = name else { return (None, cluster) };
    let found = all.iter().find(|it| it.name == Some(name)).cloned();
    match &found {
        Some(_) => {
            let words = ("its commands stand around those of the roles", "它的命令放在角色命令的前后");
            reader.notes.kept(&field.path, field.place, words);
        }
        None => {
            let names: Vec<&str> = all.iter().filter_map(|it| it.name).collect();
            let hint = if names.is_empty() {
                said!("there is none; add it under `deployments`", "一个也没有；请加到 `deployments` 下面")
            } else {
                listed(("there are", "可用的有"), &names)
            };
            reader.tell(&field, said!("there is no deployment {}", "没有名为 {} 的 deployment", shown(name)), hint);
        }
    }
    (found, cluster)
}

fn note_unused(reader: &mut Reader, all: &[Deployment<'_>], chosen: Option<&str>) {
    for deployment in all {
        if deployment.name.is_some() && deployment.name == chosen {
            let words = ("put around the commands of the roles it names", "放在它所写角色的命令前后");
            reader.notes.kept(&deployment.field.path, deployment.field.place, words);
        } else {
            let en = "`defaults.deployment` does not name it, so it has no effect, here as there";
            reader.for_people(&deployment.field, (en, "`defaults.deployment` 没有选它，所以没有作用，在 OpenPAI 里也一样"));
        }
    }
}

fn virtual_cluster(reader: &mut Reader, field: &Field<'_>) -> String {
    let name = match field.word() {
        Some(Word::Null) | None => DEFAULT_CLUSTER.to_owned(),
        Some(_) => js::text(field.node),
    };
    let about = ("tasks are told the name, and the job is placed wherever it fits", "任务能读到这个名字；作业放到放得下的地方");
    reader.notes.changed(&field.path, field.place, with_words("env.PAI_VIRTUAL_CLUSTER", about));
    name
}
