//! Content on its way in: by offset, so that a cut line costs nothing that has come.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::{FileExt, MetadataExt},
};

use model::bundle::{Blob, ContentHash};
use sha2::{Digest, Sha256};

use super::{NotTaken, Room, private};

/// How much of a blob is here.
pub(super) enum Come {
    Whole,
    Part(u64),
}

const READ_BYTES: usize = 256 << 10;

impl Room {
    /// Whether it is here for good.
    pub(super) fn has(&self, blob: Blob) -> io::Result<bool> {
        match fs::symlink_metadata(self.path("blobs", blob.hash)) {
            Ok(data) => Ok(data.is_file() && data.len() == blob.size_bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// How much of it has come.
    pub(super) fn come(&self, blob: Blob) -> io::Result<Come> {
        if self.has(blob)? {
            return Ok(Come::Whole);
        }
        match fs::symlink_metadata(self.path("incoming", blob.hash)) {
            Ok(data) if data.len() == blob.size_bytes => Ok(Come::Whole),
            Ok(data) if data.len() < blob.size_bytes => Ok(Come::Part(data.len())),
            // More than it should have is nothing that could be gone on with.
            Ok(_) => Ok(Come::Part(0)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Come::Part(0)),
            Err(error) => Err(error),
        }
    }

    /// Takes a piece that goes on where the last one ended. Answers how much of it is here now; a piece
    /// that begins elsewhere changes nothing, so one that comes twice does no harm.
    pub fn append(&self, blob: Blob, offset: u64, bytes: &[u8]) -> Result<u64, NotTaken> {
        let Some(file) = self.incoming(blob)? else { return Ok(blob.size_bytes) };
        let length = file.metadata()?.len();
        if length != offset {
            return Ok(length);
        }
        let end = offset.saturating_add(bytes.len() as u64);
        if end > blob.size_bytes {
            return Err(NotTaken::TooLong { size_bytes: blob.size_bytes });
        }
        write(&file, offset, bytes)?;
        crate::crash::point("upload.piece-kept");
        if end == blob.size_bytes {
            self.check(blob, hash_of(&file)?)?;
        }
        Ok(end)
    }

    /// Takes all of it at once.
    pub fn take(&self, blob: Blob, bytes: &[u8]) -> Result<(), NotTaken> {
        let found = ContentHash::of(bytes);
        if found != blob.hash || bytes.len() as u64 != blob.size_bytes {
            return Err(NotTaken::WrongHash { wanted: blob.hash, found });
        }
        let Some(file) = self.incoming(blob)? else { return Ok(()) };
        file.set_len(0)?;
        Ok(write(&file, 0, bytes)?)
    }

    /// The file it comes into, for us alone; none if all of it is here.
    fn incoming(&self, blob: Blob) -> Result<Option<File>, NotTaken> {
        self.make_dirs()?;
        let path = self.path("incoming", blob.hash);
        loop {
            let file = private(&path)?;
            // Two who send the same at once must not write over each other.
            file.lock()?;
            let held = file.metadata()?;
            if self.has(blob)? {
                // A file that we made just now would only be in the way.
                if held.len() == 0 {
                    drop(fs::remove_file(&path));
                }
                return Ok(None);
            }
            // It may have been moved or thrown away while we waited for it.
            if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == held.ino()) {
                if held.len() > blob.size_bytes {
                    file.set_len(0)?;
                }
                return Ok(Some(file));
            }
        }
    }

    fn check(&self, blob: Blob, found: ContentHash) -> Result<(), NotTaken> {
        if found == blob.hash {
            return Ok(());
        }
        fs::remove_file(self.path("incoming", blob.hash))?;
        Err(NotTaken::WrongHash { wanted: blob.hash, found })
    }

    /// Whether it has come whole. What has all its bytes and is wrong is thrown away.
    pub(super) fn incoming_is_right(&self, blob: Blob) -> Result<bool, NotTaken> {
        let path = self.path("incoming", blob.hash);
        if !path.exists() {
            return Ok(false);
        }
        let file = private(&path)?;
        file.lock()?;
        if file.metadata()?.len() != blob.size_bytes {
            return Ok(false);
        }
        match self.check(blob, hash_of(&file)?) {
            Ok(()) => Ok(true),
            Err(NotTaken::WrongHash { .. }) => Ok(false),
            Err(other) => Err(other),
        }
    }
}

/// All of it or nothing: half a piece would be taken for a whole one.
fn write(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    file.write_all_at(bytes, offset).inspect_err(|_| {
        // A full disk still lets go.
        drop(file.set_len(offset));
    })
}

fn hash_of(file: &File) -> io::Result<ContentHash> {
    let (mut hash, mut buffer, mut reader) = (Sha256::new(), vec![0; READ_BYTES], file);
    io::Seek::seek(&mut reader, io::SeekFrom::Start(0))?;
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(ContentHash::from_bytes(hash.finalize().into())),
            count => hash.update(&buffer[..count]),
        }
    }
}
