//! Everything that can go wrong where a person waits for an answer from the API.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use model::{
    bundle::TooMuch,
    job::{JobEvent, JobState},
    spec::Problem,
    wire::ErrorBody,
};

use crate::{
    store::StoreError,
    volumes::{Trouble, VolumeError},
};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no job `{0}`")]
    NoSuchJob(String),
    #[error("job {0} has no task `{1}`")]
    NoSuchTask(String, String),
    #[error("there is no node `{0}`")]
    NoSuchNode(String),
    #[error("there is no volume `{0}`")]
    NoSuchVolume(String),
    #[error("there is a volume `{0}` already")]
    VolumeTaken(String),
    #[error("volume `{volume}` is used by {job}, which is not over")]
    VolumeInUse { volume: String, job: String },
    #[error("{0}")]
    Volume(#[from] VolumeError),
    #[error("there is no run `{0}`")]
    NoSuchRun(String),
    #[error("there is nothing at {0}")]
    NoSuchRoute(String),
    #[error("{0} does not take this method")]
    WrongMethod(String),
    #[error("{job} is {} and cannot take {event:?}", .state.text())]
    Refused { job: String, state: JobState, event: JobEvent },
    #[error("{job} is {} and can only be deleted once it is over", .state.text())]
    NotOver { job: String, state: JobState },
    #[error("{job} is {}, and another job can begin with its output only once it is over", .state.text())]
    NotOverYet { job: String, state: JobState },
    #[error("{job} has output that is not saved: {why}")]
    NotSaved { job: String, why: String },
    #[error("{0} has no output that is still to be saved")]
    NothingToSync(String),
    #[error("{job} is {} and its duration no longer matters", .state.text())]
    TooLate { job: String, state: JobState },
    #[error("the job changed while this was being done to it")]
    Changed,
    #[error("the job file has {}", counted(.0.len()))]
    BadSpec(Vec<Problem>),
    #[error("{name} = `{value}` is not {wanted}")]
    BadValue { name: &'static str, value: String, wanted: String },
    #[error("idempotency key `{0}` was used for another job")]
    KeyReused(String),
    #[error("the request carries no token that is known here")]
    NoToken,
    #[error("the link was used already, or is too old")]
    LinkUsed,
    #[error("a session's cookie counts only in requests of the console's own page")]
    NotFromConsole,
    #[error("this token may not do that")]
    Forbidden,
    #[error("`{0}` is not a name of this server")]
    WrongHost(String),
    #[error("requests from pages of `{0}` are not taken")]
    WrongOrigin(String),
    #[error("the body is larger than {most_bytes} bytes")]
    TooLarge { most_bytes: usize },
    #[error("the run is over, or belongs to an earlier attempt")]
    StaleRun,
    #[error("the server has {length} bytes of it")]
    WrongOffset { length: u64 },
    #[error("no room is left on the disk that holds the database")]
    DiskFull,
    #[error("no room is left on the disk that holds the uploads")]
    NoRoom,
    #[error("{0}")]
    BadUpload(String),
    #[error("{0}")]
    TooMuchCode(TooMuch),
    #[error("a content is not what it should be: {0}")]
    WrongHash(String),
    #[error("there is no upload `{0}`")]
    NoSuchUpload(String),
    #[error("{missing} files of the upload have not come whole")]
    UploadUnfinished { missing: usize },
    #[error("job {0} has no uploaded folder")]
    NothingUploaded(String),
    #[error("the files of {job}'s code are not here: {why}")]
    NoCode { job: String, why: String },
    #[error("{path} of {job} is not here: {why}")]
    NoInput { job: String, path: String, why: String },
    #[error("the database is busy")]
    Busy,
    #[error("the server takes nothing new since its disk failed: {0}")]
    StorageFailed(String),
    #[error("{0} cannot be read from the database and was set aside; nothing is done to it")]
    SetAside(String),
    #[error("there is no secret `{0}`")]
    NoSuchSecret(String),
    #[error("{0}")]
    Sealed(String),
    #[error("{0}")]
    Internal(String),
}

fn counted(problems: usize) -> String {
    if problems == 1 { "a problem".into() } else { format!("{problems} problems") }
}

impl Error {
    /// How the error shows itself: status for machines, code for scripts, hint for people.
    /// One match, so a new variant cannot forget any of the three.
    fn face(&self) -> (StatusCode, &'static str, Option<String>) {
        use StatusCode as S;
        let hint = |text: &str| Some(text.to_owned());
        match self {
            Error::NoSuchJob(_) => (S::NOT_FOUND, "no_such_job", hint("`trainmaster list --all` shows the jobs there are")),
            Error::NoSuchTask(job, _) => (S::NOT_FOUND, "no_such_task", Some(format!("`trainmaster show {job}` shows its tasks"))),
            Error::NoSuchNode(_) => (S::NOT_FOUND, "no_such_node", hint("`trainmaster nodes` shows the nodes there are")),
            Error::NoSuchVolume(_) => (S::NOT_FOUND, "no_such_volume", hint("`trainmaster volumes list` shows the volumes there are")),
            Error::VolumeTaken(_) => {
                (S::CONFLICT, "volume_taken", hint("give it another name, or remove the old one with `trainmaster volumes remove`"))
            }
            Error::VolumeInUse { .. } => (S::CONFLICT, "volume_in_use", hint("wait until the job is over, or stop it")),
            Error::Volume(error) => match &error.trouble {
                Trouble::Away { .. } => {
                    (S::SERVICE_UNAVAILABLE, "volume_away", hint("try again in a moment; `trainmaster volumes test` says more"))
                }
                Trouble::Denied { .. } => (
                    S::FAILED_DEPENDENCY,
                    "volume_denied",
                    hint("the keys of the volume are wrong or may not do that; remove it and add it with others"),
                ),
                Trouble::Missing { .. } => (S::NOT_FOUND, "no_such_file", hint("`trainmaster files ls` shows what is there")),
                Trouble::Full { .. } => (S::INSUFFICIENT_STORAGE, "volume_full", hint("free some space there")),
                Trouble::Changed { .. } => (S::PRECONDITION_FAILED, "file_changed", hint("begin again from its start")),
                Trouble::Never { .. } => (S::UNPROCESSABLE_ENTITY, "volume_refused", None),
            },
            Error::NoSuchRun(_) => (S::NOT_FOUND, "no_such_run", hint("`trainmaster lost` shows the runs that are on the disk alone")),
            Error::NoSuchRoute(_) => (S::NOT_FOUND, "no_such_route", hint("the routes are listed at /api/v1/openapi.json")),
            Error::WrongMethod(_) => (S::METHOD_NOT_ALLOWED, "wrong_method", hint("the routes are listed at /api/v1/openapi.json")),
            Error::Refused { state, .. } if state.is_over() => {
                (S::CONFLICT, "already_over", hint("submit it again with `trainmaster rerun`"))
            }
            Error::Refused { .. } => (S::CONFLICT, "refused", None),
            Error::NotOver { .. } => (S::CONFLICT, "not_over", hint("stop it first with `trainmaster stop`, or use `delete --stop`")),
            Error::NotOverYet { .. } => (S::CONFLICT, "not_over", hint("wait for it with `trainmaster wait`, or stop it")),
            Error::NotSaved { .. } => {
                (S::CONFLICT, "not_saved", hint("save it with `trainmaster sync`, or delete it all the same with `delete --force`"))
            }
            Error::NothingToSync(_) => (S::CONFLICT, "nothing_to_sync", hint("`trainmaster show` tells what was saved, and where")),
            Error::TooLate { .. } => (S::CONFLICT, "already_over", hint("submit it again with `trainmaster rerun`")),
            Error::Changed => (S::CONFLICT, "changed", hint("look at it again with `trainmaster show`, then repeat")),
            Error::BadSpec(problems) => (S::UNPROCESSABLE_ENTITY, "bad_spec", problems.first().map(|it| format!("start with {it}"))),
            Error::BadValue { .. } => (S::BAD_REQUEST, "bad_value", None),
            Error::KeyReused(_) => (S::CONFLICT, "key_reused", hint("use a new key for a new job")),
            Error::NoToken => (S::UNAUTHORIZED, "no_token", hint("send `Authorization: Bearer …`, or run `trainmaster login`")),
            Error::LinkUsed => (S::UNAUTHORIZED, "link_used", hint("`trainmaster console` prints a new one")),
            Error::NotFromConsole => (S::FORBIDDEN, "not_from_console", hint("load the page again and log in")),
            Error::Forbidden => (S::FORBIDDEN, "forbidden", hint("ask an administrator")),
            Error::WrongHost(_) => {
                (S::MISDIRECTED_REQUEST, "wrong_host", hint("start the server with `--allow-host` if this name is meant to be its own"))
            }
            Error::WrongOrigin(_) => (S::FORBIDDEN, "wrong_origin", None),
            Error::TooLarge { .. } => (S::PAYLOAD_TOO_LARGE, "too_large", None),
            Error::StaleRun => (S::GONE, "stale_run", None),
            Error::WrongOffset { .. } => (S::CONFLICT, "wrong_offset", None),
            Error::DiskFull => (S::INSUFFICIENT_STORAGE, "disk_full", hint("free some space and try again; running tasks go on")),
            Error::NoRoom => {
                (S::INSUFFICIENT_STORAGE, "no_room", hint("free some space and try again; what has come so far is not sent a second time"))
            }
            Error::BadUpload(_) => (S::UNPROCESSABLE_ENTITY, "bad_upload", hint("`trainmaster submit` uploads a folder as it should be")),
            Error::TooMuchCode(_) => (S::PAYLOAD_TOO_LARGE, "too_much_code", hint(TooMuch::HINT)),
            Error::WrongHash(_) => {
                (S::UNPROCESSABLE_ENTITY, "wrong_hash", hint("a file may have changed while it was read; send it again"))
            }
            Error::NoSuchUpload(_) => (S::NOT_FOUND, "no_such_upload", hint("upload the folder again: `trainmaster submit` does so")),
            Error::UploadUnfinished { .. } => {
                (S::CONFLICT, "upload_unfinished", hint("begin the upload again: the answer says what is missing"))
            }
            Error::NothingUploaded(job) => {
                (S::NOT_FOUND, "nothing_uploaded", Some(format!("`trainmaster show {job}` says where its code came from")))
            }
            Error::NoCode { .. } => (S::NOT_FOUND, "no_code", hint("`trainmaster diff` without --code says what is known of it")),
            Error::NoInput { .. } => (S::NOT_FOUND, "no_input", hint("`trainmaster show JOB --plan` says where its inputs come from")),
            Error::Busy => (S::SERVICE_UNAVAILABLE, "busy", hint("try again in a moment")),
            Error::StorageFailed(_) => {
                (S::SERVICE_UNAVAILABLE, "storage_failed", hint("mend the disk, then start the server again; running tasks go on"))
            }
            Error::SetAside(_) => {
                (S::INTERNAL_SERVER_ERROR, "set_aside", hint("`trainmaster doctor` lists what was set aside; the rest goes on"))
            }
            Error::NoSuchSecret(_) => (S::NOT_FOUND, "no_such_secret", hint("`trainmaster secrets list` shows yours")),
            Error::Sealed(_) => (S::INTERNAL_SERVER_ERROR, "sealed", hint("the server's owner has to put its key of secrets back")),
            Error::Internal(_) => (S::INTERNAL_SERVER_ERROR, "internal", hint("the server's own log says more")),
        }
    }
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

impl Error {
    /// What is said of it where there is no room for a status.
    pub fn body(&self) -> ErrorBody {
        let (_, code, hint) = self.face();
        ErrorBody { code: code.into(), message: self.to_string(), hint, problems: Vec::new() }
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        let (status, code, hint) = self.face();
        let mut message = self.to_string();
        if let Error::Internal(_) = self {
            // The one place an API failure is logged; a caller's own mistake is not our log line.
            tracing::error!(code, "request failed: {message}");
            message = "something went wrong on our side".into();
        }
        let problems = if let Error::BadSpec(problems) = &self { problems.iter().map(Into::into).collect() } else { Vec::new() };
        let mut response = (status, Json(ErrorBody { code: code.into(), message, hint, problems })).into_response();
        if let Some((name, value)) = self.header() {
            response.headers_mut().insert(name, value);
        }
        response
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
