//! `trainmaster submit FILE`.

use std::path::{Path, PathBuf};

use model::wire::{About, Submitted};

use super::{
    context::Context,
    dry_run::dry_run,
    failure::{Exit, Failure},
    follow::Wish,
    grid::{self, GridArgs},
    job_file::{Changes, JobFile, Ready},
    output,
    params::ParamArgs,
    printer::Manner,
    report::{ReportArgs, tell},
    set::Setting,
    submission::submit as send,
    terminal::plain,
    upload::with_code_uploaded,
    watch::{Only, Screen, Told, exit_of, say_end, watch},
};

#[derive(Clone, Debug, clap::Args)]
pub struct SubmitArgs {
    /// The job file, YAML or JSON, of our own or of another system; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Say what would run, and run nothing
    #[arg(long)]
    pub dry_run: bool,
    /// With --dry-run: say of every task what it would be made of
    #[arg(long, requires = "dry_run")]
    pub debug: bool,
    /// Show the logs until the job is over, and exit with its outcome
    #[arg(long, short, conflicts_with_all = ["dry_run", "grid"])]
    pub follow: bool,
    /// The job's name, whatever the file says
    #[arg(long)]
    pub name: Option<String>,
    /// The folder that is uploaded, and that the tasks see at /code and begin in, whatever the file says
    #[arg(long, value_name = "DIR")]
    pub code: Option<PathBuf>,
    /// Change a value of the file, such as roles.worker.tasks=4; may be given again
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<Setting>,
    #[command(flatten)]
    pub params: ParamArgs,
    #[command(flatten)]
    pub grid: GridArgs,
    #[command(flatten)]
    pub report: ReportArgs,
}

impl SubmitArgs {
    fn changes(&self) -> Result<Changes, Failure> {
        let code = self.code.as_deref().map(directory).transpose()?;
        Ok(Changes { name: self.name.clone(), code, set: self.set.clone(), params: self.params.clone() })
    }
}

fn directory(dir: &Path) -> Result<String, Failure> {
    super::run::directory(dir, "--code")
}

pub async fn submit(context: &Context, args: &SubmitArgs) -> Result<Exit, Failure> {
    let file = JobFile::read(&args.file)?;
    let changes = args.changes()?;
    let user = user_for(context, &file).await?;
    let ready = file.ready(&changes, user)?;
    tell(&file.name, &ready.report, args.report, context.json)?;
    let placed = |failure| file.place(failure, &ready.report, &changes);
    if args.dry_run {
        return dry_run(context, &ready, &args.grid, args.debug).await.map_err(placed);
    }
    let (spec, parcel) = with_code_uploaded(context, ready.spec.clone(), &ready.parcel).await?;
    if !args.grid.is_empty() {
        return grid::submit(context, &spec, &args.grid, &parcel).await.map_err(placed);
    }
    let submitted = send(context, &parcel).await.map_err(placed)?;
    let after = if args.follow { After::Follow { tasks: ready.tasks(), apart: false } } else { After::Leave };
    finish(context, with_report(submitted, ready), after).await
}

/// Files of other systems speak of who submits them; ours do not.
async fn user_for(context: &Context, file: &JobFile) -> Result<Option<String>, Failure> {
    if file.is_ours() {
        return Ok(None);
    }
    let about: About = context.get("/api/v1/about").await?;
    Ok(Some(about.user))
}

/// The server was sent a file of our own, so it has no report to give.
fn with_report(submitted: Submitted, ready: Ready) -> Submitted {
    let report = (!ready.report.dialect.is_empty()).then_some(ready.report);
    Submitted { report, ..submitted }
}

/// What follows a submission.
pub enum After {
    Leave,
    Follow { tasks: u32, apart: bool },
}

/// Says what was submitted, or shows it until it is over.
pub async fn finish(context: &Context, submitted: Submitted, after: After) -> Result<Exit, Failure> {
    let label = format!("{}@{}", submitted.name, submitted.version);
    if !context.json {
        submitted.notes.iter().for_each(|note| output::note(&format!("note: {}", plain(note))));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_loses_sight_of_a_job_learns_that_it_goes_on() {
        assert_eq!(goes_on(Failure::new(Exit::Interrupted, "interrupted", "x"), "digits@3").unwrap().code(), 130);
        let away = goes_on(Failure::away("gone"), "digits@3").unwrap_err();
        assert_eq!((away.exit.code(), away.body.message.as_str()), (4, "gone"));
        assert_eq!(away.body.hint.unwrap(), "digits@3 was submitted and goes on; `trainmaster logs -f digits@3` follows it again");
    }
}
