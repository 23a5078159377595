//! `trainmaster convert FILE`: any job file as one of our own. It asks no server.

use std::{
    fs::OpenOptions,
    io::Write,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

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
    /// Who submits it, for files that have the user's name in them, such as $PAI_USER_NAME
    #[arg(long)]
    pub user: Option<String>,
    #[command(flatten)]
    pub report: ReportArgs,
}

pub fn convert(context: &Context, args: &ConvertArgs) -> Result<Exit, Failure> {
    let file = JobFile::read(&args.file)?;
    let (spec, report) = file.translated(args.name.as_deref(), args.user.as_deref())?;
    tell(&file.name, &report, args.report, context.json)?;
    if let Some(path) = &args.output {
        let cannot = |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", path.display()));
        write(path, &written(&spec, path)?, !spec.secrets.is_empty()).map_err(cannot)?;
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
/// A file with secrets in it is for its owner alone.
fn write(path: &Path, text: &str, has_secrets: bool) -> std::io::Result<()> {
    let mode = if has_secrets { 0o600 } else { 0o666 };
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path)?;
    file.write_all(text.as_bytes())
}
