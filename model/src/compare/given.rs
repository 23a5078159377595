//! What a job was given, as it was written, with what the plan has filled in where a person may leave it out.

use serde_json::Value;

use super::Facts;
use crate::{
    plan::{Plan, RolePlan},
    resources::{Bytes, Cpus},
    wire::RowKind,
};

/// These are compared otherwise, or say nothing about what runs.
const NOT_SETTINGS: [&str; 11] = ["name", "description", "tags", "params", "env", "roles", "code", "input", "inputs", "secrets", "from"];
const NOT_ROLE_SETTINGS: [&str; 8] = ["env", "command", "tasks", "cpus", "memory", "shared_memory", "disk", "accelerators"];

/// The facts that the spec and the plan tell of a job.
pub fn given(spec: &Value, plan: &Plan) -> Facts {
    let mut facts = Facts::new();
    let mut tell = |kind: RowKind, name: String, value: String| drop(facts.insert((kind, name), value.into()));
    plan.params.iter().for_each(|(name, value)| tell(RowKind::Param, name.clone(), value.to_string()));
    for (key, value) in object(spec).filter(|(key, _)| !NOT_SETTINGS.contains(&key.as_str())) {
        tell(RowKind::Setting, key.clone(), shown(value));
    }
    for (name, value) in object(&spec["secrets"]) {
        // What it is stays hidden, but not whose name it has.
        tell(RowKind::Setting, format!("secrets.{name}"), value["named"].as_str().map_or("******".into(), |it| format!("named {it}")));
    }
    let inputs = plan.freight.inputs.iter();
    inputs.for_each(|input| tell(RowKind::Input, input.path(), input.from.without_query()));
    plan.freight.from.iter().for_each(|from| tell(RowKind::Input, "/output begins with".into(), from.without_query()));
    object(&spec["env"]).for_each(|(name, value)| tell(RowKind::Env, name.clone(), shown(value)));
    for role in &plan.roles {
        of_role(&spec["roles"][role.name.as_str()], role, &mut tell);
    }
    facts
}

/// The role of a job that has one is usually called so, and need not be named.
const USUAL_ROLE: &str = "main";

fn of_role(spec: &Value, role: &RolePlan, tell: &mut impl FnMut(RowKind, String, String)) {
    let of_role = |name: &str| if role.name.as_str() == USUAL_ROLE { name.to_owned() } else { format!("{} {name}", role.name) };
    // A job with an algorithm says no command: that the algorithm is another one is told.
    if !spec["command"].is_null() {
        tell(RowKind::Command, role.name.to_string(), command(&spec["command"]));
    }
    tell(RowKind::Tasks, role.name.to_string(), role.tasks.to_string());
    tell(RowKind::Resources, of_role("cpus"), Cpus(role.resources.cpus_milli).to_string());
    tell(RowKind::Resources, of_role("memory"), Bytes(role.resources.memory_bytes).to_string());
    tell(RowKind::Resources, of_role("shared memory"), Bytes(role.shared_memory_bytes).to_string());
    if let Some(bytes) = role.disk_bytes {
        tell(RowKind::Resources, of_role("disk"), Bytes(bytes).to_string());
    }
    for (kind, count) in &role.resources.accelerators {
        tell(RowKind::Resources, of_role(kind), count.to_string());
    }
    object(&spec["env"]).for_each(|(name, value)| tell(RowKind::Env, of_role(name), shown(value)));
    for (key, value) in object(spec).filter(|(key, _)| !NOT_ROLE_SETTINGS.contains(&key.as_str())) {
        tell(RowKind::Setting, of_role(key), shown(value));
    }
}

fn object(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

fn command(value: &Value) -> String {
    match value.as_array() {
        Some(words) => words.iter().map(|word| quoted(&shown(word))).collect::<Vec<_>>().join(" "),
        None => shown(value),
    }
}

fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "-_./=:,@%+{}".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

/// Text as it is, everything else as JSON.
fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
