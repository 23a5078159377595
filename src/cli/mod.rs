//! The command line: one file per verb. It has no power the API does not give.

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

pub mod completions;
pub mod context;
pub mod convert;
pub mod delete;
pub mod doctor;
pub mod duration;
pub mod explain;
pub mod failure;
pub mod list;
pub mod login;
pub mod logs;
pub mod nodes;
pub mod reach;
pub mod rerun;
pub mod run;
pub mod schema;
pub mod show;
pub mod stop;
pub mod submit;
pub mod up;
pub mod wait;

mod chunks;
mod dry_run;
mod environment;
#[cfg(test)]
mod fake;
mod follow;
mod grid;
mod job_file;
mod output;
mod params;
mod people;
mod printer;
mod report;
mod retry;
mod set;
mod sse;
mod style;
mod submission;
mod table;
mod terminal;
mod watch;

use context::{Context, ServerArgs, Surroundings};
use failure::{Exit, Failure};

const EXIT_CODES: &str = "Exit codes: 0 done · 1 the job failed or was stopped · 2 the request was wrong · \
3 the server had an error · 4 no server can be reached · 130 Ctrl-C";

const RUN_EXAMPLES: &str = "\
Examples:
  trainmaster run -- python3 train.py --epochs 3
  trainmaster run --gpus 1 --memory 16GiB --max-duration 12h -- python3 train.py
  trainmaster run --detach --name nightly -- ./train.sh
  trainmaster run job.yaml --grid lr=0.1,0.01 --grid batch=16,32

Exits with 0 if the job succeeded and 1 if it failed or was stopped. Ctrl-C leaves the job running.";

const SUBMIT_EXAMPLES: &str = "\
Examples:
  trainmaster submit job.yaml --dry-run
  trainmaster submit job.yaml --follow --set roles.worker.tasks=4 --set env.LEARNING_RATE=0.1
  trainmaster submit job.yaml -p lr=0.1 --grid batch=16,32
  trainmaster submit values.yaml --name mnist --code ./mnist --strict
  generate-job | trainmaster submit -

Job files of other systems are taken as they are; what became of every field is told.";

const CONVERT_EXAMPLES: &str = "\
Examples:
  trainmaster convert values.yaml                what became of it on standard error, our own job file on standard output
  trainmaster convert values.yaml -o job.yaml --strict";

const LOGS_EXAMPLES: &str = "\
Examples:
  trainmaster logs digits                        every task, each line with its name
  trainmaster logs digits@2 --task worker-0      one task of version 2
  trainmaster logs -f digits --since 10m         the last ten minutes, and what comes
  trainmaster logs digits --task ps-0 > ps.log   byte for byte";

/// Runs model-training jobs
#[derive(Debug, Parser)]
#[command(name = "trainmaster", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(flatten)]
    pub server: ServerArgs,
    #[command(subcommand)]
    pub verb: Verb,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Start the server
    Up(up::UpArgs),
    /// Run a command as a job and follow it; or submit a job file
    #[command(after_help = RUN_EXAMPLES)]
    Run(run::RunArgs),
    /// Submit a job file
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(submit::SubmitArgs),
    /// Write another system's job file as one of our own
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(convert::ConvertArgs),
    /// List jobs, newest first
    #[command(visible_alias = "ls")]
    List(list::ListArgs),
    /// Show everything that is known of a job
    Show(show::ShowArgs),
    /// Show what a job's tasks have written
    #[command(after_help = LOGS_EXAMPLES)]
    Logs(logs::LogsArgs),
    /// Stop jobs, and wait until nothing of them runs
    Stop(stop::StopArgs),
    /// Submit a job again, as its next version
    Rerun(rerun::RerunArgs),
    /// Delete jobs that are over: names, files and records
    Delete(delete::DeleteArgs),
    /// Wait until jobs are over
    Wait(wait::WaitArgs),
    /// Say why a job is as it is: what it needs, what is free, what comes before it
    Explain(explain::ExplainArgs),
    /// Change how long a job may take
    Duration(duration::DurationArgs),
    /// Show the nodes: what is free, and who holds the rest
    Nodes(nodes::NodesArgs),
    /// Say what this machine can do for tasks, and whether a server answers
    Doctor,
    /// Run a command in another task of the same job; for use inside a task
    Reach(reach::ReachArgs),
    /// Keep a server's address and a token for the next calls
    Login(login::LoginArgs),
    /// Print the JSON Schema of the job file
    Schema,
    /// Print completions for a shell
    Completions(completions::CompletionsArgs),
}

/// Reads the command line. `run job.yaml` is `submit job.yaml`, whatever stands around it.
pub fn parse(words: Vec<OsString>) -> Cli {
    let cli = Cli::parse_from(&words);
    let is_file = matches!(&cli.verb, Verb::Run(args) if args.is_job_file());
    if is_file && !words.iter().any(|word| word == "--") { Cli::parse_from(as_submit(words)) } else { cli }
}

fn as_submit(mut words: Vec<OsString>) -> Vec<OsString> {
    if let Some(verb) = words.iter_mut().skip(1).find(|word| *word == "run") {
        *verb = "submit".into();
    }
    words
}

/// Does what was asked and answers how that went.
pub fn main(cli: Cli) -> ExitCode {
    let context = Context::new(cli.server, Surroundings::read());
    let exit = perform(&context, cli.verb).unwrap_or_else(|failure| {
        output::failure(&failure, context.json);
        failure.exit
    });
    ExitCode::from(exit.code())
}

fn perform(context: &Context, verb: Verb) -> Result<Exit, Failure> {
    match verb {
        Verb::Up(args) => up::up(context, &args),
        Verb::Convert(args) => convert::convert(context, &args),
        Verb::Schema => schema::schema(),
        Verb::Completions(args) => completions::completions(&args),
        Verb::Reach(args) => reach::reach(&args),
        Verb::Run(args) => ask(run::run(context, &args)),
        Verb::Submit(args) => ask(submit::submit(context, &args)),
        Verb::List(args) => ask(list::list(context, &args)),
        Verb::Show(args) => ask(show::show(context, &args)),
        Verb::Logs(args) => ask(logs::logs(context, &args)),
        Verb::Stop(args) => ask(stop::stop(context, &args)),
        Verb::Rerun(args) => ask(rerun::rerun(context, &args)),
        Verb::Delete(args) => ask(delete::delete(context, &args)),
        Verb::Wait(args) => ask(wait::wait(context, &args)),
        Verb::Explain(args) => ask(explain::explain(context, &args)),
        Verb::Duration(args) => ask(duration::duration(context, &args)),
        Verb::Nodes(args) => ask(nodes::nodes(context, &args)),
        Verb::Doctor => ask(doctor::doctor(context)),
        Verb::Login(args) => ask(login::login(context, &args)),
    }
}

/// A verb that talks to a server. One thread is enough for one question, and it starts sooner than two.
fn ask(verb: impl Future<Output = Result<Exit, Failure>>) -> Result<Exit, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::new(Exit::Us, "runtime", format!("cannot start: {error}")))?;
    runtime.block_on(verb)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }
}
