//! `prerequisites[]`: images, data and scripts that the tasks name.

use crate::{
    dialect::openpai_v1::reader::Reader,
    said,
    spec::{Elsewhere, Field, Keys, scalar, shown},
    words::Said,
};

pub(super) struct Prerequisite<'a> {
    pub kind: Kind,
    pub name: String,
    pub uri: String,
    /// Its `uri`, or all of it where it has none.
    pub field: Field<'a>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Kind {
    Data,
    Script,
    Image,
}

impl Kind {
    pub fn text(self) -> &'static str {
        match self {
            Kind::Data => "data",
            Kind::Script => "script",
            Kind::Image => "dockerimage",
        }
    }
}

const FOR_PEOPLE: (&str, &str) = ("for people only, there as here", "只给人看，在 OpenPAI 里也一样");
const OF_NOTHING_ELSE: Elsewhere = Elsewhere { keys: &[], place: ("", "") };

pub(super) fn prerequisites<'a>(r: &mut Reader, keys: &mut Keys<'a>) -> Vec<Prerequisite<'a>> {
    const HINT: Said = (
        "write a list with at least one item `{type: dockerimage, name: …, uri: …}`",
        "请写列表，至少有一项 `{type: dockerimage, name: …, uri: …}`",
    );
    let Some(field) = r.walk.required(keys, "prerequisites", HINT) else { return Vec::new() };
    let items = r.walk.list(&field, HINT).unwrap_or_default();
    let read: Vec<Prerequisite<'_>> = items.iter().filter_map(|item| prerequisite(r, item)).collect();
    if read.len() == items.len() && !read.iter().any(|it| it.kind == Kind::Image) {
        r.walk.tell(&field, ("has no dockerimage, and every job needs one", "没有 dockerimage，而每个作业都需要一个"), HINT);
    }
    read
}

fn prerequisite<'a>(r: &mut Reader, item: &Field<'a>) -> Option<Prerequisite<'a>> {
    let keys = &mut r.walk.keys(
        item,
        item.node.place,
        ("write `{type: dockerimage, name: …, uri: …}`", "请写成 `{type: dockerimage, name: …, uri: …}` 这样"),
    )?;
    let kind = r.walk.required(keys, "type", ("write data, script or dockerimage", "请写 data、script 或 dockerimage"));
    let kind = kind.and_then(|it| kind_of(r, &it));
    let name = r.walk.required(keys, "name", ("give it a name that tasks can use", "请给它起名，供任务引用")).and_then(|it| named(r, &it));
    let uri_field = r.field(keys, "uri");
    let uri = uri_field.as_ref().and_then(|it| r.walk.text(it, ("write where it is to be found", "请写它在哪里"))).unwrap_or_default();
    for key in ["protocol_version", "version", "contributor", "description"] {
        for_people(r, keys, key);
    }
    if let Some(field) = r.field(keys, "usage") {
        r.kept(&field, FOR_PEOPLE);
    }
    r.walk.no_more(keys, &OF_NOTHING_ELSE);
    let field = uri_field.unwrap_or(Field { path: item.path.clone(), node: item.node });
    Some(Prerequisite { kind: kind?, name: name?, uri, field })
}

fn kind_of(r: &mut Reader, field: &Field<'_>) -> Option<Kind> {
    let text = r.walk.text(field, ("write data, script or dockerimage", "请写 data、script 或 dockerimage"))?;
    let kind = [Kind::Data, Kind::Script, Kind::Image].into_iter().find(|kind| kind.text() == text);
    match kind {
        Some(_) => r.kept(field, ("says what tasks may use it for", "说明任务可以拿它做什么")),
        None => r.walk.tell(
            field,
            said!("{} is not a kind of prerequisite", "没有 {} 这种 prerequisite", shown(&text)),
            ("write data, script or dockerimage", "请写 data、script 或 dockerimage"),
        ),
    }
    kind
}

fn named(r: &mut Reader, field: &Field<'_>) -> Option<String> {
    let name = r.walk.word(field, ("give it a name that tasks can use", "请给它起名，供任务引用"))?;
    r.kept(field, ("what tasks call it", "任务用这个名字引用它"));
    Some(name)
}

/// Texts that had no effect in OpenPAI either. Versions are often written as numbers.
pub(super) fn for_people(r: &mut Reader, keys: &mut Keys<'_>, key: &'static str) -> Option<String> {
    let field = r.field(keys, key)?;
    let Some((scalar, _)) = scalar(field.node) else {
        r.walk.wrong(&field, ("text", "文本"), ("write a text", "请写文本"));
        return None;
    };
    r.kept(&field, FOR_PEOPLE);
    Some(scalar.text.clone())
}
