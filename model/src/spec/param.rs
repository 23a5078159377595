//! Hyperparameters as people type them: `lr=0.1`.

use super::Param;
use crate::located::{Kind, Scalar};

/// A value that does not go with the one the job has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Mismatch {
    #[error("is a number in the job, and `{0}` is not")]
    NotANumber(String),
    #[error("is true or false in the job, and `{0}` is neither")]
    NotATruth(String),
}

impl Param {
    /// As a job file would have it without quotes.
    pub fn typed(text: &str) -> Self {
        let scalar = Scalar { text: text.to_owned(), plain: true };
        let whole = |value: i128| i64::try_from(value).ok().map(Param::Whole);
        match scalar.kind() {
            Kind::Bool(value) => Param::Truth(value),
            Kind::Int(value) => whole(value).unwrap_or(Param::Text(scalar.text)),
            Kind::Float(value) if value.is_finite() => Param::Number(value),
            Kind::Null | Kind::Float(_) | Kind::Text => Param::Text(scalar.text),
        }
    }

    /// The text as a value of the same kind: what is text in the job stays text, and a number stays a number.
    pub fn retyped(&self, text: &str) -> Result<Self, Mismatch> {
        let given = Self::typed(text);
        match (self, &given) {
            (Param::Text(_), _) => Ok(Param::Text(text.to_owned())),
            (Param::Truth(_), Param::Truth(_)) => Ok(given),
            (Param::Truth(_), Param::Whole(_) | Param::Number(_) | Param::Text(_)) => Err(Mismatch::NotATruth(text.to_owned())),
            (Param::Whole(_) | Param::Number(_), Param::Whole(_) | Param::Number(_)) => Ok(given),
            (Param::Whole(_) | Param::Number(_), Param::Truth(_) | Param::Text(_)) => Err(Mismatch::NotANumber(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typed_value_has_the_type_it_has_in_a_file() {
        for (text, value) in [
            ("16", Param::Whole(16)),
            ("-3", Param::Whole(-3)),
            ("0.1", Param::Number(0.1)),
            (".5", Param::Number(0.5)),
            ("1e-3", Param::Number(0.001)),
            ("true", Param::Truth(true)),
            ("adam", Param::Text("adam".into())),
            ("", Param::Text(String::new())),
            (".nan", Param::Text(".nan".into())),
            ("99999999999999999999", Param::Text("99999999999999999999".into())),
        ] {
            assert_eq!(Param::typed(text), value, "{text}");
        }
    }

    #[test]
    fn a_parameter_keeps_its_kind() {
        assert_eq!(Param::Whole(1).retyped("0.5"), Ok(Param::Number(0.5)));
        assert_eq!(Param::Text("1.9".into()).retyped("1.10"), Ok(Param::Text("1.10".into())));
        assert_eq!(Param::Truth(true).retyped("false"), Ok(Param::Truth(false)));
        assert_eq!(Param::Number(0.1).retyped("fast").unwrap_err().to_string(), "is a number in the job, and `fast` is not");
        assert_eq!(Param::Truth(true).retyped("1").unwrap_err().to_string(), "is true or false in the job, and `1` is neither");
    }
}
