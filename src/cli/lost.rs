//! `trainmaster lost`: runs that are on the disk and not in the database, and how they are ended.

use model::wire::LostRun;

use super::{
    context::{Context, encode},
    failure::{Exit, Failure},
    output,
    table::{Cell, Table},
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct LostArgs {
    #[command(subcommand)]
    pub change: Option<Change>,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum Change {
    /// Stop the task of a lost run, if it still lives; what it has written stays where it is
    End {
        /// As `trainmaster lost` shows it
        run: String,
        /// Delete all that it has written, too
        #[arg(long)]
        erase: bool,
    },
}

pub async fn lost(context: &Context, args: &LostArgs) -> Result<Exit, Failure> {
    match &args.change {
        None => list(context).await,
        Some(Change::End { run, erase }) => end(context, run, *erase).await,
    }
}

async fn list(context: &Context) -> Result<Exit, Failure> {
    let lost: Vec<LostRun> = context.get("/api/v1/lost").await?;
    if context.json {
        output::json(&lost)?;
    } else if lost.is_empty() {
        output::line("every run on the disk is in the database")?;
    } else {
        output::text(&table(&lost).render(output::width(), "DIRECTORY"))?;
        output::note("`trainmaster lost end RUN` stops one and keeps what it has written; `--erase` deletes that too");
    }
    Ok(Exit::Done)
}

async fn end(context: &Context, run: &str, erase: bool) -> Result<Exit, Failure> {
    let erase_too = if erase { "?erase=true" } else { "" };
    context.call(Call::post(&format!("/api/v1/lost/{}/end{erase_too}", encode(run)), "")).await?;
    if !context.json {
        let files = if erase { "all that it has written goes with it" } else { "what it has written stays" };
        output::line(&format!("{run} is being ended; {files}"))?;
    }
    Ok(Exit::Done)
}

fn table(lost: &[LostRun]) -> Table {
    let mut table = Table::new(["RUN", "DIRECTORY"]);
    for it in lost {
        table.row([Cell::from(&it.run), Cell::from(&it.directory)]);
    }
    table
}
