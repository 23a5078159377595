//! Submitting a job, or only asking what would be submitted.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
};
use model::{
    dialect::{self, Given, Report, Translation},
    ids::JobId,
    layout,
    plan::{Beginning, FormerJob, Plan, PlanView, SecretPlan, remarks},
    provenance::Origin,
    said,
    secret::SecretValues,
    spec::{Problem, fill_masked, to_yaml},
    wire::{ErrorBody, Handed, Planned, SubmitAnswer, Submitted},
    words::{Lang, Words},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;

use super::{
    App, AppState, algorithms,
    datasets::pinning::pin,
    extract::{Body, Query},
    guard::Caller,
    jobs::{found, label},
    language::{LangQuery, Language},
    original::Sent,
    uploads::{self, Named},
    volumes,
};
use crate::{
    control::now_ms,
    error::Error,
    run_token::hex,
    store::{
        self, Sql, StoreError, events,
        jobs::{self, Job, Key, NewJob, Submission},
        originals::{self, Original},
        secrets,
        tokens::Holder,
    },
};

const KEY_LENGTH_MAX: usize = 200;
pub const JOB_FILE_BYTES_MAX: usize = 1 << 20;
const OUR_DIALECT: &str = "trainmaster";

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct SubmitQuery {
    /// Only says what would run: the answer is a `Planned`.
    #[serde(default)]
    dry_run: bool,
    /// Names the job, whatever the file says; files of some dialects have no name inside.
    name: Option<String>,
    /// The job that is submitted again, perhaps with changes: id, name or name@version. Its secrets take the place of `******`
    /// in the file.
    from: Option<String>,
    /// What the file is called where it came from.
    file: Option<String>,
    /// Whose job file it was before it was sent as one of ours.
    dialect: Option<String>,
}

/// Submits a job file: YAML or JSON, of our own or of another dialect, as it is. Answered once the job is
/// durable. The same `Idempotency-Key` with the same file, `name` and `from` answers with the same job, however often it is sent.
#[utoipa::path(post, path = "/api/v1/jobs", params(SubmitQuery, LangQuery, ("Idempotency-Key" = Option<String>, Header)),
    request_body(content((String = "application/yaml"), (Handed = "application/vnd.trainmaster.handed+json"))),
    responses((status = 201, body = Submitted), (status = 200, description = "The key was known, or a dry run", body = SubmitAnswer),
        (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn submit(
    State(app): AppState,
    Caller(holder): Caller,
    asked: (Query<SubmitQuery>, Language),
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<SubmitAnswer>), Error> {
    let (Query(query), Language(lang)) = asked;
    let key = idempotency_key(&headers, &query, &body)?;
    let sent = Sent::read(headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes), &body)?;
    let given = Given { name: query.name.clone(), otherwise: None, user: Some(holder.user.clone()) };
    if let Some(key) = key.as_ref().filter(|_| !query.dry_run)
        && let Some(mut answer) = repeated(&app, (&holder.user, key), lang).await?
    {
        answer.report = report_of(&sent.spec, &given);
        return Ok((StatusCode::OK, Json(SubmitAnswer::Submitted(answer))));
    }
    let Translation { mut spec, mut plan, report } = read_job_file(&app, &holder, (&query, &given), &sent.spec).await?;
    plan.origin = origin(&app, &holder, &query, &report).await?;
    pin(&app, &holder, (&mut spec, &mut plan)).await?;
    volumes::check_named(&app, &holder, &plan).await?;
    let plan = with_former(&app, &holder, plan).await?;
    let remarks = remarks(&plan, &app.house);
    let notes: Vec<String> = remarks.iter().map(|words| words.say(lang).to_owned()).collect();
    if query.dry_run {
        let ours = (!report.dialect.is_empty()).then(|| to_yaml(&spec));
        let dialect = if report.dialect.is_empty() { OUR_DIALECT.into() } else { report.dialect };
        let planned = Planned { dialect, report: report.notes, notes, plan: PlanView::from(&plan), ours };
        return Ok((StatusCode::OK, Json(SubmitAnswer::Planned(planned.into()))));
    }
    let upload = uploads::named(&app, &plan).await?;
    crate::crash::point("submit.before-tx");
    let id = fresh_job_id()?;
    let name = plan.name.to_string();
    let (secrets, seal) = (spec.take_secrets(), app.seal.clone());
    let original = sent.kept(&given);
    let spec = serde_json::to_string(&spec).map_err(|error| Error::Internal(error.to_string()))?;
    let new = NewJob { id, owner: holder.user, spec, plan, notes: remarks, at_ms: now_ms(), key: key.clone() };
    let submit = move |sql: &Sql<'_>| {
        let submission = take_in(sql, &new, (upload, original))?;
        if let Submission::Made { .. } = submission {
            secrets::keep_of_job(sql, &seal, new.id, &secrets)?;
        }
        Ok(submission)
    };
    let submission = app.store.write(submit).await?;
    crate::crash::point("submit.after-commit-before-reply");
    let (status, id, name, version) = match submission {
        Submission::Made { version } => (StatusCode::CREATED, id, name, version),
        Submission::Known { id, name, version } => (StatusCode::OK, id, name.to_string(), version),
        Submission::KeyUsedForOther => return Err(Error::KeyReused(key.map(|key| key.text).unwrap_or_default())),
    };
    app.nudge.came();
    let report = Some(report).filter(|it: &Report| !it.dialect.is_empty());
    Ok((status, Json(SubmitAnswer::Submitted(Submitted { id: id.to_string(), name, version, notes, report }))))
}

/// The answer to a submission that was taken in before, if this key was. It is looked for before anything else: the job is there, whatever
/// has become of the volumes, secrets and rules by which it was judged.
async fn repeated(app: &App, (owner, key): (&str, &Key), lang: Lang) -> Result<Option<Submitted>, Error> {
    let (owner, wanted) = (owner.to_owned(), key.clone());
    match app.store.glance(move |sql| jobs::known(sql, &owner, &wanted)).await? {
        None | Some(Submission::Made { .. }) => Ok(None),
        Some(Submission::KeyUsedForOther) => Err(Error::KeyReused(key.text.clone())),
        Some(Submission::Known { id, name, version }) => {
            let notes = app.store.read(move |sql| events::told(sql, id, jobs::NOTE)).await?;
            let notes = notes.iter().map(|words| words.say(lang).to_owned()).collect();
            Ok(Some(Submitted { id: id.to_string(), name: name.to_string(), version, notes, report: None }))
        }
    }
}

/// What became of each field of another system's file.
fn report_of(spec: &[u8], given: &Given) -> Option<Report> {
    let (_, report) = dialect::read(std::str::from_utf8(spec).ok()?, given).ok()?;
    Some(report).filter(|it| !it.dialect.is_empty())
}

/// The job with the folder it names and the file it was made from, which stay for as long as the job does.
fn take_in(sql: &Sql<'_>, new: &NewJob, (upload, original): (Option<Named>, Option<Original>)) -> Result<Submission, StoreError> {
    let submission = jobs::submit(sql, new)?;
    if let Submission::Made { .. } = submission {
        upload.iter().try_for_each(|it| store::uploads::note(sql, new.id, &it.facts))?;
        original.iter().try_for_each(|it| originals::keep(sql, new.id, it))?;
    }
    Ok(submission)
}

async fn origin(app: &App, holder: &Holder, query: &SubmitQuery, report: &Report) -> Result<Origin, Error> {
    const CHARACTERS_MAX: usize = 200;
    let short = |text: &String| Some(text.chars().take(CHARACTERS_MAX).collect()).filter(|it: &String| !it.is_empty());
    let own = Some(&report.dialect).filter(|it| !it.is_empty());
    let (dialect, file) = (query.dialect.as_ref().or(own).and_then(short), query.file.as_ref().and_then(short));
    let Some(text) = &query.from else { return Ok(Origin { dialect, file, rerun_of: None }) };
    // Whoever is submitted again still came from the file that the first came from.
    let former = found(app, holder, text).await?;
    let first = former.plan.origin.clone();
    Ok(Origin { dialect: dialect.or(first.dialect), file: file.or(first.file), rerun_of: Some(self::former(&former)) })
}

fn former(job: &Job) -> FormerJob {
    let chief = layout::chief(&job.plan).map(|task| task.to_string()).unwrap_or_default();
    FormerJob { id: job.id, label: label(job), chief }
}

/// A job that begins with another's output begins with that of the job that has the name now.
async fn with_former(app: &App, holder: &Holder, mut plan: Plan) -> Result<Plan, Error> {
    if let Some(Beginning::Job(text)) = &plan.freight.from {
        let former = found(app, holder, text).await?;
        if !former.state.is_over() {
            return Err(Error::NotOverYet { job: label(&former), state: former.state });
        }
        plan.freight.from = Some(Beginning::Former(self::former(&former)));
    }
    Ok(plan)
}

fn idempotency_key(headers: &HeaderMap, query: &SubmitQuery, body: &[u8]) -> Result<Option<Key>, Error> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    if text.is_empty() || text.len() > KEY_LENGTH_MAX {
        return Err(Error::BadValue {
            name: "Idempotency-Key", value: text, wanted: ("1 to 200 characters", "1 到 200 个字符").into()
        });
    }
    Ok(Some(Key { text, body_hash: hash_of(query, body) }))
}

/// What of a request makes the job: the file, the name it is given and the job it begins with. Where there is only the file, it is the hash
/// of that alone, as it always was.
fn hash_of(query: &SubmitQuery, body: &[u8]) -> String {
    let file = hex(&Sha256::digest(body));
    if query.name.is_none() && query.from.is_none() {
        return file;
    }
    let parts = serde_json::json!([file, query.name, query.from]);
    hex(&Sha256::digest(parts.to_string()))
}

async fn read_job_file(app: &App, holder: &Holder, (query, given): (&SubmitQuery, &Given), body: &[u8]) -> Result<Translation, Error> {
    if body.len() > JOB_FILE_BYTES_MAX {
        return Err(Error::TooLarge { most_bytes: JOB_FILE_BYTES_MAX });
    }
    let wanted = said!("text in UTF-8", "UTF-8 文本");
    let text = std::str::from_utf8(body).map_err(|error| Error::BadValue { name: "body", value: error.to_string(), wanted })?;
    let mut translated = algorithms::naming::translated(app, holder, (text, given)).await?;
    let kept = match &query.from {
        Some(from) => secrets_of(app, holder, from).await?,
        None => Default::default(),
    };
    fill_masked(&mut translated.spec, &kept).map_err(Error::BadSpec)?;
    named_ones_are_kept(app, holder, &translated.plan.secrets).await?;
    Ok(translated)
}

async fn secrets_of(app: &App, holder: &Holder, job: &str) -> Result<SecretValues, Error> {
    let (job, seal) = (found(app, holder, job).await?.id, app.seal.clone());
    Ok(app.store.read(move |sql| secrets::of_job(sql, &seal, job)).await?)
}

/// A job that names a secret nobody keeps would wait in the queue only to fail.
async fn named_ones_are_kept(app: &App, holder: &Holder, wanted: &BTreeMap<String, SecretPlan>) -> Result<(), Error> {
    if wanted.values().all(|secret| secret.named.is_none()) {
        return Ok(());
    }
    let owner = holder.user.clone();
    let kept: Vec<String> = app.store.read(move |sql| secrets::list(sql, &owner)).await?.into_iter().map(|it| it.name).collect();
    let there = match kept.as_slice() {
        [] => said!("you keep none", "你还没有保存任何密钥"),
        some => Words::new(format!("you keep {}", some.join(", ")), format!("你保存的有 {}", some.join("、"))),
    };
    let missing = wanted.iter().filter_map(|(name, secret)| Some((name, secret.named.as_ref().filter(|it| !kept.contains(it))?)));
    let problem = |(name, gone): (&String, &String)| {
        Problem::new(format!("secrets.{name}.named"), said!("you have no secret `{gone}`", "你没有密钥 `{gone}`").then(&there))
            .hint(said!("keep it first: `trainmaster secrets set {gone}`", "请先保存它：`trainmaster secrets set {gone}`"))
    };
    let problems: Vec<Problem> = missing.map(problem).collect();
    if problems.is_empty() { Ok(()) } else { Err(Error::BadSpec(problems)) }
}

fn fresh_job_id() -> Result<JobId, Error> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
    Ok(JobId::new(now_ms(), &random))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_stands_for_the_file_and_for_what_else_makes_the_job() {
        let query = |name: Option<&str>, from: Option<&str>| {
            let of = |it: Option<&str>| it.map(str::to_owned);
            SubmitQuery { dry_run: false, name: of(name), from: of(from), file: None, dialect: None }
        };
        let hash = |name, from| hash_of(&query(name, from), b"{}");
        assert_eq!(hash(None, None), hex(&Sha256::digest(b"{}")), "keys of old stay what they were");
        let all = [hash(None, None), hash(Some("a"), None), hash(Some("b"), None), hash(None, Some("a")), hash(Some("a"), Some("a"))];
        assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), all.len());
        assert_eq!(hash(Some("a"), Some("b")), hash(Some("a"), Some("b")));
    }
}
