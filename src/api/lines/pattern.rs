//! What is looked for in lines: a text as it is, or a regular expression.

use regex::{Regex, RegexBuilder, bytes};

use crate::error::Error;
use model::{said, words::Words};

/// Matches that are marked in one line.
const MATCHES_MAX: usize = 100;
/// What a pattern may become when it is compiled.
const COMPILED_BYTES_MAX: usize = 4 << 20;
const PATTERN_BYTES_MAX: usize = 4096;

#[derive(Clone, Debug)]
pub struct Pattern {
    lines: Regex,
    /// The same for bytes that may be no text, many lines at a time.
    blocks: bytes::Regex,
}

impl Pattern {
    pub fn new(text: &str, is_regex: bool, ignore_case: bool) -> Result<Self, Error> {
        let bad = |why: Words| Error::BadValue { name: "pattern", value: text.chars().take(200).collect(), wanted: why };
        if text.is_empty() || text.len() > PATTERN_BYTES_MAX {
            return Err(bad(said!("1 to {PATTERN_BYTES_MAX} bytes long", "长度为 1 到 {PATTERN_BYTES_MAX} 字节")));
        }
        let pattern = if is_regex { text.to_owned() } else { regex::escape(text) };
        let wrong = |error: regex::Error| bad(said!("a regular expression: {}", "正则表达式（`{}`）", last_line(&error.to_string())));
        let lines = RegexBuilder::new(&pattern).case_insensitive(ignore_case).size_limit(COMPILED_BYTES_MAX).build().map_err(wrong)?;
        let mut blocks = bytes::RegexBuilder::new(&pattern);
        let blocks = blocks.case_insensitive(ignore_case).multi_line(true).crlf(true).size_limit(COMPILED_BYTES_MAX);
        Ok(Self { lines, blocks: blocks.build().map_err(wrong)? })
    }

    /// Beginnings and ends in characters. Empty matches are none: there is nothing to mark.
    pub fn matches(&self, text: &str) -> Vec<[u32; 2]> {
        let (mut chars, mut counted) = (0u32, 0usize);
        let mut place = |byte: usize| {
            chars += text[counted..byte].chars().count() as u32;
            counted = byte;
            chars
        };
        self.lines.find_iter(text).filter(|it| !it.is_empty()).take(MATCHES_MAX).map(|it| [place(it.start()), place(it.end())]).collect()
    }

    pub fn is_in(&self, text: &str) -> bool {
        self.lines.is_match(text)
    }

    /// The first match in bytes of many lines.
    pub fn find_in(&self, block: &[u8]) -> Option<std::ops::Range<usize>> {
        self.blocks.find(block).map(|it| it.range())
    }
}

fn last_line(text: &str) -> &str {
    text.lines().last().unwrap_or(text).trim_start_matches("error: ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(pattern: &str, is_regex: bool, ignore_case: bool, text: &str) -> Vec<[u32; 2]> {
        Pattern::new(pattern, is_regex, ignore_case).unwrap().matches(text)
    }

    #[test]
    fn matches_are_counted_in_characters() {
        assert_eq!(found("率", false, false, "准确率 0.9 率"), [[2, 3], [8, 9]]);
        assert_eq!(found(r"\d+", true, false, "a1b22"), [[1, 2], [3, 5]]);
        assert_eq!(found("a.b", false, false, "axb a.b"), [[4, 7]]);
        assert_eq!(found("LOSS", false, true, "loss Loss"), [[0, 4], [5, 9]]);
        assert_eq!(found("x*", true, false, "axa"), [[1, 2]]);
    }

    #[test]
    fn a_bad_pattern_says_why() {
        let said = |text: &str| Pattern::new(text, true, false).unwrap_err().to_string();
        assert_eq!(said("(a"), "pattern = `(a` is not a regular expression: unclosed group");
        assert_eq!(said(""), "pattern = `` is not 1 to 4096 bytes long");
        assert!(said("(a{1000}){1000}").contains("size limit"), "{}", said("(a{1000}){1000}"));
    }
}
