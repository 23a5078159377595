//! A tree that is filled under names that others chose. The kernel resolves each of them from the tree's own descriptor and goes
//! through no link, so whatever they are, what is written is inside.

use std::{
    ffi::OsStr,
    fs::{File, FileTimes, Permissions},
    io,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::PermissionsExt},
    },
    path::Path,
};

use nix::{
    fcntl::{OFlag, OpenHow, ResolveFlag, open, openat, openat2},
    sys::stat::{Mode, mkdirat},
    unistd::symlinkat,
};

const DIRECTORY: OFlag = OFlag::O_RDONLY.union(OFlag::O_DIRECTORY).union(OFlag::O_CLOEXEC);

pub struct Laying {
    root: OwnedFd,
    /// The directory that was written to last, which is mostly the next one too.
    last: Option<(Vec<u8>, OwnedFd)>,
}

impl Laying {
    pub fn into(root: &Path) -> io::Result<Self> {
        Ok(Self { root: open(root, DIRECTORY, Mode::empty())?, last: None })
    }

    /// A copy of a file, with its rights and the time of its last change.
    pub fn file(&mut self, path: &[u8], mut from: &File) -> io::Result<()> {
        const OWNER_MAY_WRITE: u32 = 0o600;
        let (above, name) = split(path);
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let mut copy = File::from(openat(self.directory(above)?, as_path(name), flags, Mode::from_bits_truncate(0o600))?);
        io::copy(&mut from, &mut copy)?;
        let metadata = from.metadata()?;
        copy.set_permissions(Permissions::from_mode(metadata.permissions().mode() & 0o777 | OWNER_MAY_WRITE))?;
        copy.set_times(FileTimes::new().set_modified(metadata.modified()?))
    }

    pub fn link(&mut self, path: &[u8], target: &[u8]) -> io::Result<()> {
        let (above, name) = split(path);
        Ok(symlinkat(as_path(target), self.directory(above)?, as_path(name))?)
    }

    /// A directory, made with all above it that is missing.
    fn directory(&mut self, path: &[u8]) -> io::Result<&OwnedFd> {
        if self.last.as_ref().is_none_or(|(last, _)| last != path) {
            let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(end, _)| end).chain([path.len()]);
            ends.filter(|end| *end > 0).try_for_each(|end| self.make_directory(&path[..end]))?;
            self.last = Some((path.to_vec(), self.open_directory(path)?));
        }
        Ok(&self.last.as_ref().expect("it was just put there").1)
    }

    fn make_directory(&self, path: &[u8]) -> io::Result<()> {
        let (above, name) = split(path);
        match mkdirat(&self.open_directory(above)?, as_path(name), Mode::from_bits_truncate(0o777)) {
            Ok(()) | Err(nix::Error::EEXIST) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    fn open_directory(&self, path: &[u8]) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        let stay = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        Ok(openat2(&self.root, as_path(path), OpenHow::new().flags(DIRECTORY).resolve(stay))?)
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The directory a path is in, and its name there.
fn split(path: &[u8]) -> (&[u8], &[u8]) {
    path.iter().rposition(|byte| *byte == b'/').map_or((&[], path), |at| (&path[..at], &path[at + 1..]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn no_name_and_no_link_leads_out() {
        let home = tempfile::tempdir().unwrap();
        let (root, outside) = (home.path().join("root"), home.path().join("outside"));
        fs::create_dir(&root).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(home.path().join("from"), "text").unwrap();
        let from = File::open(home.path().join("from")).unwrap();
        let mut laying = Laying::into(&root).unwrap();
        laying.link(b"door", outside.as_os_str().as_bytes()).unwrap();
        laying.link(b"d/up", b"../../outside").unwrap();
        let whole = [outside.as_os_str().as_bytes(), b"/x"].concat();
        for path in [&b"../outside/x"[..], b"d/../../outside/x", b"door/x", b"door/a/x", b"d/up/x", b"door", b"..", &whole] {
            assert!(laying.file(path, &from).is_err(), "{}", String::from_utf8_lossy(path));
            assert!(laying.link(path, b"x").is_err(), "{}", String::from_utf8_lossy(path));
        }
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
        laying.file(b"a/b/c", &from).unwrap();
        assert_eq!(fs::read_to_string(root.join("a/b/c")).unwrap(), "text");
    }
}
