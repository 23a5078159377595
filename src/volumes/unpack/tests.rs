use std::{collections::BTreeMap, io::Write, os::unix::fs::PermissionsExt, path::PathBuf, process::Command};

use super::*;

mod corpus;
mod raw;

use corpus::hostile;
use raw::{pax, tar, tar_entry, tar_of, tgz_of, zip, zip_entry, zip_of};

/// A place with an empty directory to unpack into, and things around it that must stay as they are.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["outside", "in/to"] {
            fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        for name in ["canary", "in/canary", "outside/canary"] {
            fs::write(dir.path().join(name), "untouched").unwrap();
        }
        Self { dir }
    }

    fn inside(&self) -> PathBuf {
        self.dir.path().join("in/to")
    }

    fn unpack(&self, bytes: &[u8], kind: Kind, limits: &Limits) -> Result<Unpacked, NotUnpacked> {
        let mut archive = tempfile::tempfile().unwrap();
        archive.write_all(bytes).unwrap();
        unpack(&archive, kind, &self.inside(), limits)
    }

    fn canaries_live(&self) -> bool {
        let outside = self.seen_without_into();
        outside.len() == 6 && outside.values().filter(|what| what.as_str() == "644 untouched").count() == 3
    }

    fn seen_without_into(&self) -> BTreeMap<String, String> {
        seen(self.dir.path()).into_iter().filter(|(path, _)| !path.starts_with("in/to/")).collect()
    }
}

/// Everything below a directory: what it is, its mode, and what is in it.
fn seen(dir: &Path) -> BTreeMap<String, String> {
    let (mut all, mut dirs) = (BTreeMap::new(), vec![dir.to_owned()]);
    while let Some(next) = dirs.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let data = fs::symlink_metadata(&path).unwrap();
            let what = if data.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if data.is_dir() {
                dirs.push(path.clone());
                "directory".into()
            } else {
                format!("{:o} {}", data.permissions().mode() & 0o7777, String::from_utf8_lossy(&fs::read(&path).unwrap()))
            };
            all.insert(path.strip_prefix(dir).unwrap().to_string_lossy().into_owned(), what);
        }
    }
    all
}

/// Small enough that a bomb is seen for one before it is large.
fn strict() -> Limits {
    Limits { bytes_max: 8 << 20, ratio_max: 50, ratio_free_bytes: 1 << 20, entries_max: 2_000, ..Limits::default() }
}

#[test]
fn no_hostile_archive_is_unpacked_and_nothing_outside_is_touched() {
    let place = Place::new();
    let corpus = hostile(place.dir.path());
    assert!(corpus.len() >= 500, "only {} archives", corpus.len());
    for (label, kind, bytes) in &corpus {
        let refused = place.unpack(bytes, *kind, &strict());
        let told = refused.as_ref().map_err(ToString::to_string);
        assert!(matches!(refused, Err(NotUnpacked::Refused { .. })), "{label}: {told:?}");
        assert_eq!(fs::read_dir(place.inside()).unwrap().count(), 0, "{label} left something");
        assert!(place.canaries_live(), "{label} touched something outside");
    }
}

#[test]
fn the_same_archives_without_the_harm_are_unpacked() {
    let place = Place::new();
    let first = || tar_entry("first", b'0', "", "x");
    let tars = [
        vec![tar_entry("./", b'5', "", ""), pax(b'x', &[("path", b"long/name"), ("mtime", b"1.5")]), tar_entry("short", b'0', "", "hello")],
        vec![
            pax(b'g', &[("comment", b"c0ffee")]),
            first(),
            tar_entry("././@LongLink", b'L', "", "other\0"),
            tar_entry("x", b'1', "first", ""),
        ],
        vec![first(), pax(b'x', &[("linkpath", b"first"), ("size", b"0")]), tar_entry("link", b'2', "", "")],
        vec![tar_entry("d/e", b'5', "", ""), tar_entry("d", b'5', "", ""), tar_entry("d/e/up", b'2', "../../d", "")],
    ];
    for entries in tars {
        let unpacked = place.unpack(&tar(&entries), Kind::Tar, &strict()).unwrap_or_else(|why| panic!("{why}"));
        assert!(unpacked.entries >= 2 && place.canaries_live());
        empty(&place.inside()).unwrap();
    }
    let zips = [
        zip_entry("d/", "").with_mode(0o040_755),
        zip_entry("d/f", "text").with_mode(0o100_755),
        zip_entry("d/l", "f").with_mode(0o120_777),
    ];
    assert_eq!(place.unpack(&zip(&zips), Kind::Zip, &strict()).unwrap(), Unpacked { entries: 3, bytes: 4 });
    assert_eq!(seen(&place.inside())["d/l"], "-> f");
}

#[test]
fn archives_with_wrong_bytes_in_them_never_reach_outside() {
    let place = Place::new();
    let files: [(&str, &str); 3] =
        [("a/b.txt", "hello"), ("c.txt", "a longer text, which deflates a little, a little, a little"), ("a/d", "")];
    let mut dice = 7_u64;
    for (kind, good) in [(Kind::Tar, tar_of(&files)), (Kind::TarGz, tgz_of(&files)), (Kind::Zip, zip_of(&files))] {
        for _ in 0..250 {
            let mut bytes = good.clone();
            for _ in 0..3 {
                dice = dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let at = (dice >> 33) as usize % bytes.len();
                bytes[at] = (dice >> 20) as u8;
            }
            let unpacked = place.unpack(&bytes, kind, &strict());
            assert!(place.canaries_live(), "{kind:?} {bytes:?}");
            if unpacked.is_err() {
                assert_eq!(fs::read_dir(place.inside()).unwrap().count(), 0);
            }
            empty(&place.inside()).unwrap();
        }
    }
}

#[test]
fn archives_cut_anywhere_are_refused() {
    let place = Place::new();
    let files: [(&str, &str); 2] = [("a/b.txt", "hello"), ("c.txt", "world")];
    for (kind, good) in [(Kind::Tar, tar_of(&files)), (Kind::TarGz, tgz_of(&files)), (Kind::Zip, zip_of(&files))] {
        for length in (0..good.len()).step_by(good.len() / 60 + 1) {
            assert!(place.unpack(&good[..length], kind, &strict()).is_err(), "{kind:?} of {length} bytes");
            assert_eq!(fs::read_dir(place.inside()).unwrap().count(), 0);
        }
        assert!(place.unpack(&good, kind, &strict()).is_ok(), "{kind:?} as it was");
        empty(&place.inside()).unwrap();
    }
}

/// Makes archives of one folder in every way Python knows, and unpacks each as Python does.
const PYTHON: &str = include_str!("tests/archives.py");

#[test]
fn good_archives_become_what_python_makes_of_them() {
    let place = tempfile::tempdir().unwrap();
    let [source, out] = ["source", "out"].map(|name| place.path().join(name));
    fs::create_dir_all(&out).unwrap();
    fs::create_dir_all(&source).unwrap();
    let python = Command::new("python3").args(["-c", PYTHON]).args([&source, &out]).output().unwrap();
    assert!(python.status.success(), "{}", String::from_utf8_lossy(&python.stderr));
    let mut tried = 0;
    for entry in fs::read_dir(&out).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if path.is_dir() {
            continue;
        }
        let into = place.path().join(format!("ours-{name}"));
        fs::create_dir(&into).unwrap();
        let archive = File::open(&path).unwrap();
        let kind = Kind::of(&name, &archive).unwrap();
        let unpacked = unpack(&archive, kind, &into, &Limits::default()).unwrap_or_else(|why| panic!("{name}: {why}"));
        let theirs = seen(&out.join(format!("{name}.by-python")));
        assert!(!theirs.is_empty() && unpacked.entries > 0, "{name}");
        // Zips of Python's own lose the executable bit when Python unpacks them.
        let tidy = |all: BTreeMap<String, String>| -> BTreeMap<String, String> {
            all.into_iter().map(|(path, what)| (path, if kind == Kind::Zip { what.replacen("755 ", "644 ", 1) } else { what })).collect()
        };
        assert_eq!(tidy(seen(&into)), tidy(theirs), "{name}");
        tried += 1;
    }
    assert_eq!(tried, 10);
}

#[test]
fn a_name_and_the_first_bytes_must_say_the_same() {
    let of = |name: &str, bytes: &[u8]| {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        Kind::of(name, &file).map_err(|why| why.to_string())
    };
    let files: [(&str, &str); 1] = [("a", "b")];
    assert_eq!(of("x.TAR", &tar_of(&files)), Ok(Kind::Tar));
    assert_eq!(of("x.tgz", &tgz_of(&files)), Ok(Kind::TarGz));
    assert_eq!(of("x.tar.gz", &tgz_of(&files)), Ok(Kind::TarGz));
    assert_eq!(of("x.zip", &zip_of(&files)), Ok(Kind::Zip));
    assert_eq!(of("x.zip", &tar_of(&files)), Err("the archive is not what its name says".into()));
    assert_eq!(of("x.tar", &tgz_of(&files)), Err("the archive is not what its name says".into()));
    assert!(of("x.rar", b"Rar!").is_err());
}

#[test]
fn a_directory_that_is_not_empty_is_left_alone() {
    let place = Place::new();
    fs::write(place.inside().join("mine"), "mine").unwrap();
    assert!(place.unpack(&tar_of(&[("a", "b")]), Kind::Tar, &strict()).is_err());
    assert_eq!(seen(&place.inside()).into_keys().collect::<Vec<_>>(), ["mine"]);
}
