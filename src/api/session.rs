//! Logging in to the console and out again.
//!
//! A browser sends a cookie to every port of a machine, and a task may listen on one of them. So the cookie alone opens
//! nothing: every request carries the session's key beside it, which a page keeps for its own origin. For what a browser
//! loads by itself, such as a download, there are passes: good for one path, for a minute.

use axum::{
    Json,
    extract::State,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri, header},
};
use model::{
    wire::{ErrorBody, LogIn, LogInLink, PassPath, SessionView},
    words::Words,
};

use super::{App, AppState, extract::Body, guard};
use crate::{
    control::now_ms,
    error::Error,
    run_token::hex,
    store::{
        Store, StoreError,
        sessions::{self, Session},
        tokens::{self, Holder},
    },
};

const SESSION_MS: u64 = 30 * 24 * 3_600_000;
const TICKET_MS: u64 = 10 * 60_000;
const PASS_MS: u64 = 60_000;
/// Of a request whose cookie shall count.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-trainmaster-session");
const PASS: &str = "pass=";

type WithCookie<T> = ([(HeaderName, HeaderValue); 1], T);

/// Begins a session of a browser with a token, or with the ticket of a link, which is good once.
#[utoipa::path(post, path = "/api/v1/login", request_body = LogIn,
    responses((status = 200, body = SessionView), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)))]
pub async fn begin(State(app): AppState, headers: HeaderMap, Body(body): Body) -> Result<WithCookie<Json<SessionView>>, Error> {
    let (cookie, key, now) = (random()?, random()?, now_ms());
    let session = Session {
        hash: guard::token_hash(&cookie),
        key_hash: guard::token_hash(&key),
        token_hash: String::new(),
        expires_at_ms: now + SESSION_MS,
    };
    let expires_at_ms = session.expires_at_ms;
    let holder = match parse(&body)? {
        LogIn::Token(token) => begin_with_token(&app.store, session, guard::token_hash(&token)).await?.ok_or(Error::NoToken)?,
        LogIn::Ticket(ticket) => begin_with_ticket(&app.store, session, guard::token_hash(&ticket)).await?.ok_or(Error::LinkUsed)?,
    };
    let view = SessionView { user: holder.user, role: holder.role.text().into(), key, expires_at_ms };
    Ok(([set_cookie(&headers, &cookie, SESSION_MS / 1000)], Json(view)))
}

fn parse<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Error> {
    let wrong = |error: serde_json::Error| Error::BadValue { name: "body", value: "…".into(), wanted: Words::quoted(error) };
    serde_json::from_slice(body).map_err(wrong)
}

async fn begin_with_token(store: &Store, session: Session, token_hash: String) -> Result<Option<Holder>, StoreError> {
    let write = move |sql: &crate::store::Sql<'_>| {
        let Some(holder) = tokens::find(sql, &token_hash, now_ms())? else { return Ok(None) };
        sessions::begin(sql, &Session { token_hash, ..session }, now_ms())?;
        Ok(Some(holder))
    };
    store.write(write).await
}

async fn begin_with_ticket(store: &Store, session: Session, ticket_hash: String) -> Result<Option<Holder>, StoreError> {
    let write = move |sql: &crate::store::Sql<'_>| {
        let Some(token_hash) = sessions::take_ticket(sql, &ticket_hash, now_ms())? else { return Ok(None) };
        let Some(holder) = tokens::find(sql, &token_hash, now_ms())? else { return Ok(None) };
        sessions::begin(sql, &Session { token_hash, ..session }, now_ms())?;
        Ok(Some(holder))
    };
    store.write(write).await
}

/// Ends the session of the browser that asks.
#[utoipa::path(delete, path = "/api/v1/session", responses((status = 204), (status = 401, body = ErrorBody)))]
pub async fn end(State(app): AppState, headers: HeaderMap) -> Result<WithCookie<StatusCode>, Error> {
    if let Some(cookie) = cookie(&headers) {
        let hash = guard::token_hash(&cookie);
        app.store.write(move |sql| sessions::end(sql, &hash)).await?;
    }
    Ok(([set_cookie(&headers, "", 0)], StatusCode::NO_CONTENT))
}

/// Makes a link that logs its reader in as the caller, once.
#[utoipa::path(post, path = "/api/v1/session/link", responses((status = 200, body = LogInLink), (status = 401, body = ErrorBody)))]
pub async fn link(State(app): AppState, headers: HeaderMap) -> Result<Json<LogInLink>, Error> {
    let token_hash = match guard::bearer(&headers) {
        Some(token) => guard::token_hash(token),
        None => found(&app, &headers).await?.0.token_hash,
    };
    Ok(Json(make_link(&app.store, token_hash).await?))
}

/// Makes a link for whoever holds the token with this hash.
pub async fn make_link(store: &Store, token_hash: String) -> Result<LogInLink, Error> {
    let (ticket, now) = (random()?, now_ms());
    let (hash, expires_at_ms) = (guard::token_hash(&ticket), now + TICKET_MS);
    store.write(move |sql| sessions::keep_ticket(sql, &hash, &token_hash, now, expires_at_ms)).await?;
    Ok(LogInLink { path: format!("/login#ticket={ticket}"), expires_at_ms })
}

/// Makes a pass for a path, which a browser then loads by itself: with its cookie, within a minute.
#[utoipa::path(post, path = "/api/v1/session/pass", request_body = PassPath,
    responses((status = 200, body = PassPath), (status = 400, body = ErrorBody), (status = 401, body = ErrorBody)))]
pub async fn pass(State(app): AppState, headers: HeaderMap, Body(body): Body) -> Result<Json<PassPath>, Error> {
    let PassPath { path } = parse(&body)?;
    let session = found(&app, &headers).await?.0;
    let until_ms = now_ms() + PASS_MS;
    let mark = app.run_key.mark(&pass_text(&session, until_ms, &path));
    let joint = if path.contains('?') { '&' } else { '?' };
    Ok(Json(PassPath { path: format!("{path}{joint}{PASS}{until_ms}.{mark}") }))
}

fn pass_text(session: &Session, until_ms: u64, path: &str) -> String {
    format!("pass {} {until_ms} {path}", session.hash)
}

/// Who asks with a cookie, if the request shows that it comes from the page that logged in. A pass is taken out of the
/// address, so that it is no part of what is asked.
pub async fn holder(app: &App, request: &mut axum::extract::Request) -> Result<Holder, Error> {
    let (session, holder) = found(app, request.headers()).await?;
    let is_safe = request.method().is_safe();
    if has_key(&session, request.headers()) && (is_safe || is_from_own_page(request.headers())) {
        return Ok(holder);
    }
    let asked = is_safe.then(|| without_pass(app, &session, request.uri())).flatten().ok_or(Error::NotFromConsole)?;
    *request.uri_mut() = asked;
    Ok(holder)
}

async fn found(app: &App, headers: &HeaderMap) -> Result<(Session, Holder), Error> {
    let hash = guard::token_hash(&cookie(headers).ok_or(Error::NoToken)?);
    app.store.read(move |sql| sessions::find(sql, &hash, now_ms())).await?.ok_or(Error::NoToken)
}

/// Hashes are compared, so the time it takes tells nothing of the key.
fn has_key(session: &Session, headers: &HeaderMap) -> bool {
    headers.get(KEY_HEADER).is_some_and(|key| guard::token_hash(&String::from_utf8_lossy(key.as_bytes())) == session.key_hash)
}

/// A foreign origin was refused before; here one has to be named. A browser that names none says at least where from.
fn is_from_own_page(headers: &HeaderMap) -> bool {
    headers.contains_key(header::ORIGIN) || headers.get("sec-fetch-site").is_some_and(|site| site == "same-origin")
}

fn without_pass(app: &App, session: &Session, uri: &Uri) -> Option<Uri> {
    let (path, pass) = uri.path_and_query()?.as_str().rsplit_once(PASS)?;
    let path = path.strip_suffix(['?', '&'])?;
    let (until_ms, mark) = pass.split_once('.')?;
    let until_ms: u64 = until_ms.parse().ok()?;
    let is_good = until_ms > now_ms() && app.run_key.is_mark(&pass_text(session, until_ms, path), mark);
    is_good.then(|| path.parse().ok()).flatten()
}

/// Ports do not keep cookies apart, so two servers on one machine have cookies of two names.
fn cookie_name(headers: &HeaderMap) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| port.bytes().all(|byte| byte.is_ascii_digit()));
    format!("trainmaster_{}", port.unwrap_or("80"))
}

fn cookie(headers: &HeaderMap) -> Option<String> {
    let name = cookie_name(headers);
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(';'));
    all.filter_map(|pair| pair.trim().split_once('=')).find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
}

fn set_cookie(headers: &HeaderMap, value: &str, seconds: u64) -> (HeaderName, HeaderValue) {
    let text = format!("{}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict", cookie_name(headers));
    (header::SET_COOKIE, HeaderValue::from_str(&text).expect("letters, digits and a port"))
}

fn random() -> Result<String, Error> {
    let mut bits = [0; 32];
    getrandom::fill(&mut bits).map_err(|error| Error::Internal(format!("no randomness: {error}")))?;
    Ok(hex(&bits))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value))).collect()
    }

    #[test]
    fn a_cookie_is_found_among_others_and_only_that_of_the_own_port() {
        let found = |host, cookies| cookie(&headers(&[("host", host), ("cookie", cookies)]));
        assert_eq!(found("localhost:7077", "a=b; trainmaster_7077=x; c=d").as_deref(), Some("x"));
        assert_eq!(found("localhost:7078", "a=b; trainmaster_7077=x"), None);
        assert_eq!(found("train.example", "trainmaster_80=x").as_deref(), Some("x"));
        assert_eq!(found("[::1]:7077", "trainmaster_7077=x").as_deref(), Some("x"));
    }

    #[test]
    fn the_cookie_is_for_no_script_and_no_other_site() {
        let (_, value) = set_cookie(&headers(&[("host", "localhost:7077")]), "x", 9);
        assert_eq!(value, "trainmaster_7077=x; Path=/; Max-Age=9; HttpOnly; SameSite=Strict");
    }
}
