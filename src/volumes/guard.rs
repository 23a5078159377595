//! Noticing that a file was written to while it was read.

use std::{
    fs::{File, Metadata},
    os::unix::fs::MetadataExt,
};

use super::error::Trouble;

/// What must hold before what was put is given its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Nothing,
    Unchanged(Stamp),
}

/// The time of the last change of anything is the kernel's own, and nobody can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Guard {
    pub fn of(seen: &Metadata) -> Self {
        Guard::Unchanged(stamp(seen))
    }

    pub fn check(self, file: &File) -> Result<(), Trouble> {
        match self {
            Guard::Nothing => Ok(()),
            Guard::Unchanged(was) => {
                let now = stamp(&file.metadata().map_err(|error| Trouble::unread(&error))?);
                if now == was { Ok(()) } else { Err(Trouble::changed("it was written to while it was read")) }
            }
        }
    }
}

fn stamp(seen: &Metadata) -> Stamp {
    Stamp { size: seen.len(), modified: (seen.mtime(), seen.mtime_nsec()), changed: (seen.ctime(), seen.ctime_nsec()) }
}
