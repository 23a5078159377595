//! What is looked for in what a task writes.

use serde::{Deserialize, Serialize};

use super::compile::Compile;
use crate::{
    printed::Rule,
    said,
    spec::{self, shown},
};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricsPlan {
    /// Whose expressions compile. Without any the ready-made ones are used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// Names of files of lines, wherever below `/output` they are.
    #[serde(default = "usual_files")]
    pub files: Vec<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub off: bool,
}

const RULES_MAX: usize = 16;
const RULE_BYTES_MAX: usize = 1_000;
const FILES_MAX: usize = 16;
const FILE_BYTES_MAX: usize = 255;

fn usual_files() -> Vec<String> {
    ["metrics.jsonl", "metrics.csv"].map(String::from).to_vec()
}

impl Default for MetricsPlan {
    fn default() -> Self {
        Self { rules: Vec::new(), files: usual_files(), off: false }
    }
}

impl MetricsPlan {
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

pub(super) fn metrics(c: &mut Compile<'_>, given: Option<&spec::Metrics>) -> MetricsPlan {
    let Some(given) = given else { return MetricsPlan::default() };
    few(c, "metrics.rules", given.rules.len(), RULES_MAX);
    few(c, "metrics.files", given.files.len(), FILES_MAX);
    given.rules.iter().take(RULES_MAX).enumerate().for_each(|(index, rule)| check_rule(c, &format!("metrics.rules[{index}]"), rule));
    given.files.iter().take(FILES_MAX).enumerate().for_each(|(index, file)| check_file(c, &format!("metrics.files[{index}]"), file));
    let files = if given.files.is_empty() { usual_files() } else { given.files.clone() };
    MetricsPlan { rules: given.rules.clone(), files, off: given.off.unwrap_or(false) }
}

fn few(c: &mut Compile<'_>, path: &str, count: usize, most: usize) {
    if count > most {
        c.tell(path, said!("has {count} items; the most is {most}", "有 {count} 项，最多 {most} 项"), ("remove some", "请删掉一些"));
    }
}

fn check_rule(c: &mut Compile<'_>, path: &str, rule: &str) {
    if rule.len() > RULE_BYTES_MAX {
        c.tell(
            path,
            said!("has {} bytes; the most is {RULE_BYTES_MAX}", "有 {} 字节，最多 {RULE_BYTES_MAX} 字节", rule.len()),
            ("make it shorter", "请写短一些"),
        );
    } else if let Err(bad) = Rule::parse(rule) {
        c.tell(
            path,
            bad.words().of(&shown(rule)),
            (
                r"write an expression such as 'step (?P<step>\d+) loss (?P<loss>\S+)'",
                r"请写正则表达式，如 'step (?P<step>\d+) loss (?P<loss>\S+)'",
            ),
        );
    }
}

fn check_file(c: &mut Compile<'_>, path: &str, file: &str) {
    if file.is_empty() || file.len() > FILE_BYTES_MAX || file.contains(['/', '\0']) || file == ".." {
        c.tell(
            path,
            said!("{} is not the name of a file", "{} 不是文件名", shown(file)),
            ("write a name without directories, such as history.csv", "请写不带目录的文件名，如 history.csv"),
        );
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{HouseRules, from_text};

    #[test]
    fn a_bad_rule_is_refused_where_it_stands() {
        let text = "name: x\nroles: {main: {command: 'true'}}\nmetrics:\n  rules:\n    - 'loss (?P<loss>\\S+)'\n    - '(?P<loss'\n  files: [a/b.csv]\n";
        let told: Vec<String> = from_text(text, &HouseRules::default()).unwrap_err().iter().map(ToString::to_string).collect();
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(
            told[0].contains("line 6,") && told[0].contains("metrics.rules[1]") && told[0].contains("not a regular expression"),
            "{told:?}"
        );
        assert!(told[1].contains("line 7,") && told[1].contains("metrics.files[0]"), "{told:?}");
        let (_, plan) = from_text("name: x\nroles: {main: {command: 'true'}}\nmetrics: {off: true}\n", &HouseRules::default()).unwrap();
        assert!(plan.metrics.off && plan.metrics.files == ["metrics.jsonl", "metrics.csv"]);
    }
}
