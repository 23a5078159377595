//! The JSON of volumes and of the files in them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ErrorBody;
use crate::{
    ids::VolumeName,
    volume::{Credentials, Volume},
};

/// A volume to be made. What opens it goes in and never comes out again.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVolume {
    #[schema(value_type = String)]
    pub name: VolumeName,
    pub volume: Volume,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub credentials: Option<Credentials>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VolumeView {
    #[schema(value_type = String)]
    pub name: VolumeName,
    pub volume: Volume,
    /// Empty if the server's configuration made it.
    pub owner: String,
    pub has_credentials: bool,
    pub created_at_ms: u64,
}

/// One thing that was tried with a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct VolumeCheck {
    /// `list`, `write`, `read` or `remove`.
    pub what: String,
    /// Why it does not work; absent if it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The same in Chinese; an older server gives none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_zh: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FileView {
    /// From the top of what is listed: the volume, or the job's `/output`.
    pub path: String,
    #[serde(flatten)]
    pub kind: FileKind,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FileKind {
    File {
        size: u64,
        /// 0 if the store does not say.
        modified_ms: u64,
        /// Another content has another one.
        etag: String,
    },
    Directory,
    /// A link, a pipe or a device, which is never opened.
    Special {
        what: String,
    },
}

/// One line of a list. A list that broke off ends with why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileLine {
    Found(FileView),
    Error(ErrorBody),
}
