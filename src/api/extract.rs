//! What handlers read from a request, with refusals in our own words.

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::{StatusCode, request::Parts},
    response::IntoResponse,
};
use serde::de::DeserializeOwned;

use super::BODY_BYTES_MAX;
use crate::error::Error;
use model::words::Words;

/// The parameters after the `?`.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let wrong = |error: axum::extract::rejection::QueryRejection| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Error::BadValue { name: "query", value: parts.uri.query().unwrap_or_default().to_owned(), wanted: Words::quoted(why) }
        };
        if !is_utf8(parts.uri.query().unwrap_or_default()) {
            return Err(Error::BadValue {
                name: "query",
                value: parts.uri.query().unwrap_or_default().to_owned(),
                wanted: ("UTF-8", "UTF-8 编码").into(),
            });
        }
        axum::extract::Query::try_from_uri(&parts.uri).map(|axum::extract::Query(query)| Self(query)).map_err(wrong)
    }
}

/// Whether what is written as `%XX` is text. Whoever reads it next would put another character in the place of
/// what is none, and then a path would be another path.
fn is_utf8(query: &str) -> bool {
    let mut bytes = Vec::with_capacity(query.len());
    let mut rest = query.as_bytes().iter();
    while let Some(&byte) = rest.next() {
        let pair = (byte == b'%').then(|| rest.as_slice().get(..2)).flatten();
        let decoded = pair.and_then(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
        if decoded.is_some() {
            rest.nth(1);
        }
        bytes.push(decoded.unwrap_or(byte));
    }
    String::from_utf8(bytes).is_ok()
}

/// The whole body, up to the limit of the server.
pub struct Body(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Error;
    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| match rejection.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge { most_bytes: BODY_BYTES_MAX },
            _ => Error::BadValue {
                name: "body", value: String::new(), wanted: ("a body that arrives whole", "完整到达的内容").into()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_noticed_however_it_is_written() {
        for good in ["", "at=data:x", "at=%C3%BC%2e%2E", "a=%", "a=%2", "a=%zz"] {
            assert!(is_utf8(good), "{good}");
        }
        for bad in ["at=%FF", "at=%C0%AF", "at=%ED%A0%80", "at=a%C3"] {
            assert!(!is_utf8(bad), "{bad}");
        }
    }
}
