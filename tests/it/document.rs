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

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document: serde_json::Value = serde_json::from_str(&trainmaster::api::openapi().to_json().unwrap()).unwrap();
    let items = document["paths"].as_object().unwrap().values();
    let operations = items.flat_map(|item| item.as_object().unwrap().values());
    let mut names: Vec<&str> = operations.map(|operation| operation["operationId"].as_str().unwrap()).collect();
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert!(count > 40 && names.len() == count, "{count} operations have {} names", names.len());
}

/// Whoever makes a client from the document stumbles over a name that it does not explain.
#[test]
fn the_document_explains_every_name_in_it() {
    let text = trainmaster::api::openapi().to_json().unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let names = text.split("#/components/schemas/").skip(1).filter_map(|rest| rest.split('"').next());
    let unexplained: Vec<&str> = names.filter(|name| document["components"]["schemas"].get(name).is_none()).collect();
    assert_eq!(unexplained, Vec::<&str>::new());
}
