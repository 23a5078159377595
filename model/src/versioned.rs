//! A thing that has versions, as a person names it: `mnist@3`, or `mnist@latest` for whichever is the newest.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::{ids::BadName, said, speaks, words::Words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versioned<Name> {
    pub name: Name,
    pub version: Version,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    Latest,
    /// From 1.
    Number(u32),
}

const LATEST: &str = "latest";
/// Nobody reads a version of a thousand letters.
const VERSION_CHARACTERS_TOLD_MAX: usize = 40;

#[derive(Debug, PartialEq, Eq)]
pub enum BadVersioned {
    /// There is no `@` in it, so it may as well be something else.
    NoVersion,
    Name(BadName),
    Version(String),
}

impl BadVersioned {
    /// What is said of the text.
    pub fn words(&self) -> Words {
        match self {
            BadVersioned::NoVersion => said!("says no version", "没有写版本"),
            BadVersioned::Name(bad) => {
                let bad = bad.words();
                Words::new(format!("has a name that {}", bad.en), format!("里的名字{}", bad.zh))
            }
            BadVersioned::Version(text) => {
                said!(
                    "has the version `{text}`, which is neither a number from 1 nor `{LATEST}`",
                    "里的版本 `{text}` 既不是从 1 开始的数字，也不是 `{LATEST}`"
                )
            }
        }
    }
}

speaks!(BadVersioned);

impl<Name: FromStr<Err = BadName>> FromStr for Versioned<Name> {
    type Err = BadVersioned;

    fn from_str(text: &str) -> Result<Self, BadVersioned> {
        let (name, version) = text.split_once('@').ok_or(BadVersioned::NoVersion)?;
        Ok(Self { name: name.parse().map_err(BadVersioned::Name)?, version: version.parse()? })
    }
}

impl FromStr for Version {
    type Err = BadVersioned;

    fn from_str(text: &str) -> Result<Self, BadVersioned> {
        let number = || text.parse().ok().filter(|number| *number > 0 && u32::to_string(number) == text);
        let read = if text == LATEST { Some(Version::Latest) } else { number().map(Version::Number) };
        read.ok_or_else(|| BadVersioned::Version(text.chars().take(VERSION_CHARACTERS_TOLD_MAX).collect()))
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Version::Latest => f.write_str(LATEST),
            Version::Number(number) => write!(f, "{number}"),
        }
    }
}

impl<Name: fmt::Display> fmt::Display for Versioned<Name> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.name, self.version)
    }
}

impl<Name: fmt::Display> Serialize for Versioned<Name> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, Name: FromStr<Err = BadName>> Deserialize<'de> for Versioned<Name> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::DatasetName;

    #[test]
    fn a_version_is_a_number_from_one_or_the_latest() {
        let read = |text: &str| match text.parse::<Versioned<DatasetName>>() {
            Ok(it) => {
                assert_eq!(it.to_string(), text, "it has one spelling");
                format!("{} {:?}", it.name, it.version)
            }
            Err(bad) => format!("{text} {bad}"),
        };
        insta::assert_snapshot!(["mnist@3", "mnist@latest", "mnist", "mnist@0", "mnist@03", "mnist@newest", "@1", "my set@1", "a@1@2"].map(read).join("\n"), @"
        mnist Number(3)
        mnist Latest
        mnist says no version
        mnist@0 has the version `0`, which is neither a number from 1 nor `latest`
        mnist@03 has the version `03`, which is neither a number from 1 nor `latest`
        mnist@newest has the version `newest`, which is neither a number from 1 nor `latest`
        @1 has a name that is empty
        my set@1 has a name that has a space; use letters, digits, `-`, `.`, `_` and `~`
        a@1@2 has the version `1@2`, which is neither a number from 1 nor `latest`
        ");
    }
}
