//! `trainmaster stop JOB…`.

use model::wire::{JobDetail, JobSummary};

use super::{
    context::{Context, job_path, read_answer},
    failure::{Exit, Failure},
    follow::{News, Wish, follow},
    output::{self, Progress},
    people::label,
    style,
    watch::how_it_fares,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct StopArgs {
    /// Names for the newest versions, or name@version, or ids
    #[arg(required = true, value_parser = super::people::parse_job)]
    pub job: Vec<String>,
    /// Ask, and do not wait until nothing of it runs any more
    #[arg(long)]
    pub no_wait: bool,
}

pub async fn stop(context: &Context, args: &StopArgs) -> Result<Exit, Failure> {
    // Everyone is asked before anyone is waited for: their graces run side by side.
    let (mut jobs, mut exit) = (Vec::new(), Exit::Done);
    for job in &args.job {
        match ask(context, job).await {
            Ok(job) => jobs.push(job),
            Err(failure) => {
                output::failure(&failure, context.json);
                exit = failure.exit;
            }
        }
    }
    if !args.no_wait {
        for job in &mut jobs {
            *job = until_over(context, job).await?;
        }
    }
    if context.json {
        output::json(&jobs)?;
        return Ok(exit);
    }
    for job in &jobs {
        output::line(&format!("{} {}", label(job), style::paint(style::job(job.state), job.state.text())))?;
    }
    Ok(exit)
}

/// Asks a job to stop. One that is over has nothing left to stop, which is what was wanted.
pub async fn ask(context: &Context, job: &str) -> Result<JobSummary, Failure> {
    let path = job_path(job, "/stop");
    match context.insist(|| Call::post(&path, "{}")).await {
        Ok(answer) => read_answer(&answer),
        Err(failure) if failure.body.code == "already_over" => Ok(context.get::<JobDetail>(&job_path(job, "")).await?.summary),
        Err(failure) => Err(failure),
    }
}

/// Waits until a job is over, showing how it fares.
pub async fn until_over(context: &Context, job: &JobSummary) -> Result<JobSummary, Failure> {
    if job.state.is_over() {
        return Ok(job.clone());
    }
    let mut progress = Progress::default();
    let mut say = |job: &JobSummary| progress.say(&how_it_fares(job));
    say(job);
    let mut hear = |news| {
        match news {
            News::State(job) => say(&job),
            News::Log(_) | News::Line(_) => {}
        }
        Ok(())
    };
    let wish = Wish::states(&job.id);
    tokio::select! {
        ended = follow(context, &wish, &mut hear) => ended,
        _ = tokio::signal::ctrl_c() => Err(Failure::new(Exit::Interrupted, "interrupted", format!("no longer waiting for {}", label(job)))),
    }
}
