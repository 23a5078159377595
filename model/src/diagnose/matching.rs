//! Whether an entry of the catalogue fits an ending, and what it read there.

use std::collections::BTreeMap;

use regex::Regex;

use super::catalogue::{CauseKind, Entry, Fact};
use crate::{clues::Clues, task::Cause};

/// What an entry found.
#[derive(Default)]
pub struct Matched {
    pub groups: BTreeMap<String, String>,
    /// Of the log or of our own words.
    pub line: Option<String>,
}

/// Every condition of an entry must hold.
pub fn matches(entry: &Entry, cause: &Cause, clues: &Clues) -> Option<Matched> {
    let when = &entry.when;
    let holds = when.exit.as_ref().is_none_or(|codes| own_code(cause).is_some_and(|code| codes.contains(&code)))
        && when.signal.as_ref().is_none_or(|signals| signal_of(cause).is_some_and(|signal| signals.contains(&signal)))
        && when.cause.is_none_or(|kind| kind == kind_of(cause))
        && when.whose.is_none_or(|whose| cause.whose() == Some(whose))
        && when.fact.is_none_or(|fact| is_fact(fact, clues));
    let mut matched = Matched::default();
    let found = holds
        && when.why.as_ref().is_none_or(|pattern| read(&pattern.0, why_of(cause), &mut matched))
        && when.exception.as_ref().is_none_or(|pattern| exceptions(clues).iter().any(|it| read(&pattern.0, it, &mut matched)))
        && when.text.as_ref().is_none_or(|pattern| read(&pattern.0, &text_of(clues), &mut matched));
    found.then_some(matched)
}

/// Whether an entry has looked at more than how the process ended.
pub fn looks_inside(entry: &Entry) -> bool {
    entry.when.exception.is_some() || entry.when.text.is_some() || entry.when.fact.is_some()
}

/// The last place where the pattern fits: what is said last is nearest to the end.
fn read(pattern: &Regex, text: &str, matched: &mut Matched) -> bool {
    let Some(found) = pattern.captures_iter(text).last() else { return false };
    let names = pattern.capture_names().flatten();
    let groups = names.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().trim().to_owned())));
    matched.groups.extend(groups.filter(|(_, value)| !value.is_empty()));
    let start = found.get_match().start();
    let from = text[..start].rfind('\n').map_or(0, |at| at + 1);
    matched.line = text[from..].lines().next().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty());
    true
}

/// A program that does not even begin prints its exception without a traceback, at the end.
fn exceptions(clues: &Clues) -> Vec<String> {
    const LINES: usize = 5;
    match &clues.traceback {
        Some(traceback) => vec![traceback.exception.clone()],
        None => clues.tail.lines().rev().take(LINES).map(str::to_owned).collect(),
    }
}

fn text_of(clues: &Clues) -> String {
    match &clues.traceback {
        // Long output after it may have pushed it out of the tail.
        Some(traceback) if !clues.tail.contains(&traceback.exception) => format!("{}\n{}", traceback.exception, clues.tail),
        Some(_) | None => clues.tail.clone(),
    }
}

fn why_of(cause: &Cause) -> &str {
    match cause {
        Cause::CannotStart { why, .. } | Cause::Unknown { why } => why,
        Cause::Exited { .. }
        | Cause::Signaled { .. }
        | Cause::OutOfMemory { .. }
        | Cause::MachineMemory { .. }
        | Cause::OverDisk { .. }
        | Cause::Stopped { .. }
        | Cause::SetupFailed { .. } => "",
    }
}

fn own_code(cause: &Cause) -> Option<i32> {
    match cause {
        Cause::Exited { code } => Some(*code),
        Cause::Signaled { .. }
        | Cause::OutOfMemory { .. }
        | Cause::MachineMemory { .. }
        | Cause::OverDisk { .. }
        | Cause::Stopped { .. }
        | Cause::CannotStart { .. }
        | Cause::SetupFailed { .. }
        | Cause::Unknown { .. } => None,
    }
}

/// Also of a child whose end a shell passes on as 128 and more.
pub fn signal_of(cause: &Cause) -> Option<i32> {
    match cause {
        Cause::Signaled { signal } => Some(*signal),
        Cause::Exited { code } => Some(code - 128).filter(|signal| (1..=31).contains(signal)),
        Cause::OutOfMemory { .. }
        | Cause::MachineMemory { .. }
        | Cause::OverDisk { .. }
        | Cause::Stopped { .. }
        | Cause::CannotStart { .. }
        | Cause::SetupFailed { .. }
        | Cause::Unknown { .. } => None,
    }
}

fn kind_of(cause: &Cause) -> CauseKind {
    match cause {
        Cause::Exited { .. } => CauseKind::Exited,
        Cause::Signaled { .. } => CauseKind::Signaled,
        Cause::OutOfMemory { .. } => CauseKind::OutOfMemory,
        Cause::MachineMemory { .. } => CauseKind::MachineMemory,
        Cause::OverDisk { .. } => CauseKind::OverDisk,
        Cause::Stopped { .. } => CauseKind::Stopped,
        Cause::CannotStart { .. } => CauseKind::CannotStart,
        Cause::SetupFailed { .. } => CauseKind::SetupFailed,
        Cause::Unknown { .. } => CauseKind::Unknown,
    }
}

fn is_fact(fact: Fact, clues: &Clues) -> bool {
    let is_shared_memory = |place: &str| place == "/dev/shm";
    match fact {
        Fact::ShmFull => clues.full.iter().any(|it| is_shared_memory(&it.place)),
        Fact::DiskFull => clues.full.iter().any(|it| !is_shared_memory(&it.place)),
        Fact::ProcessLimit => clues.processes.is_some_and(|it| it.refused > 0),
    }
}
