//! `trainmaster show JOB --env TASK`: what a task gets, as a shell would take it.

use model::wire::EnvironmentView;

use super::{
    context::{Context, job_path, query},
    failure::{Exit, Failure},
    output,
};

pub async fn show(context: &Context, job: &str, task: &str) -> Result<Exit, Failure> {
    let path = job_path(job, "/environment") + &query(&[("task", Some(task.to_owned()))]);
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let view: EnvironmentView = context.get(&path).await?;
    output::text(&text(&view))?;
    if !view.placed {
        output::note(&format!("{} has no place: words in <> stand for what is known when it has one", view.task));
    }
    Ok(Exit::Done)
}

/// Arguments and files are remarks to a shell, below the variables that point at them.
fn text(view: &EnvironmentView) -> String {
    let mut text: String = view.env.iter().map(|(name, value)| format!("{name}={}\n", quoted(value))).collect();
    if !view.arguments.is_empty() {
        let arguments: Vec<String> = view.arguments.iter().map(|it| super::terminal::plain(it)).collect();
        text.push_str(&format!("# arguments: {}\n", arguments.join(" ")));
    }
    for (path, content) in &view.files {
        text.push_str(&format!("# {path}:\n"));
        content.lines().for_each(|line| text.push_str(&format!("#   {}\n", super::terminal::plain(line))));
    }
    text
}

/// So that a shell reads it as it is, and a terminal obeys none of it.
fn quoted(value: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,+@%=".contains(c);
    if value.chars().all(is_plain) {
        return value.to_owned();
    }
    if !value.contains(char::is_control) {
        return format!("'{}'", value.replace('\'', r"'\''"));
    }
    let shown = |c: char| match c {
        '\n' => r"\n".to_owned(),
        '\t' => r"\t".to_owned(),
        '\'' | '\\' => format!("\\{c}"),
        c if c.is_control() => c.to_string().bytes().map(|byte| format!("\\{byte:03o}")).collect(),
        c => c.to_string(),
    };
    format!("$'{}'", value.chars().map(shown).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_reads_what_is_printed_as_it_was() {
        for (value, printed) in [
            ("", ""),
            ("10.0.0.1:20001,10.0.0.2:20001", "10.0.0.1:20001,10.0.0.2:20001"),
            (r#"{"worker":["a:1"]}"#, r#"'{"worker":["a:1"]}'"#),
            ("it's", r"'it'\''s'"),
            ("http:1;ssh:2;", "'http:1;ssh:2;'"),
            ("a\nb\u{1b}[31m\\'", r"$'a\nb\033[31m\\\''"),
        ] {
            assert_eq!(quoted(value), printed);
            let read = std::process::Command::new("bash").args(["-c", &format!("printf %s {printed}")]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap(), value);
        }
    }

    #[test]
    fn arguments_and_files_are_remarks_below_the_variables() {
        let view = EnvironmentView {
            job: "digits@3".into(),
            task: "worker-0".into(),
            attempt: 1,
            placed: true,
            env: [("RANK".to_owned(), "0".to_owned()), ("WHERE".to_owned(), "<address of ps-0>".to_owned())].into(),
            arguments: vec!["--data_url=/input/data".into(), "--train_url=/output/train".into()],
            files: [("/peers/hostfile".to_owned(), "worker-0 slots=1\nworker-1 slots=1\n".to_owned())].into(),
        };
        insta::assert_snapshot!(text(&view), @"
        RANK=0
        WHERE='<address of ps-0>'
        # arguments: --data_url=/input/data --train_url=/output/train
        # /peers/hostfile:
        #   worker-0 slots=1
        #   worker-1 slots=1
        ");
    }
}
