//! What became of each field of a file.

use serde::{Deserialize, Serialize};

use crate::{located::Place, words::Words};

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
    /// The same in Chinese; empty where there are no words in it, and in what was written before there was any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_zh: String,
}

impl Note {
    pub fn words(&self) -> Words {
        Words::new(self.reason.as_str(), self.reason_zh.as_str())
    }

    /// Whether the field went to `path` of our spec: its reason is that path, perhaps with words behind it.
    pub(super) fn became(&self, path: &str) -> bool {
        let rest = self.reason.strip_prefix(path);
        self.fate != Fate::Ignored && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([';', ',', ':', ' ']))
    }
}

/// Where it went, with words about that.
pub(super) fn with_words(becomes: impl Into<Words>, about: impl Into<Words>) -> Words {
    becomes.into().then(&about.into())
}

#[derive(Clone, Debug, Default)]
pub struct Notes(Vec<Note>);

impl Notes {
    pub fn kept(&mut self, path: impl Into<String>, place: Place, becomes: impl Into<Words>) {
        self.add(Fate::Kept, path.into(), place, becomes.into());
    }

    pub fn changed(&mut self, path: impl Into<String>, place: Place, reason: impl Into<Words>) {
        self.add(Fate::Changed, path.into(), place, reason.into());
    }

    pub fn ignored(&mut self, path: impl Into<String>, place: Place, reason: impl Into<Words>) {
        self.add(Fate::Ignored, path.into(), place, reason.into());
    }

    fn add(&mut self, fate: Fate, path: String, place: Place, words: Words) {
        let Words { en: reason, zh: reason_zh } = words;
        self.0.push(Note { path, line: place.line, column: place.column, fate, reason, reason_zh });
    }

    /// In the order of the file.
    pub fn in_order(mut self) -> Vec<Note> {
        self.0.sort_by_key(|note| (note.line, note.column));
        self.0
    }
}
