//! What goes into a task and what comes out of it: places outside, and where the task finds them.

use serde::{Deserialize, Serialize};

use crate::{dataset::InputFrom, location::Location};

/// Data that is there before the child starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InputPlan {
    /// It is found at `/input/NAME`; without a name it is all of `/input`.
    pub name: Option<String>,
    pub from: InputFrom,
    /// Whether an archive is wanted as the files that are in it.
    pub unpack: bool,
}

/// Files that are copied out while the child runs, and completely at its end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputPlan {
    /// It is written to `/output/NAME`; without a name it is all of `/output` that has no name of its own.
    pub name: Option<String>,
    pub to: Location,
    pub layout: Layout,
}

/// Who writes where, so that no two tasks write to the same path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Layout {
    /// The chief writes to the place itself, every other task below its own name.
    Chief,
    /// Every task writes below its own name.
    Tasks,
}

/// An argument that tells a program where a channel is: `--data_url=/input/data`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathArgument {
    pub flag: String,
    /// Of the sandbox.
    pub path: String,
}

impl InputPlan {
    /// Where the task finds it.
    pub fn path(&self) -> String {
        place("/input", self.name.as_deref())
    }
}

impl OutputPlan {
    /// Where the task writes it.
    pub fn path(&self) -> String {
        place("/output", self.name.as_deref())
    }
}

fn place(room: &str, name: Option<&str>) -> String {
    name.map_or_else(|| room.to_owned(), |name| format!("{room}/{name}"))
}
