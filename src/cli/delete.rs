//! `trainmaster delete JOB…`: its name, files and records are free again.

use model::wire::{JobDetail, JobSummary};
use serde_json::json;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::label,
    stop::{ask, until_over},
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct DeleteArgs {
    /// Names for the newest versions, or name@version, or ids
    #[arg(required = true, value_parser = super::people::parse_job)]
    pub job: Vec<String>,
    /// Stop it first if it is not over
    #[arg(long)]
    pub stop: bool,
    /// Also if output of it was to be saved elsewhere and is not
    #[arg(long)]
    pub force: bool,
}

pub async fn delete(context: &Context, args: &DeleteArgs) -> Result<Exit, Failure> {
    let (mut deleted, mut exit) = (Vec::new(), Exit::Done);
    for job in &args.job {
        match delete_one(context, job, args).await {
            Ok(job) => deleted.push(json!({ "id": job.id, "name": job.name, "version": job.version })),
            Err(failure) => {
                output::failure(&failure, context.json);
                exit = failure.exit;
            }
        }
    }
    if context.json {
        output::json(&json!({ "deleted": deleted }))?;
    }
    Ok(exit)
}

async fn delete_one(context: &Context, job: &str, args: &DeleteArgs) -> Result<JobSummary, Failure> {
    let summary = context.get::<JobDetail>(&job_path(job, "")).await?.summary;
    if args.stop && !summary.state.is_over() {
        let asked = ask(context, &summary.id).await?;
        until_over(context, &asked).await?;
    }
    let force = if args.force { "?force=true" } else { "" };
    context.call(Call::delete(&format!("{}{force}", job_path(&summary.id, "")))).await?;
    if !context.json {
        output::line(&format!("{} deleted", label(&summary)))?;
    }
    Ok(summary)
}
