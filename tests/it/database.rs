//! The database is somebody else's, locked, damaged, newer or older: the server says so, changes nothing it
//! does not understand, and no task pays for it.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use rusqlite::Connection;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, text, until};

/// A task that ends with code 4 when it may, and the pid of its main process.
fn patient(house: &House) -> (String, i64) {
    let line = "echo up; until [ -e /input/go ]; do sleep 0.02; done; exit 4";
    let file = serde_json::json!({ "name": "patient", "input": house.place(), "roles": { "main": { "cpus": 0.5, "command": line } } });
    let job = house.submit(&file.to_string());
    let pid = house.wait_for(&job, "running")["runs"][0]["pid"].as_i64().unwrap();
    (job, pid)
}

fn is_alive(pid: i64) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

/// Lets the task go, and sees it end as it should.
fn ends_well(house: &House, job: &str, pid: i64) {
    let shown = house.show(job);
    assert_eq!((shown["state"].as_str(), shown["runs"][0]["pid"].as_i64()), (Some("running"), Some(pid)), "{shown:#}");
    fs::write(house.place().join("go"), "").unwrap();
    let shown = house.wait_for(job, "failed");
    assert_eq!((&shown["runs"][0]["exit_code"], &shown["attempt"]), (&4.into(), &1.into()), "{shown:#}");
}

/// What a server says that should not start here.
fn refused(house: &House) -> String {
    let out = house.cli(&["up", "--data", house.data().to_str().unwrap(), "--listen", "127.0.0.1:0"]);
    let said = text(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{said}");
    said.replace(house.data().to_str().unwrap(), "DATA")
}

fn file(house: &House) -> PathBuf {
    house.data().join("store.db")
}

/// Everything of the database in the one file, as it is after a clean stop.
fn settle(house: &House) -> Vec<u8> {
    Connection::open(file(house)).unwrap().execute_batch("PRAGMA wal_checkpoint(TRUNCATE)").unwrap();
    fs::read(file(house)).unwrap()
}

/// As somebody does who means it.
fn put(house: &House, bytes: &[u8]) {
    for log in ["store.db-wal", "store.db-shm", "store.mark"] {
        drop(fs::remove_file(house.data().join(log)));
    }
    fs::write(file(house), bytes).unwrap();
}

#[test]
fn a_second_server_is_refused_also_while_the_first_is_frozen_and_may_come_when_it_is_dead() {
    let mut house = House::new();
    let (job, pid) = patient(&house);
    let first = house.server_pid();
    // SAFETY: plain system calls on a process of this test.
    let signal = |signal| unsafe { libc::kill(first.cast_signed(), signal) };
    signal(libc::SIGSTOP);
    let began = Instant::now();
    let said = refused(&house);
    assert!(said.contains("DATA is in use by another server") && said.contains(&format!("process {first} on ")), "{said}");
    assert!(began.elapsed() < Duration::from_secs(5));
    signal(libc::SIGCONT);
    assert_eq!(house.state(&job), "running");
    house.kill();
    house.start();
    ends_well(&house, &job, pid);
}

#[test]
fn a_server_whose_lock_was_taken_from_it_writes_nothing_any_more() {
    let house = House::new();
    fs::remove_file(house.data().join("lock")).unwrap();
    let mut second = House::unopened_at(&house.data());
    let url = house.url();
    second.start();
    let (job, pid) = patient(&second);
    let client = trainmaster::client::Client::new(&url, house.token()).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    match runtime.block_on(client.call(Call::post("/api/v1/jobs", "{name: late, roles: {main: {command: 'true'}}}"))) {
        Err(ClientError::Refused(status, body)) => {
            assert_eq!((status.as_u16(), body.code.as_str()), (503, "storage_failed"));
            assert!(body.message.contains("another server has taken over this data directory"), "{}", body.message);
        }
        other => panic!("{other:?}"),
    }
    ends_well(&second, &job, pid);
    assert_eq!(second.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn a_database_that_is_held_by_someone_else_makes_writers_wait_and_then_say_so() {
    let house = House::new();
    let (job, pid) = patient(&house);
    let holder = Connection::open(file(&house)).unwrap();
    holder.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let began = Instant::now();
    let submit = || house.call(Call::post("/api/v1/jobs", "{name: new, roles: {main: {command: 'true'}}}").header("idempotency-key", "k"));
    match submit() {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.code.as_str()), (503, "busy")),
        other => panic!("{other:?}"),
    }
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
    assert_eq!(house.state(&job), "running", "reading does not wait");
    assert!(is_alive(pid));
    fs::write(house.place().join("go"), "").unwrap();
    until("the ending is written down", || house.run_dir(&job, "main-0", 1).join("exit.json").exists());
    assert_eq!(house.state(&job), "running");
    holder.execute_batch("ROLLBACK").unwrap();
    let shown = house.wait_for(&job, "failed");
    assert_eq!((&shown["runs"][0]["exit_code"], &shown["attempt"]), (&4.into(), &1.into()));
    submit().unwrap();
    house.wait_for("new", "succeeded");
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 2);
}

#[test]
fn a_damaged_or_newer_database_is_refused_and_left_as_it_is_and_no_task_is_touched() {
    let mut house = House::new();
    let (job, pid) = patient(&house);
    house.kill();
    let good = settle(&house);
    let with = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = good.clone();
        change(&mut bytes);
        bytes
    };
    let harm: Vec<(Vec<u8>, &str)> = vec![
        (Vec::new(), "is empty: it has lost its content"),
        (good[..good.len() / 2].to_vec(), "is damaged"),
        (good[..80].to_vec(), "is damaged: it has only 80 bytes"),
        (with(&|bytes| bytes[4096..12288].fill(0xaa)), "is damaged"),
        (with(&|bytes| bytes[..16].fill(0)), "is not a database of Trainmaster"),
        // The number of the last migration, in the header.
        (with(&|bytes| bytes[60..64].copy_from_slice(&99_u32.to_be_bytes())), "was written by a newer Trainmaster (database version 99"),
    ];
    for (bytes, wanted) in harm {
        put(&house, &bytes);
        let said = refused(&house);
        assert!(said.contains("DATA/store.db") && said.contains(wanted), "{wanted}: {said}");
        assert!(["Put a backup", "Give another directory", "Install the newer one"].iter().any(|way_out| said.contains(way_out)), "{said}");
        assert!(fs::read(file(&house)).unwrap() == bytes, "{wanted}: the file was changed");
        assert!(is_alive(pid));
    }
    put(&house, &good);
    house.start();
    ends_well(&house, &job, pid);
}

#[test]
fn a_database_that_was_lost_is_not_made_anew_over_its_log() {
    let mut house = House::new();
    let (job, pid) = patient(&house);
    house.kill();
    let aside = house.place().join("store.db");
    fs::rename(file(&house), &aside).unwrap();
    let said = refused(&house);
    assert!(said.contains("DATA/store.db is missing, but its write-ahead log DATA/store.db-wal is there"), "{said}");
    assert!(!file(&house).exists());
    fs::rename(aside, file(&house)).unwrap();
    house.start();
    ends_well(&house, &job, pid);
}

#[test]
fn a_database_that_has_lost_its_log_is_refused_until_it_is_back_or_somebody_says_to_go_on() {
    let mut house = House::new();
    house.submit_line("first", "true");
    house.wait_until_over("first");
    house.kill();
    settle(&house);
    house.start();
    // Whoever was answered has it on the disk, in the log.
    let job = house.submit_line("second", "true");
    house.wait_until_over("second");
    house.kill();
    let (log, aside) = (house.data().join("store.db-wal"), house.place().join("aside"));
    fs::rename(&log, &aside).unwrap();
    let before = fs::read(file(&house)).unwrap();
    let said = refused(&house);
    assert!(said.contains("DATA/store.db is older than it was: its last ") && said.contains("delete DATA/store.mark"), "{said}");
    assert!(fs::read(file(&house)).unwrap() == before, "it is left as it was");
    fs::rename(&aside, &log).unwrap();
    house.start();
    assert_eq!(house.state(&job), "succeeded");
    house.kill();

    fs::remove_file(&log).unwrap();
    assert!(refused(&house).contains("is older than it was"));
    fs::remove_file(house.data().join("store.mark")).unwrap();
    house.start();
    assert_eq!((house.state("first").as_str(), house.get(&format!("/api/v1/jobs/{job}")).is_err()), ("succeeded", true));
}

#[test]
fn a_database_from_an_older_backup_costs_no_task_its_life() {
    let mut house = House::new();
    house.kill();
    let older = settle(&house);
    house.start();
    let (job, pid) = patient(&house);
    house.kill();
    let newer = settle(&house);

    put(&house, &older);
    house.start();
    // A job of its own, long enough for the server to look around meanwhile.
    let other = house.submit_line("other", "sleep 0.6");
    house.wait_for(&other, "succeeded");
    assert!(is_alive(pid));
    let about = house.get_json("/api/v1/about")["quarantined"].to_string();
    assert!(about.contains(&format!("run {job}:main-0:1: it is on the disk but not in the database")), "{about}");
    let shown = house.cli(&["lost"]);
    assert!(text(&shown.stdout).contains(&format!("{job}:main-0:1")), "{}", text(&shown.stdout));
    house.kill();

    put(&house, &newer);
    house.start();
    ends_well(&house, &job, pid);
}

#[test]
fn a_run_that_the_database_does_not_know_is_ended_when_the_operator_says_so() {
    let mut house = House::new();
    house.kill();
    let older = settle(&house);
    house.start();
    let runs: Vec<(String, i64)> = ["keep", "erase"].map(|_| patient(&house)).into();
    house.kill();
    put(&house, &older);
    house.start();
    until("both are met", || house.get_json("/api/v1/lost").as_array().unwrap().len() == 2);
    for ((job, pid), erase) in runs.iter().zip([&[][..], &["--erase"]]) {
        assert!(is_alive(*pid));
        let run = format!("{job}:main-0:1");
        let out = house.cli(&[&["lost", "end", run.as_str()], erase].concat());
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        until("it is gone", || !is_alive(*pid));
        assert_eq!(house.cli(&["lost", "end", &run]).status.code(), Some(2));
    }
    assert_eq!(text(&house.cli(&["lost"]).stdout), "every run on the disk is in the database\n");
    until("the files of one are gone", || !house.data().join("runs").join(&runs[1].0).exists());
    assert!(house.run_dir(&runs[0].0, "main-0", 1).join("output.log").exists());
}
