//! Reading the file as the server's schema does: what is there must have the right shape, `null` is
//! not the same as absent, and everything that is wrong is told at once.

use super::js::{self, Word};
use crate::{
    dialect::note::Notes,
    located::{Entry, Node, Place, Value},
    spec::{Problem, join, nearest, shown},
    words::Words,
};

pub(super) const ASKS_FOR_NONE: (&str, &str) = ("asks for none", "没有要求");

/// What was found so far.
#[derive(Default)]
pub(super) struct Reader {
    pub problems: Vec<Problem>,
    pub notes: Notes,
}

/// One value and what it is called.
#[derive(Clone, Debug)]
pub(super) struct Field<'a> {
    pub path: String,
    /// Of the value; of the key for what has parts.
    pub place: Place,
    pub node: &'a Node,
}

/// The keys of one map, to be asked for by name.
pub(super) struct Keys<'a> {
    pub path: String,
    pub place: Place,
    entries: Vec<&'a Entry>,
    /// Every key that means something here.
    known: &'static [&'static str],
}

impl<'a> Field<'a> {
    fn of(path: &str, entry: &'a Entry) -> Self {
        let has_parts = matches!(entry.value.value, Value::Map(_) | Value::List(_));
        let place = if has_parts { entry.key_place } else { entry.value.place };
        Self { path: join(path, &entry.key), place, node: &entry.value }
    }

    /// The value of one key, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<Field<'a>> {
        let Value::Map(entries) = &self.node.value else { return None };
        entries.iter().find(|entry| entry.key == key).map(|entry| Field::of(&self.path, entry))
    }

    pub fn is_null(&self) -> bool {
        js::is_null(self.node)
    }

    pub fn word(&self) -> Option<Word<'a>> {
        js::word_of(self.node)
    }
}

impl<'a> Keys<'a> {
    /// The value of the key as it stands, `null` included.
    pub fn take(&mut self, key: &str) -> Option<Field<'a>> {
        let found = self.entries.iter().position(|entry| entry.key == key)?;
        Some(Field::of(&self.path, self.entries.remove(found)))
    }

    /// Everything that nobody asked for.
    pub fn rest(self) -> Vec<(&'a str, Field<'a>)> {
        self.entries.iter().map(|entry| (entry.key.as_str(), Field::of(&self.path, entry))).collect()
    }
}

impl Reader {
    pub fn tell(&mut self, field: &Field<'_>, message: impl Into<String>, hint: impl Into<String>) {
        self.problems.push(Problem::new(field.path.clone(), message).at(field.place).hint(hint));
    }

    /// Tells that the value has the wrong shape, unless it was refused already.
    pub fn wrong(&mut self, field: &Field<'_>, must_be: &str, hint: impl Into<String>) {
        if let Some(it) = described(field.node) {
            self.tell(field, format!("must be {must_be}, not {it}"), hint);
        }
    }

    pub fn keys<'a>(&mut self, field: &Field<'a>, known: &'static [&'static str], hint: &str) -> Option<Keys<'a>> {
        let Value::Map(entries) = &field.node.value else {
            self.wrong(field, "a map", hint);
            return None;
        };
        Some(Keys { path: field.path.clone(), place: field.place, entries: entries.iter().collect(), known })
    }

    /// A map whose keys a person chooses.
    pub fn entries<'a>(&mut self, field: &Field<'a>, hint: &str) -> Vec<(&'a str, Field<'a>)> {
        self.keys(field, &[], hint).map(Keys::rest).unwrap_or_default()
    }

    /// The same, with at least one key, and every key a name as it may stand in a variable.
    pub fn named<'a>(&mut self, field: &Field<'a>, hint: &str) -> Vec<(&'a str, Field<'a>)> {
        let entries = self.entries(field, hint);
        if matches!(&field.node.value, Value::Map(entries) if entries.is_empty()) {
            self.tell(field, "is empty", hint);
        }
        entries.into_iter().filter(|(key, field)| self.check_identifier(key, field)).collect()
    }

    fn check_identifier(&mut self, key: &str, field: &Field<'_>) -> bool {
        let good = is_identifier(key);
        if !good {
            let hint = "use letters, digits and `_`, and begin with a letter or `_`";
            self.tell(field, format!("{} is not a name that can stand here", shown(key)), hint);
        }
        good
    }

    pub fn items<'a>(&mut self, field: &Field<'a>, hint: &str) -> Vec<Field<'a>> {
        let Value::List(items) = &field.node.value else {
            self.wrong(field, "a list", hint);
            return Vec::new();
        };
        let item = |(index, node): (usize, &'a Node)| Field { path: format!("{}[{index}]", field.path), place: node.place, node };
        items.iter().enumerate().map(item).collect()
    }

    /// The same with at least one item.
    pub fn some_items<'a>(&mut self, field: &Field<'a>, hint: &str) -> Vec<Field<'a>> {
        let items = self.items(field, hint);
        if matches!(&field.node.value, Value::List(items) if items.is_empty()) {
            self.tell(field, "is empty", hint);
        }
        items
    }

    pub fn text<'a>(&mut self, field: &Field<'a>, hint: &str) -> Option<&'a str> {
        match field.word() {
            Some(Word::Text(text)) => return Some(text),
            Some(Word::Truth(_) | Word::Number(_) | Word::Date(_)) => {
                self.wrong(field, "text", format!("put it in quotes: \"{}\"", written(field.node)))
            }
            Some(Word::Null) | None => self.wrong(field, "text", hint),
        }
        None
    }

    pub fn texts<'a>(&mut self, field: &Field<'a>, hint: &str) -> Vec<(&'a str, Field<'a>)> {
        let items = self.items(field, hint);
        items.into_iter().filter_map(|item| Some((self.text(&item, hint)?, item))).collect()
    }

    pub fn integer(&mut self, field: &Field<'_>, hint: &str) -> Option<i64> {
        const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
        match field.word() {
            Some(Word::Number(number)) if number.fract() == 0.0 && number.abs() < EXACT_BELOW => return Some(number as i64),
            Some(Word::Text(text)) if text.parse::<i64>().is_ok() => self.wrong(field, "a whole number", "write it without quotes"),
            Some(_) | None => self.wrong(field, "a whole number", hint),
        }
        None
    }

    pub fn truth(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Some(Word::Truth(value)) = field.word() {
            return Some(value);
        }
        self.wrong(field, "true or false", "write true or false, without quotes");
        None
    }

    /// The value of a key that must be there.
    pub fn required<'a>(&mut self, keys: &mut Keys<'a>, key: &str, hint: &str) -> Option<Field<'a>> {
        let found = keys.take(key);
        let misspelt = |entry: &&Entry| !keys.known.contains(&entry.key.as_str()) && meant(&entry.key, keys.known) == Some(key);
        if found.is_none() && !keys.entries.iter().any(misspelt) {
            self.problems.push(Problem::new(join(&keys.path, key), "is missing").at(keys.place).hint(hint));
        }
        found
    }

    /// Tells every key that nobody asked for.
    pub fn no_more(&mut self, keys: Keys<'_>) {
        for entry in keys.entries {
            let hint = match meant(&entry.key, keys.known) {
                Some(key) => format!("did you mean `{key}`?"),
                None => format!("the keys here are {}", keys.known.join(", ")),
            };
            let problem = Problem::new(join(&keys.path, &entry.key), format!("unknown key {}", shown(&entry.key)));
            self.problems.push(problem.at(entry.key_place).hint(hint));
        }
    }

    /// `protocolVersion: 2`, or the same in quotes.
    pub fn version_2(&mut self, field: &Field<'_>) {
        match field.word() {
            Some(Word::Number(2.0)) | Some(Word::Text("2")) => {
                self.notes.kept(&field.path, field.place, ("this is how OpenPAI's version 2 is known", "凭它认出是 OpenPAI v2 的文件"))
            }
            Some(_) | None => self.wrong(field, "2", "write `protocolVersion: 2`"),
        }
    }

    /// What does nothing here, and did nothing there.
    pub fn no_effect(&mut self, field: &Field<'_>) {
        self.for_people(field, ("has no effect, here as there", "没有作用，在 OpenPAI 里也一样"));
    }

    /// Something that had no effect there either.
    pub fn for_people(&mut self, field: &Field<'_>, reason: impl Into<Words>) {
        self.notes.kept(&field.path, field.place, reason);
    }
}

/// What an unknown key was probably meant to be. Many a file was once of version 1.
fn meant(unknown: &str, known: &'static [&'static str]) -> Option<&'static str> {
    const OF_VERSION_1: [(&str, &str); 8] = [
        ("jobName", "name"),
        ("retryCount", "jobRetryCount"),
        ("taskNumber", "instances"),
        ("cpuNumber", "cpu"),
        ("gpuNumber", "gpu"),
        ("portList", "ports"),
        ("minFailedTaskCount", "minFailedInstances"),
        ("minSucceededTaskCount", "minSucceededInstances"),
    ];
    let now = OF_VERSION_1.iter().find(|(before, now)| *before == unknown && known.contains(now)).map(|(_, now)| *now);
    now.or_else(|| nearest(unknown, known.iter().copied()))
}

pub(super) fn is_identifier(text: &str) -> bool {
    let head = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(head) && text.chars().all(|c| head(c) || c.is_ascii_digit())
}

/// The letters of a value without parts.
pub(super) fn written(node: &Node) -> &str {
    if let Value::Scalar(scalar) = &node.value { &scalar.text } else { "" }
}

/// What stands there, in words; nothing for what was refused already.
fn described(node: &Node) -> Option<String> {
    let words = match &node.value {
        Value::List(_) => "a list".into(),
        Value::Map(_) => "a map".into(),
        Value::Refused => return None,
        Value::Scalar(scalar) => match js::word(scalar) {
            Word::Null => "nothing".into(),
            Word::Truth(_) => shown(&scalar.text),
            Word::Number(_) => format!("the number {}", shown(&scalar.text)),
            Word::Text(_) => format!("the text {}", shown(&scalar.text)),
            Word::Date(_) => format!("the date {}", shown(&scalar.text)),
        },
    };
    Some(words)
}
