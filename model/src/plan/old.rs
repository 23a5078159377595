//! Plans and orders that were written when code and input could only be directories.

use serde::{Deserialize, Deserializer};

use super::Freight;
use crate::{channels::InputPlan, code::CodePlan, location::Location};

#[derive(Deserialize)]
#[serde(untagged)]
enum Code {
    Directory(String),
    Plan(CodePlan),
}

pub fn code<'de, D: Deserializer<'de>>(from: D) -> Result<Option<CodePlan>, D::Error> {
    let code = Option::<Code>::deserialize(from)?;
    Ok(code.map(|code| match code {
        Code::Directory(path) => CodePlan::At(Location::Host(path)),
        Code::Plan(plan) => plan,
    }))
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Input {
    Directory(String),
    Freight(Freight),
}

pub fn freight<'de, D: Deserializer<'de>>(from: D) -> Result<Freight, D::Error> {
    let input = Option::<Input>::deserialize(from)?;
    Ok(input.map_or_else(Freight::default, |input| match input {
        Input::Directory(path) => {
            Freight { inputs: vec![InputPlan { name: None, from: Location::Host(path).into(), unpack: false }], ..Freight::default() }
        }
        Input::Freight(freight) => freight,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Holder {
        #[serde(default, deserialize_with = "code")]
        code: Option<CodePlan>,
        #[serde(default, alias = "input", deserialize_with = "freight")]
        freight: Freight,
    }

    #[test]
    fn an_old_plan_s_directory_is_still_read() {
        let read = |text: &str| serde_json::from_str::<Holder>(text).unwrap().code;
        let directory = Some(CodePlan::At(Location::Host("/code".into())));
        assert_eq!(read(r#"{"code": "/code"}"#), directory);
        assert_eq!(read(r#"{"code": {"at": "/code"}}"#), directory);
        assert_eq!(read(r#"{"code": null}"#), None);
        assert_eq!(read("{}"), None);
        let places = |text: &str| {
            let freight = serde_json::from_str::<Holder>(text).unwrap().freight;
            freight.locations().map(ToString::to_string).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(places(r#"{"input": "/data"}"#), "/data");
        assert_eq!(places(r#"{"input": null}"#), "");
        assert_eq!(places(r#"{"freight": {"logs": "a:b"}}"#), "a:b");
    }
}
