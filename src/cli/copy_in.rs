//! Files from here to the server, in pieces that it puts together. A file that was sent in part goes on where
//! the server says that it stopped.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
};

use hyper::{Method, StatusCode};

use super::{
    context::{Context, query},
    failure::Failure,
    output::Transfer,
    remote::Remote,
    retry::{Patience, Tries},
};
use crate::client::Call;

const PIECE_BYTES: u64 = 4 << 20;

/// A file on its way.
struct Sending<'a> {
    file: &'a File,
    at: String,
    size: u64,
    /// Another content of the file has another one.
    upload: String,
}

/// What the server said to a piece.
enum Said {
    Taken,
    /// It has so many bytes already, and wants what follows them.
    Has(u64),
}

pub async fn send(context: &Context, from: &Path, to: &Remote, path: &str, progress: &Transfer) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::usage(format!("{} cannot be read: {error}", from.display()));
    let file = File::open(from).map_err(told)?;
    let metadata = file.metadata().map_err(told)?;
    let size = metadata.len();
    progress.expect(size);
    let upload = format!("{}-{}-{}", metadata.ino(), metadata.mtime(), metadata.mtime_nsec());
    let sending = Sending { file: &file, at: to.shown(path), size, upload };
    let (mut sent, mut tries) = (0, Tries::new(Patience::ASKING));
    loop {
        let length = PIECE_BYTES.min(size - sent);
        match sending.piece(context, sent, length).await {
            Ok(Said::Taken) => {
                tries.contact();
                progress.add(length);
                sent += length;
            }
            // The server has all of it and could not pass it on: the last piece again makes it try once more.
            Ok(Said::Has(all)) if all == size => sent = size.saturating_sub(1) / PIECE_BYTES * PIECE_BYTES,
            Ok(Said::Has(length)) => {
                progress.add(length.saturating_sub(sent));
                sent = length.min(size);
            }
            Err(failure) if failure.may_pass && tries.wait().await => continue,
            Err(failure) => return Err(failure),
        }
        if sent >= size {
            break;
        }
    }
    let is_same = fs::metadata(from)
        .is_ok_and(|now| now.len() == size && now.mtime() == metadata.mtime() && now.mtime_nsec() == metadata.mtime_nsec());
    if is_same { Ok(()) } else { Err(Failure::usage(format!("{} changed while it was copied", from.display())).hint("copy it again")) }
}

impl Sending<'_> {
    async fn piece(&self, context: &Context, offset: u64, length: u64) -> Result<Said, Failure> {
        let mut bytes = vec![0; usize::try_from(length).unwrap_or_default()];
        self.file
            .read_exact_at(&mut bytes, offset)
            .map_err(|error| Failure::usage(format!("a file became shorter while it was copied: {error}")))?;
        let place = [("at", Some(self.at.clone())), ("offset", Some(offset.to_string()))];
        let which = [("size", Some(self.size.to_string())), ("upload", Some(self.upload.clone()))];
        let path = format!("/api/v1/files/content{}", query(&[place, which].concat()));
        let call = Call { method: Method::PUT, body: bytes.into(), ..Call::get(&path) };
        let client = context.find()?.client;
        let answer = client.connect().await?.answer(call).await?;
        let has = answer.headers().get("x-length").and_then(|it| it.to_str().ok()?.parse().ok());
        match (answer.status(), has) {
            (StatusCode::CONFLICT, Some(length)) => Ok(Said::Has(length)),
            (status, _) if status.is_success() => Ok(Said::Taken),
            _ => Err(Failure::from(client.refused(answer).await)),
        }
    }
}
