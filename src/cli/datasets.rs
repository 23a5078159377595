//! `trainmaster datasets`: names with numbered versions for data that lies in volumes.

use std::time::Duration;

use model::{
    dataset::Held,
    ids::DatasetName,
    resources::{Bytes, grouped},
    wire::{DatasetDetail, DatasetVersionView, DatasetView, JobRef, NewDatasetVersion},
};

use super::{
    context::{Context, in_time_of, read_answer},
    failure::{Exit, Failure},
    output,
    people::{age, moment, now_ms},
    style::{self, paint},
    table::Table,
    terminal::plain,
    versioned::Named,
};
use crate::client::Call;

/// The server looks through all of a place, and says so where that takes longer than it waits.
const LOOKING_TIMEOUT: Duration = Duration::from_secs(360);

#[derive(Clone, Debug, clap::Args)]
pub struct DatasetsArgs {
    #[command(subcommand)]
    pub verb: DatasetsVerb,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum DatasetsVerb {
    /// Make the next version of a dataset, and the dataset with its first one
    Add(AddArgs),
    /// List the datasets you may use
    #[command(visible_alias = "ls")]
    List,
    /// Show a dataset with its versions, or one version with the jobs that read it
    Show {
        /// Such as mnist, mnist@3 or mnist@latest
        #[arg(value_name = "NAME[@VERSION]")]
        dataset: Named<DatasetName>,
    },
    /// Forget a dataset or one version of it, and leave the data alone
    #[command(visible_alias = "rm")]
    Remove {
        /// Such as mnist or mnist@3
        #[arg(value_name = "NAME[@VERSION]")]
        dataset: Named<DatasetName>,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// What jobs call it, as in NAME@3
    pub name: DatasetName,
    /// Where the data is: data:mnist/v3, a directory of the server's machine, or a URL
    #[arg(value_name = "PLACE")]
    pub place: String,
    /// What the dataset is; it takes the place of the former words
    #[arg(long, value_name = "TEXT")]
    pub description: Option<String>,
    /// What is to be said of this version
    #[arg(long, value_name = "TEXT")]
    pub note: Option<String>,
}

pub async fn datasets(context: &Context, args: &DatasetsArgs) -> Result<Exit, Failure> {
    match &args.verb {
        DatasetsVerb::Add(args) => add(context, args).await?,
        DatasetsVerb::List => list(context).await?,
        DatasetsVerb::Show { dataset } => show(context, dataset).await?,
        DatasetsVerb::Remove { dataset } => remove(context, dataset).await?,
    }
    Ok(Exit::Done)
}

async fn add(context: &Context, args: &AddArgs) -> Result<(), Failure> {
    let (name, at) = (args.name.to_string(), place(&args.place)?);
    let new = NewDatasetVersion { name, at, description: args.description.clone(), note: args.note.clone() };
    let body = serde_json::to_vec(&new).map_err(|error| Failure::usage(error.to_string()))?;
    let client = context.find()?.client;
    let answer = in_time_of(LOOKING_TIMEOUT, client.call(Call::post("/api/v1/datasets", body))).await?;
    let made: DatasetVersionView = read_answer(&answer)?;
    if context.json {
        return Ok(output::json(&made)?);
    }
    let name = format!("{}@{}", made.dataset, made.version);
    output::line(&plain(&format!("{name} is {}: {}", made.at, held(&made))))?;
    if args.note.as_ref().is_some_and(|note| *note != made.note) {
        output::note(&format!("note: {name} is just that already; it keeps its own note, and yours is not kept"));
    }
    output::aside(&format!("a job reads it with `inputs: {{data: {name}}}`"));
    Ok(())
}

/// A directory of this machine is said whole. A name alone is not one, even where there is such a directory: it is likelier a place whose
/// volume was forgotten, and the server says so.
fn place(text: &str) -> Result<String, Failure> {
    if !text.starts_with(['.', '/']) {
        return Ok(text.to_owned());
    }
    let whole = std::path::absolute(text).and_then(|path| path.canonicalize().or(Ok(path)))?;
    whole.into_os_string().into_string().map_err(|_| Failure::usage("the directory's name is not UTF-8"))
}

fn held(version: &DatasetVersionView) -> Held {
    Held { files: version.files, bytes: version.bytes, fingerprint: version.fingerprint.clone() }
}

async fn list(context: &Context) -> Result<(), Failure> {
    let all: Vec<DatasetView> = context.get("/api/v1/datasets").await?;
    if context.json {
        return Ok(output::json(&all)?);
    }
    Ok(output::text(&table(&all).render(output::width(), "WHERE"))?)
}

fn table(all: &[DatasetView]) -> Table {
    let mut table = Table::new(["NAME", "FILES", "SIZE", "WHERE", "OWNER"]);
    for dataset in all {
        let (name, files, size, place) = match &dataset.latest {
            Some(it) => (format!("{}@{}", dataset.name, it.version), grouped(it.files), Bytes(it.bytes).to_string(), it.at.as_str()),
            None => (dataset.name.clone(), "-".into(), "-".into(), "-"),
        };
        table.row([name.into(), files.into(), size.into(), place.into(), dataset.owner.as_str().into()]);
    }
    table
}

async fn show(context: &Context, named: &Named<DatasetName>) -> Result<(), Failure> {
    if context.json {
        return Ok(output::json(&context.get::<serde_json::Value>(&named.path("datasets")).await?)?);
    }
    let text = match named.version {
        None => of_dataset(&context.get(&named.path("datasets")).await?, now_ms()),
        Some(_) => of_version(&context.get(&named.path("datasets")).await?),
    };
    Ok(output::text(&text)?)
}

fn of_dataset(dataset: &DatasetDetail, now_ms: u64) -> String {
    let description = dataset.description.lines().map(|line| format!("{}\n", plain(line))).collect::<String>();
    let mut table = Table::new(["VERSION", "MADE", "FILES", "SIZE", "WHERE", "NOTE"]);
    for it in &dataset.all {
        let (name, size) = (format!("{}@{}", it.dataset, it.version), Bytes(it.bytes).to_string());
        let note = it.note.lines().next().unwrap_or_default();
        table.row([
            name.into(),
            age(it.created_at_ms, now_ms).into(),
            grouped(it.files).into(),
            size.into(),
            it.at.as_str().into(),
            note.into(),
        ]);
    }
    let owner = plain(&dataset.owner);
    format!("{} of {owner}\n{description}\n{}", paint(style::LOUD, &plain(&dataset.name)), table.render(output::width(), "NOTE"))
}

fn of_version(version: &DatasetVersionView) -> String {
    let job = |it: &JobRef| format!("{}@{}", it.name, it.version);
    let jobs = version.jobs.iter().map(job).collect::<Vec<_>>().join(" ");
    let facts = [
        ("where", version.at.clone()),
        ("held", held(version).to_string()),
        ("fingerprint", version.fingerprint.clone()),
        ("made", format!("{} by {}", moment(version.created_at_ms), version.made_by)),
        ("note", version.note.clone()),
        ("read by", jobs),
    ];
    let told = facts.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = told.map(|(key, value)| format!("{key:<13}{}\n", plain(value))).collect();
    let name = format!("{}@{}", version.dataset, version.version);
    format!("{}\n{lines}", paint(style::LOUD, &plain(&name)))
}

async fn remove(context: &Context, named: &Named<DatasetName>) -> Result<(), Failure> {
    let named = named.clone().numbered(context, "datasets").await?;
    context.call(Call::delete(&named.path("datasets"))).await?;
    if context.json {
        return Ok(output::json(&serde_json::json!({ "removed": named.to_string() }))?);
    }
    Ok(output::line(&format!("{named} is forgotten; the data stays, and jobs that read it go on"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(number: u32) -> DatasetVersionView {
        DatasetVersionView {
            dataset: "mnist".into(),
            version: number,
            at: format!("data:mnist/v{number}"),
            note: "cleaned\nand sorted".into(),
            files: 70_000,
            bytes: 52 << 20,
            fingerprint: "f0".into(),
            made_by: "ann".into(),
            created_at_ms: 1_000,
            jobs: vec![JobRef { id: "job-1".into(), name: "digits".into(), version: 2 }],
        }
    }

    fn unpainted(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn only_what_begins_as_a_path_is_a_directory_of_this_machine() {
        let here = |text: &str| place(text).unwrap().replace(env!("CARGO_MANIFEST_DIR"), "/here");
        assert_eq!(["src", "data:x", "./src", "."].map(here), ["src", "data:x", "/here/src", "/here"]);
    }

    #[test]
    fn datasets_are_told_with_what_they_hold_and_where() {
        let view = |name: &str, latest| DatasetView {
            name: name.into(),
            description: String::new(),
            owner: "ann".into(),
            created_at_ms: 0,
            versions: 1,
            latest,
        };
        let all = [view("gone", None), view("mnist", Some(version(3)))];
        let detail = DatasetDetail {
            name: "mnist".into(),
            description: "handwritten digits".into(),
            owner: "ann".into(),
            created_at_ms: 0,
            versions: 2,
            latest: Some(version(3)),
            all: vec![version(3), version(1)],
        };
        let texts =
            [table(&all).render(None, "WHERE"), of_dataset(&detail, 61_000), of_version(&version(3)).replace(&moment(1_000), "then")];
        insta::assert_snapshot!(unpainted(&texts.join("\n")), @"
        NAME     FILES   SIZE   WHERE          OWNER
        gone     -       -      -              ann
        mnist@3  70,000  52MiB  data:mnist/v3  ann

        mnist of ann
        handwritten digits

        VERSION  MADE  FILES   SIZE   WHERE          NOTE
        mnist@3  1m    70,000  52MiB  data:mnist/v3  cleaned
        mnist@1  1m    70,000  52MiB  data:mnist/v1  cleaned

        mnist@3
        where        data:mnist/v3
        held         70,000 files with 52MiB
        fingerprint  f0
        made         then by ann
        note         cleaned and sorted
        read by      digits@2
        ");
    }
}
