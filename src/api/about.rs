//! Whether the server lives, and who it takes the caller for.

use axum::{Json, extract::State};
use model::wire::{About, ErrorBody, Health};

use super::{AppState, guard::Caller};
use crate::{
    error::Error,
    store::{quarantine, tokens::Role},
};

/// Whether the server lives.
#[utoipa::path(get, path = "/api/v1/health", responses((status = 200, body = Health)))]
pub async fn health() -> Json<Health> {
    Json(Health { status: "ok".into() })
}

/// Who the caller is, and what serves them.
#[utoipa::path(get, path = "/api/v1/about", responses((status = 200, body = About), (status = 401, body = ErrorBody)))]
pub async fn about(State(app): AppState, Caller(holder): Caller) -> Result<Json<About>, Error> {
    let quarantined = app.store.read(quarantine::list).await?;
    let role = match holder.role {
        Role::Admin => "admin",
        Role::User => "user",
    };
    let version = env!("CARGO_PKG_VERSION").into();
    Ok(Json(About { user: holder.user, role: role.into(), version, quarantined, code: app.house.code }))
}
