//! Shipping a run's output to a server that does not share our disk: by offset, so that nothing is
//! doubled and nothing left out, however often the line is cut.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    time::Duration,
};

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::StatusCode;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use super::report::{Home, Told};
use crate::{client::Call, rundir::RunDir};

const CHUNK_BYTES_MAX: usize = 256 << 10;
const BETWEEN_LOOKS: Duration = Duration::from_millis(200);

/// One file on its way.
struct Freight {
    path: PathBuf,
    /// What the server calls it.
    name: &'static str,
    shipped_bytes: u64,
}

/// The files of a run on their way.
pub struct Shipment {
    home: Home,
    freights: [Freight; 3],
}

#[derive(Deserialize)]
struct Length {
    length: u64,
}

impl Shipment {
    pub fn new(home: Home, dir: &RunDir) -> Self {
        // The bytes go before their index: a reader at the server never hears of bytes that are not there.
        let freight = |path: PathBuf, name| Freight { path, name, shipped_bytes: 0 };
        let freights = [freight(dir.provenance(), "provenance"), freight(dir.log(), "log"), freight(dir.index(), "index")];
        Self { home, freights }
    }

    /// Ships what comes while the child runs. Ends only when the server wants no more.
    pub async fn keep_shipping(&mut self) {
        const WHILE_IT_RUNS: Duration = Duration::from_secs(365 * 24 * 3600);
        while let Told::Yes(()) = self.ship(Instant::now() + WHILE_IT_RUNS).await {
            sleep(BETWEEN_LOOKS).await;
        }
    }

    /// Ships what is there now.
    pub async fn ship(&mut self, until: Instant) -> Told {
        for freight in &mut self.freights {
            loop {
                let chunk = match read_chunk(&freight.path, freight.shipped_bytes) {
                    Ok(chunk) if chunk.is_empty() => break,
                    Ok(chunk) => chunk,
                    Err(error) => return Told::Unwanted(error.to_string()),
                };
                match self.home.persist(until, async || freight.send(&self.home, chunk.clone()).await).await {
                    Told::Yes(length) => freight.shipped_bytes = length,
                    Told::Unwanted(why) => return Told::Unwanted(why),
                    Told::No(why) => return Told::No(why),
                }
            }
        }
        Told::Yes(())
    }
}

impl Freight {
    /// Answers how much of the file the server has now. If that is not what we thought, the answer is
    /// where to go on from.
    async fn send(&self, home: &Home, chunk: Bytes) -> Told<u64> {
        let path = format!("/api/v1/runs/{}/output?file={}&offset={}", home.run, self.name, self.shipped_bytes);
        let call = Call { headers: vec![("content-type", "application/octet-stream".into())], ..Call::post(&path, chunk) };
        let answer = match home.client().connect().await {
            Ok(line) => line.answer(call).await,
            Err(error) => Err(error),
        };
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return Told::No(error.to_string()),
        };
        let status = answer.status();
        if status == StatusCode::CONFLICT {
            let length = answer.headers().get("x-length").and_then(|it| it.to_str().ok()?.parse().ok());
            return length.map_or_else(|| Told::Unwanted("the server does not say how much it has".into()), Told::Yes);
        }
        if status.is_client_error() {
            return Told::Unwanted(status.to_string());
        }
        let body = answer.into_body().collect().await.map(|body| body.to_bytes());
        match body.map_err(|error| error.to_string()).and_then(|body| read_length(status, &body)) {
            Ok(length) => Told::Yes(length),
            Err(why) => Told::No(why),
        }
    }
}

fn read_length(status: StatusCode, body: &[u8]) -> Result<u64, String> {
    if !status.is_success() {
        return Err(status.to_string());
    }
    serde_json::from_slice::<Length>(body).map(|it| it.length).map_err(|error| error.to_string())
}

fn read_chunk(path: &Path, offset: u64) -> io::Result<Bytes> {
    let mut chunk = vec![0; CHUNK_BYTES_MAX];
    let file = match File::open(path) {
        // Nothing was written so far.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Bytes::new()),
        opened => opened?,
    };
    let read = file.read_at(&mut chunk, offset)?;
    chunk.truncate(read);
    Ok(chunk.into())
}
