//! `prerequisites`: images, scripts, data and outputs that roles name.

use super::{
    field::{Field, Keys, Reader},
    job,
    js::Word,
    render::{View, render},
};
use crate::{
    dialect::openpai_common,
    located::Node,
    said,
    spec::shown,
    words::{Said, Words, listed},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    DockerImage,
    Script,
    Output,
    Data,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::DockerImage, Kind::Script, Kind::Output, Kind::Data];

    fn text(self) -> &'static str {
        match self {
            Kind::DockerImage => "dockerimage",
            Kind::Script => "script",
            Kind::Output => "output",
            Kind::Data => "data",
        }
    }
}

pub(super) struct Prerequisite<'a> {
    pub kind: Kind,
    pub name: &'a str,
    pub field: Field<'a>,
}

#[derive(Default)]
pub(super) struct Prerequisites<'a> {
    all: Vec<Prerequisite<'a>>,
    /// Whether some of them could not be read, so that one who asks in vain need not be told.
    pub some_are_missing: bool,
}

impl<'a> Prerequisites<'a> {
    pub fn find(&self, kind: Kind, name: &str) -> Option<&Prerequisite<'a>> {
        self.all.iter().find(|it| it.kind == kind && it.name == name)
    }

    /// By name alone; the last of that name counts, as in OpenPAI's runtime.
    pub fn named(&self, name: &str) -> Option<&Prerequisite<'a>> {
        self.all.iter().rfind(|it| it.name == name)
    }

    pub fn names(&self, kind: Option<Kind>) -> Words {
        let names: Vec<&str> = self.all.iter().filter(|it| kind.is_none_or(|kind| it.kind == kind)).map(|it| it.name).collect();
        if names.is_empty() { said!("there is none", "一个也没有") } else { listed(("there are", "可用的有"), &names) }
    }

    /// The server puts secrets into `auth`, so a reference there must be whole.
    pub fn check_auth(&self, reader: &mut Reader, secrets: Option<&Node>) {
        let view = View(secrets.map(|node| ("$secrets", node)).into_iter().collect());
        for auth in self.all.iter().filter_map(|it| it.field.get("auth")) {
            for (_, field) in
                reader.entries(&auth, ("write `username`, `password` and `registryuri`", "请写 `username`、`password` 和 `registryuri`"))
            {
                let Some(Word::Text(text)) = field.word() else { continue };
                if let Err(error) = render(text, &view) {
                    reader.tell(&field, error.words(), error.hint());
                }
            }
        }
    }
}

const OF_AN_IMAGE: [&str; 8] = ["protocolVersion", "name", "type", "version", "contributor", "description", "auth", "uri"];
const OF_THE_REST: [&str; 10] =
    ["protocolVersion", "name", "type", "version", "contributor", "description", "uri", "plugin", "require", "failurePolicy"];

pub(super) fn read<'a>(reader: &mut Reader, field: &Field<'a>) -> Prerequisites<'a> {
    let items = reader.some_items(
        field,
        ("write `- {name: image, type: dockerimage, uri: …}`", "请写成 `- {name: image, type: dockerimage, uri: …}` 这样"),
    );
    let count = items.len();
    let mut all: Vec<Prerequisite<'_>> = Vec::new();
    for item in items {
        let Some(read) = one(reader, &item) else { continue };
        if all.iter().any(|it| it.kind == read.kind && it.name == read.name) {
            let message = said!("{} is here a second time as a {}", "{} 作为 {} 重复了", shown(read.name), read.kind.text());
            reader.tell(&item, message, ("give each prerequisite of a type a name of its own", "同一类型的 prerequisite 名字要各不相同"));
        }
        all.push(read);
    }
    Prerequisites { some_are_missing: all.len() < count, all }
}

fn one<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<Prerequisite<'a>> {
    let kind = kind(reader, field)?;
    let known: &'static [&'static str] = if kind == Kind::DockerImage { &OF_AN_IMAGE } else { &OF_THE_REST };
    let mut keys = reader.keys(field, known, ("write `name`, `type` and `uri`", "请写 `name`、`type` 和 `uri`"))?;
    if let Some(field) = keys.take("type") {
        reader.for_people(&field, ("says what roles may name it for", "说明角色可以拿它做什么"));
    }
    let name = reader.required(&mut keys, "name", ("give it a name for roles to say", "请给它起名，供角色引用"));
    if let Some(field) = &name {
        reader.for_people(field, ("roles name it so", "角色用这个名字引用它"));
    }
    let name = name.and_then(|it| job::name(reader, &it));
    if let Some(version) = keys.take("protocolVersion") {
        reader.version_2(&version);
    }
    job::about(reader, &mut keys);
    match kind {
        Kind::DockerImage => image(reader, keys),
        Kind::Script | Kind::Output | Kind::Data => other(reader, keys, kind),
    }
    Some(Prerequisite { kind, name: name?, field: field.clone() })
}

fn kind(reader: &mut Reader, field: &Field<'_>) -> Option<Kind> {
    const HINT: Said =
        ("write `type: dockerimage`, `script`, `output` or `data`", "请写 `type: dockerimage`、`script`、`output` 或 `data`");
    let mut keys = reader.keys(field, &OF_THE_REST, ("write `name`, `type` and `uri`", "请写 `name`、`type` 和 `uri`"))?;
    let field = reader.required(&mut keys, "type", HINT)?;
    let text = reader.text(&field, HINT)?;
    let kind = Kind::ALL.into_iter().find(|it| it.text() == text);
    if kind.is_none() {
        reader.tell(&field, said!("{} is not a type of prerequisite", "没有 {} 这种 prerequisite", shown(text)), HINT);
    }
    kind
}

fn image(reader: &mut Reader, mut keys: Keys<'_>) {
    if let Some(uri) = reader.required(
        &mut keys,
        "uri",
        ("write the image, such as `uri: pytorch/pytorch:2.1`", "请写镜像，如 `uri: pytorch/pytorch:2.1`"),
    ) && let Some(text) = reader.text(&uri, ("write the image as text", "请把镜像写成文本"))
    {
        reader.notes.changed(&uri.path, uri.place, openpai_common::image_note(text));
    }
    if let Some(auth) = keys.take("auth") {
        auth_of(reader, &auth);
    }
    reader.no_more(keys);
}

fn auth_of(reader: &mut Reader, auth: &Field<'_>) {
    const KEYS: [&str; 3] = ["username", "password", "registryuri"];
    let Some(mut keys) =
        reader.keys(auth, &KEYS, ("write `username`, `password` and `registryuri`", "请写 `username`、`password` 和 `registryuri`"))
    else {
        return;
    };
    for key in KEYS {
        if let Some(field) = keys.take(key) {
            reader.text(&field, ("write text, or `<% $secrets.NAME %>`", "请写文本，或 `<% $secrets.NAME %>`"));
        }
    }
    let reason = (
        "no image is pulled with a job's own password here; let the machines that run images log in to the registry",
        "这里不用作业自带的密码拉取镜像；请让运行镜像的机器登录镜像仓库",
    );
    reader.notes.ignored(&auth.path, auth.place, reason);
}

fn put_in(kind: Kind) -> Words {
    let kind = kind.text();
    Words::new(
        format!("put into commands where they say `${kind}.uri`; nothing is fetched, here as there"),
        format!("填入命令中写着 `${kind}.uri` 的地方；不会拉取内容，在 OpenPAI 里也一样"),
    )
}

/// Unknown keys are welcome: they are the parameters of its plugin.
fn other(reader: &mut Reader, mut keys: Keys<'_>, kind: Kind) {
    match (keys.take("uri"), kind) {
        (Some(uri), Kind::Data) => {
            if !reader
                .texts(
                    &uri,
                    (
                        "write a list of texts, such as `uri: [\"https://example.com/digits\"]`",
                        "请写文本的列表，如 `uri: [\"https://example.com/digits\"]`",
                    ),
                )
                .is_empty()
            {
                reader.notes.kept(&uri.path, uri.place, put_in(kind));
            }
        }
        (Some(uri), Kind::Script | Kind::Output | Kind::DockerImage) => {
            if reader.text(&uri, ("write one text", "请写一段文本")).is_some() {
                reader.notes.kept(&uri.path, uri.place, put_in(kind));
            }
        }
        (None, _) => {}
    }
    let plugin = keys.take("plugin");
    if let Some(plugin) = &plugin {
        reader.text(plugin, ("write `com.microsoft.pai.runtimeplugin.NAME`", "请写 `com.microsoft.pai.runtimeplugin.NAME` 这样的名字"));
        let en = "runs in the tasks of roles that name it under `prerequisites`, and nowhere else";
        reader.for_people(plugin, (en, "只在 `prerequisites` 里写了它的角色的任务中运行"));
    }
    if let Some(require) = keys.take("require") {
        reader.texts(&require, ("write a list of names", "请写名字的列表"));
        reader.for_people(&require, ("nothing is done about it, here as there", "不会据此做什么，在 OpenPAI 里也一样"));
    }
    let reason = match plugin {
        Some(_) => ("for the plugin", "给插件用"),
        None => ("for a plugin, and there is none", "给插件用，但这里没有插件"),
    };
    for (_, other) in keys.rest() {
        reader.for_people(&other, reason);
    }
}
