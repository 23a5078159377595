//! One file on its way out.

use std::{
    fs::{File, Metadata},
    io,
    sync::Arc,
};

use tokio::sync::Semaphore;

use super::{ledger::stamp, places::Place, settled, tree::Tree};
use crate::volumes::{Entry, Prefix, Trouble, VolumeError};

pub const PERMIT_BYTES: u64 = 64 << 10;
/// What one large file has in memory, whatever its size.
const LARGE_FILE_BYTES: u64 = 32 << 20;
const SMALL_FILE_BYTES_MAX: u64 = 8 << 20;

/// How much of a file is to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it: nobody writes any more.
    Whole,
    /// All of it, if nobody is in the middle of writing it.
    Finished,
    /// What is there of it, if it begins as it did when it was seen before.
    SoFar(Option<Prefix>),
}

pub struct Sending {
    pub path: Vec<u8>,
    /// The path in the store.
    pub key: String,
    pub bytes: u64,
    pub extent: Extent,
}

/// How it went.
pub struct Went {
    pub path: Vec<u8>,
    pub key: String,
    pub extent: Extent,
    /// What the file was like; nothing if it could not be opened.
    pub stamp: String,
    /// What there was of a file that grows.
    pub seen: Option<Prefix>,
    /// What had to make way for it, as the store calls it.
    pub moved: Option<String>,
    pub result: Result<Entry, Not>,
}

pub enum Not {
    Later,
    Gone,
    Unreadable(io::Error),
    Refused(VolumeError),
}

impl From<io::Error> for Not {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Not::Gone } else { Not::Unreadable(error) }
    }
}

/// A file that can go, and what it was like just before.
struct Ready {
    file: File,
    metadata: Metadata,
    /// Of one that grows.
    prefix: Option<Prefix>,
}

/// What came of opening a file.
enum Opened {
    Ready(Ready),
    /// It grows, and was seen for the first time, or was not what it had been.
    Seen(Prefix),
}

impl Sending {
    pub async fn send(self, tree: Arc<Tree>, place: &Place, room: Arc<Semaphore>) -> Went {
        let bytes = if self.bytes <= SMALL_FILE_BYTES_MAX { self.bytes.max(1) } else { LARGE_FILE_BYTES };
        let permits = u32::try_from(bytes.div_ceil(PERMIT_BYTES)).unwrap_or(u32::MAX);
        let _room = room.acquire_many(permits).await.expect("nobody closes it");
        let (path, extent) = (self.path.clone(), self.extent);
        let opened = tokio::task::spawn_blocking(move || open(&tree, &path, extent)).await;
        match opened.unwrap_or_else(|error| Err(Not::Unreadable(io::Error::other(error)))) {
            Err(not) => self.went(Err(not)),
            Ok(Opened::Seen(prefix)) => Went { seen: Some(prefix), ..self.went(Err(Not::Later)) },
            Ok(Opened::Ready(ready)) => {
                let (moved, result) = put(place, &self.key, &ready).await;
                let went = self.went(result.map_err(Not::Refused));
                Went { stamp: stamp(&ready.metadata), seen: ready.prefix, moved, ..went }
            }
        }
    }

    fn went(self, result: Result<Entry, Not>) -> Went {
        Went { path: self.path, key: self.key, extent: self.extent, stamp: String::new(), seen: None, moved: None, result }
    }
}

/// Puts a file where it belongs, and answers as well what had to make way for it.
async fn put(place: &Place, key: &str, ready: &Ready) -> (Option<String>, Result<Entry, VolumeError>) {
    let first = put_once(place, key, ready).await;
    if !matches!(&first, Err(error) if matches!(error.trouble, Trouble::Never { .. })) {
        return (None, first);
    }
    match place.make_way(key).await {
        None => (None, first),
        Some(Err(error)) => (None, Err(error)),
        Some(Ok(moved)) => (moved, put_once(place, key, ready).await),
    }
}

async fn put_once(place: &Place, key: &str, ready: &Ready) -> Result<Entry, VolumeError> {
    match ready.prefix {
        Some(prefix) => place.store.put_prefix(key, &ready.file, prefix).await,
        None => place.store.put_unchanged(key, &ready.file, &ready.metadata).await,
    }
}

/// Opens a file, and looks at it once more: what is sent is what it is like now.
fn open(tree: &Tree, path: &[u8], extent: Extent) -> Result<Opened, Not> {
    let file = tree.file(path)?;
    if extent == Extent::Finished && !settled::nobody_writes(&file, &file.metadata()?, path) {
        return Err(Not::Later);
    }
    if extent != Extent::Whole {
        settled::clean_pages(&file)?;
    }
    let metadata = file.metadata()?;
    match extent {
        Extent::Finished if !settled::is_quiet(&metadata) => Err(Not::Later),
        Extent::Whole | Extent::Finished => Ok(Opened::Ready(Ready { file, metadata, prefix: None })),
        Extent::SoFar(before) => so_far(file, metadata, before),
    }
}

fn so_far(file: File, metadata: Metadata, before: Option<Prefix>) -> Result<Opened, Not> {
    let only_grew = before.map(|before| before.begins(&file)).transpose()?.unwrap_or(false);
    let prefix = match Prefix::of(&file, metadata.len()) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(Not::Later),
        other => other?,
    };
    Ok(if only_grew { Opened::Ready(Ready { file, metadata, prefix: Some(prefix) }) } else { Opened::Seen(prefix) })
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[tokio::test]
    async fn a_file_that_has_only_grown_goes_as_far_as_it_is_and_one_that_was_written_over_does_not() {
        let home = tempfile::tempdir().unwrap();
        let [output, outside] = ["output", "outside"].map(|name| home.path().join(name));
        for dir in [&output, &outside] {
            fs::create_dir(dir).unwrap();
        }
        let (tree, place, room) = (Arc::new(Tree::open(&output).unwrap()), Place::at(&outside), Arc::new(Semaphore::new(1)));
        let log = output.join("train.log");
        let look = async |before| {
            let sending = Sending { path: b"train.log".to_vec(), key: "train.log".into(), bytes: 1, extent: Extent::SoFar(before) };
            let went = sending.send(tree.clone(), &place, room.clone()).await;
            (went.result.is_ok(), went.seen, fs::read_to_string(outside.join("train.log")).ok())
        };
        fs::write(&log, "one\n").unwrap();
        let mut writer = File::options().append(true).open(&log).unwrap();
        let (sent, seen, there) = look(None).await;
        assert_eq!((sent, there), (false, None), "nobody knows yet how it is written");
        writer.write_all(b"two\n").unwrap();
        let (sent, seen, there) = look(seen).await;
        assert_eq!((sent, there.as_deref()), (true, Some("one\ntwo\n")));
        fs::write(&log, "other and longer\n").unwrap();
        let (sent, seen, there) = look(seen).await;
        assert_eq!((sent, there.as_deref()), (false, Some("one\ntwo\n")));
        let (sent, _, there) = look(seen).await;
        assert_eq!((sent, there.as_deref()), (true, Some("other and longer\n")));
    }
}
