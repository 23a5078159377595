//! Submitting a job, or only asking what would be submitted.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use model::{
    dialect::{Given, Report, Translation, translate},
    ids::JobId,
    plan::{PlanView, remarks},
    spec::{JobSpec, fill_masked},
    wire::{ErrorBody, Planned, SubmitAnswer, Submitted},
};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::IntoParams;

use super::{
    App, AppState,
    extract::{Body, Query},
    guard::Caller,
    jobs::found,
};
use crate::{
    control::now_ms,
    error::Error,
    run_token::hex,
    store::{
        jobs::{self, Key, NewJob, Submission},
        tokens::Holder,
    },
};

const KEY_LENGTH_MAX: usize = 200;
const JOB_FILE_BYTES_MAX: usize = 1 << 20;
const OUR_DIALECT: &str = "trainmaster";

#[derive(Deserialize, IntoParams)]
pub struct SubmitQuery {
    /// Only says what would run: the answer is a `Planned`.
    #[serde(default)]
    dry_run: bool,
    /// Names the job, whatever the file says; files of some dialects have no name inside.
    name: Option<String>,
    /// The job whose secrets take the place of `******` in the file: id, name or name@version.
    from: Option<String>,
}

/// Submits a job file: YAML or JSON, of our own or of another dialect, as it is. Answered once the job is
/// durable. The same `Idempotency-Key` with the same file answers with the same job, however often it is sent.
#[utoipa::path(post, path = "/api/v1/jobs", params(SubmitQuery, ("Idempotency-Key" = Option<String>, Header)),
    request_body(content = String, content_type = "application/yaml"),
    responses((status = 201, body = Submitted), (status = 200, description = "The key was known, or a dry run", body = SubmitAnswer),
        (status = 409, body = ErrorBody), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn submit(
    State(app): AppState,
    Caller(holder): Caller,
    Query(query): Query<SubmitQuery>,
    headers: HeaderMap,
    Body(body): Body,
) -> Result<(StatusCode, Json<SubmitAnswer>), Error> {
    let key = idempotency_key(&headers, &body)?;
    let Translation { spec, plan, report } = read_job_file(&app, &holder, &query, &body).await?;
    let notes = remarks(&plan, &app.house);
    if query.dry_run {
        let dialect = if report.dialect.is_empty() { OUR_DIALECT.into() } else { report.dialect };
        let planned = Planned { dialect, report: report.notes, notes, plan: PlanView::from(&plan) };
        return Ok((StatusCode::OK, Json(SubmitAnswer::Planned(planned.into()))));
    }
    crate::crash::point("submit.before-tx");
    let id = fresh_job_id()?;
    let name = plan.name.to_string();
    let spec = serde_json::to_string(&spec).map_err(|error| Error::Internal(error.to_string()))?;
    let new = NewJob { id, owner: holder.user, spec, plan, notes: notes.clone(), at_ms: now_ms(), key: key.clone() };
    let submission = app.store.write(move |sql| jobs::submit(sql, &new)).await?;
    crate::crash::point("submit.after-commit-before-reply");
    let (status, id, name, version) = match submission {
        Submission::Made { version } => (StatusCode::CREATED, id, name, version),
        Submission::Known { id, name, version } => (StatusCode::OK, id, name.to_string(), version),
        Submission::KeyUsedForOther => return Err(Error::KeyReused(key.map(|key| key.text).unwrap_or_default())),
    };
    app.nudge.queue();
    let report = Some(report).filter(|it: &Report| !it.dialect.is_empty());
    Ok((status, Json(SubmitAnswer::Submitted(Submitted { id: id.to_string(), name, version, notes, report }))))
}

fn idempotency_key(headers: &HeaderMap, body: &[u8]) -> Result<Option<Key>, Error> {
    let Some(value) = headers.get("idempotency-key") else { return Ok(None) };
    let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
    if text.is_empty() || text.len() > KEY_LENGTH_MAX {
        return Err(Error::BadValue { name: "Idempotency-Key", value: text, wanted: "1 to 200 characters".into() });
    }
    let body_hash = hex(&Sha256::digest(body));
    Ok(Some(Key { text, body_hash }))
}

async fn read_job_file(app: &App, holder: &Holder, query: &SubmitQuery, body: &[u8]) -> Result<Translation, Error> {
    if body.len() > JOB_FILE_BYTES_MAX {
        return Err(Error::TooLarge { most_bytes: JOB_FILE_BYTES_MAX });
    }
    let wanted: String = "text in UTF-8".into();
    let text = std::str::from_utf8(body).map_err(|error| Error::BadValue { name: "body", value: error.to_string(), wanted })?;
    let given = Given { name: query.name.clone(), otherwise: None, user: Some(holder.user.clone()) };
    let mut translated = translate(text, &given, &app.house).map_err(Error::BadSpec)?;
    let kept = match &query.from {
        Some(from) => secrets_of(app, holder, from).await?,
        None => Default::default(),
    };
    fill_masked(&mut translated.spec, &kept).map_err(Error::BadSpec)?;
    translated.plan.secrets = translated.spec.secrets.clone();
    Ok(translated)
}

async fn secrets_of(app: &App, holder: &Holder, job: &str) -> Result<std::collections::BTreeMap<String, String>, Error> {
    let job = found(app, holder, job).await?;
    let spec: JobSpec = serde_json::from_str(&job.spec).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(spec.secrets)
}

fn fresh_job_id() -> Result<JobId, Error> {
    let mut random = [0; 10];
    getrandom::fill(&mut random).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
    Ok(JobId::new(now_ms(), &random))
}
