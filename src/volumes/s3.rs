//! A bucket of anything that speaks S3. Requests are made and signed here, so that a key is exactly the
//! volume's prefix and the path, and a refusal keeps its own words.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use jiff::Timestamp;
use model::{
    said,
    volume::{Credentials, Volume},
    words::Words,
};
use reqwest::{Client, Method, Response, StatusCode, Url, header, redirect};

use super::{
    Entry, Want,
    error::Trouble,
    joined,
    reading::{self, Opened, Opener},
    retry, web,
};

mod answers;
mod buffers;
mod checksum;
mod doubt;
mod listing;
mod sign;
#[cfg(test)]
mod tests;
mod upload;

#[derive(Clone)]
pub struct S3(Arc<Inner>);

struct Inner {
    client: Client,
    /// Scheme, host and port.
    origin: String,
    /// As the `host` header has it.
    host: String,
    /// What comes before a key: `/`, or `/bucket/`.
    root: String,
    /// Of the volume in the bucket; no `/` around it.
    prefix: String,
    region: String,
    credentials: Option<Credentials>,
    doubts: doubt::Doubts,
    /// Whether nobody on the way can alter what is sent: it is encrypted, or does not leave this machine.
    is_sealed: bool,
}

/// A request before it is signed.
#[derive(Default)]
struct Ask<'a> {
    method: Method,
    /// The bucket itself if empty.
    key: &'a str,
    query: Vec<(&'static str, String)>,
    headers: Vec<(header::HeaderName, String)>,
    body: Bytes,
    payload: Payload,
}

/// Whether the body's hash is in the signature.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Payload {
    #[default]
    Signed,
    /// The store compares the body with a checksum among the headers.
    Unsigned,
}

const ANSWER_BYTES_MAX: usize = 16 << 20;

impl S3 {
    pub fn open(volume: &Volume, credentials: Option<&Credentials>) -> Result<Self, Trouble> {
        let Volume::S3 { endpoint, bucket, prefix, region, virtual_host } = volume else {
            return Err(Trouble::never(("is no bucket", "不是存储桶")));
        };
        check_bucket(bucket)?;
        super::checked(prefix)?;
        let region = region.clone().unwrap_or_else(|| "us-east-1".into());
        let mut url = web::url(&endpoint.clone().unwrap_or_else(|| format!("https://s3.{region}.amazonaws.com")))?;
        if url.query().is_some() || url.fragment().is_some() {
            return Err(Trouble::never(("an endpoint has no `?` and no `#`", "endpoint 中不能有 `?` 和 `#`")));
        }
        let above = url.path().trim_end_matches('/').to_owned();
        let root = if *virtual_host { format!("{above}/") } else { format!("{above}/{bucket}/") };
        if *virtual_host {
            let host = format!("{bucket}.{}", url.host_str().unwrap_or_default());
            url.set_host(Some(&host))
                .map_err(|error| Trouble::never(said!("`{host}` is no host: {error}", "`{host}` 不是主机名（`{error}`）")))?;
        }
        let host = match url.port() {
            Some(port) => format!("{}:{port}", url.host_str().unwrap_or_default()),
            None => url.host_str().unwrap_or_default().to_owned(),
        };
        let origin = format!("{}://{host}", url.scheme());
        let client = web::client(&url, Client::builder().redirect(redirect::Policy::none()).http1_only())?;
        let (credentials, doubts) = (credentials.cloned(), doubt::Doubts::default());
        let is_sealed = url.scheme() == "https" || web::is_loopback(url.host_str().unwrap_or_default());
        Ok(Self(Arc::new(Inner { client, origin, host, root, prefix: prefix.clone(), region, credentials, doubts, is_sealed })))
    }

    fn key(&self, path: &str) -> String {
        joined(&self.0.prefix, path)
    }

    /// When a request about an upload in parts last got no clear answer: something of it may still come.
    pub fn in_doubt_at(&self) -> Option<Instant> {
        self.0.doubts.last()
    }

    async fn once(&self, ask: &Ask<'_>) -> Result<Response, Trouble> {
        let answered = self.answered(ask).await;
        if matches!(answered, Err(Trouble::Away { .. })) {
            self.0.doubts.of_request(ask);
        }
        answered
    }

    /// One request, signed now; a refusal is read and understood.
    async fn answered(&self, ask: &Ask<'_>) -> Result<Response, Trouble> {
        let inner = &self.0;
        let path = format!("{}{}", inner.root, web::encoded_path(ask.key));
        let path = if ask.key.is_empty() && path.len() > 1 { path.trim_end_matches('/').to_owned() } else { path };
        let query = query_text(&ask.query);
        let target = if query.is_empty() { format!("{}{path}", inner.origin) } else { format!("{}{path}?{query}", inner.origin) };
        let target = Url::parse(&target).map_err(|error| Trouble::never(Words::quoted(error)))?;
        // What is signed and what is sent must be one text, or the key would be another.
        if target.path() != path {
            return Err(Trouble::never(said!("the key `{}` cannot stand in a URL", "键 `{}` 不能写进网址", ask.key)));
        }
        let mut request = inner.client.request(ask.method.clone(), target);
        for (name, value) in &ask.headers {
            request = request.header(name, value);
        }
        for (name, value) in self.signature(ask, &path, &query) {
            request = request.header(name, value);
        }
        let response = web::send(request, ask.body.clone()).await?;
        if response.status().is_success() { Ok(response) } else { Err(self.refused(response).await) }
    }

    fn signature(&self, ask: &Ask<'_>, path: &str, query: &str) -> Vec<(&'static str, String)> {
        let Some(credentials) = &self.0.credentials else { return Vec::new() };
        let payload = match ask.payload {
            Payload::Signed => sign::sha256_hex(&ask.body),
            Payload::Unsigned => sign::UNSIGNED.to_owned(),
        };
        let (method, host, at) = (ask.method.as_str(), self.0.host.as_str(), Timestamp::now());
        let signable = sign::Signable { method, host, path, query, headers: &ask.headers, payload: &payload, at };
        sign::headers(&signable, credentials, &self.0.region)
    }

    async fn refused(&self, response: Response) -> Trouble {
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_redirection() {
            let region = headers.get("x-amz-bucket-region").and_then(|it| it.to_str().ok());
            let (en, zh) = region.map(|it| (format!(": it is in {it}"), format!("，在 {it}"))).unwrap_or_default();
            return Trouble::never((
                format!("the bucket is elsewhere ({status}){en}; name its endpoint and region"),
                format!("存储桶在别处（{status}）{zh}；请写明它的 endpoint 和 region"),
            ));
        }
        let body = web::refusal(response).await;
        answers::trouble(status, &headers, &self.without_secrets(body))
    }

    /// Stores repeat requests in their refusals, signed headers and all.
    fn without_secrets(&self, text: String) -> String {
        let Some(credentials) = &self.0.credentials else { return text };
        let secrets = [Some(&credentials.secret_key), credentials.session_token.as_ref()];
        secrets.into_iter().flatten().filter(|it| !it.is_empty()).fold(text, |text, secret| text.replace(secret.as_str(), "******"))
    }

    /// A request whose answer is short text, tried a few times.
    async fn text(&self, ask: &Ask<'_>) -> Result<String, Trouble> {
        retry::tries(|| self.text_once(ask)).await
    }

    async fn text_once(&self, ask: &Ask<'_>) -> Result<String, Trouble> {
        self.text_of(self.once(ask).await?).await
    }

    async fn text_of(&self, response: Response) -> Result<String, Trouble> {
        let bytes = web::small_body(response, ANSWER_BYTES_MAX).await?;
        String::from_utf8(bytes).map_err(|_| Trouble::never(("the answer is not UTF-8", "应答不是 UTF-8")))
    }

    pub async fn head(&self, path: &str) -> Result<Entry, Trouble> {
        let key = self.key(path);
        if key.is_empty() {
            return Err(Trouble::Missing { what: "file; it is the whole bucket" });
        }
        let ask = Ask { method: Method::HEAD, key: &key, ..Ask::default() };
        let response = retry::tries(|| self.once(&ask)).await?;
        web::entry(path, response.status(), response.headers())
    }

    pub fn opener(&self, path: &str, want: &Want) -> Opener {
        reading::opener(self, path, want, |this, path, from, length| async move { this.opened(&path, from, length).await })
    }

    async fn opened(&self, path: &str, from: u64, length: Option<u64>) -> Result<Opened, Trouble> {
        let key = self.key(path);
        if key.is_empty() {
            return Err(Trouble::Missing { what: "file; it is the whole bucket" });
        }
        let range = web::range_header(from, length).map(|range| (header::RANGE, range));
        let ask = Ask { method: Method::GET, key: &key, headers: range.into_iter().collect(), ..Ask::default() };
        let response = match self.once(&ask).await {
            // A range that begins where the file ends is refused, but there is nothing wrong with it.
            Err(Trouble::Never { why }) => {
                let entry = self.head(path).await?;
                let is_end = from >= entry.size && (from > 0 || length.is_some());
                return if is_end { Ok(Opened { entry, body: stream::empty().boxed() }) } else { Err(Trouble::never(why)) };
            }
            other => other?,
        };
        if from > 0 && response.status() != StatusCode::PARTIAL_CONTENT {
            return Err(Trouble::never((
                "the store does not know ranges, so nothing can be taken up in the middle",
                "该存储不支持分段读取，无法从中间续传",
            )));
        }
        Ok(Opened { entry: web::entry(path, response.status(), response.headers())?, body: web::body(response) })
    }

    pub async fn remove(&self, path: &str) -> Result<(), Trouble> {
        let ask = Ask { method: Method::DELETE, key: &self.key(path), ..Ask::default() };
        match retry::tries(|| self.once(&ask)).await {
            Ok(_) | Err(Trouble::Missing { what: "file" }) => Ok(()),
            Err(trouble) => Err(trouble),
        }
    }
}

/// A bucket's name stands in hosts and paths, so it is held to what all stores allow.
fn check_bucket(bucket: &str) -> Result<(), Trouble> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    let sound = (1..=255).contains(&bucket.len()) && bucket.chars().all(allowed) && bucket.starts_with(|c: char| c.is_ascii_alphanumeric());
    if sound {
        return Ok(());
    }
    Err(Trouble::never(said!(
        "`{bucket}` is no bucket's name; they have letters, digits, `-`, `.` and `_`, and a directory of a bucket is said as its prefix",
        "`{bucket}` 不是存储桶名；桶名由字母、数字、`-`、`.` 和 `_` 组成，桶里的目录请写成前缀（prefix）"
    )))
}

/// Sorted, as the signature wants it.
fn query_text(query: &[(&'static str, String)]) -> String {
    let mut pairs: Vec<String> = query.iter().map(|(name, value)| format!("{name}={}", web::encoded(value, b"-._~"))).collect();
    pairs.sort();
    pairs.join("&")
}
