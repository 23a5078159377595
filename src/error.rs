//! Everything that can go wrong where a person waits for an answer from the API.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, header},
    response::{IntoResponse, Response},
};
use model::{
    bundle::TooMuch,
    job::{JobEvent, JobState},
    speaks,
    spec::Problem,
    wire::ErrorBody,
    words::Words,
};

use crate::{
    store::StoreError,
    volumes::{Trouble, VolumeError},
};

mod face;
#[cfg(test)]
mod tests;

use face::Face;

#[derive(Debug)]
pub enum Error {
    NoSuchJob(String),
    NoSuchTask(String, String),
    NoSuchNode(String),
    NoSuchVolume(String),
    VolumeTaken(String),
    VolumeInUse { volume: String, job: String },
    VolumeHasDatasets { volume: String, datasets: Vec<String> },
    NoSuchAlgorithm(String),
    NoSuchAlgorithmVersion { algorithm: String, version: String },
    AlgorithmTaken(String),
    BadAlgorithm(Vec<Problem>),
    Volume(VolumeError),
    NoSuchDataset(String),
    NoSuchDatasetVersion { dataset: String, version: String },
    DatasetTaken(String),
    NoSuchRun(String),
    NoSuchRoute(String),
    WrongMethod(String),
    Refused { job: String, state: JobState, event: JobEvent },
    NotOver { job: String, state: JobState },
    NotOverYet { job: String, state: JobState },
    NotSaved { job: String, why: Words },
    NothingToSync(String),
    TooLate { job: String, state: JobState },
    Changed,
    BadSpec(Vec<Problem>),
    BadValue { name: &'static str, value: String, wanted: Words },
    KeyReused(String),
    NoToken,
    LinkUsed,
    NotFromConsole,
    Forbidden,
    WrongHost(String),
    WrongOrigin(String),
    TooLarge { most_bytes: usize },
    StaleRun,
    WrongOffset { length: u64 },
    DiskFull,
    NoRoom,
    BadUpload(Words),
    TooMuchCode(TooMuch),
    WrongHash(Words),
    NoSuchUpload(String),
    UploadUnfinished { missing: usize },
    NothingUploaded(String),
    NoCode { job: String, why: Words },
    NoInput { job: String, path: String, why: Words },
    Busy,
    StorageFailed(String),
    SetAside(String),
    NoSuchSecret(String),
    Sealed(String),
    Internal(String),
}

impl Error {
    /// What some answers carry for the machine that reads them.
    fn header(&self) -> Option<(HeaderName, HeaderValue)> {
        if let Error::WrongOffset { length } = self {
            Some((HeaderName::from_static("x-length"), HeaderValue::from(*length)))
        } else if let Error::Busy = self {
            Some((header::RETRY_AFTER, HeaderValue::from_static("1")))
        } else if let Error::Volume(VolumeError { trouble: Trouble::Away { retry_after: Some(wait), .. }, .. }) = self {
            Some((header::RETRY_AFTER, HeaderValue::from(wait.as_secs())))
        } else if let Error::NoToken = self {
            Some((header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")))
        } else {
            None
        }
    }
}

speaks!(Error);

impl Error {
    /// What is said of it, in both languages.
    pub fn words(&self) -> Words {
        self.face().message
    }

    /// What is said of it where there is no room for a status.
    pub fn body(&self) -> ErrorBody {
        let Face { code, message, hint, .. } = self.face();
        let (hint, hint_zh) = hint.map(|it| (it.en, it.zh)).unzip();
        let problems =
            if let Error::BadSpec(it) | Error::BadAlgorithm(it) = self { it.iter().map(Into::into).collect() } else { Vec::new() };
        ErrorBody { code: code.into(), message: message.en, hint, message_zh: message.zh, hint_zh, problems }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let mut body = self.body();
        if let Error::Internal(_) = self {
            // The one place an API failure is logged; a caller's own mistake is not our log line.
            tracing::error!(code = body.code, "request failed: {}", body.message);
            body.message = "something went wrong on our side".into();
            body.message_zh = "服务器内部出错".into();
        }
        let mut response = (self.face().status, Json(body)).into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
    }
}

impl From<VolumeError> for Error {
    fn from(error: VolumeError) -> Self {
        Error::Volume(error)
    }
}

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy => Error::Busy,
            StoreError::Full => Error::DiskFull,
            StoreError::Unreadable { what } => Error::SetAside(what),
            StoreError::Broken(why) => Error::StorageFailed(why),
            StoreError::Seal(why) => Error::Sealed(why),
            StoreError::Sql(_) | StoreError::Panicked => Error::Internal(error.to_string()),
        }
    }
}
