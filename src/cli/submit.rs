//! `trainmaster submit FILE`.

use std::path::{Path, PathBuf};

use model::{plan::Plan, spec::JobSpec, wire::Submitted};
use serde_json::Value;

use super::{
    context::{Context, job_path, read_answer},
    failure::{Exit, Failure},
    follow::Wish,
    output,
    printer::Manner,
    set::{Setting, apply},
    submission::{Parcel, plan, submit as send},
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
    let (spec, parcel) = file.parcel(&args.set)?;
    if args.dry_run {
        let planned = plan(context, &parcel).await.map_err(|failure| file.place(failure))?;
        return show_plan(context, &planned);
    }
    let submitted = send(context, &parcel).await.map_err(|failure| file.place(failure))?;
    let tasks = spec.roles.values().map(|role| role.tasks.unwrap_or(1)).sum();
    finish(context, submitted, if args.follow { After::Follow { tasks, apart: false } } else { After::Leave }).await
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
    let ended = watch(context, &wish, &mut screen).await.map_err(|failure| goes_on(failure, &label))?;
    if !context.json {
        say_end(&ended);
    }
    Ok(exit_of(&ended))
}

/// Whoever stops watching is told that the job does not stop.
fn goes_on(failure: Failure, label: &str) -> Failure {
    match failure.exit {
        Exit::Interrupted => Failure::new(Exit::Interrupted, "interrupted", format!("no longer following {label}; the job goes on"))
            .hint(format!("`trainmaster logs -f {label}` follows it again, `trainmaster stop {label}` stops it")),
        Exit::Away => failure.hint(format!("{label} was submitted and goes on; `trainmaster logs -f {label}` follows it again")),
        Exit::Done | Exit::JobFailed | Exit::You | Exit::Us => failure,
    }
}

/// A job file and where it came from.
struct JobFile {
    name: String,
    text: String,
    /// What relative paths in it are relative to.
    base: PathBuf,
}

impl JobFile {
    fn read(path: &Path) -> Result<Self, Failure> {
        let cannot = |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", path.display()));
        if path == Path::new("-") {
            let text = std::io::read_to_string(std::io::stdin()).map_err(cannot)?;
            let base = std::env::current_dir().map_err(cannot)?;
            return Ok(Self { name: "standard input".into(), text, base });
        }
        let text = std::fs::read_to_string(path).map_err(cannot)?;
        let whole = path.canonicalize().map_err(cannot)?;
        let base = whole.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Self { name: path.display().to_string(), text, base })
    }

    /// The spec and what is sent for it: the file as it is where nothing in it had to be changed.
    fn parcel(&self, settings: &[Setting]) -> Result<(JobSpec, Parcel), Failure> {
        let written = model::spec::read(&self.text).map_err(|problems| Failure::bad_file(&self.name, problems))?;
        let mut spec = written.clone();
        spec.code = spec.code.map(|path| absolute(&self.base, &path));
        spec.input = spec.input.map(|path| absolute(&self.base, &path));
        if settings.is_empty() && spec == written {
            let parcel = Parcel { text: self.text.clone().into(), content_type: "application/yaml" };
            return Ok((spec, parcel));
        }
        let (spec, value) = changed(&spec, settings)?;
        Ok((spec, Parcel::json(&value)?))
    }

    fn place(&self, mut failure: Failure) -> Failure {
        failure.file = Some(self.name.clone());
        failure
    }
}

fn absolute(base: &Path, path: &str) -> String {
    base.join(path).components().collect::<PathBuf>().to_string_lossy().into_owned()
}

/// The spec with the settings applied, read again as a spec so that a bad setting is found here.
pub fn changed(spec: &JobSpec, settings: &[Setting]) -> Result<(JobSpec, Value), Failure> {
    let mut value = serde_json::to_value(spec).map_err(|error| Failure::usage(error.to_string()))?;
    apply(&mut value, settings)?;
    let spec = model::spec::read(&value.to_string()).map_err(|mut problems| {
        // Places in text that the person never saw would mislead.
        problems.iter_mut().for_each(|problem| problem.line = 0);
        Failure::bad_file("the changed spec", problems)
    })?;
    Ok((spec, value))
}

fn show_plan(context: &Context, planned: &Value) -> Result<Exit, Failure> {
    if context.json {
        output::json(planned)?;
        return Ok(Exit::Done);
    }
    let plan: Plan = read_answer(planned.to_string().as_bytes())?;
    output::text(&plan_text(&plan))?;
    Ok(Exit::Done)
}

fn plan_text(plan: &Plan) -> String {
    let mut table = Table::new(["ROLE", "TASKS", "EACH", "PORTS", "COMMAND"]);
    for role in &plan.roles {
        let ports: Vec<String> = role.ports.iter().map(|(label, count)| format!("{label}×{count}")).collect();
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
    head + &table.render(output::width(), "COMMAND")
}

pub fn spec_path(job: &str) -> String {
    job_path(job, "/spec")
}
