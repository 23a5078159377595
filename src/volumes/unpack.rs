//! Archives that somebody else packed: read strictly, written inside one empty directory, whole or not at all.
//!
//! An archive can be read in more than one way wherever its format has two places for one fact. Whatever
//! would need a choice is refused, with the entry and the reason, and so is whatever would reach outside.

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::FileExt,
    path::Path,
};

mod name;
mod pax;
mod tar;
mod tree;
mod zip;

use tree::Tree;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Tar,
    TarGz,
    Zip,
}

/// What an archive may become.
#[derive(Clone, Debug)]
pub struct Limits {
    pub bytes_max: u64,
    /// How many bytes may come out for each that goes in, once more than `ratio_free_bytes` have come out.
    pub ratio_max: u64,
    pub ratio_free_bytes: u64,
    pub entries_max: u64,
    pub depth_max: usize,
    pub path_bytes_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            bytes_max: 1 << 40,
            ratio_max: 200,
            ratio_free_bytes: 256 << 20,
            entries_max: 10_000_000,
            depth_max: 100,
            path_bytes_max: 4095,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unpacked {
    /// Files, links and directories that the archive names.
    pub entries: u64,
    pub bytes: u64,
}

#[derive(Debug)]
pub enum NotUnpacked {
    /// The archive means harm, or cannot be read in one way alone.
    Refused { entry: Option<String>, why: String },
    /// The machine could not do it.
    Io(io::Error),
}

impl fmt::Display for NotUnpacked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotUnpacked::Refused { entry: Some(entry), why } => write!(f, "`{entry}` in the archive {why}"),
            NotUnpacked::Refused { entry: None, why } => write!(f, "the archive {why}"),
            NotUnpacked::Io(error) => write!(f, "the archive could not be unpacked: {error}"),
        }
    }
}

impl std::error::Error for NotUnpacked {}

impl From<io::Error> for NotUnpacked {
    fn from(error: io::Error) -> Self {
        NotUnpacked::Io(error)
    }
}

impl From<nix::Error> for NotUnpacked {
    fn from(error: nix::Error) -> Self {
        NotUnpacked::Io(error.into())
    }
}

fn odd(why: impl Into<String>) -> NotUnpacked {
    NotUnpacked::Refused { entry: None, why: why.into() }
}

impl NotUnpacked {
    /// The same about one entry.
    fn at(self, path: &[u8]) -> Self {
        match self {
            NotUnpacked::Refused { entry: None, why } => {
                NotUnpacked::Refused { entry: Some(String::from_utf8_lossy(path).into_owned()), why }
            }
            other => other,
        }
    }
}

impl Kind {
    /// What a file is by its name and by its first bytes, which must say the same.
    pub fn of(name: &str, archive: &File) -> Result<Self, NotUnpacked> {
        let name = name.to_ascii_lowercase();
        let ends = |endings: &[&str]| endings.iter().any(|ending| name.ends_with(ending));
        let kind = match () {
            () if ends(&[".tar.gz", ".tgz"]) => Kind::TarGz,
            () if ends(&[".tar"]) => Kind::Tar,
            () if ends(&[".zip"]) => Kind::Zip,
            () => return Err(odd("is called neither .tar, .tar.gz, .tgz nor .zip")),
        };
        let mut first = [0; 512];
        let count = archive.read_at(&mut first, 0)?;
        let fits = match kind {
            Kind::Tar => count == first.len() && !first.starts_with(b"PK") && !first.starts_with(&[0x1f, 0x8b]),
            Kind::TarGz => first.starts_with(&[0x1f, 0x8b, 8]),
            Kind::Zip => first.starts_with(b"PK\x03\x04") || first.starts_with(b"PK\x05\x06"),
        };
        if fits { Ok(kind) } else { Err(odd("is not what its name says")) }
    }
}

/// Unpacks an archive into a directory that is empty. On any error it is empty again.
pub fn unpack(archive: &File, kind: Kind, into: &Path, limits: &Limits) -> Result<Unpacked, NotUnpacked> {
    if fs::read_dir(into)?.next().is_some() {
        return Err(NotUnpacked::Io(io::Error::other(format!("{} is not empty", into.display()))));
    }
    let unpacked = try_unpack(archive, kind, into, limits);
    if unpacked.is_err() {
        empty(into)?;
    }
    unpacked
}

fn try_unpack(archive: &File, kind: Kind, into: &Path, limits: &Limits) -> Result<Unpacked, NotUnpacked> {
    let mut tree = Tree::new(into, limits)?;
    match kind {
        Kind::Tar => tar::read(Source::new(archive), &mut tree)?,
        Kind::TarGz => tar::read(Unzipped::new(archive, limits), &mut tree)?,
        Kind::Zip => zip::read(archive, &mut tree)?,
    }
    tree.finish()
}

fn empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() { fs::remove_dir_all(entry.path())? } else { fs::remove_file(entry.path())? }
    }
    Ok(())
}

/// A file read from its beginning, wherever its own position is.
struct Source<'a> {
    file: &'a File,
    position: u64,
}

impl<'a> Source<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, position: 0 }
    }
}

impl Read for Source<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.position)?;
        self.position += count as u64;
        Ok(count)
    }
}

/// What is in a gzip, as long as it does not grow beyond reason.
struct Unzipped<'a> {
    inner: flate2::read::MultiGzDecoder<io::BufReader<Source<'a>>>,
    came_out: u64,
    limits: &'a Limits,
}

impl<'a> Unzipped<'a> {
    fn new(archive: &'a File, limits: &'a Limits) -> Self {
        let inner = flate2::read::MultiGzDecoder::new(io::BufReader::new(Source::new(archive)));
        Self { inner, came_out: 0, limits }
    }
}

impl Read for Unzipped<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.came_out += count as u64;
        if self.limits.is_a_bomb(self.inner.get_ref().get_ref().position, self.came_out) {
            return Err(io::Error::new(io::ErrorKind::QuotaExceeded, BOMB));
        }
        Ok(count)
    }
}

const BOMB: &str = "grows beyond reason when it is unpacked";

impl Limits {
    fn is_a_bomb(&self, went_in: u64, came_out: u64) -> bool {
        came_out > self.ratio_free_bytes && came_out > went_in.saturating_mul(self.ratio_max)
    }
}

/// Trouble while reading an archive is mostly the archive's own.
fn reading(error: io::Error) -> NotUnpacked {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => odd("ends too early"),
        io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => odd(format!("is damaged: {error}")),
        io::ErrorKind::QuotaExceeded if error.raw_os_error().is_none() => odd(error.to_string()),
        _ => NotUnpacked::Io(error),
    }
}

#[cfg(test)]
mod tests;
