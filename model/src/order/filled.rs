//! An order with its secrets put in: for the memory of a supervisor, and never for a disk or a line.

use std::collections::BTreeMap;

use super::{RunOrder, RunSecrets};
use crate::{secret::SecretValues, template, volume::Volume};

/// Where a task finds its secrets that are files.
pub const SECRETS: &str = "/secrets";
/// By which it finds them where there is no sandbox.
const SECRETS_VARIABLE: &str = "TRAINMASTER_SECRETS";
/// What a shell is given instead of a line with secrets in it. No secret can have such a name.
const SCRIPT: &str = ".script";
const SCRIPT_VARIABLE: &str = "TRAINMASTER_SCRIPT";
const SETUP: &str = ".setup";
const SETUP_VARIABLE: &str = "TRAINMASTER_SETUP";

impl RunOrder {
    /// Whether the server has to be asked for something before this run can begin.
    pub fn needs_secrets(&self) -> bool {
        !self.secrets.is_empty() || self.volumes.values().any(|volume| matches!(volume, Volume::S3 { .. }))
    }

    /// The order as its child gets it, and the files only this child may see.
    ///
    /// A line for a shell that has secrets in it becomes one of the files: the arguments of a process are for everyone on the
    /// machine to read.
    pub fn filled(&self, secrets: &RunSecrets) -> (RunOrder, SecretValues) {
        let value = |name: &str| secrets.values.get(name).cloned();
        let fill = |text: &String| template::with_secrets(text, value);
        let mut order = self.clone();
        let mut files: BTreeMap<String, String> =
            self.secrets.iter().filter(|it| it.1.file).filter_map(|it| Some((it.0.clone(), value(it.0)?))).collect();
        if !files.is_empty() {
            order.paths.insert(SECRETS_VARIABLE.into(), SECRETS.into());
        }
        order.env.values_mut().for_each(|text| *text = fill(text));
        let is_line = is_line(&order.command);
        let line = shell_line(&order.command).map(|at| (SCRIPT, SCRIPT_VARIABLE, &mut order.command[at]));
        let setup = order.setup.as_mut().map(|line| (SETUP, SETUP_VARIABLE, line));
        for (file, variable, line) in line.into_iter().chain(setup).filter(|it| !template::secrets(it.2).is_empty()) {
            let as_written = file == SCRIPT && !is_line;
            files.insert(file.into(), if as_written { fill(line) } else { template::with_secrets_for_shell(line, value) });
            order.paths.insert(variable.into(), format!("{SECRETS}/{file}"));
            *line = format!(". \"${variable}\"");
        }
        order.command.iter_mut().chain(&mut order.setup).for_each(|word| *word = fill(word));
        (order, SecretValues(files))
    }
}

/// Whether the command was a line of a job file of ours. Whoever writes out a shell and its words, as files of other systems do, has the
/// secret put in as it is.
fn is_line(command: &[String]) -> bool {
    matches!(command, [shell, flag, ..] if shell == "/bin/sh" && flag == "-c")
}

/// Where what a shell is to run stands, in `sh -c LINE` and `bash -o pipefail -c LINE`.
pub(crate) fn shell_line(command: &[String]) -> Option<usize> {
    let is_shell = matches!(command.first()?.rsplit('/').next(), Some("sh" | "bash" | "dash" | "zsh" | "ksh"));
    let is_flag = |word: &String| word.starts_with('-') && !word.starts_with("--") && word.ends_with('c');
    let at = command.iter().position(is_flag).filter(|_| is_shell)? + 1;
    (at < command.len()).then_some(at)
}

/// The same where only options stand before it: `bash train.sh -c 5` has no line.
pub(crate) fn only_line(command: &[String]) -> Option<usize> {
    let is_option = |pair: &[String]| pair[1].starts_with('-') || pair[0].starts_with('-') && pair[0].ends_with('o');
    shell_line(command).filter(|at| command[..*at].windows(2).all(is_option))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn order(command: &[&str], secrets: serde_json::Value) -> RunOrder {
        let limits = json!({ "cpus_milli": 1, "memory_bytes": 1, "shared_memory_bytes": 1, "processes_max": 1 });
        let run = "job-00000000000170008000000000000000:worker-0:1";
        serde_json::from_value(json!({ "run": run, "node": "a", "command": command, "env": {"KEY": "is {{ secrets.key }}", "LIKE": "\\{{ secrets.key }}"},
            "limits": limits, "stop_grace_ms": 1, "ports": [], "address": "127.0.0.2", "secrets": secrets, "setup": "login {{ secrets.key }}" }))
        .unwrap()
    }

    fn known() -> RunSecrets {
        RunSecrets { values: BTreeMap::from([("key".to_owned(), "s3cret".to_owned())]), ..RunSecrets::default() }
    }

    #[test]
    fn a_shell_gets_its_line_in_a_file() {
        for words in
            [&["/bin/sh", "-c", "train {{ secrets.key }}"][..], &["bash", "-o", "pipefail", "-ec", "train {{ secrets.key }}", "sh"]]
        {
            let (filled, files) = order(words, json!({"key": {}})).filled(&known());
            assert_eq!(files.0[".script"], "train s3cret");
            assert!(!filled.command.join(" ").contains("s3cret") && filled.command.iter().any(|it| it == ". \"$TRAINMASTER_SCRIPT\""));
            assert_eq!(filled.paths["TRAINMASTER_SCRIPT"], "/secrets/.script");
        }
    }

    #[test]
    fn a_secret_is_one_value_in_a_line_and_as_it_is_for_whoever_wrote_out_the_shell() {
        let known = RunSecrets { values: BTreeMap::from([("key".to_owned(), "it's".to_owned())]), ..RunSecrets::default() };
        let script = |shell: &str| order(&[shell, "-c", "login {{ secrets.key }}"], json!({"key": {}})).filled(&known).1;
        assert_eq!(
            (script("/bin/sh").0[".script"].as_str(), script("/bin/sh").0[".setup"].as_str()),
            (r"login 'it'\''s'", r"login 'it'\''s'")
        );
        assert_eq!(script("/bin/bash").0[".script"], "login it's");
    }

    #[test]
    fn variables_words_and_setup_are_filled_and_files_are_told_of() {
        let order = order(&["train", "--key={{ secrets.key }}"], json!({"key": {"named": "wandb", "file": true}}));
        assert!(order.needs_secrets());
        let (filled, files) = order.filled(&known());
        assert_eq!(filled.command, ["train", "--key=s3cret"]);
        assert_eq!((filled.env["KEY"].as_str(), filled.env["LIKE"].as_str()), ("is s3cret", "{{ secrets.key }}"));
        assert_eq!((filled.setup.as_deref(), files.0[".setup"].as_str()), (Some(". \"$TRAINMASTER_SETUP\""), "login s3cret"));
        assert_eq!((files.0["key"].as_str(), filled.paths["TRAINMASTER_SECRETS"].as_str()), ("s3cret", "/secrets"));
        let text = serde_json::to_string(&order).unwrap();
        assert!(text.contains(r#""secrets":{"key":{"named":"wandb","file":true}}"#) && !text.contains("s3cret"), "{text}");
    }

    #[test]
    fn a_run_without_secrets_asks_for_none() {
        let order = RunOrder { setup: None, ..order(&["/bin/sh", "-c", "true"], json!({})) };
        let (filled, files) = order.filled(&RunSecrets::default());
        assert!(!order.needs_secrets() && files.0.is_empty() && filled.command == order.command);
    }
}
