//! What is told of a bundle.

use super::{Bundle, Changes, Entry, shown};
use crate::wire::{UploadEntry, UploadFacts, UploadList, UploadedThing};

impl Bundle {
    pub fn facts(&self) -> UploadFacts {
        let origin = self.origin();
        UploadFacts {
            digest: self.digest().to_string(),
            files: self.count() as u64,
            bytes: self.size_bytes(),
            commit: origin.map(|it| it.commit.clone()),
            branch: origin.and_then(|it| it.branch.clone()),
            dirty: origin.map(|it| it.changes != Changes::None),
        }
    }

    pub fn list(&self) -> UploadList {
        let what = |entry: &Entry| match entry {
            Entry::File { blob, executable } => {
                UploadedThing::File { sha256: blob.hash.to_string(), size_bytes: blob.size_bytes, executable: *executable }
            }
            Entry::Link { target } => UploadedThing::Link { target: shown(target) },
        };
        let entries = self.entries().map(|(path, entry)| UploadEntry { path: shown(path), what: what(entry) }).collect();
        UploadList { facts: self.facts(), entries }
    }
}
