//! The console: files that were put into this program when it was built. They are there for anyone, and know nothing;
//! what they show they ask the API for.

use std::{io::Read, sync::LazyLock};

use axum::{
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    middleware::Next,
    response::{Html, IntoResponse, Response},
};
use sha2::{Digest, Sha256};

use crate::{error::Error, run_token::hex};

// `FILES`: each file's path from `/` and its content, gzipped. Empty if the console was not built.
include!(concat!(env!("OUT_DIR"), "/console_files.rs"));

const PAGE: &str = "/index.html";
/// Stands in the page where the nonce of each answer goes.
const NONCE: &str = "NONCE-OF-THIS-ANSWER";
const NOT_BUILT: &str = include_str!("console_missing.html");

/// A file's address has its content's hash in it, so it never changes.
const FOR_EVER: &str = "public, max-age=31536000, immutable";
const ASK_FIRST: &str = "no-cache";

/// Whatever is asked for outside the API is the console: one of its files, or the page, which knows its own addresses.
pub async fn serve(request: Request, next: Next) -> Response {
    let is_reading = [Method::GET, Method::HEAD].contains(request.method());
    let path = request.uri().path().to_owned();
    if !is_reading || path == "/api" || path.starts_with("/api/") {
        return next.run(request).await;
    }
    match FILES.iter().find(|(name, _)| *name == path && path != PAGE) {
        Some((name, zipped)) => file(name, zipped, request.headers()),
        None if path.starts_with("/assets/") => Error::NoSuchRoute(path).into_response(),
        None => page(),
    }
}

fn file(name: &str, zipped: &'static [u8], asked: &HeaderMap) -> Response {
    let etag = format!("\"{}\"", &hex(&Sha256::digest(zipped))[..32]);
    let cache = if name.starts_with("/assets/") { FOR_EVER } else { ASK_FIRST };
    let common = [(header::ETAG, etag.clone()), (header::CACHE_CONTROL, cache.into()), (header::VARY, "accept-encoding".into())];
    if asked.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == etag.as_bytes()) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    let kind = [(header::CONTENT_TYPE, content_type(name))];
    if takes_gzip(asked) {
        return (common, kind, [(header::CONTENT_ENCODING, "gzip")], zipped).into_response();
    }
    (common, kind, unzip(zipped)).into_response()
}

fn takes_gzip(asked: &HeaderMap) -> bool {
    asked.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).is_some_and(|value| value.contains("gzip"))
}

fn unzip(zipped: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(zipped).read_to_end(&mut plain).expect("the build zipped it");
    plain
}

fn content_type(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        Some("html") => "text/html; charset=utf-8",
        Some("json") => "application/json",
        Some("woff2") => "font/woff2",
        Some(_) | None => "application/octet-stream",
    }
}

/// The page lets styles in by a nonce that is new with each answer, for the editor writes its own; scripts only from files.
fn page() -> Response {
    static TEXT: LazyLock<Option<String>> = LazyLock::new(|| {
        let zipped = FILES.iter().find(|(name, _)| *name == PAGE)?.1;
        Some(String::from_utf8(unzip(zipped)).expect("the page is text"))
    });
    let Some(text) = TEXT.as_deref() else { return (StatusCode::NOT_FOUND, Html(NOT_BUILT)).into_response() };
    let mut bits = [0; 16];
    if let Err(error) = getrandom::fill(&mut bits) {
        return Error::Internal(format!("no randomness: {error}")).into_response();
    }
    let nonce = hex(&bits);
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; img-src 'self' blob: data:; connect-src 'self'; \
         form-action 'none'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    let headers = [(header::CONTENT_SECURITY_POLICY, policy), (header::CACHE_CONTROL, "no-store".into()), (COOP, "same-origin".into())];
    (headers, Html(text.replace(NONCE, &nonce))).into_response()
}

const COOP: HeaderName = HeaderName::from_static("cross-origin-opener-policy");
const CORP: HeaderName = HeaderName::from_static("cross-origin-resource-policy");

/// On every answer: nobody guesses what it is, frames it, reads it from another site or learns its address.
pub async fn keep_to_itself(mut answer: Response<Body>) -> Response<Body> {
    for (name, value) in [
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (CORP, "same-origin"),
        (header::CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
    ] {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_told_what_each_file_is() {
        for (name, _) in FILES {
            assert_ne!(content_type(name), "application/octet-stream", "{name}");
        }
    }
}
