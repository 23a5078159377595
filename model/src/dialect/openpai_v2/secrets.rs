//! `secrets`: values that the runtime put into commands when a task started, and we do too.

use std::{cell::RefCell, collections::BTreeMap};

use super::{
    field::{Field, Reader, written},
    js::{self, Word},
    script::{Piece, Script},
};
use crate::{
    dialect::note::with_words,
    located::{Node, Value},
    spec::{Secret, join},
    template,
};

#[derive(Default)]
pub(super) struct Secrets<'a> {
    pub node: Option<&'a Node>,
    /// What goes into the spec, by name. Names are added as they are used in new ways.
    stored: RefCell<BTreeMap<String, String>>,
}

/// How a value is put in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In commands: the runtime's template engine thought it was writing a web page.
    Escaped,
    /// In the parameters of plugins.
    AsWritten,
}

impl<'a> Secrets<'a> {
    pub fn read(reader: &mut Reader, field: &Field<'a>) -> Self {
        if reader.keys(field, &[], ("write `NAME: value` pairs", "请写成一组 `NAME: value`")).is_none() {
            return Self::default();
        }
        let secrets = Self { node: Some(field.node), ..Self::default() };
        secrets.store_all(reader, field, "");
        secrets
    }

    /// Whether the runtime went over the commands: it left them alone where there are no secrets (hazard H6).
    pub fn any(&self) -> bool {
        matches!(self.node.map(|node| &node.value), Some(Value::Map(entries)) if !entries.is_empty())
    }

    fn store_all(&self, reader: &mut Reader, field: &Field<'a>, dotted: &str) {
        let below = |key: &str| if dotted.is_empty() { key.to_owned() } else { format!("{dotted}.{key}") };
        match &field.node.value {
            Value::Map(entries) => {
                for entry in entries {
                    let field = Field { path: join(&field.path, &entry.key), place: entry.value.place, node: &entry.value };
                    self.store_all(reader, &field, &below(&entry.key));
                }
            }
            Value::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    let field = Field { path: format!("{}[{index}]", field.path), place: item.place, node: item };
                    self.store_all(reader, &field, &below(&index.to_string()));
                }
            }
            Value::Scalar(_) => self.note(reader, field, dotted),
            Value::Refused => {}
        }
    }

    fn note(&self, reader: &mut Reader, field: &Field<'a>, dotted: &str) {
        let name = self.store(dotted, &printed(field.node), Form::Escaped);
        let place = format!("secrets.{name}");
        if printed(field.node) == escaped(&printed(field.node)) {
            reader.notes.kept(&field.path, field.place, place);
        } else {
            let about = (
                "commands have it with `&`, `<`, `>` and quotes written as in HTML, as OpenPAI's runtime wrote them",
                "命令里的 `&`、`<`、`>` 和引号按 HTML 的写法出现，与 OpenPAI 运行时相同",
            );
            reader.notes.changed(&field.path, field.place, with_words(place, about));
        }
    }

    /// Puts the value into the spec, and answers its name there.
    fn store(&self, dotted: &str, value: &str, form: Form) -> String {
        let value = if form == Form::Escaped { escaped(value) } else { value.to_owned() };
        let mut stored = self.stored.borrow_mut();
        let mut name = fitting(dotted);
        while stored.get(&name).is_some_and(|other| *other != value) {
            name.push('_');
        }
        stored.insert(name.clone(), value);
        name
    }

    pub fn into_spec(self) -> BTreeMap<String, Secret> {
        self.stored.into_inner().into_iter().map(|(name, value)| (name, value.into())).collect()
    }

    /// The secret of that name, as `$secrets.a.b` says it without the first step.
    pub fn piece(&self, steps: &[&str], form: Form) -> Option<Piece> {
        let mut node = self.node?;
        for step in steps {
            node = match &node.value {
                Value::Map(entries) => &entries.iter().find(|entry| entry.key == *step)?.value,
                Value::List(items) => items.get(step.parse::<usize>().ok()?)?,
                Value::Scalar(_) | Value::Refused => return None,
            };
        }
        matches!(node.value, Value::Scalar(_)).then(|| Piece::Secret(self.store(&steps.join("."), &printed(node), form)))
    }

    /// Whether `<% $secrets.x %>` names one.
    pub fn resolves(&self, reference: &str) -> bool {
        next_tag(reference).is_some_and(|(_, name, _)| self.command_piece(name).is_some())
    }

    fn command_piece(&self, name: &str) -> Option<Piece> {
        let name = name.replace('[', ".").replace(']', "");
        let mut steps = name.split('.');
        let is_ours = steps.next() == Some("$secrets");
        let steps: Vec<&str> = steps.collect();
        if is_ours && !steps.is_empty() { self.piece(&steps, Form::Escaped) } else { None }
    }

    /// A backslash before a tag of ours would take its meaning away, so that one is a secret as well.
    pub fn backslash(&self) -> Piece {
        Piece::Secret(self.store("backslash", "\\", Form::AsWritten))
    }

    /// Commands as the runtime made them of what the server had left: secrets put in, all other references gone.
    pub fn fill(&self, text: &str) -> Script {
        let mut script = Script::default();
        if !self.any() {
            script.text(text);
            return script;
        }
        let mut rest = text;
        while let Some((before, name, after)) = next_tag(rest) {
            script.text(before);
            if let Some(piece) = self.command_piece(name) {
                script.push(piece, self);
            }
            rest = after;
        }
        script.text(rest);
        script
    }
}

/// The text before the next `<% name %>`, the name, and the text after it.
fn next_tag(text: &str) -> Option<(&str, &str, &str)> {
    let (before, inside) = text.split_once("<%")?;
    let (name, after) = inside.split_once("%>")?;
    Some((before, name.trim(), after))
}

/// As Python prints it: a number keeps its letters.
fn printed(node: &Node) -> String {
    match js::word_of(node) {
        Some(Word::Null) => "None".into(),
        Some(Word::Truth(value)) => if value { "True" } else { "False" }.into(),
        Some(Word::Number(value))
            if written(node).contains(['x', 'b', ':', '_', 'e', 'E']) || written(node).starts_with('0') && value >= 1.0 =>
        {
            js::show_number(value)
        }
        Some(Word::Number(_) | Word::Text(_) | Word::Date(_)) | None => written(node).to_owned(),
    }
}

fn escaped(value: &str) -> String {
    let escape = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#x27;".to_owned(),
        c => c.to_string(),
    };
    value.chars().map(escape).collect()
}

/// A name that our own secrets may have.
fn fitting(name: &str) -> String {
    if template::is_name(name) {
        return name.to_owned();
    }
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' };
    format!("_{}", name.chars().map(allowed).collect::<String>())
}
