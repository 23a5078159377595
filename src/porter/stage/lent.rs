//! Trees that tasks use before they are on the disk. Nothing waits for that but the cache: until it is so, a tree
//! is believed for as long as the machine does not go down, and its files are no contents that another tree may have.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
};

use nix::sys::statfs::{self, FsType, statfs};

use super::{
    manifest::Wanted,
    shelf::{Shelf, lock_of, take_over},
};
use crate::{
    code::once::{self, Turn},
    crash,
};

/// musl has no name for it.
const XFS_SUPER_MAGIC: FsType = FsType(0x5846_5342);
/// Those that say at once when there is no room, rather than when they write what they took. Others are synced first.
const AT_ONCE: [FsType; 6] = [
    statfs::EXT4_SUPER_MAGIC,
    XFS_SUPER_MAGIC,
    statfs::BTRFS_SUPER_MAGIC,
    statfs::F2FS_SUPER_MAGIC,
    statfs::TMPFS_MAGIC,
    statfs::OVERLAYFS_SUPER_MAGIC,
];

pub fn keeps_what_it_took(dir: &Path) -> io::Result<bool> {
    Ok(AT_ONCE.contains(&statfs(dir)?.filesystem_type()))
}

/// A tree that is held, and would not outlast the machine.
pub struct Lent {
    pub shelf: Shelf,
    pub tree: PathBuf,
}

impl Lent {
    fn parts(&self) -> PathBuf {
        self.shelf.parts_of(&self.tree.file_name().unwrap_or_default().to_string_lossy())
    }

    /// Parts of a tree that is whole are whole, and called as the contents that they become.
    fn keep(&self) -> io::Result<()> {
        let entries = match fs::read_dir(self.parts()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        for part in entries {
            let part = part?;
            take_over(&part.path(), &self.shelf.blob(&part.file_name().to_string_lossy()))?;
        }
        Ok(())
    }
}

/// Makes trees of one shelf last, but for those that somebody else is at. They are synced at once: a disk says only one time that it
/// has lost something, and not what. Whoever dies here leaves trees that the next one who uses them makes last.
pub fn make_last(lent: &[Lent]) -> io::Result<()> {
    let mut turns = Vec::new();
    for lent in lent {
        turns.extend(Turn::at(&lent.tree, &lent.shelf.boot)?.map(|turn| (lent, turn)));
    }
    let Some((_, one)) = turns.first() else { return Ok(()) };
    crash::point("input.lent-before-synced");
    if let Err(error) = one.sync() {
        for (lent, turn) in turns {
            turn.unmark()?;
            once::remove(&lent.parts())?;
        }
        return Err(error);
    }
    crash::point("input.synced-before-lasting");
    for (lent, turn) in turns {
        lent.keep()?;
        turn.mark()?;
        once::remove(&lent.parts())?;
    }
    Ok(())
}

/// Trees of this boot that are not on the disk yet and have files that are wanted, and what holds them.
pub fn with_any_of(wanted: &[Wanted], shelf: &Shelf) -> io::Result<(Vec<File>, Vec<Lent>)> {
    let (mut held, mut lent) = (Vec::new(), Vec::new());
    for parts in fs::read_dir(shelf.parts())? {
        let (parts, boot) = (parts?.path(), format!(".{}", shelf.boot));
        let name = parts.file_name().unwrap_or_default().to_string_lossy();
        let Some(tree) = name.strip_suffix(&boot).map(|name| shelf.tree(name)) else { continue };
        let is_lent = || !once::lasts(&tree) && once::is_marked(&tree, Some(&shelf.boot));
        if !is_lent() || !wanted.iter().any(|it| parts.join(&it.blob).exists()) {
            continue;
        }
        let lock = once::lock_file(&lock_of(&tree))?;
        // Whoever has it for himself removes the tree.
        if lock.try_lock_shared().is_ok() && once::is_there(&lock)? && is_lent() {
            held.push(lock);
            lent.push(Lent { shelf: shelf.clone(), tree });
        }
    }
    Ok((held, lent))
}
