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

/// The parameters after the `?`.
pub struct Query<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
        let wrong = |error: axum::extract::rejection::QueryRejection| {
            let why = std::error::Error::source(&error).map_or_else(|| error.to_string(), ToString::to_string);
            Error::BadValue { name: "query", value: parts.uri.query().unwrap_or_default().to_owned(), wanted: why }
        };
        axum::extract::Query::try_from_uri(&parts.uri).map(|axum::extract::Query(query)| Self(query)).map_err(wrong)
    }
}

/// The whole body, up to the limit of the server.
pub struct Body(pub Bytes);

impl<S: Send + Sync> FromRequest<S> for Body {
    type Rejection = Error;
    async fn from_request(request: Request, state: &S) -> Result<Self, Error> {
        Bytes::from_request(request, state).await.map(Self).map_err(|rejection| match rejection.into_response().status() {
            StatusCode::PAYLOAD_TOO_LARGE => Error::TooLarge { most_bytes: BODY_BYTES_MAX },
            _ => Error::BadValue { name: "body", value: String::new(), wanted: "a body that arrives whole".into() },
        })
    }
}
