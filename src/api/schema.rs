//! What a job file may say, for editors.

use axum::Json;

/// The JSON Schema of our own job file.
#[utoipa::path(get, path = "/api/v1/schema", responses((status = 200, body = Object)))]
pub async fn job_file() -> Json<serde_json::Value> {
    Json(model::spec::schema())
}
