//! The catalogue: every cause we know of a failure, and what its operator knows besides.

use std::{collections::BTreeSet, sync::LazyLock};

use regex::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};

use super::{RetryClass, template};
use crate::{task::Whose, wire::CatalogueEntry, words::Words};

/// The first that fits is the cause, so what is exact stands before what is general.
#[derive(Clone, Debug, Default)]
pub struct Catalogue {
    entries: Vec<Entry>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub id: String,
    pub when: When,
    pub retry: RetryClass,
    /// What it is, without particulars.
    pub title: Words,
    /// What happened, with gaps for particulars.
    pub says: Words,
    /// What to do.
    pub advice: Words,
}

impl Entry {
    pub fn view(&self) -> CatalogueEntry {
        let Entry { id, title, says, advice, retry, when: _ } = self.clone();
        CatalogueEntry { id, title, says, advice, retry }
    }
}

/// All that is given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct When {
    /// The program's own code.
    pub exit: Option<Vec<i32>>,
    /// Also where a shell shows it as 128 and more.
    pub signal: Option<Vec<i32>>,
    pub cause: Option<CauseKind>,
    pub whose: Option<Whose>,
    pub fact: Option<Fact>,
    /// Our own words about what could not be started.
    pub why: Option<Pattern>,
    /// The exception of the last traceback.
    pub exception: Option<Pattern>,
    /// The last lines of the log.
    pub text: Option<Pattern>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CauseKind {
    Exited,
    Signaled,
    OutOfMemory,
    MachineMemory,
    OverDisk,
    Stopped,
    CannotStart,
    SetupFailed,
    Unknown,
}

/// What was measured, not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fact {
    ShmFull,
    DiskFull,
    ProcessLimit,
}

/// A regular expression that takes time in proportion to what it reads, whoever wrote it.
#[derive(Clone, Debug)]
pub struct Pattern(pub Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        const COMPILED_BYTES_MAX: usize = 1 << 20;
        let text = String::deserialize(deserializer)?;
        let built = RegexBuilder::new(&text).size_limit(COMPILED_BYTES_MAX).multi_line(true).build();
        built.map(Self).map_err(serde::de::Error::custom)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    cause: Vec<toml::Value>,
}

/// Every problem of a file at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("\n"))]
pub struct BadCatalogue(pub Vec<String>);

const OURS: [&str; 6] = [
    include_str!("catalogue/ours.toml"),
    include_str!("catalogue/devices.toml"),
    include_str!("catalogue/surroundings.toml"),
    include_str!("catalogue/python.toml"),
    include_str!("catalogue/shells.toml"),
    include_str!("catalogue/signals.toml"),
];

/// What every entry may name beside what its own pattern finds.
const COMMON: [&str; 17] = [
    "code",
    "signal",
    "number",
    "peak",
    "limit",
    "kills",
    "used",
    "why",
    "exception",
    "frame",
    "place",
    "free",
    "all",
    "processes",
    "refused",
    "kernel_log",
    "line",
];

const ENTRIES_MAX: usize = 1_000;

impl Catalogue {
    /// The one that every server has.
    pub fn ours() -> &'static Self {
        static OWN: LazyLock<Catalogue> =
            LazyLock::new(|| Catalogue { entries: OURS.iter().flat_map(|text| read(text).expect("our own catalogue is sound")).collect() });
        &OWN
    }

    /// The operator's own entries come first, and may have the id of one of ours, which they then replace.
    pub fn with(text: &str) -> Result<Self, BadCatalogue> {
        let theirs = read(text)?;
        let replaced: BTreeSet<&str> = theirs.iter().map(|entry| entry.id.as_str()).collect();
        let kept: Vec<Entry> = Self::ours().entries.iter().filter(|entry| !replaced.contains(entry.id.as_str())).cloned().collect();
        Ok(Self { entries: [theirs, kept].concat() })
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }
}

fn read(text: &str) -> Result<Vec<Entry>, BadCatalogue> {
    let file: File = toml::from_str(text).map_err(|error| BadCatalogue(vec![error.to_string().trim_end().to_owned()]))?;
    if file.cause.len() > ENTRIES_MAX {
        return Err(BadCatalogue(vec![format!("there are {} causes; {ENTRIES_MAX} are the most", file.cause.len())]));
    }
    let (mut entries, mut problems, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (number, value) in (1..).zip(file.cause) {
        let name = value.get("id").and_then(|id| id.as_str()).map_or_else(|| format!("cause {number}"), |id| format!("cause `{id}`"));
        match value.try_into::<Entry>() {
            Ok(entry) => {
                problems.extend(wrong_with(&entry).into_iter().map(|what| format!("{name}: {what}")));
                if !seen.insert(entry.id.clone()) {
                    problems.push(format!("{name} is there twice"));
                }
                entries.push(entry);
            }
            Err(error) => problems.push(format!("{name}: {}", error.to_string().trim_end())),
        }
    }
    if problems.is_empty() { Ok(entries) } else { Err(BadCatalogue(problems)) }
}

fn wrong_with(entry: &Entry) -> Vec<String> {
    let mut wrong = Vec::new();
    let is_word =
        |it: &str| !it.is_empty() && it.len() <= 64 && it.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '-');
    if !is_word(&entry.id) {
        wrong.push("its id must be of small letters, digits and `-`".into());
    }
    let When { exit, signal, cause, whose: _, fact, why, exception, text } = &entry.when;
    if exit.is_none() && signal.is_none() && cause.is_none() && fact.is_none() && why.is_none() && exception.is_none() && text.is_none() {
        wrong.push("`when` is empty, so it would be the cause of everything".into());
    }
    for (field, words) in [("title", &entry.title), ("says", &entry.says), ("advice", &entry.advice)] {
        if words.en.is_empty() {
            wrong.push(format!("{field}.en is empty"));
        }
    }
    let patterns = [why, exception, text].into_iter().flatten();
    let groups: Vec<&str> = patterns.flat_map(|pattern| pattern.0.capture_names().flatten()).collect();
    for name in [&entry.says.en, &entry.says.zh].into_iter().flat_map(|text| template::names(text)) {
        if !COMMON.contains(&name) && !groups.contains(&name) {
            wrong.push(format!("`{{{name}}}` in `says` is filled by nothing; name a group of the pattern so"));
        }
    }
    wrong
}
