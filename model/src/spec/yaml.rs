//! A spec as YAML that a person would have written: keys in our order, scripts as blocks, quotes only
//! where they are needed. Read again it is the same spec.

use serde_json::{Map, Value};

use super::JobSpec;
use crate::located::{Kind, Scalar};

/// Up to this many characters a list or small map stands on one line.
const LINE_CHARACTERS_MAX: usize = 80;

pub fn to_yaml(spec: &JobSpec) -> String {
    let value = serde_json::to_value(spec).expect("a spec is made of text and numbers");
    let mut out = String::new();
    entries(&mut out, value.as_object().expect("a spec is a map"), 0);
    out
}

fn entries(out: &mut String, map: &Map<String, Value>, depth: usize) {
    for (key, value) in map {
        out.push_str(&"  ".repeat(depth));
        out.push_str(&word(key));
        out.push(':');
        self::value(out, value, depth);
    }
}

/// The value behind a key or a dash, up to the end of its last line.
fn value(out: &mut String, value: &Value, depth: usize) {
    match value {
        Value::Object(map) if map.is_empty() => out.push_str(" {}\n"),
        Value::Object(map) => {
            out.push('\n');
            entries(out, map, depth + 1);
        }
        Value::Array(items) => list(out, items, depth),
        Value::String(text) => match block(text, depth + 1) {
            Some(block) => out.push_str(&block),
            None => out.push_str(&format!(" {}\n", word(text))),
        },
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&format!(" {value}\n")),
    }
}

/// On one line if it is short and every item is one word; else one line for each item.
fn list(out: &mut String, items: &[Value], depth: usize) {
    let plain: Vec<String> = items.iter().map(flat).collect();
    let line = format!(" [{}]\n", plain.join(", "));
    if line.chars().count() <= LINE_CHARACTERS_MAX {
        return out.push_str(&line);
    }
    out.push('\n');
    for item in items {
        out.push_str(&"  ".repeat(depth + 1));
        out.push('-');
        value(out, item, depth + 1);
    }
}

/// A value inside brackets, where commas and brackets mean something.
fn flat(value: &Value) -> String {
    match value {
        Value::String(text) if text.contains([',', '[', ']', '{', '}']) => quoted(text),
        Value::String(text) => word(text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn word(text: &str) -> String {
    if reads_as_itself(text) { text.to_owned() } else { quoted(text) }
}

/// Whether the text without quotes is the same text again and nothing else: no number, no mark, no comment.
fn reads_as_itself(text: &str) -> bool {
    let body =
        |c: char| c.is_ascii_alphanumeric() || " _-./=+@$%~^()<>;'\"\\,*?!|&[]{}:".contains(c) || (c.is_alphanumeric() && !c.is_control());
    let flag = text.strip_prefix('-').is_some_and(|rest| rest.starts_with(|c: char| c == '-' || c.is_ascii_alphanumeric()));
    let begins = flag || text.starts_with(|c: char| c.is_alphanumeric() || "_./$(".contains(c));
    let scalar = Scalar { text: text.to_owned(), plain: true };
    begins
        && text.chars().all(body)
        && !text.contains(": ")
        && !text.ends_with([':', ' '])
        && scalar.kind() == Kind::Text
        && !["yes", "no", "on", "off", "y", "n"].contains(&text.to_ascii_lowercase().as_str())
}

fn quoted(text: &str) -> String {
    let mut out = String::from('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_hidden(c) && c <= '\u{ffff}' => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if is_hidden(c) => out.push_str(&format!("\\U{:08x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Not to be seen, or taken for the end of a line.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Text of several lines as a block, where a block says exactly the same.
fn block(text: &str, depth: usize) -> Option<String> {
    let lines: Vec<&str> = text.trim_end_matches('\n').split('\n').collect();
    let odd = |line: &&str| line.chars().any(|c| is_hidden(c) && c != '\t') || (!line.is_empty() && line.trim().is_empty());
    let begins = lines.first().is_some_and(|line| !line.is_empty() && !line.starts_with([' ', '\t']));
    if lines.len() < 2 || !begins || lines.iter().any(odd) {
        return None;
    }
    let end = match text.len() - text.trim_end_matches('\n').len() {
        0 => "-",
        1 => "",
        _ => "+",
    };
    let indent = "  ".repeat(depth);
    let indented = |line: &str| if line.is_empty() { "\n".to_owned() } else { format!("{indent}{line}\n") };
    let more = "\n".repeat((text.len() - text.trim_end_matches('\n').len()).saturating_sub(1));
    Some(format!(" |{end}\n{}{more}", lines.into_iter().map(indented).collect::<String>()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::spec::{Command, Param, RoleSpec, read};

    #[test]
    fn a_spec_is_written_as_a_person_would() {
        let text = r#"{"name":"digits","description":"two\nlines","tags":["a","b, c"],"retries":"always","params":{"lr":1e-7,"tag":"1.10","on":true},
            "env":{"EMPTY":"","N":"64","URL":"http://x:80/a?b=c#d"},"roles":{
            "ps":{"command":["python3","ps server.py","--x=1"],"ports":{"grpc":{"from":8000,"count":2}}},
            "worker":{"tasks":2,"command":"set -e\nif true; then\n  echo \"{{ params.lr }}\"\nfi\n","memory":"4GiB","completion":{"min_failed":"never"}}}}"#;
        insta::assert_snapshot!(to_yaml(&read(text).unwrap()), @r#"
        name: digits
        description: |-
          two
          lines
        tags: [a, "b, c"]
        retries: always
        params:
          lr: 1e-7
          tag: "1.10"
          "on": true
        env:
          EMPTY: ""
          "N": "64"
          URL: "http://x:80/a?b=c#d"
        roles:
          ps:
            command: [python3, ps server.py, --x=1]
            ports:
              grpc:
                from: 8000
                count: 2
          worker:
            tasks: 2
            command: |
              set -e
              if true; then
                echo "{{ params.lr }}"
              fi
            memory: 4GiB
            completion:
              min_failed: never
        "#);
    }

    fn spec(texts: &[String]) -> JobSpec {
        let role = |command| RoleSpec { command, ..RoleSpec::default() };
        let mut spec = JobSpec { name: "a".into(), description: texts.first().cloned(), tags: texts.to_vec(), ..JobSpec::default() };
        spec.env = texts.iter().enumerate().map(|(n, text)| (format!("V{n}"), text.clone())).collect();
        spec.params = texts.iter().enumerate().map(|(n, text)| (format!("p{n}"), Some(Param::Text(text.clone())))).collect();
        spec.roles.insert("words".into(), role(Command::Words(texts.to_vec())));
        for (n, text) in texts.iter().enumerate() {
            spec.roles.insert(format!("line{n}"), role(Command::Line(text.clone())));
        }
        spec
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_as_the_same_spec(texts in prop::collection::vec("([a-z0-9 #:'\"\\\\,\\[\\]{}|>&*!%@`~?=.\\-\\n\\t]|\\PC|\n\n|  |: | #|---\n|\\.\\.\\.\n){0,12}", 1..6)) {
            let spec = spec(&texts);
            let text = to_yaml(&spec);
            prop_assert_eq!(read(&text).map_err(|problems| format!("{problems:?}\n{text}")), Ok(spec));
        }

        #[test]
        fn numbers_are_read_as_the_same_numbers(whole: i64, number in prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL) {
            let mut spec = spec(&["x".to_owned()]);
            spec.params = [("w".to_owned(), Some(Param::Whole(whole))), ("n".to_owned(), Some(Param::Number(number)))].into_iter().collect();
            prop_assert_eq!(read(&to_yaml(&spec)), Ok(spec));
        }
    }
}
