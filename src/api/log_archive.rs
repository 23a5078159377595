//! Logs of a job as one archive, made as it is read by whoever asked.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
};

use axum::{
    body::Body,
    extract::{Path, State},
    http::header,
    response::{IntoResponse, Response},
};
use flate2::{Compression, write::GzEncoder};
use futures_util::stream;
use model::{ids::RunKey, logs::Gap, wire::ErrorBody};
use serde::Deserialize;
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::{
    AppState,
    archive::{Pieces, Piecewise},
    extract::Query,
    follow::{watched::Wanted, words},
    guard::Caller,
    jobs, lines,
    log_files::{Block, LogFiles},
    logs::tasks_of,
};
use crate::{error::Error, rundir::RunDir};

const PIECES_WAITING_MAX: usize = 8;
const BLOCK_BYTES: u64 = 256 << 10;

#[derive(Deserialize, IntoParams)]
pub struct ArchiveQuery {
    /// Only these tasks, with commas; all if not given.
    task: Option<String>,
    /// Only these roles, with commas.
    role: Option<String>,
    /// A number, or `newest` of each task; all if not given.
    attempt: Option<String>,
}

/// The logs of a job's tasks as a compressed tar file: `digits-3/worker-0.1.log` for the first attempt of worker-0 of digits@3.
#[utoipa::path(get, path = "/api/v1/jobs/{job}/logs/archive", params(("job" = String, Path), ArchiveQuery),
    responses((status = 200, content_type = "application/gzip", body = String), (status = 404, body = ErrorBody)))]
pub async fn archive(
    State(app): AppState,
    Caller(holder): Caller,
    Path(text): Path<String>,
    Query(query): Query<ArchiveQuery>,
) -> Result<Response, Error> {
    let job = jobs::found(&app, &holder, &text).await?;
    let tasks = query.task.as_deref().map(|list| tasks_of(&job, list));
    let attempt = match query.attempt.as_deref() {
        None | Some("newest") => None,
        Some(text) => Some(text.parse().map_err(|_| Error::BadValue {
            name: "attempt",
            value: text.into(),
            wanted: ("a number or `newest`", "数字或 `newest`").into(),
        })?),
    };
    let wanted = Wanted { tasks: tasks.transpose()?, roles: query.role.as_deref().map(words), attempt };
    let chosen = lines::chosen(&app, &job, &wanted, query.attempt.as_deref() == Some("newest")).await?;
    let folder = format!("{}-{}", job.name, job.version);
    let (sender, receiver) = mpsc::channel(PIECES_WAITING_MAX);
    let (data, name) = (app.data.clone(), format!("attachment; filename=\"{folder}-logs.tar.gz\""));
    tokio::task::spawn_blocking(move || {
        let runs: Vec<(RunKey, RunDir)> = chosen.into_iter().map(|(run, _)| (run.clone(), RunDir::new(&data, &run))).collect();
        write(&folder, &runs, sender);
    });
    let body = stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) });
    Ok(([(header::CONTENT_TYPE, "application/gzip".to_owned()), (header::CONTENT_DISPOSITION, name)], Body::from_stream(body))
        .into_response())
}

/// What goes wrong cuts the answer, so that nobody takes half an archive for a whole one.
fn write(folder: &str, runs: &[(RunKey, RunDir)], pieces: Pieces) {
    let mut archive = Builder::new(GzEncoder::new(Piecewise::new(pieces.clone()), Compression::fast()));
    let written = runs.iter().try_for_each(|(run, dir)| log(&mut archive, &format!("{folder}/{}.{}.log", run.task, run.attempt), dir));
    let ended = written.and_then(|()| archive.into_inner()?.finish()?.flush());
    if let Err(error) = ended {
        // Nobody may be left to hear it.
        let _heard = pieces.blocking_send(Err(error));
    }
}

fn log<W: Write>(archive: &mut Builder<W>, name: &str, dir: &RunDir) -> io::Result<()> {
    let Some(log) = AsItWas::open(dir)? else { return Ok(()) };
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(log.size());
    header.set_mode(0o644);
    header.set_mtime(log.modified_s());
    archive.append_data(&mut header, name, log)
}

/// A log of the length it had when it was opened, since an archive says a length before the bytes. What is dropped meanwhile is
/// filled up with empty lines behind the word on it.
struct AsItWas {
    files: LogFiles,
    gap: Option<Gap>,
    at: u64,
    end: u64,
    ready: VecDeque<u8>,
}

impl AsItWas {
    fn open(dir: &RunDir) -> io::Result<Option<Self>> {
        let Some(files) = LogFiles::open(dir)? else { return Ok(None) };
        let (gap, end) = (files.gap()?, files.length()?);
        Ok(Some(Self { files, gap, at: 0, end, ready: VecDeque::new() }))
    }

    fn size(&self) -> u64 {
        self.gap.map_or(self.end, |gap| self.end - (gap.to.min(self.end) - gap.from) + word(&gap).len() as u64)
    }

    fn modified_s(&self) -> u64 {
        self.files.piece_at(self.end.saturating_sub(1)).ok().flatten().map_or(0, |piece| piece.at_us / 1_000_000)
    }

    fn read_on(&mut self) -> io::Result<()> {
        if let Some(gap) = self.gap.filter(|gap| gap.contains(self.at)) {
            self.ready.extend(word(&gap).into_bytes());
            self.at = gap.to;
            return Ok(());
        }
        let bytes = match self.files.block_at(self.at, (self.end - self.at).min(BLOCK_BYTES))? {
            Block::Bytes(bytes) if bytes.is_empty() => return Err(io::ErrorKind::UnexpectedEof.into()),
            Block::Bytes(bytes) => bytes,
            Block::Dropped(gap) => {
                let length = (gap.to.min(self.end) - self.at).min(BLOCK_BYTES) as usize;
                let mut bytes = word(&gap).into_bytes();
                bytes.resize(length, b'\n');
                bytes
            }
        };
        self.at += bytes.len() as u64;
        self.ready.extend(bytes);
        Ok(())
    }
}

fn word(gap: &Gap) -> String {
    format!("\n{}\n", gap.marker(gap.to - gap.from))
}

impl Read for AsItWas {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.ready.is_empty() && self.at < self.end {
            self.read_on()?;
        }
        self.ready.read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use model::logs::Stream;

    use super::{
        super::log_files::tests::{drop_of, run_dir},
        *,
    };

    #[test]
    fn a_log_has_the_length_that_was_said_whatever_is_dropped_meanwhile() {
        let (_data, dir) = run_dir(&[(Stream::Stdout, &"0123456789\n".repeat(100))]);
        drop_of(&dir, 11..33);
        let mut log = AsItWas::open(&dir).unwrap().unwrap();
        let size = log.size();
        let mut text = String::new();
        log.read_on().unwrap();
        drop_of(&dir, 11..660);
        log.read_to_string(&mut text).unwrap();
        assert_eq!(text.len() as u64, size);
        assert!(text.starts_with("0123456789\n\n[trainmaster: 22 bytes dropped here"), "{text}");
        assert!(text.contains("bytes dropped here: a log may be 1MiB]\n\n\n") && text.ends_with("\n0123456789\n"), "{text}");
    }
}
