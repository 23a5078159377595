//! What a porter is told, and what it says.

use std::{collections::BTreeMap, path::PathBuf};

use model::{
    order::{RunOrder, RunSecrets},
    provenance::{Content, InputFound},
    sync::Synced,
    task::Whose,
};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
pub struct Errand {
    pub kind: Kind,
    pub order: RunOrder,
    pub secrets: RunSecrets,
    /// The run's own directory.
    pub dir: PathBuf,
    /// Where things are kept that other runs may want too.
    pub shelves: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Code and inputs in.
    Stage,
    /// Outputs and logs out: what has changed, again and again; and all of it, once there is the line `finish` on the input.
    Sync,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Something takes its time; words for a person.
    Doing(String),
    Staged(Staged),
    Failed {
        why: String,
        whose: Whose,
    },
    /// Everything is where it was to go.
    Synced(Synced),
    /// It does not go on now. Whoever sent us may send another, later.
    Stuck {
        why: String,
        /// How long the store asked us to wait.
        wait_ms: Option<u64>,
        /// Whether anything was copied before.
        moved: bool,
    },
    /// A later attempt copies what we would have.
    Replaced,
}

/// Where everything is that was carried in.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Staged {
    pub code: Option<PathBuf>,
    /// Of code from git, exactly.
    pub commit: Option<String>,
    /// Of code that is a directory.
    pub code_content: Option<Content>,
    /// All of `/input`.
    pub input: Option<PathBuf>,
    /// What is seen at `/input/NAME`.
    pub channels: BTreeMap<String, PathBuf>,
    /// What the inputs are.
    pub inputs: Vec<InputFound>,
    /// Files to hold a shared lock on for as long as the run needs what was carried in: nobody removes it meanwhile.
    pub locks: Vec<PathBuf>,
}
