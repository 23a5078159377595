//! `trainmaster sync JOB`: what it has written is saved now, if that did not work by itself.

use model::wire::JobSummary;
use serde_json::json;

use super::{
    context::{Context, job_path, read_answer},
    failure::{Exit, Failure},
    output,
    people::label,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct SyncArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Stop trying; the files are kept, and can be saved later by asking again
    #[arg(long)]
    pub give_up: bool,
}

pub async fn sync(context: &Context, args: &SyncArgs) -> Result<Exit, Failure> {
    let body = json!({ "give_up": args.give_up }).to_string();
    let path = job_path(&args.job, "/sync");
    let job: JobSummary = read_answer(&context.call(Call::post(&path, body)).await?)?;
    if context.json {
        output::json(&job)?;
        return Ok(Exit::Done);
    }
    let words = if args.give_up { "its output is no longer tried to be saved; the files are kept" } else { "its output is being saved" };
    output::line(&format!("{}: {words}; `trainmaster show {}` tells how it goes", label(&job), label(&job)))?;
    Ok(Exit::Done)
}
