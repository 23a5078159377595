//! What happened and why.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{
    diagnose::{Diagnosis, RetryClass},
    task::TaskState,
    words::{Lang, Words},
};

/// How much an event matters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EventLevel {
    #[default]
    Info,
    Warning,
    Error,
}

impl EventLevel {
    pub const SPELLED: [(EventLevel, &str); 3] =
        [(EventLevel::Info, "info"), (EventLevel::Warning, "warning"), (EventLevel::Error, "error")];

    pub fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(level, _)| *level == self).expect("SPELLED has every level").1
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::SPELLED.iter().find(|(_, it)| *it == text).map(|(level, _)| *level)
    }
}

/// Something that happened, in the order it was committed. `seq` has no gap and no repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    pub seq: u64,
    pub at_ms: u64,
    pub job: String,
    pub task: Option<String>,
    pub attempt: Option<u32>,
    pub kind: String,
    pub reason: String,
    /// The same in Chinese; empty if it was written before there was any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason_zh: String,
    #[serde(default)]
    pub level: EventLevel,
    /// How long that took which the event is the end of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventPage {
    pub events: Vec<EventView>,
    pub next: Option<u64>,
}

/// A failure of one task, in the language that was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    pub task: String,
    pub attempt: u32,
    pub state: TaskState,
    /// How it ended: code or signal, and after which time.
    pub ending: String,
    pub diagnosis: Option<DiagnosisView>,
    /// The last Python traceback it printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traceback: Option<String>,
    /// The last lines it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub tail: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DiagnosisView {
    /// Stable, for scripts; `docs/endings.md` has each.
    pub id: String,
    pub title: String,
    pub sentence: String,
    pub advice: String,
    pub evidence: Vec<String>,
    pub retry: RetryClass,
}

impl DiagnosisView {
    pub fn new(diagnosis: &Diagnosis, lang: Lang) -> Self {
        let say = |words: &Words| words.say(lang).to_owned();
        Self {
            id: diagnosis.id.clone(),
            title: say(&diagnosis.title),
            sentence: say(&diagnosis.sentence),
            advice: say(&diagnosis.advice),
            evidence: diagnosis.evidence.clone(),
            retry: diagnosis.retry,
        }
    }
}

/// An entry of the catalogue of endings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CatalogueEntry {
    pub id: String,
    pub title: Words,
    pub says: Words,
    pub advice: Words,
    pub retry: RetryClass,
}
