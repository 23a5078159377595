//! `trainmaster login` from a home that knows nothing of the server.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use crate::house::{House, binary, text};

fn from(home: &Path, args: &[&str], typed: &str) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env_clear().env("HOME", home).current_dir(home);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Who does not want to know may have closed the door already.
    let _ = child.stdin.take().unwrap().write_all(typed.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn whoever_has_the_token_logs_in_once_and_is_known_from_then_on() {
    let house = House::new();
    let job = house.submit_line("seen-from-afar", "true");
    house.wait_for(&job, "succeeded");
    let home = tempfile::tempdir().unwrap();
    let list = || from(home.path(), &["list", "--all"], "");
    assert_eq!(list().status.code(), Some(4), "nothing runs here");

    let done = from(home.path(), &["login", &house.url()], &format!("{}\n", house.token()));
    assert_eq!(done.status.code(), Some(0), "{}", text(&done.stderr));
    assert!(text(&done.stdout).starts_with(&format!("logged in to {} as ", house.url())), "{}", text(&done.stdout));
    assert!(!text(&done.stdout).contains(&house.token()));
    let listed = list();
    assert_eq!(listed.status.code(), Some(0), "{}", text(&listed.stderr));
    assert!(text(&listed.stdout).contains("seen-from-afar"), "{}", text(&listed.stdout));
}

#[test]
fn a_wrong_token_is_refused_and_nothing_of_it_is_kept() {
    let house = House::new();
    let home = tempfile::tempdir().unwrap();
    let wrong: String = house.token().chars().rev().collect();
    for typed in [wrong.as_str(), "", "two words"] {
        let done = from(home.path(), &["login", &house.url()], &format!("{typed}\n"));
        assert_eq!((done.status.code(), text(&done.stdout)), (Some(2), String::new()), "{typed:?}: {}", text(&done.stderr));
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 0, "{typed:?}");
    }
}
