//! What a value of the file was to OpenPAI's server: js-yaml 3.13 read it, and JavaScript printed it again.

use crate::located::{Node, Scalar, Value};

mod date;
mod number;

pub(super) use number::show as show_number;

/// A value without parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Word<'a> {
    Null,
    Truth(bool),
    Number(f64),
    Text(&'a str),
    /// Milliseconds since 1970. To JavaScript it is an object, not text.
    Date(i64),
}

pub(super) fn word(scalar: &Scalar) -> Word<'_> {
    let text = scalar.text.as_str();
    if !scalar.plain {
        return Word::Text(text);
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Word::Null,
        "true" | "True" | "TRUE" => Word::Truth(true),
        "false" | "False" | "FALSE" => Word::Truth(false),
        _ => number::read(text).map(Word::Number).or_else(|| date::read(text).map(Word::Date)).unwrap_or(Word::Text(text)),
    }
}

pub(super) fn word_of(node: &Node) -> Option<Word<'_>> {
    match &node.value {
        Value::Scalar(scalar) => Some(word(scalar)),
        Value::List(_) | Value::Map(_) | Value::Refused => None,
    }
}

/// As `"" + value` prints it.
pub(super) fn text(node: &Node) -> String {
    match &node.value {
        Value::Scalar(scalar) => match word(scalar) {
            Word::Null => "null".into(),
            Word::Truth(value) => value.to_string(),
            Word::Number(value) => number::show(value),
            Word::Text(text) => text.to_owned(),
            Word::Date(ms) => date::show(ms),
        },
        Value::List(items) => items.iter().map(|item| if is_null(item) { String::new() } else { text(item) }).collect::<Vec<_>>().join(","),
        Value::Map(_) => "[object Object]".into(),
        Value::Refused => String::new(),
    }
}

pub(super) fn is_null(node: &Node) -> bool {
    word_of(node) == Some(Word::Null)
}

/// What JavaScript takes for white space, in `\s` and in `trim`.
pub(super) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{b}' | '\u{c}' | '\r' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::located::parse_lenient;

    fn printed(value: &str) -> String {
        text(&parse_lenient(value).root.unwrap())
    }

    /// Every line was printed by js-yaml 3.13.1 under Node 20 with the clock set to UTC.
    #[test]
    fn values_are_printed_as_the_server_printed_them() {
        for (written, meant) in [
            ("1.0", "1"),
            ("1e-5", "0.00001"),
            ("1e-7", "1e-7"),
            ("1e21", "1e+21"),
            ("1_000", "1000"),
            ("0x1F", "31"),
            ("017", "15"),
            ("0b101", "5"),
            ("12:30", "750"),
            ("1:30:15.5", "5415.5"),
            (".inf", "Infinity"),
            ("-.Inf", "-Infinity"),
            (".NaN", "NaN"),
            ("yes", "yes"),
            ("off", "off"),
            ("True", "true"),
            ("~", "null"),
            ("'1.0'", "1.0"),
            ("!!str 1.0", "1.0"),
            ("2019-01-01", "Tue Jan 01 2019 00:00:00 GMT+0000 (Coordinated Universal Time)"),
            ("2019-01-01 10:20:30.5 +2", "Tue Jan 01 2019 08:20:30 GMT+0000 (Coordinated Universal Time)"),
            ("[1, [2, 3.50], null, {a: b}]", "1,2,3.5,,[object Object]"),
            ("{a: b}", "[object Object]"),
        ] {
            assert_eq!(printed(written), meant, "{written}");
        }
    }
}
