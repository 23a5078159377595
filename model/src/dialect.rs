//! Other people's job files: recognised by what is in them, and turned into our spec with a note on
//! every field, so that nothing is dropped without a word. A new dialect is one new file and one line in [`DIALECTS`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{
    located::{self, Node, Parsed},
    plan::{HouseRules, Plan, compile},
    spec::{JobSpec, Problem, in_order, outward},
};

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
    /// Whether a file is probably one of these, by its top-level keys alone. The text has been read leniently.
    pub recognises: fn(&Node) -> bool,
    pub read: fn(&Source<'_>) -> Reading,
}

/// Our spec with what became of each field, or every problem of the file.
pub(crate) type Reading = Result<(JobSpec, Notes), Vec<Problem>>;

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

const DIALECTS: [Dialect; 3] = [openpai_v2_alpha::DIALECT, openpai_v2::DIALECT, openpai_v1::DIALECT];

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
    let Some(Recognised { dialect, root, problems }) = recognise(text)? else {
        let (spec, plan) = crate::plan::from_text(text, house)?;
        return Ok(Translation { spec, plan, report: Report::default() });
    };
    let (spec, notes) = match (dialect.read)(&Source { text, root: &root, given }) {
        Ok(read) if problems.is_empty() => read,
        Ok(_) => return Err(in_order(problems)),
        Err(found) => return Err(in_order([problems, found].concat())),
    };
    let notes = notes.in_order();
    let plan = compile(&spec, house).map_err(|problems| as_in_the_file(problems, &notes))?;
    Ok(Translation { spec, plan, report: Report { dialect: dialect.name.into(), notes } })
}

struct Recognised {
    dialect: &'static Dialect,
    root: Node,
    /// What is wrong with the file as YAML or JSON.
    problems: Vec<Problem>,
}

/// Whose file it is. An error if it can be nobody's, because it would be JSON but for one slip.
fn recognise(text: &str) -> Result<Option<Recognised>, Vec<Problem>> {
    let loose = loose_json::loosened(text);
    let lenient = located::parse_lenient(&loose.text);
    let known = |root: &Option<Node>| root.as_ref().and_then(|root| DIALECTS.iter().find(|dialect| (dialect.recognises)(root)));
    if lenient.root.is_none() && known(&located::parse(&loose.text).root).is_some() {
        // Its aliases were too much; the strict reader would speak of our own format.
        return Err(lenient.problems);
    }
    let dialect = known(&lenient.root);
    // The first of these formats was JSON, which has no aliases; all others were read by parsers that know the whole of YAML.
    let is_json = dialect.is_some_and(|dialect| dialect.name == openpai_v1::DIALECT.name);
    let Parsed { root, problems } = if is_json { located::parse(&loose.text) } else { lenient };
    // Where quotes or a comment were left open, whatever else is found follows from that.
    let problems = if loose.problems.is_empty() { problems } else { loose.problems };
    match (dialect, root) {
        (Some(dialect), Some(root)) => Ok(Some(Recognised { dialect, root, problems })),
        // Our own files have no comments with `//`; about those the strict reader would tell the wrong thing.
        (_, None) if loose.text != text => Err(problems),
        (Some(_) | None, None) | (None, Some(_)) => Ok(None),
    }
}

/// The plan speaks of our spec. The notes know which field of the file went there.
fn as_in_the_file(problems: Vec<Problem>, notes: &[Note]) -> Vec<Problem> {
    let fields: BTreeMap<&str, &Note> = notes.iter().rev().filter_map(|note| Some((note.became()?, note))).collect();
    let placed = |problem: Problem| {
        let field = outward(&problem.path).find_map(|path| fields.get(path));
        match field {
            Some(note) => Problem { path: note.path.clone(), line: note.line, column: note.column, ..problem },
            None => problem,
        }
    };
    in_order(problems.into_iter().map(placed).collect())
}
