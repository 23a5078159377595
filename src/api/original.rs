//! The file that a job was made from, and the plan that it became.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    dialect::{self, Given, Report},
    original::masked,
    plan::PlanView,
    wire::{ErrorBody, HANDED, Handed, OriginalFile},
    words::Words,
};

use super::{AppState, guard::Caller, jobs::found};
use crate::{
    error::Error,
    store::{
        jobs::Job,
        originals::{self, Original},
    },
};

/// Shows the file that a job was made from, as it was handed over, with every secret as `******`, and what became of each field
/// where it was another system's.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/original", params(("job" = String, Path)),
    responses((status = 200, body = OriginalFile), (status = 404, body = ErrorBody)))]
pub async fn original(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<OriginalFile>, Error> {
    let job = found(&app, &holder, &text).await?;
    let id = job.id;
    let kept = app.store.read(move |sql| originals::of_job(sql, id)).await?;
    Ok(Json(told(&job, kept)))
}

/// Shows what a job became: every default filled in, and every script as it is run.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/plan", params(("job" = String, Path)),
    responses((status = 200, body = PlanView), (status = 404, body = ErrorBody)))]
pub async fn plan(State(app): AppState, Caller(holder): Caller, Path(text): Path<String>) -> Result<Json<PlanView>, Error> {
    Ok(Json(PlanView::from(&found(&app, &holder, &text).await?.plan)))
}

fn told(job: &Job, kept: Option<Original>) -> OriginalFile {
    let origin = &job.plan.origin;
    let named = origin.dialect.clone().unwrap_or_default();
    let missing = match &kept {
        Some(Original { text: Some(_), .. }) => None,
        Some(Original { text: None, .. }) => Some(Words::new(
            "one of its secrets is written in a way that could not be masked in the text",
            "其中有一个密钥的写法无法在原文中遮盖",
        )),
        None => Some(why_none(job)),
    };
    let Original { text, report } = kept.unwrap_or(Original { text: None, report: Report::default() });
    let dialect = if report.dialect.is_empty() { named } else { report.dialect };
    OriginalFile {
        title: dialect::title(&dialect).unwrap_or_default().to_owned(),
        dialect,
        file: origin.file.clone(),
        text,
        report: report.notes,
        missing,
    }
}

fn why_none(job: &Job) -> Words {
    match &job.plan.origin.rerun_of {
        Some(former) => Words::new(
            format!("it was made from {}, whose file is there if any is", former.label),
            format!("它由 {} 再次运行而来，原文件（如果有）在那里", former.label),
        ),
        None => Words::new(
            "it came without one, as the spec itself, or before files were kept",
            "提交时没有文件，只有配置本身；或者提交于保存原文件之前",
        ),
    }
}

/// What is sent, and the file that it was made from.
pub struct Sent {
    pub spec: Vec<u8>,
    original: Vec<u8>,
}

impl Sent {
    pub fn read(kind: Option<&[u8]>, body: &[u8]) -> Result<Self, Error> {
        if kind != Some(HANDED.as_bytes()) {
            return Ok(Self { spec: body.to_vec(), original: body.to_vec() });
        }
        let bad = |error: serde_json::Error| Error::BadValue {
            name: "body",
            // The message of a parser may quote what it read, and that may be a secret.
            value: format!("{:?} error", error.classify()),
            wanted: ("a spec and the file it was made from", "作业定义和生成它的文件").into(),
        };
        let Handed { spec, original } = serde_json::from_slice(body).map_err(bad)?;
        Ok(Self { spec: spec.into_bytes(), original: original.into_bytes() })
    }

    /// What somebody wrote.
    pub fn original(&self) -> &[u8] {
        &self.original
    }

    /// What is to be kept. JSON of our own says nothing that the spec does not.
    pub fn kept(self, given: &Given) -> Option<Original> {
        let text = String::from_utf8(self.original).ok()?;
        let is_spec = dialect::is_ours(&text) && text.trim_start().starts_with('{');
        if is_spec || text.len() > super::submit::JOB_FILE_BYTES_MAX {
            return None;
        }
        let report = dialect::read(&text, given).map(|(_, report)| report).unwrap_or_default();
        Some(Original { text: masked(&text), report })
    }
}
