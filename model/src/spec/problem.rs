//! One thing that is wrong with a job file, told so that a person can put it right.

use std::fmt;

use crate::{
    located::Place,
    said,
    wire::ProblemView,
    words::{Bilingual, Lang, Words},
};

/// A file can be wrong in more ways than anyone reads; the rest is counted.
pub const PROBLEMS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Such as `roles.worker.cpus`; empty for the file as a whole.
    pub path: String,
    /// From 1; 0 where there is no file to point into.
    pub line: u32,
    pub column: u32,
    pub message: Words,
    /// Boxed, because problems are errors that are handed about.
    pub hint: Option<Box<Words>>,
}

impl Problem {
    pub fn new(path: impl Into<String>, message: impl Bilingual) -> Self {
        Self { path: path.into(), line: 0, column: 0, message: message.words(), hint: None }
    }

    pub fn hint(mut self, hint: impl Bilingual) -> Self {
        self.hint = Some(Box::new(hint.words()));
        self
    }

    pub fn at(mut self, place: Place) -> Self {
        (self.line, self.column) = (place.line, place.column);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().en)
    }
}

impl Problem {
    /// All of it as one line.
    pub fn words(&self) -> Words {
        let Problem { path, line, column, message, hint } = self;
        let place = if *line > 0 { said!("line {line}, column {column}: ", "第 {line} 行第 {column} 列：") } else { Words::default() };
        let path = if path.is_empty() { Words::default() } else { said!("{path}: ", "{path}：") };
        let hint = hint.as_ref().map_or_else(Words::default, |it| Words::new(format!(" ({})", it.en), format!("（{}）", it.say(Lang::Zh))));
        let all = |lang| [&place, &path, message, &hint].map(|it| it.say(lang)).concat();
        Words::new(all(Lang::En), all(Lang::Zh))
    }
}

impl From<&Problem> for ProblemView {
    fn from(problem: &Problem) -> Self {
        let Problem { path, line, column, message, hint } = problem.clone();
        let (hint, hint_zh) = hint.map(|it| (it.en.clone(), it.zh.clone())).unzip();
        Self { path, line, column, message: message.en, hint, message_zh: message.zh, hint_zh }
    }
}

/// In the order of the file, and not more than a person can read.
pub(crate) fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|it| (it.line, it.column));
    let left_out = problems.len().saturating_sub(PROBLEMS_MAX);
    if left_out > 0 {
        problems.truncate(PROBLEMS_MAX);
        problems.push(Problem::new("", said!("and {left_out} more problems", "另外还有 {left_out} 个问题")));
    }
    problems
}

/// A value as it may stand in a message: short, on one line, and without anything a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    if text.is_empty() { "`\"\"`".into() } else { format!("`{}`", harmless(text)) }
}

/// The same for where it is clear that it is a value.
pub(crate) fn harmless(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let mut shown: String = text.chars().take(CHARACTERS_MAX).flat_map(one_line).collect();
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn one_line(c: char) -> Vec<char> {
    let hidden = c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if hidden { c.escape_unicode().collect() } else { vec![c] }
}

/// A key as one step of a path. One that could be taken for several steps stands in quotes.
pub(crate) fn step(key: &str) -> String {
    let simple = key.chars().all(|c| c.is_ascii_alphanumeric() || "_-~".contains(c));
    match key {
        "" => "\"\"".to_owned(),
        _ if simple => key.to_owned(),
        _ => format!("\"{}\"", harmless(key)),
    }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { step(key) } else { format!("{path}.{}", step(key)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_one_line_of_words_and_goes_over_the_wire_whole() {
        let place = Place { line: 3, column: 5 };
        let problem =
            Problem::new("roles.worker.cpus", ("is 0", "写的是 0")).at(place).hint(("write a number such as 2", "请写一个数，如 2"));
        assert_eq!(problem.to_string(), "line 3, column 5: roles.worker.cpus: is 0 (write a number such as 2)");
        assert_eq!(problem.words().zh, "第 3 行第 5 列：roles.worker.cpus：写的是 0（请写一个数，如 2）");
        assert_eq!(Problem::new("", ("is empty", "是空的")).to_string(), "is empty");
        let ProblemView { path, line, column, message, hint, message_zh, hint_zh } = ProblemView::from(&problem);
        assert_eq!((path, line, column), ("roles.worker.cpus".into(), 3, 5));
        assert_eq!((message, hint), ("is 0".into(), Some("write a number such as 2".into())));
        assert_eq!((message_zh, hint_zh), ("写的是 0".into(), Some("请写一个数，如 2".into())));
    }

    #[test]
    fn a_value_in_a_message_is_short_and_harmless() {
        assert_eq!(shown("a\u{1b}[31m\nb"), r"`a\u{1b}[31m\u{a}b`");
        assert_eq!(shown("\u{202e}evil"), r"`\u{202e}evil`");
        assert_eq!(shown(&"é".repeat(100)).chars().count(), 63);
        assert_eq!(shown(""), "`\"\"`");
    }

    #[test]
    fn a_path_has_one_step_for_each_key() {
        assert_eq!(join("roles", "worker"), "roles.worker");
        assert_eq!(join("roles", "a.b"), "roles.\"a.b\"");
        assert_eq!(join("", ""), "\"\"");
    }
}
