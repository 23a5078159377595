//! The JSON Schema of the job file, for editors. It says what the reader says; a test holds the two together.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Convention, JobSpec, RoleSpec};
use crate::{
    framework::Framework,
    ids::{JobName, RoleName},
    plan::{ACCELERATORS_MAX, CPUS_MAX, DESCRIPTION_CHARACTERS_MAX, DURATION_MS_MAX, MEMORY_BYTES_MAX, TAG_CHARACTERS_MAX, TAGS_MAX},
};

const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// What a template can name.
const PARAM: &str = "^[A-Za-z_][A-Za-z0-9_.-]*$";
const LABEL: &str = "^[A-Za-z0-9._~-]{1,64}$";
const SIZE: &str = "^\\s*[0-9]*\\.?[0-9]*\\s*([bB]|[kKmMgGtT]([iI]?[bB]?)?)?\\s*$";
const DURATION: &str = "^\\s*([0-9]+|([0-9]+(ms|s|m|h|d))+)\\s*$";
const SECONDS_MAX: u64 = DURATION_MS_MAX / 1000;

pub fn schema() -> serde_json::Value {
    schemars::schema_for!(JobSpec).to_value()
}

pub(super) fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": JobName::PATTERN, "examples": ["digits", "bert-large.v2"] })
}

pub(super) fn description(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "maxLength": DESCRIPTION_CHARACTERS_MAX })
}

pub(super) fn tags(_: &mut SchemaGenerator) -> Schema {
    let tag = json_schema!({ "type": "string", "minLength": 1, "maxLength": TAG_CHARACTERS_MAX, "pattern": "^[^,]*$" });
    json_schema!({ "type": ["array", "null"], "items": tag, "maxItems": TAGS_MAX })
}

pub(super) fn priority(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": i32::MIN, "maximum": i32::MAX })
}

pub(super) fn count(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX })
}

pub(super) fn tasks(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": u32::MAX })
}

pub(super) fn duration(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "null"], "pattern": DURATION, "minimum": 1, "maximum": SECONDS_MAX, "examples": ["90s", "15m", "12h", "7d"] })
}

/// Numbers and truth values are taken by the letters they were written with.
fn word() -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

pub(super) fn env(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": VARIABLE, "not": { "pattern": "^TRAINMASTER_" } },
        "additionalProperties": word(),
    })
}

pub(super) fn retries(_: &mut SchemaGenerator) -> Schema {
    let count = json_schema!({ "type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX });
    json_schema!({ "anyOf": [count, { "enum": ["always", "forever"] }] })
}

pub(super) fn framework(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": Framework::PATTERN, "examples": ["tensorflow", "keras", "pytorch@2.9", "jax", "python"] })
}

pub(super) fn params(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": PARAM }, "additionalProperties": word() })
}

pub(super) fn secrets(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": PARAM }, "additionalProperties": word() })
}

pub(super) fn conventions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "null"], "items": { "enum": Convention::ALL.map(Convention::text) } })
}

pub(super) fn roles(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "propertyNames": { "pattern": RoleName::PATTERN },
        "additionalProperties": generator.subschema_for::<RoleSpec>(),
        "minProperties": 1,
    })
}

pub(super) fn command(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "array"],
        "pattern": "\\S",
        "items": word(),
        "minItems": 1,
        "examples": ["python3 train.py", ["python3", "train.py", "--epochs", 5]],
    })
}

pub(super) fn cpus(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": CPUS_MAX })
}

pub(super) fn size(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "integer", "null"], "pattern": SIZE, "minimum": 0, "maximum": MEMORY_BYTES_MAX, "examples": ["512MiB", "4GiB"] })
}

pub(super) fn accelerators(_: &mut SchemaGenerator) -> Schema {
    let number = json_schema!({ "type": "integer", "minimum": 0, "maximum": u32::MAX });
    counts_or(json_schema!({ "type": "integer", "minimum": 0, "maximum": ACCELERATORS_MAX }), number)
}

pub(super) fn ports(_: &mut SchemaGenerator) -> Schema {
    let labels = json_schema!({ "type": "array", "items": { "type": "string", "pattern": LABEL }, "uniqueItems": true });
    let number = json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX });
    let fixed = json_schema!({
        "type": "object",
        "properties": { "from": { "type": "integer", "minimum": 1, "maximum": u16::MAX }, "count": number },
        "required": ["from"],
        "additionalProperties": false,
    });
    counts_or(labels, json_schema!({ "anyOf": [number, fixed] }))
}

fn counts_or(other: Schema, count: Schema) -> Schema {
    let counts = json_schema!({ "type": "object", "propertyNames": { "pattern": LABEL }, "additionalProperties": count });
    json_schema!({ "anyOf": [other, counts, { "type": "null" }] })
}

/// `null` is missing on purpose: it must not be taken for "never".
pub(super) fn threshold(_: &mut SchemaGenerator) -> Schema {
    let count = json_schema!({ "type": "integer", "minimum": 1, "maximum": u32::MAX });
    json_schema!({ "anyOf": [count, { "enum": ["all", "never"] }] })
}
