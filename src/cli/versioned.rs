//! Things with versions as a person types them: `mnist`, `mnist@3`, `mnist@latest`.

use std::{fmt, str::FromStr};

use model::{
    ids::BadName,
    versioned::{Version, Versioned},
};
use serde::Deserialize;

use super::{
    context::{Context, encode},
    failure::Failure,
};

/// All of something, or a version of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<Name> {
    pub name: Name,
    pub version: Option<Version>,
}

impl<Name: FromStr<Err = BadName>> FromStr for Named<Name> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text.contains('@') {
            let Versioned { name, version } = text.parse().map_err(|bad| format!("`{text}` {bad}"))?;
            return Ok(Self { name, version: Some(version) });
        }
        let name = text.parse().map_err(|bad| format!("the name {bad}"))?;
        Ok(Self { name, version: None })
    }
}

/// What every kind says of a version.
#[derive(Deserialize)]
struct Numbered {
    version: u32,
}

impl<Name: fmt::Display> Named<Name> {
    /// With the number that `latest` has now: once that is forgotten, `latest` is another.
    pub async fn numbered(self, context: &Context, kind: &str) -> Result<Self, Failure> {
        if self.version != Some(Version::Latest) {
            return Ok(self);
        }
        let Numbered { version } = context.get(&self.path(kind)).await?;
        Ok(Self { version: Some(Version::Number(version)), ..self })
    }

    /// Where the server has it, below the list of its kind.
    pub fn path(&self, kind: &str) -> String {
        let version = self.version.map_or(String::new(), |version| format!("/versions/{version}"));
        format!("/api/v1/{kind}/{}{version}", encode(&self.name.to_string()))
    }
}

impl<Name: fmt::Display> fmt::Display for Named<Name> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.version {
            Some(version) => write!(f, "{}@{version}", self.name),
            None => write!(f, "{}", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::ids::AlgorithmName;

    use super::*;

    #[test]
    fn a_thing_is_named_with_a_version_or_without() {
        let read =
            |text: &str| text.parse::<Named<AlgorithmName>>().map_or_else(|bad| bad, |it| format!("{it}: {}", it.path("algorithms")));
        let texts = ["mlp", "mlp@3", "mlp@latest", "mlp@x", "my mlp", "a/b@1"];
        insta::assert_snapshot!(texts.map(read).join("\n"), @"
        mlp: /api/v1/algorithms/mlp
        mlp@3: /api/v1/algorithms/mlp/versions/3
        mlp@latest: /api/v1/algorithms/mlp/versions/latest
        `mlp@x` has the version `x`, which is neither a number from 1 nor `latest`
        the name has a space; use letters, digits, `-`, `.`, `_` and `~`
        `a/b@1` has a name that has `/`; use letters, digits, `-`, `.`, `_` and `~`
        ");
    }
}
