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
use tokio::sync::Semaphore;
use utoipa_axum::routes;

use crate::{
    control::{Board, Endings, Nudge},
    error::Error,
    run_token::RunSecret,
    seal::Seal,
    store::Store,
};

mod about;
mod algorithms;
mod archive;
mod catalogue;
mod code;
mod compare;
mod console;
mod counted;
mod datasets;
mod description;
mod dossier;
mod environment;
mod events;
mod explain;
mod extract;
mod failures;
mod file_content;
mod files;
mod files_archive;
mod flow;
mod follow;
mod gang;
mod guard;
mod job_files;
mod job_output;
mod jobs;
mod language;
mod lineage;
mod lines;
mod log_archive;
mod log_files;
mod logs;
mod lost;
mod metrics;
mod metrics_follow;
mod mishap;
mod named;
mod nodes;
mod original;
mod progress;
mod prometheus;
mod provenance;
mod runs;
mod schema;
mod search;
mod secrets;
mod session;
mod spool;
mod submit;
mod sync;
mod uploads;
mod usage;
mod versions;
mod volumes;

pub use file_content::LARGE_PUTS_MAX;
pub use flow::{Flow, Metered};
pub use follow::lookout::Lookouts;
pub use guard::{Peer, Scraping, token_hash};
use guard::{Policy, Routes};
pub use session::make_link;
pub use volumes::keeps_clear_of;

/// What handlers share.
pub struct App {
    pub store: Store,
    pub house: HouseRules,
    pub nudge: Nudge,
    pub board: Board,
    pub data: PathBuf,
    /// What one run may keep of its log.
    pub log_bytes_max: Option<u64>,
    pub run_key: RunSecret,
    /// For what must not be read in the database.
    pub seal: Seal,
    /// A turn for each large file that is put into a volume.
    pub large_puts: Semaphore,
    /// Who may read the page for Prometheus besides an administrator.
    pub scraping: Scraping,
    /// The names this server answers to, with their port.
    pub hosts: Vec<String>,
    /// Takes a virtual node down or brings it back.
    pub node_switch: NodeSwitch,
    /// What ends mean.
    pub endings: Endings,
    /// Who looks at the jobs that somebody follows.
    pub lookouts: Lookouts,
}

/// Takes a node's name and whether it shall be up; answers whether there is such a node.
pub type NodeSwitch = Box<dyn Fn(&str, bool) -> bool + Send + Sync>;

pub type AppState = axum::extract::State<Arc<App>>;

/// The largest job file, the largest file list and the largest piece of anything that is sent here.
const BODY_BYTES_MAX: usize = 8 << 20;

fn routes_with_policies() -> Routes {
    Routes::new()
        .add(Policy::Anyone, routes!(about::health))
        .add(Policy::User, routes!(about::about))
        .add(Policy::Anyone, routes!(session::begin))
        .add(Policy::User, routes!(session::end))
        .add(Policy::User, routes!(session::link))
        .add(Policy::User, routes!(session::pass))
        .add(Policy::User, routes!(schema::job_file))
        .add(Policy::User, routes!(schema::algorithm_file))
        .add(Policy::User, routes!(submit::submit, jobs::list))
        .add(Policy::User, routes!(jobs::show, jobs::delete))
        .add(Policy::User, routes!(jobs::spec))
        .add(Policy::User, routes!(original::original))
        .add(Policy::User, routes!(original::plan))
        .add(Policy::User, routes!(jobs::stop))
        .add(Policy::User, routes!(jobs::set_duration))
        .add(Policy::User, routes!(description::set))
        .add(Policy::User, routes!(sync::sync))
        .add(Policy::User, routes!(explain::explain))
        .add(Policy::User, routes!(environment::environment))
        .add(Policy::User, routes!(catalogue::catalogue))
        .add(Policy::User, routes!(events::of_job))
        .add(Policy::User, routes!(events::feed))
        .add(Policy::User, routes!(logs::log))
        .add(Policy::User, routes!(lines::lines))
        .add(Policy::User, routes!(log_archive::archive))
        .add(Policy::User, routes!(search::logs))
        .add(Policy::User, routes!(progress::list))
        .add(Policy::User, routes!(follow::follow))
        .add(Policy::User, routes!(metrics::summaries))
        .add(Policy::User, routes!(metrics::points))
        .add(Policy::User, routes!(metrics::csv))
        .add(Policy::User, routes!(metrics_follow::follow))
        .add(Policy::User, routes!(code::list))
        .add(Policy::User, routes!(code::patch))
        .add(Policy::User, routes!(compare::of_jobs))
        .add(Policy::User, routes!(compare::code))
        .add(Policy::User, routes!(versions::of_job))
        .add(Policy::User, routes!(lineage::of_job))
        .add(Policy::User, routes!(provenance::provenance))
        .add(Policy::User, routes!(uploads::begin))
        .add(Policy::User, routes!(uploads::blobs))
        .add(Policy::User, routes!(uploads::piece))
        .add(Policy::User, routes!(uploads::finish))
        .add(Policy::User, routes!(nodes::list))
        .add(Policy::User, routes!(usage::of_job))
        .add(Policy::User, routes!(usage::cluster::of_cluster))
        .add(Policy::User, routes!(usage::now::now))
        .add(Policy::Scraper, routes!(prometheus::metrics))
        .add(Policy::User, routes!(algorithms::list, algorithms::add))
        .add(Policy::User, routes!(algorithms::show, algorithms::remove))
        .add(Policy::User, routes!(algorithms::show_version, algorithms::remove_version))
        .add(Policy::User, routes!(volumes::list, volumes::add))
        .add(Policy::User, routes!(volumes::show, volumes::remove))
        .add(Policy::User, routes!(volumes::test))
        .add(Policy::User, routes!(volumes::set_credentials))
        .add(Policy::User, routes!(datasets::list, datasets::add))
        .add(Policy::User, routes!(datasets::show, datasets::remove))
        .add(Policy::User, routes!(datasets::show_version, datasets::remove_version))
        .add(Policy::User, routes!(files::list))
        .add(Policy::User, routes!(file_content::read, file_content::put, file_content::remove))
        .add(Policy::User, routes!(files_archive::archive))
        .add(Policy::User, routes!(job_output::archive))
        .add(Policy::Admin, routes!(nodes::down))
        .add(Policy::Admin, routes!(nodes::up))
        .add(Policy::Admin, routes!(lost::list))
        .add(Policy::Admin, routes!(lost::end))
        .add(Policy::User, routes!(secrets::list))
        .add(Policy::User, routes!(secrets::set, secrets::remove))
        .add(Policy::Admin, routes!(secrets::rotate))
        .add(Policy::Run, routes!(secrets::of_run))
        .add(Policy::Run, routes!(runs::order))
        .add(Policy::Run, routes!(runs::report))
        .add(Policy::Run, routes!(gang::gang))
        .add(Policy::Run, routes!(runs::output))
        .add(Policy::Run, routes!(usage::taken::take))
}

/// The document that describes every route.
pub fn openapi() -> utoipa::openapi::OpenApi {
    routes_with_policies().document()
}

pub fn router(app: Arc<App>) -> Router {
    let document = openapi();
    let serve_document = move || async move { Json(document) };
    let routes = routes_with_policies()
        .into_router(&app)
        .route("/api/v1/openapi.json", guard::guarded(&app, Policy::Anyone, axum::routing::get(serve_document)))
        .fallback_service(
            guard::guarded(&app, Policy::User, axum::routing::any(nowhere))
                .layer(middleware::from_fn(console::serve))
                .with_state(app.clone()),
        );
    in_every_answer(routes)
        .layer(middleware::from_fn_with_state(app.clone(), guard::host_and_origin))
        .layer(middleware::from_fn(counted::count))
        .with_state(app)
}

/// What holds for whatever is asked and answered.
fn in_every_answer<S: Clone + Send + Sync + 'static>(routes: Router<S>) -> Router<S> {
    routes
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .layer(middleware::from_fn(mishap::answer))
        .layer(middleware::map_response(console::keep_to_itself))
}

async fn nowhere(request: Request) -> Error {
    Error::NoSuchRoute(request.uri().path().to_owned())
}
