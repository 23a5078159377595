//! `trainmaster wait JOB…`: until all of them are over.

use model::wire::JobDetail;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::label,
    stop::until_over,
    style,
    watch::exit_of,
};

#[derive(Clone, Debug, clap::Args)]
pub struct WaitArgs {
    /// Names for the newest versions, or name@version, or ids
    #[arg(required = true, value_parser = super::people::parse_job)]
    pub job: Vec<String>,
}

pub async fn wait(context: &Context, args: &WaitArgs) -> Result<Exit, Failure> {
    // Names become jobs before the waiting begins: a version submitted meanwhile is another job.
    let mut jobs = Vec::new();
    for job in &args.job {
        jobs.push(context.get::<JobDetail>(&job_path(job, "")).await?.summary);
    }
    for job in &mut jobs {
        *job = until_over(context, job).await?;
        if !context.json {
            output::line(&format!("{} {}", label(job), style::paint(style::job(job.state), job.state.text())))?;
        }
    }
    if context.json {
        output::json(&jobs)?;
    }
    let all_well = jobs.iter().all(|job| exit_of(job) == Exit::Done);
    Ok(if all_well { Exit::Done } else { Exit::JobFailed })
}
