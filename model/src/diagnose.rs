//! How a run ended → which cause of the catalogue that is: what happened, what to do, and whether to try again.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    clues::Clues,
    resources::Bytes,
    task::{Cause, Ending, TaskState, signal_name},
    words::Words,
};

mod catalogue;
mod matching;
mod template;

pub use catalogue::{BadCatalogue, Catalogue, Entry, When};

/// What an end means for trying again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RetryClass {
    /// It would end the same way.
    Never,
    /// As many as the job asked for.
    Counts,
    /// As many as the job asked for, and never for ever: a few of them at most.
    Bounded,
    /// Tried again without counting.
    Platform,
}

impl RetryClass {
    pub fn words(self) -> Words {
        match self {
            RetryClass::Never => Words::new("not tried again: it would end the same way", "不重试：再试结果也一样"),
            RetryClass::Counts => Words::new("tried again as often as the job asks", "按作业要求的次数重试"),
            RetryClass::Bounded => Words::new("tried again as the job asks, but never for ever", "按作业要求重试，但不会无限次"),
            RetryClass::Platform => Words::new("tried again without counting", "自动重试，不计次数"),
        }
    }
}

/// What became of a run that did not succeed, in words for whoever it belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Diagnosis {
    /// Of the catalogue's entry; it stays the same for ever.
    pub id: String,
    pub title: Words,
    /// With the particulars: which module, which port, how many bytes.
    pub sentence: Words,
    pub advice: Words,
    /// What it was concluded from: lines of the log, counters of the kernel.
    pub evidence: Vec<String>,
    pub retry: RetryClass,
    /// Whether it tells more than the bare ending does.
    pub tells_more: bool,
}

const EVIDENCE_BYTES_MAX: usize = 400;

/// Says what the ending is, by the first entry that fits. A success and what nobody has an entry for get none.
pub fn diagnose(ending: &Ending, catalogue: &Catalogue) -> Option<Diagnosis> {
    if ending.cause.state() == TaskState::Succeeded {
        return None;
    }
    let nothing = Clues::default();
    let clues = ending.clues.as_deref().unwrap_or(&nothing);
    let found = catalogue.entries().iter().find_map(|entry| Some((entry, matching::matches(entry, &ending.cause, clues)?)));
    let (entry, matched) = found?;
    let mut particulars = particulars(ending, clues);
    particulars.extend(matched.groups);
    particulars.extend(matched.line.clone().map(|line| ("line".to_owned(), line)));
    let fill = |words: &Words| words.map(|text| template::fill(text, &particulars));
    Some(Diagnosis {
        id: entry.id.clone(),
        title: entry.title.clone(),
        sentence: fill(&entry.says),
        advice: entry.advice.clone(),
        evidence: evidence(ending, clues, matched.line),
        retry: entry.retry,
        tells_more: matching::looks_inside(entry),
    })
}

/// What every entry may name.
fn particulars(ending: &Ending, clues: &Clues) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    let mut put = |name: &str, value: Option<String>| _ = value.map(|value| all.insert(name.to_owned(), value));
    put("code", ending.cause.exit_code().map(|it| it.to_string()));
    put("signal", matching::signal_of(&ending.cause).map(|it| format!("{it} ({})", signal_name(it))));
    put("number", matching::signal_of(&ending.cause).map(|it| it.to_string()));
    put("peak", ending.peak_memory_bytes.map(|it| Bytes(it).to_string()));
    match &ending.cause {
        Cause::OutOfMemory { limit_bytes, kills } => {
            put("limit", Some(Bytes(*limit_bytes).to_string()));
            put("kills", Some(kills.to_string()));
        }
        Cause::MachineMemory { limit_bytes, kills } => {
            put("limit", limit_bytes.map(|it| Bytes(it).to_string()));
            put("kills", Some(kills.to_string()));
        }
        Cause::OverDisk { limit_bytes, used_bytes } => {
            put("limit", Some(Bytes(*limit_bytes).to_string()));
            put("used", Some(Bytes(*used_bytes).to_string()));
        }
        Cause::CannotStart { why, .. } | Cause::Unknown { why } => put("why", Some(why.clone())),
        Cause::Exited { .. } | Cause::Signaled { .. } | Cause::Stopped { .. } | Cause::SetupFailed { .. } => {}
    }
    put("exception", clues.traceback.as_ref().map(|it| it.exception.clone()));
    put("frame", clues.traceback.as_ref().and_then(|it| it.frame.clone()));
    if let Some(full) = clues.full.first() {
        put("place", Some(full.place.clone()));
        put("free", Some(Bytes(full.free_bytes).to_string()));
        put("all", Some(Bytes(full.all_bytes).to_string()));
    }
    put("processes", clues.processes.map(|it| it.most.to_string()));
    put("refused", clues.processes.map(|it| it.refused.to_string()));
    put("kernel_log", clues.kernel_log.clone());
    all
}

fn evidence(ending: &Ending, clues: &Clues, line: Option<String>) -> Vec<String> {
    let mut all: Vec<String> = line.into_iter().collect();
    if let Cause::OutOfMemory { kills, .. } | Cause::MachineMemory { limit_bytes: Some(_), kills } = &ending.cause {
        let peak = ending.peak_memory_bytes.map_or(String::new(), |peak| format!(", peak {}", Bytes(peak)));
        all.push(format!("control group: oom_kill {kills}{peak}"));
    }
    all.extend(clues.kernel_log.clone());
    all.extend(clues.processes.map(|it| format!("control group: pids.max {}, refused {}", it.most, it.refused)));
    all.extend(clues.full.iter().map(|it| format!("{}: {} of {} free", it.place, Bytes(it.free_bytes), Bytes(it.all_bytes))));
    if clues.core_dumped {
        all.push("the kernel wrote a core dump".into());
    }
    all.dedup();
    all.into_iter().map(|line| line.chars().take(EVIDENCE_BYTES_MAX).collect()).collect()
}

#[cfg(test)]
mod tests;
