//! `trainmaster delete JOB…`: its name, files and records are free again.

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
    #[arg(required = true, value_parser = super::people::parse_job)]
    pub job: Vec<String>,
    /// Stop it first if it is not over
    #[arg(long)]
    pub stop: bool,
}

pub async fn delete(context: &Context, args: &DeleteArgs) -> Result<Exit, Failure> {
    let mut deleted = Vec::new();
    for job in &args.job {
        let summary = context.get::<model::wire::JobDetail>(&job_path(job, "")).await?.summary;
        if args.stop && !summary.state.is_over() {
            let asked = ask(context, &summary.id).await?;
            until_over(context, &asked).await?;
        }
        context.call(Call::delete(&job_path(&summary.id, ""))).await?;
        if !context.json {
            output::line(&format!("{} deleted", label(&summary)))?;
        }
        deleted.push(json!({ "id": summary.id, "name": summary.name, "version": summary.version }));
    }
    if context.json {
        output::json(&json!({ "deleted": deleted }))?;
    }
    Ok(Exit::Done)
}
