//! Numbers that a training writes about itself: points of a series, and what a whole series comes to.

use std::{borrow::Cow, fmt};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use utoipa::openapi::{
    RefOr, Schema,
    schema::{KnownFormat, ObjectBuilder, OneOfBuilder, SchemaFormat, Type},
};

use crate::compare::Direction;

mod digest;

pub use digest::Digest;

/// A value as the program wrote it. NaN and the infinities are values too; JSON, which has no numbers for them, gets their
/// names.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct Value(pub f64);

const NAMED: [(&str, f64); 3] = [("NaN", f64::NAN), ("Infinity", f64::INFINITY), ("-Infinity", f64::NEG_INFINITY)];

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match NAMED.iter().find(|(_, it)| it.to_bits() == self.0.to_bits() || it.is_nan() && self.0.is_nan()) {
            Some((name, _)) => serializer.serialize_str(name),
            None => serializer.serialize_f64(self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match serde_json::Value::deserialize(deserializer)? {
            serde_json::Value::Number(number) => number.as_f64().map(Value).ok_or_else(|| D::Error::custom("not a number of ours")),
            serde_json::Value::String(text) => {
                let named = NAMED.iter().find(|(name, _)| *name == text).map(|(_, value)| Value(*value));
                named.ok_or_else(|| D::Error::custom(format!("`{text}` is no value")))
            }
            other => Err(D::Error::custom(format!("`{other}` is no value"))),
        }
    }
}

/// What the document calls a value: for its derive, whatever is called `Value` is any JSON.
pub type MetricNumber = Value;

impl utoipa::PartialSchema for Value {
    fn schema() -> RefOr<Schema> {
        let names = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(NAMED.map(|(name, _)| name)));
        let number = ObjectBuilder::new().schema_type(Type::Number).format(Some(SchemaFormat::KnownFormat(KnownFormat::Double)));
        OneOfBuilder::new().description(Some("A number, or the name of what JSON has no number for.")).item(number).item(names).into()
    }
}

impl utoipa::ToSchema for Value {
    fn name() -> Cow<'static, str> {
        "MetricNumber".into()
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One value of a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    pub step: i64,
    pub at_ms: u64,
    pub value: f64,
}

/// Where a series was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = MetricSource)]
pub enum Source {
    /// Event files of TensorBoard.
    Events,
    /// A file of lines, JSON or CSV.
    File,
    /// What the task printed.
    Output,
}

impl Source {
    pub const ALL: [Source; 3] = [Source::Events, Source::File, Source::Output];

    pub fn text(self) -> &'static str {
        match self {
            Source::Events => "events",
            Source::File => "file",
            Source::Output => "output",
        }
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.text() == text)
    }
}

/// Everything about a series but its points.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct SeriesSummary {
    pub task: String,
    pub attempt: u32,
    pub source: Source,
    /// The directory below `/output` that an event file or a file of lines lies in, such as `logs/train`; empty for what was printed.
    pub group: String,
    /// Such as `loss`.
    pub name: String,
    pub points: u64,
    pub first_step: i64,
    pub last_step: i64,
    pub first_at_ms: u64,
    pub last_at_ms: u64,
    #[schema(value_type = MetricNumber)]
    pub last: Value,
    /// The least and the greatest of the finite values; none if there is none.
    pub least: Option<Extreme>,
    pub greatest: Option<Extreme>,
    /// How many values are NaN or infinite.
    pub not_finite: u64,
    /// Which way it gets better, if its name says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub better: Option<Direction>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Extreme {
    pub value: f64,
    pub step: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_survives_json() {
        let values = [0.1, -0.0, 2.5e30, f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(Value);
        let text = serde_json::to_string(&values).unwrap();
        assert_eq!(text, r#"[0.1,-0.0,2.5e+30,"NaN","Infinity","-Infinity"]"#);
        let back: Vec<Value> = serde_json::from_str(&text).unwrap();
        let bits = |values: &[Value]| values.iter().map(|it| it.0.to_bits()).collect::<Vec<_>>();
        assert_eq!(bits(&back), bits(&values));
        assert!(serde_json::from_str::<Value>(r#""nan?""#).is_err());
    }
}
