//! Room in the cache. What no task uses gives way, the longest unused first; what is in use never does.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use model::{resources::Bytes, task::Whose};
use nix::sys::statvfs::statvfs;

use super::{
    super::Failed,
    announced::{self, Announced},
    shelf::{self, Facts, Shelf},
};
use crate::code::once;

/// Of the disk, where its owner says nothing.
const SHARE_OF_DISK_PERCENT: u64 = 80;
/// What stays free of the disk, because others write to it too: a twentieth, and not more than this.
const RESERVE_BYTES_MAX: u64 = 5 << 30;
const FILES_RESERVE: u64 = 1_024;

/// What is to come.
pub struct Need<'a> {
    /// Such as `data:mnist has 1GiB in 2 files`.
    pub what: &'a str,
    pub bytes: u64,
    pub files: u64,
    /// The name of the tree that it is for.
    pub tree: &'a str,
}

/// How it stands with the cache and its disk.
struct Standing {
    used_bytes: u64,
    limit_bytes: u64,
    /// What others are fetching and has not come yet.
    announced_bytes: u64,
    disk_bytes: u64,
    free_bytes: u64,
    reserve_bytes: u64,
    free_files: Option<u64>,
}

impl Standing {
    fn of(shelf: &Shelf, limit_bytes: Option<u64>) -> io::Result<Self> {
        let disk = statvfs(&shelf.dir)?;
        let disk_bytes = disk.blocks() * disk.fragment_size();
        Ok(Self {
            used_bytes: used_bytes(shelf)?,
            limit_bytes: limit_bytes.unwrap_or(disk_bytes / 100 * SHARE_OF_DISK_PERCENT),
            announced_bytes: announced::to_come_bytes(shelf)?,
            disk_bytes,
            free_bytes: disk.blocks_available() * disk.fragment_size(),
            reserve_bytes: reserve_bytes(disk_bytes),
            // Some file systems do not count their files.
            free_files: Some(disk.files_available()).filter(|_| disk.files() > 0),
        })
    }

    /// How much more may come.
    fn room_bytes(&self) -> u64 {
        let room_bytes = self.limit_bytes.saturating_sub(self.used_bytes).min(self.free_bytes.saturating_sub(self.reserve_bytes));
        room_bytes.saturating_sub(self.announced_bytes)
    }

    /// How much could come if nothing else were there.
    fn most_bytes(&self) -> u64 {
        self.limit_bytes.min(self.disk_bytes.saturating_sub(self.reserve_bytes))
    }

    fn lacks_files(&self, need: &Need<'_>) -> bool {
        self.free_files.is_some_and(|free| free < need.files.saturating_add(FILES_RESERVE))
    }

    fn refusal(&self, need: &Need<'_>) -> Failed {
        let Self { free_bytes, reserve_bytes, limit_bytes, used_bytes, .. } = self;
        let disk = format!("its disk has {} free, of which {} stay free", Bytes(*free_bytes), Bytes(*reserve_bytes));
        let cache = format!("it may have {} and has {} that tasks use now", Bytes(*limit_bytes), Bytes(*used_bytes));
        let others = match self.announced_bytes {
            0 => String::new(),
            bytes => format!("; {} are still to come for others who began before", Bytes(bytes)),
        };
        let whose = if need.bytes > self.most_bytes() { Whose::User } else { Whose::Platform };
        let why = if self.lacks_files(need) {
            format!("{}; the disk of the cache has room for only {} more files", need.what, self.free_files.unwrap_or(0))
        } else {
            format!("{}; the cache of inputs has room for {}: {disk}, and {cache}{others}", need.what, Bytes(self.room_bytes()))
        };
        Failed { why, whose }
    }
}

/// What is left free of a disk of this size.
pub fn reserve_bytes(disk_bytes: u64) -> u64 {
    (disk_bytes / 20).min(RESERVE_BYTES_MAX)
}

/// Room that is one's own until this is dropped, and how much more there is beside it.
#[derive(Debug)]
pub struct Room {
    pub announced: Announced,
    pub more_bytes: u64,
}

/// Removes what is not in use until there is room, or says with numbers why there is none.
pub fn make(shelf: &Shelf, limit_bytes: Option<u64>, need: &Need<'_>) -> Result<Room, Failed> {
    let trouble =
        |error: io::Error| Failed { why: format!("the cache of inputs cannot be looked through: {error}"), whose: Whose::Platform };
    // One at a time: two who look at once would both count on the same room. Whoever has had a turn has announced what is to come.
    let turn = once::lock_file(&shelf.dir.join("room.lock")).map_err(trouble)?;
    turn.lock().map_err(trouble)?;
    drop_disbelieved(shelf).map_err(trouble)?;
    loop {
        let standing = Standing::of(shelf, limit_bytes).map_err(trouble)?;
        let lacking_bytes = need.bytes.saturating_sub(standing.room_bytes());
        if lacking_bytes == 0 && !standing.lacks_files(need) {
            let announced = Announced::new(shelf, need.tree, need.bytes).map_err(trouble)?;
            return Ok(Room { announced, more_bytes: standing.room_bytes() - need.bytes });
        }
        let in_vain = need.bytes > standing.most_bytes();
        if in_vain || !remove_oldest(shelf, lacking_bytes).map_err(trouble)? {
            return Err(standing.refusal(need));
        }
    }
}

/// Answers whether anything went.
fn remove_oldest(shelf: &Shelf, bytes: u64) -> io::Result<bool> {
    let (mut freed_bytes, mut anything) = (0, false);
    for tree in oldest_first(shelf)? {
        if freed_bytes >= bytes && anything {
            break;
        }
        let facts = facts(shelf, &tree);
        if shelf::remove(&tree)? {
            let name = tree.file_name().unwrap_or_default().to_string_lossy().into_owned();
            once::remove(&shelf.parts_of(&name))?;
            freed_bytes += facts.map_or(0, |it| it.bytes);
            anything = true;
        }
    }
    Ok(remove_orphans(shelf)? || anything)
}

fn facts(shelf: &Shelf, tree: &Path) -> Option<Facts> {
    once::text_of_any_mark(tree, &shelf.boot).ok().and_then(|text| serde_json::from_str(&text).ok())
}

fn oldest_first(shelf: &Shelf) -> io::Result<Vec<PathBuf>> {
    let mut all: Vec<(SystemTime, PathBuf)> = Vec::new();
    for entry in fs::read_dir(shelf.trees())? {
        let path = entry?.path();
        if path.extension().is_some_and(|it| it == "lock") {
            // Another may have removed it since we read its name.
            let used = fs::metadata(&path).and_then(|it| it.modified());
            all.extend(used.ok().map(|used| (used, path.with_extension(""))));
        }
    }
    all.sort();
    Ok(all.into_iter().map(|(_, tree)| tree).collect())
}

/// Contents that no tree has any more. Answers whether there were any.
fn remove_orphans(shelf: &Shelf) -> io::Result<bool> {
    let mut any = false;
    each_file(&shelf.blobs(), &mut |path, metadata| {
        if shelf::is_orphan(metadata) {
            any = true;
            return fs::remove_file(path);
        }
        Ok(())
    })?;
    Ok(any)
}

/// What was half, or lent, when the machine went down.
fn drop_disbelieved(shelf: &Shelf) -> io::Result<()> {
    for entry in fs::read_dir(shelf.parts())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if shelf.are_believed(&name) {
            continue;
        }
        let tree = shelf.tree(name.split('.').next().unwrap_or_default());
        if !once::is_marked(&tree, Some(&shelf.boot)) {
            shelf::remove(&tree)?;
        }
        once::remove(&entry.path())?;
    }
    Ok(())
}

fn used_bytes(shelf: &Shelf) -> io::Result<u64> {
    let mut bytes = 0;
    for dir in [shelf.blobs(), shelf.parts()] {
        each_file(&dir, &mut |_, metadata| {
            bytes += metadata.len();
            Ok(())
        })?;
    }
    let own = oldest_first(shelf)?.iter().filter_map(|tree| facts(shelf, tree)).map(|it| it.own_bytes).sum::<u64>();
    Ok(bytes + own)
}

/// Every file two levels down. What vanishes meanwhile is not there.
fn each_file(dir: &Path, visit: &mut dyn FnMut(&Path, &fs::Metadata) -> io::Result<()>) -> io::Result<()> {
    for shelf in fs::read_dir(dir)? {
        let entries = match fs::read_dir(shelf?.path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        for entry in entries.filter_map(Result::ok) {
            if let Ok(metadata) = entry.metadata() {
                match visit(&entry.path(), &metadata) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    other => other?,
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn standing(used_gib: u64, limit_gib: u64, free_gib: u64) -> Standing {
        let gib = |count: u64| count << 30;
        Standing {
            used_bytes: gib(used_gib),
            limit_bytes: gib(limit_gib),
            announced_bytes: 0,
            disk_bytes: gib(1_000),
            free_bytes: gib(free_gib),
            reserve_bytes: gib(5),
            free_files: Some(1 << 20),
        }
    }

    #[test]
    fn a_refusal_has_numbers_and_says_whether_waiting_helps() {
        let need =
            |gib: u64, files: u64| Need { what: "data:imagenet has 148.2GiB in 1,281,167 files", bytes: gib << 30, files, tree: "t" };
        let said = |standing: Standing, need: Need<'_>| {
            let Failed { why, whose } = standing.refusal(&need);
            format!("{whose:?}: {why}")
        };
        insta::assert_snapshot!([
            said(standing(150, 800, 60), need(149, 10)),
            said(standing(0, 100, 900), need(149, 10)),
            said(standing(0, 800, 900), need(149, 1_281_167)),
            said(Standing { announced_bytes: 100 << 30, ..standing(0, 800, 200) }, need(149, 10)),
        ].join("\n"), @"
        Platform: data:imagenet has 148.2GiB in 1,281,167 files; the cache of inputs has room for 55GiB: its disk has 60GiB free, of which 5GiB stay free, and it may have 800GiB and has 150GiB that tasks use now
        User: data:imagenet has 148.2GiB in 1,281,167 files; the cache of inputs has room for 100GiB: its disk has 900GiB free, of which 5GiB stay free, and it may have 100GiB and has 0B that tasks use now
        Platform: data:imagenet has 148.2GiB in 1,281,167 files; the disk of the cache has room for only 1048576 more files
        Platform: data:imagenet has 148.2GiB in 1,281,167 files; the cache of inputs has room for 95GiB: its disk has 200GiB free, of which 5GiB stay free, and it may have 800GiB and has 0B that tasks use now; 100GiB are still to come for others who began before
        ");
    }

    fn tree(shelf: &Shelf, name: &str, age_s: u64, blobs: &[&str]) -> PathBuf {
        let tree = shelf.tree(name);
        fs::create_dir_all(shelf::files_of(&tree)).unwrap();
        for blob in blobs {
            let path = shelf.blobs().join("aa").join(blob);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            if !path.exists() {
                fs::write(&path, [0; 100]).unwrap();
            }
            fs::hard_link(&path, shelf::files_of(&tree).join(blob)).unwrap();
        }
        let facts = Facts { bytes: 100 * blobs.len() as u64, own_bytes: 0 };
        fs::write(tree.join("complete"), serde_json::to_string(&facts).unwrap()).unwrap();
        once::lock_file(&shelf::lock_of(&tree)).unwrap().set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
        tree
    }

    #[test]
    fn the_longest_unused_goes_first_and_never_what_is_in_use_or_shared() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(home.path().join("inputs")).unwrap();
        let oldest = tree(&shelf, "a", 300, &["one", "shared"]);
        let older = tree(&shelf, "b", 200, &["two"]);
        let young = tree(&shelf, "c", 100, &["three", "shared"]);
        assert_eq!(used_bytes(&shelf).unwrap(), 400);
        let held = once::lock_file(&shelf::lock_of(&older)).unwrap();
        held.lock_shared().unwrap();
        let need = |bytes| Need { what: "x", bytes, files: 1, tree: "new" };
        make(&shelf, Some(500), &need(100)).map_err(|it| it.why).unwrap();
        assert!(oldest.exists(), "there was room enough");
        make(&shelf, Some(500), &need(200)).map_err(|it| it.why).unwrap();
        assert_eq!((oldest.exists(), older.exists(), young.exists()), (false, true, true));
        assert_eq!(used_bytes(&shelf).unwrap(), 300, "what another tree has too is still there");
        assert!(make(&shelf, Some(500), &need(450)).is_err(), "what is in use does not give way");
        assert_eq!((older.exists(), young.exists()), (true, false));
        drop(held);
        make(&shelf, Some(500), &need(450)).map_err(|it| it.why).unwrap();
        assert_eq!((older.exists(), used_bytes(&shelf).unwrap()), (false, 0));
    }

    #[test]
    fn room_that_one_has_announced_is_not_there_for_another() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(home.path().join("inputs")).unwrap();
        let need = |tree| Need { what: "x", bytes: 60, files: 1, tree };
        let first = make(&shelf, Some(100), &need("first")).map_err(|it| it.why).unwrap();
        assert_eq!(first.more_bytes, 40);
        let refused = make(&shelf, Some(100), &need("second")).map_err(|it| it.why).unwrap_err();
        assert!(
            refused.contains("has room for 40B") && refused.ends_with("; 60B are still to come for others who began before"),
            "{refused}"
        );
        drop(first);
        make(&shelf, Some(100), &need("second")).map_err(|it| it.why).unwrap();
    }

    #[test]
    fn what_was_lent_when_the_machine_went_down_is_gone_with_its_parts() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(home.path().join("inputs")).unwrap();
        let kept = tree(&shelf, "kept", 300, &["one"]);
        let [lent, lost] = ["lent", "lost"].map(|name| tree(&shelf, name, 200, &[]));
        for (tree, boot) in [(&lent, shelf.boot.as_str()), (&lost, "before"), (&kept, "before")] {
            let parts = shelf.parts().join(format!("{}.{boot}", tree.file_name().unwrap().to_str().unwrap()));
            fs::create_dir_all(&parts).unwrap();
            fs::write(parts.join("two"), [0; 100]).unwrap();
        }
        fs::rename(lent.join("complete"), lent.join(format!("complete.{}", shelf.boot))).unwrap();
        fs::rename(lost.join("complete"), lost.join("complete.before")).unwrap();
        make(&shelf, Some(500), &Need { what: "x", bytes: 100, files: 1, tree: "new" }).map_err(|it| it.why).unwrap();
        assert_eq!([&kept, &lent, &lost].map(|tree| tree.exists()), [true, true, false]);
        assert_eq!(fs::read_dir(shelf.parts()).unwrap().count(), 1, "only those of the tree that is lent now");
        assert_eq!(used_bytes(&shelf).unwrap(), 200);
    }
}
