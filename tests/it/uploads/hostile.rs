//! Lists that mean harm: none is taken, and nothing outside the directory of uploads changes.

use std::{collections::BTreeMap, fs, path::Path};

use proptest::prelude::*;
use trainmaster::client::{Call, ClientError};

use crate::house::House;

const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/// Everything in a directory that is no database, no upload and no reading of the machine, with what is in it.
fn seen(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut dirs = vec![dir.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let path = entry.path();
            match path.file_name().unwrap().to_str().unwrap_or_default() {
                "uploads" | "usage" => {}
                name if name.starts_with("store.db") => {}
                _ if path.is_dir() => dirs.push(path),
                _ => drop(all.insert(path.display().to_string(), fs::read(&path).unwrap_or_default())),
            }
        }
    }
    all
}

fn escaped(text: &str) -> String {
    text.bytes()
        .map(|byte| if byte.is_ascii_graphic() && byte != b'%' { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// Paths that lead elsewhere, or would if someone were careless.
fn bad_paths() -> Vec<String> {
    let outs = [
        "..",
        "../canary",
        "../../canary",
        "/canary",
        "//canary",
        "/",
        ".",
        "./canary",
        "",
        "a/../../canary",
        "a/..",
        "a/./b",
        "a//b",
        "a/",
        "\0",
        "a\0b",
    ];
    let below = ["", "a/", "a/b/", "x/../"];
    let mut all: Vec<String> = outs.iter().flat_map(|out| below.iter().map(move |below| format!("{below}{out}"))).collect();
    // A harmless name below a harmless directory is the one that does not belong here.
    all.retain(|path| !["a/canary"].contains(&path.as_str()));
    all.extend((0..40).map(|deep| format!("{}canary", "../".repeat(deep + 1))));
    all.extend([".git/config", "a/.GIT/hooks/x", ".git"].map(String::from));
    all.push("x".repeat(300));
    all.push("x/".repeat(150) + "y");
    all
}

fn hostile() -> Vec<String> {
    let list = |lines: String| format!("trainmaster bundle 1\n{lines}");
    let mut all: Vec<String> = bad_paths().iter().map(|path| list(format!("file {EMPTY} 0 {}\n", escaped(path)))).collect();
    all.extend(bad_paths().iter().map(|path| list(format!("link train.py {}\n", escaped(path)))));
    let targets = ["/", "/etc/passwd", "..", "../..", "a/../..", "b/../../etc", "", "\0", "./../x", "link"];
    for (target, path) in targets.iter().flat_map(|target| ["link", "../link", "link/"].map(|path| (target, path))) {
        all.push(list(format!("link {} {}\n", escaped(target), escaped(path))));
    }
    all.push(list(format!("link .. a\nfile {EMPTY} 0 a/canary\n")));
    all.push(list(format!("link b a\nfile {EMPTY} 0 a/canary\n")));
    all.push(list(format!("file {EMPTY} 0 a\nfile {EMPTY} 0 a\n")));
    all.push(list(format!("file {EMPTY} 0 a\nfile {EMPTY} 0 a/b\n")));
    all.push(list("link x/l/../../.. k\nlink .. x/l\n".into()));
    all.push(list(format!("file {EMPTY} 18446744073709551615 a\nfile {EMPTY} 18446744073709551615 b\n")));
    all.push(list(format!("file {EMPTY} -1 a\n")));
    all.push(list(format!("file ../../canary 0 a\nfile {EMPTY} 0 b\n")));
    all.extend(["device", "fifo", "dir", "hard"].map(|kind| list(format!("{kind} {EMPTY} 0 a\n"))));
    all.push(list("x".repeat(1 << 20)));
    all
}

#[test]
fn no_list_that_means_harm_is_taken_and_nothing_outside_is_touched() {
    let house = House::new();
    let above = house.data().parent().unwrap().to_owned();
    fs::write(above.join("canary"), "untouched").unwrap();
    fs::write(house.data().join("canary"), "untouched").unwrap();
    let before = seen(&house.data());
    let lists = hostile();
    assert!(lists.len() > 200, "only {} lists", lists.len());
    for list in &lists {
        match house.call(Call::post("/api/v1/uploads", list.clone())) {
            Err(ClientError::Refused(status, _)) => assert!(status.is_client_error(), "{list:.200}: {status}"),
            other => panic!("{list:.200}: {other:?}"),
        }
    }
    assert_eq!(seen(&house.data()), before);
    assert_eq!(fs::read_to_string(above.join("canary")).unwrap(), "untouched");
    assert_eq!(fs::read_dir(house.data().join("uploads/pending")).map_or(0, Iterator::count), 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_can_be_read_as_a_list_stays_inside(paths in prop::collection::vec("[a./%2E0-]{1,12}", 1..6), targets in prop::collection::vec("[a./]{1,9}", 0..4)) {
        let mut lines: Vec<String> = paths.iter().map(|path| format!("file {EMPTY} 0 {path}")).collect();
        lines.extend(targets.iter().enumerate().map(|(at, target)| format!("link {target} l{at}")));
        lines.sort_by_key(|line| line.rsplit(' ').next().unwrap_or_default().to_owned());
        let text = format!("trainmaster bundle 1\n{}\n", lines.join("\n"));
        if let Ok(bundle) = text.parse::<model::bundle::Bundle>() {
            prop_assert_eq!(bundle.to_string(), text);
            for (path, _) in bundle.entries() {
                prop_assert!(!path.starts_with(b"/") && path.split(|byte| *byte == b'/').all(|part| !part.is_empty() && part != b"." && part != b".."));
            }
        }
    }
}
