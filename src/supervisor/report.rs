//! Telling the server. What is told is on disk already, so nothing is lost when nobody listens.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::{Path, PathBuf},
    time::Duration,
};

use model::{
    ids::RunKey,
    order::{Report, RunOrder},
};
use tokio::time::{Instant, sleep, timeout, timeout_at};

use crate::client::{Call, Client, ClientError};

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
    pub client: Client,
    pub run: RunKey,
    token: String,
    /// Once this directory is erased nobody is interested in the run any more.
    dir: PathBuf,
}

impl Home {
    pub fn new(server: &str, token: String, run: RunKey, dir: &Path) -> Result<Self, ClientError> {
        Ok(Self { client: Client::new(server, token.clone())?, run, token, dir: dir.to_owned() })
    }

    /// One quick try on a bare socket, at a server that is there and has nothing to say but yes. Anything
    /// else is for [`Home::tell`]: the whole client with its runtime costs more than a short task does.
    pub fn knock(&self, report: &Report) -> bool {
        self.try_to_knock(report).unwrap_or(false)
    }

    fn try_to_knock(&self, report: &Report) -> io::Result<bool> {
        const QUICK: Duration = Duration::from_secs(1);
        let url = self.client.url();
        let host = url.trim_start_matches("http://");
        let address: SocketAddr = host.parse().map_err(io::Error::other)?;
        let mut line = TcpStream::connect_timeout(&address, QUICK)?;
        line.set_read_timeout(Some(QUICK))?;
        let body = serde_json::to_string(report)?;
        let head = format!(
            "POST /api/v1/runs/{}/report HTTP/1.1\r\nhost: {host}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.run,
            self.token,
            body.len()
        );
        line.write_all((head + &body).as_bytes())?;
        let mut answer = [0; 12];
        line.read_exact(&mut answer)?;
        Ok(answer.starts_with(b"HTTP/1.1 2"))
    }

    /// Tells the server, again and again until it has heard or the time is over.
    pub async fn tell(&self, report: &Report, until: Instant) -> Told {
        let path = format!("/api/v1/runs/{}/report", self.run);
        let body = serde_json::to_vec(report).expect("a report is JSON");
        let tell = async || self.client.call(Call::post(&path, body.clone())).await;
        self.persist(until, async || tell().await.map_or_else(no, |_| Told::Yes(()))).await
    }

    /// Asks what there is to do.
    pub async fn order(&self, until: Instant) -> Told<RunOrder> {
        let path = format!("/api/v1/runs/{}/order", self.run);
        let ask = async || self.client.call(Call::get(&path)).await;
        let read = |body: bytes::Bytes| serde_json::from_slice(&body).map_or_else(|error| Told::Unwanted(error.to_string()), Told::Yes);
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
            if !self.dir.exists() {
                return Told::Unwanted("the run's directory is gone".into());
            }
            backoff = (backoff * 2).min(BACKOFF_MAX);
        }
    }
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
