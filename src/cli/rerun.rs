//! `trainmaster rerun JOB`: the next version of a job, from the spec the server kept.

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    job_file::change,
    set::Setting,
    submission::{Parcel, submit},
    submit::{After, finish},
};

#[derive(Clone, Debug, clap::Args)]
pub struct RerunArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Change a value of the spec, such as roles.worker.tasks=4; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    /// Show the logs until the job is over, and exit with its outcome
    #[arg(long, short)]
    pub follow: bool,
}

pub async fn rerun(context: &Context, args: &RerunArgs) -> Result<Exit, Failure> {
    let mut spec: serde_json::Value = context.get(&job_path(&args.job, "/spec")).await?;
    change(&mut spec, &args.set)?;
    let submitted = submit(context, &Parcel::json(&spec)?).await?;
    let after = if args.follow { After::Follow { tasks: task_count(&spec), apart: false } } else { After::Leave };
    finish(context, submitted, after).await
}

fn task_count(spec: &serde_json::Value) -> u32 {
    let roles = spec["roles"].as_object().into_iter().flat_map(|roles| roles.values());
    roles.map(|role| role["tasks"].as_u64().and_then(|tasks| u32::try_from(tasks).ok()).unwrap_or(1)).sum()
}

#[cfg(test)]
mod tests {
    #[test]
    fn tasks_are_counted_over_all_roles() {
        let spec = serde_json::json!({"roles": {"ps": {}, "worker": {"tasks": 3}}});
        assert_eq!(super::task_count(&spec), 4);
    }
}
