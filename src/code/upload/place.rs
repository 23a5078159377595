//! The tree of an upload, made once and shared by every run that wants it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::{
        ffi::OsStrExt,
        fs::{DirBuilderExt, PermissionsExt, symlink},
    },
    path::{Path, PathBuf},
    time::SystemTime,
};

use model::{
    bundle::{Blob, Bundle, ContentHash, Entry},
    task::Whose,
};

use super::Room;
use crate::code::{
    NotMade, Waiting, beside,
    once::{self, Once},
    platform,
};

/// Where trees stand, each with its lock beside it.
#[derive(Clone, Debug)]
pub struct Shelf {
    dir: PathBuf,
    /// How much they may take before those that nobody wants now are removed, the longest unwanted first.
    bytes_max: u64,
}

/// A tree that stays for as long as its lock is held by someone.
#[derive(Debug)]
pub struct Tree {
    pub path: PathBuf,
    pub lock: PathBuf,
    pub held: File,
}

impl Shelf {
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        const BYTES_MAX: u64 = 4 << 30;
        Self::with_most(dir, BYTES_MAX)
    }

    pub fn with_most(dir: impl Into<PathBuf>, bytes_max: u64) -> Self {
        Self { dir: dir.into(), bytes_max }
    }

    /// Answers where the tree of an upload is, after having made it if need be.
    pub fn place(&self, digest: &str, room: &Room, waiting: &Waiting<'_>) -> Result<Tree, NotMade> {
        let gone = || NotMade::Failed { why: format!("the uploaded folder {digest} is not on this machine"), whose: Whose::User };
        let digest: ContentHash = digest.parse().map_err(|_| gone())?;
        let trouble = |error: io::Error| platform(format!("the uploaded folder {digest} could not be laid out: {error}"));
        let place = self.dir.join(digest.to_string());
        let crash_point = "upload.tree-made-before-marked";
        let once = Once { place: &place, noun: "uploaded code", is_usable: |place| tree(place).is_dir(), crash_point, boot: None, waiting };
        loop {
            if !once.is_whole() {
                let bundle = room.bundle(digest).map_err(trouble)?.ok_or_else(gone)?;
                fs::create_dir_all(&self.dir).and_then(|()| self.make_room(bundle.size_bytes())).map_err(trouble)?;
                once.make(|making| {
                    build(room, &bundle, &tree(making.place)).map_err(trouble)?;
                    Ok(bundle.size_bytes().to_string())
                })?;
            }
            // Whoever makes room may have taken it away before we held it.
            if let Some(held) = hold(&once, &beside(&place, ".lock")).map_err(trouble)? {
                return Ok(Tree { path: tree(&place), lock: beside(&place, ".lock"), held });
            }
        }
    }

    /// Removes trees that nobody holds until there is room for so much more.
    fn make_room(&self, more_bytes: u64) -> io::Result<()> {
        let mut trees = Vec::new();
        for entry in fs::read_dir(&self.dir)? {
            let place = entry?.path();
            let size = once::text_of_mark(&place).ok().and_then(|text| text.parse::<u64>().ok());
            let wanted = fs::metadata(beside(&place, ".lock")).and_then(|data| data.modified());
            trees.extend(size.zip(wanted.ok()).map(|(size, wanted)| (wanted, size, place)));
        }
        trees.sort();
        let mut total = trees.iter().map(|(_, size, _)| size).sum::<u64>().saturating_add(more_bytes);
        for (_, size, place) in trees {
            if total > self.bytes_max && once::remove_unheld(&place)? {
                total -= size;
            }
        }
        Ok(())
    }
}

fn tree(place: &Path) -> PathBuf {
    place.join("tree")
}

/// Holds it against removal, if it is still whole then.
fn hold(once: &Once<'_>, lock: &Path) -> io::Result<Option<File>> {
    let file = once::lock_file(lock)?;
    file.lock_shared()?;
    if !once::is_there(&file)? || !once.is_whole() {
        return Ok(None);
    }
    // Wanted now, so the last to go.
    file.set_modified(SystemTime::now())?;
    Ok(Some(file))
}

/// Makes the tree of a bundle in a directory that is not there yet.
///
/// The files are copies: a blob has one mode, and the same content may be a program in one folder and a
/// text in the next. Where the file system can share the bytes of copies, it does.
fn build(room: &Room, bundle: &Bundle, into: &Path) -> io::Result<()> {
    let make = |dir: &Path| DirBuilder::new().recursive(true).mode(0o755).create(dir);
    make(into)?;
    for (path, entry) in bundle.entries() {
        let place = into.join(std::ffi::OsStr::from_bytes(path));
        make(place.parent().unwrap_or(into))?;
        match entry {
            Entry::File { blob, executable } => copy(room, *blob, *executable, &place)?,
            Entry::Link { target } => symlink(std::ffi::OsStr::from_bytes(target), &place)?,
        }
    }
    Ok(())
}

fn copy(room: &Room, blob: Blob, executable: bool, place: &Path) -> io::Result<()> {
    let mode = if executable { 0o755 } else { 0o644 };
    let mut source = room.open(blob.hash)?;
    let mut file = OpenOptions::new().write(true).create_new(true).open(place)?;
    // Whatever the server's own habits are, a task may read its code.
    file.set_permissions(fs::Permissions::from_mode(mode))?;
    let copied = io::copy(&mut source, &mut file)?;
    if copied == blob.size_bytes {
        return Ok(());
    }
    Err(io::Error::other(format!("the content {} has {copied} bytes and should have {}", blob.hash, blob.size_bytes)))
}
