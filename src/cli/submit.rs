//! `trainmaster submit FILE`.

use std::path::PathBuf;

use model::{plan::Plan, wire::Submitted};
use serde_json::Value;

use super::{
    context::{Context, read_answer},
    failure::{Exit, Failure},
    follow::Wish,
    job_file::JobFile,
    output,
    printer::Manner,
    set::Setting,
    submission::{plan, submit as send},
    table::Table,
    watch::{Only, Screen, Told, exit_of, say_end, watch},
};

#[derive(Clone, Debug, clap::Args)]
pub struct SubmitArgs {
    /// The job file, YAML or JSON; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Say what would run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Show the logs until the job is over, and exit with its outcome
    #[arg(long, short)]
    pub follow: bool,
    /// Change a value of the file, such as roles.worker.tasks=4; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
}

pub async fn submit(context: &Context, args: &SubmitArgs) -> Result<Exit, Failure> {
    let file = JobFile::read(&args.file)?;
    let ready = file.ready(&args.set)?;
    if args.dry_run {
        let planned = plan(context, &ready.parcel).await.map_err(|failure| file.place(failure, &args.set))?;
        return show_plan(context, &planned);
    }
    let submitted = send(context, &ready.parcel).await.map_err(|failure| file.place(failure, &args.set))?;
    let after = if args.follow { After::Follow { tasks: ready.tasks, apart: false } } else { After::Leave };
    finish(context, submitted, after).await
}

/// What follows a submission.
pub enum After {
    Leave,
    Follow { tasks: u32, apart: bool },
}

/// Says what was submitted, or shows it until it is over.
pub async fn finish(context: &Context, submitted: Submitted, after: After) -> Result<Exit, Failure> {
    let label = format!("{}@{}", submitted.name, submitted.version);
    let (tasks, apart) = match after {
        After::Leave if context.json => return Ok(output::json(&submitted).map(|()| Exit::Done)?),
        After::Leave => return Ok(output::line(&label).map(|()| Exit::Done)?),
        After::Follow { tasks, apart } => (tasks, apart),
    };
    if context.json {
        output::json_line(&Told::Submitted(&submitted))?;
    }
    let manner = Manner { apart, ..Manner::now(tasks > 1, false) };
    let mut screen = Screen::new(manner, Only::default(), context.json);
    let wish = Wish { job: submitted.id, logs: true, ..Wish::default() };
    let ended = match watch(context, &wish, &mut screen).await {
        Ok(ended) => ended,
        Err(failure) => return goes_on(failure, &label),
    };
    if !context.json {
        say_end(&ended);
    }
    Ok(exit_of(&ended))
}

/// Whoever stops watching is told that the job does not stop.
fn goes_on(failure: Failure, label: &str) -> Result<Exit, Failure> {
    let again = format!("`trainmaster logs -f {label}` follows it again");
    match failure.exit {
        Exit::Interrupted => {
            output::note(&format!("{label} goes on; {again}, `trainmaster stop {label}` stops it"));
            Ok(Exit::Interrupted)
        }
        Exit::Away => Err(failure.hint(format!("{label} was submitted and goes on; {again}"))),
        Exit::Done | Exit::JobFailed | Exit::You | Exit::Us | Exit::NobodyReads | Exit::Code(_) => Err(failure),
    }
}

fn show_plan(context: &Context, planned: &Value) -> Result<Exit, Failure> {
    if context.json {
        output::json(planned)?;
        return Ok(Exit::Done);
    }
    let plan: Plan = read_answer(planned.to_string().as_bytes())?;
    output::text(&plan_text(&plan, output::width()))?;
    Ok(Exit::Done)
}

fn plan_text(plan: &Plan, width: Option<usize>) -> String {
    let mut table = Table::new(["ROLE", "TASKS", "EACH", "PORTS", "COMMAND"]);
    for role in &plan.roles {
        let ports: Vec<String> = role.ports.iter().map(|(label, plan)| format!("{label}×{plan}")).collect();
        let ports = if ports.is_empty() { "-".into() } else { ports.join(" ") };
        table.row([
            role.name.as_str().into(),
            role.tasks.to_string().into(),
            role.resources.to_string().into(),
            ports.into(),
            role.command.join(" ").into(),
        ]);
    }
    let head = format!("{}: {} tasks, priority {}, {} retries\n", plan.name, plan.task_count(), plan.priority, plan.retries);
    head + &table.render(width, "COMMAND")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_role_by_role() {
        let text = "name: digits\nretries: 2\nroles:\n  ps: {command: serve}\n  worker: {tasks: 2, cpus: 0.5, memory: 1GiB, ports: [grpc], command: [python3, train.py]}\n";
        let (_, plan) = model::plan::from_text(text, &model::plan::HouseRules::default()).unwrap();
        insta::assert_snapshot!(anstream::adapter::strip_str(&plan_text(&plan, None)).to_string(), @"
        digits: 3 tasks, priority 0, 2 retries
        ROLE    TASKS  EACH           PORTS   COMMAND
        ps      1      1 CPU, 1GiB    -       /bin/sh -c serve
        worker  2      0.5 CPU, 1GiB  grpc×1  python3 train.py
        ");
    }

    #[test]
    fn whoever_loses_sight_of_a_job_learns_that_it_goes_on() {
        assert_eq!(goes_on(Failure::new(Exit::Interrupted, "interrupted", "x"), "digits@3").unwrap().code(), 130);
        let away = goes_on(Failure::away("gone"), "digits@3").unwrap_err();
        assert_eq!((away.exit.code(), away.body.message.as_str()), (4, "gone"));
        assert_eq!(away.body.hint.unwrap(), "digits@3 was submitted and goes on; `trainmaster logs -f digits@3` follows it again");
    }
}
