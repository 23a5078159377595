//! What buckets and web servers have in common: a connection, an answer in time, and what its headers say.

use std::{
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Once,
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream::BoxStream};
use model::{said, words::Words};
use reqwest::{
    Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url,
    header::{self, HeaderMap, HeaderName},
};

use super::{
    Entry,
    error::Trouble,
    upload_watch::{Patience, Watched},
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a store may be silent, before its answer and within it.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Nobody explains a refusal at greater length.
const REFUSAL_BYTES_MAX: usize = 64 << 10;

pub fn url(text: &str) -> Result<Url, Trouble> {
    if !text.contains("://") {
        return Err(Trouble::never(said!(
            "`{text}` is no URL; is `http://{text}` meant?",
            "`{text}` 不是网址；是不是想写 `http://{text}`？"
        )));
    }
    let url = Url::parse(text).map_err(|error| Trouble::never(said!("`{text}` is no URL: {error}", "`{text}` 不是网址（`{error}`）")))?;
    match url.scheme() {
        "http" | "https" if !url.username().is_empty() || url.password().is_some() => {
            Err(Trouble::never(("the URL has a user or password in it, which everyone would see", "网址里有用户名或密码，谁都看得到")))
        }
        "http" | "https" if url.host_str().is_some() => Ok(url),
        scheme => Err(Trouble::never(said!(
            "the scheme `{scheme}` is not fetched; use http or https",
            "不支持 `{scheme}` 协议，请用 http 或 https"
        ))),
    }
}

/// A client for one host. What is on this machine is never asked for through somebody's proxy, and every
/// name below `localhost` is this machine.
pub fn client(url: &Url, builder: ClientBuilder) -> Result<Client, Trouble> {
    static ONE_PROVIDER: Once = Once::new();
    ONE_PROVIDER.call_once(|| {
        // Another part of the program may have been first, with the same one.
        let _installed_before = rustls::crypto::ring::default_provider().install_default();
    });
    let host = url.host_str().unwrap_or_default();
    let mut builder = builder.connect_timeout(CONNECT_TIMEOUT).user_agent(concat!("trainmaster/", env!("CARGO_PKG_VERSION")));
    if is_loopback(host) {
        builder = builder.no_proxy();
    }
    if host.ends_with(".localhost") {
        builder = builder.resolve(host, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
    }
    builder.build().map_err(|error| Trouble::never(said!("no client can be made: {}", "无法建立客户端（`{}`）", root_cause(&error))))
}

pub fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || host.ends_with(".localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Sends a request with its body, and waits for the head of its answer for as long as something moves.
pub async fn send(request: RequestBuilder, body: Bytes) -> Result<Response, Trouble> {
    let (request, mut watched) = Watched::with_body(request, body);
    match watched.unless_still(request.send(), Patience::new(SILENCE_MAX)).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(error)) if error.is_builder() || error.is_redirect() => Err(Trouble::never(Words::quoted(root_cause(&error)))),
        Ok(Err(error)) => Err(Trouble::away(root_cause(&error))),
        Err(still) => Err(Trouble::away(still.to_string())),
    }
}

/// The innermost reason: the layers around it say only that something went wrong, and name the URL, which
/// may hold what opens it.
pub fn root_cause(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// An answer's bytes as they come.
pub fn body(response: Response) -> BoxStream<'static, Result<Bytes, Trouble>> {
    let stream = response.bytes_stream().boxed();
    futures_util::stream::unfold(Some(stream), |stream| async {
        let mut stream = stream?;
        match tokio::time::timeout(SILENCE_MAX, stream.next()).await {
            Ok(None) => None,
            Ok(Some(Ok(bytes))) => Some((Ok(bytes), Some(stream))),
            Ok(Some(Err(error))) => Some((Err(Trouble::away(format!("the connection was cut: {}", root_cause(&error)))), None)),
            Err(_) => Some((Err(Trouble::away(format!("nothing came for {} s", SILENCE_MAX.as_secs()))), None)),
        }
    })
    .boxed()
}

/// A whole answer that must not be longer than that.
pub async fn small_body(response: Response, bytes_max: usize) -> Result<Vec<u8>, Trouble> {
    let (mut whole, mut pieces) = (Vec::new(), body(response));
    while let Some(piece) = pieces.next().await {
        whole.extend_from_slice(&piece?);
        if whole.len() > bytes_max {
            return Err(Trouble::never(said!("the answer is longer than {bytes_max} bytes", "应答超过了 {bytes_max} 字节")));
        }
    }
    Ok(whole)
}

/// What a refusal says of itself; whatever keeps us from reading it is not worth a word.
pub async fn refusal(response: Response) -> String {
    String::from_utf8_lossy(&small_body(response, REFUSAL_BYTES_MAX).await.unwrap_or_default()).into_owned()
}

/// What a status alone means.
pub fn status_trouble(status: StatusCode, headers: &HeaderMap, said: String) -> Trouble {
    match status.as_u16() {
        401 | 403 => Trouble::Denied { said },
        404 | 410 => Trouble::Missing { what: "file" },
        412 => Trouble::changed(said),
        408 | 425 | 429 => Trouble::Away { why: said, retry_after: retry_after(headers) },
        501 => Trouble::never(Words::quoted(said)),
        507 => Trouble::Full { said },
        500..=599 => Trouble::Away { why: said, retry_after: retry_after(headers) },
        _ => Trouble::never(Words::quoted(said)),
    }
}

pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = text(headers, &header::RETRY_AFTER)?;
    let until = || Some(http_date_ms(text)?.saturating_sub(now_ms()));
    text.parse::<u64>().ok().map(Duration::from_secs).or_else(|| until().map(Duration::from_millis))
}

pub fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The file that an answer to GET or HEAD is about.
pub fn entry(path: &str, status: StatusCode, headers: &HeaderMap) -> Result<Entry, Trouble> {
    let size = match status {
        StatusCode::PARTIAL_CONTENT => text(headers, &header::CONTENT_RANGE).and_then(|range| range.rsplit('/').next()?.parse().ok()),
        _ => text(headers, &header::CONTENT_LENGTH).and_then(|length| length.parse().ok()),
    };
    let modified = text(headers, &header::LAST_MODIFIED);
    let etag = text(headers, &header::ETAG).map(|etag| etag.trim_matches('"').to_owned());
    Ok(Entry {
        path: path.to_owned(),
        size: size.ok_or_else(|| Trouble::never(("the answer does not say how long the file is", "应答没有说明文件有多大")))?,
        modified_ms: modified.and_then(http_date_ms).unwrap_or(0),
        etag: etag.or_else(|| modified.map(str::to_owned)).unwrap_or_default(),
    })
}

pub fn http_date_ms(text: &str) -> Option<u64> {
    u64::try_from(jiff::fmt::rfc2822::parse(text).ok()?.timestamp().as_millisecond()).ok()
}

pub fn now_ms() -> u64 {
    u64::try_from(jiff::Timestamp::now().as_millisecond()).unwrap_or(0)
}

/// `bytes=5-9`; nothing if everything is wanted.
pub fn range_header(from: u64, length: Option<u64>) -> Option<String> {
    match length {
        None if from == 0 => None,
        None => Some(format!("bytes={from}-")),
        Some(length) => Some(format!("bytes={from}-{}", from.saturating_add(length).saturating_sub(1))),
    }
}

/// Everything but letters, digits, `-._~` and `/` as `%XX`, byte by byte.
pub fn encoded_path(path: &str) -> String {
    encoded(path, b"-._~/")
}

pub fn encoded(text: &str, kept: &[u8]) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::with_capacity(text.len()), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            write!(out, "%{byte:02X}").expect("a string takes whatever is written");
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_is_asked_for_in_seconds_or_until_a_moment() {
        let headers = |value: &str| HeaderMap::from_iter([(header::RETRY_AFTER, value.parse().unwrap())]);
        assert_eq!(retry_after(&headers("7")), Some(Duration::from_secs(7)));
        assert_eq!(retry_after(&headers("Sun, 06 Nov 1994 08:49:37 GMT")), Some(Duration::ZERO));
        assert_eq!(retry_after(&headers("soon")), None);
    }

    #[test]
    fn this_machine_has_many_names() {
        for name in ["127.0.0.1", "localhost", "bucket.localhost", "[::1]"] {
            assert!(is_loopback(name), "{name}");
        }
        for name in ["example.org", "localhost.example.org", "10.0.0.1"] {
            assert!(!is_loopback(name), "{name}");
        }
    }

    #[test]
    fn a_url_with_a_password_is_refused_without_repeating_it() {
        let said = url("https://me:hunter2@example.org/").unwrap_err();
        assert!(!format!("{said:?}").contains("hunter2"));
        assert!(url("ftp://example.org").is_err() && url("x").is_err() && url("http://127.0.0.1:9000").is_ok());
    }

    #[test]
    fn an_address_without_its_scheme_is_told_how_to_have_one() {
        let said = url("127.0.0.1:9000").unwrap_err();
        assert!(format!("{said:?}").contains("is `http://127.0.0.1:9000` meant?"), "{said:?}");
    }

    #[test]
    fn a_path_is_encoded_byte_by_byte() {
        assert_eq!(encoded_path("a b/ü%2e+~.txt"), "a%20b/%C3%BC%252e%2B~.txt");
    }
}
