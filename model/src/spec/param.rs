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
        Self::of(&scalar).unwrap_or(Param::Text(scalar.text))
    }

    /// The same for whoever finds out later which kind is wanted: nothing of `1.10` is lost on the way.
    pub fn as_typed(text: &str) -> Self {
        let scalar = Scalar { text: text.to_owned(), plain: true };
        Self::as_written(&scalar).unwrap_or(Param::Text(scalar.text))
    }

    /// A scalar of a job file, unless it is nothing.
    pub(crate) fn of(scalar: &Scalar) -> Option<Self> {
        let text = || Param::Text(scalar.text.clone());
        Some(match scalar.kind() {
            Kind::Bool(value) => Param::Truth(value),
            // `007` is meant as it is written; a number that is wanted is made of it.
            Kind::Int(_) if has_leading_zeros(&scalar.text) => text(),
            Kind::Int(value) => i64::try_from(value).map_or_else(|_| text(), Param::Whole),
            Kind::Float(value) if value.is_finite() => Param::Number(value),
            Kind::Float(_) | Kind::Text => text(),
            Kind::Null => return None,
        })
    }

    /// The same, with the letters that it is written with: what would have others as a number or a truth value stays text.
    pub(crate) fn as_written(scalar: &Scalar) -> Option<Self> {
        Self::of(scalar).map(|value| if value.has_letters(&scalar.text) { value } else { Param::Text(scalar.text.clone()) })
    }

    /// Whether it is written like this, to a program and on the way there: JSON has `0.00001` for `1e-5`.
    fn has_letters(&self, text: &str) -> bool {
        self.to_string() == text && serde_json::to_string(self).is_ok_and(|json| json == text)
    }

    /// The number that a text is, if it is one.
    pub(crate) fn number(text: &str) -> Option<Self> {
        match (Scalar { text: text.to_owned(), plain: true }).kind() {
            Kind::Int(value) => i64::try_from(value).ok().map(Param::Whole),
            Kind::Float(value) => value.is_finite().then_some(Param::Number(value)),
            Kind::Null | Kind::Bool(_) | Kind::Text => None,
        }
    }

    /// The text as a value of the same kind: what is text in the job stays text, and a number stays a number.
    pub fn retyped(&self, text: &str) -> Result<Self, Mismatch> {
        match self {
            Param::Text(_) => Ok(Param::Text(text.to_owned())),
            Param::Truth(_) => Self::truth(text).ok_or_else(|| Mismatch::NotATruth(text.to_owned())),
            Param::Whole(_) | Param::Number(_) => Self::number(text).ok_or_else(|| Mismatch::NotANumber(text.to_owned())),
        }
    }

    pub(crate) fn truth(text: &str) -> Option<Self> {
        Some(Self::typed(text)).filter(|value| matches!(value, Param::Truth(_)))
    }
}

fn has_leading_zeros(text: &str) -> bool {
    text.len() > 1 && text.starts_with('0') && text.chars().all(|c| c.is_ascii_digit())
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
            ("007", Param::Text("007".into())),
            ("0", Param::Whole(0)),
            ("0x10", Param::Whole(16)),
            ("99999999999999999999", Param::Text("99999999999999999999".into())),
        ] {
            assert_eq!(Param::typed(text), value, "{text}");
        }
    }

    #[test]
    fn a_number_that_would_be_written_otherwise_stays_as_it_was_typed() {
        for text in ["1.10", "1e-3", "1e-5", "007", "+5", "True", ""] {
            assert_eq!(Param::as_typed(text), Param::Text(text.into()), "{text}");
        }
        assert_eq!([Param::as_typed("0.1"), Param::as_typed("16")], [Param::Number(0.1), Param::Whole(16)]);
        assert_eq!(Param::as_typed("true"), Param::Truth(true));
    }

    #[test]
    fn a_parameter_keeps_its_kind() {
        assert_eq!(Param::Whole(1).retyped("007"), Ok(Param::Whole(7)));
        assert_eq!(Param::Whole(1).retyped("0.5"), Ok(Param::Number(0.5)));
        assert_eq!(Param::Text("1.9".into()).retyped("1.10"), Ok(Param::Text("1.10".into())));
        assert_eq!(Param::Truth(true).retyped("false"), Ok(Param::Truth(false)));
        assert_eq!(Param::Number(0.1).retyped("fast").unwrap_err().to_string(), "is a number in the job, and `fast` is not");
        assert_eq!(Param::Truth(true).retyped("1").unwrap_err().to_string(), "is true or false in the job, and `1` is neither");
    }
}
