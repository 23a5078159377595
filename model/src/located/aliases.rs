//! What other systems' files may have and ours may not: anchors, aliases, merge keys and plain tags.

use std::collections::BTreeMap;

use saphyr_parser::Tag;

use super::{ALIAS, ALIAS_HINT, Builder, DEPTH_MAX, Entry, Growing, Node, Place, Scalar, Stop, TEXT_BYTES_MAX, Value, Ways};
use crate::{said, spec::Problem};

/// Values that were given a name, for their aliases.
#[derive(Default)]
pub(super) struct Anchors {
    kept: BTreeMap<usize, Node>,
    /// How much text was copied so far; a few aliases of one long text could fill the memory.
    copied_bytes: usize,
}

impl Anchors {
    /// Keeps the value, and answers how many values it is.
    pub fn keep(&mut self, anchor: usize, node: &Node) -> Result<usize, Stop> {
        let copy = self.copy(node)?;
        self.kept.insert(anchor, copy);
        Ok(count(node))
    }

    fn copy(&mut self, node: &Node) -> Result<Node, Stop> {
        self.copied_bytes += text_bytes(node);
        if self.copied_bytes > TEXT_BYTES_MAX {
            let problem = Problem::new(
                "",
                said!("has aliases for more than {TEXT_BYTES_MAX} bytes of text", "别名展开后的文本超过 {TEXT_BYTES_MAX} 字节"),
            )
            .at(node.place);
            return Err(Box::new(problem.hint(("write fewer aliases, or shorter texts behind them", "请少用别名，或缩短它们代表的文本"))));
        }
        Ok(node.clone())
    }
}

impl Builder {
    pub(super) fn alias(&mut self, anchor: usize, place: Place) -> Result<(), Stop> {
        if self.ways == Ways::Ours {
            self.refuse(place, ALIAS, ALIAS_HINT);
            return self.put(Node { place, value: Value::Refused });
        }
        let Some(named) = self.anchors.kept.get(&anchor).cloned() else {
            self.refuse(place, ("this alias stands inside of what it is an alias for", "这个别名写在了它所代表的内容里面"), ALIAS_HINT);
            return self.put(Node { place, value: Value::Refused });
        };
        if self.open.len() + depth(&named) > DEPTH_MAX {
            return Err(Box::new(
                Problem::new("", said!("is nested more than {DEPTH_MAX} levels deep", "嵌套超过了 {DEPTH_MAX} 层")).at(place),
            ));
        }
        self.nodes += count(&named) - 1;
        let copy = self.anchors.copy(&named)?;
        self.put(Node { place, value: copy.value })
    }
}

impl Growing {
    /// Takes over the keys of a map, or of several, that are not here yet; answers what cannot be merged.
    pub(super) fn merge(&mut self, from: Node) -> Option<Problem> {
        match from.value {
            Value::Map(entries) => entries.into_iter().for_each(|entry| self.take_over(entry)),
            Value::List(items) => return items.into_iter().filter_map(|item| self.merge_one(item)).next(),
            Value::Refused => {}
            Value::Scalar(_) => return Some(not_a_map(from.place)),
        }
        None
    }

    fn merge_one(&mut self, from: Node) -> Option<Problem> {
        match from.value {
            Value::Map(entries) => entries.into_iter().for_each(|entry| self.take_over(entry)),
            Value::Refused => {}
            Value::Scalar(_) | Value::List(_) => return Some(not_a_map(from.place)),
        }
        None
    }

    fn take_over(&mut self, entry: Entry) {
        if !self.keys.contains_key(&entry.key) && !self.merged.contains_key(&entry.key) {
            self.merged.insert(entry.key.clone(), self.entries.len());
            self.entries.push(entry);
        }
    }
}

fn not_a_map(place: Place) -> Problem {
    Problem::new("", ("only maps can be merged with `<<`", "`<<` 只能合并键值对"))
        .at(place)
        .hint(("write `<<: *name`, with an anchor of a map", "请写 `<<: *name`，其中的锚点要标在一组键值对上"))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tagged {
    Not,
    /// The value is what it looks like.
    AsItLooks,
    Text,
    /// The letters mean what they would without quotes.
    Unquoted,
    Unknown,
}

pub(super) fn known_tag(tag: &Tag) -> Tagged {
    match (tag.handle.as_str(), tag.suffix.as_str()) {
        ("tag:yaml.org,2002:" | "!!", "str") | ("!" | "", "" | "!") => Tagged::Text,
        ("tag:yaml.org,2002:" | "!!", "int" | "float" | "bool" | "null") => Tagged::Unquoted,
        ("tag:yaml.org,2002:" | "!!", "map" | "seq") => Tagged::AsItLooks,
        _ => Tagged::Unknown,
    }
}

pub(super) fn tagged(scalar: Scalar, tag: Tagged) -> Value {
    match tag {
        Tagged::Not | Tagged::AsItLooks => Value::Scalar(scalar),
        Tagged::Text => Value::Scalar(Scalar { plain: false, ..scalar }),
        Tagged::Unquoted => Value::Scalar(Scalar { plain: true, ..scalar }),
        Tagged::Unknown => Value::Refused,
    }
}

fn count(node: &Node) -> usize {
    children(node).map(count).sum::<usize>() + 1
}

fn text_bytes(node: &Node) -> usize {
    let own = match &node.value {
        Value::Scalar(scalar) => scalar.text.len(),
        Value::Map(entries) => entries.iter().map(|entry| entry.key.len()).sum(),
        Value::List(_) | Value::Refused => 0,
    };
    own + children(node).map(text_bytes).sum::<usize>()
}

/// How many lists and maps are in one another.
fn depth(node: &Node) -> usize {
    match &node.value {
        Value::List(_) | Value::Map(_) => 1 + children(node).map(depth).max().unwrap_or(0),
        Value::Scalar(_) | Value::Refused => 0,
    }
}

fn children(node: &Node) -> Box<dyn Iterator<Item = &Node> + '_> {
    match &node.value {
        Value::List(items) => Box::new(items.iter()),
        Value::Map(entries) => Box::new(entries.iter().map(|entry| &entry.value)),
        Value::Scalar(_) | Value::Refused => Box::new(std::iter::empty()),
    }
}
