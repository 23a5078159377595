//! What is in one file: read a part of it, put it there, take it away.

use std::time::Duration;

use axum::{
    Json,
    body::Body as AnyBody,
    extract::State,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use model::wire::{ErrorBody, FileKind, FileView};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App, AppState, datasets,
    extract::{Body, Query},
    files::{self, Place},
    guard::Caller,
    job_files, spool,
};
use crate::{
    error::Error,
    store::tokens::Holder,
    volumes::{Entry, Store, Want},
};

#[derive(Deserialize, IntoParams)]
pub struct ContentQuery {
    /// `data:mnist/train.csv`, `digits@2:/output/worker-0/model.bin` or `digits@2:/code/train.py`.
    at: String,
}

/// Reads a file or a part of it, as `Range` says, and as long as it is what `If-Match` says.
#[utoipa::path(get, path = "/api/v1/files/content", params(ContentQuery),
    responses((status = 200, content_type = "application/octet-stream", body = String),
        (status = 206, content_type = "application/octet-stream", body = String), (status = 404, body = ErrorBody),
        (status = 412, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn read(
    State(app): AppState,
    Caller(holder): Caller,
    Query(query): Query<ContentQuery>,
    headers: HeaderMap,
) -> Result<Response, Error> {
    let (store, path) = one_file(&app, &holder, &query.at).await?;
    let etag = text(&headers, header::IF_MATCH).map(|it| it.trim_matches('"').to_owned());
    let range = text(&headers, header::RANGE).map(|it| range(&it)).transpose()?;
    let (from, length) = range.unwrap_or((0, None));
    let (entry, body) = store.read_part(&path, &Want { from, length, etag }).await?;
    let end = length.map_or(entry.size, |length| from.saturating_add(length).min(entry.size));
    let status = if range.is_some() { StatusCode::PARTIAL_CONTENT } else { StatusCode::OK };
    let mut response = (status, AnyBody::from_stream(body)).into_response();
    let said = [
        (header::CONTENT_TYPE, "application/octet-stream".to_owned()),
        // A page of somebody's bucket must not become a page of ours.
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff".to_owned()),
        (header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'".to_owned()),
        (header::CONTENT_DISPOSITION, "attachment".to_owned()),
        (header::CONTENT_LENGTH, end.saturating_sub(from).to_string()),
        (header::ETAG, format!("\"{}\"", entry.etag)),
        (header::CONTENT_RANGE, format!("bytes {from}-{}/{}", end.saturating_sub(1), entry.size)),
    ];
    for (name, value) in said {
        if name != header::CONTENT_RANGE || range.is_some() {
            response.headers_mut().extend(HeaderValue::try_from(value).map(|value| (name, value)));
        }
    }
    Ok(response)
}

fn text(headers: &HeaderMap, name: header::HeaderName) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// `bytes=5-9` as where it begins and how long it is.
fn range(text: &str) -> Result<(u64, Option<u64>), Error> {
    let read = || {
        let (from, to) = text.strip_prefix("bytes=")?.split_once('-')?;
        let from: u64 = from.parse().ok()?;
        match to {
            "" => Some((from, None)),
            to => to.parse::<u64>().ok()?.checked_sub(from)?.checked_add(1).map(|length| (from, Some(length))),
        }
    };
    read().ok_or_else(|| Error::BadValue {
        name: "range",
        value: text.to_owned(),
        wanted: ("a range such as bytes=100- or bytes=0-99", "bytes=100- 或 bytes=0-99 这样的范围").into(),
    })
}

async fn one_file(app: &App, holder: &Holder, at: &str) -> Result<(Store, String), Error> {
    match files::place(app, holder, at).await? {
        Place::In(spot, path) => {
            let path = spot.path(&path);
            Ok((spot.store, path))
        }
        Place::Folders(_) => {
            Err(Error::BadValue {
                name: "at", value: at.to_owned(), wanted: ("a file; this is a directory", "文件；这是一个目录").into()
            })
        }
    }
}

async fn to_change(app: &App, holder: &Holder, at: &str) -> Result<(Store, String), Error> {
    if job_files::named(at).is_some() {
        let wanted = ("a place in a volume: the files of a job can only be read", "数据卷里的位置：作业的文件只能读取").into();
        return Err(Error::BadValue { name: "at", value: at.to_owned(), wanted });
    }
    if datasets::files::named(at).is_some() {
        let wanted = ("a place in a volume: the files of a dataset can only be read", "数据卷里的位置：数据集的文件只能读取").into();
        return Err(Error::BadValue { name: "at", value: at.to_owned(), wanted });
    }
    one_file(app, holder, at).await
}

#[derive(Deserialize, IntoParams)]
pub struct PutQuery {
    /// `data:models/digits.bin`.
    at: String,
    /// Where in the file the body begins.
    #[serde(default)]
    offset: u64,
    /// How long the whole file is; as long as the body if absent.
    size: Option<u64>,
    /// Another file has another one, so that pieces of two are never mixed: whatever the sender likes.
    #[serde(default)]
    upload: String,
}

/// Puts a file there: small ones at once, others piece by piece. A piece that does not begin where the last
/// one ended is refused with `x-length`, where it should begin. The file appears, whole, with its last piece.
#[utoipa::path(put, path = "/api/v1/files/content", params(PutQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = FileView), (status = 202), (status = 400, body = ErrorBody), (status = 409, body = ErrorBody),
        (status = 422, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn put(State(app): AppState, Caller(holder): Caller, Query(query): Query<PutQuery>, Body(body): Body) -> Result<Response, Error> {
    let (store, path) = to_change(&app, &holder, &query.at).await?;
    let size = query.size.unwrap_or(body.len() as u64);
    if query.offset == 0 && size == body.len() as u64 {
        return Ok(Json(view(store.put_bytes(&path, body).await?)).into_response());
    }
    let piece = spool::Piece { who: &holder.user, at: &query.at, upload: &query.upload, size, offset: query.offset };
    let Some(whole) = spool::append(&app.data, &piece, body).await? else { return Ok(StatusCode::ACCEPTED.into_response()) };
    // Each of these holds parts in memory; who comes later waits, and may ask again if that is too long.
    let _turn = tokio::time::timeout(TURN_MAX, app.large_puts.acquire()).await.map_err(|_| Error::Busy)?;
    let entry = store.put_file(&path, whole.file(), size).await?;
    whole.done();
    Ok(Json(view(entry)).into_response())
}

const TURN_MAX: Duration = Duration::from_secs(600);
/// How many large files go out at once.
pub const LARGE_PUTS_MAX: usize = 2;

fn view(entry: Entry) -> FileView {
    FileView { path: entry.path, kind: FileKind::File { size: entry.size, modified_ms: entry.modified_ms, etag: entry.etag } }
}

/// Removes one file.
#[utoipa::path(delete, path = "/api/v1/files/content", params(ContentQuery),
    responses((status = 204), (status = 400, body = ErrorBody), (status = 404, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn remove(State(app): AppState, Caller(holder): Caller, Query(query): Query<ContentQuery>) -> Result<StatusCode, Error> {
    let (store, path) = to_change(&app, &holder, &query.at).await?;
    store.head(&path).await?;
    store.remove(&path).await?;
    Ok(StatusCode::NO_CONTENT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_or_refused() {
        assert_eq!(range("bytes=5-").unwrap(), (5, None));
        assert_eq!(range("bytes=5-9").unwrap(), (5, Some(5)));
        for wrong in ["bytes=-5", "bytes=9-5", "5-9", "bytes=0-1,3-4", "bytes=0-18446744073709551615x", ""] {
            assert!(range(wrong).is_err(), "{wrong}");
        }
    }
}
