//! `trainmaster show JOB`: everything that is known of it.

use model::wire::{JobDetail, RunView};

use super::{
    context::{Context, job_path},
    environment,
    failure::{Exit, Failure},
    output,
    people::{label, moment, now_ms, run_reason, took},
    style::{self, paint},
    table::{Cell, Table},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct ShowArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Print what this task gets in its environment instead, such as worker-0
    #[arg(long, value_name = "TASK")]
    pub env: Option<model::ids::TaskName>,
}

pub async fn show(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    if let Some(task) = &args.env {
        return environment::show(context, &args.job, &task.to_string()).await;
    }
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
    for run in job.runs.iter().filter(|run| run.attempt >= summary.attempt && !run.missing.is_empty()) {
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
    let params: Vec<String> = summary.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    facts.extend((!params.is_empty()).then(|| ("params", params.join(" "))));
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

#[cfg(test)]
mod tests {
    use model::{
        job::JobState,
        task::{Cause, Ending, TaskState},
        wire::{Action, Actions},
    };

    use super::*;
    use crate::cli::fake;

    fn run(task: &str, attempt: u32, ending: Option<Ending>) -> RunView {
        RunView {
            task: task.into(),
            attempt,
            state: ending.as_ref().map_or(TaskState::Running, |ending| ending.cause.state()),
            node: "node-1".into(),
            devices: [("A100".to_string(), vec![0, 1])].into(),
            ports: [("grpc".to_string(), vec![20_001])].into(),
            pid: Some(4711),
            started_at_ms: Some(2_000),
            ended_at_ms: ending.as_ref().map(|ending| ending.ended_at_ms),
            exit_code: ending.as_ref().and_then(|ending| ending.cause.exit_code()),
            reason: String::new(),
            ending,
            missing: Vec::new(),
        }
    }

    #[test]
    fn a_job_is_shown_with_every_run() {
        let ending = Ending {
            cause: Cause::Exited { code: 3 },
            started_at_ms: Some(2_000),
            ended_at_ms: 3_500,
            peak_memory_bytes: None,
            cpu_ms: None,
        };
        let mut second = run("worker-0", 2, None);
        second.missing = vec!["no memory limit: cgroups cannot be written".into()];
        let mut job = fake::job("digits", JobState::Running);
        job.params = [("lr".to_string(), model::spec::Param::Number(0.1)), ("batch".to_string(), model::spec::Param::Whole(16))].into();
        (job.attempt, job.tags, job.description) = (2, vec!["example".into()], "Handwritten\ndigits".into());
        let allowed = Action { refused: None };
        let detail = JobDetail {
            summary: job,
            spec: serde_json::Value::Null,
            runs: vec![second, run("worker-0", 1, Some(ending))],
            actions: Actions { stop: allowed.clone(), rerun: allowed.clone(), delete: allowed },
        };
        let text = anstream::adapter::strip_str(&detail_text(&detail, 62_000, None)).to_string();
        // The clock of the machine that runs the test is not the test's business.
        let text: Vec<&str> = text.lines().filter(|line| !line.starts_with("submitted") && !line.starts_with("started")).collect();
        insta::assert_snapshot!(text.join("\n"), @"
        digits@3 is running: because

        id           job-0198c0de000070008000000000000001
        owner        admin
        needs        1 task, together 2 CPU, 4GiB
        attempt      2
        priority     0
        duration     1m
        params       lr=0.1 batch=16
        tags         example
        description  Handwritten digits

        TASK      ATTEMPT  STATE    NODE    DEVICES   PORTS       PID   DURATION  HOW IT ENDED
        worker-0  2        running  node-1  A100=0,1  grpc=20001  4711  1m
        worker-0  1        failed   node-1  A100=0,1  grpc=20001  4711  1.5s      exited with code 3 after 1.5s
        worker-0 runs with less: no memory limit: cgroups cannot be written
        ");
    }
}
