//! References in the parameters of plugins. The runtime had a way of its own with them: `$parameters`,
//! `$secrets` and the role's prerequisites, values as they are, and an end to the task if there is no such value.

use crate::dialect::openpai_v2::{
    field::{Field, Reader},
    job::Job,
    js::{self, Word},
    prerequisites::Kind,
    script::{Piece, Script},
    secrets::Form,
};
use crate::{
    located::{Node, Value},
    said,
    spec::harmless,
};

/// The text with its references put in; one that stands for nothing is told.
pub(in super::super) fn fill(reader: &mut Reader, job: &Job<'_>, role: &str, field: &Field<'_>, text: &str) -> Script {
    let mut script = Script::default();
    let mut rest = text;
    while let Some((before, name, after)) = next(rest) {
        script.text(before);
        match piece(job, role, name) {
            Some(piece) => script.push(piece, &job.secrets),
            None => {
                let message = said!(
                    "`<% ${} %>` stands for nothing, and OpenPAI's runtime ends the task there",
                    "`<% ${} %>` 没有对应的值，OpenPAI 的运行时会在这里结束任务",
                    harmless(name)
                );
                reader.tell(field, message, ("correct the name, or add the value", "请改正名字，或补上这个值"));
            }
        }
        rest = after;
        if script.bytes() > super::super::render::RENDERED_BYTES_MAX {
            reader.tell(
                field,
                ("is too long when its references are put in", "代入引用之后太长"),
                ("refer to shorter values", "请引用短些的值"),
            );
            return Script::default();
        }
    }
    script.text(rest);
    script
}

/// A value without secrets, as text.
pub(super) fn plain(reader: &mut Reader, job: &Job<'_>, role: &str, field: &Field<'_>) -> String {
    match field.word() {
        Some(Word::Text(text)) => fill(reader, job, role, field, text).plain(),
        Some(_) | None => js::text(field.node),
    }
}

/// Text before the next `<% $name %>`, the name, and the text after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("<%").map(|at| at + from) {
        if let Some(name) = text[at + 2..].trim_start().strip_prefix('$') {
            let (name, after) = name.split_once("%>")?;
            return Some((&text[..at], name.trim_end(), after));
        }
        from = at + 2;
    }
    None
}

fn piece(job: &Job<'_>, role: &str, name: &str) -> Option<Piece> {
    let steps = steps(name);
    let (root, steps) = steps.split_first()?;
    if *root == "secrets" {
        return job.secrets.piece(steps, Form::AsWritten);
    }
    let mut node = root_of(job, role, root)?;
    for step in steps {
        node = match &node.value {
            Value::Map(entries) => &entries.iter().find(|entry| entry.key == *step)?.value,
            Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
            Value::Scalar(_) | Value::Refused => return None,
        };
    }
    Some(Piece::Text(js::text(node)))
}

fn root_of<'a>(job: &Job<'a>, role: &str, root: &str) -> Option<&'a Node> {
    let kind = match root {
        "parameters" => return job.parameters,
        "script" => Kind::Script,
        "output" => Kind::Output,
        "data" => Kind::Data,
        _ => return None,
    };
    let Some(Word::Text(name)) = job.roles.get(role)?.get(root)?.word() else { return None };
    job.prerequisites.find(kind, name).map(|it| it.field.node)
}

/// `data.uri[ 0 ]` → `data`, `uri`, `0`.
fn steps(name: &str) -> Vec<&str> {
    name.split(['.', '[']).map(|step| step.trim_end().trim_end_matches(']').trim()).filter(|step| !step.is_empty()).collect()
}
