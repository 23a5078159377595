//! The OpenAPI document is part of what we promise: a change of it is a change people see.

use std::path::Path;

#[test]
fn the_api_is_what_its_snapshot_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/openapi.json");
    let now = trainmaster::api::openapi().to_pretty_json().unwrap() + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&path, &now).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(kept == now, "the API has changed; look at the difference after `UPDATE_SNAPSHOTS=1 cargo test the_api_is`");
    assert!(now.starts_with("{\n  \"openapi\": \"3.1"));
}
