//! JSON writes a character beyond the first 65,536 as two `\u` escapes; YAML knows only `\U`.

use std::borrow::Cow;

use super::Place;

/// `\ud83d\ude00` has twelve characters and `\U0001f600` has ten.
const SHORTER_BY: u32 = 2;

/// Text in which YAML finds what JSON meant.
pub struct Joined<'a> {
    pub text: Cow<'a, str>,
    /// Where a pair was joined, in the new text and in order.
    joined_at: Vec<Place>,
}

impl<'a> Joined<'a> {
    /// Joins pairs in text that looks like JSON. Elsewhere a backslash may mean just itself.
    pub fn of(text: &'a str) -> Self {
        if text.trim_start().starts_with('{') && text.contains("\\u") {
            join(text)
        } else {
            Self { text: text.into(), joined_at: Vec::new() }
        }
    }

    /// A place in the new text as it was in the old one.
    pub fn original(&self, place: Place) -> Place {
        let before = self.joined_at.iter().filter(|at| at.line == place.line && at.column < place.column).count() as u32;
        Place { column: place.column.saturating_add(SHORTER_BY * before), ..place }
    }
}

fn join(text: &str) -> Joined<'_> {
    let mut new = String::with_capacity(text.len());
    let mut joined_at = Vec::new();
    let mut place = Place { line: 1, column: 1 };
    let mut rest = text;
    while let Some(next) = rest.chars().next() {
        let length = match pair(rest) {
            Some((length, joined)) => {
                new.push_str(&format!("\\U{:08x}", u32::from(joined)));
                joined_at.push(place);
                place.column += length as u32 - SHORTER_BY;
                length
            }
            None => {
                // A backslash takes the next character with it, so `\\ud83d` is no escape.
                let with_next = if next == '\\' { rest.chars().nth(1).filter(|c| *c != '\n').map_or(0, char::len_utf8) } else { 0 };
                let length = next.len_utf8() + with_next;
                new.push_str(&rest[..length]);
                place = if next == '\n' {
                    Place { line: place.line + 1, column: 1 }
                } else {
                    Place { column: place.column + rest[..length].chars().count() as u32, ..place }
                };
                length
            }
        };
        rest = &rest[length..];
    }
    Joined { text: new.into(), joined_at }
}

/// The character that two escapes at the beginning of `text` stand for, and their length.
fn pair(text: &str) -> Option<(usize, char)> {
    let unit = |text: &str| u16::from_str_radix(text.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let units = [unit(text)?, unit(text.get(6..)?)?];
    let joined = char::decode_utf16(units).next()?.ok()?;
    (joined.len_utf16() == 2).then_some((12, joined))
}
