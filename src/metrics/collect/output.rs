//! The files with numbers in them below a task's `/output`. The task may do anything to them at any time: nothing is followed
//! out of the directory, nothing but regular files is opened, and nobody has to wait for a directory with a million of them.

use std::{
    collections::{BTreeMap, HashMap},
    fs::{File, Metadata},
    io,
    os::unix::fs::FileExt,
    path::PathBuf,
    time::{Duration, Instant},
};

use model::{
    metric_lines::Format,
    metrics::Source,
    plan::MetricsPlan,
    said,
    tfevents::{Restarts, crc32c},
};
use serde::{Deserialize, Serialize};

use super::{
    events::{Directory, Tags},
    lines::Lines,
};
use crate::{
    metrics::book::{Batch, Kind, SeriesKey},
    volumes::beneath::{Beneath, Links},
};

const ENTRIES_MAX: usize = 200_000;
const DEPTH_MAX: usize = 32;
const FILES_MAX: usize = 1_000;
const GROUP_BYTES_MAX: usize = 512;
/// Looking through a large directory may take at most this share of the time.
const WALK_SHARE: u32 = 50;
/// So many bytes before the position must still be what they were.
const MARK_BYTES: u64 = 64;

/// How far a file was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileState {
    pub offset: u64,
    /// The checksum of what stands right before the offset.
    mark: u32,
    /// The columns of a CSV file, and what separates them.
    pub header: Option<(Vec<String>, char)>,
    /// The next line is the rest of one that is too long.
    pub skips_line: bool,
    /// It is damaged.
    pub is_given_up: bool,
    /// Where the curves of a file of lines stand, once it was read.
    #[serde(default)]
    group: Option<String>,
}

impl FileState {
    /// The same file written anew keeps its place.
    fn anew(&self) -> Self {
        Self { group: self.group.clone(), ..Self::default() }
    }

    /// Also of one that was read before files had places of their own.
    fn stands_in(&self, directory: &str) -> bool {
        self.group.as_deref().map_or(self.offset > 0, |group| group == directory)
    }
}

#[derive(Clone)]
pub struct Output {
    root: PathBuf,
    pub files: BTreeMap<String, FileState>,
    pub directories: HashMap<String, Restarts>,
    /// How long each file was when it was read last.
    seen: HashMap<String, u64>,
    next_walk: Instant,
    has_too_many: bool,
}

/// Who reads, and for which attempt.
pub struct Reading<'a> {
    pub attempt: u32,
    /// Nobody writes any more.
    pub is_over: bool,
    /// What the next attempt found, if there is one already: the rest is not this one's.
    pub next_found: Option<&'a BTreeMap<String, u64>>,
}

impl Reading<'_> {
    /// Where this attempt's part of a file ends.
    fn end(&self, path: &str, length: u64) -> u64 {
        self.next_found.map_or(length, |found| length.min(found.get(path).copied().unwrap_or(0)))
    }
}

impl Output {
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            files: BTreeMap::new(),
            directories: HashMap::new(),
            seen: HashMap::new(),
            next_walk: Instant::now(),
            has_too_many: false,
        }
    }

    /// Looks for new files, unless that was done a moment ago.
    pub fn look(&mut self, plan: &MetricsPlan, is_over: bool) {
        let now = Instant::now();
        if now < self.next_walk && !is_over {
            return;
        }
        if let Ok(beneath) = Beneath::open(&self.root, Links::Never) {
            self.walk(&beneath, plan);
        }
        self.next_walk = Instant::now() + now.elapsed().max(Duration::from_millis(1)) * WALK_SHARE;
    }

    fn walk(&mut self, beneath: &Beneath, plan: &MetricsPlan) {
        let (mut directories, mut entries_left) = (vec![(String::new(), 0)], ENTRIES_MAX);
        while let Some((directory, depth)) = directories.pop() {
            // What is gone again, or closed, holds nothing for us.
            let Ok(entries) = beneath.entries(&directory) else { continue };
            for entry in entries.flatten() {
                if entries_left == 0 {
                    self.has_too_many = true;
                    return;
                }
                entries_left -= 1;
                let (Ok(kind), Some(name)) = (entry.file_type(), entry.file_name().to_str().map(String::from)) else { continue };
                let path = joined(&directory, &name);
                if kind.is_dir() && depth < DEPTH_MAX && path.len() <= GROUP_BYTES_MAX {
                    directories.push((path, depth + 1));
                } else if kind.is_file() && (is_events(&name) || plan.files.contains(&name)) {
                    self.add(path);
                }
            }
        }
    }

    fn add(&mut self, path: String) {
        if self.files.len() >= FILES_MAX && !self.files.contains_key(&path) {
            self.has_too_many = true;
        } else {
            self.files.entry(path).or_default();
        }
    }

    /// Every file with numbers, and how long it is.
    pub fn lengths(mut self, plan: &MetricsPlan) -> BTreeMap<String, u64> {
        let Ok(beneath) = Beneath::open(&self.root, Links::Never) else { return BTreeMap::new() };
        self.walk(&beneath, plan);
        let length = |path: String| Some((beneath.look(&path).ok().filter(Metadata::is_file)?.len(), path));
        self.files.into_keys().filter_map(length).map(|(length, path)| (path, length)).collect()
    }

    /// The files that have something new. A last line without an end is new only once nobody will end it.
    pub fn news(&mut self, reading: &Reading<'_>) -> Vec<String> {
        let Ok(beneath) = Beneath::open(&self.root, Links::Never) else { return Vec::new() };
        let mut news = Vec::new();
        for (path, state) in self.files.iter().filter(|(_, state)| !state.is_given_up) {
            let length =
                beneath.look(path).map_or(state.offset, |it| if it.is_file() { reading.end(path, it.len()) } else { state.offset });
            let seen = self.seen.insert(path.clone(), length);
            if length != state.offset && (reading.is_over || seen != Some(length)) {
                news.push(path.clone());
            }
        }
        news
    }

    /// Reads on in one file, and writes down how far; answers how many bytes that were.
    pub fn read(&mut self, batch: &mut Batch<'_>, path: &str, reading: &Reading<'_>, bytes_max: u64) -> io::Result<u64> {
        if std::mem::take(&mut self.has_too_many) {
            let words = said!(
                "there are more than {FILES_MAX} files with numbers, or {ENTRIES_MAX} files at all; the rest is left out",
                "/output 中带数值的文件超过 {FILES_MAX} 个，或者文件总数超过 {ENTRIES_MAX} 个，其余的没有读取"
            );
            batch.note(reading.attempt, &words)?;
        }
        let Ok(file) = Beneath::open(&self.root, Links::Never).and_then(|it| it.file(path)) else { return Ok(0) };
        let (directory, name) = split(path);
        let mut state = self.files.get(path).cloned().unwrap_or_default();
        let metadata = file.metadata()?;
        let end = reading.end(path, metadata.len());
        let group = &if is_events(name) { directory.to_owned() } else { self.group_of_lines(path) };
        if !goes_on(&file, &metadata, &state)? {
            state = state.anew();
            // Event files of one directory are one run, and whose point was whose is not known any more.
            if !is_events(name) || !self.has_another(path, is_events) {
                forget(batch, reading.attempt, source_of(name), group)?;
            }
        }
        let read = if is_events(name) {
            let restarts = self.directories.entry(group.to_owned()).or_default();
            let read = Directory { attempt: reading.attempt, group, end, restarts, tags: Tags::default() }
                .read(batch, &file, &mut state, bytes_max)?;
            batch.set_position(Kind::Directory, group, &self.directories[group])?;
            read
        } else {
            state.group = Some(group.clone());
            let lines = Lines { attempt: reading.attempt, group, format: Format::of(name), end, is_whole: reading.is_over };
            lines.read(batch, &file, &mut state, bytes_max)?
        };
        state.mark = mark(&file, state.offset)?;
        batch.set_position(Kind::File, path, &state)?;
        self.files.insert(path.to_owned(), state);
        Ok(read)
    }

    /// A directory is the group of the first file of lines that is read in it. Any other one stands under its own path: its curves
    /// have the same names, and are none of the first one's.
    fn group_of_lines(&self, path: &str) -> String {
        let (directory, _) = split(path);
        let is_its_own = self.files.get(path).is_some_and(|state| state.stands_in(directory));
        let is_taken = self.has_another(path, |name| !is_events(name) && self.files[&joined(directory, name)].stands_in(directory));
        if is_its_own || !is_taken { directory.to_owned() } else { path.to_owned() }
    }

    /// Whether there is another file in the same directory with such a name.
    fn has_another(&self, path: &str, is_such: impl Fn(&str) -> bool) -> bool {
        let (directory, _) = split(path);
        self.files.keys().filter(|other| *other != path).map(|other| split(other)).any(|(place, name)| place == directory && is_such(name))
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

fn joined(directory: &str, name: &str) -> String {
    if directory.is_empty() { name.to_owned() } else { format!("{directory}/{name}") }
}

fn is_events(name: &str) -> bool {
    name.contains("tfevents")
}

fn source_of(name: &str) -> Source {
    if is_events(name) { Source::Events } else { Source::File }
}

/// Whether the file is still the one that was read: longer perhaps, and the same up to there.
fn goes_on(file: &File, metadata: &Metadata, state: &FileState) -> io::Result<bool> {
    Ok(state.offset <= metadata.len() && mark(file, state.offset)? == state.mark)
}

fn mark(file: &File, offset: u64) -> io::Result<u32> {
    let length = offset.min(MARK_BYTES);
    let mut bytes = vec![0; length as usize];
    match file.read_exact_at(&mut bytes, offset - length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(0),
        read => read.map(|()| crc32c(&bytes)),
    }
}

/// A file was written anew: what it said before holds no longer.
fn forget(batch: &mut Batch<'_>, attempt: u32, source: Source, group: &str) -> io::Result<()> {
    for name in batch.names(attempt, source, group)? {
        if let Some(number) = batch.series(SeriesKey { attempt, source, group: group.to_owned(), name })? {
            batch.cut(number, i64::MIN)?;
        }
    }
    Ok(())
}
