//! What a place holds, as datasets promise it: every file with its size and version, where every link leads, and none of their bytes.
//!
//! Whoever makes a version of a dataset and whoever carries it to a task have to get the same answer of the same place, so
//! both ask here.

use std::{ffi::OsStr, time::Duration};

use futures_util::StreamExt;
use model::{dataset::Held, resources::grouped, said, words::Words};
use sha2::{Digest, Sha256};

use super::{Entry, Kind, Part, Store, Trouble, VolumeError};
use crate::run_token::hex;

/// More files than that are no dataset but a disk.
const FILES_MAX: u64 = 2_000_000;
/// Whoever asks waits for it.
const TIME_MAX: Duration = Duration::from_secs(300);
const HEADS_AT_ONCE: usize = 16;

/// Why it cannot be said what a place holds.
#[derive(Debug)]
pub enum NotHeld {
    Volume(VolumeError),
    /// There is no file in it.
    Nothing,
    TooMuch(Words),
}

impl From<VolumeError> for NotHeld {
    fn from(error: VolumeError) -> Self {
        NotHeld::Volume(error)
    }
}

/// What a place of a store holds: a directory with all below it, or one file.
pub async fn held(store: &Store, path: &str) -> Result<Held, NotHeld> {
    let too_long = |_| NotHeld::TooMuch(said!("a place that can be listed in {} s", "能在 {} 秒内列完的位置", TIME_MAX.as_secs()));
    tokio::time::timeout(TIME_MAX, counted(store, path, FILES_MAX)).await.map_err(too_long)?.map(Sum::held)
}

async fn counted(store: &Store, path: &str, files_max: u64) -> Result<Sum, NotHeld> {
    let mut sum = Sum::new(store, path);
    if let Some(file) = one_file(store, path).await? {
        sum.add(&file);
        return Ok(sum);
    }
    let whole = async |found: Result<Part, VolumeError>| match found {
        // An index of a web server has no versions in it; its files have.
        Ok(Part::File(entry)) if entry.etag.is_empty() => store.head(&entry.path).await.map(Part::File),
        other => other,
    };
    let mut parts = store.parts(path).map(whole).buffered(HEADS_AT_ONCE);
    while let Some(part) = parts.next().await {
        match part? {
            Part::File(file) => sum.add(&file),
            Part::Link { path, target } => sum.add_link(&path, &target),
        }
        if sum.files > files_max {
            let most = grouped(files_max);
            return Err(NotHeld::TooMuch(said!("a place with at most {most} files", "最多有 {most} 个文件的位置")));
        }
    }
    match sum.files {
        0 if path.is_empty() => Err(NotHeld::Nothing),
        // A bucket knows no directories: this may be a file.
        0 => {
            let file = store.head(path).await.map_err(nothing_or)?;
            sum.add(&file);
            Ok(sum)
        }
        _ => Ok(sum),
    }
}

fn nothing_or(error: VolumeError) -> NotHeld {
    if let Trouble::Missing { .. } = error.trouble { NotHeld::Nothing } else { NotHeld::Volume(error) }
}

/// The file that a place is by itself, where that can be told before anything is listed.
async fn one_file(store: &Store, path: &str) -> Result<Option<Entry>, NotHeld> {
    let asked_first = match &*store.kind {
        Kind::Local(_) => true,
        Kind::Http(http) => http.is_file(),
        Kind::S3(_) => false,
    };
    if !asked_first {
        return Ok(None);
    }
    match store.head(path).await {
        Ok(file) => Ok(Some(file)),
        Err(VolumeError { trouble: Trouble::Missing { .. }, .. }) if matches!(&*store.kind, Kind::Local(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// What is known of a place's files so far, in whatever order they come.
pub struct Sum {
    /// What their paths begin with.
    base: String,
    /// A directory that was copied back has other files in it, though they are the same.
    by_time: bool,
    files: u64,
    bytes: u64,
    sum: u128,
}

impl Sum {
    pub fn new(store: &Store, path: &str) -> Self {
        let by_time = matches!(&*store.kind, Kind::Local(_));
        Self { base: path.to_owned(), by_time, files: 0, bytes: 0, sum: 0 }
    }

    pub fn add(&mut self, file: &Entry) {
        let time = file.modified_ms.to_string();
        let version = if self.by_time || file.etag.is_empty() { &time } else { &file.etag };
        self.add_line(&format!("{}\0{}\0{version}", self.below(&file.path), file.size));
        self.files += 1;
        self.bytes = self.bytes.saturating_add(file.size);
    }

    /// One that leads elsewhere shows a task other data, though every file is what it was.
    fn add_link(&mut self, path: &str, target: &OsStr) {
        // No size is an arrow, and no other target is written like this one.
        self.add_line(&format!("{}\0->\0{}", self.below(path), target.as_encoded_bytes().escape_ascii()));
    }

    fn add_line(&mut self, line: &str) {
        self.sum = self.sum.wrapping_add(number_of(line));
    }

    /// The one file that a place is by itself has no path below it.
    fn below<'a>(&self, path: &'a str) -> &'a str {
        path.strip_prefix(&self.base).unwrap_or(path).trim_start_matches('/')
    }

    pub fn held(self) -> Held {
        let all = Sha256::digest(format!("held 1\0{}\0{}\0{}", self.files, self.bytes, self.sum));
        Held { files: self.files, bytes: self.bytes, fingerprint: hex(&all) }
    }
}

fn number_of(text: &str) -> u128 {
    Sha256::digest(text).iter().take(16).fold(0, |number, byte| number << 8 | u128::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path, time::SystemTime};

    use model::volume::Volume;

    use super::*;
    use crate::volumes;

    fn written(path: &Path, text: &str, at_s: u64) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(at_s)).unwrap();
    }

    async fn of(root: &Path, path: &str) -> Result<Held, NotHeld> {
        let volume = Volume::Local { path: root.display().to_string() };
        held(&volumes::open(&volume, None).unwrap(), path).await
    }

    #[tokio::test]
    async fn other_content_has_another_fingerprint_and_a_copy_of_it_has_the_same() {
        let home = tempfile::tempdir().unwrap();
        for set in ["one", "two"] {
            written(&home.path().join(set).join("train/a"), "12345", 10);
            written(&home.path().join(set).join("b"), "1", 20);
        }
        let first = of(home.path(), "one").await.unwrap();
        assert_eq!((first.files, first.bytes), (2, 6));
        assert_eq!(of(home.path(), "two").await.unwrap(), first);
        let alone = Store::of_host(&home.path().join("one").display().to_string()).unwrap();
        assert_eq!(held(&alone, "").await.unwrap(), first, "a directory is the same by its own path");
        written(&home.path().join("two/b"), "2", 21);
        assert_ne!(of(home.path(), "two").await.unwrap().fingerprint, first.fingerprint, "a file was written again");
        fs::rename(home.path().join("one/b"), home.path().join("one/c")).unwrap();
        assert_ne!(of(home.path(), "one").await.unwrap().fingerprint, first.fingerprint, "a file has another name");
    }

    #[tokio::test]
    async fn a_link_that_leads_elsewhere_is_other_content() {
        let home = tempfile::tempdir().unwrap();
        let (set, copy) = (home.path().join("set"), home.path().join("copy"));
        let led = |root: &Path, target: &str| {
            drop(fs::remove_file(root.join("current")));
            symlink(target, root.join("current")).unwrap();
        };
        for root in [&set, &copy] {
            ["v1/a", "v2/a"].iter().for_each(|path| written(&root.join(path), "12345", 10));
            led(root, "v1");
        }
        let first = of(home.path(), "set").await.unwrap();
        assert_eq!((first.files, first.bytes), (2, 10), "a link is no file");
        assert_eq!(of(home.path(), "copy").await.unwrap(), first);
        for target in ["v2", "../elsewhere", "/etc"] {
            led(&set, target);
            assert_ne!(of(home.path(), "set").await.unwrap().fingerprint, first.fingerprint, "{target}");
        }
        led(&set, "v1/a");
        let to_file = of(home.path(), "set").await.unwrap();
        led(&set, "v2/a");
        assert_ne!(of(home.path(), "set").await.unwrap().fingerprint, to_file.fingerprint, "a file that looks the same");
    }

    #[tokio::test]
    async fn a_place_without_end_is_refused_with_how_much_there_may_be() {
        let home = tempfile::tempdir().unwrap();
        ["a", "b/c", "b/d"].iter().for_each(|path| written(&home.path().join(path), "", 10));
        let store = Store::of_host(&home.path().display().to_string()).unwrap();
        assert_eq!(counted(&store, "", 3).await.map(|sum| sum.files).ok(), Some(3));
        let Err(NotHeld::TooMuch(wanted)) = counted(&store, "", 2).await else { panic!("three files are more than two") };
        assert_eq!((wanted.en.as_str(), wanted.zh.as_str()), ("a place with at most 2 files", "最多有 2 个文件的位置"));
    }

    #[tokio::test]
    async fn a_place_may_be_one_file_and_must_be_something() {
        let home = tempfile::tempdir().unwrap();
        written(&home.path().join("sets/mnist.tar"), "12345", 10);
        fs::create_dir(home.path().join("empty")).unwrap();
        symlink("mnist.tar", home.path().join("sets/newest")).unwrap();
        let file = of(home.path(), "sets/mnist.tar").await.unwrap();
        assert_eq!((file.files, file.bytes), (1, 5));
        let alone = Store::of_host(&home.path().join("sets/mnist.tar").display().to_string()).unwrap();
        assert_eq!(held(&alone, "").await.unwrap(), file);
        assert_eq!(of(home.path(), "sets").await.unwrap().files, 2, "a link to a file inside is that file");
        assert!(matches!(of(home.path(), "empty").await, Err(NotHeld::Nothing)));
        assert!(matches!(of(home.path(), "none").await, Err(NotHeld::Volume(_))));
    }
}
