//! What a person's folder held when it was uploaded: its files by the hash of their content, the links
//! among them, and what git knew of it all. A bundle has one text, and the hash of that text is its name.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use sha2::{Digest, Sha256};

use crate::inside::{Links, stays_inside};

mod facts;
mod limits;
mod text;

pub use limits::{CodeLimits, TooMuch};

/// The SHA-256 of some bytes; written as 64 digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentHash([u8; 32]);

/// Bytes by what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob {
    pub hash: ContentHash,
    pub size_bytes: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File {
        blob: Blob,
        executable: bool,
    },
    /// A symbolic link, which stays inside the folder.
    Link {
        target: Vec<u8>,
    },
}

/// What git knew of the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    pub commit: String,
    /// None where no branch was checked out.
    pub branch: Option<String>,
    pub changes: Changes,
}

/// What was there and not in the commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changes {
    None,
    Patch(Blob),
    /// A patch that is too large to be kept; the files themselves are all there.
    TooLarge,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    origin: Option<Origin>,
    entries: BTreeMap<Vec<u8>, Entry>,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBundle {
    #[error("line {line} of the file list {why}")]
    Line { line: usize, why: &'static str },
    #[error("the file list is not written as it should be: each name once, in order, with nothing escaped that need not be")]
    NotCanonical,
    #[error("`{path}` {why}")]
    Path { path: String, why: &'static str },
    #[error("`{path}` is there twice")]
    Twice { path: String },
    #[error("`{path}` would be inside `{above}`, which is no directory")]
    NoDirectory { path: String, above: String },
    #[error("the link `{path}` leads to `{target}`, which is outside the folder, or in circles")]
    LeadsOut { path: String, target: String },
    #[error("the patch has {size_bytes} bytes; the most is {PATCH_BYTES_MAX}")]
    LargePatch { size_bytes: u64 },
}

pub const PATCH_BYTES_MAX: u64 = 1 << 20;
pub const PATH_BYTES_MAX: usize = 4095;
const NAME_BYTES_MAX: usize = 255;
const DEPTH_MAX: usize = 100;

impl Bundle {
    pub fn new(origin: Option<Origin>, entries: impl IntoIterator<Item = (Vec<u8>, Entry)>) -> Result<Self, BadBundle> {
        let mut all = BTreeMap::new();
        for (path, entry) in entries {
            check_path(&path).map_err(|why| BadBundle::Path { path: shown(&path), why })?;
            if let Entry::Link { target } = &entry {
                check_target(target).map_err(|why| BadBundle::Path { path: shown(&path), why })?;
            }
            if all.insert(path.clone(), entry).is_some() {
                return Err(BadBundle::Twice { path: shown(&path) });
            }
        }
        let bundle = Self { origin, entries: all };
        bundle.check_directories()?;
        bundle.check_links()?;
        if let Some(Blob { size_bytes, .. }) = bundle.patch().filter(|patch| patch.size_bytes > PATCH_BYTES_MAX) {
            return Err(BadBundle::LargePatch { size_bytes });
        }
        Ok(bundle)
    }

    fn check_directories(&self) -> Result<(), BadBundle> {
        for path in self.entries.keys() {
            if let Some(above) = above(path).find(|above| self.entries.contains_key(*above)) {
                return Err(BadBundle::NoDirectory { path: shown(path), above: shown(above) });
            }
        }
        Ok(())
    }

    fn check_links(&self) -> Result<(), BadBundle> {
        let links = self.links();
        let wrong = links.iter().find(|(path, _)| !stays_inside(&links, path));
        wrong.map_or(Ok(()), |(path, target)| Err(BadBundle::LeadsOut { path: shown(path), target: shown(target) }))
    }

    fn links(&self) -> Links {
        let target = |entry: &Entry| match entry {
            Entry::Link { target } => Some(target.clone()),
            Entry::File { .. } => None,
        };
        self.entries.iter().filter_map(|(path, entry)| Some((path.clone(), target(entry)?))).collect()
    }

    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Everything in it by its path, in the order of the paths.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], &Entry)> {
        self.entries.iter().map(|(path, entry)| (path.as_slice(), entry))
    }

    fn files(&self) -> impl Iterator<Item = (&[u8], Blob)> {
        self.entries().filter_map(|(path, entry)| match entry {
            Entry::File { blob, .. } => Some((path, *blob)),
            Entry::Link { .. } => None,
        })
    }

    /// Everything that has to be there for it to be whole, each once.
    pub fn blobs(&self) -> BTreeSet<Blob> {
        self.files().map(|(_, blob)| blob).chain(self.patch()).collect()
    }

    pub fn patch(&self) -> Option<Blob> {
        self.origin.as_ref().and_then(|origin| match origin.changes {
            Changes::Patch(blob) => Some(blob),
            Changes::None | Changes::TooLarge => None,
        })
    }

    pub fn size_bytes(&self) -> u64 {
        self.files().map(|(_, blob)| blob.size_bytes).fold(0, u64::saturating_add)
    }

    /// Files and links.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    /// Its name, as `code: {upload: …}` says it.
    pub fn digest(&self) -> ContentHash {
        ContentHash::of(self.to_string().as_bytes())
    }
}

/// Why a path cannot be one of a bundle.
pub fn check_path(path: &[u8]) -> Result<(), &'static str> {
    let parts = || path.split(|byte| *byte == b'/');
    if path.is_empty() {
        return Err("is empty");
    }
    if path.len() > PATH_BYTES_MAX || parts().any(|part| part.len() > NAME_BYTES_MAX) {
        return Err("is longer than a path can be");
    }
    if parts().count() > DEPTH_MAX {
        return Err("is more than 100 directories deep");
    }
    if path.contains(&0) {
        return Err("has a NUL character");
    }
    if path.starts_with(b"/") {
        return Err("begins with `/`");
    }
    if parts().any(|part| matches!(part, b"" | b"." | b"..")) {
        return Err("has a part that is empty, `.` or `..`");
    }
    if parts().any(|part| part.eq_ignore_ascii_case(b".git")) {
        return Err("is git's own, which is never uploaded");
    }
    Ok(())
}

fn check_target(target: &[u8]) -> Result<(), &'static str> {
    match target {
        [] => Err("is a link to nothing"),
        target if target.len() > PATH_BYTES_MAX => Err("is a link to a path that is longer than a path can be"),
        target if target.contains(&0) => Err("is a link to a path with a NUL character"),
        _ => Ok(()),
    }
}

/// The directories a path is in, the outermost first.
fn above(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at])
}

/// A path as a person reads it.
pub fn shown(path: &[u8]) -> String {
    String::from_utf8_lossy(path).into_owned()
}

impl ContentHash {
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ContentHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-256 of 64 digits and small letters")]
pub struct BadHash(String);

impl std::str::FromStr for ContentHash {
    type Err = BadHash;

    fn from_str(text: &str) -> Result<Self, BadHash> {
        let bad = || BadHash(text.chars().take(80).collect());
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Some(byte - b'0'),
            b'a'..=b'f' => Some(byte - b'a' + 10),
            _ => None,
        };
        let bytes: Option<Vec<u8>> = text
            .as_bytes()
            .chunks(2)
            .map(|pair| match pair {
                [high, low] => Some(digit(*high)? << 4 | digit(*low)?),
                _ => None,
            })
            .collect();
        bytes.and_then(|bytes| bytes.try_into().ok()).map(Self).ok_or_else(bad)
    }
}
