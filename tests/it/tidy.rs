//! The house rules that a machine can hold: who may use whom, how large a file may be, what is documented.

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Which of our own modules each folder of `src/` may use. `model` may be used by everyone.
const MAY_USE: &[(&str, &[&str])] = &[
    ("api", &["code", "control", "crash", "error", "meter", "metrics", "run_token", "rundir", "seal", "store", "usage", "volumes"]),
    ("cli", &["client", "config", "engine", "error", "server", "supervisor", "run_token"]),
    ("code", &["crash"]),
    ("control", &["code", "config", "crash", "engine", "identity", "meter", "run_token", "rundir", "seal", "store"]),
    ("engine", &["code", "config", "crash", "identity", "metrics", "rundir", "supervisor"]),
    ("metrics", &["crash", "rundir", "volumes"]),
    ("porter", &["code", "config", "crash", "run_token", "rundir", "volumes"]),
    ("store", &["crash", "identity", "meter", "seal"]),
    ("supervisor", &["client", "code", "config", "crash", "identity", "porter", "rundir", "usage"]),
    ("usage", &["rundir"]),
    ("volumes", &["crash", "run_token"]),
];

fn rust_files(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let (mut files, mut folders) = (Vec::new(), vec![root]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|end| end == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn shown(path: &Path) -> String {
    path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().display().to_string()
}

#[test]
fn every_folder_uses_only_what_it_may() {
    let mut wrong = Vec::new();
    for (folder, allowed) in MAY_USE {
        let files = rust_files(&format!("src/{folder}"));
        assert!(!files.is_empty(), "{folder} has no files");
        for path in files {
            for (number, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                for used in modules_used(line) {
                    if used != *folder && !allowed.contains(&used.as_str()) {
                        wrong.push(format!("{}:{}: {folder} may not use {used}", shown(&path), number + 1));
                    }
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The modules a line names as `crate::module`.
fn modules_used(line: &str) -> Vec<String> {
    let code = line.split("//").next().unwrap_or_default();
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_ascii_alphanumeric() || "_!".contains(*c)).collect::<String>())
        .filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase()) && !name.ends_with('!'))
        .collect()
}

#[test]
fn no_file_is_too_long_to_read() {
    const LINES_MAX: usize = 500;
    let long: Vec<String> = ["src", "model/src", "model/tests", "tests"]
        .iter()
        .flat_map(|folder| rust_files(folder))
        .map(|path| (fs::read_to_string(&path).unwrap().lines().count(), path))
        .filter(|(lines, _)| *lines > LINES_MAX)
        .map(|(lines, path)| format!("{} has {lines} lines", shown(&path)))
        .collect();
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn every_file_is_part_of_the_program() {
    let mut lost = Vec::new();
    for path in rust_files("src").into_iter().chain(rust_files("model/src")) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if ["lib", "main", "mod"].contains(&stem) {
            continue;
        }
        let folder = path.parent().unwrap();
        let parents = [folder.join("mod.rs"), folder.join("lib.rs"), folder.with_extension("rs")];
        let named = parents.iter().filter_map(|parent| fs::read_to_string(parent).ok()).any(|text| text.contains(&format!("mod {stem};")));
        if !named {
            lost.push(shown(&path));
        }
    }
    assert!(lost.is_empty(), "no mod line names {}", lost.join(", "));
}

#[test]
fn every_error_code_has_its_paragraph() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(root.join("src/error/face.rs")).unwrap();
    let codes: Vec<&str> = source.split("(S::").skip(1).filter_map(|rest| rest.split('"').nth(1)).collect();
    assert!(codes.len() > 15, "only {} codes were found", codes.len());
    for page in ["docs/errors.md", "docs/zh-CN/errors.md"] {
        let documented = fs::read_to_string(root.join(page)).unwrap();
        let missing: Vec<&str> = codes.iter().copied().filter(|code| !documented.contains(&format!("### `{code}`"))).collect();
        assert!(missing.is_empty(), "{page} says nothing of {}", missing.join(", "));
    }
}
