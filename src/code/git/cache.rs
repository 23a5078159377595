//! Code that is kept, by what is in it. What is in use stays; of the rest, what was used last.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{Checkout, mirror::bytes_below};
use crate::code::{beside, once};

const LOCK: &str = ".lock";

/// What is known of a tree that is whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    pub commit: String,
    pub files: u64,
    pub bytes: u64,
    pub left_out: Vec<String>,
    /// Fetched by someone who gave a password. Others must first show that they may.
    pub is_private: bool,
    /// The directory in it that was asked for.
    pub directory: Option<String>,
}

pub fn tree(place: &Path) -> PathBuf {
    place.join("tree")
}

/// The code that stands there, if it is whole.
pub fn find(place: &Path) -> io::Result<Option<(Checkout, Facts)>> {
    if !tree(place).exists() {
        return Ok(None);
    }
    let path = beside(place, LOCK);
    let lock = once::lock_file(&path)?;
    if lock.try_lock_shared().is_err() || !once::is_there(&lock)? {
        return Ok(None);
    }
    let Ok(text) = once::text_of_mark(place) else { return Ok(None) };
    let facts: Facts = serde_json::from_str(&text)?;
    lock.set_modified(SystemTime::now())?;
    let tree = tree(place);
    let code = facts.directory.as_ref().map_or(tree.clone(), |it| tree.join(it));
    let Facts { commit, files, bytes, left_out, .. } = facts.clone();
    Ok(Some((Checkout { place: code, commit, files, bytes, left_out, lock: path, held: lock }, facts)))
}

/// Removes what was not used for longest, until the rest is small enough. What is in use cannot be removed.
pub fn prune(shelf: &Path, bytes_max: u64) -> io::Result<()> {
    let mut all = kept(shelf)?;
    all.extend(kept(&shelf.join("mirrors"))?);
    all.sort_by_key(|it| it.used);
    let mut total: u64 = all.iter().map(|it| it.bytes).sum();
    for it in all {
        if total <= bytes_max {
            return Ok(());
        }
        if once::remove_unheld(&it.place)? {
            total -= it.bytes;
        }
    }
    Ok(())
}

struct Kept {
    place: PathBuf,
    used: SystemTime,
    bytes: u64,
}

fn kept(dir: &Path) -> io::Result<Vec<Kept>> {
    let mut all = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        let Some(name) = name.to_str().and_then(|it| it.strip_suffix(LOCK)) else { continue };
        let place = dir.join(name);
        let known = once::text_of_mark(&place).ok().and_then(|text| serde_json::from_str::<Facts>(&text).ok());
        let bytes = known.map_or_else(|| bytes_below(&place), |it| it.bytes);
        // Another may have removed it since we read its name.
        let Ok(used) = entry.metadata().and_then(|it| it.modified()) else { continue };
        all.push(Kept { place, used, bytes });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn put(shelf: &Path, name: &str, bytes: u64, age_s: u64) -> PathBuf {
        let place = shelf.join(name);
        fs::create_dir_all(tree(&place)).unwrap();
        let facts = Facts { commit: name.into(), files: 1, bytes, left_out: vec![], is_private: false, directory: None };
        fs::write(place.join("complete"), serde_json::to_string(&facts).unwrap()).unwrap();
        let lock = once::lock_file(&beside(&place, LOCK)).unwrap();
        lock.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
        place
    }

    #[test]
    fn what_was_not_used_for_longest_goes_first_and_what_is_in_use_stays() {
        let home = tempfile::tempdir().unwrap();
        let shelf = home.path();
        fs::create_dir(shelf.join("mirrors")).unwrap();
        let (old, older, oldest) = (put(shelf, "a", 10, 100), put(shelf, "b", 10, 200), put(shelf, "c", 10, 300));
        let mirror = shelf.join("mirrors/m");
        fs::create_dir(&mirror).unwrap();
        fs::write(mirror.join("pack"), "1234567890").unwrap();
        once::lock_file(&beside(&mirror, LOCK)).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        prune(shelf, 40).unwrap();
        assert!(mirror.exists() && oldest.exists());
        let (held, facts) = find(&older).unwrap().unwrap();
        assert_eq!((facts.bytes, held.commit.as_str()), (10, "b"));
        prune(shelf, 20).unwrap();
        assert_eq!([mirror.exists(), oldest.exists(), older.exists(), old.exists()], [false, false, true, true]);
        assert!(!beside(&oldest, LOCK).exists(), "nothing of it is left");
        prune(shelf, 0).unwrap();
        assert_eq!([older.exists(), old.exists()], [true, false]);
        drop(held);
        prune(shelf, 0).unwrap();
        assert!(!older.exists() && find(&older).unwrap().is_none());
    }
}
