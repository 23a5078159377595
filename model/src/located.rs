//! YAML and JSON text as a tree that remembers where everything stood.
//!
//! Job files come from strangers, so whatever makes YAML surprising or costly is refused with a
//! reason: aliases, tags, duplicate keys, several documents, hidden characters, deep or endless trees.
//! Files that were written for another system may have aliases, merge keys and plain tags; see [`parse_lenient`].

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use crate::spec::{Problem, shown};

mod aliases;
mod pairs;
#[cfg(test)]
mod tests;

use aliases::{Anchors, Tagged};
use pairs::Joined;

pub const TEXT_BYTES_MAX: usize = 1 << 20;
pub const DEPTH_MAX: usize = 32;
pub const NODES_MAX: usize = 20_000;

/// Both count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub place: Place,
    pub value: Value,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Scalar(Scalar),
    List(Vec<Node>),
    Map(Vec<Entry>),
    /// Something we do not take, such as an alias. It has been told already, so nobody tells it again.
    Refused,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    pub key: String,
    pub key_place: Place,
    pub value: Node,
}

/// The text as it was written, and whether it stood without quotes: `1.10` is a number, `"1.10"` is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scalar {
    pub text: String,
    pub plain: bool,
}

/// What a scalar means by the core schema of YAML 1.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Null,
    Bool(bool),
    /// Whole numbers beyond 128 bits are told as floats.
    Int(i128),
    Float(f64),
    Text,
}

impl Scalar {
    pub fn kind(&self) -> Kind {
        if !self.plain {
            return Kind::Text;
        }
        match self.text.as_str() {
            "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
            "true" | "True" | "TRUE" => Kind::Bool(true),
            "false" | "False" | "FALSE" => Kind::Bool(false),
            text => int(text).map(Kind::Int).or_else(|| float(text).map(Kind::Float)).unwrap_or(Kind::Text),
        }
    }
}

fn int(text: &str) -> Option<i128> {
    if let Some(octal) = text.strip_prefix("0o") {
        return digits_only(octal, 8).then(|| i128::from_str_radix(octal, 8).ok())?;
    }
    if let Some(hex) = text.strip_prefix("0x") {
        return digits_only(hex, 16).then(|| i128::from_str_radix(hex, 16).ok())?;
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits_only(digits, 10).then(|| text.parse().ok())?
}

fn digits_only(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

fn float(text: &str) -> Option<f64> {
    let (negative, bare) = match text.strip_prefix('-') {
        Some(bare) => (true, bare),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let magnitude = match bare {
        ".inf" | ".Inf" | ".INF" => f64::INFINITY,
        ".nan" | ".NaN" | ".NAN" if bare == text => f64::NAN,
        // Rust reads `inf` and `infinity` as numbers too; YAML does not.
        _ if bare.starts_with(|c: char| c.is_ascii_digit() || c == '.') && bare.contains(|c: char| c.is_ascii_digit()) => {
            bare.parse().ok()?
        }
        _ => return None,
    };
    Some(if negative { -magnitude } else { magnitude })
}

/// What was read, and everything that was wrong with it. Without a root nothing could be made of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    pub root: Option<Node>,
    pub problems: Vec<Problem>,
}

pub fn parse(text: &str) -> Parsed {
    parse_by(text, Ways::Ours)
}

/// The same for files of other systems, whose YAML may have anchors, aliases, merge keys, the tags of
/// the core schema, and keys that are numbers. What aliases copy counts towards the same bounds.
pub fn parse_lenient(text: &str) -> Parsed {
    parse_by(text, Ways::Theirs)
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Ways {
    #[default]
    Ours,
    Theirs,
}

fn parse_by(text: &str, ways: Ways) -> Parsed {
    if let Err(problem) = check_text(text) {
        return Parsed { root: None, problems: vec![problem] };
    }
    let joined = Joined::of(text);
    let mut builder = Builder { ways, ..Builder::default() };
    let root = builder.build(&joined).unwrap_or_else(|problem| {
        builder.problems.push(*problem);
        None
    });
    Parsed { root, problems: builder.problems }
}

fn check_text(text: &str) -> Result<(), Problem> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!("the file has {} bytes; the most is {TEXT_BYTES_MAX}", text.len());
        return Err(
            Problem::new("", message).hint("keep code and data in files of their own and give their directory as `code` or `input`")
        );
    }
    let Some((at, bad)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}')) else {
        return Ok(());
    };
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let place = place(line, before[line_start..].chars().count() + 1);
    let problem = Problem::new("", format!("has the control character {}", bad.escape_unicode())).at(place);
    Err(problem.hint("remove it; is this a text file in UTF-8?"))
}

fn place(line: usize, column: usize) -> Place {
    let bounded = |number: usize| u32::try_from(number).unwrap_or(u32::MAX).max(1);
    Place { line: bounded(line), column: bounded(column) }
}

fn place_of(marker: &Marker) -> Place {
    place(marker.line(), marker.col() + 1)
}

/// Lists and maps that have begun and not ended.
enum Open {
    List { place: Place, anchor: usize, items: Vec<Node> },
    Map { place: Place, anchor: usize, map: Growing, key: Option<Key> },
}

/// A map and what is needed to know about it while it grows.
#[derive(Default)]
struct Growing {
    entries: Vec<Entry>,
    keys: BTreeMap<String, Place>,
    /// Keys that came by merging, and where they are in `entries`: the map's own win over them.
    merged: BTreeMap<String, usize>,
}

/// A key that waits for its value.
struct Key {
    meaning: KeyMeaning,
    place: Place,
}

enum KeyMeaning {
    Named(String),
    /// `<<`: the keys of the value become keys of this map.
    Merge,
    /// Its value is dropped with it.
    Refused,
}

#[derive(Default)]
struct Builder {
    ways: Ways,
    anchors: Anchors,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    nodes: usize,
    problems: Vec<Problem>,
}

const ALIAS: &str = "an alias (`*name`) is not taken in job files";
const ALIAS_HINT: &str = "write the value out";

type Stop = Box<Problem>;

impl Builder {
    /// Reads on after whatever it can; the error is what made going on pointless.
    fn build(&mut self, joined: &Joined<'_>) -> Result<Option<Node>, Stop> {
        let mut parser = Parser::new_from_str(&joined.text);
        // Every event but a few uses up text, so this loop ends; the bound on nodes ends it much earlier.
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| Box::new(syntax(&error, joined.original(place_of(error.marker())), self.ways)))?;
            self.take(event, joined.original(place_of(&span.start)))?;
        }
        Ok(self.root.take())
    }

    fn take(&mut self, event: Event<'_>, place: Place) -> Result<(), Stop> {
        match event {
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
            Event::DocumentStart(_) => self.document(place),
            Event::Alias(anchor) => self.alias(anchor, place),
            Event::Scalar(text, style, anchor, tag) => {
                let tag = self.check_marks(place, anchor, tag.as_deref());
                let plain = style == ScalarStyle::Plain;
                let value = if text.contains('\0') {
                    self.refuse(place, "has a NUL character, which no program can be given", "remove it");
                    Value::Refused
                } else {
                    aliases::tagged(Scalar { text: text.into_owned(), plain }, tag)
                };
                self.finish(anchor, Node { place, value })
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_marks(place, anchor, tag.as_deref());
                self.begin(place, Open::List { place, anchor, items: Vec::new() })
            }
            Event::MappingStart(anchor, tag) => {
                self.check_marks(place, anchor, tag.as_deref());
                self.begin(place, Open::Map { place, anchor, map: Growing::default(), key: None })
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(),
        }
    }

    fn refuse(&mut self, place: Place, message: &str, hint: &str) {
        self.problems.push(Problem::new("", message).at(place).hint(hint));
    }

    fn check_marks(&mut self, place: Place, anchor: usize, tag: Option<&Tag>) -> Tagged {
        if anchor > 0 && self.ways == Ways::Ours {
            self.refuse(place, "an anchor (`&name`) is not taken in job files", "remove it and write the value out where it is used");
        }
        let Some(tag) = tag else { return Tagged::Not };
        let known = if self.ways == Ways::Theirs { aliases::known_tag(tag) } else { Tagged::Unknown };
        if known == Tagged::Unknown {
            self.refuse(place, "a tag (`!name`) is not taken in job files", "remove it; put a value in quotes to make it text");
        }
        known
    }

    fn document(&mut self, place: Place) -> Result<(), Stop> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let problem = Problem::new("", "a second document begins here").at(place);
        Err(Box::new(problem.hint("a job file describes one job; submit each file by itself")))
    }

    fn begin(&mut self, place: Place, opened: Open) -> Result<(), Stop> {
        if self.open.len() >= DEPTH_MAX {
            return Err(Box::new(Problem::new("", format!("is nested more than {DEPTH_MAX} levels deep")).at(place)));
        }
        self.open.push(opened);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Stop> {
        match self.open.pop() {
            Some(Open::List { place, anchor, items }) => self.finish(anchor, Node { place, value: Value::List(items) }),
            Some(Open::Map { place, anchor, map, .. }) => self.finish(anchor, Node { place, value: Value::Map(map.entries) }),
            None => Ok(()),
        }
    }

    /// A value that is whole: it is kept for its aliases, and put where it stands.
    fn finish(&mut self, anchor: usize, node: Node) -> Result<(), Stop> {
        if anchor > 0 && self.ways == Ways::Theirs {
            self.nodes += self.anchors.keep(anchor, &node)?;
        }
        self.put(node)
    }

    fn put(&mut self, node: Node) -> Result<(), Stop> {
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(Box::new(Problem::new("", format!("has more than {NODES_MAX} values")).at(node.place)));
        }
        let ways = self.ways;
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { items, .. }) => items.push(node),
            Some(Open::Map { map, key, .. }) => match key.take() {
                Some(Key { meaning: KeyMeaning::Named(key), place }) => map.add(key, place, node),
                Some(Key { meaning: KeyMeaning::Merge, .. }) => self.problems.extend(map.merge(node)),
                Some(Key { meaning: KeyMeaning::Refused, .. }) => {}
                None => {
                    let place = node.place;
                    let told = |problem| {
                        self.problems.push(problem);
                        KeyMeaning::Refused
                    };
                    *key = Some(Key { meaning: take_key(node, ways, &mut map.keys).unwrap_or_else(told), place });
                }
            },
        }
        Ok(())
    }
}

impl Growing {
    fn add(&mut self, key: String, key_place: Place, value: Node) {
        let entry = Entry { key, key_place, value };
        match self.merged.remove(&entry.key) {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
    }
}

fn take_key(node: Node, ways: Ways, before: &mut BTreeMap<String, Place>) -> Result<KeyMeaning, Problem> {
    let refused = |message: String, hint: &str| Err(Problem::new("", message).at(node.place).hint(hint));
    let Value::Scalar(scalar) = node.value else {
        return refused("a key must be text, not a list, a map or an alias".into(), "write `name: value`");
    };
    if ways == Ways::Theirs && scalar.plain && scalar.text == "<<" {
        return Ok(KeyMeaning::Merge);
    }
    let name = shown(&scalar.text);
    if ways == Ways::Ours && scalar.kind() != Kind::Text {
        return refused(format!("the key {name} is not text"), "put it in quotes");
    }
    if scalar.text.chars().any(char::is_control) {
        return refused(format!("the key {name} has a control character"), "remove it");
    }
    if let Some(Place { line, column }) = before.insert(scalar.text.clone(), node.place) {
        return refused(format!("the key {name} is here a second time; the first is at line {line}, column {column}"), "keep one of them");
    }
    Ok(KeyMeaning::Named(scalar.text))
}

fn syntax(error: &ScanError, place: Place, ways: Ways) -> Problem {
    if error.info().contains("unknown anchor") && ways == Ways::Theirs {
        return Problem::new("", "there is no anchor of that name before this alias").at(place).hint(ALIAS_HINT);
    }
    if error.info().contains("unknown anchor") {
        return Problem::new("", ALIAS).at(place).hint(ALIAS_HINT);
    }
    let problem = Problem::new("", format!("this is not YAML: {}", error.info())).at(place);
    if error.info().contains("tab") {
        return problem.hint("indent with spaces, not tabs");
    }
    if error.info().contains("mapping values are not allowed") {
        return problem.hint(
            "a text with `: ` in it, or one that ends with `:`, stands in quotes; else look at the indentation here and on the line before",
        );
    }
    problem.hint("look at the indentation, the quotes and the brackets here and on the line before")
}
