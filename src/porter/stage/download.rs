//! One file: what is there of it is kept, what is missing is fetched, and the whole is compared with what
//! the store says of it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::{fd::AsRawFd, unix::fs::OpenOptionsExt},
    path::Path,
    sync::Arc,
};

use futures_util::StreamExt;
use md5::{Digest, Md5};

use super::{
    super::Failed,
    manifest::{Wanted, has_version},
    patience::{PAUSE_FIRST, Patience},
    progress::Progress,
    source::Source,
};
use crate::{
    crash,
    run_token::hex,
    volumes::{Trouble, VolumeError, Want},
};

/// So much of a file is handed to the disk at a time, while more of it comes: what is synced at the end is then soon synced.
const HANDED_OVER_BYTES: u64 = 8 << 20;

/// Why a file is not there.
pub enum Missing {
    Store(VolumeError),
    Disk(io::Error),
    NoRoom(Failed),
}

impl From<VolumeError> for Missing {
    fn from(error: VolumeError) -> Self {
        Missing::Store(error)
    }
}

impl From<io::Error> for Missing {
    fn from(error: io::Error) -> Self {
        Missing::Disk(error)
    }
}

/// What all files of one source share.
pub struct Line {
    pub source: Source,
    pub patience: Arc<Patience>,
    pub progress: Arc<Progress>,
}

/// A file that grows.
struct Filling {
    file: File,
    there: u64,
    /// Of all that is there, if it came through our hands.
    hash: Option<Md5>,
}

impl Filling {
    fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.there += piece.len() as u64;
        if let Some(hash) = &mut self.hash {
            hash.update(piece);
        }
        Ok(())
    }
}

impl Line {
    /// Brings a file into `part`, beginning with what is there of it.
    pub async fn fetch(&self, wanted: &Wanted, part: &Path) -> Result<(), Missing> {
        let fetched = self.fetch_and_compare(wanted, part).await;
        if let Err(Missing::Disk(_)) = fetched {
            // What it takes of a full disk is of more use to everyone else.
            let _nothing_more_can_be_done = fs::remove_file(part);
        }
        fetched?;
        self.progress.add_file();
        Ok(())
    }

    async fn fetch_and_compare(&self, wanted: &Wanted, part: &Path) -> Result<(), Missing> {
        let expected = md5_in(&wanted.entry.etag);
        let first = self.fill(wanted, part).await?;
        if first.is_none() || first == expected {
            return Ok(());
        }
        // Either the line lies, or this store's ETag only looks like a hash: then it comes out the same again.
        self.progress.take_back(wanted.entry.size);
        fs::remove_file(part)?;
        let second = self.fill(wanted, part).await?;
        if second == first || second == expected {
            return Ok(());
        }
        fs::remove_file(part)?;
        let [first, second] = [first, second].map(Option::unwrap_or_default);
        let why = format!("what comes is another content each time: MD5 {first}, then {second}");
        Err(Trouble::away(why).at(self.source.store.at(&wanted.entry.path)).into())
    }

    /// Answers the hash of the whole, if the store says one to compare it with.
    async fn fill(&self, wanted: &Wanted, part: &Path) -> Result<Option<String>, Missing> {
        let file = OpenOptions::new().append(true).create(true).mode(0o644).open(part)?;
        let mut there = file.metadata()?.len();
        if there > wanted.entry.size || !has_version(&wanted.entry) {
            file.set_len(0)?;
            there = 0;
        }
        self.progress.add_bytes(there);
        let is_compared = md5_in(&wanted.entry.etag).is_some();
        let mut filling = Filling { file, there, hash: (is_compared && there == 0).then(Md5::new) };
        let mut pause = PAUSE_FIRST;
        while let Err(missing) = self.read_on(wanted, &mut filling).await {
            match missing {
                Missing::Store(error) => {
                    self.patience.wait_after(error, &mut pause).await?;
                    if !has_version(&wanted.entry) {
                        self.begin_again(&mut filling)?;
                    }
                }
                Missing::Disk(_) | Missing::NoRoom(_) => return Err(missing),
            }
        }
        match filling.hash {
            Some(hash) => Ok(Some(hex(&hash.finalize()))),
            None if is_compared => Ok(Some(md5_of(part)?)),
            None => Ok(None),
        }
    }

    /// Nobody can say that what comes now belongs to what is there.
    fn begin_again(&self, filling: &mut Filling) -> io::Result<()> {
        filling.file.set_len(0)?;
        self.progress.take_back(std::mem::take(&mut filling.there));
        Ok(())
    }

    /// From where we are to the end.
    async fn read_on(&self, wanted: &Wanted, filling: &mut Filling) -> Result<(), Missing> {
        let (path, size) = (&wanted.entry.path, wanted.entry.size);
        if filling.there == size {
            return Ok(());
        }
        let etag = Some(wanted.entry.etag.clone()).filter(|etag| !etag.is_empty());
        let (entry, mut body) = self.source.store.read_part(path, &Want { from: filling.there, length: None, etag }).await?;
        if entry.size != size {
            return Err(self.changed(wanted, &format!("it had {size} bytes and has {}", entry.size)));
        }
        let mut handed_over = filling.there;
        while let Some(piece) = body.next().await {
            let piece = piece?;
            filling.add(&piece)?;
            if filling.there - handed_over >= HANDED_OVER_BYTES {
                begin_writing(&filling.file, handed_over, filling.there);
                handed_over = filling.there;
            }
            self.progress.add_bytes(piece.len() as u64);
            self.patience.renew();
            crash::point("input.piece-written");
        }
        let there = filling.there;
        if there == size { Ok(()) } else { Err(self.changed(wanted, &format!("{there} of {size} bytes came"))) }
    }

    fn changed(&self, wanted: &Wanted, how: &str) -> Missing {
        Trouble::changed(how).at(self.source.store.at(&wanted.entry.path)).into()
    }
}

/// Tells the kernel to begin, and waits for nothing. A kernel that does not want to is synced with later like any other.
fn begin_writing(file: &File, from: u64, to: u64) {
    let (Ok(from), Ok(length)) = (i64::try_from(from), i64::try_from(to - from)) else { return };
    // SAFETY: a plain system call with a descriptor we own.
    unsafe { libc::sync_file_range(file.as_raw_fd(), from, length, libc::SYNC_FILE_RANGE_WRITE) };
}

/// The hash in an ETag, if it is one: those of objects that were uploaded in parts are not.
fn md5_in(etag: &str) -> Option<String> {
    let is_hash = etag.len() == 32 && etag.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_hash.then(|| etag.to_ascii_lowercase())
}

fn md5_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash, mut piece) = (File::open(path)?, Md5::new(), vec![0; 256 << 10]);
    loop {
        let count = file.read(&mut piece)?;
        if count == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&piece[..count]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_etag_that_is_a_hash_is_compared() {
        assert_eq!(md5_in("D41D8CD98F00B204E9800998ECF8427E").as_deref(), Some("d41d8cd98f00b204e9800998ecf8427e"));
        assert_eq!(md5_in("d41d8cd98f00b204e9800998ecf8427e-3"), None);
        assert_eq!(md5_in("W/\"abc"), None);
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("x"), "").unwrap();
        assert_eq!(md5_of(&place.path().join("x")).unwrap(), "d41d8cd98f00b204e9800998ecf8427e");
    }
}
