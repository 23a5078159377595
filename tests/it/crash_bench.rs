//! The crash bench at a tenth of its size, with another seed each time; a failure prints the seed to try again with.

use std::{path::Path, process::Command};

use crate::{
    house::{binary, text},
    place::has_program,
};

#[test]
fn nothing_is_lost_through_random_kills() {
    if !has_program("python3", "run the crash bench") {
        return;
    }
    let bench = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/crash.py");
    let mut command = Command::new("python3");
    command.arg(bench).args(["--jobs", "2000", "--kills", "50", "--tasks", "5", "--bin", binary()]);
    let out = command.output().unwrap();
    let said = text(&out.stdout);
    assert!(out.status.success(), "{said}\n{}", text(&out.stderr));
    let verdict = said.lines().last().unwrap_or_default();
    assert!(verdict.starts_with("verdict: nothing was lost (seed "), "{said}");
    assert_eq!(said.matches("\nkept ").count(), 3, "{said}");
    assert!(said.contains("2000 jobs: 0 lost, 0 duplicated, 0 ids reused"), "{said}");
}
