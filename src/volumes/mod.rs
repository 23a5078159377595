//! Where bytes live: a directory of this machine, a bucket, files of a web server.
//!
//! A path of a volume has no `/` around it and no part that leads elsewhere; `""` is the volume itself.
//! A call tries a few times by itself where the store is away ([`retry`]); whoever can wait longer does so.

use std::{
    ffi::OsString,
    fs::{File, Metadata},
    path::Path,
    sync::Arc,
    time::Instant,
};

use bytes::Bytes;
use futures_util::{StreamExt, TryStreamExt, stream::BoxStream};
use model::{
    location::volume_path,
    volume::{Credentials, Volume},
    words::Said,
};

pub mod beneath;
mod error;
mod guard;
pub mod held;
mod http;
mod local;
mod reading;
mod retry;
mod s3;
mod test;
pub mod unpack;
mod upload_watch;
mod web;

pub use error::{Trouble, VolumeError};
use guard::Guard;
pub use guard::Prefix;
pub use test::Check;

/// A file of a volume.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// From the volume's top, without a `/` before it.
    pub path: String,
    pub size: u64,
    /// 0 if the store does not say.
    pub modified_ms: u64,
    /// Another content has another one; without quotes. Empty if the store has none.
    pub etag: String,
}

/// What stands in one directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    File(Entry),
    Directory {
        path: String,
    },
    /// A link, a pipe, a device: shown as what it is, and never opened.
    Special {
        path: String,
        what: &'static str,
    },
}

/// What a dataset promises of.
#[derive(Clone, Debug)]
pub enum Part {
    File(Entry),
    /// Of a directory of this machine, which a task sees as it is, links and all.
    Link {
        path: String,
        target: OsString,
    },
}

/// A part of a file, and which content it must still have.
#[derive(Clone, Debug, Default)]
pub struct Want {
    pub from: u64,
    /// To the end if absent.
    pub length: Option<u64>,
    pub etag: Option<String>,
}

pub type Bytestream = BoxStream<'static, Result<Bytes, VolumeError>>;
pub type Listing<T> = BoxStream<'static, Result<T, VolumeError>>;

/// An open volume. Cloning is cheap, and clones share their connections.
#[derive(Clone)]
pub struct Store {
    label: String,
    kind: Arc<Kind>,
}

enum Kind {
    Local(local::Local),
    S3(s3::S3),
    Http(http::Http),
}

/// Opens a volume. Nothing is asked of a store yet.
pub fn open(volume: &Volume, credentials: Option<&Credentials>) -> Result<Store, VolumeError> {
    let (label, kind) = match volume {
        Volume::Local { path } => (path.clone(), local::Local::open(Path::new(path)).map(Kind::Local)),
        Volume::S3 { bucket, prefix, .. } => (format!("s3://{bucket}/{prefix}"), s3::S3::open(volume, credentials).map(Kind::S3)),
        Volume::Http { url } => (url.clone(), http::Http::folder(url).map(Kind::Http)),
        Volume::Claim { claim } => (format!("claim {claim}"), Err(elsewhere(("a claim", "存储声明（PVC）")))),
        Volume::Nfs { server, path } => (format!("{server}:{path}"), Err(elsewhere(("an NFS export", "NFS 导出目录")))),
    };
    Store::made(label, kind)
}

fn elsewhere((what, zh): Said) -> Trouble {
    Trouble::never((
        format!(
            "{what} can only be used by tasks of Kubernetes clusters; on this machine, mount it and add the directory as a local volume"
        ),
        format!("{zh}只能由 Kubernetes 集群上的任务使用；在本机上，请先挂载，再把目录添加为本地数据卷"),
    ))
}

impl Store {
    /// A directory of this machine, or one file, whose path is then `""`.
    pub fn of_host(path: &str) -> Result<Self, VolumeError> {
        Self::made(path.to_owned(), local::Local::of_host(Path::new(path)).map(Kind::Local))
    }

    /// A directory that a task writes to. No link in it is followed.
    pub fn of_task(path: &Path) -> Result<Self, VolumeError> {
        Self::made(path.display().to_string(), local::Local::of_task(path).map(Kind::Local))
    }

    /// One file of a web server; its path is `""`.
    pub fn of_url(url: &str) -> Result<Self, VolumeError> {
        Self::made(url.split('?').next().unwrap_or_default().to_owned(), http::Http::file(url).map(Kind::Http))
    }

    fn made(label: String, kind: Result<Kind, Trouble>) -> Result<Self, VolumeError> {
        match kind {
            Ok(kind) => Ok(Self { label, kind: Arc::new(kind) }),
            Err(trouble) => Err(trouble.at(label)),
        }
    }

    /// The same volume, called in messages as people call it.
    pub fn named(self, name: &str) -> Self {
        Self { label: name.to_owned(), ..self }
    }

    /// How messages write a path of this volume.
    pub fn at(&self, path: &str) -> String {
        if path.is_empty() { self.label.clone() } else { format!("{}:{path}", self.label) }
    }

    /// Every file below a directory, and below those within it. A name that has no place in a path is an
    /// error of its own and does not end the list; whatever else goes wrong does.
    pub fn list(&self, directory: &str) -> Listing<Entry> {
        match checked(directory) {
            Err(trouble) => self.only(directory, trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => self.placed(directory, local.list(directory)),
                Kind::S3(s3) => self.placed(directory, s3.list(directory)),
                Kind::Http(http) => self.placed(directory, http.list(directory)),
            },
        }
    }

    /// The same, and with the files the directories that some programs mark by an empty object.
    pub fn walk(&self, directory: &str) -> Listing<Listed> {
        match (checked(directory), &*self.kind) {
            (Ok(()), Kind::S3(s3)) => self.placed(directory, s3.walk(directory)),
            (Err(_), _) | (Ok(()), Kind::Local(_) | Kind::Http(_)) => self.list(directory).map_ok(Listed::File).boxed(),
        }
    }

    /// The same as `list`, and where the links lead that are there.
    pub fn parts(&self, directory: &str) -> Listing<Part> {
        match (checked(directory), &*self.kind) {
            (Ok(()), Kind::Local(local)) => self.placed(directory, local.parts(directory)),
            (Err(_), _) | (Ok(()), Kind::S3(_) | Kind::Http(_)) => self.list(directory).map_ok(Part::File).boxed(),
        }
    }

    /// What stands in one directory, in no particular order.
    pub fn browse(&self, directory: &str) -> Listing<Listed> {
        match checked(directory) {
            Err(trouble) => self.only(directory, trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => self.placed(directory, local.browse(directory)),
                Kind::S3(s3) => self.placed(directory, s3.browse(directory)),
                Kind::Http(http) => self.placed(directory, http.browse(directory)),
            },
        }
    }

    pub async fn head(&self, path: &str) -> Result<Entry, VolumeError> {
        let found = match checked(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.head(path).await,
                Kind::S3(s3) => s3.head(path).await,
                Kind::Http(http) => http.head(path).await,
            },
        };
        found.map_err(|trouble| trouble.at(self.at(path)))
    }

    /// A file from an offset to its end.
    pub async fn read(&self, path: &str, from: u64) -> Result<(Entry, Bytestream), VolumeError> {
        self.read_part(path, &Want { from, ..Want::default() }).await
    }

    /// A part of a file. A cut line is taken up again where it broke; a file that is no longer the same
    /// is an error and never a mixture.
    pub async fn read_part(&self, path: &str, want: &Want) -> Result<(Entry, Bytestream), VolumeError> {
        let at = self.at(path);
        checked(path).map_err(|trouble| trouble.at(&at))?;
        match &*self.kind {
            Kind::Local(local) => local.read(path, want, at).await,
            Kind::S3(s3) => reading::read(s3.opener(path, want), want, at).await,
            Kind::Http(http) => reading::read(http.opener(path, want), want, at).await,
        }
    }

    /// Puts `size` bytes of an open file there, whole or not at all. The file is read by offset, so its
    /// own position neither matters nor moves.
    pub async fn put_file(&self, path: &str, file: &File, size: u64) -> Result<Entry, VolumeError> {
        self.put_guarded(path, (file, size), Guard::Nothing).await
    }

    /// Puts all of an open file there as it was when it was looked at, or nothing: whatever writes to it
    /// meanwhile is noticed before anyone can see what was put.
    pub async fn put_unchanged(&self, path: &str, file: &File, seen: &Metadata) -> Result<Entry, VolumeError> {
        self.put_guarded(path, (file, seen.len()), Guard::of(seen)).await
    }

    /// Puts the beginning of an open file there, which others may append to meanwhile; nothing if they write over it.
    pub async fn put_prefix(&self, path: &str, file: &File, prefix: Prefix) -> Result<Entry, VolumeError> {
        self.put_guarded(path, (file, prefix.bytes), Guard::Begins(prefix)).await
    }

    async fn put_guarded(&self, path: &str, (file, size): (&File, u64), guard: Guard) -> Result<Entry, VolumeError> {
        let put = match checked_file(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.put_file(path, file, size, guard).await,
                Kind::S3(s3) => s3.put_file(path, file, size, guard).await,
                Kind::Http(_) => Err(http::read_only()),
            },
        };
        put.map_err(|trouble| trouble.at(self.at(path)))
    }

    pub async fn put_bytes(&self, path: &str, bytes: Bytes) -> Result<Entry, VolumeError> {
        let put = match checked_file(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.put_bytes(path, bytes).await,
                Kind::S3(s3) => s3.put_bytes(path, bytes).await,
                Kind::Http(_) => Err(http::read_only()),
            },
        };
        put.map_err(|trouble| trouble.at(self.at(path)))
    }

    /// Moves what keeps a path below `base` from being a file's to a place of its own below `aside`: a file where a directory has to
    /// be, or a directory in its stead. Answers what was moved. A bucket has room for both.
    pub async fn make_way(&self, base: &str, path: &str, aside: &str) -> Result<Option<String>, VolumeError> {
        let made = match &*self.kind {
            Kind::Local(local) => local.make_way(base, path, aside).await,
            Kind::S3(_) | Kind::Http(_) => Ok(None),
        };
        made.map_err(|trouble| trouble.at(self.at(&joined(base, path))))
    }

    /// Removes a file. One that is gone already is fine.
    pub async fn remove(&self, path: &str) -> Result<(), VolumeError> {
        let removed = match checked_file(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.remove(path).await,
                Kind::S3(s3) => s3.remove(path).await,
                Kind::Http(_) => Err(http::read_only()),
            },
        };
        removed.map_err(|trouble| trouble.at(self.at(path)))
    }

    /// Clears away what uploads of a file, or of everything below a directory, left half when somebody died;
    /// says how many there were. Only for whoever knows that nobody uploads there now. MinIO knows only the
    /// half uploads of a file that is named, and forgets the others by itself after a day.
    pub async fn abort_stale(&self, path: &str) -> Result<usize, VolumeError> {
        let aborted = match checked(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.abort_stale(path).await,
                Kind::S3(s3) => s3.abort_stale(path).await,
                Kind::Http(_) => Ok(0),
            },
        };
        aborted.map_err(|trouble| trouble.at(self.at(path)))
    }

    /// Clears away what an upload of one file left half when whoever did it died.
    pub async fn abort_stale_of(&self, path: &str) -> Result<(), VolumeError> {
        let aborted = match checked_file(path) {
            Err(trouble) => Err(trouble),
            Ok(()) => match &*self.kind {
                Kind::Local(local) => local.abort_stale_of(path).await,
                Kind::S3(s3) => s3.abort_stale_of(path).await,
                Kind::Http(_) => Ok(()),
            },
        };
        aborted.map_err(|trouble| trouble.at(self.at(path)))
    }

    /// When it was last unclear whether something of an upload is left half; nothing if it never was.
    pub fn in_doubt_at(&self) -> Option<Instant> {
        match &*self.kind {
            Kind::S3(s3) => s3.in_doubt_at(),
            Kind::Local(_) | Kind::Http(_) => None,
        }
    }

    /// Whether anything can be written there at all.
    pub fn is_writable(&self) -> bool {
        match &*self.kind {
            Kind::Local(_) | Kind::S3(_) => true,
            Kind::Http(_) => false,
        }
    }

    /// Tries everything that a job would do, and says what works.
    pub async fn test(&self) -> Vec<Check> {
        test::test(self).await
    }

    fn only<T: Send + 'static>(&self, path: &str, trouble: Trouble) -> Listing<T> {
        let error = trouble.at(self.at(path));
        futures_util::stream::once(async { Err(error) }).boxed()
    }

    fn placed<T: 'static>(&self, path: &str, listing: BoxStream<'static, Result<T, Trouble>>) -> Listing<T> {
        let at = self.at(path);
        listing.map(move |item| item.map_err(|trouble| trouble.at(&at))).boxed()
    }
}

/// A path that would have to be changed to be one is refused: it would name something else.
fn checked(path: &str) -> Result<(), Trouble> {
    if path.contains('\0') {
        return Err(Trouble::never(("a path cannot have a NUL character", "路径中不能有空字符（NUL）")));
    }
    match volume_path(path) {
        Ok(same) if same == path => Ok(()),
        Ok(_) => Err(Trouble::never(("a path neither begins nor ends with `/`", "路径的开头和结尾都不能是 `/`"))),
        Err(bad) => Err(Trouble::never((format!("the path {bad}"), format!("路径{}", bad.words().zh)))),
    }
}

fn checked_file(path: &str) -> Result<(), Trouble> {
    if path.is_empty() {
        Err(Trouble::never(("this is the whole volume; name a file in it", "这是整个数据卷，请写出其中的文件")))
    } else {
        checked(path)
    }
}

/// A path below another one.
pub fn joined(base: &str, path: &str) -> String {
    match (base.is_empty(), path.is_empty()) {
        (true, _) => path.to_owned(),
        (_, true) => base.to_owned(),
        (false, false) => format!("{base}/{path}"),
    }
}
