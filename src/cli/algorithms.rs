//! `trainmaster algorithms`: names with numbered versions for code that jobs run.

use std::path::PathBuf;

use bytes::Bytes;
use model::{
    algorithm::{self, Algorithm},
    ids::AlgorithmName,
    spec::Param,
    wire::{AlgorithmDetail, AlgorithmVersionView, AlgorithmView, JobRef},
};

use super::{
    context::{Context, query, read_answer},
    failure::{Exit, Failure},
    job_file::JobFile,
    output,
    people::{age, moment, now_ms},
    style::{self, paint},
    submission::{Parcel, Source, YAML, terminals},
    table::Table,
    terminal::plain,
    upload::{packed_code, uploaded_code},
    versioned::Named,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct AlgorithmsArgs {
    #[command(subcommand)]
    pub verb: AlgorithmsVerb,
}

#[derive(Clone, Debug, clap::Subcommand)]
pub enum AlgorithmsVerb {
    /// Make the next version of an algorithm, and the algorithm with its first one
    Add(AddArgs),
    /// List the algorithms you may use
    #[command(visible_alias = "ls")]
    List,
    /// Show an algorithm with its versions, or what one version says and the jobs that were made from it
    Show {
        /// Such as mnist-mlp, mnist-mlp@3 or mnist-mlp@latest
        #[arg(value_name = "NAME[@VERSION]")]
        algorithm: Named<AlgorithmName>,
    },
    /// Forget an algorithm or one version of it; jobs that were made from it go on
    #[command(visible_alias = "rm")]
    Remove {
        /// Such as mnist-mlp or mnist-mlp@3
        #[arg(value_name = "NAME[@VERSION]")]
        algorithm: Named<AlgorithmName>,
    },
}

#[derive(Clone, Debug, clap::Args)]
pub struct AddArgs {
    /// The algorithm, YAML or JSON; `-` reads it from standard input
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only check it, and say which version it would be
    #[arg(long)]
    pub dry_run: bool,
}

pub async fn algorithms(context: &Context, args: &AlgorithmsArgs) -> Result<Exit, Failure> {
    match &args.verb {
        AlgorithmsVerb::Add(args) => add(context, args).await?,
        AlgorithmsVerb::List => list(context).await?,
        AlgorithmsVerb::Show { algorithm } => show(context, algorithm).await?,
        AlgorithmsVerb::Remove { algorithm } => remove(context, algorithm).await?,
    }
    Ok(Exit::Done)
}

async fn add(context: &Context, args: &AddArgs) -> Result<(), Failure> {
    let file = JobFile::read(&args.file)?;
    let parcel = parcel(context, &file, args.dry_run).await?;
    let dry_run = args.dry_run.then(|| "true".to_owned());
    let path = format!("/api/v1/algorithms{}", query(&[("dry_run", dry_run), ("lang", terminals())]));
    let answer = context.call(parcel.call(&path)).await.map_err(|failure| Failure { file: Some(file.name.clone()), ..failure })?;
    let made: AlgorithmVersionView = read_answer(&answer)?;
    if context.json {
        return Ok(output::json(&made)?);
    }
    made.notes.iter().for_each(|note| output::note(&format!("note: {}", plain(note))));
    let name = format!("{}@{}", made.algorithm, made.version);
    if args.dry_run {
        return Ok(output::line(&plain(&format!("{name} is what it would be")))?);
    }
    output::line(&plain(&name))?;
    output::aside(&format!("a job runs it with `algorithm: {name}`"));
    Ok(())
}

/// What is sent: the file as it is, or what becomes of it once its folder is uploaded, which a dry run leaves out.
async fn parcel(context: &Context, file: &JobFile, dry_run: bool) -> Result<Parcel, Failure> {
    let whole = |it: &mut Algorithm| it.code = file.whole_code(it.code.take());
    let bad = |problems| Failure::bad_file(&file.name, problems);
    let written = algorithm::read_with(file.text(), |_| {}).ok();
    let read = algorithm::read_with(file.text(), whole).map_err(bad)?;
    let code = read.code.clone();
    let code = if dry_run { packed_code(context, code).await? } else { uploaded_code(context, code).await? };
    let sent = Algorithm { code, ..read };
    if written.as_ref() == Some(&sent) {
        let text = Bytes::copy_from_slice(file.text().as_bytes());
        return Ok(Parcel { text, content_type: YAML, from: None, source: Source::default() });
    }
    let source = Source { original: Some(file.text().to_owned()), ..Source::default() };
    Ok(Parcel { source, ..Parcel::json(&sent)? })
}

async fn list(context: &Context) -> Result<(), Failure> {
    let all: Vec<AlgorithmView> = context.get("/api/v1/algorithms").await?;
    if context.json {
        return Ok(output::json(&all)?);
    }
    Ok(output::text(&table(&all).render(output::width(), "DESCRIPTION"))?)
}

fn table(all: &[AlgorithmView]) -> Table {
    let mut table = Table::new(["NAME", "FRAMEWORK", "OWNER", "DESCRIPTION"]);
    for algorithm in all {
        let (name, framework) = match &algorithm.latest {
            Some(it) => (format!("{}@{}", algorithm.name, it.version), it.framework.as_deref().unwrap_or("-")),
            None => (algorithm.name.clone(), "-"),
        };
        let description = algorithm.description.lines().next().unwrap_or_default();
        table.row([name.into(), framework.into(), algorithm.owner.as_str().into(), description.into()]);
    }
    table
}

async fn show(context: &Context, named: &Named<AlgorithmName>) -> Result<(), Failure> {
    let path = named.path("algorithms");
    if context.json {
        return Ok(output::json(&context.get::<serde_json::Value>(&path).await?)?);
    }
    let text = match named.version {
        None => of_algorithm(&context.get(&path).await?, now_ms()),
        Some(_) => of_version(&context.get(&path).await?),
    };
    Ok(output::text(&text)?)
}

fn of_algorithm(algorithm: &AlgorithmDetail, now_ms: u64) -> String {
    let mut table = Table::new(["VERSION", "MADE", "BY", "DESCRIPTION"]);
    for it in &algorithm.all {
        let name = format!("{}@{}", it.algorithm, it.version);
        let description = it.description.lines().next().unwrap_or_default();
        table.row([name.into(), age(it.created_at_ms, now_ms).into(), it.made_by.as_str().into(), description.into()]);
    }
    let head = paint(style::LOUD, &plain(&algorithm.name));
    format!("{head} of {}\n\n{}", plain(&algorithm.owner), table.render(output::width(), "DESCRIPTION"))
}

fn of_version(version: &AlgorithmVersionView) -> String {
    let job = |it: &JobRef| format!("{}@{}", it.name, it.version);
    let facts = [
        ("made", format!("{} by {}", moment(version.created_at_ms), version.made_by)),
        ("inputs", version.document.inputs.keys().cloned().collect::<Vec<_>>().join(" ")),
        ("outputs", version.document.outputs.keys().cloned().collect::<Vec<_>>().join(" ")),
        ("params", params(&version.document)),
        ("jobs", version.jobs.iter().map(job).collect::<Vec<_>>().join(" ")),
    ];
    let told = facts.iter().filter(|(_, value)| !value.is_empty());
    let lines: String = told.map(|(key, value)| format!("{key:<9}{}\n", plain(value))).collect();
    let text: String = version.text.lines().map(|line| format!("{}\n", plain(line))).collect();
    let name = format!("{}@{}", version.algorithm, version.version);
    format!("{}\n{lines}\n{text}", paint(style::LOUD, &plain(&name)))
}

/// Each with the value it has where a job says none.
fn params(document: &Algorithm) -> String {
    let one = |(name, default): (&String, Option<&Param>)| default.map_or_else(|| name.clone(), |default| format!("{name}={default}"));
    document.params.iter().map(|(name, rule)| one((name, rule.default.as_ref()))).collect::<Vec<_>>().join(" ")
}

async fn remove(context: &Context, named: &Named<AlgorithmName>) -> Result<(), Failure> {
    let named = named.clone().numbered(context, "algorithms").await?;
    context.call(Call::delete(&named.path("algorithms"))).await?;
    if context.json {
        return Ok(output::json(&serde_json::json!({ "removed": named.to_string() }))?);
    }
    Ok(output::line(&format!("{named} is forgotten; jobs that were made from it go on"))?)
}

#[cfg(test)]
mod tests {
    use model::wire::AlgorithmVersionSummary;

    use super::*;

    const TEXT: &str = "name: mlp\ndescription: a small one\nframework: tensorflow\ncode: data:mlp # here\ncommand: python3 train.py\ninputs: {data: {}}\nparams:\n  lr: {type: number, default: 0.1}\n  epochs: {type: integer}\n";

    fn version(number: u32) -> AlgorithmVersionView {
        AlgorithmVersionView {
            algorithm: "mlp".into(),
            version: number,
            description: "a small one\nindeed".into(),
            document: algorithm::read(TEXT).unwrap(),
            text: TEXT.into(),
            made_by: "ann".into(),
            created_at_ms: 1_000,
            jobs: vec![JobRef { id: "job-1".into(), name: "digits".into(), version: 2 }],
            notes: Vec::new(),
        }
    }

    fn summary(number: u32) -> AlgorithmVersionSummary {
        let AlgorithmVersionView { algorithm, version, description, document, made_by, created_at_ms, jobs, .. } = version(number);
        let Algorithm { framework, image, .. } = document;
        AlgorithmVersionSummary { algorithm, version, description, framework, image, made_by, created_at_ms, jobs }
    }

    #[test]
    fn algorithms_are_told_with_what_they_say_and_whom_they_served() {
        let view = |name: &str, latest: Option<AlgorithmVersionSummary>| AlgorithmView {
            name: name.into(),
            description: latest.as_ref().map(|it| it.description.clone()).unwrap_or_default(),
            owner: "ann".into(),
            created_at_ms: 0,
            versions: 1,
            latest,
        };
        let all = [view("gone", None), view("mlp", Some(summary(3)))];
        let AlgorithmView { name, description, owner, created_at_ms, versions, latest } = view("mlp", Some(summary(3)));
        let detail = AlgorithmDetail { name, description, owner, created_at_ms, versions, latest, all: vec![summary(3), summary(1)] };
        let texts = [
            table(&all).render(None, "DESCRIPTION"),
            of_algorithm(&detail, 61_000),
            of_version(&version(3)).replace(&moment(1_000), "then"),
        ];
        insta::assert_snapshot!(anstream::adapter::strip_str(&texts.join("\n")).to_string(), @"
        NAME   FRAMEWORK   OWNER  DESCRIPTION
        gone   -           ann
        mlp@3  tensorflow  ann    a small one

        mlp of ann

        VERSION  MADE  BY   DESCRIPTION
        mlp@3    1m    ann  a small one
        mlp@1    1m    ann  a small one

        mlp@3
        made     then by ann
        inputs   data
        params   lr=0.1 epochs
        jobs     digits@2

        name: mlp
        description: a small one
        framework: tensorflow
        code: data:mlp # here
        command: python3 train.py
        inputs: {data: {}}
        params:
          lr: {type: number, default: 0.1}
          epochs: {type: integer}
        ");
    }
}
