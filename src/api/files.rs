//! Files of volumes, and of what jobs have put out: which there are.

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::header,
    response::{IntoResponse, Response},
};
use futures_util::{
    StreamExt,
    stream::{self, BoxStream},
};
use model::{
    location::Location,
    said,
    wire::{ErrorBody, FileKind, FileLine, FileView},
    words::Words,
};
use serde::Deserialize;
use utoipa::IntoParams;

use super::{App, AppState, datasets, extract::Query, guard::Caller, job_files, volumes};
use crate::{
    error::Error,
    store::tokens::Holder,
    volumes::{Entry, Listed, Store, VolumeError, joined},
};

#[derive(Deserialize, IntoParams)]
pub struct ListQuery {
    /// `data:mnist/train`, `mnist@3:train`, `digits@2:/output/worker-0`, `digits/worker-0:/output`, `digits:/input` or `digits:/code`.
    at: String,
    /// Everything below it, and not one level alone.
    #[serde(default)]
    recursive: bool,
}

/// A store, or a directory of one.
pub struct Spot {
    pub store: Store,
    /// Where it begins: at the top, or in a directory.
    pub base: String,
    /// What stands before its paths in lists: nothing, or a task's name and `/`.
    pub before: String,
}

impl Spot {
    /// A path as the store has it.
    pub fn path(&self, path: &str) -> String {
        joined(&self.base, path)
    }

    /// A path of the store as lists show it.
    pub fn shown(&self, path: &str) -> String {
        let below = if self.base.is_empty() { Some(path) } else { path.strip_prefix(&self.base) };
        format!("{}{}", self.before, below.unwrap_or(path).trim_start_matches('/'))
    }
}

/// Where files are that somebody asked for.
pub enum Place {
    In(Spot, String),
    /// Several, each below a name of its own; none where one is not here.
    Folders(Vec<(String, Option<(Spot, String)>)>),
}

/// Reads a place. A path that begins with `/output`, `/input` or `/code` is a job's, and one behind a version a dataset's.
pub async fn place(app: &App, holder: &Holder, at: &str) -> Result<Place, Error> {
    if let Some(named) = job_files::named(at) {
        return job_files::place(app, holder, named).await;
    }
    if let Some(named) = datasets::files::named(at) {
        return datasets::files::place(app, holder, named).await;
    }
    let wrong = |wanted: Words| Error::BadValue { name: "at", value: at.to_owned(), wanted };
    match at.parse::<Location>() {
        Ok(Location::Volume { volume, path }) => {
            let store = volumes::opened(app, holder, volume.as_str()).await?;
            Ok(Place::In(Spot { store, base: String::new(), before: String::new() }, path))
        }
        Ok(Location::Host(_) | Location::Url(_)) => {
            Err(wrong(said!("a place in a volume, such as data:mnist", "数据卷里的位置，如 data:mnist")))
        }
        Err(bad) => {
            Err(wrong(said!("a place in a volume, such as data:mnist: it", "数据卷里的位置，如 data:mnist；它").joined(&bad.words())))
        }
    }
}

/// Lists files, one JSON document a line; a list that breaks off ends with why.
#[utoipa::path(get, path = "/api/v1/files", params(ListQuery),
    responses((status = 200, body = FileLine, content_type = "application/x-ndjson"), (status = 400, body = ErrorBody),
        (status = 404, body = ErrorBody), (status = 503, body = ErrorBody)))]
pub async fn list(State(app): AppState, Caller(holder): Caller, Query(query): Query<ListQuery>) -> Result<Response, Error> {
    let found = match place(&app, &holder, &query.at).await? {
        Place::In(spot, path) => {
            let path = spot.path(&path);
            let found = begun(listing(&spot.store, &path, query.recursive), &spot.store, &path).await?;
            found.map(move |item| item.map(|view| FileView { path: spot.shown(&view.path), ..view })).boxed()
        }
        Place::Folders(all) if query.recursive => stream::iter(all.into_iter().filter_map(|it| it.1).map(everything)).flatten().boxed(),
        Place::Folders(all) => stream::iter(all).map(|(name, _)| Ok(FileView { path: name, kind: FileKind::Directory })).boxed(),
    };
    let lines = found.map(|item| Ok::<_, std::io::Error>(line(item)));
    Ok(([(header::CONTENT_TYPE, "application/x-ndjson")], Body::from_stream(lines)).into_response())
}

type Found = BoxStream<'static, Result<FileView, VolumeError>>;

fn listing(store: &Store, path: &str, recursive: bool) -> Found {
    if recursive { store.list(path).map(|it| it.map(file)).boxed() } else { store.browse(path).map(|it| it.map(listed)).boxed() }
}

/// Every file below a path, or the file that it is.
pub fn entries(spot: &Spot, path: &str) -> BoxStream<'static, Result<Entry, VolumeError>> {
    let (store, path) = (spot.store.clone(), spot.path(path));
    let found = async move {
        match store.head(&path).await {
            Ok(entry) => stream::iter([Ok(entry)]).boxed(),
            Err(_) => store.list(&path),
        }
    };
    stream::once(found).flatten().boxed()
}

fn everything((spot, path): (Spot, String)) -> Found {
    let found = entries(&spot, &path);
    found.map(move |it| it.map(file).map(|view| FileView { path: spot.shown(&view.path), ..view })).boxed()
}

/// A list that is nothing but an error is answered as one. What is no directory may be a file.
async fn begun(found: Found, store: &Store, path: &str) -> Result<Found, Error> {
    // The list is looked at twice before it is handed on, and may be over by then.
    let mut found = found.fuse();
    if !path.is_empty()
        && let Ok(entry) = store.head(path).await
    {
        let rest = found.filter(|item| std::future::ready(item.is_ok()));
        return Ok(stream::iter([Ok(file(entry))]).chain(rest).boxed());
    }
    let first = match (found.next().await, path) {
        (None, "") => return Ok(stream::empty().boxed()),
        (None, _) => return if is_empty_directory(store, path).await { Ok(stream::empty().boxed()) } else { Err(missing(store, path)) },
        (Some(first), _) => first,
    };
    match (first, found.next().await) {
        (Err(error), None) => Err(error.into()),
        (first, second) => Ok(stream::iter(std::iter::once(first).chain(second)).chain(found).boxed()),
    }
}

async fn is_empty_directory(store: &Store, path: &str) -> bool {
    let (above, name) = path.rsplit_once('/').unwrap_or(("", path));
    let is_it = |item: Result<Listed, VolumeError>| {
        std::future::ready(matches!(item, Ok(Listed::Directory { path: it }) if it.rsplit('/').next() == Some(name)))
    };
    store.browse(above).any(is_it).await
}

fn missing(store: &Store, path: &str) -> Error {
    crate::volumes::Trouble::Missing { what: "file or directory" }.at(store.at(path)).into()
}

fn file(entry: Entry) -> FileView {
    FileView { path: entry.path, kind: FileKind::File { size: entry.size, modified_ms: entry.modified_ms, etag: entry.etag } }
}

fn listed(listed: Listed) -> FileView {
    match listed {
        Listed::File(entry) => file(entry),
        Listed::Directory { path } => FileView { path, kind: FileKind::Directory },
        Listed::Special { path, what } => FileView { path, kind: FileKind::Special { what: what.to_owned() } },
    }
}

fn line(item: Result<FileView, VolumeError>) -> Bytes {
    let line = match item {
        Ok(view) => FileLine::Found(view),
        Err(error) => FileLine::Error(Error::from(error).body()),
    };
    let mut bytes = serde_json::to_vec(&line).expect("our own types are JSON");
    bytes.push(b'\n');
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As buckets list: whoever asks on after the end panics.
    fn found(paths: &'static [&'static str]) -> Found {
        let view = |path: &&str| Ok(FileView { path: (*path).into(), kind: FileKind::Directory });
        stream::unfold(paths.iter(), move |mut rest| async move { rest.next().map(|path| (view(path), rest)) }).boxed()
    }

    #[tokio::test]
    async fn a_directory_of_one_entry_is_listed_like_any_other() {
        let store = Store::of_host("/").unwrap();
        for paths in [&["set/train"][..], &["set/test", "set/train"], &["set/test", "set/train", "set/x"]] {
            let listed: Vec<_> = begun(found(paths), &store, "set of nobody").await.unwrap().map(|it| it.unwrap().path).collect().await;
            assert_eq!(listed, paths);
        }
    }
}
