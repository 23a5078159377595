//! The API's contents page. Parse, authorise, call, answer; a request never waits for an engine.
//!
//! A route can only be added together with its policy, so one without cannot be written.

use std::{path::PathBuf, sync::Arc};

use axum::{
    Json, Router,
    extract::{DefaultBodyLimit, Request},
    middleware,
};
use model::plan::HouseRules;
use utoipa_axum::routes;

use crate::{
    control::{Board, Nudge},
    error::Error,
    run_token::RunSecret,
    store::Store,
};

mod about;
mod environment;
mod events;
mod explain;
mod extract;
mod follow;
mod gang;
mod guard;
mod jobs;
mod log_files;
mod logs;
mod nodes;
mod runs;
mod submit;

pub use guard::token_hash;
use guard::{Policy, Routes};

/// What handlers share.
pub struct App {
    pub store: Store,
    pub house: HouseRules,
    pub nudge: Nudge,
    pub board: Board,
    pub data: PathBuf,
    pub run_key: RunSecret,
    /// The names this server answers to, with their port.
    pub hosts: Vec<String>,
    /// Takes a virtual node down or brings it back.
    pub node_switch: NodeSwitch,
}

/// Takes a node's name and whether it shall be up; answers whether there is such a node.
pub type NodeSwitch = Box<dyn Fn(&str, bool) -> bool + Send + Sync>;

pub type AppState = axum::extract::State<Arc<App>>;

/// The largest job file and the largest piece of shipped output.
const BODY_BYTES_MAX: usize = 8 << 20;

fn routes_with_policies() -> Routes {
    Routes::new()
        .add(Policy::Anyone, routes!(about::health))
        .add(Policy::User, routes!(about::about))
        .add(Policy::User, routes!(submit::submit, jobs::list))
        .add(Policy::User, routes!(jobs::show, jobs::delete))
        .add(Policy::User, routes!(jobs::spec))
        .add(Policy::User, routes!(jobs::stop))
        .add(Policy::User, routes!(jobs::set_duration))
        .add(Policy::User, routes!(explain::explain))
        .add(Policy::User, routes!(environment::environment))
        .add(Policy::User, routes!(events::of_job))
        .add(Policy::User, routes!(events::feed))
        .add(Policy::User, routes!(logs::log))
        .add(Policy::User, routes!(follow::follow))
        .add(Policy::User, routes!(nodes::list))
        .add(Policy::Admin, routes!(nodes::down))
        .add(Policy::Admin, routes!(nodes::up))
        .add(Policy::Run, routes!(runs::order))
        .add(Policy::Run, routes!(runs::report))
        .add(Policy::Run, routes!(gang::gang))
        .add(Policy::Run, routes!(runs::output))
}

/// The document that describes every route.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes_with_policies().document()
}

pub fn router(app: Arc<App>) -> Router {
    let document = openapi();
    let serve_document = move || async move { Json(document) };
    routes_with_policies()
        .into_router(&app)
        .route("/api/v1/openapi.json", guard::guarded(&app, Policy::Anyone, axum::routing::get(serve_document)))
        .fallback_service(guard::guarded(&app, Policy::User, axum::routing::any(nowhere)).with_state(app.clone()))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn_with_state(app.clone(), guard::host_and_origin))
        .with_state(app)
}

async fn nowhere(request: Request) -> Error {
    Error::NoSuchRoute(request.uri().path().to_owned())
}
