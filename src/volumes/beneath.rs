//! A directory that nothing leads out of. Every path is resolved by the kernel from an open descriptor, so
//! neither a link nor somebody who swaps one in at the right moment gets a byte from elsewhere.

use std::{
    ffi::OsString,
    fs::{self, File, Metadata, ReadDir},
    os::{
        fd::{AsFd, AsRawFd, OwnedFd},
        unix::fs::FileTypeExt,
    },
    path::Path,
};

use nix::{
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2, readlinkat, renameat},
    sys::stat::{Mode, mkdirat},
    unistd::{UnlinkatFlags, fsync, unlinkat},
};

use super::error::{Trouble, not_opened};

/// Which links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Those that stay inside, and for reading only: data sets are full of them.
    Inside,
    /// None: somebody else writes here.
    Never,
}

pub struct Beneath {
    directory: OwnedFd,
    links: Links,
}

impl Beneath {
    /// The root itself is whatever its owner says it is, links and all.
    pub fn open(root: &Path, links: Links) -> Result<Self, Trouble> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self { directory: nix::fcntl::open(root, flags, Mode::empty())?, links })
    }

    /// What a path is, itself: a link is a link.
    pub fn look(&self, path: &str) -> Result<Metadata, Trouble> {
        let found = self.resolve(path, OFlag::O_PATH | OFlag::O_NOFOLLOW, self.links)?;
        Ok(File::from(found).metadata()?)
    }

    /// What a path leads to, by the links that are followed here.
    pub fn stat(&self, path: &str) -> Result<Metadata, Trouble> {
        Ok(File::from(self.resolve(path, OFlag::O_PATH, self.links)?).metadata()?)
    }

    /// Opens a regular file to be read. What it is, is known before it is opened: opening a pipe waits for
    /// a writer, and opening a device may do anything.
    pub fn file(&self, path: &str) -> Result<File, Trouble> {
        let found = File::from(self.resolve(path, OFlag::O_PATH, self.links)?);
        let metadata = found.metadata()?;
        match special(&metadata) {
            None if metadata.is_dir() => Err(Trouble::never(("is a directory", "是目录"))),
            None => Ok(File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))?),
            Some(what) => Err(Trouble::never(not_opened(what))),
        }
    }

    /// Where a link leads, as it says so itself.
    pub fn target(&self, path: &str) -> Result<OsString, Trouble> {
        let link = self.resolve(path, OFlag::O_PATH | OFlag::O_NOFOLLOW, self.links)?;
        Ok(readlinkat(&link, "")?)
    }

    /// What stands in a directory.
    pub fn entries(&self, path: &str) -> Result<ReadDir, Trouble> {
        let directory = self.resolve(path, OFlag::O_PATH | OFlag::O_DIRECTORY, self.links)?;
        Ok(fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))?)
    }

    /// The directory that a file stands in, to write there. Directories on the way are made.
    pub fn place_for(&self, path: &str) -> Result<Place, Trouble> {
        let (parent, name) = split(path);
        for (end, _) in parent.match_indices('/') {
            self.make_directory(&parent[..end])?;
        }
        self.make_directory(parent)?;
        Ok(Place { directory: self.directory_of(parent)?, name: name.to_owned() })
    }

    fn make_directory(&self, path: &str) -> Result<(), Trouble> {
        if path.is_empty() {
            return Ok(());
        }
        let (parent, name) = split(path);
        match mkdirat(self.directory_of(parent)?, name, Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(nix::Error::EEXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// A directory as it is, to change what stands in it.
    fn directory_of(&self, path: &str) -> Result<OwnedFd, Trouble> {
        // Not by `O_PATH`: a directory that was changed is synced, and that needs it really open.
        self.resolve(path, OFlag::O_RDONLY | OFlag::O_DIRECTORY, Links::Never)
    }

    /// Gives something another path. Directories on the way there are made.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), Trouble> {
        let ((parent, name), place) = (split(from), self.place_for(to)?);
        let directory = self.directory_of(parent)?;
        renameat(&directory, name, &place.directory, place.name.as_str())?;
        fsync(&place.directory)?;
        Ok(fsync(&directory)?)
    }

    /// Removes a file or a link, not what the link leads to.
    pub fn remove_file(&self, path: &str) -> Result<(), Trouble> {
        let (parent, name) = split(path);
        let directory = self.directory_of(parent)?;
        Ok(unlinkat(&directory, name, UnlinkatFlags::NoRemoveDir)?)
    }

    /// Removes a directory in which nothing is left.
    pub fn remove_directory(&self, path: &str) -> Result<(), Trouble> {
        let (parent, name) = split(path);
        Ok(unlinkat(self.directory_of(parent)?, name, UnlinkatFlags::RemoveDir)?)
    }

    fn resolve(&self, path: &str, flags: OFlag, links: Links) -> Result<OwnedFd, Trouble> {
        let path = if path.is_empty() { "." } else { path };
        let stay = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let resolve = match links {
            Links::Inside => stay,
            Links::Never => stay | ResolveFlag::RESOLVE_NO_SYMLINKS,
        };
        // Without `O_NOFOLLOW` a link at the end counts as one on the way, and is refused with the others.
        Ok(openat2(&self.directory, path, OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve))?)
    }
}

/// A name in an open directory.
pub struct Place {
    directory: OwnedFd,
    name: String,
}

impl Place {
    /// A new file beside the place; it is not there under the place's own name yet.
    pub fn create_part(&self, part: &str) -> Result<File, Trouble> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let made = nix::fcntl::openat(self.directory.as_fd(), part, flags, Mode::from_bits_truncate(0o666))?;
        Ok(File::from(made))
    }

    /// Gives the part its name, and makes that last.
    pub fn take(&self, part: &str) -> Result<(), Trouble> {
        renameat(&self.directory, part, &self.directory, self.name.as_str())?;
        Ok(fsync(&self.directory)?)
    }

    pub fn drop_part(&self, part: &str) {
        // It is about to be reported why the file could not be written; a rest of it adds nothing to that.
        let _gone_or_not = unlinkat(&self.directory, part, UnlinkatFlags::NoRemoveDir);
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

/// What is neither a file nor a directory, by its name.
pub fn special(metadata: &Metadata) -> Option<&'static str> {
    let kind = metadata.file_type();
    match () {
        () if kind.is_file() || kind.is_dir() => None,
        () if kind.is_symlink() => Some("a link"),
        () if kind.is_fifo() => Some("a pipe"),
        () if kind.is_socket() => Some("a socket"),
        () => Some("a device"),
    }
}
