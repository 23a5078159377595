//! What is in a commit, before and after it is written: how many files, how large, and what leads elsewhere.

use std::{
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
};

use nix::{
    errno::Errno,
    fcntl::{OFlag, OpenHow, ResolveFlag, openat2},
};

use super::{Limits, mirror::Mirror, words};
use crate::code::NotMade;

/// A commit's files, as git lists them.
pub struct Listing {
    pub files: u64,
    pub bytes: u64,
    /// Where other repositories stand in it, and at which commit.
    pub modules: Vec<(PathBuf, String)>,
}

impl Listing {
    /// Read before anything is written, because a few bytes of git can be a great many files.
    pub fn of(mirror: &Mirror<'_>, commit: &str, directory: Option<&str>) -> Result<Self, NotMade> {
        let below = directory.map(|it| format!("{it}/"));
        let arguments = ["ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit];
        let said = mirror.list(arguments.into_iter().chain(below.as_deref()))?;
        Ok(Self::read(&said.out))
    }

    fn read(listed: &[u8]) -> Self {
        let mut listing = Self { files: 0, bytes: 0, modules: vec![] };
        for entry in listed.split(|it| *it == 0) {
            let Some(tab) = entry.iter().position(|it| *it == b'\t') else { continue };
            let facts = String::from_utf8_lossy(&entry[..tab]);
            let mut facts = facts.split_whitespace();
            let (Some(_mode), Some(kind), Some(id), Some(size)) = (facts.next(), facts.next(), facts.next(), facts.next()) else {
                continue;
            };
            if kind == "commit" {
                listing.modules.push((PathBuf::from(OsStr::from_bytes(&entry[tab + 1..])), id.to_owned()));
            } else {
                listing.files += 1;
                listing.bytes = listing.bytes.saturating_add(size.parse().unwrap_or(0));
            }
        }
        listing
    }

    pub fn check(&self, url: &str, limits: &Limits) -> Result<(), NotMade> {
        if self.files > limits.files_max {
            return Err(words::too_many_files(url, limits.files_max));
        }
        if self.bytes > limits.bytes_max { Err(words::too_large(url, limits.bytes_max)) } else { Ok(()) }
    }
}

/// What stands on the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub files: u64,
    pub bytes: u64,
    /// Links that led out of the code, and are gone.
    pub left_out: Vec<String>,
}

/// Counts what was written, and removes every link that leads out of it: whoever reads the code for somebody
/// else, as we do, must not be led to the machine's own files.
pub fn settle(root: &Path) -> io::Result<Written> {
    let inside = OwnedFd::from(fs::File::open(root)?);
    let (mut written, mut folders, mut links) = (Written::default(), vec![PathBuf::new()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(root.join(&folder))? {
            let entry = entry?;
            let (path, facts) = (folder.join(entry.file_name()), entry.metadata()?);
            if facts.is_dir() {
                folders.push(path);
            } else if facts.is_symlink() && leads_out(&inside, &path)? {
                links.push(path);
            } else {
                written.files += 1;
                written.bytes += facts.len();
            }
        }
    }
    // After all were looked at, because one may lead out through another.
    for link in links {
        let target = fs::read_link(root.join(&link))?;
        fs::remove_file(root.join(&link))?;
        written.left_out.push(format!("{} -> {}", link.display(), target.display()));
    }
    written.left_out.sort();
    Ok(written)
}

/// The kernel itself says so. A link to nothing leads nowhere.
fn leads_out(inside: &OwnedFd, path: &Path) -> io::Result<bool> {
    const TRIES: u32 = 100;
    let how =
        OpenHow::new().flags(OFlag::O_PATH | OFlag::O_CLOEXEC).resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_MAGICLINKS);
    for _ in 0..TRIES {
        return match openat2(inside, path, how) {
            Ok(_) | Err(Errno::ENOENT | Errno::ELOOP | Errno::ENOTDIR) => Ok(false),
            Err(Errno::EXDEV) => Ok(true),
            // Somebody moved a directory meanwhile, somewhere.
            Err(Errno::EAGAIN) => continue,
            Err(error) => Err(error.into()),
        };
    }
    Err(ErrorKind::TimedOut.into())
}

/// A directory below another, reached through directories alone.
pub fn is_plain_directory(root: &Path, path: &Path) -> bool {
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_BENEATH | ResolveFlag::RESOLVE_NO_SYMLINKS);
    fs::File::open(root).is_ok_and(|inside| openat2(inside, path, how).is_ok())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_that_lead_out_are_left_out_and_the_others_stay() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("tree");
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::write(root.join("a/file"), "four").unwrap();
        let links = [
            ("out-absolute", "/etc/passwd"),
            ("out-up", ".."),
            ("a/out-up", "../../x"),
            ("a/b/out-through", "../../in-dir/../../x"),
            ("out-chained", "out-up/x"),
            ("out-proc", "/proc/self/root"),
            ("in-file", "a/file"),
            ("in-dir", "a"),
            ("a/in-up", "../a/file"),
            ("in-missing", "a/none"),
            ("in-loop", "in-loop"),
        ];
        links.iter().for_each(|(name, target)| symlink(target, root.join(name)).unwrap());
        let written = settle(&root).unwrap();
        insta::assert_snapshot!(written.left_out.join("\n"), @"
        a/b/out-through -> ../../in-dir/../../x
        a/out-up -> ../../x
        out-absolute -> /etc/passwd
        out-chained -> out-up/x
        out-proc -> /proc/self/root
        out-up -> ..
        ");
        assert_eq!(written.files, 6);
        assert!(links.iter().all(|(name, _)| root.join(name).symlink_metadata().is_ok() != name.contains("out-")));
        assert!(is_plain_directory(&root, Path::new("a/b")) && !is_plain_directory(&root, Path::new("in-dir/b")));
        assert!(!is_plain_directory(&root, Path::new("a/file")) && !is_plain_directory(&root, Path::new("../tree")));
    }

    #[test]
    fn a_listing_counts_files_and_finds_modules() {
        let id = "0123456789012345678901234567890123456789";
        let text = format!("100644 blob {id}      12\ta b\0120000 blob {id}       3\tlink\0160000 commit {id}       -\tlib/x\0");
        let listing = Listing::read(text.as_bytes());
        assert_eq!((listing.files, listing.bytes, listing.modules), (2, 15, vec![("lib/x".into(), id.to_owned())]));
    }
}
