//! The command line: one file per verb. It has no power the API does not give.

use std::{ffi::OsString, process::ExitCode};

use clap::{Parser, Subcommand};

pub mod algorithms;
pub mod catalogue;
pub mod compare;
pub mod completions;
pub mod console;
pub mod context;
pub mod convert;
pub mod datasets;
pub mod delete;
pub mod describe;
pub mod diff;
pub mod doctor;
pub mod duration;
pub mod events;
pub mod explain;
pub mod failure;
pub mod files;
pub mod lineage;
pub mod list;
pub mod login;
pub mod logs;
pub mod lost;
pub mod metrics;
pub mod nodes;
pub mod reach;
pub mod rerun;
pub mod run;
pub mod schema;
pub mod search;
pub mod secrets;
pub mod show;
pub mod stop;
pub mod submit;
pub mod sync;
pub mod top;
pub mod up;
pub mod versions;
pub mod volumes;
pub mod wait;

mod chart;
mod chunks;
mod code;
mod copy;
mod copy_in;
mod copy_out;
mod dry_run;
mod environment;
#[cfg(test)]
mod fake;
mod follow;
mod grid;
mod job_file;
mod language;
mod line_text;
mod listing;
mod original;
mod output;
mod pack;
mod params;
mod people;
mod printer;
mod provenance;
mod remote;
mod report;
mod retry;
mod set;
mod sse;
mod style;
mod submission;
mod table;
mod upload;
mod versioned;
mod watch;

use context::{Context, ServerArgs, Surroundings};
use failure::{Exit, Failure};
use language::LangArgs;
use model::terminal;

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

const ALGORITHMS_EXAMPLES: &str = "\
Examples:
  trainmaster algorithms add algorithm.yaml --dry-run   every problem of it, and which version it would be
  trainmaster algorithms add algorithm.yaml             the next version; `code: .` is uploaded
  trainmaster algorithms show mnist-mlp                 its versions
  trainmaster algorithms remove mnist-mlp@1             forgotten; its number is never used again

A job runs one with `algorithm: mnist-mlp@2`; `mnist-mlp@latest` becomes the number when it is submitted.";

const CONVERT_EXAMPLES: &str = "\
Examples:
  trainmaster convert values.yaml                our own job file; what became of each field beside it
  trainmaster convert values.yaml -o job.yaml --strict";

const LOGS_EXAMPLES: &str = "\
Examples:
  trainmaster logs digits                        every task, each line with its name
  trainmaster logs digits@2 --task worker-0      one task of version 2
  trainmaster logs -f digits --since 10m         the last ten minutes, and what comes
  trainmaster logs digits --task ps-0 > ps.log   byte for byte
  trainmaster logs digits --role worker --grep 'nan|inf' -i -C 3 --timestamps
  trainmaster logs digits --download logs.tar.gz every attempt of every task";

const SEARCH_EXAMPLES: &str = "\
Examples:
  trainmaster search 'CUDA error'                in all jobs, newest first
  trainmaster search -F 'loss: nan' --name digits --state failed";

const COMPARE_EXAMPLES: &str = "\
Examples:
  trainmaster compare digits@1 digits@2 bert
  trainmaster compare digits@1 digits@2 digits@3 --metric accuracy --metric train/loss:lower
  trainmaster compare digits@1 digits@2 --metric accuracy --best";
const METRICS_EXAMPLES: &str = "\
Examples:
  trainmaster metrics digits                     every curve that fits on a screen
  trainmaster metrics digits --name loss --name val_loss --x time
  trainmaster metrics digits -f                  drawn again as it grows
  trainmaster metrics digits --csv > digits.csv  every point of every curve";

const DATASETS_EXAMPLES: &str = "\
Examples:
  trainmaster datasets add mnist data:mnist/v3 --note 'without the blank ones'
  trainmaster datasets show mnist
  trainmaster datasets show mnist@latest         where it is, and the jobs that read it
  trainmaster datasets remove mnist@1            the data stays";

const FILES_EXAMPLES: &str = "\
Examples:
  trainmaster files ls data:mnist
  trainmaster files cp ./mnist data:mnist        all of it; once more goes on where it was cut
  trainmaster files cp data:models/digits.bin .
  trainmaster files ls -R digits@2:/output       what version 2 has put out so far
  trainmaster files cp digits:/output out.tar";

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
    Run(Box<run::RunArgs>),
    /// Submit a job file
    #[command(after_help = SUBMIT_EXAMPLES)]
    Submit(Box<submit::SubmitArgs>),
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
    Logs(Box<logs::LogsArgs>),
    /// Look for something in the logs of all jobs
    #[command(after_help = SEARCH_EXAMPLES)]
    Search(search::SearchArgs),
    /// Draw the curves of a job: what it printed, and what it wrote for TensorBoard
    #[command(after_help = METRICS_EXAMPLES)]
    Metrics(metrics::MetricsArgs),
    /// Stop jobs, and wait until nothing of them runs
    Stop(stop::StopArgs),
    /// Submit a job again, as its next version
    Rerun(rerun::RerunArgs),
    /// Show what is not the same in two jobs: parameters, code, packages, inputs, results
    Diff(diff::DiffArgs),
    /// Show jobs side by side, and which is best by a metric
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(compare::CompareArgs),
    /// Show the versions of a job side by side, and which is best
    Versions(versions::VersionsArgs),
    /// Show what went into a job and what its results went into
    Lineage(lineage::LineageArgs),
    /// Save what a job has written, if that did not work by itself
    Sync(sync::SyncArgs),
    /// Delete jobs that are over: names, files and records
    Delete(delete::DeleteArgs),
    /// Wait until jobs are over
    Wait(wait::WaitArgs),
    /// Say why a job waits, or why it failed, and what to do about it
    Explain(explain::ExplainArgs),
    /// Show what happened to a job, from its submission to its end
    Events(events::EventsArgs),
    /// List the causes of failures that the server knows, with advice
    Catalogue(catalogue::CatalogueArgs),
    /// Change what is said about a job
    Describe(describe::DescribeArgs),
    /// Change how long a job may take
    Duration(duration::DurationArgs),
    /// Show the nodes: what is free, and who holds the rest
    Nodes(nodes::NodesArgs),
    /// Show what the nodes, jobs and tasks use now, again and again
    Top(top::TopArgs),
    /// Add, list, test and remove volumes, and change their keys: directories, buckets, files of web servers
    Volumes(volumes::VolumesArgs),
    /// Give data names with versions, which jobs read as NAME@3: add, list, show, remove
    #[command(after_help = DATASETS_EXAMPLES)]
    Datasets(datasets::DatasetsArgs),
    /// Add, list, show and forget algorithms: code with channels and typed parameters, for jobs that name it
    #[command(after_help = ALGORITHMS_EXAMPLES)]
    Algorithms(algorithms::AlgorithmsArgs),
    /// List, copy, print and remove files of volumes; list and copy what jobs have put out
    #[command(after_help = FILES_EXAMPLES)]
    Files(files::FilesArgs),
    /// Keep passwords and keys with the server, for jobs that name them
    Secrets(secrets::SecretsArgs),
    /// Print a link that logs a browser in to the console
    Console,
    /// Say what this machine can do for tasks, and whether a server answers
    Doctor,
    /// Show tasks that run on this server's machine and are not in its database, and end them
    Lost(lost::LostArgs),
    /// Run a command in another task of the same job; for use inside a task
    Reach(reach::ReachArgs),
    /// Keep a server's address and a token for the next calls
    Login(login::LoginArgs),
    /// Print the JSON Schema of the job file, or of an algorithm
    Schema(schema::SchemaArgs),
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
    let lang = asked_language(&cli.verb).lang();
    let exit = perform(&context, cli.verb).unwrap_or_else(|failure| {
        output::failure_in(lang, &failure, context.json);
        failure.exit
    });
    ExitCode::from(exit.code())
}

/// Some verbs let a person say which language they read; what goes wrong is then told in it too.
fn asked_language(verb: &Verb) -> LangArgs {
    if let Verb::Submit(args) = verb {
        args.report.language
    } else if let Verb::Convert(args) = verb {
        args.report.language
    } else if let Verb::Explain(args) = verb {
        args.language
    } else if let Verb::Events(args) = verb {
        args.language
    } else if let Verb::Lineage(args) = verb {
        args.language
    } else if let Verb::Catalogue(args) = verb {
        args.language
    } else {
        LangArgs::default()
    }
}

fn perform(context: &Context, verb: Verb) -> Result<Exit, Failure> {
    match verb {
        Verb::Up(args) => up::up(context, &args),
        Verb::Convert(args) => convert::convert(context, &args),
        Verb::Schema(args) => schema::schema(&args),
        Verb::Completions(args) => completions::completions(&args),
        Verb::Reach(args) => reach::reach(&args),
        Verb::Run(args) => ask(run::run(context, &args)),
        Verb::Submit(args) => ask(submit::submit(context, &args)),
        Verb::List(args) => ask(list::list(context, &args)),
        Verb::Show(args) => ask(show::show(context, &args)),
        Verb::Logs(args) => ask(logs::logs(context, &args)),
        Verb::Search(args) => ask(search::search(context, &args)),
        Verb::Metrics(args) => ask(metrics::metrics(context, &args)),
        Verb::Stop(args) => ask(stop::stop(context, &args)),
        Verb::Rerun(args) => ask(rerun::rerun(context, &args)),
        Verb::Diff(args) => ask(diff::diff(context, &args)),
        Verb::Compare(args) => ask(compare::compare(context, &args)),
        Verb::Versions(args) => ask(versions::versions(context, &args)),
        Verb::Lineage(args) => ask(lineage::lineage(context, &args)),
        Verb::Sync(args) => ask(sync::sync(context, &args)),
        Verb::Delete(args) => ask(delete::delete(context, &args)),
        Verb::Wait(args) => ask(wait::wait(context, &args)),
        Verb::Explain(args) => ask(explain::explain(context, &args)),
        Verb::Events(args) => ask(events::events(context, &args)),
        Verb::Catalogue(args) => ask(catalogue::catalogue(context, &args)),
        Verb::Describe(args) => ask(describe::describe(context, &args)),
        Verb::Duration(args) => ask(duration::duration(context, &args)),
        Verb::Nodes(args) => ask(nodes::nodes(context, &args)),
        Verb::Top(args) => ask(top::top(context, &args)),
        Verb::Volumes(args) => ask(volumes::volumes(context, &args)),
        Verb::Datasets(args) => ask(datasets::datasets(context, &args)),
        Verb::Algorithms(args) => ask(algorithms::algorithms(context, &args)),
        Verb::Files(args) => ask(files::files(context, &args)),
        Verb::Console => ask(console::console(context)),
        Verb::Lost(args) => ask(lost::lost(context, &args)),
        Verb::Doctor => ask(doctor::doctor(context)),
        Verb::Secrets(args) => ask(secrets::secrets(context, &args)),
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
