//! One thing that is wrong with a job file, told so that a person can put it right.

use std::fmt;

use crate::{located::Place, wire::ProblemView};

/// A file can be wrong in more ways than anyone reads; the rest is counted.
pub const PROBLEMS_MAX: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Such as `roles.worker.cpus`; empty for the file as a whole.
    pub path: String,
    /// From 1; 0 where there is no file to point into.
    pub line: u32,
    pub column: u32,
    pub message: String,
    pub hint: Option<String>,
}

impl Problem {
    pub fn new(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self { path: path.into(), line: 0, column: 0, message: message.into(), hint: None }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub fn at(mut self, place: Place) -> Self {
        (self.line, self.column) = (place.line, place.column);
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "line {}, column {}: ", self.line, self.column)?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

impl From<&Problem> for ProblemView {
    fn from(problem: &Problem) -> Self {
        let Problem { path, line, column, message, hint } = problem.clone();
        Self { path, line, column, message, hint }
    }
}

/// In the order of the file, and not more than a person can read.
pub(crate) fn in_order(mut problems: Vec<Problem>) -> Vec<Problem> {
    problems.sort_by_key(|it| (it.line, it.column));
    let left_out = problems.len().saturating_sub(PROBLEMS_MAX);
    if left_out > 0 {
        problems.truncate(PROBLEMS_MAX);
        problems.push(Problem::new("", format!("and {left_out} more problems")));
    }
    problems
}

/// A value as it may stand in a message: short, on one line, and without anything a terminal would obey.
pub(crate) fn shown(text: &str) -> String {
    const CHARACTERS_MAX: usize = 60;
    let mut shown: String = text.chars().take(CHARACTERS_MAX).flat_map(one_line).collect();
    if text.chars().nth(CHARACTERS_MAX).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn one_line(c: char) -> Vec<char> {
    let hidden = c.is_control() || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}');
    if hidden { c.escape_unicode().collect() } else { vec![c] }
}

/// A key as one step of a path. One that could be taken for several steps stands in quotes.
pub(crate) fn step(key: &str) -> String {
    let simple = !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric() || "_-~".contains(c));
    if simple { key.to_owned() } else { shown(key).replace('`', "\"") }
}

pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { step(key) } else { format!("{path}.{}", step(key)) }
}
