//! What a place of this machine holds, without reading a byte of it.

use std::{
    fs::{self, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
    time::{Duration, Instant},
};

use model::provenance::Content;

use super::sync::tree::{Tree, What};
use crate::code::key;

/// A task waits for this, so it must be over before anybody notices.
const FILES_MAX: u64 = 20_000;
const TIME_MAX: Duration = Duration::from_millis(200);

/// Counts a directory with all below it, or one file. Links are not followed, and count for nothing.
pub fn content(place: &Path) -> Content {
    let mut count = Count::default();
    match fs::symlink_metadata(place) {
        Ok(file) if file.is_file() => count.add(b"", &file),
        Ok(_) => count.all(place),
        Err(error) => count.partly = Some(error.to_string()),
    }
    count.content()
}

#[derive(Default)]
struct Count {
    files: u64,
    bytes: u64,
    newest_ms: u64,
    /// The sum of what tells each file from others: the order in which they are found says nothing.
    sum: u64,
    partly: Option<String>,
}

impl Count {
    fn all(&mut self, root: &Path) {
        let began = Instant::now();
        let tree = match Tree::open(root) {
            Ok(tree) => tree,
            Err(error) => return self.partly = Some(error.to_string()),
        };
        tree.walk(&mut |found| {
            match found.what {
                What::File(file) => self.add(&found.path, &file),
                What::Closed(error) => self.partly = Some(error.to_string()),
                What::Link(_) | What::Special(_) => {}
            }
            if self.files >= FILES_MAX || began.elapsed() > TIME_MAX {
                self.partly = Some(format!("only the first {} files were looked at", self.files));
                return false;
            }
            true
        });
    }

    fn add(&mut self, path: &[u8], file: &Metadata) {
        let changed = format!("{}.{:09}", file.mtime(), file.mtime_nsec());
        let (path, size) = (String::from_utf8_lossy(path), file.size().to_string());
        let print = key(["file 1", &*path, &size, &changed]);
        self.sum = self.sum.wrapping_add(u64::from_str_radix(&print[..16], 16).unwrap_or(0));
        self.files += 1;
        self.bytes = self.bytes.saturating_add(file.size());
        self.newest_ms = self.newest_ms.max(u64::try_from(file.mtime() * 1000 + file.mtime_nsec() / 1_000_000).unwrap_or(0));
    }

    fn content(self) -> Content {
        let Self { files, bytes, newest_ms, sum, partly } = self;
        let fingerprint = key(["counted 1", &files.to_string(), &bytes.to_string(), &sum.to_string()]);
        Content { fingerprint, files, bytes, newest_ms: (files > 0).then_some(newest_ms), partly }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn other_content_has_another_fingerprint_and_what_is_outside_does_not_count() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path().join("data");
        fs::create_dir_all(root.join("train")).unwrap();
        fs::write(root.join("train/a"), "12345").unwrap();
        fs::write(root.join("b"), "1").unwrap();
        fs::write(home.path().join("large"), "x".repeat(1000)).unwrap();
        symlink("../large", root.join("out")).unwrap();
        let first = content(&root);
        assert_eq!((first.files, first.bytes, first.partly.clone()), (2, 6, None));
        assert_eq!(content(&root), first);
        fs::rename(root.join("b"), root.join("c")).unwrap();
        assert_ne!(content(&root).fingerprint, first.fingerprint, "a file has another name");
        fs::write(root.join("train/a"), "12346").unwrap();
        fs::rename(root.join("c"), root.join("b")).unwrap();
        assert_ne!(content(&root).fingerprint, first.fingerprint, "a file was written again");
        let one = content(&root.join("b"));
        assert_eq!((one.files, one.bytes), (1, 1));
        assert!(content(&root.join("none")).partly.is_some());
    }

    #[test]
    fn a_directory_without_end_is_counted_in_part_and_that_is_said() {
        let home = tempfile::tempdir().unwrap();
        for name in 0..=FILES_MAX {
            fs::write(home.path().join(name.to_string()), "").unwrap();
        }
        let found = content(home.path());
        assert!(found.files <= FILES_MAX);
        assert_eq!(found.partly.unwrap(), format!("only the first {} files were looked at", found.files));
    }
}
