//! Reading the file as the server's schema does: what is there must have the right shape, `null` is
//! not the same as absent, and everything that is wrong is told at once.

use super::js::{self, Word};
use crate::{
    dialect::note::Notes,
    located::{Entry, Node, Place, Value},
    said,
    spec::{Problem, join, nearest, shown},
    words::{Bilingual, Said, Words, listed, wrong_shape},
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
    pub fn tell(&mut self, field: &Field<'_>, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(field.path.clone(), message).at(field.place).hint(hint));
    }

    /// Tells that the value has the wrong shape, unless it was refused already.
    pub fn wrong(&mut self, field: &Field<'_>, must_be: impl Bilingual, hint: impl Bilingual) {
        if let Some(it) = described(field.node) {
            self.tell(field, wrong_shape(&must_be.words(), &it), hint);
        }
    }

    pub fn keys<'a>(&mut self, field: &Field<'a>, known: &'static [&'static str], hint: impl Bilingual) -> Option<Keys<'a>> {
        let Value::Map(entries) = &field.node.value else {
            self.wrong(field, ("a map", "键值对"), hint);
            return None;
        };
        Some(Keys { path: field.path.clone(), place: field.place, entries: entries.iter().collect(), known })
    }

    /// A map whose keys a person chooses.
    pub fn entries<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Vec<(&'a str, Field<'a>)> {
        self.keys(field, &[], hint).map(Keys::rest).unwrap_or_default()
    }

    /// The same, with at least one key, and every key a name as it may stand in a variable.
    pub fn named<'a>(&mut self, field: &Field<'a>, hint: Said) -> Vec<(&'a str, Field<'a>)> {
        let entries = self.entries(field, hint);
        if matches!(&field.node.value, Value::Map(entries) if entries.is_empty()) {
            self.tell(field, ("is empty", "是空的"), hint);
        }
        entries.into_iter().filter(|(key, field)| self.check_identifier(key, field)).collect()
    }

    fn check_identifier(&mut self, key: &str, field: &Field<'_>) -> bool {
        let good = is_identifier(key);
        if !good {
            let hint = ("use letters, digits and `_`, and begin with a letter or `_`", "请用字母、数字和 `_`，并以字母或 `_` 开头");
            self.tell(field, said!("{} is not a name that can stand here", "{} 不能用作这里的名字", shown(key)), hint);
        }
        good
    }

    pub fn items<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Vec<Field<'a>> {
        let Value::List(items) = &field.node.value else {
            self.wrong(field, ("a list", "列表"), hint);
            return Vec::new();
        };
        let item = |(index, node): (usize, &'a Node)| Field { path: format!("{}[{index}]", field.path), place: node.place, node };
        items.iter().enumerate().map(item).collect()
    }

    /// The same with at least one item.
    pub fn some_items<'a>(&mut self, field: &Field<'a>, hint: Said) -> Vec<Field<'a>> {
        let items = self.items(field, hint);
        if matches!(&field.node.value, Value::List(items) if items.is_empty()) {
            self.tell(field, ("is empty", "是空的"), hint);
        }
        items
    }

    pub fn text<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Option<&'a str> {
        match field.word() {
            Some(Word::Text(text)) => return Some(text),
            Some(Word::Truth(_) | Word::Number(_) | Word::Date(_)) => {
                self.wrong(field, ("text", "文本"), said!("put it in quotes: \"{}\"", "请加上引号：\"{}\"", written(field.node)))
            }
            Some(Word::Null) | None => self.wrong(field, ("text", "文本"), hint),
        }
        None
    }

    pub fn texts<'a>(&mut self, field: &Field<'a>, hint: Said) -> Vec<(&'a str, Field<'a>)> {
        let items = self.items(field, hint);
        items.into_iter().filter_map(|item| Some((self.text(&item, hint)?, item))).collect()
    }

    pub fn integer(&mut self, field: &Field<'_>, hint: impl Bilingual) -> Option<i64> {
        const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
        match field.word() {
            Some(Word::Number(number)) if number.fract() == 0.0 && number.abs() < EXACT_BELOW => return Some(number as i64),
            Some(Word::Text(text)) if text.parse::<i64>().is_ok() => {
                self.wrong(field, ("a whole number", "整数"), ("write it without quotes", "请去掉引号"))
            }
            Some(_) | None => self.wrong(field, ("a whole number", "整数"), hint),
        }
        None
    }

    pub fn truth(&mut self, field: &Field<'_>) -> Option<bool> {
        if let Some(Word::Truth(value)) = field.word() {
            return Some(value);
        }
        self.wrong(field, ("true or false", "true 或 false"), ("write true or false, without quotes", "请写 true 或 false，不要加引号"));
        None
    }

    /// The value of a key that must be there.
    pub fn required<'a>(&mut self, keys: &mut Keys<'a>, key: &str, hint: impl Bilingual) -> Option<Field<'a>> {
        let found = keys.take(key);
        let misspelt = |entry: &&Entry| !keys.known.contains(&entry.key.as_str()) && meant(&entry.key, keys.known) == Some(key);
        if found.is_none() && !keys.entries.iter().any(misspelt) {
            self.problems.push(Problem::new(join(&keys.path, key), ("is missing", "没有写")).at(keys.place).hint(hint));
        }
        found
    }

    /// Tells every key that nobody asked for.
    pub fn no_more(&mut self, keys: Keys<'_>) {
        for entry in keys.entries {
            let hint = match meant(&entry.key, keys.known) {
                Some(key) => said!("did you mean `{key}`?", "是不是想写 `{key}`？"),
                None => listed(("the keys here are", "这里可以写的键有"), keys.known),
            };
            let problem = Problem::new(join(&keys.path, &entry.key), said!("unknown key {}", "不认识的键 {}", shown(&entry.key)));
            self.problems.push(problem.at(entry.key_place).hint(hint));
        }
    }

    /// `protocolVersion: 2`, or the same in quotes.
    pub fn version_2(&mut self, field: &Field<'_>) {
        match field.word() {
            Some(Word::Number(2.0)) | Some(Word::Text("2")) => {
                self.notes.kept(&field.path, field.place, ("this is how OpenPAI's version 2 is known", "凭它认出是 OpenPAI v2 的文件"))
            }
            Some(_) | None => self.wrong(field, Words::from("2"), ("write `protocolVersion: 2`", "请写 `protocolVersion: 2`")),
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
fn described(node: &Node) -> Option<Words> {
    let words = match &node.value {
        Value::List(_) => said!("a list", "列表"),
        Value::Map(_) => said!("a map", "键值对"),
        Value::Refused => return None,
        Value::Scalar(scalar) => match js::word(scalar) {
            Word::Null => said!("nothing", "空的"),
            Word::Truth(_) => Words::from(shown(&scalar.text)),
            Word::Number(_) => said!("the number {}", "数字 {}", shown(&scalar.text)),
            Word::Text(_) => said!("the text {}", "文本 {}", shown(&scalar.text)),
            Word::Date(_) => said!("the date {}", "日期 {}", shown(&scalar.text)),
        },
    };
    Some(words)
}
