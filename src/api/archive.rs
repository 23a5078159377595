//! Directories as one tar file, written as it is read by whoever asked.

use std::{
    io::{self, Read, Write},
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
};

use axum::body::Bytes;
use tar::{Builder, EntryType, Header};
use tokio::sync::mpsc;

use crate::volumes::beneath::{Beneath, Links};

const PIECE_BYTES: usize = 256 << 10;

pub type Pieces = mpsc::Sender<io::Result<Bytes>>;

/// Writes the directories, each below its folder. What goes wrong cuts the answer, so that nobody takes
/// half an archive for a whole one.
pub fn write(roots: &[(String, PathBuf)], pieces: Pieces) {
    let mut archive = Builder::new(Piecewise::new(pieces.clone()));
    let written = roots.iter().try_for_each(|(folder, root)| directory(&mut archive, folder, root));
    let ended = written.and_then(|()| archive.into_inner()?.flush());
    if let Err(error) = ended {
        // Nobody may be left to hear it.
        let _heard = pieces.blocking_send(Err(error));
    }
}

fn directory(archive: &mut Builder<Piecewise>, folder: &str, root: &Path) -> io::Result<()> {
    if !root.exists() {
        return Ok(());
    }
    let beneath = Beneath::open(root, Links::Never).map_err(|trouble| io::Error::other(format!("{trouble:?}")))?;
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        // A directory that vanishes, or becomes a link, while the task runs is left out.
        let Ok(entries) = beneath.entries(&directory) else { continue };
        for found in entries.flatten() {
            let Ok(name) = found.file_name().into_string() else { continue };
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            match found.file_type() {
                Ok(kind) if kind.is_dir() => directories.push(path),
                Ok(kind) if kind.is_file() => file(archive, folder, &beneath, &path)?,
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(())
}

fn file(archive: &mut Builder<Piecewise>, folder: &str, beneath: &Beneath, path: &str) -> io::Result<()> {
    let Ok(file) = beneath.file(path) else { return Ok(()) };
    let metadata = file.metadata()?;
    let mut header = Header::new_gnu();
    header.set_entry_type(EntryType::Regular);
    header.set_size(metadata.len());
    header.set_mode(metadata.permissions().mode() & 0o777);
    header.set_mtime(u64::try_from(metadata.mtime()).unwrap_or(0));
    let name = if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    // A file that grows is taken as it was; one that shrinks is filled up, since its length is said already.
    archive.append_data(&mut header, name, file.chain(io::repeat(0)).take(metadata.len()))
}

/// Small writes gathered into pieces.
pub struct Piecewise {
    pieces: Pieces,
    piece: Vec<u8>,
}

impl Piecewise {
    pub fn new(pieces: Pieces) -> Self {
        Self { pieces, piece: Vec::with_capacity(PIECE_BYTES) }
    }
}

impl Write for Piecewise {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.piece.extend_from_slice(bytes);
        if self.piece.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let piece = std::mem::replace(&mut self.piece, Vec::with_capacity(PIECE_BYTES));
        self.pieces.blocking_send(Ok(piece.into())).map_err(|_| io::ErrorKind::BrokenPipe.into())
    }
}
