//! Inputs from stores: the same paths, fetched once, taken up where a line or a porter broke, and removed only
//! when nobody uses them.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::Write,
    sync::{Arc, Mutex},
    time::Duration,
};

use model::{task::Whose, volume::Volume};

use super::{
    faulty::{Fault, Faulty},
    house::{holds_for, until, until_some},
    place::{has_program, is_root, mount_small_disk, with_own_mounts},
    porter::{Errands, Refusal, tree},
    stores::{ORIGINS, Origin, S3Server, block_on, volume_at},
    web_files::WebFiles,
};

mod lent;
mod unversioned;

/// Here a porter dies in the middle of a file.
const A_PIECE: &str = "input.piece-written";
const MIB: usize = 1 << 20;
const PATIENCE_MS: u64 = 3_000;
const CODE_BYTES_MAX: u64 = 200 << 20;

/// Bytes that are not all the same, so that a piece in the wrong place is seen.
fn content(seed: usize, length: usize) -> Vec<u8> {
    (0..length).map(|at| (at / 7 + at % 251 + seed * 31) as u8).collect()
}

fn put(server: &S3Server, files: &BTreeMap<String, Vec<u8>>) {
    let store = server.store();
    block_on(async {
        for (path, bytes) in files {
            store.put_bytes(path, bytes.clone().into()).await.unwrap();
        }
    });
}

fn three_files() -> BTreeMap<String, Vec<u8>> {
    [("mnist/a", 10), ("mnist/b/c", 200_000), ("mnist/b/d e+ü%2F.bin", 0)]
        .map(|(path, length)| (path.to_owned(), content(length, length)))
        .into()
}

fn below(files: &BTreeMap<String, Vec<u8>>, directory: &str) -> BTreeMap<String, Vec<u8>> {
    files.iter().filter_map(|(path, bytes)| Some((path.strip_prefix(directory)?.to_owned(), bytes.clone()))).collect()
}

/// Which objects are fetched by way of a line, from now on.
fn fetched(line: &Faulty) -> Arc<Mutex<Vec<String>>> {
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let noting = seen.clone();
    line.plan(move |first, _| {
        if first.starts_with("GET ") && !first.contains("list-type") {
            noting.lock().unwrap().push(first.split(' ').nth(1).unwrap().to_owned());
        }
        Fault::None
    });
    seen
}

fn taken(seen: &Mutex<Vec<String>>) -> Vec<String> {
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.sort();
    all
}

#[test]
fn paths_are_those_of_the_bucket_and_a_second_job_downloads_nothing() {
    for origin in ORIGINS {
        let server = S3Server::start(origin);
        let files = three_files();
        put(&server, &files);
        let line = Faulty::before(&server.endpoint);
        let errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
        let seen = fetched(&line);
        assert_eq!(tree(&errands.send("data:mnist").input()), below(&files, "mnist/"), "{origin:?}");
        assert_eq!(taken(&seen), ["/bucket/mnist/a", "/bucket/mnist/b/c"], "an empty file is not worth a request");
        assert_eq!(tree(&errands.send("data:mnist").input()), below(&files, "mnist/"));
        assert_eq!(taken(&seen), [""; 0]);
        // Another part of the same bucket shares what it can.
        assert_eq!(tree(&errands.send("data:").input()), files);
        assert_eq!(taken(&seen), [""; 0]);
        assert_eq!(tree(&errands.send("data:mnist/a").input()), [("a".to_owned(), content(10, 10))].into());
        assert_eq!(taken(&seen), [""; 0]);
    }
}

#[test]
fn only_an_object_that_changed_is_fetched_again() {
    let server = S3Server::start(Origin::Minio);
    let mut files = three_files();
    put(&server, &files);
    let line = Faulty::before(&server.endpoint);
    let errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    let mut first = errands.send("data:mnist");
    let old = first.input();
    let seen = fetched(&line);
    files.insert("mnist/a".into(), b"otherwise!".to_vec());
    put(&server, &files);
    assert_eq!(tree(&errands.send("data:mnist").input()), below(&files, "mnist/"));
    assert_eq!(taken(&seen), ["/bucket/mnist/a"]);
    assert_eq!(fs::read(old.join("a")).unwrap(), content(10, 10), "a task that runs keeps what it began with");
}

#[test]
fn two_jobs_at_once_download_once() {
    let server = S3Server::start(Origin::Versity);
    let files: BTreeMap<String, Vec<u8>> = (0..40).map(|number| (format!("d/{number}"), content(number, 50_000))).collect();
    put(&server, &files);
    let line = Faulty::before(&server.endpoint);
    let errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    let seen = fetched(&line);
    let mut porters: Vec<_> = (0..3).map(|_| errands.send("data:d")).collect();
    let places: Vec<_> = porters.iter_mut().map(|porter| porter.input()).collect();
    assert!(places.iter().all(|place| *place == places[0]));
    assert_eq!(tree(&places[0]), below(&files, "d/"));
    assert_eq!(taken(&seen).len(), 40);
}

#[test]
fn a_killed_porter_s_work_is_taken_up() {
    let twentieth_piece = format!("{A_PIECE}#20");
    for point in [twentieth_piece.as_str(), "input.made-before-marked"] {
        let server = S3Server::start(Origin::Minio);
        let files: BTreeMap<String, Vec<u8>> = (0..4).map(|number| (format!("d/{number}"), content(number, 2 * MIB))).collect();
        put(&server, &files);
        let line = Faulty::before(&server.endpoint);
        let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
        errands.crash_at(Some(point));
        assert!(errands.send("data:d").back().is_err(), "{point}: it dies");
        let kept: u64 = ["parts", "blobs"].iter().flat_map(|it| errands.cached(it)).map(|it| fs::metadata(it).unwrap().len()).sum();
        assert!(kept > 0, "{point}");
        errands.crash_at(None);
        let (seen, got) = (fetched(&line), tree(&errands.send("data:d").input()));
        assert!(got == below(&files, "d/"), "{point}");
        let most = if point == twentieth_piece { 4 } else { 0 };
        assert!(taken(&seen).len() <= most, "{point}: what was whole is not fetched again");
        assert!(errands.cached("parts").is_empty());
    }
}

#[test]
fn what_was_whole_when_another_file_was_refused_is_kept_even_by_whoever_dies_of_it() {
    let server = S3Server::start(Origin::Minio);
    let files = four_files(&server);
    let line = Faulty::before(&server.endpoint);
    line.plan(|first, _| if first.contains("/d/3") { Fault::Status(403) } else { Fault::None });
    let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    errands.crash_at(Some("input.synced-before-kept"));
    assert!(errands.send("data:d").back().is_err(), "it dies");
    errands.crash_at(None);
    assert_eq!(errands.send("data:d").refusal().whose, Whose::User);
    let seen = fetched(&line);
    assert!(tree(&errands.send("data:d").input()) == below(&files, "d/"));
    assert!(taken(&seen).contains(&"/bucket/d/3".to_owned()));
}

fn four_files(server: &S3Server) -> BTreeMap<String, Vec<u8>> {
    let files: BTreeMap<String, Vec<u8>> = (0..4).map(|number| (format!("d/{number}"), content(number, MIB))).collect();
    put(server, &files);
    files
}

#[test]
fn what_came_before_a_cut_does_not_come_again() {
    let web = WebFiles::start();
    web.put("data/big.bin", "v1", &content(1, 2 * MIB));
    let errands = Errands::new(&[]);
    web.cut_next(2);
    let mut porter = errands.send(&web.url("data/big.bin?key=x"));
    assert!(tree(&porter.input()) == [("big.bin".to_owned(), content(1, 2 * MIB))].into());
    assert_eq!(web.asked()[..2], ["HEAD /data/big.bin", "GET /data/big.bin"]);
    drop(porter);
    // A second time it is only asked whether it is still the same.
    errands.send(&web.url("data/big.bin?key=x")).input();
    assert_eq!(web.asked(), ["HEAD /data/big.bin"]);
    web.put("data/big.bin", "v2", b"new");
    assert_eq!(tree(&errands.send(&web.url("data/big.bin?key=x")).input())["big.bin"], b"new");
    assert_eq!(web.asked(), ["HEAD /data/big.bin", "GET /data/big.bin"]);
}

#[test]
fn a_porter_that_died_in_the_middle_of_a_file_asks_for_the_rest() {
    let web = WebFiles::start();
    web.put("big", "v1", &content(2, 4 * MIB));
    let mut errands = Errands::new(&[]);
    errands.crash_at(Some(&format!("{A_PIECE}#9")));
    assert!(errands.send(&web.url("big")).back().is_err());
    let there = fs::metadata(&errands.cached("parts")[0]).unwrap().len();
    assert!(there > 0 && there < 4 * MIB as u64);
    web.asked();
    errands.crash_at(None);
    assert!(tree(&errands.send(&web.url("big")).input())["big"] == content(2, 4 * MIB));
    assert_eq!(web.asked(), ["HEAD /big".to_owned(), format!("GET /big {there}-")]);
}

#[test]
fn bad_lines_are_borne() {
    let server = S3Server::start(Origin::Minio);
    let files: BTreeMap<String, Vec<u8>> = (0..6).map(|number| (format!("d/{number}"), content(number, 300_000))).collect();
    put(&server, &files);
    let line = Faulty::before(&server.endpoint);
    let faults = [
        Fault::Status(500),
        Fault::Status(503),
        Fault::TooMany { retry_after_s: 1 },
        Fault::Refuse,
        Fault::LoseAnswer,
        Fault::CutDownload { after_bytes: 100_000 },
        Fault::Slow(Duration::from_millis(300)),
    ];
    for fault in faults {
        let errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
        line.every(3, fault.clone());
        let got = tree(&errands.send("data:d").input());
        assert!(got == below(&files, "d/") && line.faults() > 0, "{fault:?}");
    }
}

#[test]
fn a_store_that_stays_away_is_the_platform_s_failure_and_one_that_says_no_the_user_s() {
    let mut server = S3Server::start(Origin::Versity);
    put(&server, &three_files());
    let line = Faulty::before(&server.endpoint);
    let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    errands.rules(None, PATIENCE_MS, CODE_BYTES_MAX);
    // It goes away in the middle, and for good.
    line.plan(|first, _| if first.contains("list-type") { Fault::None } else { Fault::Refuse });
    let mut porter = errands.send("data:mnist");
    let Refusal { why, whose } = porter.refusal();
    assert_eq!(whose, Whose::Platform);
    assert!(why.contains("data:mnist/") && why.contains("nothing came for 3s, though it was tried again and again"), "{why}");
    assert!(porter.said.iter().any(|words| words.starts_with("waits and tries again: data:mnist/")), "{:?}", porter.said);
    line.heal();
    server.kill();
    let Refusal { why, whose } = errands.send("data:mnist").refusal();
    assert!(whose == Whose::Platform && why.contains("data:mnist cannot be reached now"), "{why}");
    server.resume();
    assert_eq!(tree(&errands.send("data:mnist").input()).len(), 3, "and then it goes on");
    for (location, said) in [
        ("data:nothing/here", "data:nothing/here is not there: no such file"),
        ("gone:x", "the volume `gone` is not there any more; `trainmaster volumes list` shows those that are"),
    ] {
        assert_eq!(errands.send(location).refusal(), Refusal { why: said.into(), whose: Whose::User });
    }
    line.always(Fault::Status(403));
    let Refusal { why, whose } = errands.send("data:mnist").refusal();
    assert!(whose == Whose::User && why.contains("does not let us in"), "{why}");
}

#[test]
fn keys_that_cannot_be_files_are_refused_by_name() {
    for (keys, said) in [
        (vec!["a", "a/b"], "`a` is a file and `a/b` would have to be in it"),
        (vec!["x/../../etc/passwd"], "the bucket has the key `x/../../etc/passwd`, which cannot be a file's path"),
        (vec!["/abs"], "the bucket has the key `/abs`"),
        (vec!["a//b"], "the bucket has the key `a//b`"),
        (vec!["./a"], "the bucket has the key `./a`"),
        (vec!["d/", "d"], "`d` is a file and `d/` would have to be in it"),
    ] {
        let web = WebFiles::start();
        keys.iter().for_each(|key| web.put(key, "v1", if key.ends_with('/') { b"" } else { b"x" }));
        let errands = Errands::new(&[("data", web.bucket())]);
        let Refusal { why, whose } = errands.send("data:").refusal();
        assert!(whose == Whose::User && why.contains(said), "{why}");
    }
    let long = "y".repeat(256);
    let web = WebFiles::start();
    web.put(&long, "v1", b"x");
    let Refusal { why, .. } = Errands::new(&[("data", web.bucket())]).send("data:").refusal();
    assert!(why.contains("has a part of more than 255 bytes") && why.len() < 300, "{why}");
}

#[test]
fn a_directory_s_marker_is_a_directory() {
    let web = WebFiles::start();
    web.put("d/empty/", "v1", b"");
    web.put("d/full/", "v1", b"");
    web.put("d/full/x", "v1", b"x");
    let errands = Errands::new(&[("data", web.bucket())]);
    let input = errands.send("data:d").input();
    assert!(input.join("empty").is_dir() && fs::read_dir(input.join("empty")).unwrap().next().is_none());
    assert_eq!(tree(&input), [("full/x".to_owned(), b"x".to_vec())].into());
}

#[test]
fn a_bucket_that_changes_while_it_is_fetched_is_listed_anew_and_never_a_mixture() {
    let server = S3Server::start(Origin::Minio);
    put(&server, &[("d/x".to_owned(), content(1, 100))].into());
    let line = Faulty::before(&server.endpoint);
    let (store, changed) = (server.store(), Mutex::new(false));
    line.plan(move |first, _| {
        let mut changed = changed.lock().unwrap();
        if first.starts_with("GET /bucket/d/x") && !*changed {
            *changed = true;
            block_on(store.put_bytes("d/x", content(2, 100).into())).unwrap();
        }
        Fault::None
    });
    let errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    assert_eq!(tree(&errands.send("data:d").input())["x"], content(2, 100));
}

#[test]
fn what_does_not_fit_is_refused_with_numbers_before_it_is_begun() {
    if !is_root("mount a small disk") {
        return;
    }
    let server = S3Server::start(Origin::Versity);
    put(&server, &[("d/big".to_owned(), content(1, 20 * MIB)), ("e/small".to_owned(), content(2, 2 * MIB))].into());
    let disk = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(disk.path(), "size=16m");
        let errands = Errands::at(disk.path(), &[("data", server.volume())]);
        let Refusal { why, whose } = errands.send("data:d").refusal();
        assert_eq!(whose, Whose::User, "it would never fit");
        assert!(why.starts_with("data:d has 20MiB in 1 file; the cache of inputs has room for 1"), "{why}");
        assert!(why.contains("its disk has 16MiB free, of which 819.2KiB stay free"), "{why}");
        assert!(errands.cached("parts").is_empty() && errands.cached("blobs").is_empty());
        assert_eq!(tree(&errands.send("data:e").input())["small"].len(), 2 * MIB);
    });
}

#[test]
fn a_disk_that_becomes_full_meanwhile_is_told_and_given_back() {
    if !is_root("mount a small disk") {
        return;
    }
    let server = S3Server::start(Origin::Versity);
    put(&server, &[("d/big".to_owned(), content(1, 8 * MIB))].into());
    let line = Faulty::before(&server.endpoint);
    let disk = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        mount_small_disk(disk.path(), "size=16m");
        let errands = Errands::at(disk.path(), &[("data", volume_at(&line.endpoint))]);
        line.plan(|first, _| if first.contains("list-type") { Fault::None } else { Fault::Slow(Duration::from_secs(2)) });
        let mut porter = errands.send("data:d");
        until("it has begun", || !errands.cached("parts").is_empty());
        let ballast = disk.path().join("ballast");
        let mut file = File::create(&ballast).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        let Refusal { why, whose } = porter.refusal();
        assert_eq!(why, "the disk of the cache became full while data:d was fetched; what had come of it was removed");
        assert_eq!(whose, Whose::Platform);
        assert!(errands.cached("parts").is_empty());
        drop(file);
        fs::remove_file(ballast).unwrap();
        line.heal();
        assert_eq!(tree(&errands.send("data:d").input())["big"].len(), 8 * MIB);
    });
}

#[test]
fn the_longest_unused_gives_way_and_what_a_task_uses_never_does() {
    let server = S3Server::start(Origin::Minio);
    let files = ["a", "b", "c", "d"].map(|name| (format!("{name}/x"), content(name.len(), MIB)));
    put(&server, &files.into());
    let mut errands = Errands::new(&[("data", server.volume())]);
    errands.rules(Some(2 * MIB as u64 + 1000), PATIENCE_MS, CODE_BYTES_MAX);
    let mut using_a = errands.send("data:a");
    let a = using_a.input();
    let b = errands.send("data:b").input();
    let c = errands.send("data:c").input();
    assert_eq!((a.exists(), b.exists(), c.exists()), (true, false, true), "the oldest is in use, so the next one went");
    let mut using_c = errands.send("data:c");
    using_c.input();
    let Refusal { why, whose } = errands.send("data:d").refusal();
    assert_eq!(whose, Whose::Platform, "it may fit later: {why}");
    assert!(why.contains("it may have 2.0MiB and has 2MiB that tasks use now"), "{why}");
    drop(using_a);
    let d = errands.send("data:d").input();
    assert_eq!((a.exists(), c.exists(), d.exists()), (false, true, true));
    // A lock is all that holds it: whoever is killed holds nothing.
    using_c.kill();
    errands.send("data:a").input();
    assert!(!c.exists());
}

#[test]
fn code_of_a_volume_is_held_to_the_house_rule() {
    let server = S3Server::start(Origin::Versity);
    put(&server, &[("code/train.py".to_owned(), content(1, 1000)), ("code/sub/x.py".to_owned(), content(2, 1000))].into());
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("train.py"), content(1, 3000)).unwrap();
    let local = Volume::Local { path: home.path().to_str().unwrap().into() };
    let mut errands = Errands::new(&[("data", server.volume()), ("local", local)]);
    errands.rules(None, PATIENCE_MS, 2000);
    let code = errands.send_for_code("data:code").back().unwrap().unwrap().code.unwrap();
    assert_eq!(tree(&code).keys().collect::<Vec<_>>(), ["sub/x.py", "train.py"]);
    errands.rules(None, PATIENCE_MS, 1999);
    let Refusal { why, whose } = errands.send_for_code("data:code").refusal();
    let rule = "the most that code in a volume may have (`[code] size_max`) is 2.0KiB";
    assert_eq!((why, whose), (format!("data:code has 2.0KiB in 2 files; {rule}"), Whose::User));
    let Refusal { why, .. } = errands.send_for_code("local:").refusal();
    assert_eq!(why, format!("local: has 2.9KiB or more in 1 file; {rule}"));
}

#[test]
fn an_archive_is_unpacked_once_and_a_hostile_one_not_at_all() {
    let tar = |entries: &[(&str, &[u8])]| {
        let mut archive = tar::Builder::new(Vec::new());
        for (path, bytes) in entries {
            let mut header = tar::Header::new_ustar();
            header.as_ustar_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_cksum();
            archive.append(&header, *bytes).unwrap();
        }
        archive.into_inner().unwrap()
    };
    let web = WebFiles::start();
    web.put("set.tar", "v1", &tar(&[("train/a", b"1"), ("train/b", b"22")]));
    web.put("bad.tar", "v1", &tar(&[("../../evil", b"1")]));
    web.put("d/one", "v1", b"1");
    web.put("d/two", "v1", b"2");
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("local.tar"), tar(&[("x", b"xyz")])).unwrap();
    let local = Volume::Local { path: home.path().to_str().unwrap().into() };
    let mut errands = Errands::new(&[("data", web.bucket()), ("local", local)]);
    let whole = BTreeMap::from([("train/a".to_owned(), b"1".to_vec()), ("train/b".to_owned(), b"22".to_vec())]);
    errands.crash_at(Some("input.unpacked-before-marked"));
    assert!(errands.send_to_unpack("data:set.tar").back().is_err());
    errands.crash_at(None);
    let mut first = errands.send_to_unpack("data:set.tar");
    let place = first.input();
    assert_eq!(tree(&place), whole);
    assert!(first.said.contains(&"unpacks data:set.tar".to_owned()));
    let mut second = errands.send_to_unpack("data:set.tar");
    assert_eq!((second.input(), second.said.len()), (place, 0));
    assert_eq!(tree(&errands.send_to_unpack(&web.url("set.tar")).input()), whole);
    assert_eq!(tree(&errands.send_to_unpack("local:local.tar").input()), [("x".to_owned(), b"xyz".to_vec())].into());
    let Refusal { why, whose } = errands.send_to_unpack("data:bad.tar").refusal();
    assert!(whose == Whose::User && why.starts_with("data:bad.tar cannot be unpacked: `../../evil` in the archive"), "{why}");
    let Refusal { why, .. } = errands.send_to_unpack("data:d").refusal();
    assert_eq!(why, "data:d is a directory, and only one archive can be unpacked; name the file itself");
}

#[test]
fn wrong_keys_do_not_open_what_another_has_cached() {
    let server = S3Server::start(Origin::Minio);
    put(&server, &three_files());
    let errands = Errands::new(&[("data", server.volume())]);
    errands.send("data:mnist").input();
    let line = Faulty::before(&server.endpoint);
    line.always(Fault::Status(403));
    let others = Errands::at(&errands.data, &[("data", volume_at(&line.endpoint))]);
    let refused = until_some("it is refused", || others.send("data:mnist").back().unwrap().err());
    assert_eq!(refused.whose, Whose::User);
}
