//! Opening the database: first look, then touch. A file that is not as it should be is left exactly
//! as it was found, because someone may still be able to save what is in it.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{ErrorKind, Read},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{Connection, ErrorCode, OpenFlags, config::DbConfig};

use super::{
    OpenError, Sql, StoreError,
    lock::OwnerLock,
    migrate::{self, STEPS},
    quarantine::{self, Notes},
};

const FILE_NAME: &str = "store.db";
/// Stands in the header of every database of ours: "TrMr".
const APPLICATION_ID: u32 = 0x5472_4d72;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const READERS: usize = 4;
const STATEMENTS_KEPT: usize = 64;

pub(super) struct Opened {
    pub lock: OwnerLock,
    pub writer: Connection,
    pub readers: Vec<Connection>,
    pub epoch: i64,
}

pub(super) fn open(data: &Path, notes: &Notes) -> Result<Opened, OpenError> {
    let failed = |error: std::io::Error| OpenError::Io { path: data.to_owned(), what: error.to_string() };
    DirBuilder::new().recursive(true).mode(0o700).create(data).map_err(failed)?;
    let lock = OwnerLock::take(data)?;
    let path = data.join(FILE_NAME);
    if path.try_exists().map_err(failed)? {
        look(&path, STEPS.len() as u32)?;
    } else {
        create(&path)?;
    }
    let writer = connect_to_write(&path)?;
    migrate::keep_a_copy(&writer, &path, STEPS)?;
    migrate::migrate(&writer, STEPS)?;
    let epoch = become_owner(&writer, notes)?;
    let readers = (0..READERS).map(|_| connect_to_read(&path)).collect::<Result<_, _>>()?;
    Ok(Opened { lock, writer, readers, epoch })
}

/// Makes a new database beside its place and moves it there when it is whole, so that a crash while
/// making it never leaves an empty file that would look like a lost database.
fn create(path: &Path) -> Result<(), OpenError> {
    if with_ending(path, "-wal").metadata().is_ok_and(|wal| wal.len() > 0) {
        return Err(OpenError::Missing(path.to_owned()));
    }
    let part = with_ending(path, ".part");
    for left_over in [part.clone(), with_ending(&part, "-journal")] {
        match fs::remove_file(&left_over) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(OpenError::Io { path: left_over, what: error.to_string() }),
        }
    }
    let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&part);
    made.map_err(|error| OpenError::Io { path: part.clone(), what: error.to_string() })?;
    let connection = Connection::open_with_flags(&part, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.pragma_update(None, "application_id", APPLICATION_ID)?;
    migrate::migrate(&connection, STEPS)?;
    drop(connection);
    make_durable(&part, path)
}

/// Gives a finished file its final name, in a way that survives a power cut.
pub(super) fn make_durable(part: &Path, whole: &Path) -> Result<(), OpenError> {
    let failed = |error: std::io::Error| OpenError::Io { path: whole.to_owned(), what: error.to_string() };
    File::open(part).and_then(|file| file.sync_all()).map_err(failed)?;
    fs::rename(part, whole).map_err(failed)?;
    let directory = whole.parent().expect("a file in the data directory has a parent");
    File::open(directory).and_then(|directory| directory.sync_all()).map_err(failed)
}

/// Looks at a database that is already there, and refuses it if it is not whole or not ours.
fn look(path: &Path, known: u32) -> Result<(), OpenError> {
    look_at_header(path, known)?;
    let damaged = |error: rusqlite::Error| match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => OpenError::Corrupt { path: path.to_owned(), what: error.to_string() },
        _ => error.into(),
    };
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(damaged)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    let found: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0)).map_err(damaged)?;
    if found != "ok" {
        return Err(OpenError::Corrupt { path: path.to_owned(), what: found.lines().last().unwrap_or_default().to_owned() });
    }
    // The header of the file may be older than what waits in the write-ahead log.
    let found = migrate::version(&connection)?;
    if found > known { Err(OpenError::Newer { path: path.to_owned(), found, known }) } else { Ok(()) }
}

/// What can be told without SQLite, and so without leaving even a lock file behind.
fn look_at_header(path: &Path, known: u32) -> Result<(), OpenError> {
    let failed = |error: std::io::Error| OpenError::Io { path: path.to_owned(), what: error.to_string() };
    let about = path.metadata().map_err(failed)?;
    if about.len() == 0 {
        return Err(OpenError::Empty(path.to_owned()));
    }
    // Root could write all the same, but whoever took the permission away meant it.
    if about.permissions().readonly() {
        return Err(OpenError::ReadOnly(path.to_owned()));
    }
    let mut header = [0; 100];
    match File::open(path).and_then(|mut file| file.read_exact(&mut header)) {
        Ok(()) => check_header(path, &header, known),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
            Err(OpenError::Corrupt { path: path.to_owned(), what: format!("it has only {} bytes", about.len()) })
        }
        Err(error) => Err(failed(error)),
    }
}

fn check_header(path: &Path, header: &[u8; 100], known: u32) -> Result<(), OpenError> {
    let foreign = |what: &str| OpenError::Foreign { path: path.to_owned(), what: what.to_owned() };
    let number_at = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    if !header.starts_with(b"SQLite format 3\0") {
        return Err(foreign("it does not begin as an SQLite file does"));
    }
    let (found, application) = (number_at(60), number_at(68));
    if application != APPLICATION_ID {
        return Err(foreign("another program made it"));
    }
    if found > known { Err(OpenError::Newer { path: path.to_owned(), found, known }) } else { Ok(()) }
}

fn connect(path: &Path, how: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, how | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS_KEPT);
    Ok(connection)
}

fn connect_to_read(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    // One MiB each: a page of a list needs less, and four of them stay small.
    connection.execute_batch("PRAGMA cache_size = -1024")?;
    Ok(connection)
}

fn connect_to_write(path: &Path) -> Result<Connection, OpenError> {
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    if connection.is_readonly("main")? {
        return Err(OpenError::ReadOnly(path.to_owned()));
    }
    let mode: String = connection.query_row("PRAGMA journal_mode = WAL", [], |row| row.get(0))?;
    if mode != "wal" {
        let what = format!("SQLite cannot keep a write-ahead log here (its journal is `{mode}`); use a local disk");
        return Err(OpenError::Io { path: path.to_owned(), what });
    }
    // FULL: a commit is on the disk before it is answered. The writer does the checkpoints itself.
    connection.execute_batch(
        "PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA wal_autocheckpoint = 0;
         PRAGMA cache_size = -4096; PRAGMA journal_size_limit = 67108864",
    )?;
    Ok(connection)
}

/// From here on, every write of an earlier opening is refused.
fn become_owner(writer: &Connection, notes: &Notes) -> Result<i64, StoreError> {
    let sql = Sql::new(writer, notes);
    writer.execute_batch("BEGIN IMMEDIATE")?;
    let epoch: Option<i64> =
        sql.first("UPDATE meta SET value = value + 1 WHERE name = 'owner_epoch' RETURNING value", &[], |row| row.number("value"))?;
    quarantine::look_again(&sql)?;
    writer.execute_batch("COMMIT")?;
    epoch.ok_or_else(|| StoreError::Sql("the owner epoch is missing from the table `meta`".into()))
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
