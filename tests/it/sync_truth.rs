//! A job has succeeded when all that can be outside is outside, and as it is now.

use std::{fs, path::PathBuf};

use serde_json::json;

use super::{
    faulty::{Fault, Faulty},
    house::{House, processes, until, until_some},
    place::{FailingCalls, has_program, is_root},
    stores::{Origin, S3Server, volume_at},
    sync::{add_volume, bucket, journal, read_object},
};

fn local_volume(house: &House) -> PathBuf {
    let directory = house.place().join("results");
    fs::create_dir_all(&directory).unwrap();
    add_volume(house, json!({ "name": "results", "volume": { "kind": "local", "path": directory } }));
    directory.join("digits/1")
}

fn job(line: &str) -> String {
    json!({ "name": "digits", "output": "results", "roles": { "main": { "command": line } } }).to_string()
}

fn let_go(house: &House, name: &str) {
    fs::write(house.data().join("cache").join(name), "").unwrap();
}

fn wait_for(name: &str) -> String {
    format!("until [ -e /cache/{name} ]; do sleep 0.05; done")
}

/// The process that copies the output of the only task.
fn porter_of(house: &House) -> u32 {
    let place = house.place().to_owned();
    let is_ours = move |pid: &i32| {
        let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        let mut open = files.filter_map(|file| fs::read_link(file.path()).ok());
        words.split(|byte| *byte == 0).nth(1) == Some(b"porter") && open.any(|it| it.starts_with(&place))
    };
    until_some("somebody copies", || processes().into_iter().find(&is_ours)).cast_unsigned()
}

#[test]
fn a_file_that_cannot_be_read_for_a_while_holds_the_job_up_and_nothing_else() {
    if !is_root("make system calls fail") || !has_program("strace", "make system calls fail") {
        return;
    }
    let house = House::new();
    let results = local_volume(&house);
    let id = house.submit(&job(&format!("{}; echo precious > /output/model; echo other > /output/other", wait_for("go"))));
    house.wait_for(&id, "running");
    let output = house.output_dir(&id, "main-0").join("model");
    // Whoever comes after this one reads as ever.
    let failing =
        FailingCalls::of(porter_of(&house), &["-P", output.to_str().unwrap(), "-e", "trace=pread64", "-e", "inject=pread64:error=EIO"]);
    let_go(&house, "go");
    let reason = || house.show(&id)["reason"].as_str().unwrap_or_default().to_owned();
    let said = until_some("it says why", || Some(reason()).filter(|it| it.contains("Input/output error")));
    assert!(said.contains("model cannot be read now"), "{said}");
    drop(failing);
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}", journal(&house, &id));
    assert_eq!(fs::read_to_string(results.join("model")).unwrap(), "precious\n");
    assert_eq!(shown["runs"][0]["sync"]["skipped"], json!([]), "{shown:#}");
}

#[test]
fn what_was_a_file_may_become_a_directory_and_a_file_again() {
    let house = House::new();
    let results = local_volume(&house);
    let line = [
        "echo one > /output/best; mkdir /output/last; echo x > /output/last/x; mkdir /output/kept; echo y > /output/kept/y",
        &wait_for("turn"),
        "rm /output/best; mkdir /output/best; echo two > /output/best/model",
        "rm -r /output/last; echo three > /output/last",
        "mv /output/kept /output/aside; echo four > /output/kept",
        &wait_for("back"),
        "rm /output/kept; mv /output/aside /output/kept",
    ];
    let id = house.submit(&job(&line.join("; ")));
    let outside = |name: &str| fs::read_to_string(results.join(name)).unwrap_or_default();
    until("all is outside", || (outside("best"), outside("last/x"), outside("kept/y")) == ("one\n".into(), "x\n".into(), "y\n".into()));
    let_go(&house, "turn");
    until("it has turned", || {
        (outside("best/model"), outside("last"), outside("kept")) == ("two\n".into(), "three\n".into(), "four\n".into())
    });
    let_go(&house, "back");
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}", journal(&house, &id));
    assert_eq!((outside("best/model"), outside("last"), outside("kept/y")), ("two\n".into(), "three\n".into(), "y\n".into()));
    assert_eq!(shown["runs"][0]["sync"]["skipped"], json!([]), "{shown:#}");
    let replaced = fs::read_dir(results.join(".trainmaster/replaced")).unwrap().count();
    assert_eq!(replaced, 4, "nothing outside is deleted");
    let names = fs::read_dir(&results).unwrap().flatten().map(|it| it.file_name().into_string().unwrap());
    assert_eq!(names.filter(|it| it.contains("part")).count(), 0, "nothing half is left");
}

#[test]
fn a_log_that_never_rests_is_outside_while_the_job_runs_and_a_checkpoint_in_the_making_is_not() {
    let house = House::new();
    let results = local_volume(&house);
    let line = "i=0; exec 3> /output/model.pt; while [ ! -e /cache/go ]; do i=$((i+1)); echo $i >> /output/train.log; echo $i >&3; sleep 0.2; done";
    let id = house.submit(&job(line));
    let outside = || fs::read_to_string(results.join("train.log")).unwrap_or_default();
    until("some of the log is outside", || !outside().is_empty());
    assert_eq!(house.state(&id), "running");
    let (some, all) = (outside(), fs::read_to_string(house.output_dir(&id, "main-0").join("train.log")).unwrap());
    assert!(all.starts_with(&some) && some.starts_with("1\n2\n"), "{some}");
    assert!(!results.join("model.pt").exists());
    let_go(&house, "go");
    assert_eq!(house.wait_until_over(&id)["state"], "succeeded", "{}", journal(&house, &id));
    for name in ["train.log", "model.pt"] {
        assert_eq!(fs::read(results.join(name)).unwrap(), fs::read(house.output_dir(&id, "main-0").join(name)).unwrap());
    }
}

#[test]
fn a_file_that_the_store_refuses_holds_the_job_up_and_the_others_go_out() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    for (status, told) in [(418, "; model is not taken by results:d/418/model"), (403, "; results:d/403/model does not let us in")] {
        faulty.plan(move |line, _| if line.starts_with("PUT ") && line.contains("/model") { Fault::Status(status) } else { Fault::None });
        // Whatever comes after it on its way out comes by.
        let writes = "echo precious > /output/model; for i in $(seq 40); do echo other > /output/z$i; done";
        let spec = json!({ "name": "digits", "output": format!("results:d/{status}"), "roles": { "main": { "command": writes } } });
        let id = house.submit(&spec.to_string());
        let reason = || house.show(&id)["reason"].as_str().unwrap_or_default().to_owned();
        let said = until_some("it says why", || Some(reason()).filter(|it| it.contains(told)));
        assert!(said.contains(&format!("40 of 41 files are in results:d/{status}{told}")), "{said}");
        assert_eq!((house.state(&id).as_str(), read_object(&server, &format!("d/{status}/z40"))), ("finishing", b"other\n".to_vec()));
        faulty.heal();
        let shown = house.wait_until_over(&id);
        assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}", journal(&house, &id));
        assert_eq!(read_object(&server, &format!("d/{status}/model")), b"precious\n");
        assert_eq!(shown["runs"][0]["sync"]["skipped"], json!([]), "{shown:#}");
    }
}
