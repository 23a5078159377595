//! The JSON Schema of the job file, for editors. It says what the reader says; a test holds the two together.

use schemars::{Schema, SchemaGenerator, json_schema};

use super::{Convention, JobSpec, RoleSpec};
use crate::{
    framework::Framework,
    ids::{JobName, RoleName},
    plan::{ACCELERATORS_MAX, CPUS_MAX, DESCRIPTION_CHARACTERS_MAX, DURATION_MS_MAX, MEMORY_BYTES_MAX, TAG_CHARACTERS_MAX, TAGS_MAX},
};

pub(crate) const VARIABLE: &str = "^[A-Za-z_][A-Za-z0-9_]*$";
/// What a template can name.
pub(crate) const PARAM: &str = "^[A-Za-z_][A-Za-z0-9_.-]*$";
pub(crate) const LABEL: &str = "^[A-Za-z0-9._~-]{1,64}$";
const SIZE: &str = "^\\s*[0-9]*\\.?[0-9]*\\s*([bB]|[kKmMgGtT]([iI]?[bB]?)?)?\\s*$";
const DURATION: &str = "^\\s*([0-9]+|([0-9]+(ms|s|m|h|d))+)\\s*$";
const SECONDS_MAX: u64 = DURATION_MS_MAX / 1000;

pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(JobSpec).to_value();
    let rule = rule_of_algorithms();
    schema.as_object_mut().expect("the schema is a map").extend(rule.as_object().expect("the rule is a map").clone());
    schema
}

/// Only with an algorithm a job may leave out its roles, their commands, and a parameter with `null`; and some keys only without one.
fn rule_of_algorithms() -> serde_json::Value {
    let nothing = || serde_json::json!({ "type": "null" });
    let its_own = ["code", "framework", "image", "requirements", "setup", "input"].map(|key| (key.to_owned(), nothing()));
    let mut with: serde_json::Map<_, _> = its_own.into_iter().collect();
    with.insert("roles".into(), serde_json::json!({ "additionalProperties": { "properties": { "command": false, "image": nothing() } } }));
    serde_json::json!({
        "if": { "required": ["algorithm"], "properties": { "algorithm": { "type": "string" } } },
        "then": { "properties": with },
        "else": {
            "required": ["roles"],
            "properties": {
                "params": { "additionalProperties": word() },
                "roles": { "type": "object", "minProperties": 1, "additionalProperties": { "required": ["command"] } },
            },
        },
    })
}

pub(super) fn algorithm(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["string", "null"],
        "pattern": "^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}@([1-9][0-9]*|latest)$",
        "examples": ["mnist-mlp@2", "mnist-mlp@latest"],
    })
}

pub(super) fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": JobName::PATTERN, "examples": ["digits", "bert-large.v2"] })
}

pub(crate) fn description(_: &mut SchemaGenerator) -> Schema {
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
pub(crate) fn word() -> Schema {
    json_schema!({ "type": ["string", "number", "boolean"] })
}

pub(crate) fn env(_: &mut SchemaGenerator) -> Schema {
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

pub(crate) fn framework(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": Framework::PATTERN, "examples": ["tensorflow", "keras", "pytorch@2.9", "jax", "python"] })
}

pub(super) fn params(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": PARAM }, "additionalProperties": { "type": ["string", "number", "boolean", "null"] } })
}

pub(super) fn secrets(_: &mut SchemaGenerator) -> Schema {
    let file = || json_schema!({ "type": ["boolean", "null"], "description": "Whether tasks find it as /secrets/NAME" });
    let value = json_schema!({ "type": "object", "properties": { "value": word(), "named": { "type": "null" }, "file": file() }, "required": ["value"], "additionalProperties": false });
    let named = json_schema!({ "type": "object", "properties": { "named": { "type": "string", "pattern": PARAM }, "value": { "type": "null" }, "file": file() }, "required": ["named"], "additionalProperties": false });
    let secret = json_schema!({ "anyOf": [word(), value, named] });
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": PARAM }, "additionalProperties": secret })
}

pub(super) fn conventions(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "null"], "items": { "enum": Convention::ALL.map(Convention::text) } })
}

pub(crate) fn code(_: &mut SchemaGenerator) -> Schema {
    let git = json_schema!({
        "type": "object",
        "properties": {
            "git": { "type": "string", "description": "The repository's address, of http or https" },
            "ref": { "type": ["string", "integer", "null"], "description": "A branch, a tag or a commit" },
            "user": { "type": ["string", "null"] },
            "password": { "type": ["string", "null"], "description": "A password or token, best as `{{ secrets.NAME }}`" },
            "submodules": { "type": ["boolean", "null"] },
            "lfs": { "type": ["boolean", "null"] },
            "depth": { "type": ["integer", "null"], "minimum": 0, "maximum": u32::MAX, "description": "How many commits back; 0 for all" },
            "directory": { "type": ["string", "null"], "description": "The directory of the repository that becomes /code" },
        },
        "required": ["git"],
        "additionalProperties": false,
    });
    let one = |key: &str| json_schema!({ "type": "object", "properties": { key: { "type": "string" } }, "required": [key], "additionalProperties": false });
    json_schema!({ "anyOf": [{ "type": ["string", "null"] }, git, one("at"), one("upload")], "examples": [".", "https://example.org/me/digits.git#main", "data:code"] })
}

fn channel(place: &str) -> Schema {
    let mut properties =
        json_schema!({ "argument": { "type": ["string", "null"] }, "env": { "type": ["string", "null"], "pattern": VARIABLE } });
    properties.insert(place.into(), serde_json::json!({ "type": "string" }));
    match place {
        "from" => properties.insert("unpack".into(), serde_json::json!({ "type": ["boolean", "null"] })),
        _ => properties.insert("layout".into(), serde_json::json!({ "enum": ["chief", "tasks", null] })),
    };
    let map = json_schema!({ "type": "object", "properties": properties, "required": [place], "additionalProperties": false });
    json_schema!({ "anyOf": [{ "type": "string" }, map] })
}

fn optional(schema: Schema) -> Schema {
    json_schema!({ "anyOf": [schema, { "type": "null" }] })
}

fn channels(channel: Schema) -> Schema {
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": LABEL }, "additionalProperties": channel })
}

pub(super) fn input(_: &mut SchemaGenerator) -> Schema {
    optional(channel("from"))
}

pub(super) fn inputs(_: &mut SchemaGenerator) -> Schema {
    channels(channel("from"))
}

pub(super) fn output(_: &mut SchemaGenerator) -> Schema {
    optional(channel("to"))
}

pub(super) fn outputs(_: &mut SchemaGenerator) -> Schema {
    channels(channel("to"))
}

pub(super) fn metrics(_: &mut SchemaGenerator) -> Schema {
    let texts =
        |what: &str| json_schema!({ "type": ["array", "null"], "items": { "type": "string" }, "maxItems": 16, "description": what });
    json_schema!({
        "type": ["object", "null"],
        "properties": {
            "rules": texts("Regular expressions for printed lines, with groups such as `(?P<step>\\d+)` and `(?P<loss>\\S+)`"),
            "files": texts("Names of files of lines below /output, as JSON or CSV"),
            "off": { "type": ["boolean", "null"], "description": "Whether nothing is looked for" },
        },
        "additionalProperties": false,
    })
}

pub(super) fn roles(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": ["object", "null"],
        "propertyNames": { "pattern": RoleName::PATTERN },
        "additionalProperties": generator.subschema_for::<RoleSpec>(),
    })
}

pub(crate) fn command(_: &mut SchemaGenerator) -> Schema {
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
