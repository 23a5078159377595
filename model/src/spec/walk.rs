//! Walking a located tree by hand: takes what has the right shape, and tells everything that has not.

use std::collections::BTreeMap;

use super::{Problem, join, shown, suggest::nearest};
use crate::{
    located::{Entry, Kind, Node, Place, Scalar, Value},
    said,
    words::{Bilingual, Said, Words, listed, wrong_shape},
};

/// Where each path of the file stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Places(BTreeMap<String, Place>);

impl Places {
    pub fn set(&mut self, path: &str, place: Place) {
        self.0.insert(path.to_owned(), place);
    }

    /// The place of `path`, or of the nearest thing around it that the file does have.
    pub fn nearest(&self, path: &str) -> Option<Place> {
        outward(path).find_map(|path| self.0.get(path).copied())
    }
}

/// The path itself, then everything it is a part of, up to the file as a whole.
pub fn outward(path: &str) -> impl Iterator<Item = &str> {
    let around = path.rmatch_indices(['.', '[']).map(|(at, _)| &path[..at]);
    std::iter::once(path).chain(around).chain(std::iter::once(""))
}

#[derive(Default)]
pub struct Walk {
    pub places: Places,
    pub problems: Vec<Problem>,
    /// Paths that are in the file and were refused before anyone asked what they mean.
    pub refused: Vec<String>,
}

/// The keys of one map, to be asked for by name.
pub struct Keys<'a> {
    path: String,
    place: Place,
    entries: Vec<&'a Entry>,
    asked: Vec<&'static str>,
    /// Required and not there, with the hint for it.
    missing: Vec<(&'static str, Words)>,
}

/// Keys of another level of the file, which people sometimes write one level too high or too low.
pub struct Elsewhere {
    pub keys: &'static [&'static str],
    pub place: Said,
}

/// One value and what it is called.
pub struct Field<'a> {
    pub path: String,
    pub node: &'a Node,
}

impl Walk {
    pub fn tell(&mut self, field: &Field<'_>, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new(field.path.clone(), message).at(field.node.place).hint(hint));
    }

    /// Tells that the value has the wrong shape, unless it was refused already.
    pub fn wrong(&mut self, field: &Field<'_>, must_be: impl Bilingual, hint: impl Bilingual) {
        match described(field.node) {
            Some(it) => self.tell(field, wrong_shape(&must_be.words(), &it), hint),
            None => self.refused.push(field.path.clone()),
        }
    }

    pub fn keys<'a>(&mut self, field: &Field<'a>, place: Place, hint: impl Bilingual) -> Option<Keys<'a>> {
        let Value::Map(entries) = &field.node.value else {
            self.wrong(field, ("a map", "键值对"), hint);
            return None;
        };
        Some(Keys { path: field.path.clone(), place, entries: entries.iter().collect(), asked: Vec::new(), missing: Vec::new() })
    }

    /// The entries of a map whose keys a person chooses, with the place of the key for each.
    pub fn open_map<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Vec<(&'a str, Field<'a>, Place)> {
        let Value::Map(entries) = &field.node.value else {
            self.wrong(field, ("a map", "键值对"), hint);
            return Vec::new();
        };
        let mut fields = Vec::new();
        for entry in entries {
            let path = join(&field.path, &entry.key);
            self.places.set(&path, entry.key_place);
            fields.push((entry.key.as_str(), Field { path, node: &entry.value }, entry.key_place));
        }
        fields
    }

    /// The value of a key as it stands, `null` included.
    pub fn as_written<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str) -> Option<(Field<'a>, Place)> {
        keys.asked.push(key);
        let found = keys.entries.iter().position(|entry| entry.key == key)?;
        let entry = keys.entries.remove(found);
        let path = join(&keys.path, key);
        self.places.set(&path, if matches!(entry.value.value, Value::Map(_)) { entry.key_place } else { entry.value.place });
        Some((Field { path, node: &entry.value }, entry.key_place))
    }

    /// The value of a key; `null` is the same as not writing it.
    pub fn optional<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str) -> Option<Field<'a>> {
        self.as_written(keys, key).map(|(field, _)| field).filter(|field| !is_null(field.node))
    }

    pub fn required<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str, hint: impl Bilingual) -> Option<Field<'a>> {
        match self.as_written(keys, key) {
            None => keys.missing.push((key, hint.words())),
            Some((field, _)) if is_null(field.node) => self.tell(&field, ("is there without a value", "写了却没有值"), hint),
            Some((field, _)) => return Some(field),
        }
        None
    }

    /// The value of a required key, or of the one that was probably meant to be it: whoever misspells a word wants to hear of
    /// what is below it too. [`Walk::no_more`] tells of the word.
    pub fn required_or_meant<'a>(&mut self, keys: &mut Keys<'a>, key: &'static str, hint: impl Bilingual) -> Option<Field<'a>> {
        if keys.entries.iter().any(|entry| entry.key == key) {
            return self.required(keys, key, hint);
        }
        keys.asked.push(key);
        let is_meant = |entry: &&&Entry| nearest(&entry.key, &keys.asked) == Some(key) && !is_null(&entry.value);
        let Some(entry) = keys.entries.iter().find(is_meant).copied() else {
            keys.missing.push((key, hint.words()));
            return None;
        };
        self.places.set(&join(&keys.path, key), entry.key_place);
        Some(Field { path: join(&keys.path, key), node: &entry.value })
    }

    /// Tells what was not asked for, and then what was asked for in vain. One that is only misspelt is not missing too.
    pub fn no_more(&mut self, keys: &Keys<'_>, elsewhere: &Elsewhere) {
        let meant: Vec<&str> = keys.entries.iter().filter_map(|entry| self.unknown(entry, keys, elsewhere)).collect();
        for (key, hint) in &keys.missing {
            let path = join(&keys.path, key);
            if meant.contains(key) {
                self.refused.push(path);
            } else {
                self.problems.push(Problem::new(path, ("is missing", "没有写")).at(keys.place).hint(hint.clone()));
            }
        }
    }

    /// Tells an unknown key, and answers the known one that was probably meant.
    fn unknown(&mut self, entry: &Entry, keys: &Keys<'_>, elsewhere: &Elsewhere) -> Option<&'static str> {
        let belongs_elsewhere = elsewhere.keys.contains(&entry.key.as_str());
        let meant = nearest(&entry.key, &keys.asked).filter(|_| !belongs_elsewhere);
        let hint = match meant {
            _ if belongs_elsewhere => Words::new(format!("it belongs {}", elsewhere.place.0), format!("它应该{}", elsewhere.place.1)),
            _ if entry.key == "<<" => {
                said!("merging is not taken in job files; write the keys out", "作业文件不支持合并；请把这些键直接写出来")
            }
            Some(key) => said!("did you mean `{key}`?", "是不是想写 `{key}`？"),
            None => listed(("the keys here are", "这里可以写的键有"), &keys.asked),
        };
        let problem = Problem::new(join(&keys.path, &entry.key), said!("unknown key {}", "不认识的键 {}", shown(&entry.key)));
        self.problems.push(problem.at(entry.key_place).hint(hint));
        meant
    }

    pub fn text(&mut self, field: &Field<'_>, hint: impl Bilingual) -> Option<String> {
        match scalar(field.node) {
            Some((scalar, Kind::Text)) => Some(scalar.text.clone()),
            Some((scalar, Kind::Bool(_) | Kind::Int(_) | Kind::Float(_))) => {
                self.wrong(field, ("text", "文本"), said!("put it in quotes: \"{}\"", "请加上引号：\"{}\"", scalar.text));
                None
            }
            Some((_, Kind::Null)) | None => {
                self.wrong(field, ("text", "文本"), hint);
                None
            }
        }
    }

    /// Text, or a number or truth value by the letters it was written with.
    pub fn word(&mut self, field: &Field<'_>, hint: impl Bilingual) -> Option<String> {
        match scalar(field.node) {
            Some((scalar, Kind::Text | Kind::Bool(_) | Kind::Int(_) | Kind::Float(_))) => Some(scalar.text.clone()),
            Some((_, Kind::Null)) | None => {
                self.wrong(field, ("text", "文本"), hint);
                None
            }
        }
    }

    pub fn whole<T: TryFrom<i128>>(&mut self, field: &Field<'_>, must_be: impl Bilingual, hint: impl Bilingual) -> Option<T> {
        let number = scalar(field.node).and_then(|(_, kind)| whole_number(kind)).and_then(|number| T::try_from(number).ok());
        if number.is_none() {
            let quoted_number = matches!(&field.node.value, Value::Scalar(it) if !it.plain && it.text.parse::<i128>().is_ok());
            self.wrong(field, must_be, if quoted_number { said!("write it without quotes", "请去掉引号") } else { hint.words() });
        }
        number
    }

    pub fn list<'a>(&mut self, field: &Field<'a>, hint: impl Bilingual) -> Option<Vec<Field<'a>>> {
        let Value::List(items) = &field.node.value else {
            self.wrong(field, ("a list", "列表"), hint);
            return None;
        };
        let mut fields = Vec::new();
        for (index, node) in items.iter().enumerate() {
            let path = format!("{}[{index}]", field.path);
            self.places.set(&path, node.place);
            fields.push(Field { path, node });
        }
        Some(fields)
    }
}

pub fn scalar(node: &Node) -> Option<(&Scalar, Kind)> {
    match &node.value {
        Value::Scalar(scalar) => Some((scalar, scalar.kind())),
        Value::List(_) | Value::Map(_) | Value::Refused => None,
    }
}

/// JSON does not tell `2` from `2.0`, and some programs write the latter.
pub fn whole_number(kind: Kind) -> Option<i128> {
    const EXACT_BELOW: f64 = 9_007_199_254_740_992.0;
    match kind {
        Kind::Int(number) => Some(number),
        Kind::Float(number) if number.fract() == 0.0 && number.abs() < EXACT_BELOW => Some(number as i128),
        Kind::Float(_) | Kind::Null | Kind::Bool(_) | Kind::Text => None,
    }
}

pub fn is_null(node: &Node) -> bool {
    matches!(scalar(node), Some((_, Kind::Null)))
}

/// What stands there, in words; nothing for what was refused already.
fn described(node: &Node) -> Option<Words> {
    let words = match &node.value {
        Value::List(_) => said!("a list", "列表"),
        Value::Map(_) => said!("a map", "键值对"),
        Value::Refused => return None,
        Value::Scalar(scalar) => match scalar.kind() {
            Kind::Null => said!("nothing", "空的"),
            Kind::Bool(_) => Words::from(shown(&scalar.text)),
            Kind::Int(_) | Kind::Float(_) => said!("the number {}", "数字 {}", shown(&scalar.text)),
            Kind::Text => said!("the text {}", "文本 {}", shown(&scalar.text)),
        },
    };
    Some(words)
}
