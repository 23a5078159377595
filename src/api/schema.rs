//! What a job file and an algorithm may say, for editors.

use axum::Json;

/// The JSON Schema of our own job file.
#[utoipa::path(get, path = "/api/v1/schema", responses((status = 200, body = Object)))]
pub async fn job_file() -> Json<serde_json::Value> {
    Json(model::spec::schema())
}

/// The JSON Schema of an algorithm.
#[utoipa::path(get, path = "/api/v1/schema/algorithm", responses((status = 200, body = Object)))]
pub async fn algorithm_file() -> Json<serde_json::Value> {
    Json(model::algorithm::schema())
}
