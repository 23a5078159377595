//! Looking through `/output`, which belongs to somebody who may do anything to it at any time. The kernel resolves every path
//! from an open descriptor, follows no link, and opens nothing but regular files.

use std::{
    ffi::OsStr,
    fs::{self, File, Metadata},
    io,
    os::{
        fd::{AsRawFd, OwnedFd},
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
};

use nix::{
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2},
    sys::stat::Mode,
};

use crate::volumes::beneath::special;

pub struct Tree {
    /// Nothing of a task that never came to have rooms.
    root: Option<OwnedFd>,
}

/// Something in the tree, by its path from the root.
pub struct Found {
    pub path: Vec<u8>,
    pub what: What,
}

pub enum What {
    File(Metadata),
    /// And where it leads.
    Link(Vec<u8>),
    /// Never opened.
    Special(&'static str),
    /// A directory or a file that cannot be looked at.
    Closed(io::Error),
}

/// What the kernel takes in one call.
const PATH_BYTES_MAX: usize = 4_000;

impl Tree {
    pub fn open(root: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        match nix::fcntl::open(root, flags, Mode::empty()) {
            Ok(root) => Ok(Self { root: Some(root) }),
            Err(nix::Error::ENOENT) => Ok(Self { root: None }),
            Err(error) => Err(error.into()),
        }
    }

    /// Hands out everything until nobody wants more. What is gone before it was looked at was never there.
    pub fn walk(&self, take: &mut dyn FnMut(Found) -> bool) {
        let mut directories = vec![Vec::new()];
        while let Some(directory) = directories.pop() {
            match self.entries(&directory, &mut directories, take) {
                Ok(true) => {}
                Ok(false) => return,
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    if !take(Found { path: directory, what: What::Closed(error) }) {
                        return;
                    }
                }
            }
        }
    }

    fn entries(&self, path: &[u8], directories: &mut Vec<Vec<u8>>, take: &mut dyn FnMut(Found) -> bool) -> io::Result<bool> {
        let directory = self.resolve(path, OFlag::O_PATH | OFlag::O_DIRECTORY)?;
        for entry in fs::read_dir(format!("/proc/self/fd/{}", directory.as_raw_fd()))? {
            let entry = entry?;
            let path = joined(path, entry.file_name().as_bytes());
            let what = match entry.metadata() {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => What::Closed(error),
                Ok(metadata) if metadata.is_dir() => {
                    if path.len() <= PATH_BYTES_MAX {
                        directories.push(path);
                        continue;
                    }
                    What::Special("too deep: its path is longer than 4,000 bytes")
                }
                Ok(metadata) if metadata.is_symlink() => match fs::read_link(entry.path()) {
                    Ok(target) => What::Link(target.into_os_string().into_vec()),
                    Err(error) => What::Closed(error),
                },
                Ok(metadata) => special(&metadata).map_or(What::File(metadata), What::Special),
            };
            if !take(Found { path, what }) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Opens a regular file to be read. What it is, is known before it is opened: opening a pipe would wait for its writer.
    pub fn file(&self, path: &[u8]) -> io::Result<File> {
        let found = File::from(self.resolve(path, OFlag::O_PATH)?);
        if !found.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::NotFound, "it is no longer a file"));
        }
        File::open(format!("/proc/self/fd/{}", found.as_raw_fd()))
    }

    fn resolve(&self, path: &[u8], flags: OFlag) -> io::Result<OwnedFd> {
        let path = if path.is_empty() { b"." } else { path };
        let inside = ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS | ResolveFlag::RESOLVE_NO_MAGICLINKS;
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(inside);
        let root = self.root.as_ref().ok_or(io::ErrorKind::NotFound)?;
        Ok(openat2(root, Path::new(OsStr::from_bytes(path)), how)?)
    }
}

fn joined(directory: &[u8], name: &[u8]) -> Vec<u8> {
    if directory.is_empty() { name.to_vec() } else { [directory, b"/", name].concat() }
}

/// Whether a link leads to something in `/output`, as the task sees it.
pub fn leads_inside(link: &[u8], target: &[u8]) -> bool {
    const ROOT: &[u8] = b"/output";
    let mut depth = match target.strip_prefix(ROOT) {
        Some(rest) if rest.is_empty() || rest[0] == b'/' => 0_i64,
        _ if target.starts_with(b"/") => return false,
        _ => link.split(|byte| *byte == b'/').count() as i64 - 1,
    };
    let target = target.strip_prefix(ROOT).unwrap_or(target);
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => depth -= 1,
            _ => depth += 1,
        }
        if depth < 0 {
            return false;
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_inside_or_it_does_not() {
        for (link, target) in [("a", "b"), ("d/a", "../b"), ("d/a", "/output/b"), ("a", "d/../b"), ("a", "/output")] {
            assert!(leads_inside(link.as_bytes(), target.as_bytes()), "{link} {target}");
        }
        for (link, target) in [("a", "../b"), ("d/a", "../../b"), ("a", "/etc/passwd"), ("a", "/output2"), ("a", "/output/../x")] {
            assert!(!leads_inside(link.as_bytes(), target.as_bytes()), "{link} {target}");
        }
    }

    #[test]
    fn nothing_but_regular_files_is_opened_and_no_link_is_followed() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("output");
        fs::create_dir_all(root.join("d")).unwrap();
        fs::write(home.path().join("canary"), "secret").unwrap();
        fs::write(root.join("d/file"), "text").unwrap();
        std::os::unix::fs::symlink("../canary", root.join("out")).unwrap();
        std::os::unix::fs::symlink("..", root.join("up")).unwrap();
        nix::unistd::mkfifo(&root.join("pipe"), Mode::from_bits_truncate(0o600)).unwrap();
        let tree = Tree::open(&root).unwrap();
        let mut seen = Vec::new();
        tree.walk(&mut |found| {
            let what = match found.what {
                What::File(metadata) => format!("{} bytes", metadata.len()),
                What::Link(target) => format!("-> {}", String::from_utf8(target).unwrap()),
                What::Special(what) => what.to_owned(),
                What::Closed(error) => error.to_string(),
            };
            seen.push(format!("{} {what}", String::from_utf8(found.path).unwrap()));
            true
        });
        seen.sort();
        assert_eq!(seen, ["d/file 4 bytes", "out -> ../canary", "pipe a pipe", "up -> .."]);
        for path in ["out", "up/canary", "../canary", "pipe"] {
            assert!(tree.file(path.as_bytes()).is_err(), "{path}");
        }
        assert!(tree.file(b"d/file").is_ok());
    }
}
