//! The JSON of algorithms and their versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::JobRef;
use crate::algorithm::Algorithm;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlgorithmView {
    pub name: String,
    /// That of the newest version.
    pub description: String,
    pub owner: String,
    pub created_at_ms: u64,
    /// How many there are, without those that were forgotten.
    pub versions: u32,
    /// The newest of them.
    pub latest: Option<AlgorithmVersionSummary>,
}

/// An algorithm with its versions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlgorithmDetail {
    pub name: String,
    /// That of the newest version.
    pub description: String,
    pub owner: String,
    pub created_at_ms: u64,
    /// How many there are, without those that were forgotten.
    pub versions: u32,
    /// The newest of them.
    pub latest: Option<AlgorithmVersionSummary>,
    /// The newest hundred, the newest first.
    pub all: Vec<AlgorithmVersionSummary>,
}

/// A version without all that it says, which is as long as its author likes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlgorithmVersionSummary {
    pub algorithm: String,
    /// From 1; never used again, also when it was forgotten.
    pub version: u32,
    pub description: String,
    pub framework: Option<String>,
    /// The beginning of its name, where it is longer than names are.
    pub image: Option<String>,
    pub made_by: String,
    pub created_at_ms: u64,
    /// The newest few of the caller's jobs that were made from it.
    pub jobs: Vec<JobRef>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AlgorithmVersionView {
    pub algorithm: String,
    /// From 1; never used again, also when it was forgotten. In the answer to a dry run, the one that it would be.
    pub version: u32,
    pub description: String,
    /// Everything it says, with what goes without saying.
    pub document: Algorithm,
    /// As it was handed in.
    pub text: String,
    pub made_by: String,
    pub created_at_ms: u64,
    /// The newest few of the caller's jobs that were made from it.
    pub jobs: Vec<JobRef>,
    /// What whoever adds it should know although nothing is wrong, such as code that is another when its branch moves.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}
