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
    mark::Mark,
    migrate::{self, STEPS},
    quarantine::{self, Notes},
};

pub const FILE_NAME: &str = "store.db";
/// Stands in the header of every database of ours: "TrMr".
const APPLICATION_ID: u32 = 0x5472_4d72;
const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
const READERS: usize = 4;
const STATEMENTS_KEPT: usize = 256;

pub(super) struct Opened {
    pub lock: OwnerLock,
    pub mark: Mark,
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
        Mark::forget(&path)?;
        create(&path)?;
    }
    let writer = connect_to_write(&path)?;
    migrate::keep_a_copy(&writer, &path, STEPS)?;
    migrate::migrate(&writer, STEPS)?;
    let epoch = become_owner(&writer, notes)?;
    let readers = (0..READERS).map(|_| connect_to_read(&path)).collect::<Result<_, _>>()?;
    Ok(Opened { lock, mark: Mark::open(&path)?, writer, readers, epoch })
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
    // Nobody else sees this file yet; it is synced once, when it is whole.
    connection.execute_batch("PRAGMA synchronous = OFF")?;
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
    if found > known {
        return Err(OpenError::Newer { path: path.to_owned(), found, known });
    }
    if found == 0 {
        return Ok(());
    }
    let what = "its own counters (table `meta`) make no sense".to_owned();
    let last_event = counters(&connection).ok_or_else(|| OpenError::Corrupt { path: path.to_owned(), what })?;
    Mark::check(path, last_event)
}

/// Every write needs the two counters, so a server without them would be one that only refuses. Answers how many events there were.
fn counters(connection: &Connection) -> Option<u64> {
    const LEAP_MAX: i64 = 1 << 32;
    let counter = |name: &str| -> Option<i64> {
        let value = connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).ok();
        value.filter(|value| (0..i64::MAX - LEAP_MAX).contains(value))
    };
    let taken = |after: i64| -> Option<bool> {
        let question = "SELECT EXISTS (SELECT 1 FROM event WHERE seq > ?1 AND seq <= ?2)";
        connection.query_row(question, [after, after + LEAP_MAX], |row| row.get(0)).ok()
    };
    counter("owner_epoch")?;
    counter("event_seq").filter(|last| taken(*last) == Some(false))?.try_into().ok()
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
    // Without it every statement that compares a value with a column of a partial index is planned anew for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // What a savepoint may have to take back stays in memory: it is little, and gone with the commit.
    connection.execute_batch("PRAGMA temp_store = MEMORY")?;
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

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::store::{Store, jobs, testing::*};

    /// A closed database with a few pages in it.
    async fn used_before(place: &Place) -> Vec<u8> {
        let store = place.open();
        for number in 1..=50 {
            store.write(move |sql| jobs::submit(sql, &new_job(number, "digits"))).await.unwrap();
        }
        drop(store);
        fs::read(place.file()).unwrap()
    }

    fn refused(place: &Place) -> String {
        let error = Store::open(place.directory.path()).err().expect("it should be refused").to_string();
        error.replace(&place.directory.path().display().to_string(), "DATA")
    }

    /// Does some harm, and answers what opening says. Whatever was there must still be there.
    async fn said_after(harm: impl FnOnce(&Place, Vec<u8>)) -> String {
        let place = Place::new();
        let whole = used_before(&place).await;
        harm(&place, whole);
        let before = fs::read(place.file()).ok();
        let said = refused(&place);
        assert_eq!(refused(&place), said, "it says the same each time");
        assert!(fs::read(place.file()).ok() == before, "the file was changed: {said}");
        said
    }

    #[tokio::test]
    async fn a_database_that_lost_its_content_is_refused() {
        let said = said_after(|place, _| fs::write(place.file(), b"").unwrap()).await;
        insta::assert_snapshot!(said, @"DATA/store.db is empty: it has lost its content. Put a backup in its place, or move it away to begin with no jobs");
    }

    #[tokio::test]
    async fn a_database_that_was_cut_short_is_refused() {
        let said = said_after(|place, whole| fs::write(place.file(), &whole[..whole.len() / 2]).unwrap()).await;
        insta::assert_snapshot!(said, @"DATA/store.db is damaged: database disk image is malformed. Put a backup in its place, or move it away to begin with no jobs; running tasks are not touched");
        let said = said_after(|place, whole| fs::write(place.file(), &whole[..50]).unwrap()).await;
        insta::assert_snapshot!(said, @"DATA/store.db is damaged: it has only 50 bytes. Put a backup in its place, or move it away to begin with no jobs; running tasks are not touched");
    }

    #[tokio::test]
    async fn a_damaged_database_is_refused() {
        let said = said_after(|place, mut whole| {
            let middle = whole.len() / 2;
            whole[middle..middle + 8192].fill(0xaa);
            fs::write(place.file(), whole).unwrap();
        });
        // Which page SQLite stumbles over first is its own affair.
        let said = said.await;
        assert!(said.starts_with("DATA/store.db is damaged: "), "{said}");
    }

    /// Bytes all over the file, the same ones each time.
    fn damage(whole: &mut [u8], seed: u64) {
        let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        for _ in 0..10 {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            let at = (dice % whole.len() as u64) as usize;
            whole[at] ^= (dice >> 32) as u8 | 1;
        }
    }

    #[tokio::test]
    async fn random_damage_is_refused_or_survived_and_never_made_worse() {
        let place = Place::new();
        let whole = used_before(&place).await;
        let (mut refused, mut survived) = (0, 0);
        for seed in 1..=60 {
            let mut damaged = whole.clone();
            damage(&mut damaged, seed);
            fs::write(place.file(), &damaged).unwrap();
            match Store::open(place.directory.path()) {
                Err(_) => {
                    refused += 1;
                    assert!(fs::read(place.file()).unwrap() == damaged, "seed {seed}: refused, but changed");
                }
                Ok(store) => {
                    survived += 1;
                    let page = store.read(|sql| jobs::list(sql, &jobs::Filter::default(), None, 50)).await;
                    let queue = store.read(|sql| jobs::queued(sql, 50, 0)).await.map(drop);
                    assert!(page != Err(StoreError::Panicked) && queue != Err(StoreError::Panicked), "seed {seed}");
                }
            }
            for log in ["-wal", "-shm"] {
                drop(fs::remove_file(with_ending(&place.file(), log)));
            }
        }
        assert!(refused > 0 && survived > 0, "{refused} refused, {survived} survived: the dice are loaded");
    }

    #[tokio::test]
    async fn a_database_whose_own_counters_are_damaged_is_refused() {
        for harm in ["value = 'nonsense'", "value = -1", "value = 9223372036854775807", "value = 7", "name = 'x' || name"] {
            let said = said_after(|place, _| _ = place.change_by_hand(&format!("UPDATE meta SET {harm}"))).await;
            assert!(
                said.starts_with("DATA/store.db is damaged: its own counters (table `meta`) make no sense. Put a backup"),
                "{harm}: {said}"
            );
        }
    }

    #[tokio::test]
    async fn a_file_of_another_program_is_refused() {
        let said = said_after(|place, _| fs::write(place.file(), "shopping list\n".repeat(20)).unwrap()).await;
        insta::assert_snapshot!(said, @"DATA/store.db is not a database of Trainmaster: it does not begin as an SQLite file does. Give another directory with --data, or move this file away");
        let said = said_after(|place, _| {
            fs::remove_file(place.file()).unwrap();
            place.by_hand().execute_batch("CREATE TABLE recipe (name TEXT)").unwrap();
        });
        insta::assert_snapshot!(said.await, @"DATA/store.db is not a database of Trainmaster: another program made it. Give another directory with --data, or move this file away");
    }

    #[tokio::test]
    async fn a_database_of_a_newer_version_is_refused() {
        let newer = |connection: &Connection| connection.pragma_update(None, "user_version", 99).unwrap();
        let said = said_after(|place, _| newer(&place.by_hand())).await;
        let known = STEPS.len();
        let told = said.replace(&format!("up to {known})"), "up to KNOWN)").replace(&format!("before-{}", known + 1), "before-NEXT");
        insta::assert_snapshot!(told, @"DATA/store.db was written by a newer Trainmaster (database version 99; this one knows up to KNOWN). Install the newer one again, or put back the copy that it made, store.db.before-NEXT");
        let only_in_the_log = said_after(|place, _| {
            let connection = place.by_hand();
            connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true).unwrap();
            newer(&connection);
        });
        assert_eq!(only_in_the_log.await, said);
    }

    #[tokio::test]
    async fn a_read_only_database_is_refused() {
        let said = said_after(|place, _| fs::set_permissions(place.file(), fs::Permissions::from_mode(0o400)).unwrap()).await;
        insta::assert_snapshot!(said, @"DATA/store.db cannot be written to. Check its permissions and whether its disk is mounted read-only");
    }

    #[tokio::test]
    async fn a_log_without_its_database_is_refused() {
        let said = said_after(|place, _| {
            fs::rename(place.file(), place.directory.path().join("store.db-wal")).unwrap();
        });
        insta::assert_snapshot!(said.await, @"DATA/store.db is missing, but its write-ahead log DATA/store.db-wal is there. Put both back together, or move the log away to begin with no jobs");
    }

    #[tokio::test]
    async fn a_database_without_its_log_is_opened_as_it_was_last_copied_back() {
        let place = Place::new();
        let whole = used_before(&place).await;
        let other = Place::new();
        fs::write(other.file(), whole).unwrap();
        assert_eq!(other.open().read(jobs::count_queued).await, Ok(50));
    }

    #[tokio::test]
    async fn what_was_answered_is_there_after_a_restart_and_only_its_owner_can_read_the_files() {
        let place = Place::new();
        used_before(&place).await;
        let store = place.open();
        assert_eq!(store.read(jobs::count_queued).await, Ok(50));
        for name in ["store.db", "store.db-wal", "lock"] {
            let mode = place.directory.path().join(name).metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600, "{name}");
        }
    }

    #[tokio::test]
    async fn half_a_new_database_from_a_crash_is_made_anew() {
        let place = Place::new();
        fs::write(place.directory.path().join("store.db.part"), b"half").unwrap();
        fs::write(place.directory.path().join("store.db.part-journal"), b"half").unwrap();
        assert_eq!(place.open().read(jobs::count_queued).await, Ok(0));
    }

    #[tokio::test]
    async fn every_opening_has_its_own_number() {
        let place = Place::new();
        drop(place.open());
        drop(place.open());
        let epoch: i64 = place.by_hand().query_row("SELECT value FROM meta WHERE name = 'owner_epoch'", [], |row| row.get(0)).unwrap();
        assert_eq!(epoch, 2);
    }
}
