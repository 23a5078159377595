//! AWS's signature, version 4: who asks, and for what exactly.

use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use model::volume::Credentials;
use reqwest::header::HeaderName;
use sha2::{Digest, Sha256};

use crate::run_token::hex;

/// What is signed of a request.
pub struct Signable<'a> {
    pub method: &'a str,
    /// With its port where that is not the scheme's own.
    pub host: &'a str,
    /// Encoded, beginning with `/`.
    pub path: &'a str,
    /// Encoded and sorted.
    pub query: &'a str,
    /// Those that begin with `x-amz-` are signed; the rest says nothing that matters.
    pub headers: &'a [(HeaderName, String)],
    /// The SHA-256 of the body in hexadecimal, or [`UNSIGNED`].
    pub payload: &'a str,
    pub at: Timestamp,
}

/// In place of a body's hash.
pub const UNSIGNED: &str = "UNSIGNED-PAYLOAD";

/// The headers that go with a request: the signature and what it needs to be checked.
pub fn headers(request: &Signable<'_>, credentials: &Credentials, region: &str) -> Vec<(&'static str, String)> {
    let time = request.at.strftime("%Y%m%dT%H%M%SZ").to_string();
    let mut headers = vec![("x-amz-content-sha256", request.payload.to_owned()), ("x-amz-date", time.clone())];
    headers.extend(credentials.session_token.clone().map(|token| ("x-amz-security-token", token)));

    let Signable { method, host, path, query, payload, .. } = request;
    let theirs = request.headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).filter(|(name, _)| name.starts_with("x-amz-"));
    let ours = headers.iter().map(|(name, value)| (*name, value.as_str()));
    let mut signed: Vec<(&str, &str)> = std::iter::once(("host", *host)).chain(theirs).chain(ours).collect();
    signed.sort_unstable();
    let names = signed.iter().map(|(name, _)| *name).collect::<Vec<&str>>().join(";");
    let signed: String = signed.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
    let canonical = format!("{method}\n{path}\n{query}\n{signed}\n{names}\n{payload}");

    let day = &time[..8];
    let scope = format!("{day}/{region}/s3/aws4_request");
    let to_sign = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{}", sha256_hex(canonical.as_bytes()));
    let first = mac(format!("AWS4{}", credentials.secret_key).as_bytes(), day);
    let key = [region, "s3", "aws4_request"].iter().fold(first, |key, word| mac(&key, word));
    let signature = hex(&mac(&key, &to_sign));
    let who = &credentials.access_key;
    headers.push(("authorization", format!("AWS4-HMAC-SHA256 Credential={who}/{scope}, SignedHeaders={names}, Signature={signature}")));
    headers
}

pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn mac(key: &[u8], text: &str) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length is a key");
    mac.update(text.as_bytes());
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps of the signature, done by another program for the same request:
    /// `openssl dgst -sha256 -mac HMAC` on each.
    #[test]
    fn a_signature_has_the_names_it_signs_in_order() {
        let credentials = Credentials { access_key: "AKID".into(), secret_key: "secret".into(), session_token: Some("tok".into()) };
        let at = "2026-03-01T12:00:00Z".parse().unwrap();
        let sent = ["x-amz-checksum-crc32", "content-type"].map(|name| (HeaderName::from_static(name), "x".to_owned()));
        let request = Signable { method: "GET", host: "h", path: "/b/k", query: "", headers: &sent, payload: UNSIGNED, at };
        let headers = headers(&request, &credentials, "eu-1");
        assert_eq!(headers[1], ("x-amz-date", "20260301T120000Z".to_owned()));
        let authorization = &headers[3].1;
        assert_eq!(
            authorization,
            "AWS4-HMAC-SHA256 Credential=AKID/20260301/eu-1/s3/aws4_request, \
             SignedHeaders=host;x-amz-checksum-crc32;x-amz-content-sha256;x-amz-date;x-amz-security-token, \
             Signature=4cadff180a61e8edf7aa0796f8b5b294844860f9981c80d6c5fe9bfe52cef513"
        );
        assert!(!headers.iter().any(|(_, value)| value.contains("secret")));
    }
}
