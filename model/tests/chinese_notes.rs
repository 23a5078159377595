//! What became of the fields of other people's files, said in both languages.

use std::{fs, path::PathBuf};

use model::{
    dialect::{Given, Note, read},
    words::Lang,
};

const CORPORA: [&str; 4] = ["helm_values", "openpai_v1/good", "openpai_v1/alpha_good", "openpai_v2/corpus"];

fn files() -> Vec<PathBuf> {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = |name| fs::read_dir(tests.join(name)).expect("the corpus is there");
    let all = CORPORA.into_iter().flat_map(folder).map(|entry| entry.expect("an entry").path());
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
    let notes: Vec<Note> = files().into_iter().filter_map(translated).flat_map(|(_, report)| report.notes).collect();
    assert!(notes.len() > 500, "{} notes", notes.len());
    let mut missing: Vec<&str> = notes.iter().filter(|note| !is_in_chinese(note)).map(|note| note.reason.as_str()).collect();
    missing.sort();
    missing.dedup();
    assert_eq!(missing, [""; 0]);
}
