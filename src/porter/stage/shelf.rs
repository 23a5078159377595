//! The cache of what was fetched: contents by what they are, and trees that are made of links to them. So a
//! data set of which one file has changed costs that one file, on the line and on the disk.

use std::{
    fs::{self, DirBuilder, File},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::SystemTime,
};

use serde::{Deserialize, Serialize};

use super::{
    lent::{self, Lent},
    manifest::{Manifest, Wanted},
};
use crate::{
    code::{
        beside,
        once::{self, Once},
    },
    crash,
    rundir::private_dir,
};

const LOCK: &str = ".lock";

#[derive(Clone)]
pub struct Shelf {
    pub dir: PathBuf,
    /// What was written before the machine last went down may not be on its disk, unless it was synced.
    pub boot: String,
    /// Whether the disk keeps what it has taken until the machine goes down, so that it can be used before it is synced.
    lends: bool,
}

/// What is known of a tree that is whole.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Of everything in it.
    pub bytes: u64,
    /// Of what is in no other tree, because it was unpacked here.
    pub own_bytes: u64,
}

/// A tree that stays for as long as its lock is held by someone.
pub struct Held {
    pub files: PathBuf,
    pub lock: PathBuf,
    pub held: File,
    /// What is to be done for it when it is in use already.
    pub lent: Option<Lent>,
}

impl Shelf {
    /// In a directory that may not be there yet.
    pub fn at(dir: PathBuf) -> io::Result<Self> {
        if let Some(parent) = dir.parent() {
            fs::create_dir_all(parent)?;
        }
        private_dir(&dir)?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?.trim().to_owned();
        let shelf = Self { boot, lends: lent::keeps_what_it_took(&dir)?, dir };
        for dir in [shelf.blobs(), shelf.trees(), shelf.parts(), shelf.announced()] {
            private_dir(&dir)?;
        }
        Ok(shelf)
    }

    /// The boot for which trees are lent that are not on the disk yet; none, if that cannot be.
    pub fn lends_in(&self) -> Option<&str> {
        self.lends.then_some(self.boot.as_str())
    }

    pub fn blobs(&self) -> PathBuf {
        self.dir.join("blobs")
    }

    pub fn trees(&self) -> PathBuf {
        self.dir.join("trees")
    }

    /// Where files lie that are not whole, or not synced; a directory for each tree.
    pub fn parts(&self) -> PathBuf {
        self.dir.join("parts")
    }

    /// Where it stands what else is to come; a file for each tree that is being made.
    pub fn announced(&self) -> PathBuf {
        self.dir.join("announced")
    }

    pub fn tree(&self, name: &str) -> PathBuf {
        self.trees().join(name)
    }

    pub fn blob(&self, name: &str) -> PathBuf {
        let (shelf, rest) = name.split_at(2);
        self.blobs().join(shelf).join(rest)
    }

    /// Of this boot only.
    pub fn parts_of(&self, tree: &str) -> PathBuf {
        self.parts().join(format!("{tree}.{}", self.boot))
    }

    pub fn are_believed(&self, parts: &str) -> bool {
        parts.ends_with(&self.boot)
    }

    /// Holds a tree against removal, if it is whole.
    pub fn hold(&self, once: &Once<'_>) -> io::Result<Option<Held>> {
        if !once.is_whole() {
            return Ok(None);
        }
        let lock = lock_of(once.place);
        let held = once::lock_file(&lock)?;
        held.lock_shared()?;
        // Whoever made room may have taken it away before we had the lock.
        if !once::is_there(&held)? || !once.is_whole() {
            return Ok(None);
        }
        held.set_modified(SystemTime::now())?;
        let lent = (!once::lasts(once.place)).then(|| Lent { shelf: self.clone(), tree: once.place.to_owned() });
        Ok(Some(Held { files: files_of(once.place), lock, held, lent }))
    }
}

pub fn files_of(tree: &Path) -> PathBuf {
    tree.join("files")
}

pub fn lock_of(tree: &Path) -> PathBuf {
    beside(tree, LOCK)
}

/// Removes a tree unless someone holds it. Answers whether it is gone.
pub fn remove(tree: &Path) -> io::Result<bool> {
    let path = lock_of(tree);
    let lock = once::lock_file(&path)?;
    if lock.try_lock().is_err() || !once::is_there(&lock)? {
        return Ok(false);
    }
    once::remove(tree)?;
    fs::remove_file(path)?;
    Ok(true)
}

/// A tree that is being made of what was listed.
pub struct Building<'a> {
    pub shelf: &'a Shelf,
    pub manifest: &'a Manifest,
    pub place: &'a Path,
    pub parts: PathBuf,
}

impl<'a> Building<'a> {
    /// Lays out what the cache has, and answers what it has not.
    pub fn lay_out(&self) -> io::Result<Vec<&'a Wanted>> {
        private_dir(self.place)?;
        let files = files_of(self.place);
        open_dirs(&files)?;
        self.manifest.directories.iter().try_for_each(|it| open_dirs(&files.join(it)))?;
        let (mut missing, mut last_parent) = (Vec::new(), files.clone());
        for wanted in &self.manifest.files {
            let target = files.join(&wanted.place);
            let parent = target.parent().unwrap_or(&files);
            if parent != last_parent {
                open_dirs(parent)?;
                last_parent = parent.to_owned();
            }
            if !self.link(wanted, &target)? {
                missing.push(wanted);
            }
        }
        Ok(missing)
    }

    fn link(&self, wanted: &Wanted, target: &Path) -> io::Result<bool> {
        let blob = self.shelf.blob(&wanted.blob);
        match fs::metadata(&blob) {
            Ok(found) if found.len() == wanted.entry.size => {}
            Ok(_) => {
                fs::remove_file(&blob)?;
                return Ok(false);
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        match fs::hard_link(&blob, target) {
            Ok(()) => Ok(true),
            // Whoever makes room has just removed it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    pub fn part(&self, wanted: &Wanted) -> PathBuf {
        self.parts.join(&wanted.blob)
    }

    /// How much of a file has come before.
    pub fn there_of(&self, wanted: &Wanted) -> u64 {
        fs::metadata(self.part(wanted)).map_or(0, |it| it.len().min(wanted.entry.size))
    }

    /// Files that are whole become contents of the cache. They are in the tree before they are there, so
    /// nobody takes them for something that no tree wants.
    pub fn take_up(&self, whole: &[&Wanted]) -> io::Result<()> {
        once::sync_disk_of(&File::open(&self.parts)?)?;
        crash::point("input.synced-before-kept");
        for wanted in whole {
            let (part, blob) = (self.part(wanted), self.shelf.blob(&wanted.blob));
            fs::hard_link(&part, files_of(self.place).join(&wanted.place))?;
            take_over(&part, &blob)?;
        }
        Ok(())
    }

    /// The last of them, with which the tree is whole.
    pub fn put_in_place(&self, whole: &[&Wanted]) -> io::Result<()> {
        if self.shelf.lends_in().is_some() {
            return self.lend(whole);
        }
        self.take_up(whole)?;
        once::remove(&self.parts)
    }

    /// They are in the tree, and are parts still: what is not on the disk is no content of the cache.
    fn lend(&self, whole: &[&Wanted]) -> io::Result<()> {
        whole.iter().try_for_each(|wanted| fs::hard_link(self.part(wanted), files_of(self.place).join(&wanted.place)))
    }
}

/// Makes a synced part a content of the cache.
pub fn take_over(part: &Path, blob: &Path) -> io::Result<()> {
    private_dir(blob.parent().expect("a blob is on a shelf"))?;
    fs::rename(part, blob)
}

/// With all above it that is missing. Whoever the child becomes may look into it.
fn open_dirs(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}

/// Whether a content is in no tree any more.
pub fn is_orphan(blob: &fs::Metadata) -> bool {
    blob.nlink() < 2
}
