//! `trainmaster rerun JOB`: the next version of a job, from the spec the server kept.

use model::{spec::JobSpec, wire::JobDetail};
use serde_json::Value;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    grid::{self, GridArgs},
    job_file::change,
    params::{ParamArgs, with_params},
    set::{Setting, without_params},
    submission::{Parcel, submit},
    submit::{After, finish},
    upload::with_code_uploaded,
};

#[derive(Clone, Debug, clap::Args)]
pub struct RerunArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Change a value of the spec, such as roles.worker.tasks=4, or one of its parameters, such as lr=0.1; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    #[command(flatten)]
    pub params: ParamArgs,
    #[command(flatten)]
    pub grid: GridArgs,
    /// Show the logs until the job is over, and exit with its outcome
    #[arg(long, short, conflicts_with = "grid")]
    pub follow: bool,
}

pub async fn rerun(context: &Context, args: &RerunArgs) -> Result<Exit, Failure> {
    let JobDetail { summary, mut spec, .. } = context.get(&job_path(&args.job, "")).await?;
    let (settings, assigned) = without_params(&args.set, &spec);
    let params = ParamArgs { params: [assigned, args.params.params.clone()].concat() };
    change(&mut spec, &settings)?;
    if settings.iter().any(|setting| setting.covers("code")) {
        let changed = read(spec)?;
        let parcel = Parcel::json(&changed)?;
        let (uploaded, _) = with_code_uploaded(context, changed, &parcel).await?;
        spec = serde_json::to_value(&uploaded).map_err(|error| Failure::usage(error.to_string()))?;
    }
    if !args.grid.is_empty() || !params.is_empty() {
        let changed = with_params(read(spec)?, &params)?;
        if !args.grid.is_empty() {
            let like = Parcel { from: Some(summary.id), ..Parcel::json(&changed)? };
            return grid::submit(context, &changed, &args.grid, &like).await;
        }
        spec = serde_json::to_value(&changed).map_err(|error| Failure::usage(error.to_string()))?;
    }
    // The server shows no secret, so it has to put its own back in.
    let parcel = Parcel { from: Some(summary.id), ..Parcel::json(&spec)? };
    let submitted = submit(context, &parcel).await?;
    let after = if args.follow { After::Follow { tasks: task_count(&spec), apart: false } } else { After::Leave };
    finish(context, submitted, after).await
}

fn read(spec: Value) -> Result<JobSpec, Failure> {
    model::spec::read(&spec.to_string()).map_err(|problems| Failure::bad_file("the changed spec", problems))
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
