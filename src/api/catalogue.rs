//! The catalogue of endings, as this house has it.

use axum::{Json, extract::State};
use model::wire::CatalogueEntry;

use super::AppState;

/// Every cause of a failure that is known here, in the order in which they are looked for.
#[utoipa::path(get, path = "/api/v1/catalogue", responses((status = 200, body = Vec<CatalogueEntry>)))]
pub async fn catalogue(State(app): AppState) -> Json<Vec<CatalogueEntry>> {
    Json(app.endings.catalogue().entries().iter().map(model::diagnose::Entry::view).collect())
}
