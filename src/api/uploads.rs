//! Folders that come from people's machines: what is missing of one is asked for, sent in pieces that may
//! be sent again, and kept. A job names the folder once that is durable.

use axum::{
    Json,
    extract::{Path, State},
};
use model::{
    bundle::{Blob, Bundle, ContentHash, PATCH_BYTES_MAX},
    code::CodePlan,
    plan::Plan,
    said,
    spec::Problem,
    wire::{BlobLength, BlobsTaken, ErrorBody, MissingBlob, UploadFacts, UploadStanding},
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{
    App, AppState,
    extract::{Body, Query},
};
use crate::{
    code::upload::{Hold, NotTaken, Room},
    error::Error,
};

/// Begins an upload, or asks how far it is: the body is the folder's file list. The answer says what is not
/// here yet. A list that is known already is finished at once.
#[utoipa::path(post, path = "/api/v1/uploads", request_body(content = String, content_type = "text/plain"),
    responses((status = 200, body = UploadStanding), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody)))]
pub async fn begin(State(app): AppState, Body(body): Body) -> Result<Json<UploadStanding>, Error> {
    let bundle = read_bundle(&app, &body)?;
    let digest = bundle.digest().to_string();
    let standing = in_room(&app, move |room| room.begin(&bundle)).await?;
    let missing = |(blob, have_bytes): (Blob, u64)| MissingBlob { sha256: blob.hash.to_string(), size_bytes: blob.size_bytes, have_bytes };
    Ok(Json(UploadStanding { digest, finished: standing.finished, missing: standing.missing.into_iter().map(missing).collect() }))
}

fn read_bundle(app: &App, body: &[u8]) -> Result<Bundle, Error> {
    let text = std::str::from_utf8(body)
        .map_err(|error| Error::BadUpload(said!("the file list is not text: {error}", "文件清单不是文本（`{error}`）")))?;
    let bundle: Bundle = text.parse().map_err(|bad: model::bundle::BadBundle| bad_list(&bad))?;
    bundle.too_much(app.house.code).map_or(Ok(bundle), |too_much| Err(Error::TooMuchCode(too_much)))
}

#[derive(Deserialize, IntoParams)]
pub struct PieceQuery {
    /// Where in the content the body begins.
    offset: u64,
    /// How much the content is when it is whole.
    size: u64,
}

/// Takes a piece of some content, which is known by its SHA-256. Answers how much of it is here now: a piece
/// that does not begin there changes nothing. With the last piece the hash is checked.
#[utoipa::path(put, path = "/api/v1/uploads/blobs/{sha256}", params(("sha256" = String, Path), PieceQuery),
    request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = BlobLength), (status = 413, body = ErrorBody), (status = 422, body = ErrorBody), (status = 507, body = ErrorBody)))]
pub async fn piece(
    State(app): AppState,
    Path(hash): Path<String>,
    Query(query): Query<PieceQuery>,
    Body(body): Body,
) -> Result<Json<BlobLength>, Error> {
    let blob = blob(&app, &hash, query.size)?;
    let length = in_room(&app, move |room| room.append(blob, query.offset, &body)).await?;
    Ok(Json(BlobLength { length }))
}

/// Takes many small contents at once. Each is a line with its SHA-256, a space and its number of bytes, and
/// after the line those bytes.
#[utoipa::path(post, path = "/api/v1/uploads/blobs", request_body(content = String, content_type = "application/octet-stream"),
    responses((status = 200, body = BlobsTaken), (status = 422, body = ErrorBody), (status = 507, body = ErrorBody)))]
pub async fn blobs(State(app): AppState, Body(body): Body) -> Result<Json<BlobsTaken>, Error> {
    let mut rest: &[u8] = &body;
    let mut blobs = Vec::new();
    while !rest.is_empty() {
        let (hash, size, after) = frame(rest)?;
        let start = body.len() - after.len();
        blobs.push((blob(&app, hash, size)?, start..start + size as usize));
        rest = &after[size as usize..];
    }
    let taken = blobs.len() as u64;
    in_room(&app, move |room| blobs.into_iter().try_for_each(|(blob, range)| room.take(blob, &body[range]))).await?;
    Ok(Json(BlobsTaken { taken }))
}

/// The hash and the size of the next content, and what comes after its line, which is at least as much.
fn frame(rest: &[u8]) -> Result<(&str, u64, &[u8]), Error> {
    const LINE_BYTES_MAX: usize = 100;
    let bad = || {
        Error::BadUpload(said!(
            "a content has no line with its hash and its number of bytes before it",
            "有内容前面缺少写着哈希和字节数的一行"
        ))
    };
    let end = rest.iter().take(LINE_BYTES_MAX).position(|byte| *byte == b'\n').ok_or_else(bad)?;
    let line = std::str::from_utf8(&rest[..end]).map_err(|_| bad())?;
    let (hash, size) = line.split_once(' ').ok_or_else(bad)?;
    let (size, after): (u64, _) = (size.parse().map_err(|_| bad())?, &rest[end + 1..]);
    if size > after.len() as u64 {
        return Err(Error::BadUpload(said!(
            "the content {hash} should have {size} bytes, and {} came",
            "内容 {hash} 应有 {size} 字节，只收到 {} 字节",
            after.len()
        )));
    }
    Ok((hash, size, after))
}

fn blob(app: &App, hash: &str, size_bytes: u64) -> Result<Blob, Error> {
    let hash = parse_hash(hash)?;
    let most_bytes = app.house.code.bytes_max.max(PATCH_BYTES_MAX);
    if size_bytes > most_bytes {
        return Err(Error::TooLarge { most_bytes: usize::try_from(most_bytes).unwrap_or(usize::MAX) });
    }
    Ok(Blob { hash, size_bytes })
}

fn parse_hash(text: &str) -> Result<ContentHash, Error> {
    text.parse().map_err(|bad: model::bundle::BadHash| bad_list(&bad))
}

/// Keeps a folder whose content is all here. Answered once that is durable.
#[utoipa::path(post, path = "/api/v1/uploads/{digest}/finish", params(("digest" = String, Path)),
    responses((status = 200, body = UploadFacts), (status = 404, body = ErrorBody), (status = 409, body = ErrorBody), (status = 507, body = ErrorBody)))]
pub async fn finish(State(app): AppState, Path(digest): Path<String>) -> Result<Json<UploadFacts>, Error> {
    let digest = parse_hash(&digest)?;
    let bundle = in_room(&app, move |room| room.finish(digest)).await?;
    Ok(Json(bundle.facts()))
}

/// The folder that a job names. It is not swept away while this is held.
pub struct Named {
    pub facts: UploadFacts,
    _hold: Hold,
}

/// Finds the folder that a plan names, or says that there is none.
pub async fn named(app: &App, plan: &Plan) -> Result<Option<Named>, Error> {
    let Some(CodePlan::Upload(text)) = &plan.code else { return Ok(None) };
    let unknown = || Error::BadSpec(vec![no_such_upload(text)]);
    let digest: ContentHash = text.parse().map_err(|_| unknown())?;
    let (hold, bundle) = in_room(app, move |room| Ok((room.hold()?, room.bundle(digest)?))).await?;
    let facts = bundle.ok_or_else(unknown)?.facts();
    Ok(Some(Named { facts, _hold: hold }))
}

fn no_such_upload(digest: &str) -> Problem {
    Problem::new("code.upload", said!("there is no upload `{digest}` here", "这里没有上传 `{digest}`")).hint((
        "write the folder itself, such as `code: .`, and let `trainmaster submit` upload it",
        "请直接写目录，如 `code: .`，由 `trainmaster submit` 上传",
    ))
}

/// A list that no program of ours writes.
fn bad_list(why: &dyn std::fmt::Display) -> Error {
    Error::BadUpload(said!("{why}", "文件清单有误（`{why}`）"))
}

/// Works on the disk without holding up other requests.
async fn in_room<T: Send + 'static>(app: &App, work: impl FnOnce(&Room) -> Result<T, NotTaken> + Send + 'static) -> Result<T, Error> {
    let room = Room::of(&app.data);
    let worked = tokio::task::spawn_blocking(move || work(&room)).await;
    worked.map_err(|error| Error::Internal(error.to_string()))?.map_err(refused)
}

fn refused(why: NotTaken) -> Error {
    match why {
        NotTaken::TooLong { size_bytes } => {
            Error::BadUpload(said!("it would be longer than the {size_bytes} bytes it should have", "内容会超过应有的 {size_bytes} 字节"))
        }
        NotTaken::WrongHash { wanted, found } => Error::WrongHash(said!(
            "its hash is {found} and not {wanted}, so it was thrown away",
            "哈希是 {found}，而不是 {wanted}，已丢弃"
        )),
        NotTaken::NotBegun(digest) => Error::NoSuchUpload(digest.to_string()),
        NotTaken::Missing(count) => Error::UploadUnfinished { missing: count },
        NotTaken::Io(error) => from_disk(error),
    }
}

fn from_disk(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => Error::NoRoom,
        _ => Error::Internal(format!("an upload could not be kept: {error}")),
    }
}
