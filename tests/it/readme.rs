//! The first job of the README, as it is written there, typed in an empty directory.

use std::{fs, path::Path, process::Command};

use crate::{
    house::binary,
    place::{is_root, with_own_mounts_and_network},
};

/// What stands between ```` ```sh ```` and ```` ``` ```` under a heading.
fn commands(file: &str, heading: &str) -> Vec<String> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let (_, section) = text.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    section.split("\n```sh\n").skip(1).map(|it| it.split_once("\n```").unwrap().0.to_owned()).collect()
}

/// Types them, waits for the job that the last of them starts, and answers everything that was said.
fn typed(commands: &[String]) -> String {
    let (home, here) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let script = format!("set -e\ntrap 'kill $!; wait' EXIT\n{}\ntrainmaster wait python3-train\n", commands.join("\n"));
    // `$PWD/target/debug` of the README.
    let built = Path::new(binary()).parent().unwrap().display();
    let path = format!("{built}:{}", std::env::var("PATH").unwrap());
    let mut shell = Command::new("bash");
    shell.args(["-c", &script]).current_dir(here.path()).env("PATH", path).env("HOME", home.path());
    ["XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"].iter().for_each(|name| _ = shell.env_remove(name));
    // The address in the README may be taken in ours.
    let out = with_own_mounts_and_network(|| shell.output().unwrap());
    let said = format!("{}{}", String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert!(out.status.success(), "{said}");
    said
}

fn the_first_job_works(file: &str, heading: &str) {
    if !is_root("have a network of one's own, where the port of the README is free") {
        return;
    }
    let commands = commands(file, heading);
    let [install, first, after] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(install.starts_with("cargo install --path . ") && install.contains("export PATH=\"$PWD/target/debug:$PATH\""), "{install}");
    assert!(first.starts_with("trainmaster up & "), "{first}");
    let said = typed(&[first.clone(), after.clone()]);
    assert_eq!(said.matches("step 5, loss 0.20").count(), 2, "once as it was printed, and once from the log: {said}");
    for word in ["http://127.0.0.1:7077", "python3-train@1", "python3-train@2"] {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn the_first_job_of_the_readme_works_as_it_is_written() {
    the_first_job_works("README.md", "Your first job");
}

#[test]
fn the_first_job_of_the_chinese_readme_works_as_it_is_written() {
    the_first_job_works("README.zh-CN.md", "第一个作业");
}
