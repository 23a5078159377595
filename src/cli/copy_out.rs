//! Files from the server to here. What comes is kept beside its place under the name of its content, so a
//! copy that was cut goes on where it was, and what appears is whole.

use std::{
    fs::{self, File, OpenOptions},
    io::Write,
    path::{Path, PathBuf},
};

use http_body_util::BodyExt;
use hyper::{Response, StatusCode, body::Incoming};
use model::wire::{FileKind, FileView};
use sha2::{Digest, Sha256};

use super::{
    context::{Context, in_time},
    failure::{Exit, Failure},
    listing::Listing,
    output::Transfer,
    remote::Remote,
    retry::{Patience, Tries},
    terminal::plain,
};
use crate::{
    client::{Call, ClientError},
    run_token::hex,
};

/// How often a file is begun that somebody writes to meanwhile.
const BEGINNINGS_MAX: u32 = 5;
/// The codes of a file that is another one now, and of one that is not there.
pub const CHANGED: &str = "file_changed";
pub const GONE: &str = "no_such_file";

/// A file of the server and where it goes.
pub struct Wanted {
    pub path: String,
    pub to: PathBuf,
    pub size: u64,
    pub etag: String,
}

/// Fetches a file; from its start again, if it is another one than was listed.
pub async fn fetch(context: &Context, from: &Remote, mut wanted: Wanted, progress: &Transfer) -> Result<(), Failure> {
    for _ in 0..BEGINNINGS_MAX {
        match fetch_as_listed(context, from, &wanted, progress).await {
            Err(failure) if failure.body.code == CHANGED => {}
            other => return other,
        }
        // What came of the old one is of no use.
        let _was_not_begun = fs::remove_file(part_of(&wanted.to, &wanted.etag));
        wanted = listed_anew(context, from, wanted).await?;
    }
    Err(written_to(from, &wanted))
}

fn written_to(from: &Remote, wanted: &Wanted) -> Failure {
    let message = format!("{} is written to again and again, and was not copied", plain(&from.shown(&wanted.path)));
    Failure::new(Exit::You, CHANGED, message).hint("copy it when whoever writes it is done")
}

/// What there is now in the place of a file.
async fn listed_anew(context: &Context, from: &Remote, wanted: Wanted) -> Result<Wanted, Failure> {
    let mut listing = Listing::open(context, &from.at(&wanted.path), false).await?;
    while let Some(FileView { path, kind }) = listing.next().await? {
        if let (true, FileKind::File { size, etag, .. }) = (path == wanted.path, kind) {
            return Ok(Wanted { size, etag, ..wanted });
        }
    }
    Err(Failure::new(Exit::You, GONE, format!("{} is not there any more", plain(&from.shown(&wanted.path)))))
}

async fn fetch_as_listed(context: &Context, from: &Remote, wanted: &Wanted, progress: &Transfer) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", wanted.to.display()));
    if let Some(above) = wanted.to.parent() {
        fs::create_dir_all(above).map_err(told)?;
    }
    let part = part_of(&wanted.to, &wanted.etag);
    let mut file = OpenOptions::new().create(true).append(true).open(&part).map_err(told)?;
    let mut have = begin(&file, wanted).map_err(told)?;
    progress.add(have.min(wanted.size));
    let mut tries = Tries::new(Patience::ASKING);
    while have != wanted.size || wanted.size == 0 {
        match piece(context, from, wanted, have, &mut file, progress).await {
            Ok(()) if wanted.size == 0 => break,
            Ok(()) => tries.contact(),
            Err(failure) if failure.may_pass && tries.wait().await => {}
            Err(failure) => return Err(failure),
        }
        have = file.metadata().map_err(told)?.len();
        if have != wanted.size {
            have = begin(&file, wanted).map_err(told)?;
        }
    }
    file.sync_all().map_err(told)?;
    fs::rename(&part, &wanted.to).map_err(told)
}

/// How much is there to go on from: nothing of a file without an ETag, since nobody can say whether the rest belongs to it.
fn begin(file: &File, wanted: &Wanted) -> std::io::Result<u64> {
    if wanted.etag.is_empty() {
        file.set_len(0)?;
    }
    Ok(file.metadata()?.len())
}

/// `model.bin` becomes `model.bin.1a2b3c4d.part`: another content is another part.
fn part_of(to: &Path, etag: &str) -> PathBuf {
    let mut name = to.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.part", &hex(&Sha256::digest(etag))[..8]));
    to.with_file_name(name)
}

/// Asks for what is missing and writes what comes.
async fn piece(context: &Context, from: &Remote, wanted: &Wanted, have: u64, file: &mut File, progress: &Transfer) -> Result<(), Failure> {
    let path = from.content_path(&wanted.path);
    let mut call = Call::get(&path);
    if !wanted.etag.is_empty() {
        call = call.header("if-match", format!("\"{}\"", wanted.etag));
    }
    if have > 0 {
        call = call.header("range", format!("bytes={have}-"));
    }
    let answer = in_time(context.find()?.client.open(call)).await?;
    let fits = have == 0 || answer.status() == StatusCode::PARTIAL_CONTENT;
    if !fits {
        return Err(Failure::usage(format!("{} cannot be taken up in the middle", from.shown(&wanted.path))));
    }
    write(answer, file, progress).await
}

async fn write(mut answer: Response<Incoming>, file: &mut File, progress: &Transfer) -> Result<(), Failure> {
    while let Some(frame) = answer.body_mut().frame().await {
        let frame = frame.map_err(|error| Failure::from(ClientError::Away("the server".into(), error.to_string())))?;
        if let Ok(bytes) = frame.into_data() {
            file.write_all(&bytes).map_err(|error| Failure::usage(format!("the file cannot be written: {error}")))?;
            progress.add(bytes.len() as u64);
        }
    }
    Ok(())
}

/// Everything below a place, as one tar file.
pub async fn archive(context: &Context, from: &Remote, to: &Path, progress: &Transfer) -> Result<(), Failure> {
    let told = |error: std::io::Error| Failure::usage(format!("{} cannot be written: {error}", to.display()));
    let answer = in_time(context.find()?.client.open(Call::get(&from.archive_path()))).await?;
    let part = part_of(to, "archive");
    let mut file = File::create(&part).map_err(told)?;
    write(answer, &mut file, progress).await?;
    file.sync_all().map_err(told)?;
    fs::rename(&part, to).map_err(told)?;
    progress.done("archive written");
    Ok(())
}
