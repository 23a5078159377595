//! Values files as they were printed are often not YAML: a section one space too deep, or its keys at its
//! own level, so that `image` is there three times. What was meant can be told by the section that a line
//! follows. This puts every section at the left and its keys under it, line by line, so lines keep their numbers.

use crate::located::{self, Node, Parsed, Place, Value};

const SECTIONS: [&str; 5] = ["worker", "ps", "hyperparams", "tensorboard", "persistence"];
/// Stands on its own wherever it is not under `persistence`.
const ALONE: &str = "mountPath";
const STEP: i64 = 2;

/// Reads the text as it was meant, with every place as it was written.
pub fn parse(text: &str) -> Parsed {
    let (even, shifts) = evened(text);
    let mut parsed = located::parse(&even);
    let back = |place: Place| Place { column: moved(place.column, -shift(&shifts, place.line)), ..place };
    if let Some(root) = &mut parsed.root {
        put_back(root, &back);
    }
    for problem in parsed.problems.iter_mut().filter(|it| it.line > 0) {
        problem.column = back(Place { line: problem.line, column: problem.column }).column;
    }
    parsed
}

fn shift(shifts: &[i64], line: u32) -> i64 {
    shifts.get(line as usize - 1).copied().unwrap_or(0)
}

fn moved(column: u32, by: i64) -> u32 {
    u32::try_from((i64::from(column) + by).max(1)).unwrap_or(u32::MAX)
}

fn put_back(node: &mut Node, back: &impl Fn(Place) -> Place) {
    node.place = back(node.place);
    match &mut node.value {
        Value::Scalar(_) | Value::Refused => {}
        Value::List(items) => items.iter_mut().for_each(|item| put_back(item, back)),
        Value::Map(entries) => entries.iter_mut().for_each(|entry| {
            entry.key_place = back(entry.key_place);
            put_back(&mut entry.value, back);
        }),
    }
}

/// The section whose lines are being read.
#[derive(Default)]
struct Section {
    name: String,
    /// Whether lines at its own level can be meant to be inside: it is one that we know, and has no value of its own.
    takes_neighbours: bool,
    indent: i64,
    /// Of the first line under it; none before that was seen.
    inside: Option<i64>,
}

impl Section {
    fn begun_by(line: &str, indent: i64) -> Self {
        let (key, value) = key_and_value(line);
        Self { name: key.to_owned(), takes_neighbours: SECTIONS.contains(&key) && value.is_empty(), indent, inside: None }
    }

    /// Whether its keys stand at its own level or even further left.
    fn is_flat(&self) -> bool {
        self.inside.is_some_and(|inside| inside <= self.indent)
    }

    /// Whether a line with this indent is no longer one of its own, if it could be.
    fn ends_at(&self, indent: i64) -> bool {
        match self.inside {
            None => indent <= self.indent,
            Some(inside) => indent < inside,
        }
    }

    /// Whether the line begins another section, or is a value that belongs to none.
    fn is_left_by(&self, indent: i64, line: &str) -> bool {
        let (key, value) = key_and_value(line);
        let apart = self.ends_at(indent) || self.is_flat() && Some(indent) == self.inside;
        let section = SECTIONS.contains(&key) && (value.is_empty() || value.starts_with('{'));
        let alone = key == ALONE && self.name != "persistence";
        // A key left of its fellows begins something new, but the first line under a section may be anywhere.
        let new = (self.inside.is_some() || !self.takes_neighbours) && self.ends_at(indent) && !key.is_empty();
        self.name.is_empty() || apart && (section || alone) || new
    }

    fn shift(&mut self, indent: i64) -> i64 {
        let inside = *self.inside.get_or_insert(indent);
        if inside <= self.indent { STEP - inside } else { -self.indent }
    }
}

/// The text with its sections put right, and by how much each line was moved.
fn evened(text: &str) -> (String, Vec<i64>) {
    let (mut section, mut even, mut shifts) = (Section::default(), String::new(), Vec::new());
    let json = text.trim_start().starts_with('{');
    for line in text.split_inclusive('\n') {
        let content = line.trim_start_matches(' ');
        let indent = (line.len() - content.len()) as i64;
        let says_nothing = content.trim().is_empty() || content.starts_with(['#', '%']) || content.starts_with("---");
        let shift = if json || says_nothing {
            0
        } else if section.is_left_by(indent, content) {
            section = Section::begun_by(content, indent);
            -indent
        } else {
            section.shift(indent)
        };
        even.push_str(&" ".repeat(usize::try_from(indent + shift).unwrap_or(0)));
        even.push_str(content);
        shifts.push((indent + shift).max(0) - indent);
    }
    (even, shifts)
}

/// The key of a line, and what stands behind it apart from a comment.
fn key_and_value(line: &str) -> (&str, &str) {
    let Some((key, value)) = line.split_once(':') else { return ("", "") };
    let value = value.trim();
    (key.trim_end().trim_matches(['"', '\'']), if value.starts_with('#') { "" } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_stand_at_the_left_and_their_keys_under_them() {
        let crooked =
            "worker:\n   number: 2\n   image: a\n ps:\n   number: 1\n mountPath: /data\n persistence:\n    pvc:\n       storage: 5Gi\n";
        insta::assert_snapshot!(evened(crooked).0, @"
        worker:
           number: 2
           image: a
        ps:
          number: 1
        mountPath: /data
        persistence:
           pvc:
              storage: 5Gi
        ");
        let flat =
            "worker:\nnumber: 2\n# why\nimage: a\nps:\nnumber: 1\nmountPath: /x\npersistence:\nmountPath: /data\npvc:\n  storage: 5Gi\n";
        insta::assert_snapshot!(evened(flat).0, @"
        worker:
          number: 2
        # why
          image: a
        ps:
          number: 1
        mountPath: /x
        persistence:
          mountPath: /data
          pvc:
            storage: 5Gi
        ");
    }

    #[test]
    fn what_is_right_already_is_left_alone() {
        for text in [
            "worker:\n  number: 2\n  command: |\n    ps:\n    x\nps:\n  number: 1\n\n# end\nmountPath: /data\nother: [1,\n  2]\n",
            "{\"worker\": {\"number\": 1},\n   \"ps\": {}}",
            "worker: {number: 2}\nps: {number: 1}\r\n",
            "",
        ] {
            assert_eq!(evened(text).0, text);
        }
    }

    #[test]
    fn places_are_those_of_the_file_as_it_is() {
        let parsed = parse("  worker:\n  number: 2\n  number: 3\n");
        let told: Vec<String> = parsed.problems.iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("line 3, column 3: the key `number` is here a second time"), "{told:?}");
        let Some(Node { value: Value::Map(entries), .. }) = parsed.root else { panic!("no map") };
        let Value::Map(inner) = &entries[0].value.value else { panic!("no map in it") };
        assert_eq!((inner[0].key_place, inner[0].value.place), (Place { line: 2, column: 3 }, Place { line: 2, column: 11 }));
    }
}
