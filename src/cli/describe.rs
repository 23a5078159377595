//! `trainmaster describe JOB TEXT`: what people say about a job, changed at any time.

use model::wire::JobSummary;
use serde_json::json;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::label,
};

#[derive(Clone, Debug, clap::Args)]
pub struct DescribeArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// The new description; an empty one takes it away
    pub text: String,
}

pub async fn describe(context: &Context, args: &DescribeArgs) -> Result<Exit, Failure> {
    let body = json!({ "description": args.text }).to_string();
    let job: JobSummary = context.post(&job_path(&args.job, "/description"), body).await?;
    if context.json {
        output::json(&job)?;
    } else if job.description.is_empty() {
        output::line(&format!("{} has no description", label(&job)))?;
    } else {
        output::line(&format!("{} has its new description", label(&job)))?;
    }
    Ok(Exit::Done)
}
