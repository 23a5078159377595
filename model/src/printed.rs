//! Numbers in what a program prints: by rules that a person gives, or by those that know how trainings commonly talk.

use serde::{Deserialize, Serialize};

mod bars;
mod pairs;
mod rule;
#[cfg(test)]
mod tests;

pub use rule::{Rule, RuleError};

/// A value that was printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    pub name: String,
    pub value: f64,
    /// None if nothing said so far which step it is.
    pub step: Option<i64>,
}

/// What earlier lines said that later lines mean.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Memory {
    step: Option<i64>,
    bar: bars::BarMemory,
}

/// How the lines of a task are read.
#[derive(Clone, Debug, Default)]
pub struct Printed {
    /// Without any the ready-made ones are used.
    pub rules: Vec<Rule>,
}

impl Printed {
    /// Takes one frame: a line, or what stood on it before a carriage return wrote over it.
    pub fn frame(&self, memory: &mut Memory, frame: &str, is_whole_line: bool) -> Vec<Found> {
        if !self.rules.is_empty() {
            // A bar is all that some trainings print, and whoever writes a rule for it means its every step.
            return self.rules.iter().map(|rule| rule.found(frame)).find(|it| !it.is_empty()).unwrap_or_default();
        }
        if !pairs::may_hold_values(frame) {
            return bars::take_pending(memory, frame);
        }
        let frame = without_colours(frame);
        bars::frame(memory, &frame, is_whole_line).unwrap_or_else(|| {
            let mut found = bars::take_pending(memory, &frame);
            if is_whole_line {
                found.extend(pairs::found(memory, &frame));
            }
            found
        })
    }

    /// The program has ended; what waited for a next line waits no more.
    pub fn end(&self, memory: &mut Memory) -> Vec<Found> {
        bars::take_pending(memory, "")
    }
}

/// Without the escapes that colour a terminal.
fn without_colours(frame: &str) -> String {
    let mut plain = String::with_capacity(frame.len());
    let mut rest = frame;
    while let Some(at) = rest.find("\x1b[") {
        plain.push_str(&rest[..at]);
        let escape = &rest[at + 2..];
        let end = escape.find(|it: char| ('\x40'..='\x7e').contains(&it)).map_or(escape.len(), |end| end + 1);
        rest = &escape[end..];
    }
    plain.push_str(rest);
    plain
}
