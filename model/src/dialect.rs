//! Other people's job files: recognised by what is in them, and turned into our spec with a note on
//! every field, so that nothing is dropped without a word. A new dialect is one new file and one line in [`DIALECTS`].

use serde::{Deserialize, Serialize};

use crate::{
    algorithm::Kept,
    located::{self, Entry, Node, Parsed, Value},
    plan::{HouseRules, Plan, compile, compile_with, from_text_with},
    spec::{self, JobSpec, Problem, in_order},
};

mod helm_values;
mod loose_json;
mod note;
mod openpai_common;
mod openpai_v1;
mod openpai_v2;
mod openpai_v2_alpha;

pub use note::{Fate, Note, Notes};

/// One format of job files that is not ours.
pub(crate) struct Dialect {
    /// As it stands in reports: `openpai_v2`.
    pub name: &'static str,
    /// For people: `OpenPAI v2`.
    pub title: &'static str,
    /// The text as a tree, as leniently as those who wrote such files were treated.
    pub parse: fn(&str) -> Parsed,
    /// Whether a file is probably one of these, by its top-level keys alone.
    pub recognises: fn(&Node) -> bool,
    pub read: fn(&Source<'_>) -> Reading,
}

/// Our spec with what became of each field, or every problem of the file.
pub(crate) type Reading = Result<(JobSpec, Notes), Vec<Problem>>;

/// A file of another dialect, as its reader gets it.
pub(crate) struct Source<'a> {
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

const DIALECTS: [Dialect; 4] = [openpai_v2::DIALECT, openpai_v2_alpha::DIALECT, openpai_v1::DIALECT, helm_values::DIALECT];

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
    matches!(recognise(text), Ok(None))
}

/// The file as a tree, as whoever reads it sees it; nothing if nobody can.
pub(crate) fn tree(text: &str) -> Option<Node> {
    match recognise(text) {
        Ok(Some(theirs)) => Some(theirs.root),
        Ok(None) => located::parse(text).root,
        Err(_) => None,
    }
}

/// Reads a job file whoever's it is, without holding it against anyone's rules. A name that was
/// given wins over the file's.
pub fn read(text: &str, given: &Given) -> Result<(JobSpec, Report), Vec<Problem>> {
    let Some(Recognised { dialect, root, problems }) = recognise(text)? else {
        return spec::read(text).map(|spec| (named(spec, given), Report::default()));
    };
    match (dialect.read)(&Source { root: &root, given }) {
        Ok((spec, notes)) if problems.is_empty() => Ok((spec, Report { dialect: dialect.name.into(), notes: notes.in_order() })),
        Ok(_) => Err(in_order(problems)),
        Err(found) => Err(in_order([problems, found].concat())),
    }
}

/// Reads a job file whoever's it is and plans it, or tells every problem of it at once.
pub fn translate(text: &str, given: &Given, house: &HouseRules) -> Result<Translation, Vec<Problem>> {
    translate_with(text, given, (house, None))
}

/// The same with the algorithm that the file names. The spec names the version that was taken, so that it means the same for ever.
pub fn translate_with(text: &str, given: &Given, (house, kept): (&HouseRules, Option<&Kept>)) -> Result<Translation, Vec<Problem>> {
    if is_ours(text) {
        let pin = |spec: &mut JobSpec| kept.into_iter().for_each(|kept| kept.pin(spec));
        let (spec, plan) = from_text_with(text, (house, kept), pin)?;
        let plan = if given.name.is_some() { compile_with(&named(spec.clone(), given), house, kept)? } else { plan };
        return Ok(Translation { spec: named(spec, given), plan, report: Report::default() });
    }
    let (spec, report) = read(text, given)?;
    let placed = |problems: Vec<Problem>| in_order(problems.into_iter().map(|it| report.place(it)).collect());
    let plan = compile(&spec, house).map_err(placed)?;
    Ok(Translation { spec, plan, report })
}

fn named(spec: JobSpec, given: &Given) -> JobSpec {
    JobSpec { name: given.name.clone().unwrap_or(spec.name), ..spec }
}

/// Whose file it is, and what is wrong with it as YAML or JSON.
struct Recognised {
    dialect: &'static Dialect,
    root: Node,
    problems: Vec<Problem>,
}

/// An error if the file can be nobody's, because it would be JSON but for one slip.
fn recognise(text: &str) -> Result<Option<Recognised>, Vec<Problem>> {
    let strict = located::parse(text).root;
    // Our own files are the most frequent, and nobody else's have `roles` or `algorithm`.
    let is_own = |entry: &Entry| matches!(entry.key.as_str(), "roles" | "algorithm");
    if strict.as_ref().is_some_and(|root| matches!(&root.value, Value::Map(entries) if entries.iter().any(is_own))) {
        return Ok(None);
    }
    for dialect in &DIALECTS {
        let Parsed { root, problems } = (dialect.parse)(text);
        if let Some(root) = root.filter(dialect.recognises) {
            return Ok(Some(Recognised { dialect, root, problems }));
        }
    }
    // One whose aliases are too much was read by nobody; the strict reader would speak of our own format.
    let theirs = strict.is_some_and(|root| DIALECTS.iter().any(|dialect| (dialect.recognises)(&root)));
    // Our own files have no comments with `//`; about those it would tell the wrong thing.
    let Parsed { root, problems } = loose_json::parse(text);
    if !problems.is_empty() && (theirs || (root.is_none() && loose_json::has_comments(text))) { Err(problems) } else { Ok(None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_has_a_reason() {
        for text in [
            "",
            "\u{feff}",
            "\u{feff}# nothing else",
            "# nothing else",
            "// nothing else",
            "{ // never closed",
            "{\"jobName\": 1 /*",
            "\u{feff}{\r\n  \"jobName\": \"bom\", // fir0askRol: \"x\", \"image\"\r\n}\r\n",
            "worker: {number: 4, gpuCoun 0}\nps: {nt: s0p}\n: {number: 0}\n",
        ] {
            let refused = translate(text, &Given::default(), &HouseRules::default());
            assert!(refused.is_err_and(|problems| !problems.is_empty()), "{text:?}");
        }
    }
}
