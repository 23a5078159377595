//! Other people's job files: recognised by what is in them, and turned into our spec with a note on
//! every field, so that nothing is dropped without a word. A new dialect is one new file and one line in [`DIALECTS`].

use serde::{Deserialize, Serialize};

use crate::{
    located::{self, Node},
    plan::{HouseRules, Plan, compile},
    spec::{self, JobSpec, Problem},
};

mod helm_values;
mod note;

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
    /// Names the job if neither the person nor the file does: made from the file's own name.
    pub otherwise: Option<String>,
    /// Who submits; OpenPAI's files speak of them.
    pub user: Option<String>,
}

const DIALECTS: &[Dialect] = &[helm_values::DIALECT];

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

    pub fn count(&self, fate: Fate) -> usize {
        self.notes.iter().filter(|note| note.fate == fate).count()
    }

    /// The field of the file that the part of our spec at `path` came from, or the nearest thing around it.
    pub fn source_of(&self, path: &str) -> Option<&Note> {
        let inward = spec::outward(path).filter(|path| !path.is_empty());
        inward.into_iter().find_map(|path| self.notes.iter().find(|note| note.became(path)))
    }

    /// The problem as one of the file, not of the spec that was made from it.
    fn place(&self, problem: Problem) -> Problem {
        match self.source_of(&problem.path) {
            Some(note) => Problem { path: note.path.clone(), line: note.line, column: note.column, ..problem },
            None => problem,
        }
    }
}

/// What a dialect is called among people; nothing for a name nobody knows.
pub fn title(name: &str) -> Option<&'static str> {
    DIALECTS.iter().find(|dialect| dialect.name == name).map(|dialect| dialect.title)
}

/// Whether the text is none of the dialects, and so a job file of our own, good or bad.
pub fn is_ours(text: &str) -> bool {
    recognise(text).is_none()
}

/// Reads a job file whoever's it is, without holding it against anyone's rules. A name that was
/// given wins over the file's.
pub fn read(text: &str, given: &Given) -> Result<(JobSpec, Report), Vec<Problem>> {
    let Some((dialect, root)) = recognise(text) else {
        return spec::read(text).map(|spec| (named(spec, given), Report::default()));
    };
    let (spec, notes) = (dialect.read)(&Source { text, root: &root, given })?;
    Ok((spec, Report { dialect: dialect.name.into(), notes: notes.in_order() }))
}

/// Reads a job file whoever's it is and plans it, or tells every problem of it at once.
pub fn translate(text: &str, given: &Given, house: &HouseRules) -> Result<Translation, Vec<Problem>> {
    if is_ours(text) {
        let (spec, plan) = crate::plan::from_text(text, house)?;
        let plan = if given.name.is_some() { compile(&named(spec.clone(), given), house)? } else { plan };
        return Ok(Translation { spec: named(spec, given), plan, report: Report::default() });
    }
    let (spec, report) = read(text, given)?;
    let placed = |problems: Vec<Problem>| spec::in_order(problems.into_iter().map(|it| report.place(it)).collect());
    let plan = compile(&spec, house).map_err(placed)?;
    Ok(Translation { spec, plan, report })
}

fn named(spec: JobSpec, given: &Given) -> JobSpec {
    JobSpec { name: given.name.clone().unwrap_or(spec.name), ..spec }
}

fn recognise(text: &str) -> Option<(&'static Dialect, Node)> {
    let root = located::parse(text).root.or_else(|| helm_values::crooked(text))?;
    let dialect = DIALECTS.iter().find(|dialect| (dialect.recognises)(&root))?;
    Some((dialect, root))
}
