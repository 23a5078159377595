//! The letter in a run's directory: what to run, and whom to tell.
//!
//! It is one file with everything that the supervisor writes down, and the supervisor's lock is on it, because making a file is the
//! dearest thing a short task does: every one that can be saved is.

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
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// It is the first line; what comes after it is the supervisor's.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes.split(|byte| *byte == b'\n').next()?).ok()
    }
}
