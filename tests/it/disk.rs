//! Disks that are full, closed or failing: what runs goes on, what is new is refused clearly, and what was
//! answered stays true.

use std::{
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    time::Duration,
};

use trainmaster::client::{Call, ClientError};

use crate::{
    house::{House, holds_for, text, until},
    place::{FailingCalls, has_program, is_root, mount_small_disk, with_own_mounts},
};

/// A house whose data lies on a disk of its own.
fn on_a_small_disk(options: &str, test: impl FnOnce(House) + Send) {
    if !is_root("mount a small disk") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(place.path(), options);
        let mut house = House::unopened_at(place.path());
        house.start();
        test(house);
    });
}

/// Takes all the room there is.
fn fill(dir: &Path) -> PathBuf {
    let path = dir.join("ballast");
    let mut file = File::create(&path).unwrap();
    for length in [1 << 20, 4096, 64] {
        while file.write_all(&vec![0; length]).is_ok() {}
    }
    path
}

/// A task that ends with code 4 when it may.
fn submit_patient(house: &House) -> String {
    let line = "echo up; until [ -e /input/go ]; do sleep 0.02; done; echo bye; exit 4";
    let file = serde_json::json!({ "name": "patient", "input": house.place(), "roles": { "main": { "cpus": 0.5, "command": line } } });
    let job = house.submit(&file.to_string());
    house.wait_for_output(&job, "main-0", "up");
    house.wait_for(&job, "running");
    job
}

fn let_go(house: &House) {
    fs::write(house.place().join("go"), "").unwrap();
}

fn try_submit(house: &House) -> Result<(), (u16, String, String)> {
    match house.call(Call::post("/api/v1/jobs", "{name: new, roles: {main: {cpus: 0.5, command: 'true'}}}")) {
        Ok(_) => Ok(()),
        Err(ClientError::Refused(status, body)) => Err((status.as_u16(), body.code, body.message)),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn a_full_disk_refuses_uploads_and_takes_the_rest_once_there_is_room() {
    on_a_small_disk("size=16m", |house| {
        let dir = house.place();
        let large: String = (0..350_000_u32).map(|number| format!("{number:09}")).collect();
        fs::write(dir.join("large.bin"), &large).unwrap();
        fs::write(dir.join("job.yaml"), "name: large\ncode: .\nroles: {main: {command: wc -c < large.bin}}\n").unwrap();
        let ballast = fill(&house.data());
        let out = house.cli_in(&dir, &["submit", "job.yaml"]);
        let said = text(&out.stderr);
        assert_eq!(out.status.code(), Some(3), "{said}");
        assert!(said.contains("no room is left on the disk that holds the uploads"), "{said}");
        fs::remove_file(ballast).unwrap();
        let out = house.cli_in(&dir, &["submit", "job.yaml", "--follow"]);
        assert_eq!(text(&out.stdout).trim(), large.len().to_string(), "{}", text(&out.stderr));
    });
}

#[test]
fn a_full_disk_refuses_what_is_new_keeps_what_runs_and_is_forgotten_once_there_is_room() {
    on_a_small_disk("size=16m", |mut house| {
        let job = submit_patient(&house);
        let ballast = fill(&house.data());
        // The database may still have a little room of its own.
        let mut accepted = 0;
        let refused = loop {
            match try_submit(&house) {
                Ok(()) => accepted += 1,
                Err(refused) => break refused,
            }
        };
        assert_eq!(refused, (507, "disk_full".into(), "no room is left on the disk that holds the database".into()));
        assert_eq!(house.state(&job), "running");
        let_go(&house);
        until("the ending is written down", || house.run_dir(&job, "main-0", 1).join("exit.json").exists());
        assert!(house.is_alive());
        fs::remove_file(ballast).unwrap();
        let shown = house.wait_for(&job, "failed");
        assert_eq!((&shown["runs"][0]["exit_code"], &shown["attempt"]), (&4.into(), &1.into()), "{shown:#}");
        try_submit(&house).unwrap();
        for version in 1..=accepted + 1 {
            house.wait_for(&format!("new@{version}"), "succeeded");
        }
        assert!(house.is_alive());
    });
}

#[test]
fn a_full_disk_for_outputs_drops_them_with_a_word_and_changes_nothing_else() {
    if !is_root("mount a small disk") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(&place.path().join("runs"), "size=4m");
        let mut house = House::unopened_at(place.path());
        house.start();
        let ballast = house.data().join("runs/ballast");
        fs::write(&ballast, vec![0; 2 << 20]).unwrap();
        let flood = "head -c 3000000 /dev/zero | tr '\\0' x; echo flooded > /cache/flooded; \
                     until [ -e /input/go ]; do sleep 0.02; done; echo after; exit 4";
        let file = serde_json::json!({ "name": "flood", "input": house.place(), "roles": { "main": { "command": flood } } });
        let job = house.submit(&file.to_string());
        until("the flood is over", || house.data().join("cache/flooded").exists());
        house.wait_for(&job, "running");
        // It is accepted, and starts as soon as there is room for it.
        try_submit(&house).unwrap();
        fs::remove_file(ballast).unwrap();
        house.wait_for("new", "succeeded");
        let_go(&house);
        let shown = house.wait_for(&job, "failed");
        assert_eq!((&shown["runs"][0]["exit_code"], &shown["attempt"]), (&4.into(), &1.into()), "{shown:#}");
        let log = house.log(&job, "main-0");
        let kept = log.bytes().filter(|byte| *byte == b'x').count();
        let dropped =
            log.split("[trainmaster: ").skip(1).map(|rest| rest.split(' ').next().unwrap().parse::<usize>().unwrap()).sum::<usize>();
        assert_eq!(kept + dropped, 3_000_000);
        assert!(dropped > 0 && log.ends_with("after\n"));
    });
}

#[test]
fn a_disk_without_room_for_more_files_lets_what_runs_end_and_starts_the_rest_later() {
    on_a_small_disk("size=64m,nr_inodes=200", |house| {
        let job = submit_patient(&house);
        let many = house.data().join("many");
        fs::create_dir(&many).unwrap();
        let made = (0..).take_while(|number| File::create(many.join(number.to_string())).is_ok()).count();
        assert!((10..200).contains(&made), "{made} files were made");
        try_submit(&house).unwrap();
        let_go(&house);
        let shown = house.wait_for(&job, "failed");
        assert_eq!(shown["runs"][0]["exit_code"], 4);
        assert_ne!(house.state("new"), "failed");
        fs::remove_dir_all(many).unwrap();
        house.wait_for("new", "succeeded");
    });
}

#[test]
fn a_run_that_finds_too_little_room_to_begin_begins_later_and_is_no_failure() {
    if !is_root("mount a small disk") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(&place.path().join("runs"), "size=4m");
        let mut house = House::unopened_at(place.path());
        house.start();
        let ballast = house.data().join("runs/ballast");
        const PAGE: u64 = 4096;
        for pages in 0..3 {
            let full = fill(&house.data().join("runs"));
            let length = fs::metadata(&full).unwrap().len().next_multiple_of(PAGE);
            File::options().write(true).open(&full).unwrap().set_len(length - pages * PAGE).unwrap();
            let job = house.submit_line("tight", "echo ran");
            // Long enough for the server to try it more than once.
            holds_for(Duration::from_millis(1200), "it is not given up", || house.show(&job)["attempt"] == 1);
            assert!(text(&house.cli(&["nodes"]).stdout).contains("is full"), "{}", text(&house.cli(&["nodes"]).stdout));
            fs::remove_file(&ballast).unwrap();
            let shown = house.wait_for(&job, "succeeded");
            assert_eq!(shown["attempt"], 1, "{pages} pages: {shown:#}");
        }
    });
}

/// A real file system in a file, that can be made to fail as one on a dying disk does.
struct Image {
    file: PathBuf,
    at: PathBuf,
}

impl Image {
    fn make(file: PathBuf, at: PathBuf) -> Self {
        File::create(&file).unwrap().set_len(64 << 20).unwrap();
        run("mkfs.ext4", &["-q", file.to_str().unwrap()]);
        fs::create_dir_all(&at).unwrap();
        let image = Self { file, at };
        image.mount();
        image
    }

    fn mount(&self) {
        run("mount", &["-o", "loop", self.file.to_str().unwrap(), self.at.to_str().unwrap()]);
    }

    /// From now on nothing can be written, also by those who have files open.
    fn fail(&self) {
        run("mount", &["-o", "remount,abort", self.at.to_str().unwrap()]);
    }

    fn unmount(&self) {
        until("nobody uses the disk", || Command::new("umount").arg(&self.at).output().unwrap().status.success());
    }
}

fn run(program: &str, arguments: &[&str]) {
    let done = Command::new(program).args(arguments).output().unwrap();
    assert!(done.status.success(), "{program} {arguments:?}: {}", text(&done.stderr));
}

#[test]
fn a_disk_that_turns_read_only_stops_writing_and_nothing_else() {
    if !is_root("mount a disk and make it fail") || !has_program("mkfs.ext4", "make a file system") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        let image = Image::make(place.path().join("image"), place.path().join("data"));
        let mut house = House::unopened_at(&image.at);
        house.start();
        let old = house.submit_line("old", "echo words");
        house.wait_for(&old, "succeeded");
        let job = submit_patient(&house);
        let pid = house.show(&job)["runs"][0]["pid"].as_i64().unwrap();
        image.fail();
        let (status, code, message) = try_submit(&house).unwrap_err();
        assert_eq!((status, code.as_str()), (503, "storage_failed"), "{message}");
        assert!(message.contains("disk I/O error"), "{message}");
        assert_eq!(house.state(&job), "running");
        assert_eq!(house.log("old", "main-0"), "words\n");
        assert!(Path::new(&format!("/proc/{pid}")).exists());
        house.kill();
        let out = house.cli(&["up", "--data", house.data().to_str().unwrap(), "--listen", "127.0.0.1:0"]);
        assert_eq!(out.status.code(), Some(2), "{}", text(&out.stderr));
        assert!(text(&out.stderr).contains("Read-only file system"), "{}", text(&out.stderr));
        assert!(Path::new(&format!("/proc/{pid}")).exists(), "the task was harmed");
        let_go(&house);
        until("the child is gone", || !Path::new(&format!("/proc/{pid}")).exists());
        // It could neither write down how it ended nor tell anyone, and waits for somebody who listens. Asked to go, it goes.
        until("the supervisor goes", || {
            let left = house.supervisors();
            // SAFETY: plain system calls on processes of this test.
            left.iter().for_each(|pid| _ = unsafe { libc::kill(*pid, libc::SIGTERM) });
            left.is_empty()
        });
        image.unmount();
        image.mount();
        house.start();
        // So nobody knows, and it is tried once more.
        let shown = house.wait_for(&job, "failed");
        let states: Vec<&str> = shown["runs"].as_array().unwrap().iter().map(|run| run["state"].as_str().unwrap()).collect();
        assert_eq!(states, ["failed", "unknown"], "{shown:#}");
        drop(house);
        image.unmount();
    });
}

#[test]
fn a_sync_that_fails_is_never_taken_for_a_commit_nor_tried_again() {
    if !is_root("make system calls fail") || !has_program("strace", "make system calls fail") {
        return;
    }
    let mut house = House::new();
    let before = house.submit_line("before", "true");
    house.wait_for(&before, "succeeded");
    let job = submit_patient(&house);
    let failing = FailingCalls::of(house.server_pid(), &["-e", "trace=fsync,fdatasync", "-e", "inject=fsync,fdatasync:error=EIO"]);
    let (status, code, message) = try_submit(&house).unwrap_err();
    assert_eq!((status, code.as_str()), (503, "storage_failed"), "{message}");
    drop(failing);
    // The disk seems well again, but what it has lost nobody knows.
    assert_eq!(try_submit(&house).unwrap_err().1, "storage_failed");
    assert_eq!(house.state(&before), "succeeded");
    assert_eq!(house.state(&job), "running");
    house.restart();
    let_go(&house);
    assert_eq!(house.wait_for(&job, "failed")["attempt"], 1);
    try_submit(&house).unwrap();
    house.wait_for("new", "succeeded");
    assert_eq!(house.state(&before), "succeeded");
}

#[test]
fn an_ending_that_cannot_be_written_down_is_told_all_the_same() {
    if !is_root("make calls of a supervisor fail") || !has_program("strace", "make calls fail") {
        return;
    }
    let house = House::new();
    let job = submit_patient(&house);
    let supervisor = house.supervisors()[0].cast_unsigned();
    let _failing = FailingCalls::of(supervisor, &["-e", "trace=rename", "-e", "inject=rename:error=EROFS"]);
    let_go(&house);
    let shown = house.wait_for(&job, "failed");
    assert_eq!((&shown["runs"][0]["exit_code"], &shown["attempt"]), (&4.into(), &1.into()), "{shown:#}");
    // Whoever looks at it afterwards may give the record its name.
    let journal = std::fs::read_to_string(house.run_dir(&job, "main-0", 1).join("supervisor.log")).unwrap();
    assert!(journal.contains("the exit record could not be written"), "nothing failed: {journal}");
}
