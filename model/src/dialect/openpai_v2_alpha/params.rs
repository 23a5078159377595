//! `$$name$$` anywhere in the file, but not in `prerequisites`: replaced from the nearest `parameters` around it.

use std::collections::BTreeMap;

use crate::{
    dialect::openpai_common::js_number,
    located::{Entry, Kind, NODES_MAX, Node, Place, Scalar, TEXT_BYTES_MAX, Value},
    said,
    spec::Problem,
};

/// References can multiply a text; this much of it is more than anyone means.
const NEW_BYTES_MAX: usize = TEXT_BYTES_MAX;
/// Parameters are looked at twice, and so are those inside of them: what is nested deep enough would keep us for years.
const VISITS_MAX: usize = 8 * NODES_MAX;

/// The whole file with every reference replaced, or where it grew beyond all bounds.
pub(super) fn filled(root: &Node) -> Result<Node, Problem> {
    let mut filling = Filling { bytes_left: NEW_BYTES_MAX, nodes_left: NODES_MAX, visits_left: VISITS_MAX, too_much: None };
    let root = filling.node(root, Nearest { entries: &[], positions: &BTreeMap::new() });
    match filling.too_much {
        None => Ok(root),
        Some(place) => Err(Problem::new(
            "parameters",
            said!(
                "make more than {NEW_BYTES_MAX} bytes or {NODES_MAX} values of the file",
                "代入之后，文件会超过 {NEW_BYTES_MAX} 字节或 {NODES_MAX} 个值"
            ),
        )
        .at(place)
        .hint(("use fewer or shorter parameters", "请减少或缩短参数"))),
    }
}

/// The parameters that count in a part of the file.
#[derive(Clone, Copy)]
struct Nearest<'a> {
    entries: &'a [Entry],
    positions: &'a BTreeMap<&'a str, usize>,
}

impl<'a> Nearest<'a> {
    fn value(self, name: &str) -> Option<&'a Node> {
        self.positions.get(name).and_then(|at| self.entries.get(*at)).map(|entry| &entry.value)
    }
}

/// The first name that a text refers to.
pub(super) fn reference(text: &str) -> Option<&str> {
    let name = |piece| if let Piece::Reference(name) = piece { Some(name) } else { None };
    pieces(text).into_iter().find_map(name)
}

struct Filling {
    bytes_left: usize,
    nodes_left: usize,
    visits_left: usize,
    too_much: Option<Place>,
}

impl Filling {
    fn node(&mut self, node: &Node, nearest: Nearest<'_>) -> Node {
        match self.visits_left.checked_sub(1) {
            Some(left) => self.visits_left = left,
            None => self.too_much = self.too_much.or(Some(node.place)),
        }
        if self.too_much.is_some() {
            return node.clone();
        }
        let value = match &node.value {
            Value::Scalar(scalar) => self.scalar(scalar, node.place, nearest),
            Value::List(items) => Value::List(items.iter().map(|item| self.node(item, nearest)).collect()),
            Value::Map(entries) => Value::Map(self.map(entries, nearest)),
            Value::Refused => Value::Refused,
        };
        Node { place: node.place, value }
    }

    fn map(&mut self, entries: &[Entry], around: Nearest<'_>) -> Vec<Entry> {
        let given = entries.iter().find(|entry| entry.key == "parameters").and_then(|entry| match &entry.value.value {
            Value::Map(parameters) => Some(parameters),
            Value::Scalar(_) | Value::List(_) | Value::Refused => None,
        });
        let Some(given) = given else {
            return entries.iter().map(|entry| self.entry(entry, around)).collect();
        };
        let positions = given.iter().enumerate().map(|(at, entry)| (entry.key.as_str(), at)).collect();
        let own = self.parameters(given, &positions, around);
        let nearest = Nearest { entries: &own, positions: &positions };
        let filled = |entry: &Entry| match entry.key.as_str() {
            "parameters" => with(entry, Node { place: entry.value.place, value: Value::Map(own.clone()) }),
            _ => self.entry(entry, nearest),
        };
        entries.iter().map(filled).collect()
    }

    fn entry(&mut self, entry: &Entry, nearest: Nearest<'_>) -> Entry {
        match entry.key.as_str() {
            "prerequisites" => entry.clone(),
            _ => with(entry, self.node(&entry.value, nearest)),
        }
    }

    /// Parameters may speak of those around them, and then of each other, one after the other.
    fn parameters(&mut self, given: &[Entry], positions: &BTreeMap<&str, usize>, around: Nearest<'_>) -> Vec<Entry> {
        let mut own = given.to_vec();
        for index in 0..own.len() {
            let nearest = if around.entries.is_empty() { Nearest { entries: &own, positions } } else { around };
            own[index].value = self.node(&own[index].value, nearest);
        }
        for index in 0..own.len() {
            own[index].value = self.node(&own[index].value, Nearest { entries: &own, positions });
        }
        own
    }

    fn scalar(&mut self, scalar: &Scalar, place: Place, nearest: Nearest<'_>) -> Value {
        let unchanged = || Value::Scalar(scalar.clone());
        if let Some(whole) = only_reference(&scalar.text).and_then(|name| nearest.value(name)) {
            return if self.afford(whole, place) { whole.value.clone() } else { unchanged() };
        }
        let mut new = String::new();
        let mut changed = false;
        for piece in pieces(&scalar.text) {
            match piece {
                Piece::Reference(name) => match nearest.value(name).and_then(printed) {
                    Some(text) => {
                        changed = true;
                        new.push_str(&text);
                    }
                    None => new.push_str(&format!("$${name}$$")),
                },
                Piece::Plain(plain) => new.push_str(plain),
            }
            if changed && new.len() > self.bytes_left {
                self.too_much.get_or_insert(place);
                return unchanged();
            }
        }
        if !changed {
            return unchanged();
        }
        self.bytes_left -= new.len();
        // What a reference was put into is text, even if it looks like a number now.
        Value::Scalar(Scalar { text: new, plain: false })
    }

    fn afford(&mut self, node: &Node, place: Place) -> bool {
        let (nodes, bytes) = size(node);
        if nodes > self.nodes_left || bytes > self.bytes_left {
            self.too_much.get_or_insert(place);
            return false;
        }
        (self.nodes_left, self.bytes_left) = (self.nodes_left - nodes, self.bytes_left - bytes);
        true
    }
}

fn with(entry: &Entry, value: Node) -> Entry {
    Entry { key: entry.key.clone(), key_place: entry.key_place, value }
}

fn size(node: &Node) -> (usize, usize) {
    let sum = |nodes: &mut dyn Iterator<Item = &Node>| nodes.map(size).fold((1, 0), |sum, it| (sum.0 + it.0, sum.1 + it.1));
    match &node.value {
        Value::Scalar(scalar) => (1, scalar.text.len()),
        Value::List(items) => sum(&mut items.iter()),
        Value::Map(entries) => sum(&mut entries.iter().map(|entry| &entry.value)),
        Value::Refused => (1, 0),
    }
}

/// A value inside a longer text, as JavaScript prints it.
fn printed(node: &Node) -> Option<String> {
    match &node.value {
        Value::Scalar(scalar) => match scalar.kind() {
            Kind::Null => None,
            Kind::Int(_) | Kind::Float(_) => Some(js_number(&scalar.text)),
            Kind::Bool(truth) => Some(truth.to_string()),
            Kind::Text => Some(scalar.text.clone()),
        },
        Value::List(items) => Some(items.iter().map(|item| printed(item).unwrap_or_default()).collect::<Vec<_>>().join(",")),
        Value::Map(_) => Some("[object Object]".into()),
        Value::Refused => None,
    }
}

enum Piece<'a> {
    Plain(&'a str),
    Reference(&'a str),
}

fn only_reference(text: &str) -> Option<&str> {
    text.strip_prefix("$$")?.strip_suffix("$$").filter(|name| is_name(name))
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'.' || c == b'_')
}

fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut rest, mut from) = (text, 0);
    while let Some(at) = rest[from..].find("$$").map(|at| at + from) {
        let after = &rest[at + 2..];
        let length = after.bytes().take_while(|c| c.is_ascii_alphanumeric() || *c == b'.' || *c == b'_').count();
        if length == 0 || !after[length..].starts_with("$$") {
            from = at + 1;
            continue;
        }
        pieces.push(Piece::Plain(&rest[..at]));
        pieces.push(Piece::Reference(&after[..length]));
        (rest, from) = (&after[length + 2..], 0);
    }
    pieces.push(Piece::Plain(rest));
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located;

    fn shown(node: &Node) -> String {
        match &node.value {
            Value::Scalar(scalar) if scalar.plain => scalar.text.clone(),
            Value::Scalar(scalar) => format!("{:?}", scalar.text),
            Value::List(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(", ")),
            Value::Map(entries) => {
                let entry = |entry: &Entry| format!("{}: {}", entry.key, shown(&entry.value));
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(", "))
            }
            Value::Refused => "refused".into(),
        }
    }

    fn told(text: &str) -> String {
        match filled(&located::parse(text).root.unwrap()) {
            Ok(root) => shown(&root),
            Err(problem) => problem.to_string(),
        }
    }

    // 2.8: a reference alone keeps the type, one inside a text is printed into it.
    #[test]
    fn a_reference_alone_keeps_its_type() {
        assert_eq!(
            told("{parameters: {n: 2, s: '2', l: [1, 2.0]}, a: $$n$$, b: $$s$$, c: $$l$$, d: x$$n$$, e: $$l$$ $$n$$, f: [{g: $$n$$}]}"),
            r#"{parameters: {n: 2, s: "2", l: [1, 2.0]}, a: 2, b: "2", c: [1, 2.0], d: "x2", e: "1,2 2", f: [{g: 2}]}"#
        );
    }

    // 2.8: from the nearest `parameters`, and not inside `prerequisites`.
    #[test]
    fn the_nearest_parameters_count_and_prerequisites_are_left_alone() {
        assert_eq!(
            told("{parameters: {a: 1, b: 2}, tasks: [{parameters: {a: $$b$$0, c: 3}, x: $$a$$ $$b$$ $$c$$}], prerequisites: [$$a$$]}"),
            r#"{parameters: {a: 1, b: 2}, tasks: [{parameters: {a: "20", c: 3}, x: "20 $$b$$ 3"}], prerequisites: [$$a$$]}"#
        );
    }

    #[test]
    fn parameters_may_speak_of_each_other_and_what_is_unknown_stays() {
        assert_eq!(
            told("{parameters: {a: x$$b$$, b: 1.0, n: null, d.e: 5}, x: $$a$$, y: $$none$$ $$n$$ $$$$ $$$b$$ $$d.e$$$$b$$}"),
            r#"{parameters: {a: "x1", b: 1.0, n: null, d.e: 5}, x: "x1", y: "$$none$$ $$n$$ $$$$ $1 51"}"#
        );
    }

    #[test]
    fn parameters_that_multiply_are_stopped() {
        let bomb = format!("parameters: {{a: {}, b: {}}}\nx: {}", "y".repeat(1000), "$$a$$ ".repeat(500), "$$b$$ ".repeat(500));
        assert_eq!(
            told(&bomb),
            "line 2, column 4: parameters: make more than 1048576 bytes or 20000 values of the file (use fewer or shorter parameters)"
        );
        let list = format!("parameters: {{a: [{}]}}\nx: [{}]", "1, ".repeat(500), "$$a$$, ".repeat(500));
        assert!(told(&list).contains("make more than"), "{}", told(&list));
        let deep = format!("{}{{a: 1}}{}", "{x: 1, parameters: ".repeat(30), "}".repeat(30));
        assert!(told(&deep).contains("make more than"), "{}", told(&deep));
    }
}
