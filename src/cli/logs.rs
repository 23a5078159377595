//! `trainmaster logs JOB`.

use http_body_util::BodyExt;
use model::{
    ids::TaskName,
    logs::Stream,
    wire::{JobDetail, JobSummary},
};
use serde_json::json;

use super::{
    chunks,
    context::{Context, encode, in_time, job_path, query},
    failure::{Exit, Failure},
    follow::Wish,
    output,
    people::{label, now_ms, parse_since, verb},
    printer::{Manner, Printer},
    watch::{Only, Screen, watch},
};
use crate::client::Call;

mod download;
mod lines;

#[derive(Clone, Debug, Default, clap::Args)]
pub struct LogsArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Go on until the job is over
    #[arg(long, short)]
    pub follow: bool,
    /// Only these tasks, such as worker-0 or worker-0,worker-1; may be given again. `digits_worker_1` is worker-0 of digits
    #[arg(long, short, value_delimiter = ',')]
    pub task: Vec<String>,
    /// Only tasks of these roles, such as worker
    #[arg(long, value_delimiter = ',')]
    pub role: Vec<String>,
    /// Only what came after: 10m for ten minutes ago, or a moment such as 2026-03-01T14:05
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only what came before
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only the last lines of each task; with --grep, the last that were found
    #[arg(long, short = 'n', value_name = "LINES")]
    pub tail: Option<u64>,
    /// Only the first lines
    #[arg(long, value_name = "LINES", conflicts_with_all = ["tail", "follow"])]
    pub head: Option<u64>,
    /// Only the last bytes of each task, wherever they begin
    #[arg(long, value_name = "BYTES", conflicts_with_all = ["tail", "head", "follow", "grep", "timestamps"])]
    pub tail_bytes: Option<u64>,
    /// Only this stream (`platform`: our own lines); all in the order they came if not given
    #[arg(long, value_enum)]
    pub stream: Option<StreamArg>,
    /// Leave out the platform's own lines
    #[arg(long)]
    pub no_platform: bool,
    /// Only this attempt; the newest if not given
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only lines that match this regular expression
    #[arg(long, value_name = "PATTERN")]
    pub grep: Option<String>,
    /// The pattern is a text, not a regular expression
    #[arg(long, short = 'F', requires = "grep")]
    pub fixed: bool,
    /// Capitals and small letters are the same
    #[arg(long, short, requires = "grep")]
    pub ignore_case: bool,
    /// With so many lines before and after each match
    #[arg(long, short = 'C', value_name = "LINES", requires = "grep")]
    pub context: Option<u32>,
    /// Show when each line came
    #[arg(long)]
    pub timestamps: bool,
    /// Every byte as it is, even to a terminal
    #[arg(long, conflicts_with_all = ["grep", "head", "timestamps"])]
    pub raw: bool,
    /// Save every task's log in this directory, or all in one FILE.tar.gz
    #[arg(long, value_name = "DIR|FILE.tar.gz", conflicts_with_all = ["follow", "grep", "head", "tail", "tail_bytes", "timestamps", "since", "until", "stream", "raw"])]
    pub download: Option<std::path::PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum StreamArg {
    Stdout,
    Stderr,
    Platform,
}

impl StreamArg {
    fn stream(self) -> Stream {
        match self {
            StreamArg::Stdout => Stream::Stdout,
            StreamArg::Stderr => Stream::Stderr,
            StreamArg::Platform => Stream::Platform,
        }
    }
}

/// When what is wanted came.
#[derive(Clone, Copy, Debug, Default)]
struct Times {
    since_ms: Option<u64>,
    until_ms: Option<u64>,
}

pub async fn logs(context: &Context, args: &LogsArgs) -> Result<Exit, Failure> {
    let time = |name, text: &Option<String>| text.as_deref().map(|text| read_time(name, text)).transpose();
    let times = Times { since_ms: time("since", &args.since)?, until_ms: time("until", &args.until)? };
    download::check(args)?;
    let job: JobDetail = context.get(&job_path(&args.job, "")).await?;
    let args = &LogsArgs { task: args.task.iter().map(|task| spelled(&job, task)).collect(), ..args.clone() };
    let tasks = chosen_tasks(&job, args)?;
    if let Some(to) = &args.download {
        return download::download(context, &job, args, to).await;
    }
    let named = args.task.len() != 1 && job.summary.tasks > 1;
    let manner = Manner::now(named, args.raw);
    if tasks.is_empty() && !args.follow {
        let (state, yet) = (job.summary.state, if job.summary.state.is_over() { "" } else { " yet" });
        output::aside(&format!("{} {} {}: it has written nothing{yet}", label(&job.summary), verb(state), state.text()));
    }
    // Several that speak at once are told apart by their times, and only lines have those.
    let together = args.follow && named && !args.raw && !context.json;
    match (wants_lines(args) || together, args.follow) {
        (true, _) => lines::show(context, args, &job.summary, (times, manner)).await,
        (false, true) => follow_logs(context, args, &job.summary, times, manner).await,
        (false, false) => {
            let wanted = Wanted { context, args, job: &job.summary, times };
            match () {
                () if context.json => wanted.print_json(&tasks).await,
                // A file gets every byte; a person gets lines.
                () if args.raw || args.tail_bytes.is_some() || (tasks.len() == 1 && !output::Sink::Stdout.is_terminal()) => {
                    wanted.print(&tasks, manner).await
                }
                () => lines::show(context, args, &job.summary, (times, manner)).await,
            }
        }
    }
}

/// Whether something is asked for that only lines have.
fn wants_lines(args: &LogsArgs) -> bool {
    args.grep.is_some() || args.head.is_some() || args.timestamps
}

fn read_time(name: &str, text: &str) -> Result<u64, Failure> {
    let read = parse_since(text, now_ms(), &jiff::tz::TimeZone::system());
    read.ok_or_else(|| Failure::usage(format!("--{name} {text}: write it as 10m, 2h30m or 2026-03-01T14:05")))
}

/// A task as the job spells it, for whoever knows its container.
fn spelled(job: &JobDetail, task: &str) -> String {
    let name = job.summary.name.parse().ok();
    let of_container = name.and_then(|name| TaskName::of_container(&name, task)).filter(|_| job.runs.iter().all(|run| run.task != task));
    of_container.map_or_else(|| task.to_owned(), |task| task.to_string())
}

/// The runs whose logs are wanted: the newest attempt of each task, or the one asked for.
fn chosen_tasks(job: &JobDetail, args: &LogsArgs) -> Result<Vec<(String, u32)>, Failure> {
    let role = |task: &str| task.rsplit_once('-').map_or(task, |(role, _)| role).to_owned();
    let wanted = |task: &str| {
        (args.task.is_empty() || args.task.iter().any(|it| it == task)) && (args.role.is_empty() || args.role.contains(&role(task)))
    };
    let mut chosen: Vec<(String, u32)> = Vec::new();
    for run in job.runs.iter().filter(|run| wanted(&run.task) && args.attempt.is_none_or(|attempt| attempt == run.attempt)) {
        match chosen.iter_mut().find(|(task, _)| *task == run.task) {
            Some((_, attempt)) => *attempt = run.attempt.max(*attempt),
            None => chosen.push((run.task.clone(), run.attempt)),
        }
    }
    chosen.sort();
    if chosen.is_empty() && !job.runs.is_empty() {
        return Err(no_such_run(job, args));
    }
    Ok(chosen)
}

fn no_such_run(job: &JobDetail, args: &LogsArgs) -> Failure {
    if let Some(asked) = args.attempt.filter(|asked| job.runs.iter().all(|run| run.attempt != *asked)) {
        let last = job.runs.iter().map(|run| run.attempt).max().unwrap_or(1);
        let there = if last == 1 { "it has one attempt".to_owned() } else { format!("it has attempts 1 to {last}") };
        return Failure::usage(format!("{} has no attempt {asked}", label(&job.summary))).hint(there);
    }
    let mut known: Vec<&str> = job.runs.iter().map(|run| run.task.as_str()).collect();
    known.sort_unstable();
    known.dedup();
    let named: Vec<&str> = args.task.iter().chain(&args.role).map(String::as_str).collect();
    let task = if named.is_empty() { "no task".into() } else { format!("no task {}", named.join(" or ")) };
    let attempt = args.attempt.map_or(String::new(), |attempt| format!(" in attempt {attempt}"));
    Failure::usage(format!("{} has {task}{attempt}", label(&job.summary))).hint(format!("it has {}", known.join(", ")))
}

async fn follow_logs(context: &Context, args: &LogsArgs, job: &JobSummary, times: Times, manner: Manner) -> Result<Exit, Failure> {
    let only =
        Only { stream: args.stream.map(StreamArg::stream), attempt: args.attempt, no_platform: args.no_platform, until_ms: times.until_ms };
    let wish =
        Wish { logs: true, task: list(&args.task), role: list(&args.role), tail: args.tail, since_ms: times.since_ms, ..Wish::of(&job.id) };
    ended(watch(context, &wish, &mut Screen::new(manner, only, context.json)).await)
}

/// Ctrl-C is how one ends it; there is nothing to explain.
fn ended(watched: Result<JobSummary, Failure>) -> Result<Exit, Failure> {
    match watched {
        Ok(_) => Ok(Exit::Done),
        Err(failure) if failure.exit == Exit::Interrupted => Ok(Exit::Interrupted),
        Err(failure) => Err(failure),
    }
}

fn list(words: &[String]) -> Option<String> {
    (!words.is_empty()).then(|| words.join(","))
}

/// What is read of each task.
struct Wanted<'a> {
    context: &'a Context,
    args: &'a LogsArgs,
    job: &'a JobSummary,
    times: Times,
}

impl Wanted<'_> {
    fn path(&self, task: &str, attempt: u32) -> String {
        let pairs = [
            ("attempt", Some(attempt.to_string())),
            ("stream", Some(self.args.stream.map_or("merged", |it| it.stream().text()).to_owned())),
            ("platform", self.args.no_platform.then(|| "false".into())),
            ("tail", self.args.tail.map(|lines| lines.to_string())),
            ("tail_bytes", self.args.tail_bytes.map(|bytes| bytes.to_string())),
            ("since_ms", self.times.since_ms.map(|ms| ms.to_string())),
            ("until_ms", self.times.until_ms.map(|ms| ms.to_string())),
        ];
        job_path(&self.job.id, &format!("/tasks/{}/log", encode(task))) + &query(&pairs)
    }

    async fn print(&self, tasks: &[(String, u32)], manner: Manner) -> Result<Exit, Failure> {
        let mut printer = Printer::new(manner);
        for (task, attempt) in tasks {
            let path = self.path(task, *attempt);
            let answer = in_time(self.context.find()?.client.open(Call::get(&path))).await?;
            let mut body = answer.into_body();
            while let Some(frame) = body.frame().await {
                let frame = frame.map_err(|error| Failure::away(format!("the log of {task} was cut off: {error}")))?;
                let Ok(bytes) = frame.into_data() else { continue };
                for (sink, bytes) in printer.push((task, *attempt), Stream::Stdout, &bytes) {
                    output::bytes(sink, &bytes)?;
                }
            }
        }
        for (sink, bytes) in printer.finish() {
            output::bytes(sink, &bytes)?;
        }
        Ok(Exit::Done)
    }

    async fn print_json(&self, tasks: &[(String, u32)]) -> Result<Exit, Failure> {
        let mut logs = Vec::new();
        for (task, attempt) in tasks {
            let bytes = self.context.call(Call::get(&self.path(task, *attempt))).await?;
            let (text, base64) = chunks::text_or_base64(bytes.to_vec());
            let content = text.map(|text| json!({ "text": text })).or_else(|| base64.map(|base64| json!({ "base64": base64 })));
            let mut log = json!({ "task": task, "attempt": attempt });
            if let (Some(log), Some(content)) = (log.as_object_mut(), content.as_ref().and_then(|it| it.as_object())) {
                log.extend(content.clone());
            }
            logs.push(log);
        }
        output::json(&json!({ "job": self.job.id, "logs": logs }))?;
        Ok(Exit::Done)
    }
}

#[cfg(test)]
mod tests {
    use model::{job::JobState, task::TaskState, wire::RunView};

    use super::*;
    use crate::cli::fake;

    fn job(runs: &[(&str, u32)]) -> JobDetail {
        let run = |(task, attempt): &(&str, u32)| RunView {
            reason_zh: String::new(),
            task: task.to_string(),
            attempt: *attempt,
            state: TaskState::Running,
            node: String::new(),
            devices: Default::default(),
            ports: Default::default(),
            pid: None,
            started_at_ms: None,
            ended_at_ms: None,
            ending: None,
            exit_code: None,
            reason: String::new(),
            missing: Vec::new(),
            missing_zh: Vec::new(),
            commit: None,
            sync: None,
        };
        let actions: model::wire::Actions = serde_json::from_value(json!({ "stop": {}, "rerun": {}, "delete": {} })).unwrap();
        let summary = fake::job("digits", JobState::Running);
        JobDetail { summary, spec: serde_json::Value::Null, runs: runs.iter().map(run).collect(), actions, uploaded: None, progress: None }
    }

    fn chosen(task: Option<&str>, attempt: Option<u32>) -> String {
        let runs = [("worker-1", 2), ("worker-0", 2), ("worker-1", 1), ("worker-0", 1), ("ps-0", 1)];
        let args = LogsArgs { task: task.into_iter().map(Into::into).collect(), attempt, ..LogsArgs::default() };
        match chosen_tasks(&job(&runs), &args) {
            Ok(tasks) => tasks.iter().map(|(task, attempt)| format!("{task}.{attempt} ")).collect(),
            Err(failure) => format!("{}; {}", failure.body.message, failure.body.hint.unwrap()),
        }
    }

    #[test]
    fn the_newest_attempt_of_each_task_is_meant_unless_another_is_named() {
        assert_eq!(chosen(None, None), "ps-0.1 worker-0.2 worker-1.2 ");
        assert_eq!(chosen(Some("worker-0"), None), "worker-0.2 ");
        assert_eq!(chosen(None, Some(1)), "ps-0.1 worker-0.1 worker-1.1 ");
    }

    #[test]
    fn a_task_that_is_not_there_is_told_with_those_that_are() {
        assert_eq!(chosen(Some("worker-7"), None), "digits@3 has no task worker-7; it has ps-0, worker-0, worker-1");
        assert_eq!(chosen(None, Some(9)), "digits@3 has no attempt 9; it has attempts 1 to 2");
    }

    #[test]
    fn a_task_may_be_named_as_its_container_would_be() {
        let job = job(&[("worker-0", 1), ("worker-1", 1)]);
        assert_eq!(
            ["digits_worker_2", "worker-1", "digits_worker_0"].map(|it| spelled(&job, it)),
            ["worker-1", "worker-1", "digits_worker_0"]
        );
    }

    #[test]
    fn a_job_that_has_not_begun_has_no_logs_yet() {
        assert_eq!(chosen_tasks(&job(&[]), &LogsArgs::default()).unwrap(), []);
    }

    #[test]
    fn a_log_is_asked_for_as_it_is_wanted() {
        let context = Context::new(Default::default(), Default::default());
        let args = LogsArgs { tail: Some(100), stream: Some(StreamArg::Stderr), ..LogsArgs::default() };
        let job = fake::job("digits", JobState::Running);
        let times = Times { since_ms: Some(5), until_ms: None };
        let wanted = Wanted { context: &context, args: &args, job: &job, times };
        let path = wanted.path("worker-0", 2);
        assert_eq!(path, format!("/api/v1/jobs/{}/tasks/worker-0/log?attempt=2&stream=stderr&tail=100&since_ms=5", job.id));
    }
}
