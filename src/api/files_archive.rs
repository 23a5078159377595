//! Everything below a place as one tar file, written as it is read by whoever asked.

use std::io;

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::{StreamExt, stream};
use model::wire::ErrorBody;
use serde::Deserialize;
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;
use utoipa::IntoParams;

use super::{
    AppState,
    extract::Query,
    files::{self, Place, Spot},
    guard::Caller,
};
use crate::{
    error::Error,
    volumes::{Entry, VolumeError},
};

const BLOCK_BYTES: u64 = 512;
const PIECES_WAITING_MAX: usize = 8;

#[derive(Deserialize, IntoParams)]
pub struct ArchiveQuery {
    /// `data:mnist/train`, `digits@2:/code` or `digits@2:/output/worker-0`.
    at: String,
}

/// Everything below a place, as one tar file. Links, pipes and devices are left out.
#[utoipa::path(get, path = "/api/v1/files/archive", params(ArchiveQuery),
    responses((status = 200, content_type = "application/x-tar", body = String), (status = 400, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn archive(State(app): AppState, Caller(holder): Caller, Query(query): Query<ArchiveQuery>) -> Result<Response, Error> {
    let roots = match files::place(&app, &holder, &query.at).await? {
        Place::In(spot, path) => vec![(spot, path)],
        Place::Folders(all) => all.into_iter().filter_map(|(_, spot)| spot).collect(),
    };
    let (sender, receiver) = mpsc::channel::<io::Result<Bytes>>(PIECES_WAITING_MAX);
    tokio::spawn(async move {
        if let Err(error) = write(&roots, &sender).await {
            // Cut, so that nobody takes half an archive for a whole one; and nobody may be left to hear it.
            let _heard = sender.send(Err(error)).await;
        }
    });
    let body = stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|piece| (piece, receiver)) });
    let name = format!("attachment; filename=\"{}.tar\"", file_name(&query.at));
    Ok(([(header::CONTENT_TYPE, "application/x-tar".to_owned()), (header::CONTENT_DISPOSITION, name)], Body::from_stream(body))
        .into_response())
}

/// `digits@2:/code` becomes `digits-2-code`.
fn file_name(at: &str) -> String {
    let word = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { ' ' };
    at.chars().map(word).collect::<String>().split_whitespace().collect::<Vec<_>>().join("-")
}

async fn write(roots: &[(Spot, String)], sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
    for (spot, path) in roots {
        let mut found = files::entries(spot, path);
        while let Some(entry) = found.next().await {
            file(spot, &entry.map_err(told)?, sender).await?;
        }
    }
    send(sender, vec![0; 2 * BLOCK_BYTES as usize].into()).await
}

fn told(error: VolumeError) -> io::Error {
    io::Error::other(error.to_string())
}

async fn send(sender: &mpsc::Sender<io::Result<Bytes>>, bytes: Bytes) -> io::Result<()> {
    sender.send(Ok(bytes)).await.map_err(|_| io::ErrorKind::BrokenPipe.into())
}

/// A file that grows is taken as it was; one that shrinks is filled up, since its length is said already.
async fn file(spot: &Spot, listed: &Entry, sender: &mpsc::Sender<io::Result<Bytes>>) -> io::Result<()> {
    // One that vanishes meanwhile is left out.
    let Ok((entry, mut body)) = spot.store.read(&listed.path, 0).await else { return Ok(()) };
    send(sender, head(&spot.shown(&entry.path), &entry)?.into()).await?;
    let mut left = entry.size;
    while let Some(piece) = body.next().await {
        let mut piece = piece.map_err(told)?;
        piece.truncate(usize::try_from(left).unwrap_or(usize::MAX));
        left -= piece.len() as u64;
        send(sender, piece).await?;
    }
    let mut to_fill = left + entry.size.next_multiple_of(BLOCK_BYTES) - entry.size;
    while to_fill > 0 {
        let piece = to_fill.min(1 << 16);
        send(sender, vec![0; piece as usize].into()).await?;
        to_fill -= piece;
    }
    Ok(())
}

/// What stands before a file; long names take more than one block.
fn head(name: &str, entry: &Entry) -> io::Result<Vec<u8>> {
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(entry.size);
    header.set_mode(0o644);
    header.set_mtime(entry.modified_ms / 1000);
    let mut before = Builder::new(Vec::new());
    before.append_data(&mut header, name, io::empty())?;
    Ok(before.get_ref().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_called_after_its_place() {
        assert_eq!(file_name("digits@2:/code"), "digits-2-code");
        assert_eq!(file_name("data:a b/\"c\""), "data-a-b-c");
    }

    #[test]
    fn a_long_name_has_its_place_before_the_file() {
        let entry = Entry { path: String::new(), size: 3, modified_ms: 1_000, etag: String::new() };
        let name = "d/".repeat(120) + "x";
        let mut bytes = head(&name, &entry).unwrap();
        bytes.extend(b"abc");
        bytes.resize(bytes.len().next_multiple_of(BLOCK_BYTES as usize) + 2 * BLOCK_BYTES as usize, 0);
        let mut archive = tar::Archive::new(&bytes[..]);
        let found = archive.entries().unwrap().next().unwrap().unwrap();
        assert_eq!((found.path().unwrap().to_string_lossy().into_owned(), found.size()), (name, 3));
    }
}
