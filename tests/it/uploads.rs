//! Folders that are uploaded: what a task gets of them, what crosses the line, and what a cut line costs.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use model::bundle::{Blob, Bundle, ContentHash, Entry};
use serde_json::{Value, json};
use trainmaster::client::{Call, ClientError};

use crate::house::{House, text, until};

mod hostile;
mod post;

use post::Post;

fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let place = dir.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
}

/// A folder with a job file in it that runs `train.sh`.
fn folder(house: &House, name: &str, script: &str) -> PathBuf {
    let dir = house.place().join(name);
    let job = format!("name: {name}\ncode: .\nroles: {{main: {{command: sh train.sh}}}}\n");
    write(&dir, &[("job.yaml", job.as_str()), ("train.sh", script)]);
    dir
}

fn submitted(house: &House, dir: &Path) -> Value {
    let out = house.cli_in(dir, &["--json", "submit", "job.yaml"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn id(submitted: &Value) -> String {
    submitted["id"].as_str().unwrap().to_owned()
}

#[test]
fn what_was_submitted_is_what_runs_whatever_becomes_of_the_folder() {
    let mut house = House::new();
    let dir = folder(&house, "digits", "echo first; cat lib/*.txt; sh lib/now");
    write(&dir, &[("lib/a.txt", "data\n"), (".gitignore", "secret*\n"), ("secret.key", "x"), ("lib/say.sh", "echo linked; ls -A /code")]);
    std::os::unix::fs::symlink("say.sh", dir.join("lib/now")).unwrap();
    // Nothing can start until the folder has changed.
    house.cli(&["nodes", "down", "node-1"]);
    let job = id(&submitted(&house, &dir));
    write(&dir, &[("train.sh", "echo second"), ("lib/a.txt", "other\n")]);
    fs::remove_file(dir.join("lib/say.sh")).unwrap();
    house.restart();
    house.cli(&["nodes", "up", "node-1"]);
    house.wait_for(&job, "succeeded");
    assert_eq!(house.log(&job, "main-0"), "first\ndata\nlinked\n.gitignore\njob.yaml\nlib\ntrain.sh\n");
}

#[test]
fn the_commit_the_files_and_the_patch_are_shown_with_the_job() {
    let house = House::new();
    let dir = folder(&house, "digits", "true\n");
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command
            .args(["-c", "user.name=me", "-c", "user.email=me@example.org", "-C"])
            .arg(&dir)
            .args(args)
            .env("GIT_CONFIG_GLOBAL", "/dev/null");
        let out = command.output().unwrap();
        assert!(out.status.success(), "{}", text(&out.stderr));
        text(&out.stdout).trim().to_owned()
    };
    git(&["init", "-q", "-b", "work"]);
    git(&["add", "."]);
    git(&["commit", "-qm", "first"]);
    write(&dir, &[("train.sh", "echo changed\n")]);
    let job = id(&submitted(&house, &dir));
    let uploaded = house.show(&job)["uploaded"].clone();
    assert_eq!(uploaded["commit"], git(&["rev-parse", "HEAD"]));
    assert_eq!((uploaded["branch"].as_str(), uploaded["dirty"].as_bool(), uploaded["files"].as_u64()), (Some("work"), Some(true), Some(2)));
    let shown = text(&house.cli(&["show", &job]).stdout);
    assert!(shown.contains(" on work with changes\n"), "{shown}");
    let list = text(&house.cli(&["show", &job, "--code"]).stdout);
    assert!(list.contains("job.yaml") && list.contains("train.sh") && list.contains("13B"), "{list}");
    let patch = text(&house.cli(&["show", &job, "--patch"]).stdout);
    assert!(patch.contains("-true\n+echo changed\n"), "{patch}");
    let none = house.submit_line("none", "true");
    let out = house.cli(&["show", &none, "--code"]);
    assert!(text(&out.stderr).contains("has no uploaded folder"), "{}", text(&out.stderr));
}

#[test]
fn a_second_submit_uploads_nothing_and_a_changed_file_comes_alone() {
    let house = House::new();
    let dir = folder(&house, "digits", "true");
    write(&dir, &[("large.bin", &"0123456789".repeat(200_000)), ("same.bin", &"0123456789".repeat(200_000))]);
    let post = Post::before(&house);
    let submit = || {
        post.forget();
        let out = post.cli(&house, &dir, &["submit", "job.yaml"]);
        assert!(out.status.success(), "{}", text(&out.stderr));
        (post.heard("/api/v1/uploads/blobs"), post.bytes())
    };
    let (requests, bytes) = submit();
    assert!(requests >= 2 && (2_000_000..2_100_000).contains(&bytes), "{requests} requests with {bytes} bytes: the same content goes once");
    let (requests, bytes) = submit();
    assert!(requests == 0 && bytes < 10_000, "{requests} requests with {bytes} bytes");
    write(&dir, &[("train.sh", "echo new")]);
    let (requests, bytes) = submit();
    assert!(requests == 1 && bytes < 10_000, "{requests} requests with {bytes} bytes");
}

#[test]
fn a_cut_line_goes_on_where_it_was_cut() {
    let house = House::new();
    let dir = folder(&house, "digits", "true");
    let large: String = (0..700_000_u32).map(|number| format!("{number:09}")).collect();
    write(&dir, &[("large.bin", &large)]);
    let post = Post::before(&house);
    post.cut_after(3 << 20);
    let out = post.cli(&house, &dir, &["submit", "job.yaml"]);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(post.was_cut(), "the line was to be cut");
    let once = large.len() as u64;
    assert!((once..once + (2 << 20)).contains(&post.bytes()), "{} bytes for a file of {once}", post.bytes());
}

#[test]
fn a_server_that_is_killed_in_the_middle_takes_up_the_rest() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    house.crash_at(&format!("{}#3", "upload.piece-kept"));
    house.start();
    house.keep_port();
    let dir = folder(&house, "digits", "wc -c < large.bin");
    let large: String = (0..700_000_u32).map(|number| format!("{number:09}")).collect();
    write(&dir, &[("large.bin", &large)]);
    let mut submit = house.cli_in_background(&["--json", "submit", dir.join("job.yaml").to_str().unwrap()]);
    until("the server dies", || house.crashed() && !house.is_alive());
    house.ended();
    house.clear_env();
    house.start();
    assert!(submit.wait().unwrap().success());
    house.wait_for("digits", "succeeded");
    assert_eq!(house.log("digits", "main-0").trim(), large.len().to_string());
}

#[test]
fn a_server_that_dies_around_the_finish_has_all_or_asks_again() {
    for point in ["upload.blobs-kept-before-bundle", "upload.finished-before-reply"] {
        let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
        house.crash_at(point);
        house.start();
        house.keep_port();
        let dir = folder(&house, "digits", "echo ran");
        let mut submit = house.cli_in_background(&["submit", dir.join("job.yaml").to_str().unwrap()]);
        until("the server dies", || house.crashed() && !house.is_alive());
        house.ended();
        house.clear_env();
        house.start();
        assert!(submit.wait().unwrap().success(), "{point}");
        house.wait_for("digits", "succeeded");
        assert_eq!(house.log("digits", "main-0"), "ran\n", "{point}");
    }
}

#[test]
fn a_supervisor_s_porter_that_dies_between_tree_and_mark_leaves_no_half_tree() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    house.crash_at("upload.tree-made-before-marked");
    house.start();
    let dir = folder(&house, "digits", "echo ran");
    let job = id(&submitted(&house, &dir));
    house.wait_for(&job, "succeeded");
    assert!(house.crashed());
    assert_eq!(house.log(&job, "main-0"), "ran\n");
}

#[test]
fn ten_thousand_small_files_are_quick() {
    let house = House::new();
    let dir = folder(&house, "many", "find . -type f | wc -l");
    for number in 0..10_000 {
        let place = dir.join(format!("src/{:02}", number % 100));
        fs::create_dir_all(&place).unwrap();
        fs::write(place.join(format!("{number}.py")), format!("print({number})\n")).unwrap();
    }
    let post = Post::before(&house);
    let began = Instant::now();
    let out = post.cli(&house, &dir, &["--json", "submit", "job.yaml"]);
    let took = began.elapsed();
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(post.heard("/api/v1/uploads/blobs") <= 5, "{} requests", post.heard("/api/v1/uploads/blobs"));
    // An unhurried debug build on a busy machine; a request or a sync for each would take minutes.
    assert!(took < Duration::from_secs(40), "it took {took:?}");
    let job = id(&serde_json::from_slice(&out.stdout).unwrap());
    house.wait_for(&job, "succeeded");
    assert_eq!(house.log(&job, "main-0").trim(), "10002");
}

#[test]
fn a_folder_that_is_too_much_is_refused_with_its_largest_files() {
    let config = tempfile::NamedTempFile::new().unwrap();
    fs::write(config.path(), "[code]\nsize_max = '1MiB'\n").unwrap();
    let house = House::with_args(&["--config", config.path().to_str().unwrap()]);
    let dir = folder(&house, "digits", "true");
    write(&dir, &[("weights.bin", &"x".repeat(2 << 20))]);
    let out = house.cli_in(&dir, &["submit", "job.yaml"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    assert!(said.contains("the folder has 2.0MiB in 3 files; the most is 1MiB; the largest are weights.bin (2MiB)"), "{said}");
    assert!(said.contains("hint: list what is not code in .gitignore or .trainmasterignore, and put data in a volume"), "{said}");
    write(&dir, &[(".trainmasterignore", "*.bin\n")]);
    assert!(house.cli_in(&dir, &["submit", "job.yaml"]).status.success());
}

#[test]
fn what_was_left_out_is_told() {
    let house = House::new();
    let dir = folder(&house, "digits", "ls -A");
    nix::unistd::mkfifo(&dir.join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("passwd")).unwrap();
    let out = house.cli_in(&dir, &["submit", "job.yaml", "--follow"]);
    let said = text(&out.stderr);
    assert!(said.contains("note: pipe is neither a file nor a link and was left out"), "{said}");
    assert!(said.contains("note: passwd is a link to /etc/passwd, outside the folder or in circles, and was left out"), "{said}");
    assert_eq!(text(&out.stdout), "job.yaml\ntrain.sh\n");
}

fn refused(answer: Result<Vec<u8>, ClientError>) -> (u16, String, String) {
    match answer {
        Err(ClientError::Refused(status, body)) => (status.as_u16(), body.code.clone(), body.message.clone()),
        other => panic!("it was not refused: {other:?}"),
    }
}

fn put<'a>(path: &'a str, body: &'static str) -> Call<'a> {
    Call { method: hyper::Method::PUT, ..Call::post(path, body) }
}

#[test]
fn wrong_hashes_lists_and_names_are_refused_with_the_reason() {
    let house = House::new();
    let blob = Blob { hash: ContentHash::of(b"hello"), size_bytes: 5 };
    let bundle = Bundle::new(None, [(b"a".to_vec(), Entry::File { blob, executable: false })]).unwrap();
    let piece = format!("/api/v1/uploads/blobs/{}?offset=0&size=5", blob.hash);
    let (status, code, message) = refused(house.call(put(&piece, "HELLO")));
    assert_eq!((status, code.as_str()), (422, "wrong_hash"), "{message}");
    let finish = format!("/api/v1/uploads/{}/finish", bundle.digest());
    assert_eq!(refused(house.call(Call::post(&finish, ""))).1, "no_such_upload");
    house.call(Call::post("/api/v1/uploads", bundle.to_string())).unwrap();
    assert_eq!(refused(house.call(Call::post(&finish, ""))).1, "upload_unfinished");
    let spec =
        json!({ "name": "x", "code": { "upload": bundle.digest().to_string() }, "roles": { "main": { "command": "true" } } }).to_string();
    let (status, code, _) = refused(house.call(Call::post("/api/v1/jobs", spec.clone())));
    assert_eq!((status, code.as_str()), (422, "bad_spec"));
    house.call(put(&piece, "hello")).unwrap();
    house.call(Call::post(&finish, "")).unwrap();
    house.call(Call::post(&finish, "")).unwrap();
    house.call(Call::post("/api/v1/jobs", spec)).unwrap();
    assert_eq!(refused(house.call(Call::post("/api/v1/uploads", "not a list"))).1, "bad_upload");
    assert_eq!(refused(house.call(Call::post("/api/v1/uploads/blobs", "no frame"))).1, "bad_upload");
    assert_eq!(refused(house.call(put("/api/v1/uploads/blobs/..%2F..%2Fstore.db?offset=0&size=1", "x"))).1, "bad_upload");
}
