//! `--dry-run`: what would run, and nothing runs.

use model::{
    plan::{ChannelView, HouseRules, PlanView, RoleView},
    resources::Resources,
    spec::Retries,
    wire::Planned,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{
    context::Context,
    failure::{Exit, Failure},
    grid::{self, GridArgs},
    job_file::Ready,
    output,
    submission::{Parcel, plan},
    table::Table,
    terminal::plain,
};

mod made;

use made::Made;

/// The server's answer, and what only this side knows.
#[derive(Serialize)]
struct Document {
    #[serde(flatten)]
    planned: Planned,
    /// The parameters of every version that a grid would make; the plan is the first one's.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grid: Vec<Map<String, Value>>,
    /// Every task, with `--debug`.
    #[serde(skip_serializing_if = "Option::is_none")]
    made: Option<Made>,
}

pub async fn dry_run(context: &Context, ready: &Ready, grid: &GridArgs, debug: bool) -> Result<Exit, Failure> {
    let (mut spec, mut parcel, mut versions) = (ready.spec.clone(), ready.parcel.clone(), Vec::new());
    if !grid.is_empty() {
        let points = grid::points(&ready.spec, grid, HouseRules::default().grid_versions_max)?;
        if let Some(first) = points.first() {
            spec = grid::at(&spec, first);
            parcel = Parcel::json(&spec)?;
        }
        versions = points.iter().map(grid::named).collect();
    }
    let mut planned = plan(context, &parcel).await?;
    if !ready.report.dialect.is_empty() {
        (planned.dialect, planned.report) = (ready.report.dialect.clone(), ready.report.notes.clone());
    }
    let made = debug.then(|| Made::of(&spec)).flatten();
    show(context, &Document { planned, grid: versions, made })
}

fn show(context: &Context, document: &Document) -> Result<Exit, Failure> {
    if context.json {
        output::json(document)?;
        return Ok(Exit::Done);
    }
    document.planned.notes.iter().for_each(|note| output::note(&format!("note: {}", plain(note))));
    output::text(&plan_text(&document.planned.plan, output::width()))?;
    if let Some(made) = &document.made {
        output::text(&made.to_string())?;
    }
    if !document.grid.is_empty() {
        output::text(&format!("\nas {} versions, of which this is the first:\n", document.grid.len()))?;
        let lines: String = document.grid.iter().map(|params| format!("  {}\n", plain(&grid::shown(params)))).collect();
        output::text(&lines)?;
    }
    Ok(Exit::Done)
}

pub fn plan_text(plan: &PlanView, width: Option<usize>) -> String {
    let mut table = Table::new(["ROLE", "TASKS", "EACH", "PORTS", "COMMAND"]);
    for role in &plan.roles {
        let port = |(label, port): (&String, &model::plan::PortView)| match port.from {
            Some(from) => format!("{label}×{} from {from}", port.count),
            None => format!("{label}×{}", port.count),
        };
        let ports: Vec<String> = role.ports.iter().map(port).collect();
        let ports = if ports.is_empty() { "-".into() } else { ports.join(" ") };
        table.row([
            role.name.as_str().into(),
            role.tasks.to_string().into(),
            amount(role).to_string().into(),
            ports.into(),
            role.script.as_str().into(),
        ]);
    }
    let retries = match plan.retries {
        Retries::Count(0) => "no retries".to_owned(),
        Retries::Count(1) => "1 retry".to_owned(),
        Retries::Count(count) => format!("{count} retries"),
        Retries::Word(word) => format!("retries {}", word.text()),
    };
    let tasks = if plan.tasks == 1 { "1 task".to_owned() } else { format!("{} tasks", plan.tasks) };
    let algorithm = plan.algorithm.as_ref().map_or(String::new(), |it| format!(", made from {it}"));
    let head = format!("{}: {tasks}, priority {}, {retries}{algorithm}\n", plan.name, plan.priority);
    let input = |it: &ChannelView| format!("{} is {}\n", plain(&it.path), plain(&it.place));
    let inputs: String = plan.inputs.iter().map(input).collect();
    head + &inputs + &table.render(width, "COMMAND")
}

fn amount(role: &RoleView) -> Resources {
    let cpus_milli = (role.cpus * 1000.0).round() as u64;
    Resources { cpus_milli, memory_bytes: role.memory_bytes, accelerators: role.accelerators.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_told_role_by_role() {
        let text = "name: digits\nretries: 2\ninputs: {set: mnist@3, more: data:x}\nroles:\n  ps: {command: serve, ports: {grpc: {from: 8000}}}\n  worker: {tasks: 2, cpus: 0.5, memory: 1GiB, ports: [grpc], command: [python3, train.py]}\n";
        let (_, plan) = model::plan::from_text(text, &HouseRules::default()).unwrap();
        insta::assert_snapshot!(anstream::adapter::strip_str(&plan_text(&PlanView::from(&plan), None)).to_string(), @"
        digits: 3 tasks, priority 0, 2 retries
        /input/set is mnist@3
        /input/more is data:x
        ROLE    TASKS  EACH           PORTS                 COMMAND
        ps      1      1 CPU, 1GiB    grpc×1 from 8000      serve
        worker  2      0.5 CPU, 1GiB  grpc×1 jax×1 torch×1  python3 train.py
        ");
    }
}
