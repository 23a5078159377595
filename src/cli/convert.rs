//! `trainmaster convert FILE`: any job file as one of our own. It asks no server.

use std::path::{Path, PathBuf};

use model::spec::{JobSpec, to_yaml};

use super::{
    context::Context,
    failure::{Exit, Failure},
    job_file::JobFile,
    output,
    report::{ReportArgs, tell},
};

#[derive(Clone, Debug, clap::Args)]
pub struct ConvertArgs {
    /// The job file; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Write the job file here instead of to standard output; as JSON if the name ends with .json
    #[arg(long, short, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// The job's name, whatever the file says
    #[arg(long)]
    pub name: Option<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

pub fn convert(context: &Context, args: &ConvertArgs) -> Result<Exit, Failure> {
    let file = JobFile::read(&args.file)?;
    let (spec, report) = file.translated(args.name.as_deref())?;
    tell(&file.name, &report, args.report, context.json)?;
    if let Some(path) = &args.output {
        let cannot = |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", path.display()));
        std::fs::write(path, written(&spec, path)?).map_err(cannot)?;
    }
    if context.json {
        output::json(&serde_json::json!({ "dialect": report.dialect, "report": report.notes, "spec": spec }))?;
    } else if args.output.is_none() {
        output::bytes(output::Sink::Stdout, to_yaml(&spec).as_bytes())?;
    }
    Ok(Exit::Done)
}

fn written(spec: &JobSpec, path: &Path) -> Result<String, Failure> {
    if path.extension().is_none_or(|ending| ending != "json") {
        return Ok(to_yaml(spec));
    }
    let text = serde_json::to_string_pretty(spec).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(text + "\n")
}
