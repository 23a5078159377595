//! Uploaded folders, as the API speaks of them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What is known of an uploaded folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadFacts {
    /// The hash of its file list, which is its name.
    pub digest: String,
    pub files: u64,
    pub bytes: u64,
    /// What git had checked out; none if git knew nothing of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Whether there was anything that is not in the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dirty: Option<bool>,
}

/// How far an upload has come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadStanding {
    pub digest: String,
    /// Whether a job can name it.
    pub finished: bool,
    pub missing: Vec<MissingBlob>,
}

/// Content that is still to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MissingBlob {
    pub sha256: String,
    pub size_bytes: u64,
    /// How many bytes of it are there.
    pub have_bytes: u64,
}

/// How much of some content is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobLength {
    pub length: u64,
}

/// How many blobs of one request were taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BlobsTaken {
    pub taken: u64,
}

/// An uploaded folder and everything in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadList {
    #[serde(flatten)]
    pub facts: UploadFacts,
    pub entries: Vec<UploadEntry>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UploadEntry {
    /// With U+FFFD where it is no UTF-8.
    pub path: String,
    #[serde(flatten)]
    pub what: UploadedThing,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum UploadedThing {
    File { sha256: String, size_bytes: u64, executable: bool },
    Link { target: String },
}
