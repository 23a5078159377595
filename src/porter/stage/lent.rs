//! Trees that tasks use before they are on the disk. Nothing waits for that but the cache: until it is so, a tree
//! is believed for as long as the machine does not go down, and its files are no contents that another tree may have.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use nix::sys::statfs::{self, FsType, statfs};

use super::shelf::{Shelf, take_over};
use crate::{code::once, crash};

/// Those that say at once when there is no room, rather than when they write what they took. Others are synced first.
const AT_ONCE: [FsType; 6] = [
    statfs::EXT4_SUPER_MAGIC,
    statfs::XFS_SUPER_MAGIC,
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
    /// Whoever dies here leaves a tree that the next one who uses it makes last.
    pub fn make_last(&self) -> io::Result<()> {
        crash::point("input.lent-before-synced");
        let parts = self.shelf.parts_of(&self.tree.file_name().unwrap_or_default().to_string_lossy());
        once::make_last(&self.tree, &self.shelf.boot, || {
            crash::point("input.synced-before-lasting");
            self.keep(&parts)
        })?;
        if once::lasts(&self.tree) { once::remove(&parts) } else { Ok(()) }
    }

    /// Parts of a tree that is whole are whole, and called as the contents that they become.
    fn keep(&self, parts: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(parts) {
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
