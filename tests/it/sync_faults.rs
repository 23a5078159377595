//! Stores that are away, slow, full of excuses or cut off, and everyone who can die while output is saved: nothing is lost,
//! nothing is half, and the job's state is true.

use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt, sync::Mutex, time::Duration};

use model::volume::Volume;
use serde_json::{Value, json};

use super::{
    faulty::{Fault, Faulty},
    house::{House, holds_for, text, until, until_some},
    place::{is_root, mount_small_disk, with_own_mounts},
    stores::{ACCESS_KEY, Origin, S3Server, SECRET_KEY, block_on, keys, volume_at},
    sync::{add_volume, bucket, journal, read_object, sha256},
};

const TWO_CPUS: [&str; 6] = ["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"];
/// Three parts and a small file; it prints what the large one must be.
const WRITES: &str = "echo small > /output/small; head -c 20000000 /dev/urandom > /output/large; sha256sum < /output/large";

fn job(line: &str) -> String {
    json!({ "name": "digits", "output": "results:d", "roles": { "main": { "command": line } } }).to_string()
}

fn reason(house: &House, id: &str) -> String {
    house.show(id)["reason"].as_str().unwrap().to_owned()
}

/// Every byte is there, the list of them too, and nothing half.
fn is_saved(house: &House, server: &S3Server, id: &str) {
    let shown = house.wait_until_over(id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}", journal(house, id));
    assert_eq!(read_object(server, "d/small"), b"small\n");
    assert_eq!(format!("{}  -\n", sha256(&read_object(server, "d/large"))), house.log(id, "main-0"));
    let manifest: Value = serde_json::from_slice(&read_object(server, "d/.trainmaster/manifest-main-0.json")).unwrap();
    assert_eq!(manifest["files"].as_array().unwrap().len(), 2, "{manifest:#}");
    assert_eq!(server.half_uploads(), 0, "uploads were left half");
}

#[test]
fn a_store_that_is_down_at_the_end_holds_the_job_up_until_it_is_back() {
    let (house, mut server) = (House::new(), S3Server::start(Origin::Versity));
    bucket(&house, &server.volume());
    server.kill();
    let id = house.submit(&job(WRITES));
    house.wait_for(&id, "finishing");
    until("it says why", || reason(&house, &id).contains("cannot be reached now"));
    assert!(
        reason(&house, &id).contains("/output of main-0 is still being copied: 0 of 2 files are in results:d; "),
        "{}",
        reason(&house, &id)
    );
    let next_step =
        |lang: &str| house.get_json(&format!("/api/v1/jobs/{id}/explain?lang={lang}"))["next_step"].as_str().unwrap().to_owned();
    assert!(next_step("en").starts_with("what it wrote is kept here and tried again and again; `trainmaster sync "), "{}", next_step("en"));
    assert!(next_step("zh").starts_with("它写的文件都还在这里，会不断重试；"), "{}", next_step("zh"));
    holds_for(Duration::from_secs(1), "the job is not over", || house.state(&id) == "finishing");
    server.resume();
    is_saved(&house, &server, &id);
    assert!(next_step("en").starts_with("`trainmaster logs "), "{}", next_step("en"));
}

#[test]
fn bad_days_of_a_line_lose_nothing() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    let is_part = |line: &str| line.starts_with("PUT ") && line.contains("partNumber=");
    let faults = [
        Fault::Status(500),
        Fault::Status(503),
        Fault::TooMany { retry_after_s: 1 },
        Fault::CutUpload { after_bytes: 1_000_000 },
        Fault::LoseAnswer,
        Fault::Slow(Duration::from_millis(300)),
        Fault::Late(Duration::from_secs(1)),
    ];
    for fault in faults {
        let wrong = fault.clone();
        // Every part is wronged, and each as often as one call tries and once more.
        let parts = std::sync::atomic::AtomicUsize::new(0);
        faulty.plan(move |line, _| {
            let count = if is_part(line) { parts.fetch_add(1, std::sync::atomic::Ordering::SeqCst) } else { usize::MAX };
            if count < 15 { wrong.clone() } else { Fault::None }
        });
        let id = house.submit(&job(WRITES));
        is_saved(&house, &server, &id);
        assert!(faulty.faults() >= 3, "{fault:?} was tried {} times", faulty.faults());
        until("what was late has come", || faulty.is_idle());
        assert_eq!(server.half_uploads(), 0, "{fault:?} left something half");
    }
}

/// What is asked of a store about an upload in parts.
fn ask_of(line: &str) -> &'static str {
    match (line.split(' ').next().unwrap(), line.contains("uploadId="), line.contains("uploads")) {
        ("POST", false, true) => "begin",
        ("PUT", true, _) => "part",
        ("POST", true, _) => "complete",
        ("DELETE", true, _) => "abort",
        _ => "other",
    }
}

/// What is wrong with the first so many requests of a kind.
type Wrongs = &'static [(&'static str, usize, Fault)];

fn plan(faulty: &Faulty, wrongs: Wrongs) {
    let counts = Mutex::new(BTreeMap::new());
    faulty.plan(move |line, _| {
        let ask = ask_of(line);
        let count = *counts.lock().unwrap().entry(ask).and_modify(|count| *count += 1).or_insert(1);
        let wrong = wrongs.iter().find(|(of, most, _)| *of == ask && count <= *most);
        wrong.map_or(Fault::None, |(_, _, fault)| fault.clone())
    });
}

#[test]
fn an_upload_whose_beginning_or_end_got_lost_leaves_nothing_half() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    let plans: [Wrongs; 6] = [
        &[("begin", 1, Fault::LoseAnswer)],
        &[("begin", 5, Fault::LoseAnswer)],
        &[("complete", 1, Fault::LoseAnswer)],
        &[("complete", 5, Fault::LoseAnswer)],
        &[("part", 12, Fault::Status(500)), ("abort", 6, Fault::Refuse)],
        &[("part", 12, Fault::LoseAnswer), ("abort", 1, Fault::LoseAnswer)],
    ];
    for wrongs in plans {
        plan(&faulty, wrongs);
        let id = house.submit(&job(WRITES));
        is_saved(&house, &server, &id);
        assert!(faulty.faults() >= wrongs[0].1, "{wrongs:?}: {}", faulty.faults());
    }
}

#[test]
fn a_log_of_many_parts_leaves_nothing_half_either() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    let file = json!({ "name": "talks", "logs": "results:logs", "roles": { "main": { "command": "yes | head -c 10000000" } } });
    let plans: [Wrongs; 2] = [&[("begin", 5, Fault::LoseAnswer)], &[("part", 8, Fault::Status(500)), ("abort", 6, Fault::Refuse)]];
    for (number, wrongs) in plans.into_iter().enumerate() {
        plan(&faulty, wrongs);
        let id = house.submit(&file.to_string());
        assert_eq!(house.wait_until_over(&id)["state"], "succeeded", "{}", journal(&house, &id));
        assert_eq!(read_object(&server, &format!("logs/talks/{}/main-0.1.log", number + 1)).len(), 10_000_000);
        assert_eq!(server.half_uploads(), 0, "{wrongs:?}: uploads were left half");
        assert!(faulty.faults() >= wrongs[0].1, "{wrongs:?}: {}", faulty.faults());
    }
}

#[test]
fn who_is_not_let_in_says_so_and_goes_on_when_that_is_mended() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    for (fault, words) in [(Fault::Status(403), "does not let us in"), (Fault::Skewed { minutes: 42 }, "42 min")] {
        faulty.always(fault);
        let id = house.submit(&job(WRITES));
        house.wait_for(&id, "finishing");
        let said = until_some("it says why", || Some(reason(&house, &id)).filter(|it| it.contains("tries again in")));
        assert!(said.contains(words), "{said}");
        faulty.heal();
        assert!(house.cli(&["sync", "digits"]).status.success());
        is_saved(&house, &server, &id);
    }
}

#[test]
fn a_job_that_waits_for_keys_is_finished_by_giving_them() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let wrong = json!({ "access_key": ACCESS_KEY, "secret_key": "expired" });
    add_volume(&house, json!({ "name": "results", "volume": server.volume(), "credentials": wrong }));
    let id = house.submit(&job(WRITES));
    house.wait_for(&id, "finishing");
    until("it says why", || reason(&house, &id).contains("does not let us in"));
    let refused = text(&house.cli(&["volumes", "remove", "results"]).stderr);
    assert!(refused.contains("trainmaster volumes set"), "{refused}");
    for (name, key) in [("access", ACCESS_KEY), ("secret", SECRET_KEY)] {
        fs::write(house.place().join(name), key).unwrap();
        fs::set_permissions(house.place().join(name), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let set = house.cli(&["volumes", "set", "results", "--access-key-file", "access", "--secret-key-file", "secret"]);
    assert!(set.status.success(), "{}", text(&set.stderr));
    is_saved(&house, &server, &id);
    let shown = text(&house.get("/api/v1/volumes/results").unwrap());
    assert!(!shown.contains(SECRET_KEY) && !text(&set.stdout).contains(SECRET_KEY), "{shown}");
}

#[test]
fn a_volume_that_was_pointed_elsewhere_gets_all_of_it() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    faulty.plan(|line, _| if ask_of(line) == "other" { Fault::None } else { Fault::Status(403) });
    let id = house.submit(&job(WRITES));
    house.wait_for(&id, "finishing");
    until("the small one is there and the large one is not", || reason(&house, &id).contains("1 of 2 files are in results:d; "));
    assert!(house.cli(&["sync", "digits", "--give-up"]).status.success());
    house.wait_for(&id, "failed");
    assert!(house.cli(&["volumes", "remove", "results"]).status.success());
    let Volume::S3 { endpoint, bucket, region, virtual_host, .. } = server.volume() else { unreachable!("it is a bucket") };
    let elsewhere = Volume::S3 { endpoint, bucket, prefix: "elsewhere".into(), region, virtual_host };
    add_volume(&house, json!({ "name": "results", "volume": elsewhere, "credentials": keys() }));
    assert!(house.cli(&["sync", "digits"]).status.success());
    until("the job says so", || reason(&house, &id).ends_with("/output of main-0 was saved afterwards"));
    assert_eq!(read_object(&server, "elsewhere/d/small"), b"small\n");
    assert_eq!(format!("{}  -\n", sha256(&read_object(&server, "elsewhere/d/large"))), house.log(&id, "main-0"));
}

#[test]
fn a_task_that_fills_its_disk_with_output_keeps_all_that_it_wrote() {
    if !is_root("mount a small disk") {
        return;
    }
    let (place, server) = (tempfile::tempdir().unwrap(), S3Server::start(Origin::Versity));
    with_own_mounts(|| {
        mount_small_disk(&place.path().join("runs"), "size=24m");
        let mut house = House::unopened_at(place.path());
        house.start();
        bucket(&house, &server.volume());
        let id = house.submit(&job("echo model > /output/model; head -c 100000000 /dev/urandom > /output/huge || exit 3"));
        // Nobody makes room: the way out must not need any.
        let shown = house.wait_until_over(&id);
        assert_eq!((&shown["state"], &shown["runs"][0]["exit_code"]), (&"failed".into(), &3.into()), "{shown:#}");
        assert_eq!(read_object(&server, "d/model"), b"model\n");
        let huge = fs::read(house.output_dir(&id, "main-0").join("huge")).unwrap();
        assert!(huge.len() > 10 << 20, "{} bytes fitted", huge.len());
        assert_eq!(sha256(&read_object(&server, "d/huge")), sha256(&huge));
    });
}

fn kill_supervisors(house: &House) {
    for pid in house.supervisors() {
        // SAFETY: a plain system call on a process of this test.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
}

#[test]
fn whoever_is_killed_while_output_is_saved_it_is_saved() {
    let (mut house, server) = (House::new(), S3Server::start(Origin::Versity));
    let faulty = Faulty::before(&server.endpoint);
    bucket(&house, &volume_at(&faulty.endpoint));
    for (server_dies, supervisor_dies) in [(true, false), (false, true), (true, true)] {
        faulty.plan(|line, _| if line.contains("partNumber=") { Fault::Refuse } else { Fault::None });
        let id = house.submit(&job(WRITES));
        house.wait_for(&id, "finishing");
        until("it is being copied", || faulty.faults() > 0);
        if server_dies {
            house.kill();
        }
        if supervisor_dies {
            kill_supervisors(&house);
        }
        faulty.heal();
        if server_dies {
            house.start();
        }
        is_saved(&house, &server, &id);
    }
}

#[test]
fn whoever_dies_at_a_named_point_of_the_saving_it_is_saved_once_and_whole() {
    let server = S3Server::start(Origin::Versity);
    for point in
        ["sync.during-multipart", "sync.object-uploaded-before-manifest", "sync.manifest-before-commit", "sync.recorded-before-told"]
    {
        let mut house = House::unopened(&TWO_CPUS);
        house.crash_at(point);
        house.start();
        bucket(&house, &server.volume());
        let id = house.submit(&job(WRITES));
        is_saved(&house, &server, &id);
        assert!(house.crashed(), "nobody came to {point}");
    }
}

#[test]
fn a_nasty_tree_is_saved_as_far_as_it_can_be_and_nothing_from_outside_with_it() {
    let (house, server) = (House::new(), S3Server::start(Origin::Versity));
    bucket(&house, &server.volume());
    let canary = format!("canary-{}", std::process::id());
    fs::write(house.place().join("canary"), &canary).unwrap();
    fs::create_dir_all(house.place().join("code")).unwrap();
    fs::write(
        house.place().join("code/nasty.py"),
        r#"
import os, socket, sys
os.chdir("/output")
os.symlink("/etc/passwd", "out"); os.symlink("real", "inside"); os.symlink("loop", "loop"); os.symlink("..", "up")
os.symlink(sys.argv[1], "canary"); os.mkfifo("pipe")
socket.socket(socket.AF_UNIX).bind("socket")
open("real", "w").write("real"); os.link("real", "hard")
with open("sparse", "wb") as f: f.truncate(1 << 40)
with open("holes", "wb") as f: f.truncate(1 << 20)
open(b"bad\xff\xfename", "w").write("bytes"); open("new\nline", "w").write("line"); open("100%41", "w").write("percent")
open("n" * 255, "w").write("long")
deep = "."
for _ in range(1000):
    deep = os.path.join(deep, "d")
    os.mkdir(deep)
open(deep + "/bottom", "w").write("deep")
os.makedirs(".trainmaster"); open(".trainmaster/manifest-main-0.json", "w").write("forged")
"#,
    )
    .unwrap();
    let file = json!({ "name": "digits", "output": "results:d", "code": house.place().join("code"),
        "roles": { "main": { "command": ["python3", "/code/nasty.py", house.place().join("canary")] } } });
    let id = house.submit(&file.to_string());
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "succeeded", "{shown:#}\n{}\n{}", journal(&house, &id), house.log(&id, "main-0"));
    let manifest: Value = serde_json::from_slice(&read_object(&server, "d/.trainmaster/manifest-main-0.json")).unwrap();
    let mut files: Vec<&str> = manifest["files"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    files.sort_unstable();
    assert_eq!(files, ["100%2541", "bad%FF%FEname", "hard", "holes", "new%0Aline", &"n".repeat(255), "real"]);
    assert_eq!((read_object(&server, "d/bad%FF%FEname"), read_object(&server, "d/hard")), (b"bytes".to_vec(), b"real".to_vec()));
    let mut links: Vec<&str> = manifest["links"].as_array().unwrap().iter().map(|it| it["path"].as_str().unwrap()).collect();
    links.sort_unstable();
    assert_eq!(links, ["inside", "loop"]);
    let skipped = manifest["skipped"].to_string();
    for word in [
        "out: is a link",
        "up: is a link",
        "canary: is a link",
        "pipe: is a pipe",
        "socket: is a socket",
        "sparse: is a file of 1099511627776",
        "bottom: its path",
        ".trainmaster/manifest",
    ] {
        assert!(skipped.contains(word), "{word} in {skipped}");
    }
    let entries: Vec<_> = block_on(futures_util::TryStreamExt::try_collect(server.store().list(""))).unwrap();
    for entry in entries {
        let entry: trainmaster::volumes::Entry = entry;
        let bytes = read_object(&server, &entry.path);
        assert!(!bytes.windows(canary.len()).any(|it| it == canary.as_bytes()) && !bytes.starts_with(b"root:"), "{}", entry.path);
    }
}

#[test]
fn a_job_begins_with_what_a_former_version_left_or_with_the_files_of_a_place() {
    let house = House::new();
    let results = house.place().join("results");
    fs::create_dir_all(&results).unwrap();
    add_volume(&house, json!({ "name": "results", "volume": { "kind": "local", "path": results } }));
    let first = house.submit(&job("mkdir /output/run; echo one > /output/run/checkpoint"));
    assert_eq!(house.wait_until_over(&first)["state"], "succeeded");
    let again = |from: &str, line: &str| {
        json!({ "name": "digits", "output": "results", "from": from, "roles": { "main": { "command": line } } }).to_string()
    };
    let line = "cat /output/run/checkpoint; echo $TRAINMASTER_FROM; echo two >> /output/run/checkpoint";
    let second = house.submit(&again("digits@1", line));
    assert_eq!(house.wait_until_over(&second)["state"], "succeeded", "{}", journal(&house, &second));
    assert_eq!(house.log(&second, "main-0"), "one\ndigits@1\n");
    assert_eq!(fs::read_to_string(results.join("digits/2/run/checkpoint")).unwrap(), "one\ntwo\n");
    assert_eq!(fs::read_to_string(results.join("d/run/checkpoint")).unwrap(), "one\n", "the former version stays as it was");
    let third = house.submit(&again("results:digits/2", line));
    assert_eq!(house.wait_until_over(&third)["state"], "succeeded", "{}", journal(&house, &third));
    assert_eq!(house.log(&third, "main-0"), "one\ntwo\nresults:digits/2\n");
    let refused = house.call(trainmaster::client::Call::post("/api/v1/jobs", again("nobody@7", "true"))).unwrap_err();
    assert!(refused.to_string().contains("there is no job `nobody@7`"), "{refused}");
}

#[test]
fn a_job_begins_with_a_former_version_when_the_disk_has_room_for_it_and_says_so_before() {
    if !is_root("mount a small disk") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(&place.path().join("runs"), "size=24m");
        let mut house = House::unopened_at(place.path());
        house.start();
        let first = house.submit(
            &json!({ "name": "digits", "roles": { "main": { "command": "head -c 8388608 /dev/zero > /output/model" } } }).to_string(),
        );
        assert_eq!(house.wait_until_over(&first)["state"], "succeeded");
        let ballast = house.data().join("runs/ballast");
        fs::write(&ballast, vec![0; 8 << 20]).unwrap();
        let file = json!({ "name": "digits", "from": "digits@1", "roles": { "main": { "command": "wc -c < /output/model" } } });
        let second = house.submit(&file.to_string());
        let said =
            until_some("it says what it lacks", || Some(reason(&house, &second)).filter(|it| it.contains("the disk of /output has")));
        assert!(said.contains("digits@1 has 8MiB in 1 file; "), "{said}");
        let parts = fs::read_dir(house.data().join("runs").join(&second))
            .unwrap()
            .flatten()
            .filter(|it| it.path().extension() == Some("part".as_ref()));
        assert_eq!(parts.count(), 0, "nothing half is left");
        fs::remove_file(ballast).unwrap();
        assert_eq!(house.wait_until_over(&second)["state"], "succeeded", "{}", journal(&house, &second));
        assert_eq!(house.log(&second, "main-0"), "8388608\n");
    });
}
