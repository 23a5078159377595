//! Code, inputs and outputs of the spec → their part of the plan.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    compile::{Compile, check_variable, filled},
    overlap,
};
use crate::{
    channels::{InputPlan, Layout, OutputPlan, PathArgument},
    code::{
        CodePlan, GitPlan,
        git::{check_directory, check_ref, check_url},
    },
    dataset::{BadInputFrom, InputFrom},
    ids::{JobId, JobName, VolumeName},
    location::{BadLocation, Location},
    rendezvous::variable_name,
    said,
    shell::says_arguments,
    spec::{Code, GitCode, Input, JobSpec, Output, join, shown},
    template::{self, Tag},
    versioned::BadVersioned,
};

/// What happens about Python packages that the code names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Requirements {
    /// Those that a file of the usual name at the code's root asks for.
    #[default]
    Usual,
    None,
    /// Those of this file of the code.
    File(String),
}

/// What lies in `/output` before the first attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beginning {
    /// What a job has left there: an id, a name, or a name and version.
    Job(String),
    /// The same once it is known which job that is: it stays this one, whatever is submitted later.
    Former(FormerJob),
    At(Location),
}

/// A job whose output another one begins with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FormerJob {
    pub id: JobId,
    /// Such as `digits@2`.
    pub label: String,
    /// The task whose output stands for a task that it does not have.
    pub chief: String,
}

impl Beginning {
    /// As it may be shown to others.
    pub fn without_query(&self) -> String {
        match self {
            Beginning::At(location) => location.without_query(),
            Beginning::Job(_) | Beginning::Former(_) => self.to_string(),
        }
    }
}

impl std::fmt::Display for Beginning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Beginning::Job(job) => f.write_str(job),
            Beginning::Former(former) => write!(f, "{}", former.label),
            Beginning::At(location) => location.fmt(f),
        }
    }
}

/// What a job carries in and out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Freight {
    pub inputs: Vec<InputPlan>,
    pub outputs: Vec<OutputPlan>,
    /// Where logs are copied as well.
    pub logs: Option<Location>,
    pub from: Option<Beginning>,
    /// Behind every command.
    pub arguments: Vec<PathArgument>,
    /// Variables that hold a path of the sandbox.
    pub paths: BTreeMap<String, String>,
}

impl Freight {
    /// Whether anything the tasks write is to be copied elsewhere.
    pub fn copies_out(&self) -> bool {
        !self.outputs.is_empty() || self.logs.is_some()
    }

    /// Every place outside that is named.
    pub fn locations(&self) -> impl Iterator<Item = &Location> {
        let beginning = self.from.iter().filter_map(|it| if let Beginning::At(at) = it { Some(at) } else { None });
        let inputs = self.inputs.iter().filter_map(|it| it.from.place());
        inputs.chain(self.outputs.iter().map(|it| &it.to)).chain(&self.logs).chain(beginning)
    }
}

pub(super) fn freight(c: &mut Compile<'_>, spec: &JobSpec) -> Freight {
    let mut freight = Freight::default();
    if let (Some(_), Some((name, _))) = (&spec.input, spec.inputs.first()) {
        let message = said!(
            "is all of `/input`, and `inputs.{name}` would have to be inside it",
            "已经占用整个 `/input`，而 `inputs.{name}` 又要放在它里面"
        );
        c.tell("input", message, ("move it under `inputs` and give it a name", "请把它移到 `inputs` 下面，并起个名字"));
    }
    for (path, name, input) in named("input", &spec.input, "inputs", &spec.inputs) {
        add_input(c, &mut freight, (&path, name), input);
    }
    for (path, name, output) in named("output", &spec.output, "outputs", &spec.outputs) {
        add_output(c, &mut freight, (&path, name), output);
    }
    freight.logs = spec.logs.as_deref().and_then(|text| target(c, "logs", text));
    overlap::check(c, &spec.name, &freight);
    freight.from = spec.from.as_deref().and_then(|text| beginning(c, text));
    freight
}

/// The one without a name, and those with, each with its path in the file.
fn named<'a, T>(
    one: &str,
    unnamed: &'a Option<T>,
    several: &str,
    named: &'a indexmap::IndexMap<String, T>,
) -> Vec<(String, Option<&'a str>, &'a T)> {
    let first = unnamed.iter().map(|it| (one.to_owned(), None, it));
    first.chain(named.iter().map(|(name, it)| (join(several, name), Some(name.as_str()), it))).collect()
}

fn add_input(c: &mut Compile<'_>, freight: &mut Freight, (path, name): (&str, Option<&str>), input: &Input) {
    let channel = input.channel();
    check_channel_name(c, path, name);
    let Some(from) = source(c, &key(path, "from", matches!(input, Input::Channel(_))), &channel.from) else { return };
    let plan = InputPlan { name: name.map(str::to_owned), from, unpack: channel.unpack.unwrap_or(false) };
    let told =
        Told { argument: channel.argument, env: channel.env, usual: name.map(|it| format!("TRAINMASTER_INPUT_{}", variable_name(it))) };
    tell_task(c, freight, path, told, plan.path());
    freight.inputs.push(plan);
}

fn add_output(c: &mut Compile<'_>, freight: &mut Freight, (path, name): (&str, Option<&str>), output: &Output) {
    let channel = output.channel();
    check_channel_name(c, path, name);
    let Some(to) = target(c, &key(path, "to", matches!(output, Output::Channel(_))), &channel.to) else { return };
    let plan = OutputPlan { name: name.map(str::to_owned), to, layout: channel.layout.unwrap_or(Layout::Chief) };
    let told =
        Told { argument: channel.argument, env: channel.env, usual: name.map(|it| format!("TRAINMASTER_OUTPUT_{}", variable_name(it))) };
    tell_task(c, freight, path, told, plan.path());
    freight.outputs.push(plan);
}

/// Where the place stands in the file: by itself, or in a map.
fn key(path: &str, key: &str, is_map: bool) -> String {
    if is_map { join(path, key) } else { path.to_owned() }
}

/// How a task learns where a channel is.
struct Told {
    argument: Option<String>,
    env: Option<String>,
    /// Our own variable for it.
    usual: Option<String>,
}

fn tell_task(c: &mut Compile<'_>, freight: &mut Freight, at: &str, told: Told, path: String) {
    if let Some(flag) = told.argument {
        if !flag.starts_with('-') || flag.chars().any(|it| it.is_whitespace() || it.is_control() || it == '=') {
            c.tell(
                &join(at, "argument"),
                said!("{} is not a flag", "{} 不是命令行选项", shown(&flag)),
                ("write a flag such as `--data_url`", "请写一个命令行选项，如 `--data_url`"),
            );
        }
        freight.arguments.push(PathArgument { flag, path: path.clone() });
    }
    if let Some(name) = told.env {
        check_variable(c, &join(at, "env"), &name);
        freight.paths.insert(name, path.clone());
    }
    if let Some(other) = told.usual.and_then(|name| freight.paths.insert(name, path)) {
        c.tell(
            at,
            said!("would have the same variable as the channel at {other}", "与 {other} 的通道会用到同一个变量"),
            ("choose names that differ in letters or digits", "请换成字母或数字不同的名字"),
        );
    }
}

fn check_channel_name(c: &mut Compile<'_>, path: &str, name: Option<&str>) {
    let good = |name: &&str| name.len() <= 64 && name.chars().all(|it| it.is_ascii_alphanumeric() || "_-".contains(it)) && !name.is_empty();
    if let Some(bad) = name.filter(|name| !good(name)) {
        c.tell(
            path,
            said!("{} is not a name for a channel", "{} 不能用作通道名", shown(bad)),
            ("use 1 to 64 letters, digits, `_` and `-`", "请用 1 到 64 个字母、数字、`_` 或 `-`"),
        );
    }
}

fn location(c: &mut Compile<'_>, path: &str, text: &str) -> Option<Location> {
    let hint = (
        "write a volume and a path such as `data:mnist`, a directory's whole path, or a URL",
        "请写数据卷加路径（如 `data:mnist`）、目录的完整路径，或 URL",
    );
    text.parse().map_err(|bad: BadLocation| c.tell(path, bad.words().of(&shown(text)), hint)).ok()
}

/// Where an input comes from: a place, or a version of a dataset.
fn source(c: &mut Compile<'_>, path: &str, text: &str) -> Option<InputFrom> {
    match text.parse() {
        Ok(from) => return Some(from),
        Err(BadInputFrom::Location(_)) => return location(c, path, text).map(InputFrom::Place),
        Err(BadInputFrom::Dataset(BadVersioned::NoVersion)) => {
            let message = said!(
                "{} is neither a whole path nor a volume and a path nor a URL",
                "{} 既不是完整路径，也不是数据卷加路径，也不是 URL",
                shown(text)
            );
            let hint = said!(
                "write `{text}@latest` for the newest version of a dataset, `{text}:` for a volume, or a directory's whole path",
                "数据集请写 `{text}@latest`（最新版本），数据卷请写 `{text}:`，目录请写完整路径"
            );
            c.tell(path, message, hint);
        }
        Err(BadInputFrom::Dataset(bad)) => {
            let hint = (
                "a dataset is written with a version, such as `mnist@3` or `mnist@latest`; a directory that is called so, as `./mnist@3`",
                "数据集要带版本，如 `mnist@3` 或 `mnist@latest`；如果目录就叫这个名字，请写 `./mnist@3`",
            );
            c.tell(path, bad.words().of(&shown(text)), hint);
        }
    }
    None
}

/// Somewhere that can be written to.
fn target(c: &mut Compile<'_>, path: &str, text: &str) -> Option<Location> {
    let hint = (
        "write a volume and a path such as `results:digits`, or a directory's whole path",
        "请写数据卷加路径（如 `results:digits`），或目录的完整路径",
    );
    // A volume by its name alone; a directory that is not said whole would be nobody's.
    if let Ok(volume) = VolumeName::parse(text) {
        return Some(Location::Volume { volume, path: String::new() });
    }
    match text.parse() {
        Ok(Location::Url(_)) => {
            c.tell(path, said!("{} is a URL, and nothing can be written there", "{} 是 URL，无法往那里写文件", shown(text)), hint)
        }
        Ok(location) => return Some(location),
        Err(bad) => c.tell(path, bad.words().of(&shown(text)), hint),
    }
    None
}

fn beginning(c: &mut Compile<'_>, text: &str) -> Option<Beginning> {
    if let Ok(location) = text.parse() {
        return Some(Beginning::At(location));
    }
    let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
    let is_version = version.is_none_or(|it| it.parse::<u32>().is_ok_and(|number| number > 0));
    if JobName::parse(name).is_ok() && is_version {
        return Some(Beginning::Job(text.to_owned()));
    }
    c.tell(
        "from",
        said!("{} is neither a job nor a place", "{} 既不是作业，也不是位置", shown(text)),
        (
            "write a job and version such as `digits@2`, or `models:digits`",
            "请写作业和版本（如 `digits@2`），或 `models:digits` 这样的位置",
        ),
    );
    None
}

pub(super) fn code(c: &mut Compile<'_>, spec: &JobSpec) -> Option<CodePlan> {
    match spec.code.as_ref()? {
        Code::Place(text) if is_repository(text) => {
            let (url, reference) = text.split_once('#').map_or((text.as_str(), None), |(url, reference)| (url, Some(reference)));
            let git = GitCode { git: url.to_owned(), reference: reference.map(str::to_owned), ..GitCode::default() };
            Some(CodePlan::Git(repository(c, "code", &git, spec)))
        }
        Code::Place(text) => {
            let hint = (
                "write a directory's whole path, a repository's address, or a volume and a path such as `data:code`",
                "请写目录的完整路径、代码仓库的地址，或数据卷加路径（如 `data:code`）",
            );
            text.parse().map_err(|bad: BadLocation| c.tell("code", bad.words().of(&shown(text)), hint)).ok().map(CodePlan::At)
        }
        Code::Git(git) => Some(CodePlan::Git(repository(c, "code.git", git, spec))),
        Code::Upload(code) => Some(CodePlan::Upload(code.upload.clone())),
        Code::At(code) => location(c, "code.at", &code.at).map(CodePlan::At),
    }
}

/// Whether someone meant a repository, be it one that we can fetch or not.
fn is_repository(text: &str) -> bool {
    text.contains("://") || text.starts_with("git@") || text.contains("::")
}

fn repository(c: &mut Compile<'_>, path: &str, git: &GitCode, spec: &JobSpec) -> GitPlan {
    const DEPTH_DEFAULT: u32 = 1;
    let password = git.password.as_deref().map(|text| {
        let is_secret = template::tags(text).iter().any(|tag| matches!(tag, Tag::Secret(_)));
        if !is_secret {
            let hint = (
                "write `password: \"{{ secrets.git }}\"`, and the password itself as `git` under `secrets`",
                "请写 `password: \"{{ secrets.git }}\"`，并把密码本身写在 `secrets` 下的 `git`",
            );
            c.tell("code.password", ("is written out, and whoever reads the job would read it", "是明文，看得到作业的人都会看到它"), hint);
        }
        filled(c, "code.password", text, spec)
    });
    // The address itself is not shown: there may be a password in it.
    if let Err(bad) = check_url(&git.git) {
        c.tell(path, bad.words(), ("such as `https://example.org/team/project.git`", "例如 `https://example.org/team/project.git`"));
    }
    if let Some((text, bad)) = git.reference.as_ref().and_then(|text| Some((text, check_ref(text).err()?))) {
        c.tell("code.ref", bad.words().of(&shown(text)), ("a branch, a tag or a commit is meant", "这里要写分支、标签或提交"));
    }
    if let Some((text, bad)) = git.directory.as_ref().and_then(|text| Some((text, check_directory(text).err()?))) {
        c.tell(
            "code.directory",
            bad.words().of(&shown(text)),
            ("a directory inside the repository is meant, such as `train`", "这里要写仓库里的目录，如 `train`"),
        );
    }
    GitPlan {
        url: git.git.clone(),
        reference: git.reference.clone(),
        user: git.user.clone(),
        password,
        submodules: git.submodules.unwrap_or(false),
        lfs: git.lfs.unwrap_or(false),
        depth: Some(git.depth.unwrap_or(DEPTH_DEFAULT)).filter(|depth| *depth > 0),
        directory: git.directory.clone(),
    }
}

pub(super) fn requirements(c: &mut Compile<'_>, text: Option<&str>) -> Requirements {
    match text {
        None => Requirements::Usual,
        Some("none") => Requirements::None,
        Some(path) => {
            let leads_out = path.starts_with('/') || path.is_empty() || path.split('/').any(|part| part == "..") || path.contains('\0');
            if leads_out {
                c.tell(
                    "requirements",
                    said!("{} is not a file of the code", "{} 不是代码里的文件", shown(path)),
                    ("write a path inside the code, or `none`", "请写代码里的路径，或 `none`"),
                );
            }
            Requirements::File(path.to_owned())
        }
    }
}

/// A shell that hands what follows its line on to the last command of it, unless the line says itself where that goes.
pub(crate) fn handing_on(line: &str) -> [String; 4] {
    let line = if says_arguments(line) { line.to_owned() } else { format!("{} \"$@\"", line.trim_end()) };
    ["/bin/sh".into(), "-c".into(), line, "sh".into()]
}

pub(super) fn taking_arguments(c: &mut Compile<'_>, path: &str, command: Vec<String>) -> Vec<String> {
    match <[String; 3]>::try_from(command) {
        Ok([shell, flag, line]) if shell == "/bin/sh" && flag == "-c" => {
            if line.trim().contains('\n') && !says_arguments(&line) {
                let hint = (
                    "write `\"$@\"` behind the command that takes it, or the command as one line or a list of words, or read the channel's variable instead",
                    "请在接收它的命令后面写上 `\"$@\"`，或把命令写成一行或由各个词组成的列表，或改为读取通道对应的变量",
                );
                c.tell(
                    path,
                    (
                        "has several lines, so it cannot be told which command takes the `argument` of a channel",
                        "有好几行，无法判断通道的 `argument` 该交给哪条命令",
                    ),
                    hint,
                );
            }
            handing_on(&line).to_vec()
        }
        Ok(words) => words.into(),
        Err(words) => words,
    }
}
