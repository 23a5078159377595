//! OpenPAI v2 files, good and bad, each beside what becomes of it: `x.yaml` and `x.plan.txt`.
//!
//! A file says in its first lines which rule it is for. `UPDATE_SNAPSHOTS=1 cargo test -p trainmaster-model
//! --test openpai_v2` writes the results anew; look at every difference before keeping it.

mod properties;
mod rules;

use std::{
    fs,
    path::{Path, PathBuf},
};

use model::{
    dialect::{Given, Translation, translate},
    plan::HouseRules,
};

fn corpus() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openpai_v2/corpus");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|it| it == "yaml")).collect();
    files.sort();
    files
}

fn translated(text: &str) -> Result<Translation, Vec<model::spec::Problem>> {
    let given = Given { user: Some("ann".into()), ..Given::default() };
    translate(text, &given, &HouseRules::default())
}

/// What a person is told about a file.
fn told(text: &str) -> String {
    match translated(text) {
        Ok(it) => {
            let conventions: Vec<&str> = it.plan.conventions.iter().map(|it| it.text()).collect();
            let notes: String = it.report.notes.iter().map(note).collect();
            format!("{}conventions: {}\n\n{} notes\n{notes}", it.plan, conventions.join(", "), it.report.dialect)
        }
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    }
}

fn note(note: &model::dialect::Note) -> String {
    let fate = format!("{:?}", note.fate).to_lowercase();
    format!("{}:{} {fate} {}: {}\n", note.line, note.column, note.path, note.reason)
}

#[test]
fn every_file_becomes_what_stands_beside_it() {
    let update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut wrong = Vec::new();
    for file in corpus() {
        let told = told(&fs::read_to_string(&file).unwrap());
        let beside = file.with_extension("plan.txt");
        if update {
            fs::write(&beside, &told).unwrap();
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if told != expected {
            wrong.push(format!("{}\n--- is\n{told}\n--- should be\n{expected}", file.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn there_are_many_files_and_each_says_what_it_is_for() {
    let files = corpus();
    assert!(files.len() >= 70, "{}", files.len());
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("# "), "{} does not say what it is for", file.display());
    }
}

/// Whatever is good comes through our own spec unchanged: what `trainmaster convert` writes means the same.
#[test]
fn every_good_file_can_be_written_as_our_own_and_read_again() {
    for file in corpus() {
        let Ok(it) = translated(&fs::read_to_string(&file).unwrap()) else { continue };
        let json = serde_json::to_string_pretty(&it.spec).unwrap();
        let (_, plan) = model::plan::from_text(&json, &HouseRules::default())
            .unwrap_or_else(|problems| panic!("{}: {problems:?}\n{json}", file.display()));
        assert_eq!(plan, it.plan, "{}", file.display());
    }
}
