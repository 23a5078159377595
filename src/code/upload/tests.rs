use std::{
    collections::BTreeSet,
    os::unix::fs::{PermissionsExt, symlink},
    time::{Duration, SystemTime},
};

use model::bundle::Entry;

use super::*;
use crate::code::{NotMade, Waiting};

struct Place {
    dir: tempfile::TempDir,
    room: Room,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let room = Room::of(dir.path());
        Self { dir, room }
    }

    fn tree(&self, digest: ContentHash) -> Result<Tree, NotMade> {
        let waiting = Waiting { pause: &|_| false, say: &|_| {} };
        Shelf::with_most(self.dir.path().join("trees"), 10).place(&digest.to_string(), &self.room, &waiting)
    }

    /// Every file below the directory of uploads, without its lock.
    fn files(&self) -> Vec<String> {
        let list = |part: &str| fs::read_dir(self.dir.path().join("uploads").join(part)).into_iter().flatten().flatten().count();
        PARTS.iter().map(|part| format!("{part} {}", list(part))).collect()
    }

    fn uploaded(&self, files: &[(&str, &str)]) -> ContentHash {
        let bundle = bundle(files);
        self.room.begin(&bundle).unwrap();
        files.iter().for_each(|(_, text)| self.room.take(blob(text), text.as_bytes()).unwrap());
        self.room.finish(bundle.digest()).unwrap().digest()
    }
}

fn blob(text: &str) -> Blob {
    Blob { hash: ContentHash::of(text.as_bytes()), size_bytes: text.len() as u64 }
}

fn bundle(files: &[(&str, &str)]) -> Bundle {
    let entry =
        |(path, text): &(&str, &str)| (path.as_bytes().to_vec(), Entry::File { blob: blob(text), executable: path.ends_with(".sh") });
    Bundle::new(None, files.iter().map(entry)).unwrap()
}

fn missing(standing: &Standing) -> Vec<(u64, u64)> {
    standing.missing.iter().map(|(blob, have)| (blob.size_bytes, *have)).collect()
}

#[test]
fn content_comes_in_pieces_and_goes_on_where_it_stopped() {
    let place = Place::new();
    let bundle = bundle(&[("a", "hello"), ("b", "hi"), ("c", "hello"), ("empty", "")]);
    assert_eq!(
        missing(&place.room.begin(&bundle).unwrap()).iter().map(|(size, have)| size - have).sum::<u64>(),
        7,
        "the same content comes once"
    );
    assert_eq!(place.room.append(blob("hello"), 0, b"hel").unwrap(), 3);
    assert_eq!(place.room.append(blob("hello"), 0, b"hel").unwrap(), 3, "a piece that comes twice changes nothing");
    assert!(missing(&place.room.begin(&bundle).unwrap()).contains(&(5, 3)));
    assert!(matches!(place.room.finish(bundle.digest()), Err(NotTaken::Missing(_))));
    assert_eq!(place.room.append(blob("hello"), 3, b"lo").unwrap(), 5);
    place.room.take(blob("hi"), b"hi").unwrap();
    place.room.take(blob(""), b"").unwrap();
    assert_eq!(place.room.finish(bundle.digest()).unwrap(), bundle);
    assert!(place.room.begin(&bundle).unwrap().finished);
    assert_eq!(place.files(), ["blobs 3", "incoming 0", "bundles 1", "pending 0"]);
}

#[test]
fn what_has_another_hash_is_thrown_away_with_the_reason() {
    let place = Place::new();
    let wrong = place.room.append(blob("hello"), 0, b"HELLO").unwrap_err();
    assert!(matches!(wrong, NotTaken::WrongHash { .. }), "{wrong}");
    assert_eq!(place.room.append(blob("hello"), 0, b"hel").unwrap(), 3, "nothing of the wrong one is left");
    assert!(matches!(place.room.append(blob("hello"), 3, b"lo and more"), Err(NotTaken::TooLong { size_bytes: 5 })));
    assert!(matches!(place.room.take(blob("hello"), b"HELLO"), Err(NotTaken::WrongHash { .. })));
    // As a power cut may leave it: all its bytes, and not the right ones.
    let bundle = bundle(&[("a", "hello")]);
    place.room.begin(&bundle).unwrap();
    fs::write(place.room.path("incoming", blob("hello").hash), "HELLO").unwrap();
    assert!(matches!(place.room.finish(bundle.digest()), Err(NotTaken::Missing(1))));
    assert_eq!(missing(&place.room.begin(&bundle).unwrap()), [(5, 0)]);
}

#[test]
fn many_who_send_the_same_do_not_spoil_it() {
    let place = Place::new();
    let text: String = (0..200_000).map(|number: u32| char::from(b'a' + (number * 7 % 26) as u8)).collect();
    let bundle = bundle(&[("a", &text)]);
    place.room.begin(&bundle).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                let mut offset = 0;
                while offset < text.len() {
                    let end = text.len().min(offset + 9_000);
                    offset = place.room.append(blob(&text), offset as u64, &text.as_bytes()[offset..end]).unwrap() as usize;
                }
                place.room.finish(bundle.digest()).unwrap();
            });
        }
    });
    let kept = std::io::read_to_string(place.room.open(blob(&text).hash).unwrap()).unwrap();
    assert!(kept == text, "it was spoilt");
}

#[test]
fn a_link_in_the_place_of_a_file_is_not_followed() {
    let place = Place::new();
    place.room.make_dirs().unwrap();
    let canary = place.dir.path().join("canary");
    fs::write(&canary, "untouched").unwrap();
    symlink(&canary, place.room.path("incoming", blob("hello").hash)).unwrap();
    assert!(place.room.append(blob("hello"), 0, b"hello").is_err());
    assert!(place.room.take(blob("hello"), b"hello").is_err());
    assert_eq!(fs::read_to_string(canary).unwrap(), "untouched");
}

#[test]
fn a_tree_is_laid_out_once_with_its_links_and_programs() {
    let place = Place::new();
    let run = Entry::File { blob: blob("#!/bin/sh"), executable: true };
    let same = Entry::File { blob: blob("#!/bin/sh"), executable: false };
    let link = Entry::Link { target: b"../run.sh".to_vec() };
    let bundle = Bundle::new(None, [(b"run.sh".to_vec(), run), (b"docs/run.txt".to_vec(), same), (b"docs/now".to_vec(), link)]).unwrap();
    place.room.begin(&bundle).unwrap();
    place.room.take(blob("#!/bin/sh"), b"#!/bin/sh").unwrap();
    place.room.finish(bundle.digest()).unwrap();
    let tree = place.tree(bundle.digest()).unwrap();
    let mode = |path: &str| fs::metadata(tree.path.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode("run.sh"), mode("docs/run.txt")), (0o755, 0o644));
    assert_eq!(fs::read_link(tree.path.join("docs/now")).unwrap(), Path::new("../run.sh"));
    assert_eq!(place.tree(bundle.digest()).unwrap().path, tree.path);
    assert!(matches!(place.tree(ContentHash::of(b"other")), Err(NotMade::Failed { .. })));
}

#[test]
fn trees_that_nobody_wants_make_room_for_others_the_longest_unwanted_first() {
    let place = Place::new();
    let [first, second, third] = ["first", "second", "third"].map(|text| place.uploaded(&[("a", text)]));
    let laid_out = || [first, second, third].map(|digest| place.dir.path().join("trees").join(digest.to_string()).exists());
    let held = place.tree(first).unwrap();
    place.tree(second).unwrap();
    assert_eq!(laid_out(), [true, true, false], "both are held or just wanted, though they are eleven bytes of ten");
    place.tree(third).unwrap();
    assert_eq!(laid_out(), [true, false, true], "the first is in use");
    drop(held);
    place.tree(second).unwrap();
    assert_eq!(laid_out(), [false, true, false]);
}

#[test]
fn what_no_job_wants_goes_after_a_while_and_everything_else_stays() {
    let place = Place::new();
    let wanted = place.uploaded(&[("a", "both"), ("b", "mine")]);
    let unwanted = place.uploaded(&[("a", "both"), ("c", "theirs")]);
    place.room.append(blob("half of it"), 0, b"half").unwrap();
    let sweep = |older_than| place.room.sweep(&place.room.alone().unwrap(), &BTreeSet::from([wanted]), older_than).unwrap();
    assert_eq!(sweep(Duration::from_secs(3600)), 0, "everything is young");
    let old = SystemTime::now() - Duration::from_secs(7200);
    for path in PARTS.iter().flat_map(|part| fs::read_dir(place.dir.path().join("uploads").join(part)).unwrap()) {
        File::options().append(true).open(path.unwrap().path()).unwrap().set_modified(old).unwrap();
    }
    assert_eq!(sweep(Duration::from_secs(3600)), 3, "the other bundle, its content, and half of something");
    assert!(place.room.bundle(unwanted).unwrap().is_none());
    assert_eq!(place.files(), ["blobs 2", "incoming 0", "bundles 1", "pending 0"]);
    assert!(place.tree(wanted).is_ok());
}
