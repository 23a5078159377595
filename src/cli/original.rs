//! `trainmaster show JOB --original` and `--plan`: the file that a job was made from, and what it became.

use model::{dialect::Report, plan::PlanView, wire::OriginalFile};

use super::{
    context::{Context, job_path},
    dry_run::plan_text,
    failure::{Exit, Failure},
    language::LangArgs,
    output,
    report::{ReportArgs, tell},
    terminal::plain,
};

/// The file goes to standard output as it is, and what became of its fields to standard error.
pub async fn original(context: &Context, job: &str) -> Result<Exit, Failure> {
    let path = job_path(job, "/original");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let it: OriginalFile = context.get(&path).await?;
    let name = it.file.clone().unwrap_or_else(|| job.to_owned());
    tell(&name, &Report { dialect: it.dialect, notes: it.report }, ReportArgs { every_field: true, ..ReportArgs::default() }, false)?;
    let Some(text) = it.text else {
        let why = it.missing.map(|it| it.say(LangArgs::default().lang()).to_owned()).unwrap_or_default();
        return Err(Failure::usage(format!("the file of {} is not kept: {}", plain(job), plain(&why)))
            .hint(format!("`trainmaster show {job} --json` has the spec that it became")));
    };
    output::bytes(output::Sink::Stdout, text.as_bytes())?;
    Ok(Exit::Done)
}

pub async fn plan(context: &Context, job: &str) -> Result<Exit, Failure> {
    let path = job_path(job, "/plan");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let plan: PlanView = context.get(&path).await?;
    output::text(&plan_text(&plan, output::width()))?;
    Ok(Exit::Done)
}
