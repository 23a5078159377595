//! The book of one task: every series of all its attempts, and how far what the task wrote was read. Points and positions
//! are committed together, so whoever reads on after a crash neither loses a point nor has one twice.

use std::{
    collections::HashMap,
    io,
    path::{Path, PathBuf},
};

use model::{
    compare::Direction,
    ids::TaskName,
    metrics::{Digest, Point, SeriesSummary, Source, Value},
    said,
    words::Words,
};
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    broken,
    pyramid::{Pyramid, Tail},
    rows::{self, Writer},
};
use crate::rundir::private_dir;

/// More than any dashboard shows; what is beyond is told and left out.
pub const SERIES_MAX: i64 = 4_000;
pub const NAME_BYTES_MAX: usize = 256;
const NOTES_MAX: i64 = 64;

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SeriesKey {
    pub attempt: u32,
    pub source: Source,
    pub group: String,
    pub name: String,
}

/// A series as it stands in the book.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    pub id: i64,
    pub key: SeriesKey,
    pub digest: Digest,
    /// How often points were taken out again.
    pub cuts: i64,
}

/// What is read on from a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// What an attempt printed, by its number.
    Log,
    /// A file, by its path below `/output`.
    File,
    /// The event files of a directory together.
    Directory,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Kind::Log => "log",
            Kind::File => "file",
            Kind::Directory => "directory",
        }
    }
}

/// Something that was left out of the book, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub attempt: u32,
    pub words: Words,
}

impl Stored {
    pub fn summary(self, task: &TaskName) -> SeriesSummary {
        let Digest { count, not_finite, first, last, least, greatest, .. } = self.digest;
        SeriesSummary {
            task: task.to_string(),
            attempt: self.key.attempt,
            source: self.key.source,
            group: self.key.group,
            better: Direction::guess(&self.key.name),
            name: self.key.name,
            points: count,
            first_step: first.step,
            last_step: last.step,
            first_at_ms: first.at_ms,
            last_at_ms: last.at_ms,
            last: Value(last.value),
            least,
            greatest,
            not_finite,
        }
    }
}

pub struct Book {
    connection: Connection,
}

fn file(directory: &Path) -> PathBuf {
    directory.join("book.db")
}

impl Book {
    /// For whoever reads, all of it as of one moment. `None` where nothing was written down yet.
    pub fn open(directory: &Path) -> io::Result<Option<Self>> {
        let Some(connection) = rows::open(&file(directory)).map_err(broken)? else { return Ok(None) };
        connection.execute_batch("BEGIN").map_err(broken)?;
        Ok(Some(Self { connection }))
    }

    /// For whoever writes. A book that cannot be read is begun anew: everything in it can be read again where it came from.
    pub fn open_or_make(directory: &Path) -> io::Result<Self> {
        private_dir(directory)?;
        match rows::make(&file(directory)) {
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                tracing::warn!("{} is damaged and is written anew: {error}", file(directory).display());
                std::fs::remove_dir_all(directory)?;
                private_dir(directory)?;
                rows::make(&file(directory))
            }
            made => made,
        }
        .map(|connection| Self { connection })
    }

    /// A new one, for whoever writes the first of it; nobody sees it before it is published.
    pub fn draft(directory: &Path) -> io::Result<Self> {
        private_dir(directory)?;
        rows::draft(&file(directory)).map(|connection| Self { connection })
    }

    pub fn publish(self, directory: &Path) -> io::Result<()> {
        rows::publish(self.connection, &file(directory))
    }

    pub fn is_there(directory: &Path) -> bool {
        file(directory).exists()
    }

    /// One that leaves nothing behind.
    pub fn in_memory() -> io::Result<Self> {
        rows::make_in_memory().map(|connection| Self { connection }).map_err(broken)
    }

    /// Whether it holds nothing that anybody would look for.
    pub fn is_empty(&self) -> io::Result<bool> {
        let question = "SELECT NOT EXISTS (SELECT 1 FROM series) AND NOT EXISTS (SELECT 1 FROM note)";
        self.connection.query_row(question, [], |row| row.get(0)).map_err(broken)
    }

    /// Every series with a point, in the order in which they came.
    pub fn series(&self) -> io::Result<Vec<Stored>> {
        let question = "SELECT id, attempt, source, directory, name, digest, cuts FROM series WHERE digest IS NOT NULL ORDER BY id";
        let mut statement = self.connection.prepare_cached(question).map_err(broken)?;
        let all = statement.query_map([], stored).and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(broken)?;
        Ok(all.into_iter().flatten().collect())
    }

    pub fn notes(&self) -> io::Result<Vec<Note>> {
        let mut statement = self.connection.prepare_cached("SELECT attempt, text FROM note ORDER BY attempt, text").map_err(broken)?;
        statement.query_map([], note).and_then(Iterator::collect).map_err(broken)
    }

    pub fn pyramid(&self, series: &Stored) -> Pyramid<'_> {
        Pyramid { connection: &self.connection, series: series.id, count: series.digest.count }
    }

    /// How far everything of one kind was read, by its name.
    pub fn positions<T: DeserializeOwned>(&self, kind: Kind) -> io::Result<Vec<(String, T)>> {
        let mut statement = self.connection.prepare_cached("SELECT place, state FROM position WHERE kind = ?1").map_err(broken)?;
        let rows = statement.query_map([kind.text()], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)));
        let rows = rows.and_then(Iterator::collect::<Result<Vec<_>, _>>).map_err(broken)?;
        let read = |(place, text): (String, String)| Ok((place, serde_json::from_str(&text)?));
        rows.into_iter().map(read).collect()
    }

    /// What is put into it is in the book after its commit, or not at all.
    pub fn batch(&mut self) -> io::Result<Batch<'_>> {
        self.connection.execute_batch("BEGIN IMMEDIATE").map_err(broken)?;
        let known = self.connection.query_row("SELECT COUNT(*) FROM series", [], |row| row.get(0)).map_err(broken)?;
        let writer = Writer::new(&self.connection);
        Ok(Batch { connection: &self.connection, writer, numbers: HashMap::new(), open: Vec::new(), known, is_over: false })
    }
}

/// Books from before there was a second language have plain English where the words in both are now.
fn note(row: &Row<'_>) -> rusqlite::Result<Note> {
    let text: String = row.get(1)?;
    Ok(Note { attempt: row.get(0)?, words: serde_json::from_str(&text).unwrap_or_else(|_| Words::from(text)) })
}

/// `None` for a source that this program does not know.
fn stored(row: &Row<'_>) -> rusqlite::Result<Option<Stored>> {
    let (Some(source), Ok(digest)) = (Source::from_text(row.get_ref(2)?.as_str()?), row.get_ref(5)?.as_blob()?.try_into()) else {
        return Ok(None);
    };
    let key = SeriesKey { attempt: row.get(1)?, source, group: row.get(3)?, name: row.get(4)? };
    Ok(Some(Stored { id: row.get(0)?, key, digest: Digest::decode(digest), cuts: row.get(6)? }))
}

fn wrong_name(name: &str) -> Option<Words> {
    match name.len() {
        0 => Some(said!("a number without a name is left out", "有一个数值没有名称，没有记录")),
        length if length > NAME_BYTES_MAX => Some(said!(
            "a name of {length} bytes is left out; the most is {NAME_BYTES_MAX}",
            "有一个指标名长 {length} 字节，超过上限 {NAME_BYTES_MAX} 字节，没有记录"
        )),
        _ => None,
    }
}

/// Writing in a book. Dropped without a commit it leaves nothing.
pub struct Batch<'a> {
    connection: &'a Connection,
    writer: Writer<'a>,
    numbers: HashMap<SeriesKey, Option<usize>>,
    open: Vec<Open>,
    known: i64,
    is_over: bool,
}

struct Open {
    id: i64,
    tail: Tail,
    cuts: i64,
}

impl Batch<'_> {
    /// The number of a series in this batch, for `put`. `None` if there is no room for one more, which is noted.
    pub fn series(&mut self, key: SeriesKey) -> io::Result<Option<usize>> {
        if let Some(number) = self.numbers.get(&key) {
            return Ok(*number);
        }
        let number = self.find(&key)?;
        self.numbers.insert(key, number);
        Ok(number)
    }

    fn find(&mut self, key: &SeriesKey) -> io::Result<Option<usize>> {
        let values = params![key.attempt, key.source.text(), key.group, key.name];
        let question = "SELECT id, digest, cuts FROM series WHERE attempt = ?1 AND source = ?2 AND directory = ?3 AND name = ?4";
        let read = |row: &Row<'_>| Ok((row.get(0)?, row.get::<_, Option<Vec<u8>>>(1)?, row.get(2)?));
        let mut statement = self.connection.prepare_cached(question).map_err(broken)?;
        let found = statement.query_row(values, read).optional().map_err(broken)?;
        let (id, digest, cuts) = match found {
            Some((id, bytes, cuts)) => (id, bytes.and_then(|it| Some(Digest::decode(it.as_slice().try_into().ok()?))), cuts),
            None => match self.add(key)? {
                Some(id) => (id, None, 0),
                None => return Ok(None),
            },
        };
        let tail = Tail::load(self.connection, id, digest.map_or(0, |it| it.count), digest)?;
        self.open.push(Open { id, tail, cuts });
        Ok(Some(self.open.len() - 1))
    }

    fn add(&mut self, key: &SeriesKey) -> io::Result<Option<i64>> {
        if let Some(words) = wrong_name(&key.name) {
            self.note(key.attempt, &words)?;
            return Ok(None);
        }
        if self.known >= SERIES_MAX {
            let words = said!("there are more than {SERIES_MAX} series; the rest is left out", "曲线超过 {SERIES_MAX} 条，多出的没有记录");
            self.note(key.attempt, &words)?;
            return Ok(None);
        }
        self.known += 1;
        let text = "INSERT INTO series (attempt, source, directory, name) VALUES (?1, ?2, ?3, ?4)";
        self.connection.execute(text, params![key.attempt, key.source.text(), key.group, key.name]).map_err(broken)?;
        Ok(Some(self.connection.last_insert_rowid()))
    }

    pub fn put(&mut self, number: usize, point: Point) -> io::Result<()> {
        self.open[number].tail.push(&mut self.writer, point)
    }

    /// How many points a series has.
    pub fn count(&self, number: usize) -> u64 {
        self.open[number].tail.count()
    }

    /// Takes out every point of a series at or after a step.
    pub fn cut(&mut self, number: usize, from_step: i64) -> io::Result<()> {
        let open = &mut self.open[number];
        open.tail.flush(&mut self.writer)?;
        self.writer.write()?;
        let pyramid = Pyramid { connection: self.connection, series: open.id, count: open.tail.count() };
        if let Some(tail) = pyramid.cut(from_step, &mut self.writer)? {
            (open.tail, open.cuts) = (tail, open.cuts + 1);
        }
        Ok(())
    }

    /// The names of the series of one group.
    pub fn names(&self, attempt: u32, source: Source, group: &str) -> io::Result<Vec<String>> {
        let question = "SELECT name FROM series WHERE attempt = ?1 AND source = ?2 AND directory = ?3";
        let mut statement = self.connection.prepare_cached(question).map_err(broken)?;
        let names = statement.query_map(params![attempt, source.text(), group], |row| row.get(0));
        names.and_then(Iterator::collect).map_err(broken)
    }

    /// Says once what was left out.
    pub fn note(&mut self, attempt: u32, words: &Words) -> io::Result<()> {
        let text = serde_json::to_string(words)?;
        let insert = "INSERT OR IGNORE INTO note (attempt, text) SELECT ?1, ?2 WHERE (SELECT COUNT(*) FROM note) < ?3";
        self.connection.execute(insert, params![attempt, text, NOTES_MAX]).map(|_| ()).map_err(broken)
    }

    pub fn set_position(&mut self, kind: Kind, place: &str, state: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(state)?;
        let insert = "INSERT OR REPLACE INTO position (kind, place, state) VALUES (?1, ?2, ?3)";
        let mut statement = self.connection.prepare_cached(insert).map_err(broken)?;
        statement.execute(params![kind.text(), place, text]).map(|_| ()).map_err(broken)
    }

    pub fn commit(mut self) -> io::Result<()> {
        let mut statement = self.connection.prepare_cached("UPDATE series SET digest = ?2, cuts = ?3 WHERE id = ?1").map_err(broken)?;
        for open in &mut self.open {
            open.tail.flush(&mut self.writer)?;
            let bytes = open.tail.digest.map(|digest| {
                let mut bytes = Vec::with_capacity(Digest::ENCODED_BYTES);
                digest.encode(&mut bytes);
                bytes
            });
            statement.execute(params![open.id, bytes, open.cuts]).map_err(broken)?;
        }
        self.writer.write()?;
        crate::crash::point("metrics.before-commit");
        self.connection.execute_batch("COMMIT").map_err(broken)?;
        self.is_over = true;
        rows::cut_journal(self.connection).map_err(broken)
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        if !self.is_over
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::warn!("a batch of points could not be taken back: {error}");
        }
    }
}
