//! Trees that a task has before the disk does.

use super::*;

/// Whether every tree of the cache is on the disk.
fn all_last(errands: &Errands) -> bool {
    let mut trees = fs::read_dir(errands.data.join("inputs/trees")).unwrap().map(|it| it.unwrap().path()).filter(|it| it.is_dir());
    trees.all(|tree| tree.join("complete").exists())
}

#[test]
fn a_tree_that_was_handed_over_is_used_again_by_the_next_who_makes_it_last() {
    for point in ["input.lent-before-synced", "input.synced-before-lasting"] {
        let server = S3Server::start(Origin::Minio);
        let files = four_files(&server);
        let line = Faulty::before(&server.endpoint);
        let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
        errands.crash_at(Some(point));
        let mut porter = errands.send("data:d");
        assert!(tree(&porter.input()) == below(&files, "d/"), "{point}: it is there before it is on the disk");
        assert!(porter.back().is_err() && !all_last(&errands) && errands.cached("blobs").is_empty(), "{point}");
        errands.crash_at(None);
        let seen = fetched(&line);
        assert!(tree(&errands.send("data:d").input()) == below(&files, "d/"), "{point}");
        assert!(taken(&seen).is_empty() && all_last(&errands), "{point}");
        assert_eq!((errands.cached("parts").len(), errands.cached("blobs").len()), (0, 4), "{point}");
    }
}

/// As if the machine had gone down: it has booted since, and of what was not synced there are lengths and no bytes.
fn cut_the_power(errands: &Errands) {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    for file in errands.cached("parts") {
        let length = fs::metadata(&file).unwrap().len();
        fs::write(file, vec![0; length as usize]).unwrap();
    }
    let mut dirs = vec![errands.data.join("inputs")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap().map(|it| it.unwrap().path()) {
            let name = entry.file_name().unwrap().to_str().unwrap().replace(boot.trim(), "an-earlier-boot");
            fs::rename(&entry, entry.with_file_name(&name)).unwrap();
            dirs.extend(Some(entry.with_file_name(name)).filter(|it| it.is_dir()));
        }
    }
}

#[test]
fn after_a_power_cut_what_was_only_handed_over_is_fetched_again() {
    let server = S3Server::start(Origin::Minio);
    let files = four_files(&server);
    let line = Faulty::before(&server.endpoint);
    let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    errands.send("data:d/0").input();
    errands.crash_at(Some("input.lent-before-synced"));
    let mut porter = errands.send("data:d");
    porter.input();
    assert!(porter.back().is_err());
    errands.crash_at(None);
    cut_the_power(&errands);
    let seen = fetched(&line);
    assert!(tree(&errands.send("data:d").input()) == below(&files, "d/"));
    assert_eq!(taken(&seen), ["/bucket/d/1", "/bucket/d/2", "/bucket/d/3"], "what was on the disk is not fetched again");
    assert!(all_last(&errands) && errands.cached("parts").is_empty());
    assert_eq!(errands.cached("blobs").len(), 4);
}

#[test]
fn a_tree_that_does_not_last_yet_stays_while_a_task_uses_it_and_no_longer() {
    let server = S3Server::start(Origin::Minio);
    put(&server, &["a", "b"].map(|name| (format!("{name}/x"), content(1, MIB))).into());
    let mut errands = Errands::new(&[("data", server.volume())]);
    errands.rules(Some(MIB as u64 + 1000), PATIENCE_MS, CODE_BYTES_MAX);
    errands.crash_at(Some("input.lent-before-synced"));
    let mut first = errands.send("data:a");
    let a = first.input();
    assert!(first.back().is_err());
    errands.crash_at(None);
    // Whoever finds another at it leaves it as it is.
    let busy = File::open(a.parent().unwrap()).unwrap();
    busy.lock().unwrap();
    let mut using_a = errands.send("data:a");
    assert_eq!(using_a.input(), a);
    let Refusal { why, whose } = errands.send("data:b").refusal();
    assert!(whose == Whose::Platform && why.contains("has 1MiB that tasks use now"), "{why}");
    assert!(tree(&a)["x"] == content(1, MIB) && !all_last(&errands));
    drop(using_a);
    errands.send("data:b").input();
    assert!(!a.exists() && all_last(&errands) && errands.cached("parts").is_empty());
}

#[test]
fn a_short_task_s_input_is_made_to_last_by_whoever_wants_a_file_of_it() {
    let server = S3Server::start(Origin::Minio);
    let mut files = four_files(&server);
    put(&server, &[("e/x".to_owned(), content(9, 10))].into());
    let line = Faulty::before(&server.endpoint);
    let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    errands.crash_at(Some("input.lent-before-synced"));
    let mut porter = errands.send("data:d");
    let old = porter.input();
    assert!(porter.back().is_err() && !all_last(&errands));
    errands.crash_at(None);
    files.insert("d/1".into(), b"otherwise!".to_vec());
    put(&server, &files);
    let seen = fetched(&line);
    errands.send("data:e").input();
    assert_eq!((taken(&seen), all_last(&errands)), (vec!["/bucket/e/x".to_owned()], false), "who wants none of it waits for no disk");
    assert!(tree(&errands.send("data:d").input()) == below(&files, "d/"));
    assert_eq!(taken(&seen), ["/bucket/d/1"]);
    assert!(all_last(&errands) && errands.cached("parts").is_empty() && fs::read(old.join("1")).unwrap() == content(1, MIB));
}

#[test]
fn what_another_makes_last_is_waited_for_and_not_fetched_again() {
    let server = S3Server::start(Origin::Minio);
    let files = four_files(&server);
    let line = Faulty::before(&server.endpoint);
    let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
    errands.crash_at(Some("input.lent-before-synced"));
    let mut first = errands.send("data:d");
    let d = first.input();
    assert!(first.back().is_err());
    errands.crash_at(None);
    let busy = File::open(d.parent().unwrap()).unwrap();
    busy.lock().unwrap();
    let seen = fetched(&line);
    let mut second = errands.send("data:");
    until("it has listed what there is", || line.requests() > 0);
    holds_for(Duration::from_millis(300), "nothing is fetched", || seen.lock().unwrap().is_empty());
    drop(busy);
    assert!(tree(&second.input()) == files);
    assert_eq!(taken(&seen), [""; 0]);
}

/// Nobody knows which files a disk has lost that refused a sync, or was refused a name.
#[test]
fn what_a_dying_disk_did_not_take_is_believed_by_nobody() {
    if !is_root("make system calls fail") || !has_program("strace", "make system calls fail") {
        return;
    }
    for (call, is_handed_over) in [("syncfs", true), ("linkat", false)] {
        let server = S3Server::start(Origin::Minio);
        let files = four_files(&server);
        let line = Faulty::before(&server.endpoint);
        let mut errands = Errands::new(&[("data", volume_at(&line.endpoint))]);
        errands.refuse(Some(call));
        assert_eq!(errands.send("data:d").back().unwrap().is_ok(), is_handed_over, "{call}");
        assert_eq!((errands.cached("parts").len(), errands.cached("blobs").len()), (0, 0), "{call}");
        errands.refuse(None);
        let seen = fetched(&line);
        assert!(tree(&errands.send("data:d").input()) == below(&files, "d/"), "{call}");
        assert_eq!(taken(&seen).len(), 4, "{call}: it is fetched again");
        assert!(all_last(&errands), "{call}");
    }
}
