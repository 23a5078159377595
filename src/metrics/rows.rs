//! Rows of points and of digests, as they lie in the book.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use model::metrics::{Digest, Point};
use rusqlite::{Connection, OptionalExtension, config::DbConfig, params};

use super::broken;

/// How many points make a row, and how many rows a row of digests stands for.
pub const FAN: u64 = 128;
/// How long one waits for another who writes.
const PATIENCE: Duration = Duration::from_secs(10);
const JOURNAL_BYTES_MAX: u64 = 4 << 20;
const WAITING_BYTES_MAX: usize = 8 << 20;

/// A row of a series. At level 0 rows hold points; above that digests, each of one row of the level below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    pub series: i64,
    pub level: u32,
    pub number: u64,
}

impl RowAt {
    /// Rows of one level lie side by side.
    fn id(self) -> i64 {
        const LEVEL_BITS: u32 = 4;
        const NUMBER_BITS: u32 = 36;
        ((self.series << LEVEL_BITS | i64::from(self.level)) << NUMBER_BITS) | self.number as i64
    }
}

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS series (id INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, source TEXT NOT NULL, directory TEXT NOT NULL,
                                   name TEXT NOT NULL, digest BLOB, cuts INTEGER NOT NULL DEFAULT 0,
                                   UNIQUE (attempt, source, directory, name));
CREATE TABLE IF NOT EXISTS block (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS position (kind TEXT NOT NULL, place TEXT NOT NULL, state TEXT NOT NULL, PRIMARY KEY (kind, place)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS note (attempt INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (attempt, text)) WITHOUT ROWID;";

/// Opens a book; `None` if there is none.
pub fn open(path: &Path) -> rusqlite::Result<Option<Connection>> {
    if !path.exists() {
        return Ok(None);
    }
    let flags = rusqlite::OpenFlags::SQLITE_OPEN_READ_WRITE | rusqlite::OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = prepared(Connection::open_with_flags(path, flags)?)?;
    cut_journal(&connection)?;
    Ok(Some(connection))
}

/// Whoever opens a book that nobody else has open reads all of its journal first, so a long one would make every look at a
/// curve wait. It is cut when nobody reads in it; if somebody does, the next one cuts it.
pub fn cut_journal(connection: &Connection) -> rusqlite::Result<()> {
    let journal = connection.path().map(|path| format!("{path}-wal"));
    if journal.and_then(|it| std::fs::metadata(it).ok()).is_none_or(|it| it.len() <= JOURNAL_BYTES_MAX) {
        return Ok(());
    }
    connection.busy_timeout(Duration::ZERO)?;
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    connection.busy_timeout(PATIENCE)
}

/// Opens a book, or makes one: whoever reads finds it whole or not at all.
pub fn make(path: &Path) -> io::Result<Connection> {
    if let Some(connection) = open(path).map_err(broken)? {
        return Ok(connection);
    }
    publish(draft(path)?, path)?;
    open(path).map_err(broken)?.ok_or_else(|| io::ErrorKind::NotFound.into())
}

/// A new book that nobody sees before it is published. Until then it may be lost by anything, so it has no journal: what is
/// put into it is written once.
pub fn draft(path: &Path) -> io::Result<Connection> {
    let part = part(path);
    match std::fs::remove_file(&part) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let made = Connection::open(&part).and_then(|connection| {
        connection.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -2048")?;
        connection.execute_batch(SCHEMA)?;
        Ok(connection)
    });
    made.map_err(broken)
}

/// From now on it is the book.
pub fn publish(draft: Connection, path: &Path) -> io::Result<()> {
    draft.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())).map_err(broken)?;
    draft.close().map_err(|(_, error)| broken(error))?;
    let part = part(path);
    std::fs::File::open(&part)?.sync_data()?;
    std::fs::rename(part, path)
}

fn part(path: &Path) -> PathBuf {
    path.with_extension("part")
}

pub fn make_in_memory() -> rusqlite::Result<Connection> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch(SCHEMA)?;
    Ok(connection)
}

/// What is in the book was read elsewhere and can be read there again, so a commit need not be on disk before the next; it is
/// enough that none is there by half. Closing leaves the journal where it is: books are opened and closed every second.
fn prepared(connection: Connection) -> rusqlite::Result<Connection> {
    connection.busy_timeout(PATIENCE)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    connection.execute_batch("PRAGMA synchronous = NORMAL; PRAGMA cache_size = -2048; PRAGMA journal_size_limit = 16777216")?;
    Ok(connection)
}

pub fn points(connection: &Connection, at: RowAt, most: usize) -> io::Result<Vec<Point>> {
    let decode = |bytes: &[u8]| {
        bytes.chunks_exact(Point::ENCODED_BYTES).take(most).map(|it| Point::decode(it.try_into().expect("a whole chunk"))).collect()
    };
    read(connection, at, decode)
}

pub fn digests(connection: &Connection, at: RowAt, most: usize) -> io::Result<Vec<Digest>> {
    let decode = |bytes: &[u8]| {
        bytes.chunks_exact(Digest::ENCODED_BYTES).take(most).map(|it| Digest::decode(it.try_into().expect("a whole chunk"))).collect()
    };
    read(connection, at, decode)
}

fn read<T>(connection: &Connection, at: RowAt, decode: impl Fn(&[u8]) -> Vec<T>) -> io::Result<Vec<T>> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM block WHERE id = ?1").map_err(broken)?;
    let row = statement.query_row([at.id()], |row| Ok(decode(row.get_ref(0)?.as_blob()?))).optional().map_err(broken)?;
    row.ok_or_else(|| io::Error::other(format!("the book of metrics lacks {at:?}")))
}

/// Rows on their way into a book. Rows of one series lie side by side; one that is put between others moves its neighbours, so
/// many wait and are written in their order.
pub struct Writer<'a> {
    connection: &'a Connection,
    waiting: BTreeMap<i64, Vec<u8>>,
    waiting_bytes: usize,
}

impl<'a> Writer<'a> {
    pub fn new(connection: &'a Connection) -> Self {
        Self { connection, waiting: BTreeMap::new(), waiting_bytes: 0 }
    }

    pub fn points(&mut self, at: RowAt, points: &[Point]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(points.len() * Point::ENCODED_BYTES);
        points.iter().for_each(|point| point.encode(&mut bytes));
        self.put(at, bytes)
    }

    pub fn digests(&mut self, at: RowAt, digests: &[Digest]) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(digests.len() * Digest::ENCODED_BYTES);
        digests.iter().for_each(|digest| digest.encode(&mut bytes));
        self.put(at, bytes)
    }

    fn put(&mut self, at: RowAt, bytes: Vec<u8>) -> io::Result<()> {
        self.waiting_bytes += bytes.len();
        self.waiting.insert(at.id(), bytes);
        if self.waiting_bytes > WAITING_BYTES_MAX { self.write() } else { Ok(()) }
    }

    /// Nothing waits after it. Who reads what was put needs this before.
    pub fn write(&mut self) -> io::Result<()> {
        let mut statement = self.connection.prepare_cached("INSERT OR REPLACE INTO block (id, bytes) VALUES (?1, ?2)").map_err(broken)?;
        for (id, bytes) in std::mem::take(&mut self.waiting) {
            statement.execute(params![id, bytes]).map_err(broken)?;
        }
        self.waiting_bytes = 0;
        Ok(())
    }
}
