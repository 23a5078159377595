//! `parameters`: values for `<% $parameters.x %>`.

use super::{
    field::{Field, Reader, written},
    js::{self, Word},
};
use crate::{
    located::{Node, Value},
    spec::{harmless, join},
};

pub(super) fn read<'a>(reader: &mut Reader, field: &Field<'a>) -> Option<&'a Node> {
    reader.keys(field, &[], ("write `NAME: value` pairs", "请写成一组 `NAME: value`"))?;
    note(reader, field);
    Some(field.node)
}

/// One note for each value, with a word on those that JavaScript prints in its own way (hazard H5).
fn note(reader: &mut Reader, field: &Field<'_>) {
    match &field.node.value {
        Value::Map(entries) => {
            for entry in entries {
                note(reader, &Field { path: join(&field.path, &entry.key), place: entry.key_place, node: &entry.value });
            }
        }
        Value::List(items) => {
            for (index, item) in items.iter().enumerate() {
                note(reader, &Field { path: format!("{}[{index}]", field.path), place: item.place, node: item });
            }
        }
        Value::Scalar(_) => note_word(reader, field),
        Value::Refused => {}
    }
}

fn note_word(reader: &mut Reader, field: &Field<'_>) {
    let (printed, written) = (js::text(field.node), written(field.node));
    match field.word() {
        Some(Word::Null) => {
            let words = ("is nothing, so a reference to it stands for nothing", "没有值，引用它的地方也就没有内容");
            reader.notes.changed(&field.path, field.place, words);
        }
        Some(Word::Number(_) | Word::Truth(_) | Word::Date(_)) if printed != written => {
            let (printed, written) = (harmless(&printed), harmless(written));
            let en = format!("commands have it as `{printed}`, as OpenPAI printed it; put it in quotes to keep `{written}`");
            let zh = format!("命令里是 `{printed}`，与 OpenPAI 的写法相同；要保持 `{written}`，请加上引号");
            reader.notes.changed(&field.path, field.place, (en, zh));
        }
        Some(_) | None => reader.notes.kept(&field.path, field.place, ("put into commands", "填入命令")),
    }
}
