//! Room that is spoken for: what somebody has announced and not fetched yet. An announcement holds for as long as whoever made it
//! lives and has not taken it back.

use std::{
    fs::{self, File},
    io,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use super::shelf::Shelf;
use crate::code::once;

/// A file, locked by whoever made it, with the number of bytes that are among the parts of a tree or are to come there.
#[derive(Debug)]
pub struct Announced {
    path: PathBuf,
    file: File,
    bytes: u64,
}

impl Announced {
    /// For whoever has the turn to make room, so that nobody counts meanwhile.
    pub fn new(shelf: &Shelf, tree: &str, bytes_to_come: u64) -> io::Result<Self> {
        let path = shelf.announced().join(tree);
        let file = once::lock_file(&path)?;
        file.lock()?;
        let announced = Self { path, file, bytes: bytes_to_come + bytes_in(&shelf.parts_of(tree))? };
        announced.write()?;
        Ok(announced)
    }

    /// So much is no part any more, but a content of the cache.
    pub fn was_kept(&mut self, bytes: u64) -> io::Result<()> {
        self.bytes = self.bytes.saturating_sub(bytes);
        self.write()
    }

    /// Always as long, so that whoever reads it meanwhile reads a number.
    fn write(&self) -> io::Result<()> {
        self.file.write_all_at(format!("{:020}", self.bytes).as_bytes(), 0)
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        // One that stays is nobody's once the lock is gone, and does not count.
        let _counts_for_nothing = fs::remove_file(&self.path);
    }
}

/// What is still to come of all that is announced, for whoever has the turn.
pub fn to_come_bytes(shelf: &Shelf) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(shelf.announced())? {
        let path = entry?.path();
        let (tree, Some(text)) = (path.file_name().unwrap_or_default().to_string_lossy(), held(&path)?) else { continue };
        let announced: u64 = text.trim().parse().unwrap_or(0);
        bytes += announced.saturating_sub(bytes_in(&shelf.parts_of(&tree))?);
    }
    Ok(bytes)
}

/// What it says, if whoever made it lives. What the dead left is removed.
fn held(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    match file.try_lock_shared() {
        Err(fs::TryLockError::WouldBlock) => io::read_to_string(file).map(Some),
        Err(fs::TryLockError::Error(error)) => Err(error),
        Ok(()) => {
            let _gone_already = fs::remove_file(path);
            Ok(None)
        }
    }
}

fn bytes_in(parts: &Path) -> io::Result<u64> {
    let entries = match fs::read_dir(parts) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        other => other?,
    };
    // What vanishes meanwhile has become a content of the cache.
    Ok(entries.filter_map(|entry| entry.ok()?.metadata().ok()).map(|it| it.len()).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_announced_counts_until_it_has_come_or_nobody_fetches_it_any_more() {
        let home = tempfile::tempdir().unwrap();
        let shelf = Shelf::at(home.path().join("inputs")).unwrap();
        fs::create_dir(shelf.parts_of("a")).unwrap();
        let part = |name: &str, bytes: usize| fs::write(shelf.parts_of("a").join(name), vec![0; bytes]).unwrap();
        part("one", 10);
        let mut announced = Announced::new(&shelf, "a", 90).unwrap();
        let other = Announced::new(&shelf, "b", 5).unwrap();
        assert_eq!(to_come_bytes(&shelf).unwrap(), 95, "what is there already was not announced");
        part("one", 60);
        assert_eq!(to_come_bytes(&shelf).unwrap(), 45);
        fs::remove_file(shelf.parts_of("a").join("one")).unwrap();
        announced.was_kept(60).unwrap();
        assert_eq!(to_come_bytes(&shelf).unwrap(), 45, "what was kept does not come again");
        drop(other);
        assert_eq!(to_come_bytes(&shelf).unwrap(), 40);
        fs::write(shelf.announced().join("dead"), "00000000000000000077").unwrap();
        assert_eq!((to_come_bytes(&shelf).unwrap(), fs::read_dir(shelf.announced()).unwrap().count()), (40, 1));
    }
}
