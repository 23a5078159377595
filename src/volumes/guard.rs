//! Noticing that a file was written to while it was read.

use std::{
    fs::{File, Metadata},
    io,
    os::unix::fs::{FileExt, MetadataExt},
};

use sha2::{Digest, Sha256};

use super::error::{Trouble, broke_off};

/// What must hold before what was put is given its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guard {
    Nothing,
    Unchanged(Stamp),
    /// It may have become longer.
    Begins(Prefix),
}

/// The time of the last change of anything is the kernel's own, and nobody can set it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

/// The first bytes of a file that others may append to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefix {
    pub bytes: u64,
    digest: [u8; 32],
}

impl Prefix {
    /// Of so many bytes; an error if the file has less.
    pub fn of(file: &File, bytes: u64) -> io::Result<Self> {
        const PIECE_BYTES: usize = 256 << 10;
        let (mut hash, mut piece, mut at) = (Sha256::new(), vec![0; PIECE_BYTES], 0);
        while at < bytes {
            let room = usize::try_from(bytes - at).unwrap_or(usize::MAX).min(PIECE_BYTES);
            file.read_exact_at(&mut piece[..room], at)?;
            hash.update(&piece[..room]);
            at += room as u64;
        }
        Ok(Self { bytes, digest: hash.finalize().into() })
    }

    /// Whether the file still begins so.
    pub fn begins(&self, file: &File) -> io::Result<bool> {
        match Self::of(file, self.bytes) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            other => other.map(|now| now == *self),
        }
    }
}

impl Guard {
    pub fn of(seen: &Metadata) -> Self {
        Guard::Unchanged(stamp(seen))
    }

    /// May wait for a disk.
    pub fn check(self, file: &File) -> Result<(), Trouble> {
        let holds = match self {
            Guard::Nothing => Ok(true),
            Guard::Unchanged(was) => file.metadata().map(|now| stamp(&now) == was),
            Guard::Begins(prefix) => prefix.begins(file),
        };
        match holds.map_err(|error| Trouble::unread(&error))? {
            true => Ok(()),
            false => Err(Trouble::changed("it was written to while it was read")),
        }
    }

    /// The same for whoever must not wait. Only what has to be read again takes time.
    pub async fn checked(self, file: &File) -> Result<(), Trouble> {
        if !matches!(self, Guard::Begins(_)) {
            return self.check(file);
        }
        let file = file.try_clone().map_err(|error| Trouble::unread(&error))?;
        tokio::task::spawn_blocking(move || self.check(&file)).await.unwrap_or_else(|error| Err(broke_off(&error)))
    }
}

fn stamp(seen: &Metadata) -> Stamp {
    Stamp { size: seen.len(), modified: (seen.mtime(), seen.mtime_nsec()), changed: (seen.ctime(), seen.ctime_nsec()) }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn a_file_that_only_grew_still_begins_as_it_did() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("train.log");
        fs::write(&path, "one\ntwo\n").unwrap();
        let file = File::open(&path).unwrap();
        let guard = Guard::Begins(Prefix::of(&file, 8).unwrap());
        assert_eq!(guard.check(&file), Ok(()));
        File::options().append(true).open(&path).unwrap().write_all(b"three\n").unwrap();
        assert_eq!(guard.check(&file), Ok(()));
        for (other, how) in [("one\n", "shorter"), ("one\nTWO\nthree\n", "written over")] {
            fs::write(&path, other).unwrap();
            assert!(matches!(guard.check(&file), Err(Trouble::Changed { .. })), "{how}");
        }
        assert!(Prefix::of(&file, 100).is_err());
    }
}
