//! Code from git: found, fetched once, kept, and told of in words when it cannot be had.

use std::{
    cell::Cell,
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use model::{code::GitPlan, task::Whose};
use trainmaster::code::{
    NotMade, Waiting,
    git::{Checkout, Limits, Shelf, fetch},
};

use crate::git_server::{GitServer, Mood};

pub fn plan(url: &str, reference: Option<&str>) -> GitPlan {
    GitPlan {
        url: url.to_owned(),
        reference: reference.map(str::to_owned),
        user: None,
        password: None,
        submodules: false,
        lfs: false,
        depth: Some(1),
        directory: None,
    }
}

/// A shelf of the test's own, with what is slow made quick.
pub struct Place {
    _home: tempfile::TempDir,
    pub shelf: Shelf,
}

impl Place {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf { dir: home.path().join("code"), limits: Limits { stall_max: Duration::from_secs(3), ..Limits::default() } };
        Self { _home: home, shelf }
    }

    pub fn fetch(&self, wanted: &GitPlan, password: Option<&str>) -> Result<Checkout, NotMade> {
        let pause = |time: Duration| {
            std::thread::sleep(time);
            false
        };
        fetch(wanted, password, &self.shelf, &Waiting { pause: &pause, say: &|_| {} })
    }

    pub fn get(&self, wanted: &GitPlan) -> Checkout {
        self.fetch(wanted, None).unwrap()
    }

    /// Whose it is, and why, with the server's port made the same everywhere.
    pub fn refused(&self, wanted: &GitPlan, password: Option<&str>) -> String {
        match self.fetch(wanted, password) {
            Err(NotMade::Failed { why, whose }) => {
                let origin = model::code::git::origin(&wanted.url);
                format!("{}: {}", if whose == Whose::User { "user" } else { "platform" }, why.replace(origin, "http://server"))
            }
            other => panic!("{other:?}"),
        }
    }
}

pub fn text(checkout: &Checkout, path: &str) -> String {
    fs::read_to_string(checkout.place.join(path)).unwrap()
}

pub fn files_below(dir: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            if entry.metadata().unwrap().is_dir() { folders.push(entry.path()) } else { files.push(entry.path()) }
        }
    }
    files
}

#[test]
fn a_branch_a_tag_a_commit_and_the_beginning_of_one_all_lead_to_their_code() {
    let (server, place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    let first = repository.commit(&[("train.py", "one")]);
    repository.git(&["tag", "--annotate", "--message", "first", "v1"]);
    let middle = repository.commit(&[("train.py", "middle")]);
    repository.git(&["branch", "old"]);
    let last = repository.commit(&[("train.py", "two"), ("lib/a b.py", "x")]);
    let url = server.url("p");
    let at = |reference: Option<&str>| {
        let checkout = place.get(&plan(&url, reference));
        (checkout.commit.clone(), text(&checkout, "train.py"))
    };
    assert_eq!(at(None), (last.clone(), "two".into()));
    assert_eq!(at(Some("main")), (last.clone(), "two".into()));
    assert_eq!(at(Some("v1")), (first.clone(), "one".into()));
    assert_eq!(at(Some("refs/heads/old")), (middle.clone(), "middle".into()));
    assert_eq!(at(Some(&first)), (first.clone(), "one".into()));
    // Not listed by the server: only all of its history has it.
    repository.git(&["branch", "--force", "old", "main"]);
    repository.push();
    let elsewhere = Place::new();
    let checkout = elsewhere.get(&plan(&url, Some(&middle[..8])));
    assert_eq!((checkout.commit.as_str(), text(&checkout, "train.py").as_str()), (middle.as_str(), "middle"));
    let whole = place.get(&plan(&url, None));
    assert_eq!((whole.files, whole.bytes, text(&whole, "lib/a b.py").as_str()), (2, 4, "x"));
    assert!(!whole.place.join(".git").exists());
}

#[test]
fn a_second_job_needs_no_fetch_and_with_a_commit_no_network_at_all() {
    let (server, place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    let first = repository.commit(&[("a", "one")]);
    let by_branch = plan(&server.url("p"), Some("main"));
    let one = place.get(&by_branch);
    let fetched = server.requests("git-upload-pack");
    let again = place.get(&by_branch);
    assert_eq!(
        (again.place == one.place, server.requests("git-upload-pack") - fetched),
        (true, 2),
        "one question for the names: two requests"
    );
    let before = server.seen().len();
    server.set(Mood::Answers(500));
    assert_eq!(text(&place.get(&plan(&server.url("p"), Some(&first))), "a"), "one");
    assert_eq!(server.seen().len(), before);
    server.set(Mood::Normal);
    let second = repository.commit(&[("a", "two"), ("b", "new")]);
    let moved = place.get(&by_branch);
    assert_eq!((moved.commit, text(&one, "a").as_str(), text(&place.get(&by_branch), "a").as_str()), (second, "one", "two"));
}

#[test]
fn a_directory_of_the_repository_is_the_code_and_links_out_of_it_are_left_out() {
    let (server, place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    let link = |target: &str, name: &str| std::os::unix::fs::symlink(target, repository.work.join(name)).unwrap();
    fs::create_dir_all(repository.work.join("my train")).unwrap();
    link("../common.py", "my train/out.py");
    link("/etc/passwd", "my train/passwd");
    link("a.py", "my train/in.py");
    link("my train", "linked");
    repository.commit(&[("my train/a.py", "a"), ("common.py", "c")]);
    let inside = |directory: &str| GitPlan { directory: Some(directory.to_owned()), ..plan(&server.url("p"), None) };
    let checkout = place.get(&inside("my train"));
    assert_eq!((text(&checkout, "a.py").as_str(), text(&checkout, "in.py").as_str(), checkout.files), ("a", "a", 2));
    assert_eq!(checkout.left_out, ["out.py -> ../common.py", "passwd -> /etc/passwd"]);
    let whole = place.get(&plan(&server.url("p"), None));
    assert_eq!((text(&whole, "my train/out.py").as_str(), whole.left_out.len()), ("c", 1));
    for missing in ["linked", "common.py", "none"] {
        let refused = place.refused(&inside(missing), None);
        assert!(refused.starts_with("user: http://server/p.git has no directory `") && refused.contains(missing), "{refused}");
    }
}

#[test]
fn what_cannot_be_had_is_told_with_whose_it_is_and_what_to_do() {
    let (server, place) = (GitServer::new(), Place::new());
    server.repository("p").commit(&[("a", "one")]);
    server.repository("empty");
    let url = server.url("p");
    let mut told = vec![
        place.refused(&plan(&url, Some("mian")), None),
        place.refused(&plan(&url, Some(&"1".repeat(40))), None),
        place.refused(&plan(&url, Some("1111111")), None),
        place.refused(&plan(&server.url("none"), None), None),
        place.refused(&plan(&server.url("empty"), None), None),
        place.refused(&plan("ssh://git@example.org/a", None), None),
        place.refused(&GitPlan { user: Some("a:b".into()), ..plan(&url, None) }, Some("x")),
    ];
    for mood in [Mood::Answers(401), Mood::Answers(403), Mood::Answers(503), Mood::Answers(429)] {
        server.set(mood);
        told.push(place.refused(&plan(&url, None), None));
    }
    server.set(Mood::Normal);
    insta::assert_snapshot!(told.join("\n"), @"
    user: there is no branch, tag or commit `mian` in http://server/p.git; it has main
    user: there is no commit 1111111111111111111111111111111111111111 in http://server/p.git; it may have been pushed over
    user: there is no branch, tag or commit `1111111` in http://server/p.git; it has main
    user: there is no git repository at http://server/none.git; if it is private, give `user` and `password`
    user: http://server/empty.git is empty: nothing was ever pushed to it
    user: the address of the code is an SSH address; SSH is not supported: give the https address, and `user` and `password` or a token for a private repository
    user: the user for the code has a `:` in it, and no server could tell it from the password
    user: the git server of http://server/p.git asks for a user and a password, and the job gives none; give `user` and `password`, or see whether the address is right
    user: the git server of http://server/p.git asks for a user and a password, and the job gives none; give `user` and `password`, or see whether the address is right
    platform: http://server/p.git could not be fetched: fatal: unable to access 'http://server/p.git/': The requested URL returned error: 503
    platform: http://server/p.git could not be fetched: fatal: unable to access 'http://server/p.git/': The requested URL returned error: 429
    ");
}

#[test]
fn what_is_too_large_is_refused_with_the_number() {
    let (server, mut place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    // Nothing that can be packed into less.
    let mut random = vec![0; 3 << 20];
    getrandom::fill(&mut random).unwrap();
    repository.commit(&[("b", "")]);
    fs::write(repository.work.join("large"), random).unwrap();
    repository.commit_all();
    place.shelf.limits.bytes_max = 1 << 20;
    let url = server.url("p");
    let told = place.refused(&plan(&url, None), None);
    assert!(told.contains("is too large: more than 1 MiB"), "{told}");
    let left: u64 = files_below(&place.shelf.dir).iter().map(|it| fs::metadata(it).unwrap().len()).sum();
    assert!(left < 100_000, "{left} bytes of it are left");
    place.shelf.limits = Limits { files_max: 1, ..Limits::default() };
    assert!(place.refused(&plan(&url, None), None).contains("has too many files: more than 1;"));
    place.shelf.limits = Limits::default();
    assert_eq!(place.get(&plan(&url, None)).files, 2);
}

#[test]
fn a_server_that_hangs_or_trickles_is_given_up_and_a_stop_is_immediate() {
    let (server, place) = (GitServer::new(), Place::new());
    server.repository("p").commit(&[("a", "one")]);
    let wanted = plan(&server.url("p"), None);
    for mood in [Mood::Hangs, Mood::Trickles] {
        server.set(mood);
        let began = Instant::now();
        let refused = place.refused(&wanted, None);
        assert!(refused.starts_with("platform: the git server of http://server/p.git sent next to nothing for 3 s"), "{refused}");
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }
    server.set(Mood::Hangs);
    let (asked, stopped_at) = (server.seen().len(), Cell::new(None));
    let pause = |time: Duration| {
        std::thread::sleep(time);
        let stop = server.seen().len() > asked;
        if stop && stopped_at.get().is_none() {
            stopped_at.set(Some(Instant::now()));
        }
        stop
    };
    let stopped = fetch(&wanted, None, &place.shelf, &Waiting { pause: &pause, say: &|_| {} });
    assert!(matches!(stopped, Err(NotMade::Stopped)), "{stopped:?}");
    assert!(stopped_at.get().unwrap().elapsed() < Duration::from_secs(5));
    server.set(Mood::Normal);
    assert_eq!(text(&place.get(&wanted), "a"), "one");
}

#[test]
fn submodules_come_along_when_asked_from_beside_and_from_other_servers() {
    let (server, other, place) = (GitServer::new(), GitServer::new(), Place::new());
    let deep = other.repository("deep").commit(&[("d", "deep")]);
    let lib = server.repository("lib");
    lib.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{deep},far")]);
    fs::write(lib.work.join(".gitmodules"), format!("[submodule \"far\"]\npath = far\nurl = {}\n", other.url("deep"))).unwrap();
    fs::create_dir(lib.work.join("far")).unwrap();
    lib.git(&["add", ".gitmodules"]);
    lib.git(&["commit", "--quiet", "--message", "with a submodule"]);
    lib.push();
    let commit = lib.git(&["rev-parse", "HEAD"]);
    let main = server.repository("main");
    fs::create_dir_all(main.work.join("vendor/lib")).unwrap();
    main.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},vendor/lib")]);
    fs::write(main.work.join(".gitmodules"), "[submodule \"l\"]\npath = vendor/lib\nurl = ../lib.git\n").unwrap();
    main.git(&["add", ".gitmodules"]);
    main.git(&["commit", "--quiet", "--message", "with a submodule"]);
    main.push();
    let wanted = plan(&server.url("main"), None);
    assert_eq!(place.get(&wanted).files, 1);
    let all = place.get(&GitPlan { submodules: true, ..wanted });
    assert_eq!(text(&all, "vendor/lib/far/d"), "deep");
    assert!(files_below(&all.place).iter().all(|it| !it.ends_with(".git")));
}

#[test]
fn large_files_come_by_lfs_when_asked() {
    let (server, place) = (GitServer::private("ann", "pw"), Place::new());
    let bytes = "weights".repeat(1000);
    let id = {
        use sha2::Digest;
        sha2::Sha256::digest(&bytes).iter().map(|it| format!("{it:02x}")).collect::<String>()
    };
    server.put_lfs(&id, bytes.as_bytes());
    let pointer = format!("version https://git-lfs.github.com/spec/v1\noid sha256:{id}\nsize {}\n", bytes.len());
    server.repository("p").commit(&[("m/model.bin", &pointer), (".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")]);
    let wanted = GitPlan { user: Some("ann".into()), ..plan(&server.url("p"), None) };
    assert_eq!(text(&place.fetch(&wanted, Some("pw")).unwrap(), "m/model.bin"), pointer);
    let wanted = GitPlan { lfs: true, ..wanted };
    assert_eq!(text(&place.fetch(&wanted, Some("pw")).unwrap(), "m/model.bin"), bytes);
    let inside = GitPlan { directory: Some("m".into()), ..wanted };
    assert_eq!(text(&place.fetch(&inside, Some("pw")).unwrap(), "model.bin"), bytes);
}

#[test]
fn old_code_leaves_when_the_shelf_is_full_unless_it_is_in_use() {
    let (server, mut place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    let get = |place: &Place, content: &str| {
        repository.commit(&[("a", content)]);
        place.get(&plan(&server.url("p"), None))
    };
    let first = get(&place, "one");
    let gone = get(&place, "two").place.clone();
    place.shelf.limits.shelf_bytes_max = 0;
    let third = get(&place, "three");
    assert_eq!((text(&first, "a").as_str(), text(&third, "a").as_str(), gone.exists()), ("one", "three", false));
    drop((first, third));
    let fourth = get(&place, "four");
    assert_eq!(fs::read_dir(&place.shelf.dir).unwrap().count(), 3, "the code, its lock, and the folder of mirrors");
    assert_eq!(fs::read_dir(place.shelf.dir.join("mirrors")).unwrap().count(), 0);
    assert_eq!(text(&fourth, "a"), "four");
}

#[test]
fn what_a_disk_has_lost_is_fetched_again() {
    let (server, place) = (GitServer::new(), Place::new());
    let repository = server.repository("p");
    repository.commit(&[("a", "one")]);
    let wanted = plan(&server.url("p"), None);
    place.get(&wanted);
    let packs = || files_below(&place.shelf.dir.join("mirrors")).into_iter().filter(|it| it.to_string_lossy().contains("/objects/"));
    assert!(packs().count() > 0);
    for file in packs() {
        fs::remove_file(&file).unwrap();
        fs::write(&file, "").unwrap();
    }
    repository.commit(&[("b", "two")]);
    let tries = (0..3).filter_map(|_| place.fetch(&wanted, None).ok()).next();
    assert_eq!(text(&tries.expect("it is put right"), "b"), "two");
}

#[test]
fn whoever_was_killed_while_fetching_leaves_nothing_that_is_taken_for_whole() {
    let (server, place) = (GitServer::new(), Place::new());
    server.repository("p").commit(&[("a", "one")]);
    let wanted = plan(&server.url("p"), None);
    let made = place.get(&wanted).place;
    // As a death would have left it: no mark, some files, and a mirror that nobody settled.
    fs::remove_file(made.parent().unwrap().join("complete")).unwrap();
    fs::write(made.join("a"), "half").unwrap();
    let mirror = fs::read_dir(place.shelf.dir.join("mirrors")).unwrap().map(|it| it.unwrap().path()).find(|it| it.is_dir()).unwrap();
    fs::write(mirror.join("unsettled"), "").unwrap();
    fs::write(mirror.join("shallow.lock"), "").unwrap();
    fs::write(mirror.join("HEAD"), "garbage").unwrap();
    assert_eq!(text(&place.get(&wanted), "a"), "one");
}
