//! Files into a bucket: in one piece if they are small, else in parts, a few at a time, so that a file of
//! any size costs the same memory. An upload that fails leaves nothing behind.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    sync::atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use md5::{Digest, Md5};
use model::said;
use reqwest::{Method, Response, header};

use super::{
    super::{
        Entry,
        error::{Trouble, broke_off},
        guard::Guard,
        retry, web,
    },
    Ask, Payload, S3,
    answers::{self, Begun, Completed, Refusal},
    buffers::Buffers,
    checksum::{self, Checksum},
};
use crate::run_token::hex;

/// S3 takes no part but the last below 5 MiB.
const PART_BYTES: u64 = 8 << 20;
const PARTS_MAX: u64 = 10_000;
/// Of one file.
const IN_FLIGHT_BYTES_MAX: u64 = 32 << 20;
/// The part of a file this large is all that may be in flight.
const FILE_BYTES_MAX: u64 = PARTS_MAX * IN_FLIGHT_BYTES_MAX;

/// A part that the store has.
struct Part {
    number: u64,
    etag: String,
    checksum: Option<Checksum>,
}

/// An upload in parts that the store knows.
struct Upload {
    id: String,
    /// Whether it compares checksums.
    compares: bool,
    /// Whether a checksum alone was not enough for a part of it.
    signs: AtomicBool,
}

impl S3 {
    pub async fn put_file(&self, path: &str, file: &File, size: u64, guard: Guard) -> Result<Entry, Trouble> {
        if size > FILE_BYTES_MAX {
            return Err(Trouble::never(said!(
                "a file of {size} bytes is too large; {FILE_BYTES_MAX} is the most",
                "文件有 {size} 字节，太大了，最多 {FILE_BYTES_MAX} 字节"
            )));
        }
        if size <= PART_BYTES {
            let bytes = piece(file, 0, size, Buffers::default()).await?;
            guard.checked(file).await?;
            return self.put_bytes(path, bytes).await;
        }
        let key = self.key(path);
        let upload = self.begin(&key).await?;
        let result = self.put_parts(path, (file, size), guard, &upload).await;
        if result.is_err() {
            // What comes of this is less important than why it had to be; `abort_stale_of` finds what stays.
            let _aborted = self.abort(&key, &upload.id).await;
        }
        result
    }

    /// A store that does not know what is wished, and therefore refuses all of it, is asked without.
    async fn begin(&self, key: &str) -> Result<Upload, Trouble> {
        if self.0.is_sealed && self.0.credentials.is_some() {
            match self.begin_with(key, vec![checksum::wish()]).await {
                Err(Trouble::Never { .. } | Trouble::Denied { .. }) => {}
                begun => return begun,
            }
        }
        self.begin_with(key, Vec::new()).await
    }

    /// One that was begun without our hearing of it is given up.
    async fn begin_with(&self, key: &str, headers: Vec<(header::HeaderName, String)>) -> Result<Upload, Trouble> {
        let wishes = !headers.is_empty();
        let ask = Ask { method: Method::POST, key, query: vec![("uploads", String::new())], headers, ..Ask::default() };
        let mut asked = 0;
        let (granted, answer) = retry::tries(|| {
            asked += 1;
            self.begun_once(&ask)
        })
        .await?;
        let begun: Begun = answers::parse(&answer)?;
        if asked > 1 {
            let _aborted = self.abort_page(key, |found, upload| found == key && upload != begun.upload_id).await;
        }
        Ok(Upload { id: begun.upload_id, compares: wishes && granted, signs: AtomicBool::new(false) })
    }

    async fn begun_once(&self, ask: &Ask<'_>) -> Result<(bool, String), Trouble> {
        let response = self.once(ask).await?;
        Ok((checksum::is_granted(&response), self.text_of(response).await?))
    }

    pub async fn put_bytes(&self, path: &str, bytes: Bytes) -> Result<Entry, Trouble> {
        let (key, size) = (self.key(path), bytes.len() as u64);
        let md5: [u8; 16] = Md5::digest(&bytes).into();
        let ask = Ask { method: Method::PUT, key: &key, headers: vec![content_md5(&md5)], body: bytes, ..Ask::default() };
        let response = retry::tries(|| self.once(&ask)).await?;
        let etag = etag(&response);
        if is_opaque(&response) {
            return self.has_arrived(path, &etag, size).await;
        }
        if !etag.eq_ignore_ascii_case(&hex(&md5)) {
            return Err(Trouble::away(format!("the store has it with the MD5 `{etag}`, but `{}` was sent", hex(&md5))));
        }
        Ok(Entry { path: path.to_owned(), size, modified_ms: web::now_ms(), etag })
    }

    async fn put_parts(&self, path: &str, (file, size): (&File, u64), guard: Guard, upload: &Upload) -> Result<Entry, Trouble> {
        let key = &self.key(path);
        let part_bytes = size.div_ceil(PARTS_MAX).max(PART_BYTES);
        let at_once = usize::try_from(IN_FLIGHT_BYTES_MAX / part_bytes).unwrap_or(1).max(1);
        let numbers = stream::iter(0..size.div_ceil(part_bytes));
        let (failed, buffers) = (&AtomicBool::new(false), &Buffers::default());
        let put = |number| async move {
            if failed.load(Ordering::Relaxed) {
                return None;
            }
            let from = number * part_bytes;
            let length = part_bytes.min(size - from);
            let part = async { self.put_part(key, upload, number + 1, piece(file, from, length, buffers.clone()).await?).await }.await;
            failed.fetch_or(part.is_err(), Ordering::Relaxed);
            crate::crash::point("sync.during-multipart");
            Some(part)
        };
        // Parts under way come to their end even if one fails: a store may keep those that come after the upload was given up.
        let put: Vec<Option<Result<Part, Trouble>>> = numbers.map(put).buffer_unordered(at_once).collect().await;
        let mut parts = put.into_iter().flatten().collect::<Result<Vec<Part>, Trouble>>()?;
        parts.sort_by_key(|part| part.number);
        guard.checked(file).await?;
        self.complete(path, &upload.id, &parts, size).await
    }

    async fn put_part(&self, key: &str, upload: &Upload, number: u64, bytes: Bytes) -> Result<Part, Trouble> {
        let query = vec![("partNumber", number.to_string()), ("uploadId", upload.id.clone())];
        let checksum = upload.compares.then(|| Checksum::of(&bytes));
        let headers = match &checksum {
            Some(checksum) => vec![checksum.header()],
            // The store compares the SHA-256 that is signed with what came; a second hash would say no more.
            None if self.0.credentials.is_some() => Vec::new(),
            None => vec![content_md5(&Md5::digest(&bytes).into())],
        };
        let ask = Ask { method: Method::PUT, key, query, headers, body: bytes, payload: Payload::Signed };
        let response = match &checksum {
            Some(checksum) => self.put_with(checksum, ask, &upload.signs).await?,
            None => retry::tries(|| self.once(&ask)).await?,
        };
        if checksum.as_ref().is_some_and(|it| it.is_denied(&response)) {
            return Err(Trouble::away(format!("the store does not say that part {number} came as it was sent")));
        }
        Ok(Part { number, etag: etag(&response), checksum })
    }

    /// Sends a body with its checksum. If the store does not take it like that, or does not say that it has compared it, it is sent
    /// once more with its hash signed as well, and so are those that come after it.
    async fn put_with(&self, checksum: &Checksum, mut ask: Ask<'_>, signs: &AtomicBool) -> Result<Response, Trouble> {
        if !signs.load(Ordering::Relaxed) {
            ask.payload = Payload::Unsigned;
            match retry::tries(|| self.once(&ask)).await {
                Ok(response) if checksum.is_confirmed(&response, md5_in(&etag(&response)), &ask.body) => return Ok(response),
                Ok(_) | Err(Trouble::Never { .. } | Trouble::Denied { .. }) => {}
                Err(trouble) => return Err(trouble),
            }
            signs.store(true, Ordering::Relaxed);
            ask.payload = Payload::Signed;
        }
        retry::tries(|| self.once(&ask)).await
    }

    /// Makes the parts one file. If the store did so and its answer was lost, the upload is gone and the
    /// file is there, which is as good.
    async fn complete(&self, path: &str, upload: &str, parts: &[Part], size: u64) -> Result<Entry, Trouble> {
        let key = self.key(path);
        let ask = Ask {
            method: Method::POST,
            key: &key,
            query: vec![("uploadId", upload.to_owned())],
            headers: vec![(header::CONTENT_TYPE, "application/xml".into())],
            body: completion(parts).into(),
            ..Ask::default()
        };
        let wanted = etag_of_parts(parts);
        match retry::tries(|| self.completed(&ask)).await {
            Ok(etag) if wanted.as_ref().is_some_and(|it| etag.eq_ignore_ascii_case(it)) => {
                Ok(Entry { path: path.to_owned(), size, modified_ms: web::now_ms(), etag })
            }
            Ok(etag) => self.has_arrived(path, &etag, size).await,
            Err(Trouble::Missing { what: "upload" }) => match self.head(path).await {
                Ok(entry) if entry.size == size && wanted.is_some_and(|it| entry.etag.eq_ignore_ascii_case(&it)) => Ok(entry),
                Ok(_) | Err(_) => Err(Trouble::away("the store has lost the upload")),
            },
            Err(trouble) => Err(trouble),
        }
    }

    /// A store that takes long to answer says 200 first and what it thinks later.
    async fn completed(&self, ask: &Ask<'_>) -> Result<String, Trouble> {
        let response = self.once(ask).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = web::refusal(response).await;
        let refusal: Refusal = answers::parse(&body).unwrap_or_default();
        if !refusal.code.is_empty() {
            return Err(answers::trouble(status, &headers, &body));
        }
        let completed: Completed = answers::parse(&body).map_err(|_| Trouble::away("the answer was cut"))?;
        Ok(completed.etag.unwrap_or_default().trim_matches('"').to_owned())
    }

    /// Looks again, where an ETag alone proves nothing.
    async fn has_arrived(&self, path: &str, etag: &str, size: u64) -> Result<Entry, Trouble> {
        let entry = self.head(path).await?;
        if entry.size != size {
            return Err(Trouble::away(format!("the store has {} of {size} bytes", entry.size)));
        }
        if entry.etag != etag && !etag.is_empty() {
            return Err(Trouble::changed("somebody else wrote it at the same time"));
        }
        Ok(entry)
    }

    pub async fn abort(&self, key: &str, upload: &str) -> Result<(), Trouble> {
        let ask = Ask { method: Method::DELETE, key, query: vec![("uploadId", upload.to_owned())], ..Ask::default() };
        match retry::tries(|| self.once(&ask)).await {
            Ok(_) | Err(Trouble::Missing { .. }) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }
}

/// A piece of a file, read by offset on a thread that may wait for a disk.
async fn piece(file: &File, from: u64, length: u64, buffers: Buffers) -> Result<Bytes, Trouble> {
    let file = file.try_clone().map_err(|error| Trouble::unread(&error))?;
    let read = move || -> Result<Bytes, Trouble> {
        let length = usize::try_from(length).map_err(|_| Trouble::never(("too large for this machine", "对这台机器来说太大了")))?;
        buffers.filled(length, |bytes| match file.read_exact_at(bytes, from) {
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
                Err(Trouble::changed("the file became shorter while it was read"))
            }
            Err(error) => Err(Trouble::unread(&error)),
            Ok(()) => Ok(()),
        })
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_else(|error| Err(broke_off(&error)))
}

/// The store compares it with what came, so a byte that changed on the way is noticed at once.
fn content_md5(md5: &[u8; 16]) -> (header::HeaderName, String) {
    use base64::Engine;
    (header::HeaderName::from_static("content-md5"), base64::engine::general_purpose::STANDARD.encode(md5))
}

fn etag(response: &Response) -> String {
    web::text(response.headers(), &header::ETAG).unwrap_or_default().trim_matches('"').to_owned()
}

/// Whether the ETag is not the MD5: with keys of a key service, and with stores that make up their own.
fn is_opaque(response: &Response) -> bool {
    let encrypted = response.headers().get("x-amz-server-side-encryption").is_some_and(|it| it.as_bytes() != b"AES256");
    encrypted || md5_in(&etag(response)).is_none()
}

fn md5_in(etag: &str) -> Option<[u8; 16]> {
    let is_hash = etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| u128::from_str_radix(etag, 16).ok().map(u128::to_be_bytes)).flatten()
}

/// What S3 calls a file of parts: the MD5 of their MD5s, and how many there were. Nothing where the parts' ETags are no MD5s.
fn etag_of_parts(parts: &[Part]) -> Option<String> {
    let md5s: Option<Vec<[u8; 16]>> = parts.iter().map(|part| md5_in(&part.etag)).collect();
    let md5: [u8; 16] = Md5::digest(md5s?.concat()).into();
    Some(format!("{}-{}", hex(&md5), parts.len()))
}

fn completion(parts: &[Part]) -> String {
    let checksum = |it: &Checksum| format!("<ChecksumCRC32>{}</ChecksumCRC32>", it.0);
    let part = |part: &Part| {
        let checksum = part.checksum.as_ref().map(checksum).unwrap_or_default();
        format!("<Part><PartNumber>{}</PartNumber><ETag>\"{}\"</ETag>{checksum}</Part>", part.number, part.etag)
    };
    format!("<CompleteMultipartUpload>{}</CompleteMultipartUpload>", parts.iter().map(part).collect::<String>())
}
