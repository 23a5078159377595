//! Telling the server. What is told is on disk already, so nothing is lost when nobody listens.

use std::{
    cell::{Cell, RefCell},
    fs,
    time::Duration,
};

use model::{
    gang::GangView,
    ids::RunKey,
    order::{Report, RunOrder, RunSecrets},
};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::{
    client::{Call, Client, ClientError},
    rundir::{RunDir, side_door},
};

pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
const BACKOFF_FIRST: Duration = Duration::from_millis(50);
const BACKOFF_MAX: Duration = Duration::from_secs(5);

/// How long a supervisor without a running child keeps trying. After that the server reads the exit
/// record by itself when it comes back.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// What came of telling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told<T = ()> {
    /// The server has it, for good.
    Yes(T),
    /// The server is there and does not want it: the attempt is an old one, or the job is deleted.
    Unwanted(String),
    /// Nobody took it in the time there was.
    No(String),
}

/// Where this run's supervisor reports to.
#[derive(Clone)]
pub struct Home {
    client: RefCell<Client>,
    pub run: RunKey,
    /// Once this directory is erased nobody is interested in the run any more.
    dir: RunDir,
}

impl Home {
    pub fn new(client: Client, run: RunKey, dir: RunDir) -> Self {
        Self { client: RefCell::new(client), run, dir }
    }

    pub fn client(&self) -> Client {
        self.client.borrow().clone()
    }

    /// A server that was started again may listen elsewhere; where, it says in its data directory.
    fn look_where_it_is(&self) {
        let card = || -> Option<String> {
            let text = fs::read(self.dir.data()?.join("server.json")).ok()?;
            Some(serde_json::from_slice::<serde_json::Value>(&text).ok()?["url"].as_str()?.to_owned())
        };
        if let Some(there) = card().and_then(|url| self.client().at(&url).ok()) {
            self.client.replace(there);
        }
    }

    /// Tells the server once, in passing. Answers whether it has heard.
    pub fn knock(&self, report: &Report) -> bool {
        let body = serde_json::to_string(report).expect("a report is JSON");
        let door = self.dir.data().map(side_door);
        self.client.borrow().tell_in_passing(door.as_deref(), &self.report_path(), &body)
    }

    fn report_path(&self) -> String {
        format!("/api/v1/runs/{}/report", self.run)
    }

    /// Tells the server, again and again until it has heard or the time is over.
    pub async fn tell(&self, report: &Report, until: Instant) -> Told {
        let body = serde_json::to_vec(report).expect("a report is JSON");
        self.post(&self.report_path(), &body, until).await
    }

    /// The same with anything that is JSON, at any place of the server.
    pub async fn post(&self, path: &str, body: &[u8], until: Instant) -> Told {
        let tell = async || self.client().call(Call::post(path, body.to_vec())).await;
        self.persist(until, async || tell().await.map_or_else(no, |_| Told::Yes(()))).await
    }

    /// Asks what there is to do.
    pub async fn order(&self, until: Instant) -> Told<RunOrder> {
        let path = format!("/api/v1/runs/{}/order", self.run);
        let ask = async || self.client().call(Call::get(&path)).await;
        self.persist(until, async || ask().await.map_or_else(no, read)).await
    }

    /// Asks for what this run alone may know.
    pub async fn secrets(&self, until: Instant) -> Told<RunSecrets> {
        let path = format!("/api/v1/runs/{}/secrets", self.run);
        let ask = async || self.client().call(Call::get(&path)).await;
        self.persist(until, async || ask().await.map_or_else(no, read)).await
    }

    /// Asks whether the gang may begin, and adds the time the answer took to `waited`.
    pub async fn gang(&self, wait: Duration, until: Instant, waited: &Cell<Duration>) -> Told<GangView> {
        let path = format!("/api/v1/runs/{}/gang?wait_ms={}", self.run, wait.as_millis() + 1);
        let ask = async || {
            let began = Instant::now();
            let body = self.client().call(Call::get(&path)).await?;
            waited.set(waited.get() + began.elapsed());
            Ok(body)
        };
        self.persist(until, async || ask().await.map_or_else(no, read)).await
    }

    /// Tries until there is an answer that another try would not change.
    pub async fn persist<T>(&self, until: Instant, mut attempt: impl AsyncFnMut() -> Told<T>) -> Told<T> {
        let mut backoff = BACKOFF_FIRST;
        loop {
            let why = match timeout(CALL_TIMEOUT, attempt()).await {
                Ok(Told::No(why)) => why,
                Ok(told) => return told,
                Err(_) => "no answer in time".to_owned(),
            };
            if timeout_at(until, sleep(backoff)).await.is_err() {
                return Told::No(why);
            }
            self.look_where_it_is();
            if !self.dir.path().exists() {
                return Told::Unwanted("the run's directory is gone".into());
            }
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }
}

fn read<T: DeserializeOwned>(body: bytes::Bytes) -> Told<T> {
    // Where it went wrong is told, and not what stood there: it may be a secret.
    let why = |error: serde_json::Error| Told::Unwanted(format!("an answer that is not understood, at column {}", error.column()));
    serde_json::from_slice(&body).map_or_else(why, Told::Yes)
}

/// A refusal is final, unless it is the kind that passes: too slow, too early, too many.
fn no<T>(error: ClientError) -> Told<T> {
    match &error {
        ClientError::Refused(status, _) if status.is_client_error() && !matches!(status.as_u16(), 408 | 425 | 429) => {
            Told::Unwanted(error.to_string())
        }
        ClientError::Refused(..) | ClientError::Away(..) | ClientError::BadUrl(_) => Told::No(error.to_string()),
    }
}
