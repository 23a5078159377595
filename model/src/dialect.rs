//! Other people's job files: recognised by what is in them, and turned into our spec with a note on
//! every field, so that nothing is dropped without a word. A new dialect is one new file and one line in [`DIALECTS`].

use serde::{Deserialize, Serialize};

use crate::{
    located::{self, Node},
    plan::{HouseRules, Plan, compile},
    spec::{JobSpec, Problem},
};

mod note;
mod openpai_common;
mod openpai_v2;

pub use note::{Fate, Note, Notes};

/// One format of job files that is not ours.
pub(crate) struct Dialect {
    /// As it stands in reports: `openpai_v2`.
    pub name: &'static str,
    /// For people: `OpenPAI v2`.
    pub title: &'static str,
    /// Whether a file is probably one of these, by its top-level keys alone. The text has been read leniently.
    pub recognises: fn(&Node) -> bool,
    pub read: fn(&Source<'_>) -> Result<(JobSpec, Notes), Vec<Problem>>,
}

/// A file of another dialect, as its reader gets it.
pub(crate) struct Source<'a> {
    /// The text as it was handed over.
    pub text: &'a str,
    pub root: &'a Node,
    pub given: &'a Given,
}

/// What the person says beside the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Given {
    /// Names the job, whatever the file says; some dialects have no name inside.
    pub name: Option<String>,
    /// Who submits; OpenPAI's files speak of them.
    pub user: Option<String>,
}

const DIALECTS: [Dialect; 1] = [openpai_v2::DIALECT];

/// A job file of any dialect, ready to be submitted.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    pub spec: JobSpec,
    pub plan: Plan,
    pub report: Report,
}

/// What became of the file, field by field. Our own files have nothing to report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Report {
    /// Empty for our own.
    pub dialect: String,
    pub notes: Vec<Note>,
}

impl Report {
    pub fn ignored(&self) -> impl Iterator<Item = &Note> {
        self.notes.iter().filter(|note| note.fate == Fate::Ignored)
    }
}

/// Reads a job file whoever's it is, or tells every problem of it at once.
pub fn translate(text: &str, given: &Given, house: &HouseRules) -> Result<Translation, Vec<Problem>> {
    let Some((dialect, root)) = recognise(text) else {
        let (spec, plan) = crate::plan::from_text(text, house)?;
        return Ok(Translation { spec, plan, report: Report::default() });
    };
    let (spec, notes) = (dialect.read)(&Source { text, root: &root, given })?;
    let plan = compile(&spec, house).map_err(|problems| notes.placed(problems))?;
    Ok(Translation { spec, plan, report: Report { dialect: dialect.name.into(), notes: notes.in_order() } })
}

fn recognise(text: &str) -> Option<(&'static Dialect, Node)> {
    let root = located::parse_lenient(text).root?;
    let dialect = DIALECTS.iter().find(|dialect| (dialect.recognises)(&root))?;
    Some((dialect, root))
}
