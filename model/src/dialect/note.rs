//! What became of each field of a file.

use serde::{Deserialize, Serialize};

use crate::located::Place;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Means the same here.
    Kept,
    /// Means something near to it here; the reason says what.
    Changed,
    /// Has no effect here; the reason says why, and what can be done.
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Note {
    /// As the file spells it: `taskRoles.worker.resourcePerInstance.gpu`.
    pub path: String,
    /// From 1.
    pub line: u32,
    pub column: u32,
    pub fate: Fate,
    /// Where it went, or why it did not: `roles.worker.accelerators`, or words. Words about where it went come after a `;`.
    pub reason: String,
}

impl Note {
    /// Whether the field went to `path` of our spec: its reason is that path, perhaps with words behind it.
    pub(super) fn became(&self, path: &str) -> bool {
        let rest = self.reason.strip_prefix(path);
        self.fate != Fate::Ignored && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([';', ',', ':', ' ']))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    pub fn kept(&mut self, path: impl Into<String>, place: Place, becomes: impl Into<String>) {
        self.add(Fate::Kept, path.into(), place, becomes.into());
    }

    pub fn changed(&mut self, path: impl Into<String>, place: Place, reason: impl Into<String>) {
        self.add(Fate::Changed, path.into(), place, reason.into());
    }

    pub fn ignored(&mut self, path: impl Into<String>, place: Place, reason: impl Into<String>) {
        self.add(Fate::Ignored, path.into(), place, reason.into());
    }

    fn add(&mut self, fate: Fate, path: String, place: Place, reason: String) {
        self.0.push(Note { path, line: place.line, column: place.column, fate, reason });
    }

    /// In the order of the file.
    pub fn in_order(mut self) -> Vec<Note> {
        self.0.sort_by_key(|note| (note.line, note.column));
        self.0
    }
}
