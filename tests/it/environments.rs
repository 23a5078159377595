//! Python environments: made once, shared, whole or not there, and whose doing it is when they cannot be made.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use crate::house::{House, marked, until};

/// A `uv` of the test's own, which says what it was asked and does as the test likes.
fn with_uv(house: &mut House, script: &str) -> PathBuf {
    let bin = house.place().join("bin");
    fs::create_dir_all(&bin).unwrap();
    let uv = bin.join("uv");
    fs::write(&uv, format!("#!/bin/sh\nasked={}\n{script}\n", house.place().join("asked").display())).unwrap();
    fs::set_permissions(&uv, fs::Permissions::from_mode(0o755)).unwrap();
    house.env("PATH", &format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()));
    house.env("TRAINMASTER_ENVIRONMENTS", "");
    house.place().join("asked")
}

/// Makes an environment in which `python` is a shell, so that nothing is fetched from anywhere.
const A_SHELL: &str = "echo \"$1\" >> $asked
for place; do :; done
[ $1 = venv ] && mkdir -p $place/bin && ln -sf /bin/sh $place/bin/python
exit 0";

fn asked(file: &Path, what: &str) -> usize {
    fs::read_to_string(file).unwrap_or_default().lines().filter(|line| *line == what).count()
}

fn job(name: &str, tasks: u32, line: &str) -> String {
    serde_json::json!({ "name": name, "framework": "jax", "roles": { "main": { "tasks": tasks, "cpus": 0.1, "command": line } } })
        .to_string()
}

#[test]
fn tasks_and_jobs_that_want_the_same_environment_share_one_that_was_made_once() {
    // Not below /tmp, which is out of a task's sight anyway.
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut house = House::unopened_at(data.path());
    let file = with_uv(&mut house, A_SHELL);
    house.start();
    let line = "python -c 'echo from $VIRTUAL_ENV'; touch $VIRTUAL_ENV/x 2>&1 | grep -o Read-only; command -v python
        cd $VIRTUAL_ENV/../..; touch x 2>&1 | grep -o Read-only; ls -A . environments; exit 0";
    let first = house.submit(&job("first", 6, line));
    let second = house.submit(&job("second", 1, line));
    let (first, second) = (house.wait_until_over(&first), house.wait_until_over(&second));
    assert_eq!((first["state"].as_str(), second["state"].as_str()), (Some("succeeded"), Some("succeeded")), "{first:#}");
    assert_eq!((asked(&file, "venv"), asked(&file, "pip")), (1, 1));
    let log = house.log(second["id"].as_str().unwrap(), "main-0");
    let environment = log.lines().find_map(|it| it.strip_prefix("from ")).unwrap();
    let (place, name) = environment.rsplit_once('/').unwrap();
    assert_eq!(Path::new(place), fs::canonicalize(house.data()).unwrap().join("environments"));
    let seen = format!("from {environment}\nRead-only\n{environment}/bin/python\nRead-only\n.:\nenvironments\n\nenvironments:\n{name}\n");
    assert_eq!(log, seen, "a task sees its own environment and nothing else of the server's");
}

#[test]
fn an_environment_that_was_half_made_when_everything_died_is_made_anew() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    house.crash_at("environment.made-before-marked");
    let file = with_uv(&mut house, A_SHELL);
    house.start();
    let job = house.submit(&job("half", 1, "python -c 'echo whole'"));
    let shown = house.wait_for(&job, "succeeded");
    assert!(house.crashed() && shown["attempt"].as_u64() > Some(1), "{shown:#}");
    assert_eq!(asked(&file, "venv"), 2, "what was left half made was taken for whole");
    assert!(house.log(&job, "main-0").contains("whole"));
}

#[test]
fn a_stop_ends_the_making_and_the_waiting_for_it() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let file = with_uv(&mut house, "echo $1 >> $asked; exec sleep 600");
    house.start();
    let job = house.submit(&job("slow", 2, "true"));
    until("the environment is being made", || asked(&file, "venv") == 1);
    until("the job says so", || house.show(&job)["reason"].as_str().unwrap().contains("Python environment"));
    house.cli(&["stop", &job]);
    house.wait_for(&job, "stopped");
    // The server has the same in its own environment.
    let left =
        || marked(house.place().join("bin").to_str().unwrap()).into_iter().filter(|pid| *pid != house.server_pid().cast_signed()).count();
    until("nobody is left", || house.supervisors().is_empty() && left() == 0);
}

#[test]
fn a_version_that_does_not_exist_fails_the_job_at_once_and_shows_the_resolver_s_words() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let words = "error: No solution found when resolving dependencies\n  cause: Because only jax<=0.10 is available";
    let file = with_uv(&mut house, &format!("echo $1 >> $asked; [ $1 = venv ] || {{ echo '{words}' >&2; exit 1; }}"));
    house.start();
    let job = house.submit(&job("wrong", 1, "true"));
    let shown = house.wait_for(&job, "failed");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("No solution found") && reason.contains("only jax<=0.10 is available"), "{reason}");
    assert_eq!(asked(&file, "pip"), 1, "it was tried again in vain");
}

#[test]
fn a_line_that_is_down_is_the_platform_s_doing_and_tried_again() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let words = "error: Request failed after 3 retries\n  cause: Connection refused";
    let file = with_uv(
        &mut house,
        &format!("[ $1 = venv ] && [ ! -e $asked ] && {{ echo venv >> $asked; echo '{words}' >&2; exit 2; }}\n{A_SHELL}"),
    );
    house.start();
    let job = house.submit(&job("again", 1, "true"));
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!((shown["attempt"].as_u64(), asked(&file, "venv")), (Some(2), 2), "{shown:#}");
}
