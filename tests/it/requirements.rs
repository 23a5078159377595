//! Packages that the code asks for: installed before the command, once, from the real index, and with nothing of the
//! server's in sight.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Once,
    time::Duration,
};

use serde_json::json;
use trainmaster::config::default_cache_dir;

use crate::house::{House, holds_for, text, until, until_some_within};

/// From nothing, `uv` has to be fetched.
const UV_PATIENCE: Duration = Duration::from_secs(300);
const ARGS: [&str; 6] = ["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"];

/// A house whose environments stay from one test run to the next: the names are hashes of what is in them.
pub fn house() -> House {
    static UV: Once = Once::new();
    let mut house = House::unopened(&ARGS);
    house.env("TRAINMASTER_ENVIRONMENTS", shelf().to_str().unwrap());
    house.start();
    UV.call_once(|| {
        let code = code(&house, &[("requirements.txt", "six==1.17.0\n")]);
        let job = house.submit(&job("warm", &code, "true"));
        until_some_within(UV_PATIENCE, "uv is there", || (house.show(&job)["state"] == "succeeded").then_some(()));
    });
    house
}

fn shelf() -> PathBuf {
    default_cache_dir().join("environments")
}

/// A house with environments of its own and the tests' own `uv`, which is installed if it is not there.
fn fresh_house() -> House {
    let mut house = House::unopened(&ARGS);
    furnish_with_uv(&mut house);
    house.env("TRAINMASTER_ENVIRONMENTS", "");
    house
}

/// The one of the shared shelf, or else the machine's.
fn furnish_with_uv(house: &mut House) {
    drop(self::house());
    let uv = fs::read_dir(shelf()).unwrap().flatten().map(|it| it.path().join("bin")).find(|it| it.join("uv").is_file());
    let uv = uv.map_or_else(String::new, |it| format!("{}:", it.display()));
    house.env("PATH", &format!("{uv}{}", std::env::var("PATH").unwrap()));
}

fn code(house: &House, files: &[(&str, &str)]) -> PathBuf {
    let code = tempfile::Builder::new().prefix("code").tempdir_in(house.place()).unwrap().keep();
    for (path, text) in files {
        fs::create_dir_all(code.join(path).parent().unwrap()).unwrap();
        fs::write(code.join(path), text).unwrap();
    }
    code
}

fn job(name: &str, code: &Path, line: &str) -> String {
    json!({ "name": name, "code": code, "roles": { "main": { "command": line, "cpus": 0.5 } } }).to_string()
}

fn with(job: &str, key: &str, value: serde_json::Value) -> String {
    let mut job: serde_json::Value = serde_json::from_str(job).unwrap();
    job[key] = value;
    job.to_string()
}

fn log_of(house: &House, job: &str) -> String {
    let shown = house.wait_until_over(job);
    let log = text(&house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log")).unwrap_or_default());
    assert_eq!(shown["state"], "succeeded", "{shown:#}\n{log}");
    log
}

/// Why it failed, and what its log says.
fn failure(house: &House, job: &str) -> (String, String) {
    let shown = house.wait_for(job, "failed");
    assert_eq!(shown["attempt"], 1, "it was tried again in vain: {shown:#}");
    (shown["reason"].as_str().unwrap().to_owned(), house.log(job, "main-0"))
}

const SHOW: &str =
    "python -c 'import six, sys; print(six.__version__, sys.prefix)' && python3 -c 'import six, sys; print(six.__version__, sys.prefix)'";

/// The prefix that `SHOW` prints twice, once for each name of Python.
fn prefix(log: &str, version: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines.len() == 2 && lines[0] == lines[1], "{log}");
    lines[0].strip_prefix(&format!("{version} ")).unwrap_or_else(|| panic!("{log}")).to_owned()
}

#[test]
fn packages_are_installed_once_and_a_second_job_starts_without_uv() {
    let mut house = fresh_house();
    house.start();
    let code = code(&house, &[("requirements.txt", "six==1.17.0\n")]);
    let both = [house.submit(&job("first", &code, SHOW)), house.submit(&job("beside", &code, SHOW))];
    let places = both.map(|job| prefix(&log_of(&house, &job), "1.17.0"));
    assert_eq!(places[0], places[1], "two that wanted the same at the same time got two");
    let log = PathBuf::from(format!("{}.log", places[0]));
    assert_eq!(fs::read_to_string(&log).unwrap().matches("+ six==1.17.0").count(), 1);
    // Where there is no uv, and where whoever wants one would say so, nobody wants one.
    let written = fs::metadata(&log).unwrap().modified().unwrap();
    let second = house.submit(&job("second", &code, SHOW));
    assert_eq!(prefix(&log_of(&house, &second), "1.17.0"), places[0]);
    assert_eq!(fs::metadata(&log).unwrap().modified().unwrap(), written, "it was made a second time");
    let journal = fs::read_to_string(house.run_dir(&second, "main-0", 1).join("supervisor.log")).unwrap_or_default();
    assert_eq!(journal, "", "the second job had to prepare something");
    fs::write(code.join("requirements.txt"), "six==1.16.0\n").unwrap();
    let changed = house.submit(&job("changed", &code, SHOW));
    assert_ne!(prefix(&log_of(&house, &changed), "1.16.0"), places[0]);
}

#[test]
fn a_file_may_name_others_be_a_project_a_lock_or_somewhere_else_or_not_count_at_all() {
    let house = house();
    let project = ("pyproject.toml", "[project]\nname = 'x'\nversion = '0'\nrequires-python = '>=3.9'\ndependencies = ['six==1.17.0']\n");
    let hash = "sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274";
    let url = "https://files.pythonhosted.org/packages/b7/ce/149a00dd41f10bc29e5921b496af8b574d8413afcd5e30dfa0ed46c2cc5e/six-1.17.0-py2.py3-none-any.whl";
    let lock = format!(
        "version = 1\nrevision = 3\nrequires-python = '>=3.9'\n\n[[package]]\nname = 'six'\nversion = '1.17.0'\nsource = {{ registry = 'https://pypi.org/simple' }}\n\
         wheels = [{{ url = '{url}', hash = '{hash}', size = 11050 }}]\n\n[[package]]\nname = 'x'\nversion = '0'\nsource = {{ virtual = '.' }}\n\
         dependencies = [{{ name = 'six' }}]\n\n[package.metadata]\nrequires-dist = [{{ name = 'six', specifier = '==1.17.0' }}]\n"
    );
    let pylock = format!(
        "lock-version = '1.0'\ncreated-by = 'x'\n[[packages]]\nname = 'six'\nversion = '1.17.0'\n[[packages.wheels]]\nurl = '{url}'\nhashes = {{ sha256 = '{}' }}\n",
        &hash[7..]
    );
    let included =
        [("requirements.txt", "-r more/base.txt\n"), ("more/base.txt", "six\n-c limits.txt\n"), ("more/limits.txt", "six==1.16.0\n")];
    for (name, files, version) in [
        ("included", &included[..], "1.16.0"),
        ("project", &[project], "1.17.0"),
        ("lock", &[project, ("uv.lock", &lock), ("requirements.txt", "six==1.16.0")], "1.17.0"),
        ("pylock", &[("pylock.toml", &pylock)], "1.17.0"),
    ] {
        let job = house.submit(&job(name, &code(&house, files), SHOW));
        prefix(&log_of(&house, &job), version);
    }
    let code = code(&house, &[("requirements.txt", "no such line"), ("sub/reqs.txt", "six==1.17.0")]);
    let elsewhere = house.submit(&with(&job("elsewhere", &code, SHOW), "requirements", json!("sub/reqs.txt")));
    prefix(&log_of(&house, &elsewhere), "1.17.0");
    let none = house.submit(&with(&job("none", &code, "echo ${VIRTUAL_ENV:-nothing}"), "requirements", json!("none")));
    assert_eq!(log_of(&house, &none), "nothing\n");
    let together = with(&job("together", &code, SHOW), "requirements", json!("sub/reqs.txt"));
    prefix(&log_of(&house, &house.submit(&with(&together, "framework", json!("python")))), "1.17.0");
}

#[test]
fn what_cannot_be_solved_fails_the_job_at_once_with_the_resolver_s_words_in_reason_and_log() {
    let house = house();
    for (name, lines, words) in [
        ("version", "six==99.0\n", "there is no version of six==99.0"),
        (
            "package",
            "six==1.17.0\nno-such-package-of-trainmaster\n",
            "no-such-package-of-trainmaster was not found in the package registry",
        ),
        ("conflict", "six==1.17.0\nsix==1.16.0\n", "six==1.16.0"),
        ("syntax", "six==1.17.0\nsix=>1\n", "in `requirements.txt` at position 12"),
        ("hash", &format!("tabulate==0.9.0 --hash=sha256:{}\n", "0".repeat(64)), "Hash mismatch for `tabulate==0.9.0`"),
    ] {
        let code = code(&house, &[("requirements.txt", lines)]);
        let (reason, log) = failure(&house, &house.submit(&job(name, &code, "echo never")));
        assert!(reason.contains("the packages of `requirements.txt` cannot be installed") && reason.contains(words), "{name}: {reason}");
        assert!(log.starts_with("[trainmaster: ") && log.contains(words) && !log.contains("never\n"), "{name}: {log}");
    }
}

#[test]
fn a_hostile_file_reads_nothing_and_runs_nothing() {
    let house = house();
    fs::write(house.place().join("outside.txt"), "six==1.17.0").unwrap();
    for (name, lines, words) in [
        ("up", "-r ../outside.txt\n", "leads out of the code"),
        ("whole", "six\n-r /etc/passwd\n", "line 2: `-r /etc/passwd` leads out of the code"),
        ("editable", "-e .\n", "names something on the disk"),
        ("variable", "--index-url https://example.org/${PATH}\n", "wants a variable filled in"),
        ("password", "--index-url https://me:qwertz@example.org/simple\nsix\n", "user or password in an address"),
    ] {
        let code = code(&house, &[("requirements.txt", lines), ("setup.py", "open('/tmp/owned', 'w')")]);
        let (reason, log) = failure(&house, &house.submit(&job(name, &code, "true")));
        assert!(reason.contains(words), "{name}: {reason}");
        assert!(!reason.contains("qwertz") && !log.contains("qwertz"), "{log}");
    }
    let code = code(&house, &[]);
    std::os::unix::fs::symlink("/etc/passwd", code.join("requirements.txt")).unwrap();
    let (reason, _) = failure(&house, &house.submit(&job("link", &code, "true")));
    assert!(reason.contains("`requirements.txt` of the code cannot be read: it leads out of the code"), "{reason}");
    assert!(!Path::new("/tmp/owned").exists());
}

/// A wheel that runs a line whenever a Python that sees it starts, and so shows who starts one.
fn wheel(dir: &Path, line: &str) {
    const MAKE: &str = "import sys, zipfile
with zipfile.ZipFile(sys.argv[1] + '/spy-1.0-py3-none-any.whl', 'w') as wheel:
    wheel.writestr('spy.py', 'HERE = True\\n')
    wheel.writestr('spy.pth', sys.argv[2] + '\\n')
    wheel.writestr('spy-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: spy\\nVersion: 1.0\\n')
    wheel.writestr('spy-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
    wheel.writestr('spy-1.0.dist-info/RECORD', '')";
    let made = Command::new("python3").args(["-c", MAKE, dir.to_str().unwrap(), line]).status().unwrap();
    assert!(made.success());
}

#[test]
fn offline_packages_come_from_a_directory_and_nothing_of_them_runs_before_the_task() {
    let mut house = fresh_house();
    let (wheels, seen) = (house.place().join("wheels"), house.place().join("seen"));
    fs::create_dir_all(&wheels).unwrap();
    wheel(&wheels, &format!("import os; os.path.exists('/output') or open('{}', 'a').write(str(dict(os.environ)))", seen.display()));
    let config = house.place().join("server.toml");
    fs::write(&config, format!("[python]\noffline = true\nfind_links = ['{}']\n", wheels.display())).unwrap();
    house.args(&["--config", config.to_str().unwrap()]);
    house.start();
    let code = code(&house, &[("requirements.txt", "spy==1.0\n")]);
    let job = house.submit(&self::job("spy", &code, "python -c 'import spy; print(spy.HERE)'"));
    assert_eq!(log_of(&house, &job), "True\n");
    assert_eq!(fs::read_to_string(&seen).unwrap_or_default(), "", "a package was run while it was installed");
    source(&wheels, "");
    let code = self::code(&house, &[("requirements.txt", "nosy==1.0\n")]);
    let (reason, _) = failure(&house, &house.submit(&self::job("nosy", &code, "true")));
    assert!(reason.contains("unless its owner allows more (`[python] build = true`)"), "{reason}");
    let code = self::code(&house, &[("requirements.txt", "no-such-package-of-trainmaster\n")]);
    let job = house.submit(&with(&self::job("absent", &code, "true"), "retries", json!(0)));
    until("it says why", || house.show(&job)["reason"].as_str().unwrap().contains("network was disabled"));
    house.cli(&["stop", &job]);
}

/// A source package that is built by code of its own, which looks for what it should not see.
fn source(dir: &Path, wanted: &str) {
    const PROJECT: &str =
        "[project]\nname = 'nosy'\nversion = '1.0'\n[build-system]\nrequires = []\nbuild-backend = 'nosy_backend'\nbackend-path = ['.']\n";
    let place = dir.join("nosy-1.0");
    fs::create_dir_all(&place).unwrap();
    let files = [
        ("nosy_backend.py", include_str!("requirements/nosy_backend.py")),
        ("pyproject.toml", PROJECT),
        ("PKG-INFO", "Metadata-Version: 2.2\nName: nosy\nVersion: 1.0\n"),
        ("wanted.txt", wanted),
    ];
    files.iter().for_each(|(name, text)| fs::write(place.join(name), text).unwrap());
    let packed = Command::new("tar").args(["-czf", "nosy-1.0.tar.gz", "nosy-1.0"]).current_dir(dir).status().unwrap();
    assert!(packed.success());
    fs::remove_dir_all(place).unwrap();
}

#[test]
fn where_building_is_allowed_it_finds_nothing_of_the_server_s() {
    // Not below /tmp, which is out of sight anyway.
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut house = House::unopened_at(data.path());
    furnish_with_uv(&mut house);
    house.env("TRAINMASTER_ENVIRONMENTS", "");
    house.env("SOME_SECRET", "CANARY");
    let wheels = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let config = house.place().join("server.toml");
    let wanted = ["admin-token", "runs", "live", "server.json"].map(|name| house.data().join(name));
    source(wheels.path(), &wanted.each_ref().map(|it| it.display().to_string()).join("\n"));
    fs::write(&config, format!("[python]\noffline = true\nbuild = true\nfind_links = ['{}']\n", wheels.path().display())).unwrap();
    house.args(&["--config", config.to_str().unwrap()]);
    house.start();
    assert!(wanted.iter().all(|it| it.exists()), "the fixture looks for the wrong things");
    let code = code(&house, &[("requirements.txt", "nosy==1.0\n")]);
    let job = house.submit(&job("nosy", &code, "python -c 'import nosy; print(nosy.FOUND)'"));
    assert_eq!(log_of(&house, &job), "['built']\n");
}

#[test]
fn an_install_that_is_killed_leaves_nothing_half() {
    let mut house = fresh_house();
    house.start();
    for round in 0..3 {
        let lines = format!("six==1.17.0\ntabulate==0.9.0\n# {round}\n");
        let code = code(&house, &[("requirements.txt", &lines)]);
        let line = "python -c 'import six, tabulate; print(six.__version__, tabulate.__version__)'";
        let job = house.submit(&with(&self::job(&format!("killed-{round}"), &code, line), "retries", json!(2)));
        let mut supervisors = Vec::new();
        until("it is being prepared", || {
            supervisors = house.supervisors();
            !supervisors.is_empty() && (round == 0 || house.show(&job)["reason"].as_str().unwrap().contains("installs the packages"))
        });
        for pid in supervisors {
            // SAFETY: a plain system call; the pid is that of a supervisor of this house that lives.
            unsafe { libc::kill(pid, libc::SIGKILL) };
        }
        assert_eq!(log_of(&house, &job), "1.17.0 0.9.0\n");
    }
}

// ---- setup

fn with_setup(name: &str, setup: &str, line: &str) -> String {
    json!({ "name": name, "setup": setup, "params": { "size": 3 }, "roles": { "main": { "command": line, "cpus": 0.5 } } }).to_string()
}

#[test]
fn setup_runs_before_the_command_in_the_same_place() {
    let house = House::new();
    let setup = "pwd; echo {{ params.size }} > /output/made; echo $TRAINMASTER_RUN; (sleep 600 &)";
    let job = house.submit(&with_setup("good", setup, "pwd; cat /output/made; echo $TRAINMASTER_RUN"));
    let log = log_of(&house, &job);
    let lines: Vec<&str> = log.lines().collect();
    assert_eq!(lines, ["/code", lines[1], "/code", "3", lines[1]]);
    // More than a pipe holds.
    let job = house.submit(&with_setup("loud", "head -c 3000000 /dev/zero | tr '\\0' x", "echo end"));
    assert_eq!(log_of(&house, &job).len(), 3_000_004);
}

#[test]
fn a_setup_that_fails_is_the_failure_of_its_task_and_the_command_never_runs() {
    let house = House::new();
    let job = house.submit(&with_setup("bad", "echo trying; exit 3", "echo never"));
    let shown = house.wait_for(&job, "failed");
    assert!(shown["reason"].as_str().unwrap().contains("setup exited with code 3"), "{shown:#}");
    assert_eq!(shown["runs"][0]["ending"]["cause"]["kind"], "setup_failed", "{shown:#}");
    assert_eq!(house.log(&job, "main-0"), "trying\n[trainmaster: setup exited with code 3; the command was not started]\n");
    let again = house.submit(&with(
        &with_setup("again", "test -e /cache/seen || { touch /cache/seen; exit 1; }", "echo done"),
        "retries",
        json!(1),
    ));
    assert_eq!(house.wait_for(&again, "succeeded")["attempt"], 2);
}

#[test]
fn a_stop_during_setup_is_immediate_and_leaves_nobody() {
    let house = House::new();
    let job = house.submit(&with_setup("slow", "echo here; sleep 600", "echo never"));
    house.wait_for_output(&job, "main-0", "here");
    assert!(house.show(&job)["reason"].as_str().unwrap().contains("runs its setup"));
    house.cli(&["stop", &job]);
    house.wait_for(&job, "stopped");
    assert!(!house.log(&job, "main-0").contains("never"));
    until("nobody is left", || house.supervisors().is_empty() && house.groups().is_empty());
}

#[test]
fn nobody_of_a_gang_begins_before_everyone_s_setup_is_done() {
    let house = House::new();
    let setup =
        "if [ $TRAINMASTER_ROLE-$TRAINMASTER_TASK_INDEX = worker-1 ]; then while [ ! -e /cache/go ]; do sleep 0.02; done; fi; echo set up";
    let job = json!({ "name": "gang", "setup": setup, "roles": { "worker": { "tasks": 2, "cpus": 0.5, "command": "echo began" } } });
    let job = house.submit(&job.to_string());
    house.wait_for_output(&job, "worker-0", "set up");
    holds_for(Duration::from_millis(300), "worker-0 waits", || !house.log(&job, "worker-0").contains("began"));
    fs::write(house.data().join("cache/go"), "").unwrap();
    house.wait_for(&job, "succeeded");
    assert_eq!(house.log(&job, "worker-1"), "set up\nbegan\n");
}
