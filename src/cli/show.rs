//! `trainmaster show JOB`: everything that is known of it.

use model::wire::{JobDetail, RunView};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output,
    people::{label, moment, now_ms, run_reason, took},
    style::{self, paint},
    table::{Cell, Table},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
}

pub async fn show(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    let path = job_path(&args.job, "");
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let job: JobDetail = context.get(&path).await?;
    output::text(&detail_text(&job, now_ms(), output::width()))?;
    Ok(Exit::Done)
}

fn detail_text(job: &JobDetail, now_ms: u64, width: Option<usize>) -> String {
    let summary = &job.summary;
    let state = paint(style::job(summary.state), summary.state.text());
    let reason = if summary.reason.is_empty() { String::new() } else { format!(": {}", plain(&summary.reason)) };
    let mut text = format!("{} is {state}{reason}\n\n", paint(style::LOUD, &label(summary)));
    for (key, value) in facts(job, now_ms) {
        text.push_str(&format!("{:<13}{}\n", key, plain(&value)));
    }
    if !job.runs.is_empty() {
        text.push('\n');
        text.push_str(&runs_table(&job.runs, now_ms).render(width, "HOW IT ENDED"));
    }
    for run in job.runs.iter().filter(|run| run.attempt == summary.attempt && !run.missing.is_empty()) {
        text.push_str(&format!("{} runs with less: {}\n", run.task, plain(&run.missing.join("; "))));
    }
    text
}

fn facts(job: &JobDetail, now_ms: u64) -> Vec<(&'static str, String)> {
    let summary = &job.summary;
    let tasks = if summary.tasks == 1 { "1 task".into() } else { format!("{} tasks", summary.tasks) };
    let mut facts = vec![
        ("id", summary.id.clone()),
        ("owner", summary.owner.clone()),
        ("needs", format!("{tasks}, together {}", summary.resources)),
        ("attempt", summary.attempt.to_string()),
        ("priority", summary.priority.to_string()),
        ("submitted", moment(summary.created_at_ms)),
    ];
    facts.extend(summary.started_at_ms.map(|at| ("started", moment(at))));
    facts.extend(summary.ended_at_ms.map(|at| ("ended", moment(at))));
    facts.push(("duration", took(summary.started_at_ms, summary.ended_at_ms, now_ms)));
    facts.extend((!summary.tags.is_empty()).then(|| ("tags", summary.tags.join(", "))));
    facts.extend((!summary.description.is_empty()).then(|| ("description", summary.description.clone())));
    facts
}

fn runs_table(runs: &[RunView], now_ms: u64) -> Table {
    let mut table = Table::new(["TASK", "ATTEMPT", "STATE", "NODE", "DEVICES", "PORTS", "PID", "DURATION", "HOW IT ENDED"]);
    for run in runs {
        table.row([
            run.task.as_str().into(),
            run.attempt.to_string().into(),
            Cell::styled(style::task(run.state), run.state.text()),
            run.node.as_str().into(),
            by_name(&run.devices).into(),
            by_name(&run.ports).into(),
            run.pid.map_or("-".into(), |pid| pid.to_string()).into(),
            took(run.started_at_ms, run.ended_at_ms, now_ms).into(),
            run_reason(run).into(),
        ]);
    }
    table
}

/// `http=20001 grpc=20002,20003`, or `-`.
fn by_name<T: ToString>(map: &std::collections::BTreeMap<String, Vec<T>>) -> String {
    let list = |values: &Vec<T>| values.iter().map(T::to_string).collect::<Vec<_>>().join(",");
    let parts: Vec<String> = map.iter().map(|(name, values)| format!("{name}={}", list(values))).collect();
    if parts.is_empty() { "-".into() } else { parts.join(" ") }
}
