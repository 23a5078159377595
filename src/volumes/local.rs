//! A directory of this machine. A file appears whole or not at all: it is written under another name,
//! synced, renamed, and the directory synced.

use std::{
    fs::{File, Metadata},
    io::{self, Write},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, future::ready, stream::BoxStream};
use model::said;
use tokio::sync::mpsc;

use super::{
    Bytestream, Entry, Listed, Part, Want,
    beneath::{Beneath, Links, special},
    error::{Trouble, VolumeError, broke_off, not_opened},
    guard::Guard,
    joined,
};

/// Files that are not whole yet begin like this. They are nobody's data, so they are never listed.
const PART: &str = ".trainmaster-part-";
const PIECE_BYTES: usize = 256 << 10;
const PIECES_WAITING_MAX: usize = 4;
const LISTED_WAITING_MAX: usize = 256;

#[derive(Clone)]
pub struct Local {
    beneath: Arc<Beneath>,
    /// The file that is meant, where one file is the whole volume; else empty.
    base: String,
    /// Of whoever makes way: what he looked at is still there when he moves it.
    turn: Arc<Mutex<()>>,
}

impl Local {
    pub fn open(root: &Path) -> Result<Self, Trouble> {
        if !root.is_absolute() {
            return Err(Trouble::never(("a local volume is a whole path, beginning with `/`", "本地数据卷要写完整路径，以 `/` 开头")));
        }
        Ok(Self { beneath: Arc::new(Beneath::open(root, Links::Inside)?), base: String::new(), turn: Arc::default() })
    }

    pub fn of_task(root: &Path) -> Result<Self, Trouble> {
        Ok(Self { beneath: Arc::new(Beneath::open(root, Links::Never)?), base: String::new(), turn: Arc::default() })
    }

    pub fn of_host(path: &Path) -> Result<Self, Trouble> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name().and_then(|name| name.to_str())) else { return Self::open(path) };
        if std::fs::metadata(path)?.is_dir() { Self::open(path) } else { Ok(Self { base: name.to_owned(), ..Self::open(parent)? }) }
    }

    pub async fn head(&self, path: &str) -> Result<Entry, Trouble> {
        let (this, path) = (self.clone(), path.to_owned());
        blocking(move || {
            let metadata = this.beneath.stat(&joined(&this.base, &path))?;
            match special(&metadata) {
                None if metadata.is_dir() => Err(Trouble::Missing { what: "file; it is a directory" }),
                None => Ok(entry(path, &metadata)),
                Some(what) => Err(Trouble::never(not_opened(what))),
            }
        })
        .await
    }

    pub async fn read(&self, path: &str, want: &Want, at: String) -> Result<(Entry, Bytestream), VolumeError> {
        let (this, name) = (self.clone(), path.to_owned());
        let open = move || -> Result<(File, Entry), Trouble> {
            let file = this.beneath.file(&joined(&this.base, &name))?;
            let metadata = file.metadata()?;
            Ok((file, entry(name, &metadata)))
        };
        let (file, entry) = blocking(open).await.map_err(|trouble| trouble.at(&at))?;
        if want.etag.as_ref().is_some_and(|etag| *etag != entry.etag) {
            return Err(Trouble::changed("it was written to").at(at));
        }
        let end = want.length.map_or(entry.size, |length| want.from.saturating_add(length).min(entry.size));
        let from = want.from;
        let pieces = streamed(PIECES_WAITING_MAX, move |sender| read_pieces(&file, from, end, &sender));
        Ok((entry, pieces.map(move |piece| piece.map_err(|trouble| trouble.at(&at))).boxed()))
    }

    pub fn list(&self, directory: &str) -> BoxStream<'static, Result<Entry, Trouble>> {
        let file = |part| match part {
            Part::File(entry) => Some(entry),
            Part::Link { .. } => None,
        };
        self.parts(directory).try_filter_map(move |part| ready(Ok(file(part)))).boxed()
    }

    /// Every file, and where every link leads: a link to a file is both.
    pub fn parts(&self, directory: &str) -> BoxStream<'static, Result<Part, Trouble>> {
        let (this, directory) = (self.clone(), directory.to_owned());
        streamed(LISTED_WAITING_MAX, move |sender| {
            let mut directories = vec![directory];
            while let Some(directory) = directories.pop() {
                let alive = this.each(&directory, &mut |listed| match listed {
                    Ok(Listed::File(entry)) => sender.send(Ok(Part::File(entry))),
                    Ok(Listed::Directory { path }) => {
                        directories.push(path);
                        true
                    }
                    Ok(Listed::Special { path, .. }) => {
                        let parts = [this.linked_file(&path).map(Part::File), this.link(path)];
                        parts.into_iter().flatten().all(|part| sender.send(Ok(part)))
                    }
                    Err(trouble) => sender.send(Err(trouble)),
                });
                if !alive {
                    return;
                }
            }
        })
    }

    /// A link to a file inside is that file; other links, and what they lead to, are left out of lists.
    fn linked_file(&self, path: &str) -> Option<Entry> {
        let metadata = self.beneath.stat(path).ok()?;
        metadata.is_file().then(|| entry(path.to_owned(), &metadata))
    }

    fn link(&self, path: String) -> Option<Part> {
        let target = self.beneath.target(&path).ok()?;
        Some(Part::Link { path, target })
    }

    pub fn browse(&self, directory: &str) -> BoxStream<'static, Result<Listed, Trouble>> {
        let (this, directory) = (self.clone(), directory.to_owned());
        streamed(LISTED_WAITING_MAX, move |sender| {
            this.each(&directory, &mut |listed| sender.send(listed));
        })
    }

    /// Hands out what stands in a directory until nobody wants more; answers whether somebody still does.
    fn each(&self, directory: &str, take: &mut dyn FnMut(Result<Listed, Trouble>) -> bool) -> bool {
        let entries = match self.beneath.entries(directory) {
            Ok(entries) => entries,
            Err(trouble) => return take(Err(trouble)),
        };
        entries.filter_map(|found| found.map_err(Trouble::from).and_then(|found| listed(directory, &found)).transpose()).all(take)
    }

    pub async fn put_file(&self, path: &str, file: &File, size: u64, guard: Guard) -> Result<Entry, Trouble> {
        let source = file.try_clone().map_err(|error| Trouble::unread(&error))?;
        self.put(path, move |part| copy(&source, size, part).and_then(|()| guard.check(&source))).await
    }

    pub async fn put_bytes(&self, path: &str, bytes: Bytes) -> Result<Entry, Trouble> {
        self.put(path, move |mut part| Ok(part.write_all(&bytes)?)).await
    }

    async fn put(&self, path: &str, fill: impl FnOnce(&File) -> Result<(), Trouble> + Send + 'static) -> Result<Entry, Trouble> {
        let (this, path) = (self.clone(), path.to_owned());
        blocking(move || {
            let place = this.beneath.place_for(&joined(&this.base, &path))?;
            let part = format!("{PART}{:08x}{:08x}", std::process::id(), getrandom::u32().map_err(io::Error::other)?);
            let written = write_part(place.create_part(&part)?, fill);
            let metadata = written.inspect_err(|_| place.drop_part(&part))?;
            place.take(&part).inspect_err(|_| place.drop_part(&part))?;
            Ok(entry(path, &metadata))
        })
        .await
    }

    pub async fn make_way(&self, base: &str, path: &str, aside: &str) -> Result<Option<String>, Trouble> {
        let (this, base, path, aside) = (self.clone(), base.to_owned(), path.to_owned(), aside.to_owned());
        blocking(move || {
            let _turn = this.turn.lock().unwrap_or_else(PoisonError::into_inner);
            for end in path.match_indices('/').map(|(end, _)| end).chain([path.len()]) {
                let place = joined(&base, &path[..end]);
                let found = match this.beneath.look(&place) {
                    Err(Trouble::Missing { .. }) => return Ok(None),
                    other => other?,
                };
                let is_itself = end == path.len();
                if found.is_dir() == is_itself && !found.is_symlink() {
                    let number = format!("{:08x}", getrandom::u32().map_err(io::Error::other)?);
                    this.beneath.rename(&place, &joined(&joined(&aside, &number), &path[..end]))?;
                    return Ok(Some(place));
                }
            }
            Ok(None)
        })
        .await
    }

    pub async fn remove(&self, path: &str) -> Result<(), Trouble> {
        let (this, path) = (self.clone(), path.to_owned());
        let removed = blocking(move || this.beneath.remove_file(&joined(&this.base, &path))).await;
        match removed {
            Err(Trouble::Missing { .. }) => Ok(()),
            other => other,
        }
    }

    /// Parts do not say whose they are, but by whom they are written: one whose writer lives is not stale.
    pub async fn abort_stale_of(&self, path: &str) -> Result<(), Trouble> {
        let (this, path) = (self.clone(), joined(&self.base, path));
        blocking(move || {
            let directory = path.rsplit_once('/').map_or("", |(directory, _)| directory);
            let entries = match this.beneath.entries(directory) {
                Err(Trouble::Missing { .. }) => return Ok(()),
                other => other?,
            };
            let names = entries.flatten().filter_map(|found| found.file_name().into_string().ok());
            names.filter(|name| is_dead_part(name)).try_for_each(|name| this.beneath.remove_file(&joined(directory, &name)))
        })
        .await
    }

    pub async fn abort_stale(&self, directory: &str) -> Result<usize, Trouble> {
        let (this, directory) = (self.clone(), directory.to_owned());
        blocking(move || {
            let (mut directories, mut aborted) = (vec![directory], 0);
            while let Some(directory) = directories.pop() {
                let entries = match this.beneath.entries(&directory) {
                    Err(Trouble::Missing { .. }) => continue,
                    other => other?,
                };
                for found in entries.flatten() {
                    let Some(path) = found.file_name().to_str().map(|name| joined(&directory, name)) else { continue };
                    let kind = found.file_type()?;
                    if kind.is_dir() {
                        directories.push(path);
                    } else if is_part(&path) {
                        this.beneath.remove_file(&path)?;
                        aborted += 1;
                    }
                }
            }
            Ok(aborted)
        })
        .await
    }
}

fn is_dead_part(name: &str) -> bool {
    let writer = name.strip_prefix(PART).and_then(|rest| u32::from_str_radix(rest.get(..8)?, 16).ok());
    writer.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
}

fn is_part(path: &str) -> bool {
    path.rsplit('/').next().is_some_and(|name| name.starts_with(PART))
}

/// None for what is not to be seen: our own half files, and what vanished while we looked.
fn listed(directory: &str, found: &std::fs::DirEntry) -> Result<Option<Listed>, Trouble> {
    let Ok(name) = found.file_name().into_string() else {
        return Err(Trouble::never(said!(
            "`{}` has a name that is not UTF-8",
            "`{}` 的名字不是 UTF-8",
            found.file_name().to_string_lossy()
        )));
    };
    let path = joined(directory, &name);
    if is_part(&path) {
        return Ok(None);
    }
    let metadata = match found.metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other?,
    };
    Ok(Some(match special(&metadata) {
        Some(what) => Listed::Special { path, what },
        None if metadata.is_dir() => Listed::Directory { path },
        None => Listed::File(entry(path, &metadata)),
    }))
}

fn entry(path: String, metadata: &Metadata) -> Entry {
    let modified_ns = i128::from(metadata.mtime()) * 1_000_000_000 + i128::from(metadata.mtime_nsec());
    Entry {
        path,
        size: metadata.len(),
        modified_ms: u64::try_from(modified_ns / 1_000_000).unwrap_or(0),
        etag: format!("{:x}-{:x}-{:x}", metadata.ino(), modified_ns, metadata.len()),
    }
}

fn write_part(part: File, fill: impl FnOnce(&File) -> Result<(), Trouble>) -> Result<Metadata, Trouble> {
    fill(&part)?;
    part.sync_all()?;
    Ok(part.metadata()?)
}

fn copy(source: &File, size: u64, mut part: &File) -> Result<(), Trouble> {
    let mut piece = vec![0; PIECE_BYTES];
    let mut offset = 0;
    while offset < size {
        let room = usize::try_from(size - offset).unwrap_or(usize::MAX).min(PIECE_BYTES);
        let count = source.read_at(&mut piece[..room], offset).map_err(|error| Trouble::unread(&error))?;
        if count == 0 {
            return Err(Trouble::changed(format!("the file to copy has only {offset} of {size} bytes left")));
        }
        part.write_all(&piece[..count])?;
        offset += count as u64;
    }
    Ok(())
}

fn read_pieces(file: &File, from: u64, end: u64, sender: &Sender<Bytes>) {
    let mut offset = from;
    while offset < end {
        let mut piece = vec![0; usize::try_from(end - offset).unwrap_or(usize::MAX).min(PIECE_BYTES)];
        let read = match file.read_at(&mut piece, offset) {
            Ok(0) => Err(Trouble::changed(format!("it ends at {offset} and not at {end}"))),
            Ok(count) => {
                piece.truncate(count);
                offset += count as u64;
                Ok(Bytes::from(piece))
            }
            Err(error) => Err(error.into()),
        };
        let ended = read.is_err();
        if !sender.send(read) || ended {
            return;
        }
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Trouble> + Send + 'static) -> Result<T, Trouble> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(broke_off(&error)))
}

struct Sender<T>(mpsc::Sender<Result<T, Trouble>>);

impl<T> Sender<T> {
    /// Answers whether anybody still listens.
    fn send(&self, item: Result<T, Trouble>) -> bool {
        self.0.blocking_send(item).is_ok()
    }
}

/// What a thread hands out as it goes; it stops when nobody listens.
fn streamed<T: Send + 'static>(
    waiting_max: usize,
    work: impl FnOnce(Sender<T>) + Send + 'static,
) -> BoxStream<'static, Result<T, Trouble>> {
    let start = async move {
        let (sender, receiver) = mpsc::channel(waiting_max);
        tokio::task::spawn_blocking(move || work(Sender(sender)));
        futures_util::stream::unfold(receiver, |mut receiver| async { receiver.recv().await.map(|item| (item, receiver)) })
    };
    futures_util::stream::once(start).flatten().boxed()
}
