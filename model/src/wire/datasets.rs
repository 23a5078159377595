//! The JSON of datasets and their versions.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A dataset to be made, or its next version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewDatasetVersion {
    pub name: String,
    /// Where the data is: `data:mnist/v3`, a directory of the server's machine, or a URL.
    pub at: String,
    /// Of the dataset; it takes the place of the former one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Of this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatasetView {
    pub name: String,
    pub description: String,
    pub owner: String,
    pub created_at_ms: u64,
    /// How many there are, without those that were forgotten.
    pub versions: u32,
    /// The newest of them.
    pub latest: Option<DatasetVersionView>,
}

/// A dataset with its versions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatasetDetail {
    pub name: String,
    pub description: String,
    pub owner: String,
    pub created_at_ms: u64,
    /// How many there are, without those that were forgotten.
    pub versions: u32,
    /// The newest of them.
    pub latest: Option<DatasetVersionView>,
    /// Every one, the newest first.
    pub all: Vec<DatasetVersionView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DatasetVersionView {
    pub dataset: String,
    /// From 1; never used again, also when it was forgotten.
    pub version: u32,
    /// Where the data is; what opens a URL is left out.
    pub at: String,
    /// What people say of this version.
    pub note: String,
    /// What was there when it was made a version.
    pub files: u64,
    pub bytes: u64,
    /// Other content has another one.
    pub fingerprint: String,
    pub made_by: String,
    pub created_at_ms: u64,
    /// The newest few of the caller's jobs that read it.
    pub jobs: Vec<JobRef>,
}

/// A job that has to do with something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct JobRef {
    pub id: String,
    pub name: String,
    pub version: u32,
}
