//! Telling the server. What is told is on disk already, so nothing is lost when nobody listens.

use std::time::Duration;

use model::{ids::RunKey, order::Report};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::client::{Call, Client, ClientError};

const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// How long a supervisor whose child has ended keeps trying. After that the server reads the exit record
/// by itself when it comes back.
pub const AFTER_THE_END_MAX: Duration = Duration::from_secs(600);

/// What came of telling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// The server has it, for good.
    Yes,
    /// The server is there and does not want it: the attempt is an old one, or the job is deleted.
    Unwanted,
    /// Nobody took it in the time there was.
    No,
}

/// Where this run's supervisor reports to.
#[derive(Clone)]
pub struct Home {
    pub client: Client,
    pub run: RunKey,
}

impl Home {
    /// Tells the server, again and again until it has heard or the time is over.
    pub async fn tell(&self, report: &Report, until: Instant) -> Told {
        let path = format!("/api/v1/runs/{}/report", self.run);
        let Ok(body) = serde_json::to_vec(report) else { return Told::Unwanted };
        match persist(until, || self.client.call(Call::post(&path, body.clone()))).await {
            Ok(Some(_)) => Told::Yes,
            Ok(None) => Told::Unwanted,
            Err(_) => Told::No,
        }
    }
}

/// Makes a call until there is an answer that another try would not change. `Ok(None)` is a no.
pub async fn persist<T, F>(until: Instant, mut call: impl FnMut() -> F) -> Result<Option<T>, ClientError>
where
    F: Future<Output = Result<T, ClientError>>,
{
    let mut backoff = BACKOFF_FIRST;
    loop {
        let away = match timeout(CALL_TIMEOUT, call()).await {
            Ok(Ok(answer)) => return Ok(Some(answer)),
            Ok(Err(ClientError::Refused(status, _))) if status.is_client_error() && !is_passing(status.as_u16()) => return Ok(None),
            Ok(Err(error)) => error,
            Err(_) => ClientError::Away(String::new(), "no answer in time".into()),
        };
        if timeout_at(until, sleep(backoff)).await.is_err() {
            return Err(away);
        }
        backoff = (backoff * 2).min(BACKOFF_MAX);
    }
}

/// Too slow, too early, too many: the server may want it later.
fn is_passing(status: u16) -> bool {
    matches!(status, 408 | 425 | 429)
}
