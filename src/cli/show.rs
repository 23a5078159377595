//! `trainmaster show JOB`: everything that is known of it.

use std::collections::BTreeSet;

use model::wire::{JobDetail, RunView};

use super::{
    code,
    context::{Context, job_path},
    environment,
    failure::{Exit, Failure},
    original, output,
    people::{bar, label, moment, now_ms, run_reason, took, verb},
    provenance,
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
    /// List the files of the folder that was uploaded with it instead
    #[arg(long, conflicts_with = "env")]
    pub code: bool,
    /// Print what was not committed when the folder was uploaded, as a patch, instead
    #[arg(long, conflicts_with_all = ["env", "code"])]
    pub patch: bool,
    /// Print what it was made of instead: code, packages, inputs, command, variables
    #[arg(long, conflicts_with_all = ["env", "code", "patch"])]
    pub provenance: bool,
    /// Print the file that it was made from instead, as it was handed over; secrets are masked
    #[arg(long, conflicts_with_all = ["env", "code", "patch", "provenance"])]
    pub original: bool,
    /// Print what its file became instead: every role with what its tasks get and run
    #[arg(long, conflicts_with_all = ["env", "code", "patch", "provenance", "original"])]
    pub plan: bool,
}

pub async fn show(context: &Context, args: &ShowArgs) -> Result<Exit, Failure> {
    if let Some(task) = &args.env {
        return environment::show(context, &args.job, &task.to_string()).await;
    }
    if args.code {
        return code::list(context, &args.job).await;
    }
    if args.patch {
        return code::patch(context, &args.job).await;
    }
    if args.provenance {
        return provenance::show(context, &args.job).await;
    }
    if args.original {
        return original::original(context, &args.job).await;
    }
    if args.plan {
        return original::plan(context, &args.job).await;
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
    let mut text = format!("{} {} {state}{reason}\n\n", paint(style::LOUD, &label(summary)), verb(summary.state));
    for (key, value) in facts(job, now_ms) {
        text.push_str(&format!("{:<13}{}\n", key, plain(&value)));
    }
    if !job.runs.is_empty() {
        text.push('\n');
        text.push_str(&runs_table(&job.runs, now_ms).render(width, "HOW IT ENDED"));
    }
    for it in job.progress.iter().flat_map(|it| &it.tasks).filter(|_| summary.tasks > 1) {
        text.push_str(&format!("{}: {} {}\n", it.task, bar(it.progress.percent, it.progress.left_s), plain(&it.progress.text)));
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
    facts.extend(job.progress.as_ref().map(|it| ("progress", bar(it.percent, it.left_s))));
    facts.extend(commits(job).map(|commits| ("code", commits)));
    facts.extend(job.uploaded.as_ref().map(|uploaded| ("code", code::in_words(uploaded))));
    facts.extend(job.spec["algorithm"].as_str().map(|it| ("algorithm", it.to_owned())));
    let params: Vec<String> = summary.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
    facts.extend((!params.is_empty()).then(|| ("params", params.join(" "))));
    facts.extend((!summary.tags.is_empty()).then(|| ("tags", summary.tags.join(", "))));
    facts.extend((!summary.description.is_empty()).then(|| ("description", summary.description.clone())));
    facts
}

/// `commit c0ffee…`. Tasks that began at different times may have found a branch at different commits.
fn commits(job: &JobDetail) -> Option<String> {
    let newest = job.runs.iter().filter(|run| run.attempt >= job.summary.attempt);
    let commits: BTreeSet<&str> = newest.filter_map(|run| run.commit.as_deref()).collect();
    let all: Vec<String> = commits.into_iter().map(plain).collect();
    (!all.is_empty()).then(|| format!("commit {}", all.join(", ")))
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
            reason_zh: String::new(),
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
            missing_zh: Vec::new(),
            commit: None,
            sync: None,
        }
    }

    #[test]
    fn a_job_is_shown_with_every_run() {
        let ending = Ending::new(Cause::Exited { code: 3 }, Some(2_000), 3_500);
        let mut second = run("worker-0", 2, None);
        second.missing = vec!["no memory limit: cgroups cannot be written".into()];
        let mut job = fake::job("digits", JobState::Running);
        job.params = [("lr".to_string(), model::spec::Param::Number(0.1)), ("batch".to_string(), model::spec::Param::Whole(16))].into();
        (job.attempt, job.tags, job.description) = (2, vec!["example".into()], "Handwritten\ndigits".into());
        let allowed = Action::new(None);
        let detail = JobDetail {
            summary: job,
            spec: serde_json::Value::Null,
            runs: vec![second, run("worker-0", 1, Some(ending))],
            actions: Actions { stop: allowed.clone(), rerun: allowed.clone(), delete: allowed },
            uploaded: Some(model::wire::UploadFacts { digest: "d1".into(), files: 2, bytes: 10, commit: None, branch: None, dirty: None }),
            progress: Some(model::wire::JobProgress { percent: Some(45.0), left_s: Some(37), tasks: Vec::new() }),
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
        progress     [####------]  45% 37s left
        code         2 files, 10B
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
