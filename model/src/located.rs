//! YAML and JSON text as a tree that remembers where everything stood.
//!
//! Job files come from strangers, so whatever makes YAML surprising or costly is refused with a
//! reason: aliases, tags, duplicate keys, several documents, hidden characters, deep or endless trees.
//! Files that were written for another system may have aliases, merge keys and plain tags; see [`parse_lenient`].

use std::collections::BTreeMap;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};

use crate::{
    said,
    spec::{Problem, shown},
    words::{Bilingual, Said, Words},
};

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
        let message =
            said!("the file has {} bytes; the most is {TEXT_BYTES_MAX}", "文件有 {} 字节，最多 {TEXT_BYTES_MAX} 字节", text.len());
        return Err(Problem::new("", message).hint((
            "keep code and data in files of their own and give their directory as `code` or `input`",
            "代码和数据请单独存放，用 `code` 或 `input` 写出所在目录",
        )));
    }
    let Some((at, bad)) = text.char_indices().find(|(_, c)| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{85}')) else {
        return Ok(());
    };
    let before = &text[..at];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.matches('\n').count() + 1;
    let place = place(line, before[line_start..].chars().count() + 1);
    let problem = Problem::new("", said!("has the control character {}", "含有控制字符 {}", bad.escape_unicode())).at(place);
    Err(problem.hint(("remove it; is this a text file in UTF-8?", "请删掉它；这是 UTF-8 文本文件吗？")))
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

const ALIAS: Said = ("an alias (`*name`) is not taken in job files", "作业文件不支持别名（`*name`）");
const ALIAS_HINT: Said = ("write the value out", "请直接写出这个值");

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
                    self.refuse(
                        place,
                        ("has a NUL character, which no program can be given", "含有 NUL 字符，无法交给任何程序"),
                        ("remove it", "请删掉它"),
                    );
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

    fn refuse(&mut self, place: Place, message: impl Bilingual, hint: impl Bilingual) {
        self.problems.push(Problem::new("", message).at(place).hint(hint));
    }

    fn check_marks(&mut self, place: Place, anchor: usize, tag: Option<&Tag>) -> Tagged {
        if anchor > 0 && self.ways == Ways::Ours {
            self.refuse(
                place,
                ("an anchor (`&name`) is not taken in job files", "作业文件不支持锚点（`&name`）"),
                ("remove it and write the value out where it is used", "请删掉它，在用到的地方直接写出值"),
            );
        }
        let Some(tag) = tag else { return Tagged::Not };
        let known = if self.ways == Ways::Theirs { aliases::known_tag(tag) } else { Tagged::Unknown };
        if known == Tagged::Unknown {
            self.refuse(
                place,
                ("a tag (`!name`) is not taken in job files", "作业文件不支持标签（`!name`）"),
                ("remove it; put a value in quotes to make it text", "请删掉它；要写成文本，把值放进引号"),
            );
        }
        known
    }

    fn document(&mut self, place: Place) -> Result<(), Stop> {
        self.documents += 1;
        if self.documents == 1 {
            return Ok(());
        }
        let problem = Problem::new("", ("a second document begins here", "这里开始了第二个文档")).at(place);
        Err(Box::new(
            problem
                .hint(("a job file describes one job; submit each file by itself", "一个作业文件只描述一个作业；请分成几个文件，逐个提交")),
        ))
    }

    fn begin(&mut self, place: Place, opened: Open) -> Result<(), Stop> {
        if self.open.len() >= DEPTH_MAX {
            return Err(Box::new(
                Problem::new("", said!("is nested more than {DEPTH_MAX} levels deep", "嵌套超过了 {DEPTH_MAX} 层")).at(place),
            ));
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
            return Err(Box::new(Problem::new("", said!("has more than {NODES_MAX} values", "值的个数超过了 {NODES_MAX}")).at(node.place)));
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
    let refused = |message: Words, hint: Said| Err(Problem::new("", message).at(node.place).hint(hint));
    let Value::Scalar(scalar) = node.value else {
        return refused(
            said!("a key must be text, not a list, a map or an alias", "键只能是文本，不能是列表、键值对或别名"),
            ("write `name: value`", "请写成 `name: value`"),
        );
    };
    if ways == Ways::Theirs && scalar.plain && scalar.text == "<<" {
        return Ok(KeyMeaning::Merge);
    }
    let name = shown(&scalar.text);
    if ways == Ways::Ours && scalar.kind() != Kind::Text {
        return refused(said!("the key {name} is not text", "键 {name} 不是文本"), ("put it in quotes", "请给它加上引号"));
    }
    if scalar.text.chars().any(char::is_control) {
        return refused(said!("the key {name} has a control character", "键 {name} 含有控制字符"), ("remove it", "请删掉它"));
    }
    if let Some(Place { line, column }) = before.insert(scalar.text.clone(), node.place) {
        return refused(
            said!(
                "the key {name} is here a second time; the first is at line {line}, column {column}",
                "键 {name} 重复了；第一次出现在第 {line} 行第 {column} 列"
            ),
            ("keep one of them", "请只留一个"),
        );
    }
    Ok(KeyMeaning::Named(scalar.text))
}

/// What the parser found, where it can be told from its words; they are English.
fn in_chinese(info: &str) -> &'static str {
    let known = [
        ("',' or ']'", "这不是 YAML：缺少 `,` 或 `]`"),
        ("',' or '}'", "这不是 YAML：缺少 `,` 或 `}`"),
        ("tab", "这不是 YAML：有制表符"),
        ("mapping values are not allowed", "这不是 YAML：这里不能出现 `: `"),
        ("quoted scalar", "这不是 YAML：引号没有结束，或引号里的缩进不对"),
        ("block mapping", "这不是 YAML：这一行与上面的键没有对齐"),
        ("block collection", "这不是 YAML：这一行与上面的列表没有对齐"),
        ("escape", "这不是 YAML：引号里的反斜杠写法不对"),
        ("duplicate", "这不是 YAML：有东西重复了"),
    ];
    known.into_iter().find(|(part, _)| info.contains(part)).map_or("这不是 YAML", |(_, zh)| zh)
}

fn syntax(error: &ScanError, place: Place, ways: Ways) -> Problem {
    if error.info().contains("unknown anchor") && ways == Ways::Theirs {
        return Problem::new("", ("there is no anchor of that name before this alias", "这个别名之前没有同名的锚点"))
            .at(place)
            .hint(ALIAS_HINT);
    }
    if error.info().contains("unknown anchor") {
        return Problem::new("", ALIAS).at(place).hint(ALIAS_HINT);
    }
    let problem = Problem::new("", (format!("this is not YAML: {}", error.info()), in_chinese(error.info()))).at(place);
    if error.info().contains("tab") {
        return problem.hint(("indent with spaces, not tabs", "缩进请用空格，不要用制表符"));
    }
    if error.info().contains("mapping values are not allowed") {
        return problem.hint((
            "a text with `: ` in it, or one that ends with `:`, stands in quotes; else look at the indentation here and on the line before",
            "文本里有 `: ` 或以 `:` 结尾时要加引号；否则请检查这一行和上一行的缩进",
        ));
    }
    problem.hint((
        "look at the indentation, the quotes and the brackets here and on the line before",
        "请检查这一行和上一行的缩进、引号和括号",
    ))
}
