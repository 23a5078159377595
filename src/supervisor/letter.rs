//! The letter in a run's directory: what to run, and whom to tell.
//!
//! It is one file, and the supervisor's lock is on it, because making a file is the dearest thing a
//! short task does: every one that can be saved is.

use std::{fs, io, path::Path};

use model::order::RunOrder;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Letter {
    pub order: RunOrder,
    /// Good for this run alone.
    pub token: String,
    /// Where the server was when the letter was written.
    pub server: String,
}

impl Letter {
    /// `None` if there is none, or none that is whole.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        match fs::read(path) {
            Ok(text) => Ok(serde_json::from_slice(&text).ok()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
