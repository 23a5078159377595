//! What an archive becomes. Every path is walked from the root's own descriptor by the kernel, which is told
//! to go through no link; links themselves are made last, when nothing is written any more.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read, Write},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::Path,
};

use model::inside::{Links, stays_inside};
use nix::{
    fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, open, openat, openat2},
    sys::stat::{Mode, mkdirat},
    unistd::{linkat, symlinkat},
};

use super::{
    Limits, NotUnpacked, Unpacked,
    name::{self, split},
    odd, reading,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    /// Perhaps only because something is in it.
    Directory,
    File,
    Link,
}

pub struct Tree<'a> {
    root: OwnedFd,
    pub limits: &'a Limits,
    seen: BTreeMap<Vec<u8>, What>,
    links: Links,
    unpacked: Unpacked,
    /// The directory that was written to last, which is mostly the next one too.
    last: Option<(Vec<u8>, OwnedFd)>,
}

/// A file that is about to be written.
pub struct NewFile<'a> {
    pub name: &'a [u8],
    pub size_bytes: u64,
    pub executable: bool,
}

const COPY_BYTES: usize = 64 << 10;
const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

impl<'a> Tree<'a> {
    pub fn new(into: &Path, limits: &'a Limits) -> Result<Self, NotUnpacked> {
        let root = open(into, DIRECTORY, Mode::empty())?;
        Ok(Self { root, limits, seen: BTreeMap::new(), links: Links::new(), unpacked: Unpacked::default(), last: None })
    }

    pub fn directory(&mut self, name: &[u8]) -> Result<(), NotUnpacked> {
        self.count()?;
        let path = name::path(name, self.limits)?;
        self.ensure(&path).map_err(|error| error.at(name))
    }

    /// Writes exactly as many bytes as were announced.
    pub fn file(&mut self, new: &NewFile<'_>, content: &mut impl Read) -> Result<(), NotUnpacked> {
        let path = self.claim(new.name, What::File)?;
        if new.name.ends_with(b"/") {
            return Err(odd("is a file with the name of a directory").at(new.name));
        }
        let room = self.limits.bytes_max.saturating_sub(self.unpacked.bytes);
        if new.size_bytes > room {
            return Err(odd(format!("makes it more than {} bytes when unpacked, which is the most", self.limits.bytes_max)).at(new.name));
        }
        let (above, name) = split(&path);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mode = if new.executable { 0o755 } else { 0o644 };
        let file = openat(self.directory_at(above)?, Path::new(std::ffi::OsStr::from_bytes(name)), flags, Mode::from_bits_truncate(mode))?;
        copy(content, File::from(file), new.size_bytes).map_err(|error| error.at(new.name))?;
        self.unpacked.bytes += new.size_bytes;
        Ok(())
    }

    /// A symbolic link; where it leads is looked at when everything is known.
    pub fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), NotUnpacked> {
        if target.is_empty() || target.contains(&0) || target.len() > self.limits.path_bytes_max {
            return Err(odd("is a link to nothing that could be").at(name));
        }
        let path = self.claim(name, What::Link)?;
        self.links.insert(path, target.to_vec());
        Ok(())
    }

    /// A second name for a file that is there already.
    pub fn hard_link(&mut self, name: &[u8], target: &[u8]) -> Result<(), NotUnpacked> {
        let from = name::path(target, self.limits)?;
        if self.seen.get(&from) != Some(&What::File) {
            return Err(odd("is a second name for what is no file of the archive before it").at(name));
        }
        let path = self.claim(name, What::File)?;
        let ((from_above, from_name), (above, new_name)) = (split(&from), split(&path));
        let from_dir = self.open_directory(from_above)?;
        let place = |bytes| Path::new(std::ffi::OsStr::from_bytes(bytes));
        Ok(linkat(&from_dir, place(from_name), self.directory_at(above)?, place(new_name), AtFlags::empty())?)
    }

    /// Makes the links, if all of them stay inside.
    pub fn finish(self) -> Result<Unpacked, NotUnpacked> {
        if let Some((path, target)) = self.links.iter().find(|(path, _)| !stays_inside(&self.links, path)) {
            let why = format!("is a link to `{}`, which leads out or in circles", String::from_utf8_lossy(target));
            return Err(odd(why).at(path));
        }
        for (path, target) in &self.links {
            let (above, name) = split(path);
            // The directories it is in are real ones: nothing was taken that has a link above it.
            let place = |bytes| Path::new(std::ffi::OsStr::from_bytes(bytes));
            symlinkat(place(target), &self.open_directory(above)?, place(name))?;
        }
        Ok(self.unpacked)
    }

    fn count(&mut self) -> Result<(), NotUnpacked> {
        self.unpacked.entries += 1;
        if self.unpacked.entries > self.limits.entries_max {
            return Err(odd(format!("has more than {} entries, which is the most", self.limits.entries_max)));
        }
        Ok(())
    }

    /// A path for something new, with the directories it is in.
    fn claim(&mut self, name: &[u8], what: What) -> Result<Vec<u8>, NotUnpacked> {
        self.count()?;
        let path = name::path(name, self.limits)?;
        if path.is_empty() || self.seen.contains_key(&path) {
            return Err(odd("is there twice").at(name));
        }
        self.ensure(split(&path).0).map_err(|error| error.at(name))?;
        self.seen.insert(path.clone(), what);
        Ok(path)
    }

    /// Makes a directory and those it is in, unless they are there.
    fn ensure(&mut self, path: &[u8]) -> Result<(), NotUnpacked> {
        if path.is_empty() || self.seen.get(path) == Some(&What::Directory) {
            return Ok(());
        }
        if self.seen.contains_key(path) {
            return Err(odd("is in, or is, a directory that is something else before"));
        }
        let (above, name) = split(path);
        self.ensure(above)?;
        let place = Path::new(std::ffi::OsStr::from_bytes(name));
        mkdirat(self.directory_at(above)?, place, Mode::from_bits_truncate(0o755))?;
        self.seen.insert(path.to_vec(), What::Directory);
        Ok(())
    }

    fn directory_at(&mut self, path: &[u8]) -> Result<&OwnedFd, NotUnpacked> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            self.last = Some((path.to_vec(), self.open_directory(path)?));
        }
        Ok(&self.last.as_ref().expect("it was just put there").1)
    }

    fn open_directory(&self, path: &[u8]) -> Result<OwnedFd, NotUnpacked> {
        let place = if path.is_empty() { Path::new(".") } else { Path::new(std::ffi::OsStr::from_bytes(path)) };
        let stay = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        Ok(openat2(&self.root, place, OpenHow::new().flags(DIRECTORY).resolve(stay))?)
    }
}

fn copy(content: &mut impl Read, mut file: File, size_bytes: u64) -> Result<(), NotUnpacked> {
    let mut buffer = [0; COPY_BYTES];
    let mut left = size_bytes;
    while left > 0 {
        let most = usize::try_from(left).map_or(COPY_BYTES, |left| left.min(COPY_BYTES));
        let count = content.read(&mut buffer[..most]).map_err(reading)?;
        if count == 0 {
            return Err(odd("ends too early"));
        }
        file.write_all(&buffer[..count])?;
        left -= count as u64;
    }
    Ok(())
}
