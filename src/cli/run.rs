//! `trainmaster run -- python3 train.py`: a job without a job file. With one, it is `submit`.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use model::spec::{Accelerators, Command, JobSpec, PortCount, Ports, Retries, RoleSpec, Size};

use super::{
    context::Context,
    failure::{Exit, Failure},
    grid::GridArgs,
    job_file::fitting_name,
    params::ParamArgs,
    set::Setting,
    submission::{Parcel, submit},
    submit::{After, finish},
    upload::with_code_uploaded,
};

/// The one role of a job without a file.
const ROLE: &str = "main";
/// What makes the caller's Python the task's Python.
const PASSED_VARIABLES: [&str; 3] = ["PATH", "VIRTUAL_ENV", "CONDA_PREFIX"];

#[derive(Clone, Debug, Default, clap::Args)]
pub struct RunArgs {
    /// The job's name; made from the command if not given
    #[arg(long)]
    pub name: Option<String>,
    /// How many tasks
    #[arg(long, value_name = "N")]
    pub tasks: Option<u32>,
    /// CPUs for each task, such as 2 or 0.5
    #[arg(long, value_name = "N")]
    pub cpus: Option<f64>,
    /// Memory for each task, such as 4GiB
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// The size of /dev/shm for each task
    #[arg(long, value_name = "SIZE")]
    pub shm: Option<String>,
    /// The most that each task may have on disk
    #[arg(long, value_name = "SIZE")]
    pub disk: Option<String>,
    /// Accelerators for each task: 2 of any type, or A100=2; may be given again for other types
    #[arg(long, value_name = "N|TYPE=N")]
    pub gpus: Vec<String>,
    /// An environment variable; without a value, the caller's own. May be given again
    #[arg(long, short = 'e', value_name = "KEY[=VALUE]")]
    pub env: Vec<String>,
    /// A port for each task, by label; LABEL=N for several. May be given again
    #[arg(long, value_name = "LABEL[=N]")]
    pub port: Vec<String>,
    /// How often the job may be started again after a failure
    #[arg(long, value_name = "N")]
    pub retries: Option<u32>,
    /// Stop the job after this long, such as 90s, 15m or 12h
    #[arg(long, value_name = "DURATION")]
    pub max_duration: Option<String>,
    /// Higher goes first
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub priority: Option<i32>,
    /// A label to find the job by; may be given again
    #[arg(long)]
    pub tag: Vec<String>,
    /// A directory the tasks see read-only at /input
    #[arg(long, value_name = "DIR")]
    pub input: Option<PathBuf>,
    /// The folder that is uploaded, and that the tasks see at /code and begin in; the current one if not given
    #[arg(long, value_name = "DIR")]
    pub code: Option<PathBuf>,
    /// Submit, print the job and leave
    #[arg(long, short)]
    pub detach: bool,
    /// Change a value of a job file, as `submit` does
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    #[command(flatten)]
    pub params: ParamArgs,
    #[command(flatten)]
    pub grid: GridArgs,
    /// The program and its arguments; or a job file, which is then submitted
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    pub command: Vec<String>,
}

pub async fn run(context: &Context, args: &RunArgs) -> Result<Exit, Failure> {
    if !(args.set.is_empty() && args.params.is_empty() && args.grid.is_empty()) {
        let hint = "write `trainmaster run job.yaml --grid …`; a file that is to be run as a program goes behind `--`";
        return Err(Failure::usage("--set, -p and --grid change a job file, and this is a command").hint(hint));
    }
    let caller = Caller::read(context.find()?.on_this_machine)?;
    let spec = build(args, &caller)?;
    let parcel = Parcel::json(&spec)?;
    let (_, parcel) = with_code_uploaded(context, spec, &parcel).await.map_err(|failure| name_the_flag(failure, args))?;
    let submitted = submit(context, &parcel).await.map_err(in_flags)?;
    let after = if args.detach { After::Leave } else { After::Follow { tasks: args.tasks.unwrap_or(1), apart: true } };
    finish(context, submitted, after).await
}

/// Someone who did not speak of code may wonder why it is too much.
fn name_the_flag(failure: Failure, args: &RunArgs) -> Failure {
    match (&args.code, failure.body.hint.clone()) {
        (None, Some(hint)) => failure.hint(format!("{hint}; or name another folder with --code")),
        (Some(_), _) | (None, None) => failure,
    }
}

impl RunArgs {
    /// Whether the command is a job file that is there, and no program.
    pub fn is_job_file(&self) -> bool {
        let Some(first) = self.command.first().map(Path::new) else { return false };
        let ending = first.extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("yaml" | "yml" | "json")) && first.is_file()
    }
}

/// Where the command was typed, as far as it matters to the job.
pub struct Caller {
    pub directory: Option<PathBuf>,
    /// Variables; none where the server is on another machine.
    pub passed: BTreeMap<String, String>,
}

impl Caller {
    fn read(server_on_this_machine: bool) -> Result<Self, Failure> {
        let directory = std::env::current_dir().map_err(|error| Failure::usage(format!("the current directory is gone: {error}")))?;
        let names: &[&str] = if server_on_this_machine { &PASSED_VARIABLES } else { &[] };
        let passed = names.iter().filter_map(|name| std::env::var(name).ok().map(|value| (name.to_string(), value)));
        Ok(Self { directory: Some(directory), passed: passed.collect() })
    }
}

pub fn build(args: &RunArgs, caller: &Caller) -> Result<JobSpec, Failure> {
    let mut env = caller.passed.clone();
    for given in &args.env {
        let (key, value) = variable(given)?;
        env.insert(key, value);
    }
    let role = RoleSpec {
        tasks: args.tasks,
        command: Command::Words(args.command.clone()),
        cpus: args.cpus,
        memory: args.memory.clone().map(Size::Text),
        shared_memory: args.shm.clone().map(Size::Text),
        disk: args.disk.clone().map(Size::Text),
        accelerators: accelerators(&args.gpus)?,
        ports: ports(&args.port)?,
        ..RoleSpec::default()
    };
    Ok(JobSpec {
        name: args.name.clone().unwrap_or_else(|| name_of(&args.command)),
        tags: args.tag.clone(),
        priority: args.priority,
        retries: args.retries.map(Retries::Count),
        max_duration: args.max_duration.clone(),
        code: args
            .code
            .as_deref()
            .map(|dir| directory(dir, "--code"))
            .transpose()?
            .or_else(|| as_text(caller.directory.as_deref()))
            .map(Into::into),
        input: args.input.as_deref().map(|dir| directory(dir, "--input")).transpose()?.map(Into::into),
        env,
        roles: [(ROLE.to_owned(), role)].into(),
        ..JobSpec::default()
    })
}

/// `python3 train.py --lr 1` → `python3-train`.
fn name_of(command: &[String]) -> String {
    let stem = |word: &String| Path::new(word).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let script = command.iter().skip(1).find(|word| !word.starts_with('-')).filter(|word| looks_like_a_script(word));
    let words: Vec<String> = command.first().into_iter().chain(script).map(stem).collect();
    fitting_name(&words.join("-"))
}

/// A file with an ending, not a line of shell or a number.
fn looks_like_a_script(word: &str) -> bool {
    let name = Path::new(word);
    name.extension().is_some_and(|ending| ending.to_string_lossy().chars().all(char::is_alphabetic)) && !word.contains(char::is_whitespace)
}

fn variable(given: &str) -> Result<(String, String), Failure> {
    match given.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        Some(_) => Err(Failure::usage(format!("--env {given}: the variable has no name"))),
        None => {
            let value = std::env::var(given).map_err(|_| Failure::usage(format!("--env {given}: there is no such variable here")))?;
            Ok((given.to_owned(), value))
        }
    }
}

fn accelerators(given: &[String]) -> Result<Option<Accelerators>, Failure> {
    let number = |text: &str| text.parse::<u32>().map_err(|_| Failure::usage(format!("--gpus: `{text}` is not a number")));
    match given {
        [] => Ok(None),
        [one] if !one.contains('=') => Ok(Some(Accelerators::AnyType(number(one)?))),
        several => {
            let pair = |text: &String| {
                let (kind, count) = text.split_once('=').ok_or_else(|| Failure::usage(format!("--gpus {text}: write it as TYPE=N")))?;
                Ok((kind.to_owned(), number(count)?))
            };
            Ok(Some(Accelerators::ByType(several.iter().map(pair).collect::<Result<_, Failure>>()?)))
        }
    }
}

fn ports(given: &[String]) -> Result<Option<Ports>, Failure> {
    let pair = |text: &String| match text.split_once('=') {
        None => Ok((text.clone(), PortCount::Any(1))),
        Some((label, count)) => {
            let count = count.parse().map_err(|_| Failure::usage(format!("--port {text}: `{count}` is not a number")))?;
            Ok((label.to_owned(), PortCount::Any(count)))
        }
    };
    let counts = given.iter().map(pair).collect::<Result<BTreeMap<String, PortCount>, Failure>>()?;
    Ok((!counts.is_empty()).then_some(Ports::Counts(counts)))
}

pub fn directory(dir: &Path, flag: &str) -> Result<String, Failure> {
    let whole = dir.canonicalize().map_err(|error| Failure::usage(format!("{flag} {}: {error}", dir.display())))?;
    if !whole.is_dir() {
        return Err(Failure::usage(format!("{flag} {}: this is not a directory", dir.display())));
    }
    as_text(Some(&whole)).ok_or_else(|| Failure::usage(format!("{flag} {}: the name is not text", dir.display())))
}

fn as_text(path: Option<&Path>) -> Option<String> {
    path.and_then(Path::to_str).map(str::to_owned)
}

/// The server speaks of the spec; the person typed flags.
fn in_flags(mut failure: Failure) -> Failure {
    const FLAGS: [(&str, &str); 14] = [
        ("name", "--name"),
        ("tags", "--tag"),
        ("priority", "--priority"),
        ("retries", "--retries"),
        ("max_duration", "--max-duration"),
        ("code", "--code"),
        ("input", "--input"),
        ("env", "--env"),
        ("roles.main.tasks", "--tasks"),
        ("roles.main.cpus", "--cpus"),
        ("roles.main.memory", "--memory"),
        ("roles.main.shared_memory", "--shm"),
        ("roles.main.disk", "--disk"),
        ("roles.main.ports", "--port"),
    ];
    failure.body.message = failure.body.message.replace("the job file has", "the job has");
    for problem in &mut failure.body.problems {
        let flag = FLAGS.iter().find_map(|(path, flag)| problem.path.strip_prefix(path).map(|rest| (*flag, rest)));
        if let Some((flag, rest)) = flag.filter(|(_, rest)| rest.is_empty() || rest.starts_with(['.', '['])) {
            problem.path = format!("{flag}{rest}");
        } else if let Some(rest) = problem.path.strip_prefix("roles.main.accelerators") {
            problem.path = format!("--gpus{rest}");
        }
    }
    failure
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use model::{located::Place, spec::Problem, wire::ProblemView};

    use super::*;

    #[derive(Parser)]
    struct Only {
        #[command(flatten)]
        args: RunArgs,
    }

    fn built(line: &str, caller: &Caller) -> String {
        let args = Only::try_parse_from(["run"].into_iter().chain(line.split_whitespace())).unwrap().args;
        match build(&args, caller) {
            Ok(spec) => serde_json::to_string(&spec).unwrap(),
            Err(failure) => failure.body.message,
        }
    }

    fn nowhere() -> Caller {
        Caller { directory: None, passed: BTreeMap::new() }
    }

    #[test]
    fn a_bare_command_is_a_whole_job() {
        let caller = Caller { directory: Some("/home/me/work".into()), passed: BTreeMap::from([("PATH".into(), "/venv/bin".into())]) };
        insta::assert_snapshot!(built("python3 train.py --lr 1", &caller), @r#"{"name":"python3-train","code":"/home/me/work","env":{"PATH":"/venv/bin"},"roles":{"main":{"command":["python3","train.py","--lr","1"]}}}"#);
    }

    #[test]
    fn every_flag_has_its_place_in_the_spec() {
        let line = "--name x --tasks 2 --cpus 0.5 --memory 1GiB --shm 64MiB --gpus A100=2 --gpus T4=1 --env A=b=c --port http --port grpc=2 \
                    --retries 3 --max-duration 2h --priority -5 --tag t1 --tag t2 --code / --input / -- true";
        insta::assert_snapshot!(built(line, &nowhere()), @r#"{"name":"x","tags":["t1","t2"],"priority":-5,"retries":3,"max_duration":"2h","code":"/","input":"/","env":{"A":"b=c"},"roles":{"main":{"tasks":2,"command":["true"],"cpus":0.5,"memory":"1GiB","shared_memory":"64MiB","accelerators":{"A100":2,"T4":1},"ports":{"grpc":2,"http":1}}}}"#);
    }

    #[test]
    fn a_number_of_gpus_is_of_any_type() {
        assert!(built("--gpus 2 true", &nowhere()).contains(r#""accelerators":2"#));
    }

    #[test]
    fn what_the_person_gives_wins_over_what_is_passed() {
        let caller = Caller { directory: Some("/".into()), passed: BTreeMap::from([("PATH".into(), "/a".into())]) };
        assert!(built("--env PATH=/b true", &caller).contains(r#""PATH":"/b""#));
    }

    #[test]
    fn flags_that_mean_nothing_say_so() {
        for (line, message) in [
            ("--gpus many true", "--gpus: `many` is not a number"),
            ("--gpus A100=1 --gpus 2 true", "--gpus 2: write it as TYPE=N"),
            ("--port http=x true", "--port http=x: `x` is not a number"),
            ("--env =x true", "--env =x: the variable has no name"),
            ("--env NO_SUCH_VARIABLE_HERE true", "--env NO_SUCH_VARIABLE_HERE: there is no such variable here"),
            ("--input /no/such/dir true", "--input /no/such/dir: No such file or directory (os error 2)"),
            ("--code /etc/passwd true", "--code /etc/passwd: this is not a directory"),
        ] {
            assert_eq!(built(line, &nowhere()), message, "{line}");
        }
    }

    #[test]
    fn names_come_from_the_command() {
        let name = |line: &str| name_of(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(name("true"), "true");
        assert_eq!(name("/usr/bin/python3.11 -u src/train_model.py"), "python3-train_model");
        assert_eq!(name("sleep 0.5"), "sleep");
        assert_eq!(name("torchrun --nproc 2 train.py"), "torchrun");
        assert_eq!(name("./数据.sh"), "job");
        assert_eq!(name("a+b main.py"), "a-b-main");
        assert_eq!(name(&"x".repeat(100)), "x".repeat(48));
    }

    #[test]
    fn a_problem_of_the_spec_is_told_as_a_problem_of_the_flag() {
        let problem = |path: &str| ProblemView::from(&Problem::new(path, ("bad", "不好")).at(Place { line: 1, column: 1 }));
        let mut failure = Failure::usage("bad");
        failure.body.problems =
            ["roles.main.memory", "roles.main.accelerators.A100", "env.A", "name", "roles.main.command"].map(problem).into();
        let paths: Vec<String> = in_flags(failure).body.problems.into_iter().map(|it| it.path).collect();
        assert_eq!(paths, ["--memory", "--gpus.A100", "--env.A", "--name", "roles.main.command"]);
    }
}
