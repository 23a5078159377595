use std::{
    ffi::OsStr,
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    process::Command,
};

use model::bundle::Changes;

use super::*;

struct Folder {
    dir: tempfile::TempDir,
}

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = Self { dir: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(path, text)| folder.put(path, text));
        folder
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn put(&self, path: &str, text: &str) {
        let place = self.path().join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }

    fn pack(&self) -> Packed {
        pack(self.path(), CodeLimits::default()).unwrap_or_else(|failure| panic!("{}", failure.body.message))
    }

    /// The names that are taken.
    fn taken(&self) -> String {
        self.pack().bundle.entries().map(|(path, _)| shown(path)).collect::<Vec<_>>().join(" ")
    }

    fn git(&self, args: &[&str]) {
        let mut command = Command::new("git");
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").args(["-c", "user.name=me", "-c", "user.email=me@example.org", "-C"]);
        let out = command.arg(self.path()).args(args).output().unwrap();
        assert!(out.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&out.stderr));
    }

    fn in_git(files: &[(&str, &str)]) -> Self {
        let folder = Self::new(files);
        folder.git(&["init", "-q", "-b", "main"]);
        folder.git(&["add", "."]);
        folder.git(&["commit", "-qm", "first"]);
        folder
    }
}

#[test]
fn what_git_would_leave_alone_is_left_out() {
    let folder = Folder::new(&[
        (".gitignore", "*.log\n/data/\n!keep.log\n"),
        ("a.log", ""),
        ("keep.log", ""),
        ("data/x.csv", ""),
        ("src/data/y.py", ""),
        ("src/.gitignore", "cache\n!b.log\n"),
        ("src/cache/z", ""),
        ("src/b.log", ""),
        (".hidden", ""),
        (".git/config", "nothing of git's own"),
        ("sub/.git", "gitdir: elsewhere"),
        ("sub/m.py", ""),
    ]);
    assert_eq!(folder.taken(), ".gitignore .hidden keep.log src/.gitignore src/b.log src/data/y.py sub/m.py");
}

#[test]
fn our_own_ignore_file_has_the_last_word() {
    let folder = Folder::new(&[
        (".gitignore", "*.bin\n"),
        (".trainmasterignore", "docs/\n!weights.bin\n"),
        ("weights.bin", ""),
        ("other.bin", ""),
        ("docs/long.md", ""),
        ("train.py", ""),
    ]);
    assert_eq!(folder.taken(), ".gitignore .trainmasterignore train.py weights.bin");
}

#[test]
fn folders_above_have_a_say_only_within_the_same_repository() {
    let folder = Folder::new(&[(".gitignore", "*\n"), ("inner/train.py", ""), ("inner/x.log", "")]);
    let taken = |folder: &Folder| {
        let bundle = pack(&folder.path().join("inner"), CodeLimits::default()).unwrap().bundle;
        bundle.entries().map(|(path, _)| shown(path)).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(taken(&folder), "train.py x.log");
    folder.put(".gitignore", "*.log\n");
    folder.git(&["init", "-q"]);
    assert_eq!(taken(&folder), "train.py");
}

#[test]
fn links_stay_links_and_those_that_lead_out_are_left_out_with_a_word() {
    let folder = Folder::new(&[("a/train.py", "x")]);
    for (target, name) in [("a/train.py", "now"), ("..", "a/up"), ("/etc/passwd", "abs"), ("..", "out"), ("a/up/../x", "sly"), ("me", "me")]
    {
        symlink(target, folder.path().join(name)).unwrap();
    }
    let packed = folder.pack();
    let mut notes = packed.notes.clone();
    notes.sort();
    insta::assert_snapshot!(packed.bundle.to_string().lines().skip(1).chain(notes.iter().map(String::as_str)).collect::<Vec<_>>().join("\n"), @"
    file 2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 1 a/train.py
    link .. a/up
    link a/train.py now
    abs is a link to /etc/passwd, outside the folder or in circles, and was left out
    me is a link to me, outside the folder or in circles, and was left out
    out is a link to .., outside the folder or in circles, and was left out
    sly is a link to a/up/../x, outside the folder or in circles, and was left out
    ");
}

#[test]
fn what_a_server_keeps_is_never_code() {
    let kept = [("house/run-secret", "s"), ("house/admin-token", "t"), ("house/store.db", "d"), ("house/runs/1/output/w.bin", "w")];
    let folder = Folder::new(&kept);
    folder.put("train.py", "");
    folder.put("other/store.db", "somebody's own");
    let packed = folder.pack();
    assert_eq!(folder.taken(), "other/store.db train.py");
    assert_eq!(packed.notes, ["house is where a server keeps its data and keys, and was left out"]);
    for inside in ["house", "house/runs", "house/runs/1/output"] {
        let refused = pack(&folder.path().join(inside), CodeLimits::default()).err().expect("it is refused");
        assert!(
            refused.body.message.ends_with("is where a server keeps its data and keys, which no task may see"),
            "{}",
            refused.body.message
        );
    }
}

#[test]
fn whatever_is_no_file_is_left_out_and_names_may_have_any_byte() {
    let folder = Folder::new(&[("train.py", "")]);
    nix::unistd::mkfifo(&folder.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"two\nlines")), "").unwrap();
    fs::write(folder.path().join(OsStr::from_bytes(b"\xff\xfe")), "").unwrap();
    let packed = folder.pack();
    assert_eq!(
        packed.notes,
        ["pipe is neither a file nor a link and was left out", "socket is neither a file nor a link and was left out"]
    );
    let names: Vec<&[u8]> = packed.bundle.entries().map(|(path, _)| path).collect();
    assert_eq!(names, [b"train.py".as_slice(), b"two\nlines", b"\xff\xfe"]);
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    // A link to a file is one thing; a file that is gone between the look and the reading is what root can make.
    let files = BTreeMap::from([(b"gone.py".to_vec(), Found { place: "/no/such/gone.py".into(), size_bytes: 1, executable: false })]);
    let failure = read_all(files).err().unwrap();
    assert!(failure.body.message.starts_with("/no/such/gone.py cannot be read: No such file"), "{}", failure.body.message);
    assert!(failure.body.hint.unwrap().contains(".trainmasterignore"));
}

#[test]
fn a_folder_that_is_too_much_is_refused_before_it_is_read() {
    let folder = Folder::new(&[("train.py", "x"), ("data.bin", "0123456789")]);
    let failure = pack(folder.path(), CodeLimits { bytes_max: 5, files_max: 10 }).err().unwrap();
    assert!(failure.body.message.ends_with("the folder has 11B in 2 files; the most is 5B; the largest are data.bin (10B), train.py (1B)"));
    assert_eq!(failure.body.hint.unwrap(), TooMuch::HINT.0);
}

#[test]
fn the_commit_the_branch_and_what_is_not_committed_are_kept() {
    let folder = Folder::in_git(&[("train.py", "one\n")]);
    let clean = folder.pack().bundle;
    let origin = clean.origin().unwrap();
    assert_eq!((origin.commit.len(), origin.branch.as_deref(), &origin.changes), (40, Some("main"), &Changes::None));

    folder.put("train.py", "two\n");
    let dirty = folder.pack();
    let Source::Bytes(patch) = &dirty.sources[&dirty.bundle.patch().unwrap().hash] else { panic!("a patch is made here") };
    assert!(String::from_utf8_lossy(patch).contains("-one\n+two\n"));
    assert_ne!(clean.digest(), dirty.bundle.digest());

    folder.git(&["checkout", "-q", "train.py"]);
    folder.put("new.py", "");
    let new = folder.pack().bundle;
    assert_eq!((new.facts().dirty, new.patch().unwrap().size_bytes), (Some(true), 0), "a new file is a change, and no part of a patch");

    assert_eq!(Folder::new(&[("x", "")]).pack().bundle.origin(), None);
}

#[test]
fn a_patch_that_is_too_large_is_not_kept_but_told() {
    let folder = Folder::in_git(&[("train.py", "one\n")]);
    folder.put("train.py", &"many lines\n".repeat(200_000));
    assert_eq!(folder.pack().bundle.origin().unwrap().changes, Changes::TooLarge);
}

#[test]
fn a_folder_s_git_configuration_runs_nothing() {
    let folder = Folder::in_git(&[("train.py", "one\n"), (".gitattributes", "*.py filter=evil diff=evil\n")]);
    let (mark, folder_path) = (folder.path().join("touched"), folder.path().to_owned());
    let touch = format!("touch {} #", mark.display());
    for key in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.command",
        "diff.evil.textconv",
        "core.pager",
        "diff.external",
    ] {
        folder.git(&["config", key, &touch]);
    }
    let hook = folder_path.join(".git/hooks/post-index-change");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, format!("#!/bin/sh\n{touch}\n")).unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    folder.put("train.py", "two\n");
    let packed = folder.pack();
    assert_eq!(packed.bundle.facts().dirty, Some(true));
    assert!(packed.bundle.patch().is_some_and(|patch| patch.size_bytes > 0));
    assert!(!mark.exists(), "something of the folder's configuration was run");
}
