//! Logs: pieces as they are, lines as people read them, what was found in them, and how far they say a task is.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::{logs::Stream, progress::Progress, terminal::Colour};

/// A piece of a task's log in a followed stream. Exactly one of `text` and `base64` is there: bytes
/// that are not UTF-8 come as base64, so nothing is changed on the way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogChunk {
    pub task: String,
    pub attempt: u32,
    pub stream: Stream,
    pub offset: u64,
    pub at_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base64: Option<String>,
    /// So many bytes were dropped in this place, and the text is the platform's word on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_bytes: Option<u64>,
}

/// A line of a task's log as a terminal would leave it. Places in the text are counted in characters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LineView {
    pub task: String,
    pub attempt: u32,
    pub stream: Stream,
    /// When its last byte came.
    pub at_ms: u64,
    /// Where it begins in the log.
    pub offset: u64,
    /// Behind its last byte: what names the line within its log.
    pub end: u64,
    /// Nothing but text: no escapes, no control characters.
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub colours: Vec<Colour>,
    /// Beginnings and ends of what was looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub matches: Vec<[u32; 2]>,
    /// It is here for the sake of a line beside it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub context: bool,
    /// It has no end yet: the next answer may have more of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unfinished: bool,
    /// So much of it did not fit.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub cut_bytes: u64,
    /// So many bytes were dropped in this place, and the text is the platform's word on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped_bytes: Option<u64>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Lines of one or several tasks, in the order of their times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LinesPage {
    pub lines: Vec<LineView>,
    /// Give it as `before` to read what came earlier.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Give it as `after` to read on, now or when there is more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Nothing lies beyond this page in the direction that was read. A page may be empty and not the last: each looks at so
    /// many bytes and no more.
    pub at_end: bool,
}

/// A line in which something was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogHit {
    pub job: String,
    pub name: String,
    pub version: u32,
    #[serde(flatten)]
    pub line: LineView,
}

/// The last word of a search.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchEnd {
    pub hits: u64,
    pub jobs: u64,
    pub logs: u64,
    pub bytes: u64,
    /// There are more hits than were asked for.
    pub more: bool,
}

/// One line of a search's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchLine {
    Hit(Box<LogHit>),
    End(SearchEnd),
}

/// How far a job is, as its tasks say themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct JobProgress {
    /// Of the task that is least far.
    pub percent: Option<f64>,
    pub left_s: Option<u64>,
    pub tasks: Vec<TaskProgress>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskProgress {
    pub task: String,
    pub attempt: u32,
    #[serde(flatten)]
    pub progress: Progress,
}

/// A live job and how far it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProgressOfJob {
    pub job: String,
    #[serde(flatten)]
    pub progress: JobProgress,
}

impl JobProgress {
    /// A gang is as far as the last of its tasks.
    pub fn of(tasks: Vec<TaskProgress>) -> Option<Self> {
        let by_percent = |it: &&TaskProgress, other: &&TaskProgress| {
            it.progress.percent.unwrap_or(f64::MAX).total_cmp(&other.progress.percent.unwrap_or(f64::MAX))
        };
        let last = tasks.iter().min_by(by_percent)?;
        Some(Self { percent: last.progress.percent, left_s: last.progress.left_s, tasks })
    }
}
