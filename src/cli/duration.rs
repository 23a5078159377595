//! `trainmaster duration JOB 2h`: how long a job may take, changed while it runs.

use model::wire::JobSummary;
use serde_json::json;

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::label,
};

#[derive(Clone, Debug, clap::Args)]
pub struct DurationArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Such as 90s, 15m, 12h or 7d, counted from its start; `none` for no limit
    #[arg(value_parser = parse_limit)]
    pub limit: Limit,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Limit {
    Of(String),
    None,
}

fn parse_limit(text: &str) -> Result<Limit, String> {
    match text {
        "none" => Ok(Limit::None),
        text if model::resources::parse_duration_ms(text).is_some() => Ok(Limit::Of(text.to_owned())),
        _ => Err("give a duration such as 90s, 15m or 12h, or `none`".into()),
    }
}

pub async fn duration(context: &Context, args: &DurationArgs) -> Result<Exit, Failure> {
    let (value, words) = match &args.limit {
        Limit::Of(text) => (json!(text), format!("may take {text}")),
        Limit::None => (json!(null), "may take as long as it likes".to_owned()),
    };
    let body = json!({ "max_duration": value }).to_string();
    let job: JobSummary = context.post(&job_path(&args.job, "/duration"), body).await?;
    if context.json {
        output::json(&job)?;
    } else {
        output::line(&format!("{} {words}", label(&job)))?;
    }
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_duration_or_none() {
        assert_eq!(parse_limit("2h"), Ok(Limit::Of("2h".into())));
        assert_eq!(parse_limit("none"), Ok(Limit::None));
        assert!(parse_limit("soon").is_err());
    }
}
