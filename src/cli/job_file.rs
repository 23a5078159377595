//! A job file on its way to the server: read, completed with what only this side knows, and found
//! again when the server has something to say about it.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use model::{
    located::TEXT_BYTES_MAX,
    plan::{self, HouseRules},
    spec::{self, JobSpec, Problem},
};
use serde_json::Value;

use super::{
    failure::Failure,
    set::{Setting, apply},
    submission::Parcel,
};

/// A job file and where it came from.
pub struct JobFile {
    name: String,
    text: String,
    /// What relative paths in it are relative to.
    base: PathBuf,
}

/// A job file that can be sent.
#[derive(Debug)]
pub struct Ready {
    pub parcel: Parcel,
    pub tasks: u32,
}

impl JobFile {
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
        if path == Path::new("-") {
            let text = limited(std::io::stdin()).map_err(cannot)?;
            return Ok(Self { name: "standard input".into(), text, base: std::env::current_dir().map_err(cannot)? });
        }
        let text = std::fs::File::open(path).and_then(limited).map_err(cannot)?;
        let whole = path.canonicalize().map_err(cannot)?;
        let base = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { name: path.display().to_string(), text, base })
    }

    /// What is sent: the file as it is where nothing in it had to be changed.
    pub fn ready(&self, settings: &[Setting]) -> Result<Ready, Failure> {
        let written = spec::read(&self.text).map_err(|problems| Failure::bad_file(&self.name, self.every_problem(problems)))?;
        let mut spec = written.clone();
        spec.code = spec.code.map(|path| absolute(&self.base, &path));
        spec.input = spec.input.map(|path| absolute(&self.base, &path));
        if settings.is_empty() && spec == written {
            let parcel = Parcel { text: self.text.clone().into(), content_type: "application/yaml" };
            return Ok(Ready { parcel, tasks: task_count(&spec) });
        }
        let mut value = serde_json::to_value(&spec).map_err(|error| Failure::usage(error.to_string()))?;
        change(&mut value, settings)?;
        let spec = spec::read(&value.to_string()).map_err(|problems| self.place(Failure::bad_file(&self.name, problems), settings))?;
        Ok(Ready { parcel: Parcel::json(&value)?, tasks: task_count(&spec) })
    }

    /// What cannot even be read is told together with what could not be planned, so that a file is
    /// mended in one go.
    fn every_problem(&self, problems: Vec<Problem>) -> Vec<Problem> {
        plan::from_text(&self.text, &HouseRules::default()).err().unwrap_or(problems)
    }

    /// Turns places in the text that was sent into places in the file that the person wrote.
    pub fn place(&self, mut failure: Failure, settings: &[Setting]) -> Failure {
        let places = spec::places(&self.text);
        for problem in &mut failure.body.problems {
            let was_set = settings.iter().any(|setting| setting.covers(&problem.path));
            let place = places.nearest(&problem.path).filter(|_| !was_set);
            (problem.line, problem.column) = place.map_or((0, 0), |place| (place.line, place.column));
            if was_set {
                problem.path = format!("--set {}", problem.path);
            }
        }
        failure.file = Some(self.name.clone());
        failure
    }
}

/// Applies the settings; a directory among them is relative to where the person stands.
pub fn change(spec: &mut Value, settings: &[Setting]) -> Result<(), Failure> {
    apply(spec, settings)?;
    let here = std::env::current_dir().unwrap_or_default();
    for key in ["code", "input"] {
        if let Some(Value::String(path)) = spec.get_mut(key) {
            *path = absolute(&here, path);
        }
    }
    Ok(())
}

/// Reads no more than a job file can have; one byte beyond is for the reader to refuse.
fn limited(source: impl Read) -> std::io::Result<String> {
    let mut text = String::new();
    source.take(TEXT_BYTES_MAX as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

fn absolute(base: &Path, path: &str) -> String {
    let joined: PathBuf = base.join(path).components().collect();
    joined.canonicalize().unwrap_or(joined).to_string_lossy().into_owned()
}

fn task_count(spec: &JobSpec) -> u32 {
    spec.roles.values().map(|role| role.tasks.unwrap_or(1)).fold(0, u32::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> JobFile {
        JobFile { name: "job.yaml".into(), text: text.into(), base: "/home/me/digits".into() }
    }

    fn sent(text: &str, settings: &[&str]) -> String {
        let settings: Vec<Setting> = settings.iter().map(|it| it.parse().unwrap()).collect();
        match file(text).ready(&settings) {
            Ok(ready) => format!("{} tasks, {}: {}", ready.tasks, ready.parcel.content_type, String::from_utf8_lossy(&ready.parcel.text)),
            Err(failure) => shown(&failure),
        }
    }

    fn shown(failure: &Failure) -> String {
        let line = |it: &model::wire::ProblemView| format!("{}:{} {}: {}\n", it.line, it.column, it.path, it.message);
        failure.body.message.clone() + "\n" + &failure.body.problems.iter().map(line).collect::<String>()
    }

    #[test]
    fn a_file_that_needs_no_change_is_sent_as_it_is() {
        let text = "name: a # yes\nroles: {ps: {command: x}, worker: {tasks: 3, command: y}}\n";
        assert_eq!(sent(text, &[]), format!("4 tasks, application/yaml: {text}"));
    }

    #[test]
    fn directories_in_a_file_are_relative_to_the_file() {
        let text = "name: a\ncode: .\ninput: ../data\nroles: {w: {command: x}}";
        insta::assert_snapshot!(sent(text, &[]), @r#"1 tasks, application/json: {"name":"a","code":"/home/me/digits","input":"/home/me/digits/../data","roles":{"w":{"command":"x"}}}"#);
        assert!(sent("name: a\ncode: /abs\nroles: {w: {command: x}}", &[]).contains("application/yaml"));
    }

    #[test]
    fn settings_change_the_spec_and_not_the_file() {
        let text = "name: a\nroles: {w: {command: x}}";
        insta::assert_snapshot!(sent(text, &["roles.w.tasks=4", "env.SEED=7"]), @r#"4 tasks, application/json: {"name":"a","roles":{"w":{"command":"x","tasks":4}},"env":{"SEED":"7"}}"#);
    }

    #[test]
    fn every_problem_of_a_bad_file_is_told_at_its_place() {
        insta::assert_snapshot!(sent("name: my job\nroles:\n  w:\n    comand: x\n    cpus: -1\n", &[]), @"
        job.yaml has 3 problems
        1:7 name: `my job` has ` `; use letters, digits, `-`, `.`, `_` and `~`
        4:5 roles.w.comand: unknown key `comand`
        5:11 roles.w.cpus: is -1; a task has 0.001 to 100000 CPUs
        ");
    }

    #[test]
    fn a_bad_setting_is_told_as_one() {
        insta::assert_snapshot!(sent("name: a\nroles: {w: {command: x}}", &["roles.w.tasks=many", "colour=red"]), @"
        job.yaml has 2 problems
        0:0 --set roles.w.tasks: must be a whole number, 1 or more, not the text `many`
        0:0 --set colour: unknown key `colour`
        ");
    }

    #[test]
    fn what_the_server_refuses_is_found_in_the_file_again() {
        let mut refused = Failure::usage("the job file has 2 problems");
        let problem = |path: &str| model::wire::ProblemView { path: path.into(), line: 1, column: 77, message: "no".into(), hint: None };
        refused.body.problems = vec![problem("roles.w.cpus"), problem("roles.w.tasks")];
        let settings = ["roles.w.tasks=9".parse().unwrap()];
        let placed = file("name: a\ncode: .\nroles:\n  w:\n    cpus: 99\n    command: x\n").place(refused, &settings);
        insta::assert_snapshot!(shown(&placed), @"
        the job file has 2 problems
        5:11 roles.w.cpus: no
        0:0 --set roles.w.tasks: no
        ");
    }
}
