//! Datasets: a name with numbered versions, each of which stands for a place and for what that place held.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    ids::DatasetName,
    location::{BadLocation, Location},
    resources::{Bytes, grouped},
    versioned::{BadVersioned, Version, Versioned},
    words::Words,
};

/// What a place holds, told without reading its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Held {
    pub files: u64,
    pub bytes: u64,
    /// Over path, size and ETag or time of change of every file, in whatever order they come.
    pub fingerprint: String,
}

/// A version of a dataset, with all that a task needs to know of it: the plan stays what it is when the version is forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetVersion {
    pub dataset: DatasetName,
    pub version: u32,
    pub at: Location,
    /// When it was made a version.
    pub held: Held,
}

/// Where an input comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum InputFrom {
    Place(Location),
    /// A version of a dataset, as the job file names it.
    Dataset(Versioned<DatasetName>),
    /// The same once it is known what that is: it stays this one, whatever versions come or go.
    Version(DatasetVersion),
}

#[derive(Debug, PartialEq, Eq)]
pub enum BadInputFrom {
    Location(BadLocation),
    Dataset(BadVersioned),
}

impl BadInputFrom {
    /// What is said of the text.
    pub fn words(&self) -> Words {
        match self {
            BadInputFrom::Location(bad) => bad.words(),
            BadInputFrom::Dataset(bad) => bad.words(),
        }
    }
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} file{} with {}", grouped(self.files), if self.files == 1 { "" } else { "s" }, Bytes(self.bytes))
    }
}

impl DatasetVersion {
    /// Such as `mnist@3`.
    pub fn name(&self) -> Versioned<DatasetName> {
        Versioned { name: self.dataset.clone(), version: Version::Number(self.version) }
    }

    /// What is said of a place that is not what it was; nothing if it is.
    pub fn broken_by(&self, now: &Held) -> Option<String> {
        let name = self.name();
        if *now == self.held {
            return None;
        }
        let change = if (now.files, now.bytes) == (self.held.files, self.held.bytes) {
            format!("still {now}, but with other content")
        } else {
            format!("then {}, now {now}", self.held)
        };
        let add = format!("trainmaster datasets add {} {}", self.dataset, self.at.without_query());
        Some(format!("{name} is not what it was when it was made: {change}; make it a version of its own: {add}"))
    }
}

impl InputFrom {
    /// The place that it stands for; none as long as nobody has looked up what a dataset is.
    pub fn place(&self) -> Option<&Location> {
        match self {
            InputFrom::Place(place) => Some(place),
            InputFrom::Version(version) => Some(&version.at),
            InputFrom::Dataset(_) => None,
        }
    }

    pub fn version(&self) -> Option<&DatasetVersion> {
        match self {
            InputFrom::Version(version) => Some(version),
            InputFrom::Place(_) | InputFrom::Dataset(_) => None,
        }
    }

    /// As it may be shown to others.
    pub fn without_query(&self) -> String {
        match self {
            InputFrom::Place(place) => place.without_query(),
            InputFrom::Dataset(_) | InputFrom::Version(_) => self.to_string(),
        }
    }
}

/// Whether someone means a dataset: a directory beside the job file that is called so is `./mnist@3`.
pub fn is_meant(text: &str) -> bool {
    text.contains('@') && !text.contains(['/', ':'])
}

impl FromStr for InputFrom {
    type Err = BadInputFrom;

    fn from_str(text: &str) -> Result<Self, BadInputFrom> {
        if is_meant(text) {
            return text.parse().map(InputFrom::Dataset).map_err(BadInputFrom::Dataset);
        }
        text.parse().map(InputFrom::Place).map_err(|bad| match bad {
            BadLocation::Neither if DatasetName::parse(text).is_ok() => BadInputFrom::Dataset(BadVersioned::NoVersion),
            other => BadInputFrom::Location(other),
        })
    }
}

impl fmt::Display for InputFrom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InputFrom::Place(place) => place.fmt(f),
            InputFrom::Dataset(named) => named.fmt(f),
            // Whoever may use a dataset need not know what opens its URL.
            InputFrom::Version(version) => write!(f, "{} ({})", version.name(), version.at.without_query()),
        }
    }
}

impl From<Location> for InputFrom {
    fn from(place: Location) -> Self {
        InputFrom::Place(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(at: &str) -> DatasetVersion {
        let held = Held { files: 70_000, bytes: 52 << 20, fingerprint: "f".into() };
        DatasetVersion { dataset: "mnist".parse().unwrap(), version: 3, at: at.parse().unwrap(), held }
    }

    #[test]
    fn an_input_comes_from_a_place_or_from_a_dataset() {
        let read = |text: &str| match text.parse::<InputFrom>() {
            Ok(from) => format!("{text}: {from:?}"),
            Err(bad) => format!("{text}: {}", bad.words().en),
        };
        let texts =
            ["data:mnist@3", "/sets/mnist@3", "http://host/mnist@3", "mnist@3", "mnist@latest", "mnist", "mnist@old", "./mnist@3", "a b"];
        insta::assert_snapshot!(texts.map(read).join("\n"), @r#"
        data:mnist@3: Place(Volume { volume: data, path: "mnist@3" })
        /sets/mnist@3: Place(Host("/sets/mnist@3"))
        http://host/mnist@3: Place(Url("http://host/mnist@3"))
        mnist@3: Dataset(Versioned { name: mnist, version: Number(3) })
        mnist@latest: Dataset(Versioned { name: mnist, version: Latest })
        mnist: says no version
        mnist@old: has the version `old`, which is neither a number from 1 nor `latest`
        ./mnist@3: is neither a whole path nor a volume and a path nor a URL
        a b: is neither a whole path nor a volume and a path nor a URL
        "#);
    }

    #[test]
    fn what_an_input_comes_from_is_kept_as_json_and_plans_of_old_are_read() {
        let froms = ["data:mnist", "mnist@latest"].map(|text| text.parse::<InputFrom>().unwrap());
        let all = froms.into_iter().chain([InputFrom::Version(version("data:mnist/v3"))]);
        let kept = all.map(|from| {
            let json = serde_json::to_string(&from).unwrap();
            assert_eq!(serde_json::from_str::<InputFrom>(&json).unwrap(), from);
            format!("{json} {from}")
        });
        insta::assert_snapshot!(kept.collect::<Vec<_>>().join("\n"), @r#"
        "data:mnist" data:mnist
        "mnist@latest" mnist@latest
        {"dataset":"mnist","version":3,"at":"data:mnist/v3","held":{"files":70000,"bytes":54525952,"fingerprint":"f"}} mnist@3 (data:mnist/v3)
        "#);
    }

    #[test]
    fn a_place_that_is_not_what_it_was_is_told_with_what_to_do() {
        let held = |files, bytes, print: &str| Held { files, bytes, fingerprint: print.into() };
        let said = |now| version("http://host/mnist.tar?sign=1").broken_by(&now).unwrap_or_default();
        insta::assert_snapshot!([said(held(70_001, 53 << 20, "g")), said(held(70_000, 52 << 20, "g"))].join("\n"), @"
        mnist@3 is not what it was when it was made: then 70,000 files with 52MiB, now 70,001 files with 53MiB; make it a version of its own: trainmaster datasets add mnist http://host/mnist.tar
        mnist@3 is not what it was when it was made: still 70,000 files with 52MiB, but with other content; make it a version of its own: trainmaster datasets add mnist http://host/mnist.tar
        ");
        assert_eq!(said(held(70_000, 52 << 20, "f")), "");
    }
}
