//! Jobs side by side.

use std::path::Path;

use axum::{Json, extract::State, http::header, response::IntoResponse};
use model::{
    code::CodePlan,
    compare::{Asked, Direction, Fact, Facts, Measured, Subject, compare, given, of_chief},
    metrics::SeriesSummary,
    provenance::Content,
    resources::Bytes,
    said,
    usage::UsageTotals,
    wire::{ComparedJob, Comparison, ErrorBody, NotRecorded, RowKind},
    words::Words,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    AppState,
    dossier::{Dossier, on_disk},
    extract::Query,
    guard::Caller,
    jobs::label,
};
use crate::{
    code::changes::{self, Tree},
    error::Error,
    metrics,
    rundir::RunDir,
    store::runs::Run,
    usage,
};

const JOBS_MAX: usize = 20;
/// Of a job with a thousand tasks nobody compares each.
const TASKS_READ_MAX: usize = 32;

#[derive(Deserialize, IntoParams)]
pub struct CompareQuery {
    /// Two to twenty jobs with commas: ids, names or name@version. Code and numbers are told against the first.
    jobs: String,
    /// Metrics to be shown, with commas, each perhaps with the way that is better: `accuracy,loss:lower`. All if not given.
    metric: Option<String>,
    /// Which way is better, `lower` or `higher`, where neither the metric's name nor what was asked says so.
    direction: Option<String>,
    /// Also what is the same.
    #[serde(default)]
    all: bool,
}

/// Compares jobs: what they were given, and what came of it.
#[utoipa::path(get, path = "/api/v1/compare", params(CompareQuery),
    responses((status = 200, body = Comparison), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn of_jobs(State(app): AppState, Caller(holder): Caller, Query(query): Query<CompareQuery>) -> Result<Json<Comparison>, Error> {
    let asked = asked(query.metric.as_deref(), query.direction.as_deref())?;
    let dossiers = Dossier::of_all(&app, &holder, &names(&query.jobs, JOBS_MAX)?).await?;
    let data = app.data.clone();
    let subjects = on_disk(move || subjects(&data, &dossiers)).await?;
    Ok(Json(compare(&subjects, &asked, query.all)))
}

#[derive(Deserialize, IntoParams)]
pub struct CodeQuery {
    /// Two jobs with a comma.
    jobs: String,
}

/// What is not the same in the code of two jobs, as a patch from the first to the second.
#[utoipa::path(get, path = "/api/v1/compare/code", params(CodeQuery),
    responses((status = 200, content_type = "text/x-patch", body = String), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody)))]
pub async fn code(State(app): AppState, Caller(holder): Caller, Query(query): Query<CodeQuery>) -> Result<impl IntoResponse, Error> {
    let dossiers = Dossier::of_all(&app, &holder, &names(&query.jobs, 2)?).await?;
    let data = app.data.clone();
    let patch = on_disk(move || -> Result<String, Error> {
        let tree = |it: &Dossier| tree(&data, it).map_err(|why| Error::NoCode { job: label(&it.job), why });
        let trees = dossiers.iter().map(tree).collect::<Result<Vec<_>, _>>()?;
        changes::patch(&trees[0], &trees[1]).map_err(|error| Error::Internal(format!("the code cannot be compared: {error}")))
    });
    Ok(([(header::CONTENT_TYPE, "text/x-patch; charset=utf-8")], patch.await??))
}

fn names(text: &str, most: usize) -> Result<Vec<String>, Error> {
    let names: Vec<String> = text.split(',').map(str::trim).filter(|it| !it.is_empty()).map(str::to_owned).collect();
    if (2..=most).contains(&names.len()) {
        return Ok(names);
    }
    let wanted = match most {
        2 => said!("two jobs with a comma", "用逗号隔开的两个作业"),
        _ => said!("two to {most} jobs with commas", "用逗号隔开的 2 到 {most} 个作业"),
    };
    Err(Error::BadValue { name: "jobs", value: text.to_owned(), wanted })
}

/// The metrics that somebody asks for.
pub fn asked(metrics: Option<&str>, direction: Option<&str>) -> Result<Vec<Asked>, Error> {
    const METRICS_MAX: usize = 50;
    let bad = |value: &str| Error::BadValue {
        name: "direction",
        value: value.to_owned(),
        wanted: ("`lower` or `higher`", "`lower` 或 `higher`").into(),
    };
    let otherwise = direction.map(|text| Direction::from_text(text).ok_or_else(|| bad(text))).transpose()?;
    let one = |text: &str| match text.rsplit_once(':').and_then(|(name, way)| Some((name, Direction::from_text(way)?))) {
        Some((name, direction)) => Asked { name: name.to_owned(), direction: Some(direction) },
        None => Asked { name: text.to_owned(), direction: otherwise },
    };
    let names = metrics.unwrap_or_default().split(',').map(str::trim).filter(|it| !it.is_empty());
    Ok(names.take(METRICS_MAX).map(one).collect())
}

fn subjects(data: &Path, dossiers: &[Dossier]) -> Vec<Subject> {
    let mut subjects: Vec<Subject> = dossiers.iter().map(|it| subject(data, it)).collect();
    compare_code(data, dossiers, &mut subjects);
    subjects
}

fn subject(data: &Path, dossier: &Dossier) -> Subject {
    let job = &dossier.job;
    let spec = serde_json::from_str(&job.spec).unwrap_or_default();
    let mut facts = given(&spec, &job.plan);
    facts.extend(code_facts(dossier));
    facts.extend(input_facts(dossier));
    let unknown = match &dossier.python {
        Some(python) => {
            let packages = python.packages.packages.iter().map(|(name, version)| (name.clone(), version.clone()));
            let all = packages.chain([("python".to_owned(), python.packages.python.clone())]);
            facts.extend(all.map(|(name, version)| ((RowKind::Package, name), Fact::from(version))));
            Default::default()
        }
        None => [RowKind::Package].into(),
    };
    let compared = ComparedJob {
        id: job.id.to_string(),
        label: label(job),
        owner: job.owner.clone(),
        state: job.state,
        created_at_ms: job.created_at_ms,
        not_recorded: dossier.not_recorded(),
    };
    let measured = measured(data, dossier);
    let series = of_chief(series(data, dossier), dossier.chief().as_ref());
    Subject { job: compared, facts, unknown, code: Default::default(), same_files: 0, measured, series }
}

fn code_facts(dossier: &Dossier) -> Facts {
    let fact = |name: &str, value: String, may_be_unknown: bool| ((RowKind::Code, name.to_owned()), Fact { value, may_be_unknown });
    let (commit, content) = (dossier.job.commit.clone(), dossier.found.as_ref().and_then(|it| it.code.as_ref()));
    match &dossier.job.plan.code {
        None => Facts::new(),
        Some(CodePlan::Upload(_)) => [fact("source", "a folder that was uploaded".into(), false)].into(),
        Some(code @ CodePlan::Git(_)) => {
            [fact("source", code.to_string(), false)].into_iter().chain(commit.map(|it| fact("commit", it, true))).collect()
        }
        Some(code @ CodePlan::At(_)) => {
            let content = content.filter(|it| it.partly.is_none()).map(|it| fact("content", in_words(it).en, true));
            [fact("source", code.to_string(), false)].into_iter().chain(content).collect()
        }
    }
}

fn input_facts(dossier: &Dossier) -> Facts {
    let whole = dossier.found.iter().flat_map(|it| &it.inputs).filter(|it| it.content.partly.is_none());
    let fact = |value| Fact { value, may_be_unknown: true };
    whole.map(|it| ((RowKind::Input, format!("{} content", it.path)), fact(in_words(&it.content).en))).collect()
}

/// Such as `3 files, 12MiB, 4f2a9c1d`.
pub fn in_words(content: &Content) -> Words {
    let files = if content.files == 1 { "1 file".into() } else { format!("{} files", content.files) };
    let (print, bytes) = (content.fingerprint.get(..8).unwrap_or(&content.fingerprint), Bytes(content.bytes));
    Words::new(format!("{files}, {bytes}, {print}"), format!("{} 个文件，{bytes}，{print}", content.files))
}

fn measured(data: &Path, dossier: &Dossier) -> Vec<Measured> {
    let job = &dossier.job;
    let whole = job.started_at_ms.zip(job.ended_at_ms).map(|(start, end)| Measured::duration(end.saturating_sub(start)));
    let chief = dossier.runs.iter().find(|run| Some(&run.run.task) == dossier.chief().as_ref());
    let command =
        chief.and_then(|run| run.started_at_ms.zip(run.ended_at_ms)).map(|(start, end)| Measured::command(end.saturating_sub(start)));
    let newest = dossier.runs.iter().filter(|run| run.job_attempt == job.attempt).take(TASKS_READ_MAX);
    let totals = newest.map(|run| used(data, run)).fold(UsageTotals::default(), together);
    whole.into_iter().chain(command).chain(Measured::usage(&totals)).collect()
}

/// What was sampled, and where nobody did, what the kernel counted to the end.
fn used(data: &Path, run: &Run) -> UsageTotals {
    let sampled = usage::totals(&RunDir::new(data, &run.run));
    let ending = run.ending.as_ref();
    UsageTotals {
        cpu_ms: ending.and_then(|it| it.cpu_ms).or(sampled.cpu_ms),
        peak_memory_bytes: ending.and_then(|it| it.peak_memory_bytes).or(sampled.peak_memory_bytes),
        ..sampled
    }
}

/// Peaks need not have been at the same time, so the highest of them stands for all.
fn together(one: UsageTotals, other: UsageTotals) -> UsageTotals {
    let both = |add: fn(u64, u64) -> u64, one: Option<u64>, other: Option<u64>| match (one, other) {
        (Some(one), Some(other)) => Some(add(one, other)),
        (one, other) => one.or(other),
    };
    let sum = |one, other| both(u64::saturating_add, one, other);
    UsageTotals {
        cpu_ms: sum(one.cpu_ms, other.cpu_ms),
        peak_memory_bytes: both(u64::max, one.peak_memory_bytes, other.peak_memory_bytes),
        read_bytes: sum(one.read_bytes, other.read_bytes),
        written_bytes: sum(one.written_bytes, other.written_bytes),
        received_bytes: sum(one.received_bytes, other.received_bytes),
        sent_bytes: sum(one.sent_bytes, other.sent_bytes),
    }
}

/// Everything that the tasks wrote about themselves, the chief's first. A book that cannot be read has no numbers.
pub fn series(data: &Path, dossier: &Dossier) -> Vec<SeriesSummary> {
    let chief = dossier.chief();
    let (own, others): (Vec<&Run>, Vec<&Run>) = dossier.runs.iter().partition(|run| Some(&run.run.task) == chief.as_ref());
    let all = own.into_iter().chain(others).take(TASKS_READ_MAX);
    all.flat_map(|run| metrics::summaries(data, &run.run).unwrap_or_default()).collect()
}

fn compare_code(data: &Path, dossiers: &[Dossier], subjects: &mut [Subject]) {
    let Some((first, others)) = dossiers.split_first() else { return };
    // Nothing to read where both are the same upload, or neither has any code.
    let is_compared = |it: &Dossier| first.job.plan.code.is_some() && it.job.plan.code.is_some();
    let first = others.iter().any(is_compared).then(|| tree(data, first));
    let Some(first) = first else { return };
    for (at, dossier) in others.iter().enumerate().filter(|(_, it)| is_compared(it)) {
        let compared = match (&first, tree(data, dossier)) {
            (Ok(first), Ok(other)) => changes::changes(first, &other).map_err(Words::quoted),
            (Err(why), _) => Err(why.clone()),
            (Ok(_), Err(why)) => Err(why),
        };
        let subject = &mut subjects[at + 1];
        match compared {
            Ok(found) => (subject.code, subject.same_files) = (found.files, found.same),
            Err(why) => subject.job.not_recorded.push(NotRecorded::new(Words::new("files of the code", "代码文件"), why)),
        }
    }
}

/// The files that a job's code was; the error is why nobody has them.
fn tree(data: &Path, dossier: &Dossier) -> Result<Tree, Words> {
    let job = &dossier.job;
    let found = match (&job.plan.code, &job.commit) {
        (None, _) => return Err(said!("it has no code of its own", "它没有自己的代码")),
        (Some(CodePlan::At(place)), _) => {
            return Err(said!(
                "only its size is kept, as its code was shown to it where it is: {place}",
                "它直接使用原处的代码（{place}），所以只留下了大小"
            ));
        }
        (Some(CodePlan::Upload(digest)), _) => Tree::uploaded(data, digest),
        (Some(CodePlan::Git(_)), None) => return Err(said!("its code was never fetched", "它的代码从未取到")),
        (Some(CodePlan::Git(plan)), Some(commit)) => Tree::checked_out(data, plan, commit),
    };
    found.map_err(Words::quoted)?.ok_or_else(|| said!("its code is not on this machine any more", "它的代码已经不在这台机器上"))
}
