//! A rule of a person's own: a regular expression with named groups.

use regex::{Regex, RegexBuilder};

use super::Found;
use crate::{said, speaks, words::Words};

/// A regular expression whose groups say what is what: `step` or `epoch`, `name` and `value`, and any other group is a series
/// of that name.
#[derive(Clone, Debug)]
pub struct Rule(Regex);

#[derive(Debug, PartialEq, Eq)]
pub enum RuleError {
    /// With what the library says, which knows one language.
    NotRegular(String),
    NoValue,
}

impl RuleError {
    /// What is said of the rule.
    pub fn words(&self) -> Words {
        match self {
            RuleError::NotRegular(why) => said!("is not a regular expression: {why}", "不是正则表达式（`{why}`）"),
            RuleError::NoValue => said!(
                "names no value: it needs a group such as `(?P<loss>[-+.0-9e]+)`, or `name` and `value` together",
                "没有指出数值：需要 `(?P<loss>[-+.0-9e]+)` 这样的分组，或同时有 `name` 和 `value`"
            ),
        }
    }
}

speaks!(RuleError);

const COMPILED_BYTES_MAX: usize = 1 << 20;
const STEP_GROUPS: [&str; 2] = ["step", "epoch"];

impl Rule {
    pub fn parse(text: &str) -> Result<Self, RuleError> {
        let regex = RegexBuilder::new(text).size_limit(COMPILED_BYTES_MAX).dfa_size_limit(COMPILED_BYTES_MAX).build();
        let regex = regex.map_err(|error| RuleError::NotRegular(last_line(&error.to_string())))?;
        let names: Vec<&str> = regex.capture_names().flatten().collect();
        let is_pair = names.contains(&"name") && names.contains(&"value");
        let has_series = names.iter().any(|name| !STEP_GROUPS.contains(name) && !["name", "value"].contains(name));
        if is_pair || has_series { Ok(Self(regex)) } else { Err(RuleError::NoValue) }
    }

    /// Every value in a line; the line may match several times.
    pub(super) fn found(&self, line: &str) -> Vec<Found> {
        let mut found = Vec::new();
        for captures in self.0.captures_iter(line) {
            let number = |name: &str| captures.name(name).and_then(|it| it.as_str().trim().parse::<f64>().ok());
            let step = STEP_GROUPS.iter().find_map(|name| number(name)).map(|it| it as i64);
            if let (Some(name), Some(value)) = (captures.name("name"), number("value")) {
                found.push(Found { name: name.as_str().trim().to_owned(), value, step });
            }
            let others = self.0.capture_names().flatten().filter(|name| !STEP_GROUPS.contains(name) && !["name", "value"].contains(name));
            found.extend(others.filter_map(|name| Some(Found { name: name.to_owned(), value: number(name)?, step })));
        }
        found
    }
}

/// The library draws the expression and an arrow first, which only a terminal could show.
fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default().trim();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
