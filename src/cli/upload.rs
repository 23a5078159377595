//! A folder on its way to the server: only what is not there yet, in pieces that may be sent again.

use std::{collections::BTreeMap, fs::File, os::unix::fs::FileExt, path::Path};

use bytes::Bytes;
use hyper::Method;
use model::{
    bundle::ContentHash,
    spec::{Code, JobSpec, UploadedCode},
    wire::{About, BlobLength, MissingBlob, UploadFacts, UploadStanding},
};

use super::{
    context::{Context, read_answer},
    failure::{Exit, Failure},
    output::{self, Gauge},
    pack::{Packed, Source, pack},
    submission::{Parcel, Source as Told, YAML},
    terminal::plain,
};
use crate::client::Call;

/// What is sent at once. Small enough that a slow line gets it through in time.
const PIECE_BYTES: u64 = 1 << 20;
/// Content up to this size shares a request with others.
const SMALL_BYTES: u64 = 64 << 10;
/// How often we ask what is missing: a first time, and when the server threw away what another had begun.
const ROUNDS: usize = 3;

/// The spec and its parcel, with the code named by what is in it where that was a folder of this machine.
pub async fn with_code_uploaded(context: &Context, mut spec: JobSpec, parcel: &Parcel) -> Result<(JobSpec, Parcel), Failure> {
    let code = uploaded_code(context, spec.code.clone()).await?;
    if code == spec.code {
        return Ok((spec, parcel.clone()));
    }
    spec.code = code;
    // The file that was to be sent as it is, is the one it was made from now.
    let as_it_was = || String::from_utf8(parcel.text.to_vec()).ok().filter(|_| parcel.content_type == YAML);
    let original = parcel.source.original.clone().or_else(as_it_was);
    let source = Told { original, ..parcel.source.clone() };
    let parcel = Parcel { from: parcel.from.clone(), source, ..Parcel::json(&spec)? };
    Ok((spec, parcel))
}

/// The code named by what is in it where that was a folder of this machine, and else as it was.
pub async fn uploaded_code(context: &Context, code: Option<Code>) -> Result<Option<Code>, Failure> {
    let Some(folder) = folder(code.as_ref()) else { return Ok(code) };
    upload(context, folder).await.map(of_upload)
}

/// The same for a folder that is only looked at: what it would be called, though nothing of it is sent.
pub async fn packed_code(context: &Context, code: Option<Code>) -> Result<Option<Code>, Failure> {
    let Some(folder) = folder(code.as_ref()) else { return Ok(code) };
    packed(context, folder).await.map(|packed| of_upload(packed.bundle.facts()))
}

fn folder(code: Option<&Code>) -> Option<&Path> {
    match code? {
        // Everything else of this kind has a volume or a scheme before its path.
        Code::Place(place) if place.starts_with('/') => Some(Path::new(place)),
        Code::Place(_) | Code::Git(_) | Code::Upload(_) | Code::At(_) => None,
    }
}

fn of_upload(facts: UploadFacts) -> Option<Code> {
    Some(Code::Upload(UploadedCode { upload: facts.digest }))
}

async fn packed(context: &Context, folder: &Path) -> Result<Packed, Failure> {
    let about: About = read_answer(&context.insist(|| Call::get("/api/v1/about")).await?)?;
    let whole = folder.to_owned();
    let packing = tokio::task::spawn_blocking(move || pack(&whole, about.code)).await;
    let packed = packing.map_err(|error| Failure::usage(format!("{} could not be packed: {error}", folder.display())))??;
    packed.notes.iter().for_each(|note| output::note(&format!("note: {}", plain(note))));
    Ok(packed)
}

/// Uploads a folder and answers what is known of it. Its digest names it in a spec.
async fn upload(context: &Context, folder: &Path) -> Result<UploadFacts, Failure> {
    let packed = packed(context, folder).await?;
    let list: Bytes = packed.bundle.to_string().into();
    for _ in 0..ROUNDS {
        let standing: UploadStanding = read_answer(&context.insist(|| Call::post("/api/v1/uploads", list.clone())).await?)?;
        if standing.finished {
            return Ok(packed.bundle.facts());
        }
        match send_and_finish(context, &packed, standing).await {
            Err(failure) if matches!(failure.body.code.as_str(), "upload_unfinished" | "wrong_hash") => {}
            ended => return ended,
        }
    }
    let message = format!("{} does not stay as it is for long enough to be uploaded", folder.display());
    Err(Failure::usage(message).hint("something writes to it; list that in .trainmasterignore, or submit again later"))
}

async fn send_and_finish(context: &Context, packed: &Packed, standing: UploadStanding) -> Result<UploadFacts, Failure> {
    let to_come = standing.missing.iter().map(|blob| blob.size_bytes - blob.have_bytes.min(blob.size_bytes)).sum();
    let sending = Sending { context, sources: &packed.sources, gauge: Gauge::new("uploads the code", to_come) };
    let (small, large): (Vec<_>, Vec<_>) = standing.missing.into_iter().partition(|blob| blob.size_bytes <= SMALL_BYTES);
    sending.small(&small).await?;
    for blob in &large {
        sending.large(blob).await?;
    }
    let path = format!("/api/v1/uploads/{}/finish", standing.digest);
    read_answer(&context.insist(|| Call::post(&path, Bytes::new())).await?)
}

struct Sending<'a> {
    context: &'a Context,
    sources: &'a BTreeMap<ContentHash, Source>,
    gauge: Gauge,
}

impl Sending<'_> {
    async fn small(&self, blobs: &[MissingBlob]) -> Result<(), Failure> {
        let mut body = Vec::new();
        for blob in blobs {
            let bytes = self.read(blob, 0, blob.size_bytes)?;
            body.extend_from_slice(format!("{} {}\n", blob.sha256, bytes.len()).as_bytes());
            body.extend_from_slice(&bytes);
            if body.len() as u64 >= PIECE_BYTES {
                self.batch(std::mem::take(&mut body)).await?;
            }
        }
        if body.is_empty() { Ok(()) } else { self.batch(body).await }
    }

    async fn batch(&self, body: Vec<u8>) -> Result<(), Failure> {
        let body = Bytes::from(body);
        self.context.insist(|| octets(Method::POST, "/api/v1/uploads/blobs", body.clone())).await?;
        self.gauge.add(body.len() as u64);
        Ok(())
    }

    async fn large(&self, blob: &MissingBlob) -> Result<(), Failure> {
        let mut offset = blob.have_bytes;
        while offset < blob.size_bytes {
            let piece = Bytes::from(self.read(blob, offset, PIECE_BYTES.min(blob.size_bytes - offset))?);
            let path = format!("/api/v1/uploads/blobs/{}?offset={offset}&size={}", blob.sha256, blob.size_bytes);
            let answer = self.context.insist(|| octets(Method::PUT, &path, piece.clone())).await?;
            let BlobLength { length } = read_answer(&answer)?;
            if length <= offset {
                // Somebody else began it with other bytes, and it was thrown away.
                return Err(Failure::new(Exit::Us, "upload_unfinished", "what was sent has gone").hint("submit again"));
            }
            self.gauge.add(length - offset);
            offset = length;
        }
        Ok(())
    }

    fn read(&self, blob: &MissingBlob, offset: u64, count: u64) -> Result<Vec<u8>, Failure> {
        let unknown = || Failure::usage(format!("the server wants a content {} that is not in the folder", blob.sha256));
        let source = blob.sha256.parse().ok().and_then(|hash| self.sources.get(&hash)).ok_or_else(unknown)?;
        match source {
            Source::Bytes(bytes) => Ok(bytes.iter().skip(offset as usize).take(count as usize).copied().collect()),
            Source::File(place) => {
                let mut piece = vec![0; count as usize];
                let read = File::open(place).and_then(|file| file.read_exact_at(&mut piece, offset));
                read.map_err(|error| changed(place, &error))?;
                Ok(piece)
            }
        }
    }
}

fn changed(place: &Path, error: &std::io::Error) -> Failure {
    Failure::usage(format!("{} changed while it was uploaded: {error}", place.display())).hint("submit again")
}

fn octets(method: Method, path: &str, body: Bytes) -> Call<'_> {
    Call { method, headers: vec![("content-type", "application/octet-stream".into())], ..Call::post(path, body) }
}
