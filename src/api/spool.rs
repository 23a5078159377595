//! Large files on their way to a volume: pieces are put together here, so that whoever sends them can go on
//! where a line was cut, and nothing half is ever seen in the volume.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use axum::body::Bytes;
use sha2::{Digest, Sha256};

use crate::{error::Error, run_token::hex, rundir::private_dir};

/// What nobody went on with for a day is given up.
const KEPT_FOR: Duration = Duration::from_secs(24 * 3600);

/// Which file a piece belongs to, and where.
pub struct Piece<'a> {
    pub who: &'a str,
    pub at: &'a str,
    pub upload: &'a str,
    pub size: u64,
    pub offset: u64,
}

impl Piece<'_> {
    fn name(&self) -> String {
        let parts = [self.who, self.at, self.upload, &self.size.to_string()];
        hex(&Sha256::digest(parts.join("\0")))
    }
}

/// All pieces of a file. It goes from the disk when it is done; else it stays, to be sent on again.
pub struct Whole {
    file: File,
    path: PathBuf,
}

impl Whole {
    pub fn file(&self) -> &File {
        &self.file
    }

    pub fn done(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!("{} stays: {error}", self.path.display());
        }
    }
}

/// Adds a piece. Answers the file once it is whole.
pub async fn append(data: &Path, piece: &Piece<'_>, bytes: Bytes) -> Result<Option<Whole>, Error> {
    let (folder, name, offset, size) = (data.join("spool"), piece.name(), piece.offset, piece.size);
    let added = tokio::task::spawn_blocking(move || add(&folder, &name, (offset, size), &bytes));
    match added.await.map_err(|error| Error::Internal(error.to_string()))? {
        Ok(added) => added,
        Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(Error::DiskFull),
        Err(error) => Err(Error::Internal(error.to_string())),
    }
}

fn add(folder: &Path, name: &str, (offset, size): (u64, u64), bytes: &[u8]) -> io::Result<Result<Option<Whole>, Error>> {
    private_dir(folder)?;
    if offset == 0 {
        give_up_old(folder)?;
    }
    let path = folder.join(name);
    let file =
        OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(&path)?;
    // Two senders of one file must not write over each other.
    file.lock()?;
    let length = file.metadata()?.len();
    if length != offset || offset.checked_add(bytes.len() as u64).is_none_or(|end| end > size) {
        // The last piece may have come and the volume been away: then all is here, and it is tried again.
        let repeats_the_end = length == size && offset.checked_add(bytes.len() as u64) == Some(size);
        return Ok(if repeats_the_end { Ok(Some(Whole { file, path })) } else { Err(Error::WrongOffset { length }) });
    }
    file.write_all_at(bytes, offset)?;
    Ok(Ok((offset + bytes.len() as u64 == size).then_some(Whole { file, path })))
}

fn give_up_old(folder: &Path) -> io::Result<()> {
    for found in fs::read_dir(folder)?.flatten() {
        let is_old = found.metadata().and_then(|it| it.modified()).is_ok_and(|at| at.elapsed().is_ok_and(|age| age > KEPT_FOR));
        if is_old {
            fs::remove_file(found.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(offset: u64) -> Piece<'static> {
        Piece { who: "ann", at: "data:x", upload: "1", size: 6, offset }
    }

    async fn send(data: &Path, offset: u64, bytes: &'static [u8]) -> Result<Option<Whole>, String> {
        append(data, &piece(offset), Bytes::from_static(bytes)).await.map_err(|error| error.to_string())
    }

    #[tokio::test]
    async fn pieces_fit_together_or_are_told_where_they_belong() {
        let data = tempfile::tempdir().unwrap();
        assert!(send(data.path(), 0, b"abc").await.unwrap().is_none());
        assert_eq!(send(data.path(), 0, b"abc").await.err().unwrap(), "the server has 3 bytes of it");
        assert_eq!(send(data.path(), 4, b"ef").await.err().unwrap(), "the server has 3 bytes of it");
        assert_eq!(send(data.path(), 3, b"defg").await.err().unwrap(), "the server has 3 bytes of it");
        drop(send(data.path(), 3, b"def").await.unwrap().unwrap());
        // The volume was away, so the last piece comes again.
        let whole = send(data.path(), 3, b"def").await.unwrap().unwrap();
        let mut bytes = [0; 6];
        whole.file().read_exact_at(&mut bytes, 0).unwrap();
        assert_eq!(&bytes, b"abcdef");
        whole.done();
        assert_eq!(fs::read_dir(data.path().join("spool")).unwrap().count(), 0);
    }
}
