//! What a run was made of, as far as anybody could tell when it began.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::plan::FormerJob;

/// How a job came to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// Whose job file it was; none if it was one of our own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<String>,
    /// What the file was called where it was submitted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The job that was submitted again to make this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun_of: Option<FormerJob>,
}

impl Origin {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a supervisor has found before its child began, kept in the run's directory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Found {
    /// Code that is a directory of the machine; other code is known by its commit or its hash.
    pub code: Option<Content>,
    pub inputs: Vec<InputFound>,
    pub python: Option<PythonFound>,
    /// Why there is no list of an environment that the run had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_python: Option<String>,
}

impl Found {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// An input, as it was when it was made ready.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct InputFound {
    /// Where the task finds it: `/input/train`; or `/output`, for what lies there before the first attempt.
    pub path: String,
    /// As it was written.
    pub from: String,
    pub content: Content,
}

/// What something held, without all of its bytes being read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Content {
    /// Other content has another one.
    pub fingerprint: String,
    pub files: u64,
    pub bytes: u64,
    /// The newest change among its files, where they were looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub newest_ms: Option<u64>,
    /// Why not all of it was looked at, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub partly: Option<String>,
}

/// The Python environment that a run was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonFound {
    /// Of everything that is installed; the list itself is kept once for all runs that have the same.
    pub fingerprint: String,
    /// Only of a run that shares no disk with the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Packages>,
}

/// What is installed in a Python environment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Packages {
    /// Such as `3.11.2`; empty if the environment does not say.
    pub python: String,
    /// Versions by name.
    pub packages: BTreeMap<String, String>,
}
