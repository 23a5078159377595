//! The JSON Schema of the algorithm file, for editors. It says what the reader says; a test holds the two together.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::{Accepted, Algorithm, InputSlot, OutputSlot, ParamRule, ParamType};
use crate::{
    ids::AlgorithmName,
    spec::{self, LABEL, PARAM, VARIABLE},
};

pub fn schema() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Algorithm).to_value();
    let image = serde_json::json!({ "required": ["image"], "properties": { "image": { "type": "string" } } });
    let code = serde_json::json!({ "required": ["code"], "properties": { "code": { "type": ["string", "object"] } } });
    schema.as_object_mut().expect("the schema is a map").insert("anyOf".into(), serde_json::json!([code, image]));
    schema
}

pub(super) fn name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "string", "pattern": AlgorithmName::PATTERN, "examples": ["mnist-mlp"] })
}

pub(super) use spec::{
    code_schema as code, command_schema as command, description_schema as description, env_schema as env, framework_schema as framework,
};

fn named<T: JsonSchema>(generator: &mut SchemaGenerator, names: &str) -> Schema {
    let one = json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "null" }] });
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": names }, "additionalProperties": one })
}

pub(super) fn inputs(generator: &mut SchemaGenerator) -> Schema {
    named::<InputSlot>(generator, LABEL)
}

pub(super) fn outputs(generator: &mut SchemaGenerator) -> Schema {
    named::<OutputSlot>(generator, LABEL)
}

pub(super) fn params(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["object", "null"], "propertyNames": { "pattern": PARAM }, "additionalProperties": generator.subschema_for::<ParamRule>() })
}

pub(super) fn variable(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["string", "null"], "pattern": VARIABLE })
}

pub(super) fn accepts(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "null"], "items": { "enum": Accepted::ALL.map(Accepted::text) }, "minItems": 1, "default": Accepted::ALL.map(Accepted::text) })
}

pub(super) fn yes(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "null"], "default": true })
}

pub(super) fn no(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["boolean", "null"], "default": false })
}

pub(super) fn layout(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ["chief", "tasks", null] })
}

pub(super) fn param_type(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "enum": ParamType::ALL.map(ParamType::text) })
}

pub(super) fn value(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "anyOf": [spec::word_schema(), { "type": "null" }] })
}

pub(super) fn bound(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"] })
}

pub(super) fn choices(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "null"], "items": spec::word_schema() })
}

pub(super) fn accelerators(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["array", "null"], "items": { "type": "string", "pattern": LABEL }, "minItems": 1, "examples": [["none", "A100"]] })
}

pub(super) fn most(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["integer", "null"], "minimum": 1, "maximum": u32::MAX })
}
