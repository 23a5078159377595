//! Where a job's code comes from.

use serde::{Deserialize, Serialize};

use crate::location::Location;

pub mod git;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePlan {
    /// A directory of the machine, or of a volume.
    At(Location),
    Git(GitPlan),
    /// What a person's own folder held when the job was submitted, by the hash of its file list.
    Upload(String),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GitPlan {
    /// Of `http` or `https`, without user or password.
    pub url: String,
    /// A branch, a tag or a commit; the server's usual branch if absent.
    #[serde(rename = "ref")]
    pub reference: Option<String>,
    pub user: Option<String>,
    /// Not the password itself: text with `{{ secrets.NAME }}` in it.
    pub password: Option<String>,
    pub submodules: bool,
    pub lfs: bool,
    /// How many commits back; everything if absent.
    pub depth: Option<u32>,
    /// The directory of the repository that becomes `/code`.
    pub directory: Option<String>,
}

impl std::fmt::Display for CodePlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CodePlan::At(location) => location.fmt(f),
            CodePlan::Git(GitPlan { url, reference: Some(reference), .. }) => write!(f, "{url}#{reference}"),
            CodePlan::Git(GitPlan { url, .. }) => f.write_str(url),
            CodePlan::Upload(digest) => write!(f, "upload {digest}"),
        }
    }
}
