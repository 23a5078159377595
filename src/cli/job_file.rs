//! A job file on its way to the server: read, completed with what only this side knows, and found
//! again when the server has something to say about it.

use std::{
    io::Read,
    path::{Path, PathBuf},
};

use model::{
    dataset,
    dialect::{self, Given, Report},
    ids::{DatasetName, JobName},
    located::TEXT_BYTES_MAX,
    plan::{self, HouseRules},
    spec::{self, Code, JobSpec, Problem},
};
use serde_json::Value;

use super::{
    failure::Failure,
    params::{ParamArgs, with_params},
    set::{Setting, apply},
    submission::{Parcel, Source, YAML},
};

/// A job file and where it came from.
pub struct JobFile {
    pub name: String,
    text: String,
    /// What relative paths in it are relative to.
    base: PathBuf,
}

/// What the person changes in the file on its way.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub name: Option<String>,
    /// Whole, and known to be a directory.
    pub code: Option<String>,
    pub set: Vec<Setting>,
    pub params: ParamArgs,
}

impl Changes {
    fn is_empty(&self) -> bool {
        self.name.is_none() && self.code.is_none() && self.set.is_empty() && self.params.is_empty()
    }
}

/// A job file that can be sent.
#[derive(Debug)]
pub struct Ready {
    pub parcel: Parcel,
    pub spec: JobSpec,
    /// What became of a file of another dialect.
    pub report: Report,
}

impl Ready {
    pub fn tasks(&self) -> u32 {
        self.spec.roles.values().map(|role| role.tasks.unwrap_or(1)).fold(0, u32::saturating_add).max(1)
    }
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

    pub fn text(&self) -> &str {
        &self.text
    }

    pub fn is_ours(&self) -> bool {
        dialect::is_ours(&self.text)
    }

    /// What the dialects are told beside the file.
    pub fn given(&self, name: Option<&str>, user: Option<String>) -> Given {
        let stem = Path::new(&self.name).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Given { name: name.map(str::to_owned), otherwise: Some(fitting_name(&stem)), user }
    }

    /// What is sent: the file as it is where nothing in it had to be changed.
    pub fn ready(&self, changes: &Changes, user: Option<String>) -> Result<Ready, Failure> {
        let given = self.given(changes.name.as_deref(), user);
        let read = dialect::read(&self.text, &given);
        let (written, report) = read.map_err(|problems| Failure::bad_file(&self.name, self.every_problem(problems)))?;
        let dialect = Some(report.dialect.clone()).filter(|it| !it.is_empty());
        let source = Source { file: Some(self.name.clone()), dialect, original: None };
        let mut spec = written.clone();
        self.complete(&mut spec);
        if changes.is_empty() && spec == written && report.dialect.is_empty() {
            let parcel = Parcel { text: self.text.clone().into(), content_type: YAML, from: None, source };
            return Ok(Ready { parcel, spec, report });
        }
        let spec = self.changed(spec, &report, changes)?;
        let source = Source { original: Some(self.text.clone()), ..source };
        Ok(Ready { parcel: Parcel { source, ..Parcel::json(&spec)? }, spec, report })
    }

    /// Paths in a file are relative to the file; the server must have them whole.
    fn complete(&self, spec: &mut JobSpec) {
        let input = |place: String| input(&self.base, place);
        spec.code = self.whole_code(spec.code.take());
        spec.input = spec.input.take().map(|it| it.with_place(input));
        spec.inputs.values_mut().for_each(|it| *it = it.clone().with_place(input));
    }

    /// The code with its directory said whole.
    pub fn whole_code(&self, code: Option<Code>) -> Option<Code> {
        code.map(|code| match code {
            Code::Place(place) => Code::Place(whole(&self.base, place)),
            Code::Git(_) | Code::Upload(_) | Code::At(_) => code,
        })
    }

    fn changed(&self, mut spec: JobSpec, report: &Report, changes: &Changes) -> Result<JobSpec, Failure> {
        spec.code = changes.code.clone().map(Into::into).or(spec.code);
        if !changes.set.is_empty() {
            let mut value = serde_json::to_value(&spec).map_err(|error| Failure::usage(error.to_string()))?;
            change(&mut value, &changes.set)?;
            let bad = |problems| self.place(Failure::bad_file(&self.name, problems), report, changes);
            spec = spec::read(&value.to_string()).map_err(bad)?;
        }
        with_params(spec, &changes.params)
    }

    /// What cannot even be read is told together with what could not be planned, so that a file is
    /// mended in one go.
    fn every_problem(&self, problems: Vec<Problem>) -> Vec<Problem> {
        if !self.is_ours() {
            return problems;
        }
        plan::from_text_with(&self.text, (&HouseRules::default(), None), |spec| self.complete(spec)).err().unwrap_or(problems)
    }

    /// Turns places in the text that was sent into places in the file that the person wrote.
    pub fn place(&self, mut failure: Failure, report: &Report, changes: &Changes) -> Failure {
        let places = spec::places(&self.text);
        for problem in &mut failure.body.problems {
            if changes.set.iter().any(|setting| setting.covers(&problem.path)) {
                (problem.line, problem.column) = (0, 0);
                problem.path = format!("--set {}", problem.path);
            } else if let Some(note) = report.source_of(&problem.path) {
                (problem.line, problem.column) = (note.line, note.column);
                problem.path = note.path.clone();
            } else {
                let place = places.nearest(&problem.path).filter(|_| report.dialect.is_empty());
                (problem.line, problem.column) = place.map_or((0, 0), |place| (place.line, place.column));
            }
        }
        failure.file = Some(self.name.clone());
        failure
    }

    /// The file in our own terms, held against nobody's rules but the usual ones.
    pub fn translated(&self, name: Option<&str>, user: Option<&str>) -> Result<(JobSpec, Report), Failure> {
        let given = self.given(name, user.map(str::to_owned));
        // A relative directory is fine in a file that stays where it is.
        let (spec, report) = dialect::read(&self.text, &given).map_err(|it| Failure::bad_file(&self.name, self.every_problem(it)))?;
        let mut checked = spec.clone();
        self.complete(&mut checked);
        let bad = |problems| self.place(Failure::bad_file(&self.name, problems), &report, &Changes::default());
        match plan::problems(&checked, &HouseRules::default()) {
            none if none.is_empty() => Ok((spec, report)),
            some => Err(bad(some)),
        }
    }
}

/// Any text as a job's name: what a name cannot have becomes `-`.
pub fn fitting_name(text: &str) -> String {
    const CHARACTERS_MAX: usize = 48;
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    let name: String = text.chars().map(|c| if allowed(c) { c } else { '-' }).take(CHARACTERS_MAX).collect();
    let name = name.trim_matches(|c: char| !c.is_ascii_alphanumeric());
    JobName::parse(name).map_or_else(|_| "job".to_owned(), |name| name.to_string())
}

/// Applies the settings; a directory among them is relative to where the person stands.
pub fn change(spec: &mut Value, settings: &[Setting]) -> Result<(), Failure> {
    apply(spec, settings)?;
    let here = std::env::current_dir().unwrap_or_default();
    for key in ["code", "input"] {
        if let Some(Value::String(path)) = spec.get_mut(key)
            && settings.iter().any(|setting| setting.covers(key))
        {
            *path = if key == "code" { whole(&here, path.clone()) } else { input(&here, path.clone()) };
        }
    }
    Ok(())
}

/// A directory said whole; a volume and a path, and a URL, as they are.
fn whole(base: &Path, place: String) -> String {
    if place.contains(':') { place } else { absolute(base, &place) }
}

/// A name alone is a directory only where there is one. Any other is most likely a dataset without its version, and whoever plans the
/// job says so: as a directory that is nowhere it would fail on a node.
fn input(base: &Path, place: String) -> String {
    let is_nowhere = || DatasetName::parse(&place).is_ok() && !base.join(&place).exists();
    if dataset::is_meant(&place) || is_nowhere() { place } else { whole(base, place) }
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

#[cfg(test)]
mod tests {
    use model::located::Place;

    use super::*;

    fn file(text: &str) -> JobFile {
        JobFile { name: "job.yaml".into(), text: text.into(), base: "/home/me/digits".into() }
    }

    fn changes(settings: &[&str]) -> Changes {
        Changes { set: settings.iter().map(|it| it.parse().unwrap()).collect(), ..Changes::default() }
    }

    fn sent(text: &str, settings: &[&str]) -> String {
        match file(text).ready(&changes(settings), None) {
            Ok(ready) => format!("{} tasks, {}: {}", ready.tasks(), ready.parcel.content_type, String::from_utf8_lossy(&ready.parcel.text)),
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
    fn what_is_in_a_volume_or_a_dataset_is_no_directory() {
        let text = "name: a\ninput: mnist@latest\ninputs: {b: {from: faces@2}, c: ./mnist@3, d: data:x}\nroles: {w: {command: x}}";
        insta::assert_snapshot!(sent(text, &[]), @r#"1 tasks, application/json: {"name":"a","input":"mnist@latest","inputs":{"b":{"from":"faces@2"},"c":"/home/me/digits/mnist@3","d":"data:x"},"roles":{"w":{"command":"x"}}}"#);
        insta::assert_snapshot!(sent("name: a\nroles: {w: {command: x}}", &["input=mnist@3", "code=https://host/x.git"]), @r#"1 tasks, application/json: {"name":"a","code":"https://host/x.git","input":"mnist@3","roles":{"w":{"command":"x"}}}"#);
        insta::assert_snapshot!(sent("name: a\ninput: data:x\nroles: {w: {command: x}}", &["env.SEED=7"]), @r#"1 tasks, application/json: {"name":"a","input":"data:x","env":{"SEED":"7"},"roles":{"w":{"command":"x"}}}"#);
    }

    #[test]
    fn a_bare_name_is_a_directory_only_where_there_is_one() {
        let sent = |text: &str, settings: &[&str]| sent(&format!("name: a\n{text}\nroles: {{w: {{command: x}}}}"), settings);
        assert!(sent("input: kk", &[]).ends_with("input: kk\nroles: {w: {command: x}}"));
        let texts = [
            sent("inputs: {b: kk, c: {from: kk}, d: ./kk, e: kk/v1}", &[]),
            sent("", &["input=kk"]),
            sent("", &["input=./kk"]).replace(env!("CARGO_MANIFEST_DIR"), "/here"),
            sent("", &["input=src"]).replace(env!("CARGO_MANIFEST_DIR"), "/here"),
            // What the file says is beside the file, and not where the person stands.
            sent("input: src", &["env.SEED=7"]),
        ];
        insta::assert_snapshot!(texts.join("\n"), @r#"
        1 tasks, application/json: {"name":"a","inputs":{"b":"kk","c":{"from":"kk"},"d":"/home/me/digits/kk","e":"/home/me/digits/kk/v1"},"roles":{"w":{"command":"x"}}}
        1 tasks, application/json: {"name":"a","input":"kk","roles":{"w":{"command":"x"}}}
        1 tasks, application/json: {"name":"a","input":"/here/kk","roles":{"w":{"command":"x"}}}
        1 tasks, application/json: {"name":"a","input":"/here/src","roles":{"w":{"command":"x"}}}
        1 tasks, application/json: {"name":"a","input":"src","env":{"SEED":"7"},"roles":{"w":{"command":"x"}}}
        "#);
        let beside = JobFile { base: env!("CARGO_MANIFEST_DIR").into(), ..file("name: a\ninput: src\nroles: {w: {command: x}}") };
        let input = beside.ready(&Changes::default(), None).unwrap().spec.input.unwrap().channel().from;
        assert_eq!(input, concat!(env!("CARGO_MANIFEST_DIR"), "/src"));
        insta::assert_snapshot!(shown(&file("name: a\ninput: kk\nroles: {w: {comand: x}}").ready(&Changes::default(), None).unwrap_err()), @"
        job.yaml has 2 problems
        2:8 input: `kk` is neither a whole path nor a volume and a path nor a URL
        3:13 roles.w.comand: unknown key `comand`
        ");
    }

    #[test]
    fn a_typo_beside_an_algorithm_is_the_only_problem() {
        let texts = [
            "name: r\nalgorithm: alg@1\ntsks: 3\n",
            "name: r\nalgorithm: {name: x}\n",
            "name: r\nalgorithm: x\ntsks: 3\nroles: {w: {cpus: -1}}\n",
        ];
        insta::assert_snapshot!(texts.map(|text| sent(text, &[])).join("\n"), @"
        job.yaml has a problem
        3:1 tsks: unknown key `tsks`

        job.yaml has a problem
        2:12 algorithm: must be text, not a map

        job.yaml has 3 problems
        2:12 algorithm: `x` says no version
        3:1 tsks: unknown key `tsks`
        4:19 roles.w.cpus: is -1; a task has 0.001 to 100000 CPUs
        ");
    }

    #[test]
    fn settings_change_the_spec_and_not_the_file() {
        let text = "name: a\nroles: {w: {command: x}}";
        insta::assert_snapshot!(sent(text, &["roles.w.tasks=4", "env.SEED=7"]), @r#"4 tasks, application/json: {"name":"a","env":{"SEED":"7"},"roles":{"w":{"tasks":4,"command":"x"}}}"#);
    }

    #[test]
    fn every_problem_of_a_bad_file_is_told_at_its_place() {
        insta::assert_snapshot!(sent("name: my job\ncode: .\nroles:\n  w:\n    comand: x\n    cpus: -1\n", &[]), @"
        job.yaml has 3 problems
        1:7 name: `my job` has a space; use letters, digits, `-`, `.`, `_` and `~`
        5:5 roles.w.comand: unknown key `comand`
        6:11 roles.w.cpus: is -1; a task has 0.001 to 100000 CPUs
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
        let problem = |path: &str| model::wire::ProblemView::from(&Problem::new(path, ("no", "不行")).at(Place { line: 1, column: 77 }));
        refused.body.problems = vec![problem("roles.w.cpus"), problem("roles.w.tasks")];
        let placed = file("name: a\ncode: .\nroles:\n  w:\n    cpus: 99\n    command: x\n").place(
            refused,
            &Report::default(),
            &changes(&["roles.w.tasks=9"]),
        );
        insta::assert_snapshot!(shown(&placed), @"
        the job file has 2 problems
        5:11 roles.w.cpus: no
        0:0 --set roles.w.tasks: no
        ");
    }
}
