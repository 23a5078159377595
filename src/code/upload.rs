//! Folders that people uploaded, as they lie in `uploads` of the server's data.
//!
//! Content is kept by its hash and shared by everyone who has the same. It comes into `incoming`, where a
//! cut line leaves what it got; it goes to `blobs` when a bundle that needs it is finished, checked and on
//! the disk. So whatever is in `blobs` is right, and whatever is in `bundles` is whole.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{DirBuilderExt, OpenOptionsExt},
    },
    path::{Path, PathBuf},
};

use model::bundle::{Blob, Bundle, ContentHash};

mod blobs;
mod place;
mod sweep;

pub use place::{Shelf, Tree};

use blobs::Come;

/// The directory of uploads.
#[derive(Clone, Debug)]
pub struct Room {
    dir: PathBuf,
}

/// Why something was not taken in.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    #[error("it would be longer than the {size_bytes} bytes it should have")]
    TooLong { size_bytes: u64 },
    #[error("its hash is {found} and not {wanted}, so it was thrown away")]
    WrongHash { wanted: ContentHash, found: ContentHash },
    #[error("no upload `{0}` was begun")]
    NotBegun(ContentHash),
    #[error("{0} of its files have not come whole")]
    Missing(usize),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// How far the content of a bundle has come.
pub struct Standing {
    pub finished: bool,
    /// What is still to come, and how many bytes of each are here.
    pub missing: Vec<(Blob, u64)>,
}

/// While someone has it, nothing is swept away.
#[must_use]
pub struct Hold {
    _lock: File,
}

/// While someone has it, nobody else has the room.
#[must_use]
pub struct Alone {
    _lock: File,
}

const PARTS: [&str; 4] = ["blobs", "incoming", "bundles", "pending"];

impl Room {
    pub fn of(data: &Path) -> Self {
        Self { dir: data.join("uploads") }
    }

    fn path(&self, part: &str, hash: ContentHash) -> PathBuf {
        self.dir.join(part).join(hash.to_string())
    }

    fn make_dirs(&self) -> io::Result<()> {
        let make = |path: &Path| fs::DirBuilder::new().recursive(true).mode(0o700).create(path);
        PARTS.iter().try_for_each(|part| make(&self.dir.join(part)))
    }

    /// A bundle that is whole.
    pub fn bundle(&self, digest: ContentHash) -> io::Result<Option<Bundle>> {
        read(&self.path("bundles", digest))
    }

    /// What a blob of a whole bundle holds.
    pub fn open(&self, hash: ContentHash) -> io::Result<File> {
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(self.path("blobs", hash))
    }

    /// Keeps the sweeper out until the answer is dropped.
    pub fn hold(&self) -> io::Result<Hold> {
        let lock = self.lock_file()?;
        lock.lock_shared()?;
        Ok(Hold { _lock: lock })
    }

    /// Has the room for itself until the answer is dropped.
    pub fn alone(&self) -> io::Result<Alone> {
        let lock = self.lock_file()?;
        lock.lock()?;
        Ok(Alone { _lock: lock })
    }

    fn lock_file(&self) -> io::Result<File> {
        self.make_dirs()?;
        private(&self.dir.join("lock"))
    }

    /// Notes what is to come and says what of it is not here yet.
    pub fn begin(&self, bundle: &Bundle) -> Result<Standing, NotTaken> {
        let (digest, _hold) = (bundle.digest(), self.hold()?);
        if self.path("bundles", digest).exists() {
            // Young again: the job that wants it is on its way.
            touch(&self.path("bundles", digest))?;
            return Ok(Standing { finished: true, missing: Vec::new() });
        }
        write_whole(&self.path("pending", digest), bundle.to_string().as_bytes())?;
        let mut missing = Vec::new();
        for blob in bundle.blobs() {
            match self.come(blob)? {
                Come::Whole => touch_any(&self.path("blobs", blob.hash))?,
                Come::Part(length) => missing.push((blob, length)),
            }
        }
        Ok(Standing { finished: false, missing })
    }

    /// Makes a bundle whole and durable. Whoever is told so may name it in a job.
    pub fn finish(&self, digest: ContentHash) -> Result<Bundle, NotTaken> {
        let _alone = self.alone()?;
        if let Some(bundle) = self.bundle(digest)? {
            return Ok(bundle);
        }
        let pending = self.path("pending", digest);
        let bundle = read(&pending)?.ok_or(NotTaken::NotBegun(digest))?;
        let fresh = self.checked(&bundle)?;
        sync_all(&self.dir)?;
        for hash in fresh {
            fs::rename(self.path("incoming", hash), self.path("blobs", hash))?;
        }
        crate::crash::point("upload.blobs-kept-before-bundle");
        sync_all(&self.dir)?;
        write_whole(&self.path("bundles", digest), bundle.to_string().as_bytes())?;
        crate::crash::point("upload.finished-before-reply");
        fs::remove_file(pending)?;
        Ok(bundle)
    }

    /// What of a bundle is in `incoming`, all of it right; everything else of it is in `blobs`.
    fn checked(&self, bundle: &Bundle) -> Result<Vec<ContentHash>, NotTaken> {
        let (mut fresh, mut missing) = (Vec::new(), 0);
        for blob in bundle.blobs() {
            if self.has(blob)? {
                continue;
            }
            if self.incoming_is_right(blob)? { fresh.push(blob.hash) } else { missing += 1 }
        }
        if missing == 0 { Ok(fresh) } else { Err(NotTaken::Missing(missing)) }
    }
}

/// A bundle as it was written; what cannot be read as one is as good as not there.
fn read(path: &Path) -> io::Result<Option<Bundle>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text.parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// A file for our own eyes, which is no link that somebody left in its place.
fn private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false).mode(0o600).custom_flags(libc::O_NOFOLLOW);
    options.open(path)
}

/// Whoever finds the file finds all of it, after a power cut too.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = path.with_extension(format!("part{}", uuid::Uuid::now_v7().simple()));
    let written = private(&part).and_then(|mut file| {
        io::Write::write_all(&mut file, bytes)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&part, path)) {
        // What is left of it would be swept away one day.
        drop(fs::remove_file(&part));
        return Err(error);
    }
    File::open(path.parent().unwrap_or(Path::new("/")))?.sync_all()
}

fn touch(path: &Path) -> io::Result<()> {
    File::options().append(true).open(path)?.set_modified(std::time::SystemTime::now())
}

fn touch_any(path: &Path) -> io::Result<()> {
    match touch(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        touched => touched,
    }
}

/// One call for thousands of files; a call for each would take a minute.
fn sync_all(dir: &Path) -> io::Result<()> {
    let dir = File::open(dir)?;
    // SAFETY: a plain system call with a descriptor we own.
    if unsafe { libc::syncfs(dir.as_raw_fd()) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests;
