//! OpenPAI's v1 and v2-alpha job files. Each file of the corpus stands beside what it becomes: the plan with a note on
//! every field, or the problems. A file's name begins with the section of our notes on OpenPAI that it is about (`1_4` is
//! completion and retry, `h12` is a hazard). `UPDATE_SNAPSHOTS=1` writes the results anew.

use std::{fs, path::PathBuf};

use model::{
    dialect::{Fate, Given, Report, translate},
    plan::HouseRules,
};

mod mutations;
mod rules;

const CORPUS: [(&str, usize); 4] = [("good", 49), ("bad", 24), ("alpha_good", 11), ("alpha_bad", 10)];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/openpai_v1").join(name)
}

/// The job files of a folder, in order of their names.
fn files(name: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(folder(name)).expect("the folder is there").map(|entry| entry.expect("a file of the folder").path());
    let mut files: Vec<PathBuf> = all.filter(|path| path.extension().is_some_and(|it| it == "json" || it == "yaml")).collect();
    files.sort();
    files
}

fn by_ann() -> Given {
    Given { name: None, otherwise: None, user: Some("ann".into()) }
}

fn noted(report: &Report) -> String {
    let fate = |fate| match fate {
        Fate::Kept => "kept",
        Fate::Changed => "changed",
        Fate::Ignored => "ignored",
    };
    let note = |it: &model::dialect::Note| format!("{}:{} {}: {}: {}\n", it.line, it.column, it.path, fate(it.fate), it.reason);
    format!("{}\n{}", report.dialect, report.notes.iter().map(note).collect::<String>())
}

/// What a person would see, and whether the job can run.
fn told(text: &str) -> (bool, String) {
    match translate(text, &by_ann(), &HouseRules::default()) {
        Ok(it) => (true, format!("{}\n{}", it.plan, noted(&it.report))),
        Err(problems) => (false, problems.iter().map(|problem| format!("{problem}\n")).collect()),
    }
}

fn check(folder: &str, least: usize) {
    let files = files(folder);
    assert!(files.len() >= least, "{folder} has {} files", files.len());
    for file in files {
        let (runs, now) = told(&fs::read_to_string(&file).expect("a file that can be read"));
        assert_eq!(runs, folder.ends_with("good"), "{}:\n{now}", file.display());
        let golden = file.with_extension("plan.txt");
        if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
            fs::write(&golden, &now).expect("the corpus can be written");
        }
        let kept = fs::read_to_string(&golden).unwrap_or_default();
        assert!(kept == now, "{} is now:\n{now}", golden.display());
    }
}

#[test]
fn every_file_of_the_corpus_becomes_what_stands_beside_it() {
    for (folder, least) in CORPUS {
        check(folder, least);
    }
}
