//! What supervisors say. Each speaks for its own run only; the attempt in the run's key is the fence.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path as FilePath, PathBuf},
};

use axum::{Json, extract::State, http::StatusCode};
use model::{
    job::JobState,
    order::{Report, RunOrder},
    said,
    wire::ErrorBody,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::{
    AppState,
    extract::{Body, Query},
    guard::OwnRun,
    logs::blocking,
};
use crate::{
    control::{self, now_ms},
    error::Error,
    rundir::{RunDir, gap::Cap},
    store::{Sql, Written, jobs, runs},
};

/// The order of a run, for a supervisor that has only a route to the server.
#[utoipa::path(get, path = "/api/v1/runs/{run}/order", params(("run" = String, Path)),
    responses((status = 200, body = RunOrder), (status = 404, body = ErrorBody)))]
pub async fn order(State(app): AppState, OwnRun(run): OwnRun) -> Result<Json<RunOrder>, Error> {
    let (text, run_key) = (run.to_string(), app.run_key.clone());
    let read = move |sql: &Sql<'_>| {
        let Some(job) = jobs::get(sql, run.job)? else { return Ok(None) };
        let gang = control::beside(sql, &job, &run)?;
        let order = gang.iter().find(|it| it.run == run).and_then(|own| control::order(&job, &gang, own));
        let order = order.map(|order| control::gang_order::complete(order, &job, &gang, &run_key));
        order.map(|order| control::with_volumes(sql, (&job.owner, &job.plan), order)).transpose()
    };
    app.store.read(read).await?.map(Json).ok_or(Error::NoSuchRun(text))
}

/// Takes a report. Answered once it is durable.
#[utoipa::path(post, path = "/api/v1/runs/{run}/report", params(("run" = String, Path)), request_body = Report,
    responses((status = 204), (status = 400, body = ErrorBody), (status = 410, body = ErrorBody)))]
pub async fn report(State(app): AppState, OwnRun(run): OwnRun, Body(body): Body) -> Result<StatusCode, Error> {
    let wanted = said!("a report", "一份报告");
    let report: Report =
        serde_json::from_slice(&body).map_err(|error| Error::BadValue { name: "body", value: error.to_string(), wanted })?;
    crate::crash::point("finish.notified-before-commit");
    let (is_ready, frees) = (matches!(report, Report::Ready { .. }), control::frees(&report));
    let dir = RunDir::new(&app.data, &run);
    // A supervisor that shares our disk has seen to its own output, and is known by its record.
    if matches!(report, Report::Ended { .. }) && !dir.supervisor().exists() {
        blocking(move || make_durable(&dir)).await?;
    }
    let (report, board, nudge) = (app.endings.understood(report), app.board.clone(), app.nudge.clone());
    let job = run.job;
    let take = move |sql: &Sql<'_>| {
        let (written, moved) = control::take_report(sql, &run, &report)?;
        let refilled = if frees { control::refill(sql, &board, &nudge) } else { control::Refilled::default() };
        Ok((written, moved, refilled, is_ready && !runs::is_awaited(sql, run.job, run.attempt)?))
    };
    let (written, moved, refilled, all_ready) = app.store.write(take).await?;
    app.nudge.start(refilled.placed);
    // Who is ready takes nothing and frees nothing; only its gang wants to know, and only of the last one.
    if all_ready {
        app.nudge.gang(job);
    } else if !is_ready && (!frees || refilled.is_more || moved == Some(JobState::Finishing)) {
        app.nudge.after(moved);
    }
    match written {
        Written::Yes => Ok(StatusCode::NO_CONTENT),
        Written::Stale => Err(Error::StaleRun),
    }
}

#[derive(Deserialize, IntoParams)]
pub struct OutputQuery {
    #[param(inline)]
    file: OutputFile,
    /// Where in the file the body begins.
    offset: u64,
}

#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputFile {
    Log,
    Index,
    Provenance,
}

#[derive(Serialize, ToSchema)]
pub struct Length {
    length: u64,
}

/// Takes a piece of a run's output from a supervisor that does not share our disk. A piece that does
/// not begin where the file ends is refused with the file's length, so nothing is doubled or left out.
#[utoipa::path(post, path = "/api/v1/runs/{run}/output", params(("run" = String, Path), OutputQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = Length), (status = 409, body = ErrorBody), (status = 410, body = ErrorBody)))]
pub async fn output(
    State(app): AppState,
    OwnRun(run): OwnRun,
    Query(query): Query<OutputQuery>,
    Body(body): Body,
) -> Result<Json<Length>, Error> {
    let (key, text) = (run.clone(), run.to_string());
    let row = app.store.read(move |sql| runs::get(sql, &key)).await?.ok_or(Error::NoSuchRun(text))?;
    if row.state.is_over() {
        return Err(Error::StaleRun);
    }
    let dir = RunDir::new(&app.data, &run);
    let path = match query.file {
        OutputFile::Log => dir.log(),
        OutputFile::Index => dir.index(),
        OutputFile::Provenance => dir.provenance(),
    };
    let internal = |error: String| Error::Internal(error);
    let most_bytes = app.log_bytes_max.filter(|_| matches!(query.file, OutputFile::Log));
    let appended = tokio::task::spawn_blocking(move || append(&dir, (path, most_bytes), query.offset, &body));
    let length = appended.await.map_err(|error| internal(error.to_string()))?.map_err(|error| internal(error.to_string()))?;
    length.map(|length| Json(Length { length })).map_err(|length| Error::WrongOffset { length })
}

/// The new length, or the length it has if the piece does not fit on.
fn append(dir: &RunDir, (path, most_bytes): (PathBuf, Option<u64>), offset: u64, bytes: &[u8]) -> std::io::Result<Result<u64, u64>> {
    std::fs::create_dir_all(dir.path())?;
    let file = open_to_append(&path)?;
    // Two senders of one run, one of them late, must not write over each other.
    file.lock()?;
    let length = file.metadata()?.len();
    if length != offset {
        return Ok(Err(length));
    }
    file.write_all_at(bytes, offset)?;
    let length = offset + bytes.len() as u64;
    if let Some(most_bytes) = most_bytes
        && let Err(error) = Cap::of(dir, most_bytes)?.keep(dir, &file, length, now_ms())
    {
        tracing::debug!("nothing of a log can be dropped, so it grows beyond its bound: {error}");
    }
    Ok(Ok(length))
}

/// What a supervisor has sent is on the disk before its ending is: nobody has it but us once that supervisor is gone.
fn make_durable(dir: &RunDir) -> std::io::Result<()> {
    for path in [dir.log(), dir.index(), dir.provenance(), dir.path().to_owned()] {
        match OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(path) {
            Ok(file) => file.sync_all()?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn open_to_append(path: &FilePath) -> std::io::Result<File> {
    OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_waits_for_what_was_sent_to_be_on_the_disk() {
        let home = tempfile::tempdir().unwrap();
        let dir = RunDir::at(home.path());
        make_durable(&dir).unwrap();
        append(&dir, (dir.log(), None), 0, b"loss 0.1\n").unwrap().unwrap();
        make_durable(&dir).unwrap();
        std::fs::remove_file(dir.log()).unwrap();
        std::os::unix::fs::symlink("elsewhere", dir.log()).unwrap();
        assert!(make_durable(&dir).is_err(), "what cannot be brought to the disk is not accepted");
    }
}
