//! What is to be fetched: every file with its size and version, and where it will be.

use std::{collections::HashSet, fmt::Write};

use futures_util::{StreamExt, TryStreamExt, stream};
use model::{
    dataset::Held,
    provenance::Content,
    resources::{Bytes, grouped},
};

use super::source::Source;
use crate::{
    code::key,
    volumes::{Entry, Listed, Trouble, VolumeError, held::Sum},
};

/// File systems take no longer names, and the kernel no longer paths.
const NAME_BYTES_MAX: usize = 255;
const PATH_BYTES_MAX: usize = 3_000;
const BAD_NAMES_TOLD_MAX: usize = 3;
const HEADS_AT_ONCE: usize = 16;

#[derive(Debug, PartialEq)]
pub struct Manifest {
    pub files: Vec<Wanted>,
    /// Those that are there though nothing is in them.
    pub directories: Vec<String>,
    pub bytes: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    pub entry: Entry,
    /// Its path below `/input`.
    pub place: String,
    /// The name of its content in the cache.
    pub blob: String,
}

impl Manifest {
    /// Asks the store what there is: a directory with all below it, or one file.
    pub async fn of(source: &Source) -> Result<Self, VolumeError> {
        if source.is_file {
            return one_file(source).await;
        }
        let (entries, directories, bad) = walk(source).await?;
        if entries.is_empty() && directories.is_empty() && bad.is_empty() && !source.path.is_empty() {
            return one_file(source).await;
        }
        let entries = with_versions(source, entries).await?;
        let below = |path: &str| path.strip_prefix(&source.path).map(|rest| rest.trim_start_matches('/').to_owned());
        let directories = directories.iter().filter_map(|path| below(path)).filter(|path| !path.is_empty()).collect();
        let wanted = |entry: Entry| below(&entry.path).map(|place| Wanted::new(source, entry, place));
        Self::new(entries.into_iter().filter_map(wanted).collect(), directories).checked(bad).map_err(|trouble| trouble.at(source.label()))
    }

    fn new(mut files: Vec<Wanted>, mut directories: Vec<String>) -> Self {
        files.sort_by(|one, other| one.place.cmp(&other.place));
        directories.sort();
        let bytes = files.iter().map(|it| it.entry.size).fold(0, u64::saturating_add);
        Self { files, directories, bytes }
    }

    /// The name of the whole: another file, another content or another place is another name.
    pub fn name(&self) -> String {
        let files = self.files.iter().flat_map(|it| [it.place.as_str(), it.blob.as_str()]);
        key(["tree 1"].into_iter().chain(files).chain(["directories"]).chain(self.directories.iter().map(String::as_str)))
    }

    /// What is kept of it with the run.
    pub fn content(&self) -> Content {
        let newest_ms = self.files.iter().map(|it| it.entry.modified_ms).max().filter(|it| *it > 0);
        Content { fingerprint: self.name(), files: self.files.len() as u64, bytes: self.bytes, newest_ms, partly: None }
    }

    /// What a version of a dataset promises of the same.
    pub fn held(&self, source: &Source) -> Held {
        let mut sum = Sum::new(&source.store, &source.path);
        self.files.iter().for_each(|it| sum.add(&it.entry));
        sum.held()
    }

    /// Such as `148.2GiB in 1,281,167 files`.
    pub fn size(&self) -> String {
        format!("{} in {} file{}", Bytes(self.bytes), grouped(self.files.len() as u64), if self.files.len() == 1 { "" } else { "s" })
    }

    /// Refuses names that cannot be files here, rather than give them others.
    fn checked(self, mut bad: Vec<String>) -> Result<Self, Trouble> {
        let files: HashSet<&str> = self.files.iter().map(|it| it.place.as_str()).collect();
        let directories = self.directories.iter().map(|it| format!("{it}/"));
        let places = self.files.iter().map(|it| it.place.clone()).chain(directories);
        bad.extend(places.filter_map(|place| cannot_be(&place, &files)));
        if bad.is_empty() {
            return Ok(self);
        }
        let more = bad.len().saturating_sub(BAD_NAMES_TOLD_MAX);
        bad.truncate(BAD_NAMES_TOLD_MAX);
        let mut words = bad.join("; ");
        if more > 0 {
            write!(words, "; and {} more like that", grouped(more as u64)).expect("a string takes everything");
        }
        Err(Trouble::never((
            format!("{words}; name a directory without such files, or rename them"),
            format!("`{words}`；请换一个没有这类文件的目录，或给它们改名"),
        )))
    }
}

/// Why a path cannot be one of a file here.
fn cannot_be(place: &str, files: &HashSet<&str>) -> Option<String> {
    if let Some(file) = place.match_indices('/').map(|(end, _)| &place[..end]).find(|above| files.contains(above)) {
        return Some(format!("`{file}` is a file and `{}` would have to be in it", short(place)));
    }
    if place.split('/').any(|part| part.len() > NAME_BYTES_MAX) {
        return Some(format!("`{}` has a part of more than {NAME_BYTES_MAX} bytes", short(place)));
    }
    (place.len() > PATH_BYTES_MAX).then(|| format!("`{}` has more than {PATH_BYTES_MAX} bytes", short(place)))
}

/// Nobody reads a name of a thousand letters.
fn short(place: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    match place.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &place[..end]),
        None => place.to_owned(),
    }
}

impl Wanted {
    fn new(source: &Source, entry: Entry, place: String) -> Self {
        let size = entry.size.to_string();
        let version = if has_version(&entry) { &entry.etag } else { &source.no_version };
        let blob = key(["blob 1", source.identity.as_str(), entry.path.as_str(), version.as_str(), size.as_str()]);
        Self { entry, place, blob }
    }
}

/// Whether the store says more of a file than how long it is, so that another content can be told from it.
pub fn has_version(entry: &Entry) -> bool {
    !entry.etag.is_empty()
}

type Walked = (Vec<Entry>, Vec<String>, Vec<String>);

/// Files, marked directories, and what is wrong with names.
async fn walk(source: &Source) -> Result<Walked, VolumeError> {
    let (mut entries, mut directories, mut bad) = (Vec::new(), Vec::new(), Vec::new());
    let mut listing = source.store.walk(&source.path);
    while let Some(item) = listing.next().await {
        match item {
            Ok(Listed::File(entry)) => entries.push(entry),
            Ok(Listed::Directory { path }) => directories.push(path),
            Ok(Listed::Special { path, what }) => bad.push(format!("`{path}` is {what}")),
            Err(VolumeError { trouble: Trouble::Never { why }, .. }) => bad.push(why.en),
            Err(error) => return Err(error),
        }
    }
    Ok((entries, directories, bad))
}

async fn one_file(source: &Source) -> Result<Manifest, VolumeError> {
    let entry = source.store.head(&source.path).await?;
    let wanted = Wanted::new(source, entry, source.file_name());
    Manifest::new(vec![wanted], Vec::new()).checked(Vec::new()).map_err(|trouble| trouble.at(source.label()))
}

/// An index of a web server has no versions in it; its files have.
async fn with_versions(source: &Source, entries: Vec<Entry>) -> Result<Vec<Entry>, VolumeError> {
    let ask = async |entry: Entry| if entry.etag.is_empty() { source.store.head(&entry.path).await } else { Ok(entry) };
    stream::iter(entries).map(ask).buffered(HEADS_AT_ONCE).try_collect().await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(places: &[&str]) -> Manifest {
        let entry = |path: &str| Entry { path: path.into(), size: 1, modified_ms: 0, etag: "e".into() };
        let wanted = |place: &&str| Wanted { entry: entry(place), place: (*place).into(), blob: format!("b{place}") };
        Manifest::new(places.iter().map(wanted).collect(), vec!["empty".into()])
    }

    fn said(places: &[&str]) -> String {
        match manifest(places).checked(Vec::new()) {
            Ok(manifest) => manifest.size(),
            Err(trouble) => trouble.at("data:x").to_string(),
        }
    }

    #[test]
    fn names_that_cannot_be_files_are_refused_by_name() {
        let long = format!("{}/x", "y".repeat(256));
        let deep = vec!["z".repeat(200); 16].join("/");
        insta::assert_snapshot!([
            said(&["a", "a-b", "b/c"]),
            said(&["a", "a-b", "a/b"]),
            said(&["empty"]),
            said(&["empty/x"]),
            said(&[&long]),
            said(&[&deep]),
            said(&["1", "1/a", "1/b", "1/c", "1/d", "1/e"]),
        ].join("\n"), @"
        3B in 3 files
        data:x: `a` is a file and `a/b` would have to be in it; name a directory without such files, or rename them
        data:x: `empty` is a file and `empty/` would have to be in it; name a directory without such files, or rename them
        1B in 1 file
        data:x: `yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy…` has a part of more than 255 bytes; name a directory without such files, or rename them
        data:x: `zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz…` has more than 3000 bytes; name a directory without such files, or rename them
        data:x: `1` is a file and `1/a` would have to be in it; `1` is a file and `1/b` would have to be in it; `1` is a file and `1/c` would have to be in it; and 2 more like that; name a directory without such files, or rename them
        ");
    }

    #[test]
    fn the_name_follows_what_is_where_and_not_the_order_of_the_list() {
        assert_eq!(manifest(&["a", "b"]).name(), manifest(&["b", "a"]).name());
        assert_ne!(manifest(&["a", "b"]).name(), manifest(&["a", "c"]).name());
        assert_ne!(manifest(&["a"]).name(), Manifest { directories: Vec::new(), ..manifest(&["a"]) }.name());
    }
}
