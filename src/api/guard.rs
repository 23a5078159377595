//! Who may call what. Deny by default: a route exists only with a policy, and the policy is checked
//! before the handler or its body is looked at.

use std::sync::Arc;

use axum::{
    Router,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, header, request::Parts},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::MethodRouter,
};
use model::ids::RunKey;
use sha2::{Digest, Sha256};
use utoipa_axum::router::{OpenApiRouter, UtoipaMethodRouter};

use super::{App, session};
use crate::{
    control::now_ms,
    error::Error,
    run_token::hex,
    store::tokens::{self, Holder, Role},
};

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Policy {
    /// No token is needed; the route tells nothing worth hiding.
    Anyone,
    User,
    Admin,
    /// Prometheus, by whatever the owner allows it, or an administrator.
    Scraper,
    /// The supervisor of the run that the path names, with the token of that run alone.
    Run,
}

/// The only way into the router: a route together with its policy.
pub struct Routes(Vec<(Policy, UtoipaMethodRouter<Arc<App>>)>);

impl Routes {
    pub fn new() -> Self {
        Self(Vec::new())
    }

    pub fn add(mut self, policy: Policy, route: UtoipaMethodRouter<Arc<App>>) -> Self {
        self.0.push((policy, route));
        self
    }

    pub fn into_router(self, app: &Arc<App>) -> Router<Arc<App>> {
        let add = |router: OpenApiRouter<Arc<App>>, (policy, (schemas, paths, methods)): (Policy, UtoipaMethodRouter<Arc<App>>)| {
            router.routes((schemas, paths, guarded(app, policy, methods.fallback(wrong_method))))
        };
        self.0.into_iter().fold(OpenApiRouter::new(), add).split_for_parts().0
    }

    pub fn document(self) -> utoipa::openapi::OpenApi {
        let add = |router: OpenApiRouter<Arc<App>>, (_, route)| router.routes(route);
        let mut document = self.0.into_iter().fold(OpenApiRouter::new(), add).into_openapi();
        name_operations(&mut document);
        document.info.title = "Trainmaster".into();
        document.info.version = env!("CARGO_PKG_VERSION").into();
        document.info.description =
            Some("Every route but `health`, `login` and this document wants `Authorization: Bearer <token>`.".into());
        document
    }
}

/// An operation is named after its method and path, such as `get_jobs_job_spec`: handlers of different things may have the
/// same name, operations may not.
fn name_operations(document: &mut utoipa::openapi::OpenApi) {
    for (path, item) in &mut document.paths.paths {
        let words: Vec<&str> = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()).skip(2).collect();
        let words = words.join("_");
        for (method, operation) in [
            ("get", &mut item.get),
            ("put", &mut item.put),
            ("post", &mut item.post),
            ("delete", &mut item.delete),
            ("patch", &mut item.patch),
        ] {
            if let Some(operation) = operation {
                operation.operation_id = Some(format!("{method}_{words}"));
            }
        }
    }
}

/// Puts the policy before everything a route answers.
pub fn guarded(app: &Arc<App>, policy: Policy, methods: MethodRouter<Arc<App>>) -> MethodRouter<Arc<App>> {
    let app = app.clone();
    methods.layer(middleware::from_fn(move |request: Request, next: Next| check(app.clone(), policy, request, next)))
}

async fn wrong_method(request: Request) -> Error {
    Error::WrongMethod(request.uri().path().to_owned())
}

async fn check(app: Arc<App>, policy: Policy, mut request: Request, next: Next) -> Response {
    let token = bearer(request.headers()).map(str::to_owned);
    let peer = request.extensions().get::<Peer>().copied();
    let allowed = match policy {
        Policy::Anyone => Ok(()),
        Policy::User => person(&app, &mut request, token).await.map(|caller| remember(&mut request, caller)),
        Policy::Admin => person(&app, &mut request, token).await.and_then(admin).map(|caller| remember(&mut request, caller)),
        Policy::Scraper => scraper(&app, &mut request, token, peer).await.map(|caller| remember(&mut request, caller)),
        Policy::Run => own_run(&app, token, request.uri().path()).map(|run| remember(&mut request, run)),
    };
    match allowed {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn remember(request: &mut Request, who: impl Clone + Send + Sync + 'static) {
    request.extensions_mut().insert(who);
}

/// The person behind a request whose token was found good.
#[derive(Clone)]
pub struct Caller(pub Holder);

/// The run behind a request whose token is good for it and for nothing else.
#[derive(Clone)]
pub struct OwnRun(pub RunKey);

/// Whose token it is, or whose session; a token that is wrong is not made good by a session.
async fn person(app: &App, request: &mut Request, token: Option<String>) -> Result<Caller, Error> {
    let Some(token) = token else { return session::holder(app, request).await.map(Caller) };
    let hash = token_hash(&token);
    let holder = app.store.glance(move |sql| tokens::find(sql, &hash, now_ms())).await?;
    holder.map(Caller).ok_or(Error::NoToken)
}

fn admin(caller: Caller) -> Result<Caller, Error> {
    match caller.0.role {
        Role::Admin => Ok(caller),
        Role::User => Err(Error::Forbidden),
    }
}

/// Who may read the page for Prometheus besides an administrator.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scraping {
    /// Anyone on this machine, tasks too.
    pub loopback: bool,
    /// The hash of a token that opens this page and nothing else.
    pub token_hash: Option<String>,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug)]
pub struct Peer(pub std::net::SocketAddr);

async fn scraper(app: &App, request: &mut Request, token: Option<String>, peer: Option<Peer>) -> Result<Caller, Error> {
    let is_near = peer.is_some_and(|peer| peer.0.ip().to_canonical().is_loopback());
    let knows = token.as_deref().is_some_and(|token| app.scraping.token_hash.as_deref() == Some(&token_hash(token)));
    if knows || (token.is_none() && is_near && app.scraping.loopback) {
        return Ok(Caller(Holder { user: "prometheus".into(), role: Role::Admin }));
    }
    person(app, request, token).await.and_then(admin)
}

/// The path is `/api/v1/runs/{run}/…`.
fn own_run(app: &App, token: Option<String>, path: &str) -> Result<OwnRun, Error> {
    let token = token.ok_or(Error::NoToken)?;
    let run: RunKey = path.split('/').nth(4).and_then(|text| text.parse().ok()).ok_or(Error::NoToken)?;
    if app.run_key.is_token(&run, &token) { Ok(OwnRun(run)) } else { Err(Error::NoToken) }
}

pub fn bearer(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::AUTHORIZATION)?.to_str().ok()?.strip_prefix("Bearer ").filter(|token| !token.is_empty())
}

/// Tokens carry 256 random bits, so a plain hash is as good as a slow one; looking it up by its hash
/// tells an attacker's clock nothing about the token.
pub fn token_hash(token: &str) -> String {
    hex(&Sha256::digest(token.as_bytes()))
}

macro_rules! from_extension {
    ($($Type:ident),*) => {$(
        impl<S: Send + Sync> FromRequestParts<S> for $Type {
            type Rejection = Error;
            async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Error> {
                parts.extensions.get::<$Type>().cloned().ok_or(Error::NoToken)
            }
        }
    )*};
}
from_extension!(Caller, OwnRun);

/// A name that is not ours means a page elsewhere made a browser call us (DNS rebinding); a foreign
/// origin means the same without the trick. Both are refused on every route and method.
pub async fn host_and_origin(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    match names_are_ours(&app, request.headers()) {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    }
}

fn names_are_ours(app: &App, headers: &HeaderMap) -> Result<(), Error> {
    let text = |name| headers.get(name).map(|value: &axum::http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let host = text(header::HOST).unwrap_or_default();
    let is_ours = |name: &str| app.hosts.iter().any(|own| own.eq_ignore_ascii_case(name));
    if !is_ours(&host) || headers.get_all(header::HOST).iter().count() != 1 {
        return Err(Error::WrongHost(host));
    }
    match text(header::ORIGIN) {
        None => Ok(()),
        Some(origin) if origin.split_once("://").is_some_and(|(_, name)| is_ours(name)) => Ok(()),
        Some(origin) => Err(Error::WrongOrigin(origin)),
    }
}
