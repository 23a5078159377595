//! Which language the caller reads: as asked for with `lang`, else the first of `Accept-Language` that we have.

use axum::{
    extract::FromRequestParts,
    http::{header::ACCEPT_LANGUAGE, request::Parts},
};
use model::words::Lang;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use crate::error::Error;

pub struct Language(pub Lang);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LangQuery {
    /// `en` or `zh`; if absent, the first of `Accept-Language` that is one of them.
    lang: Option<String>,
}

impl<S: Send + Sync> FromRequestParts<S> for Language {
    type Rejection = Error;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Error> {
        let Query(LangQuery { lang }) = Query::from_request_parts(parts, state).await?;
        if let Some(value) = lang {
            let bad = || Error::BadValue { name: "lang", value: value.clone(), wanted: ("en or zh", "en 或 zh").into() };
            return Lang::from_text(&value).map(Self).ok_or_else(bad);
        }
        let accepted = parts.headers.get(ACCEPT_LANGUAGE).and_then(|header| Lang::from_accepted(header.to_str().ok()?));
        Ok(Self(accepted.unwrap_or_default()))
    }
}
