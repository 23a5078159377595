//! The list of stretches since the beginning. When it is full each two become one, and from then on each covers twice the
//! time.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use model::usage::Stretch;

use super::record::{STRETCH_BYTES, decode_stretch, encode_stretch};

pub const STRETCHES_MAX: u64 = 1_024;
const SPACING_MS_FIRST: u64 = 10_000;
/// How long each stretch is, at the head of the file.
const HEAD_BYTES: u64 = 8;

pub struct List {
    path: PathBuf,
    file: File,
    length: u64,
    pub spacing_ms: u64,
}

impl List {
    /// Opens the list where it was left; one whose head cannot be read begins anew.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
        let size = file.metadata()?.len();
        let spacing_ms = match spacing_of(&file) {
            Some(spacing_ms) => spacing_ms,
            None => {
                file.set_len(0)?;
                file.write_all_at(&SPACING_MS_FIRST.to_le_bytes(), 0)?;
                SPACING_MS_FIRST
            }
        };
        let length = size.saturating_sub(HEAD_BYTES) / STRETCH_BYTES as u64;
        Ok(Self { path: path.to_owned(), file, length, spacing_ms })
    }

    pub fn add(&mut self, stretch: &Stretch) -> io::Result<()> {
        self.file.write_all_at(&encode_stretch(stretch), HEAD_BYTES + self.length * STRETCH_BYTES as u64)?;
        self.length += 1;
        if self.length >= STRETCHES_MAX { self.halve() } else { Ok(()) }
    }

    /// The new list is whole before it takes the place of the old one.
    fn halve(&mut self) -> io::Result<()> {
        let all = read_all(&self.path);
        let mut bytes = (self.spacing_ms * 2).to_le_bytes().to_vec();
        for pair in all.chunks(2) {
            let one = pair[1..].iter().fold(pair[0].clone(), |one, other| one.and(other));
            bytes.extend(encode_stretch(&one));
        }
        let part = self.path.with_extension("coarse.part");
        fs::write(&part, bytes)?;
        fs::rename(&part, &self.path)?;
        *self = Self::open(&self.path)?;
        Ok(())
    }
}

fn spacing_of(file: &File) -> Option<u64> {
    let mut head = [0; HEAD_BYTES as usize];
    file.read_exact_at(&mut head, 0).ok()?;
    Some(u64::from_le_bytes(head)).filter(|it| *it >= SPACING_MS_FIRST)
}

/// Every stretch, oldest first. A file that is not there has none.
pub fn read_all(path: &Path) -> Vec<Stretch> {
    let bytes = fs::read(path).unwrap_or_default();
    let body = bytes.get(HEAD_BYTES as usize..).unwrap_or_default();
    body.chunks_exact(STRETCH_BYTES).take(STRETCHES_MAX as usize).filter_map(decode_stretch).collect()
}

/// When the first stretch begins.
pub fn first_ms(path: &Path) -> Option<u64> {
    let mut bytes = [0; STRETCH_BYTES];
    File::open(path).ok()?.read_exact_at(&mut bytes, HEAD_BYTES).ok()?;
    decode_stretch(&bytes).map(|it| it.from_ms)
}
