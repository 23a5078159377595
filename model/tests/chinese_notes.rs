//! What became of the fields of other people's files, and what is wrong with them, said in both languages.

mod chinese;

use std::{fs, path::PathBuf};

use model::{
    dialect::{Given, Note, read, translate},
    plan::HouseRules,
    words::{Lang, Words},
};

const CORPORA: [&str; 4] = ["helm_values", "openpai_v1/good", "openpai_v1/alpha_good", "openpai_v2/corpus"];
const WITH_BAD_ONES: [&str; 4] = ["helm_values", "openpai_v1/bad", "openpai_v1/alpha_bad", "openpai_v2/corpus"];

fn files(corpora: [&str; 4]) -> Vec<PathBuf> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = |name| fs::read_dir(tests.join(name)).expect("the corpus is there");
    let all = corpora.into_iter().flat_map(folder).map(|entry| entry.expect("an entry").path());
    all.filter(|path| path.extension().is_some_and(|ending| ending == "yaml" || ending == "json")).collect()
}

/// Of a bare path, such as `roles.worker.tasks`, or one with a number, there is nothing to be translated.
fn is_in_chinese(note: &Note) -> bool {
    let is_path = !note.reason.split(' ').skip(1).any(|word| word.contains(char::is_alphabetic));
    let is_chinese = |c: char| ('\u{4e00}'..='\u{9fff}').contains(&c);
    is_path || note.words().say(Lang::Zh).contains(is_chinese)
}

#[test]
fn every_note_is_said_in_chinese_too() {
    let given = Given { otherwise: Some("digits".into()), ..Given::default() };
    let translated = |path: PathBuf| read(&fs::read_to_string(path).expect("a text"), &given).ok();
    let notes: Vec<Note> = files(CORPORA).into_iter().filter_map(translated).flat_map(|(_, report)| report.notes).collect();
    assert!(notes.len() > 500, "{} notes", notes.len());
    let mut missing: Vec<&str> = notes.iter().filter(|note| !is_in_chinese(note)).map(|note| note.reason.as_str()).collect();
    missing.sort();
    missing.dedup();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn every_problem_is_said_in_chinese_too() {
    let text = |path: PathBuf| fs::read_to_string(path).expect("a text");
    let refused = |text: String| translate(&text, &Given::default(), &HouseRules::default()).err().unwrap_or_default();
    let problems: Vec<_> = files(WITH_BAD_ONES).into_iter().map(text).flat_map(refused).collect();
    assert!(problems.len() > 150, "{} problems", problems.len());
    let said = problems.iter().flat_map(|problem| std::iter::once(&problem.message).chain(problem.hint.as_deref()));
    let missing: Vec<&Words> = said.filter(|words| !chinese::is_chinese(words)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
}
