//! What a bucket answers, and what its refusals mean.

use jiff::Timestamp;
use model::{said, words::Words};
use reqwest::{
    StatusCode,
    header::{self, HeaderMap},
};
use serde::Deserialize;

use super::super::{error::Trouble, web};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Listed {
    #[serde(default)]
    pub contents: Vec<Object>,
    #[serde(default)]
    pub common_prefixes: Vec<Prefix>,
    pub next_continuation_token: Option<String>,
    #[serde(default)]
    pub is_truncated: bool,
    /// `url` if names are written with `%XX`; not every store does so, though all are asked to.
    pub encoding_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Object {
    pub key: String,
    pub size: u64,
    pub last_modified: Option<String>,
    #[serde(rename = "ETag")]
    pub etag: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Prefix {
    pub prefix: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Begun {
    pub upload_id: String,
}

#[derive(Debug, Deserialize)]
pub struct Completed {
    #[serde(rename = "ETag")]
    pub etag: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Uploads {
    #[serde(default)]
    pub upload: Vec<Upload>,
    pub encoding_type: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "PascalCase")]
pub struct Upload {
    pub key: String,
    pub upload_id: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "PascalCase", default)]
pub struct Refusal {
    pub code: String,
    pub message: String,
}

pub fn parse<'de, T: Deserialize<'de>>(xml: &'de str) -> Result<T, Trouble> {
    quick_xml::de::from_str(xml)
        .map_err(|error| Trouble::never(said!("the answer is not what a bucket answers: {error}", "应答不像存储桶的应答（`{error}`）")))
}

/// A name as it is in the bucket.
pub fn decoded(text: &str, encoding: Option<&str>) -> Result<String, Trouble> {
    if encoding != Some("url") {
        return Ok(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let pair = [rest.next().unwrap_or(b'?'), rest.next().unwrap_or(b'?')];
                let pair = std::str::from_utf8(&pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
                pair.ok_or_else(|| {
                    Trouble::never(said!("the bucket lists `{text}`, whose encoding is broken", "存储桶列出的 `{text}` 编码有误"))
                })?
            }
            other => other,
        });
    }
    String::from_utf8(bytes)
        .map_err(|_| Trouble::never(said!("the bucket lists `{text}`, which is not UTF-8", "存储桶列出的 `{text}` 不是 UTF-8")))
}

pub fn timestamp_ms(text: &str) -> u64 {
    text.parse::<Timestamp>().ok().and_then(|at| u64::try_from(at.as_millisecond()).ok()).unwrap_or(0)
}

/// What a refusal means for whoever asked.
pub fn trouble(status: StatusCode, headers: &HeaderMap, body: &str) -> Trouble {
    let refusal: Refusal = quick_xml::de::from_str(body).unwrap_or_default();
    let said = match (refusal.code.as_str(), refusal.message.trim()) {
        ("", _) => status.to_string(),
        (code, "") => format!("{code} ({status})"),
        (code, message) => format!("{code}: {}", message.trim_end_matches('.')),
    };
    match refusal.code.as_str() {
        "RequestTimeTooSkewed" => Trouble::Denied { said: skew(headers) },
        "ExpiredToken" | "InvalidToken" | "InvalidAccessKeyId" | "XAdminUserNotFound" | "SignatureDoesNotMatch" => Trouble::Denied { said },
        "NoSuchBucket" => Trouble::Missing { what: "bucket" },
        "NoSuchKey" => Trouble::Missing { what: "file" },
        "NoSuchUpload" => Trouble::Missing { what: "upload" },
        // Whatever the status: what is not known today is not known in a moment either.
        "NotImplemented" | "NotSupported" => Trouble::never(Words::quoted(said)),
        "XMinioStorageFull" | "QuotaExceeded" | "InsufficientStorage" => Trouble::Full { said },
        // These say "again, please" with the status of a mistake, or with that of a success. What we write is well-formed when
        // it leaves us.
        "RequestTimeout"
        | "IncompleteBody"
        | "BadDigest"
        | "MalformedXML"
        | "XAmzContentSHA256Mismatch"
        | "XAmzContentChecksumMismatch"
        | "SlowDown"
        | "InternalError"
        | "ServiceUnavailable"
        | "OperationAborted" => Trouble::Away { why: said, retry_after: web::retry_after(headers) },
        _ => web::status_trouble(status, headers, said),
    }
}

/// Both clocks are known: ours, and the one in the answer.
fn skew(headers: &HeaderMap) -> String {
    let theirs_ms = web::text(headers, &header::DATE).and_then(web::http_date_ms);
    let Some(theirs_ms) = theirs_ms else { return "its clock and this machine's differ too much (RequestTimeTooSkewed)".into() };
    let ours_ms = web::now_ms();
    let minutes = (ours_ms.abs_diff(theirs_ms) + 30_000) / 60_000;
    let which = if ours_ms > theirs_ms { "ahead of" } else { "behind" };
    format!("this machine's clock is {minutes} minutes {which} the store's (RequestTimeTooSkewed); set the clock")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(status: u16, body: &str) -> String {
        format!("{:?}", trouble(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body))
    }

    #[test]
    fn refusals_are_sorted_by_what_helps() {
        let xml = |code: &str| format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>So it is.</Message></Error>");
        let answers = [
            said(403, &xml("SignatureDoesNotMatch")),
            said(400, &xml("ExpiredToken")),
            said(403, ""),
            said(404, &xml("NoSuchBucket")),
            said(404, ""),
            said(503, &xml("SlowDown")),
            said(200, &xml("InternalError")),
            said(400, &xml("RequestTimeout")),
            said(507, &xml("XMinioStorageFull")),
            said(400, &xml("KeyTooLongError")),
            said(429, "<html>busy"),
            said(501, &xml("NotImplemented")),
            said(501, ""),
        ];
        insta::assert_snapshot!(answers.join("\n"), @r#"
        Denied { said: "SignatureDoesNotMatch: So it is" }
        Denied { said: "ExpiredToken: So it is" }
        Denied { said: "403 Forbidden" }
        Missing { what: "bucket" }
        Missing { what: "file" }
        Away { why: "SlowDown: So it is", retry_after: None }
        Away { why: "InternalError: So it is", retry_after: None }
        Away { why: "RequestTimeout: So it is", retry_after: None }
        Full { said: "XMinioStorageFull: So it is" }
        Never { why: Words { en: "KeyTooLongError: So it is", zh: "`KeyTooLongError: So it is`" } }
        Away { why: "429 Too Many Requests", retry_after: None }
        Never { why: Words { en: "NotImplemented: So it is", zh: "`NotImplemented: So it is`" } }
        Never { why: Words { en: "501 Not Implemented", zh: "`501 Not Implemented`" } }
        "#);
    }

    #[test]
    fn a_wrong_clock_is_told_in_minutes() {
        let at = Timestamp::from_millisecond(i64::try_from(web::now_ms()).unwrap() - 22 * 60_000 + 5_000).unwrap();
        let date = at.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let headers = HeaderMap::from_iter([(header::DATE, date.parse().unwrap())]);
        assert_eq!(skew(&headers), "this machine's clock is 22 minutes ahead of the store's (RequestTimeTooSkewed); set the clock");
    }

    #[test]
    fn names_come_out_as_they_are_in_the_bucket() {
        assert_eq!(decoded("a+b%2B%25%C3%BC", Some("url")), Ok("a b+%ü".into()));
        assert_eq!(decoded("a+b%2B", None), Ok("a+b%2B".into()));
        assert!(decoded("a%2", Some("url")).is_err() && decoded("%FF", Some("url")).is_err());
    }

    #[test]
    fn a_list_may_mix_files_and_directories() {
        let xml = "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a</Key><Size>3</Size></Contents>\
                   <CommonPrefixes><Prefix>d/</Prefix></CommonPrefixes><Contents><Key>b</Key><Size>4</Size></Contents></ListBucketResult>";
        let listed: Listed = parse(xml).unwrap();
        assert_eq!((listed.contents.len(), listed.common_prefixes[0].prefix.as_str()), (2, "d/"));
        assert!(parse::<Listed>("<html>").is_err());
    }
}
