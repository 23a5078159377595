//! The one thread that writes. It commits many writes together, because what costs time is the sync
//! to disk and that costs the same for one row as for five hundred.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::{sync::Arc, time::Instant};

use rusqlite::{Connection, config::DbConfig};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Sql, StoreError, events, lock::OwnerLock, mark::Mark, quarantine, quarantine::Notes};
use crate::{crash, meter::COMMITS};

/// How many writes share one commit at most, so that nobody waits for an endless one.
const BATCH_WRITES_MAX: usize = 512;
/// How many writes may wait before those who bring more have to wait too.
pub(super) const WAITING_WRITES_MAX: usize = 4096;
/// The write-ahead log is copied back into the database after about this many writes.
const CHECKPOINT_AFTER_WRITES: usize = 500;

/// A write that waits for its turn. It gets the database, or the reason why it cannot have it.
pub(super) type Ask = Box<dyn FnOnce(Result<&Sql<'_>, StoreError>) -> Ran + Send>;

/// A write that was run and waits for the commit.
pub(super) struct Ran {
    error: Option<StoreError>,
    /// Tells the caller, once it is known whether the commit went through.
    answer: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

/// Packs a write so that it can travel to the writer, and keeps the other end of its answer.
pub(super) fn ask<T: Send + 'static>(
    op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
) -> (Ask, oneshot::Receiver<Result<T, StoreError>>) {
    let (sender, receiver) = oneshot::channel();
    let ask: Ask = Box::new(move |sql: Result<&Sql<'_>, StoreError>| {
        let result = sql.and_then(|sql| catch_unwind(AssertUnwindSafe(|| op(sql))).unwrap_or(Err(StoreError::Panicked)));
        Ran {
            error: result.as_ref().err().cloned(),
            // A caller that went away does not undo what was committed.
            answer: Box::new(move |commit| drop(sender.send(result.and_then(|value| commit.map(|()| value))))),
        }
    });
    (ask, receiver)
}

pub(super) struct Writer {
    pub connection: Connection,
    pub notes: Arc<Notes>,
    /// Which opening of the database we are. A higher one in the database means that we are not the owner any more.
    pub epoch: i64,
    pub changes: watch::Sender<u64>,
    pub mark: Mark,
    /// Held until the connection is closed.
    pub lock: OwnerLock,
    pub state: State,
}

/// What the writer remembers from one batch to the next.
#[derive(Default)]
pub(super) struct State {
    /// Set for good by the first failure after which the disk cannot be vouched for.
    broken: Option<StoreError>,
    writes_since_checkpoint: usize,
}

impl Writer {
    /// Works until nobody can ask any more.
    pub fn run(mut self, mut asks: mpsc::Receiver<Ask>) {
        let mut batch = Vec::with_capacity(BATCH_WRITES_MAX);
        while asks.blocking_recv_many(&mut batch, BATCH_WRITES_MAX) > 0 {
            self.state.writes_since_checkpoint += batch.len();
            self.commit_together(&mut batch);
            self.checkpoint_when_due();
        }
        self.close();
    }

    fn commit_together(&mut self, batch: &mut Vec<Ask>) {
        let mut transaction = self.begin();
        let mut answers = Vec::with_capacity(batch.len());
        let mut changed = false;
        for ask in batch.drain(..) {
            let before = self.connection.total_changes();
            let ran = match &transaction {
                Ok(()) => self.run_one(ask, &mut transaction),
                Err(error) => ask(Err(error.clone())),
            };
            changed |= ran.error.is_none() && self.connection.total_changes() != before;
            answers.push(ran.answer);
        }
        let last_event = if changed { events::last_seq(&Sql::new(&self.connection, &self.notes)).ok() } else { None };
        let began = Instant::now();
        let committed = transaction.and_then(|()| self.commit());
        COMMITS.note(began.elapsed());
        if let (Ok(()), Some(last)) = (&committed, last_event) {
            self.mark.raise(last);
        }
        crash::point("store.after-commit-before-answer");
        if committed.is_ok() && changed {
            self.changes.send_modify(|count| *count += 1);
        }
        for answer in answers {
            answer(committed.clone());
        }
    }

    fn begin(&mut self) -> Result<(), StoreError> {
        if let Some(broken) = &self.state.broken {
            return Err(broken.clone());
        }
        let begun = self.say("BEGIN IMMEDIATE").map_err(StoreError::from).and_then(|()| self.check_owner());
        begun.map_err(|error| self.give_up(error))
    }

    /// A lock file can be copied or its disk mounted twice; the epoch in the database cannot lie about
    /// who opened it last.
    fn check_owner(&self) -> Result<(), StoreError> {
        let sql = Sql::new(&self.connection, &self.notes);
        let epoch: Option<i64> = sql.first("SELECT value FROM meta WHERE name = 'owner_epoch'", &[], |row| row.number("value"))?;
        if epoch == Some(self.epoch) {
            return Ok(());
        }
        Err(StoreError::Broken("another server has taken over this data directory".into()))
    }

    /// Runs one write so that its failure leaves no trace and does not touch its neighbours.
    fn run_one(&mut self, ask: Ask, transaction: &mut Result<(), StoreError>) -> Ran {
        if let Err(error) = self.say("SAVEPOINT one_write") {
            let error = self.give_up(error.into());
            *transaction = Err(error.clone());
            return ask(Err(error));
        }
        let ran = ask(Ok(&Sql::new(&self.connection, &self.notes)));
        *transaction = self.go_on(ran.error.as_ref());
        ran
    }

    /// Whether the transaction still stands after a write. Some failures (a full disk, a failing one)
    /// make SQLite roll back all of it.
    fn go_on(&mut self, failed: Option<&StoreError>) -> Result<(), StoreError> {
        if let Some(broken @ StoreError::Broken(_)) = failed {
            return Err(self.give_up(broken.clone()));
        }
        if self.connection.is_autocommit() {
            return Err(failed.cloned().unwrap_or_else(|| StoreError::Sql("the transaction ended too early".into())));
        }
        let undone = if failed.is_some() { self.say("ROLLBACK TO one_write") } else { Ok(()) };
        undone.and_then(|()| self.say("RELEASE one_write")).map_err(|error| self.give_up(error.into()))
    }

    /// A statement that is said so often that it is not read anew each time.
    fn say(&self, statement: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(statement)?.execute([]).map(|_| ())
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let noted = self.write_notes();
        crash::point("store.before-commit");
        match self.say("COMMIT").map_err(StoreError::from) {
            Ok(()) => {
                self.notes.written(noted);
                Ok(())
            }
            Err(error @ (StoreError::Busy | StoreError::Full | StoreError::Broken(_))) => Err(self.give_up(error)),
            // After a failed sync the kernel may call lost pages clean, so trying again could succeed
            // without the data being there. Nothing is written any more until a restart reads the disk anew.
            Err(error @ (StoreError::Sql(_) | StoreError::Unreadable { .. } | StoreError::Seal(_) | StoreError::Panicked)) => {
                Err(self.give_up(StoreError::Broken(error.to_string())))
            }
        }
    }

    /// Takes the quarantine's notes along. If that does not work, they wait for the next time.
    fn write_notes(&self) -> usize {
        if !self.notes.any_waiting() {
            return 0;
        }
        let sql = Sql::new(&self.connection, &self.notes);
        let written = sql.execute("SAVEPOINT notes", &[]).and_then(|_| quarantine::write_waiting(&sql));
        let after = if written.is_ok() { "RELEASE notes" } else { "ROLLBACK TO notes; RELEASE notes" };
        match (written, self.connection.execute_batch(after)) {
            (Ok(count), Ok(())) => count,
            (Ok(_) | Err(_), _) => 0,
        }
    }

    /// Ends the transaction without a trace and, if the disk cannot be trusted, all writing.
    fn give_up(&mut self, error: StoreError) -> StoreError {
        if !self.connection.is_autocommit() {
            // Nothing was committed either way; an error here has nothing to add.
            drop(self.connection.execute_batch("ROLLBACK"));
        }
        if let StoreError::Broken(why) = &error
            && self.state.broken.is_none()
        {
            tracing::error!(why, "the database takes no more writes until the server is started again");
            self.state.broken = Some(error.clone());
        }
        error
    }

    /// Done here, after everybody has their answer, and not by SQLite inside a commit: nobody waits for
    /// it, and a failing disk is noticed.
    fn checkpoint_when_due(&mut self) {
        if self.state.broken.is_some() || self.state.writes_since_checkpoint < CHECKPOINT_AFTER_WRITES {
            return;
        }
        self.state.writes_since_checkpoint = 0;
        let done = self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())).map_err(StoreError::from);
        if let Err(error) = done {
            tracing::warn!(%error, "the write-ahead log could not be copied back; it goes on growing");
            self.give_up(error);
        }
    }

    fn close(self) {
        if self.state.broken.is_some() {
            // Closing would sync once more and might call a lost page safe.
            drop(self.connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true));
        }
        drop(self.connection);
        drop(self.lock);
    }
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, sync::mpsc};

    use nix::sys::{
        resource::{Resource, getrlimit, setrlimit},
        signal::{SigHandler, Signal, signal},
    };

    use super::*;
    use crate::store::{Store, jobs, testing::*};

    async fn submit(store: &Store, number: u64) -> Result<(), StoreError> {
        store.write(move |sql| jobs::submit(sql, &new_job(number, "digits")).map(|_| ())).await
    }

    async fn names(store: &Store) -> usize {
        store.read(|sql| jobs::list(sql, &jobs::Filter::default(), None, 1_000)).await.unwrap().len()
    }

    /// A write that says when it runs, and then waits to be let go.
    fn gate(store: &Store) -> (tokio::task::JoinHandle<Result<(), StoreError>>, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (inside, is_inside) = mpsc::channel();
        let (let_go, go) = mpsc::channel();
        let store = store.clone();
        let waiting = tokio::spawn(async move {
            let wait = move |_: &Sql<'_>| {
                inside.send(()).unwrap();
                go.recv().unwrap();
                Ok(())
            };
            store.write(wait).await
        });
        (waiting, is_inside, let_go)
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn nobody_is_answered_before_the_commit_they_share() {
        let place = Place::new();
        let store = place.open();
        let (first, first_inside, let_first_go) = gate(&store);
        first_inside.recv().unwrap();
        // While the first holds the writer, these two come to share the next commit, in this order.
        let job = tokio::spawn({
            let store = store.clone();
            async move { submit(&store, 1).await }
        });
        while store.inner.asks().capacity() == WAITING_WRITES_MAX {
            tokio::task::yield_now().await;
        }
        let (second, second_inside, let_second_go) = gate(&store);
        while store.inner.asks().capacity() == WAITING_WRITES_MAX - 1 {
            tokio::task::yield_now().await;
        }
        let_first_go.send(()).unwrap();
        second_inside.recv().unwrap();

        let seen_from_outside = || -> i64 { place.by_hand().query_row("SELECT COUNT(*) FROM job", [], |row| row.get(0)).unwrap() };
        assert!(!job.is_finished(), "it has been run, but not committed");
        assert_eq!(seen_from_outside(), 0);
        let_second_go.send(()).unwrap();
        assert_eq!(job.await.unwrap(), Ok(()));
        assert_eq!(seen_from_outside(), 1);
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (Ok(()), Ok(())));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn what_waits_together_is_committed_together() {
        let place = Place::new();
        let store = place.open();
        let (first, inside, let_go) = gate(&store);
        inside.recv().unwrap();
        let before = *store.changes().borrow();
        let waiting: Vec<_> = (1..=100)
            .map(|number| {
                let store = store.clone();
                tokio::spawn(async move { submit(&store, number).await })
            })
            .collect();
        while store.inner.asks().capacity() > WAITING_WRITES_MAX - 100 {
            tokio::task::yield_now().await;
        }
        let_go.send(()).unwrap();
        for answer in waiting {
            assert_eq!(answer.await.unwrap(), Ok(()));
        }
        assert_eq!(first.await.unwrap(), Ok(()));
        assert_eq!(*store.changes().borrow() - before, 1, "one commit for a hundred");
    }

    #[tokio::test]
    async fn a_write_that_fails_or_panics_takes_nobody_with_it() {
        let place = Place::new();
        let store = place.open();
        let fails = store.write(|sql| {
            jobs::submit(sql, &new_job(1, "fails"))?;
            sql.execute("INSERT INTO nowhere VALUES (1)", &[])
        });
        let panics = store.write(|sql| -> Result<(), StoreError> {
            jobs::submit(sql, &new_job(2, "panics"))?;
            panic!("a mistake of ours")
        });
        let (failed, panicked, good) = tokio::join!(fails, panics, submit(&store, 3));
        assert_eq!(failed.unwrap_err().to_string(), "the database refused: no such table: nowhere");
        assert_eq!((panicked, good), (Err(StoreError::Panicked), Ok(())));
        assert_eq!(names(&store).await, 1);
        assert_eq!(submit(&store, 4).await, Ok(()));
    }

    #[tokio::test]
    async fn a_full_disk_refuses_and_later_takes_writes_again() {
        let place = Place::new();
        let store = place.open();
        let pages_max = async |pages: u32| {
            store.write(move |sql| sql.query(&format!("PRAGMA max_page_count = {pages}"), &[], |_| Ok(()))).await.unwrap();
        };
        pages_max(1).await; // SQLite takes the number of pages there are now.
        let mut refused = None;
        for number in 1..=100 {
            refused = submit(&store, number).await.err().map(|error| (number, error));
            if refused.is_some() {
                break;
            }
        }
        let (number, error) = refused.expect("a database that cannot grow is full at some time");
        assert_eq!(error, StoreError::Full);
        assert_eq!(names(&store).await as u64, number - 1);
        pages_max(100_000).await;
        assert_eq!(submit(&store, number).await, Ok(()));
        assert_eq!(names(&store).await as u64, number);
    }

    #[tokio::test]
    async fn a_database_held_by_someone_else_is_busy_and_later_takes_writes_again() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| sql.query("PRAGMA busy_timeout = 20", &[], |_| Ok(()))).await.unwrap();
        let someone = place.by_hand();
        someone.execute_batch("BEGIN IMMEDIATE").unwrap();
        assert_eq!(submit(&store, 1).await, Err(StoreError::Busy));
        assert_eq!(names(&store).await, 0, "reads go on meanwhile");
        someone.execute_batch("ROLLBACK").unwrap();
        assert_eq!(submit(&store, 1).await, Ok(()));
    }

    #[tokio::test]
    async fn a_server_that_was_overtaken_writes_nothing_more() {
        let place = Place::new();
        let store = place.open();
        assert_eq!(submit(&store, 1).await, Ok(()));
        place.change_by_hand("UPDATE meta SET value = value + 1 WHERE name = 'owner_epoch'");
        let overtaken = StoreError::Broken("another server has taken over this data directory".into());
        assert_eq!(submit(&store, 2).await, Err(overtaken.clone()));
        assert_eq!(submit(&store, 3).await, Err(overtaken));
        assert_eq!(names(&store).await, 1);
    }

    /// A limit on the size of files makes the kernel refuse a write with an error that is not "disk full".
    #[tokio::test]
    async fn after_an_input_output_error_nothing_is_written_until_a_restart() {
        let Some(directory) = given_directory() else {
            let place = Place::new();
            let name = "store::writer::tests::after_an_input_output_error_nothing_is_written_until_a_restart";
            let child = in_child(name, place.directory.path(), None);
            assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
            return;
        };
        let store = Store::open(&directory).unwrap();
        for number in 1..=20 {
            assert_eq!(submit(&store, number).await, Ok(()));
        }
        // SAFETY: ignoring a signal has no handler that could do harm.
        unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }.unwrap();
        let (_, most) = getrlimit(Resource::RLIMIT_FSIZE).unwrap();
        let log_bytes = directory.join("store.db-wal").metadata().unwrap().len();
        setrlimit(Resource::RLIMIT_FSIZE, log_bytes, most).unwrap();
        let broken = Err(StoreError::Broken("disk I/O error".into()));
        assert_eq!(submit(&store, 21).await, broken);
        setrlimit(Resource::RLIMIT_FSIZE, most, most).unwrap();
        assert_eq!(submit(&store, 22).await, broken, "the disk is well again, but what it holds is not known");
        assert_eq!(names(&store).await, 20, "reads go on");
        drop(store);
        let store = Store::open(&directory).unwrap();
        assert_eq!(names(&store).await, 20);
        assert_eq!(submit(&store, 23).await, Ok(()));
    }

    #[tokio::test]
    async fn a_crash_before_the_commit_leaves_nothing_and_after_it_everything() {
        let name = "store::writer::tests::a_crash_before_the_commit_leaves_nothing_and_after_it_everything";
        if let Some(directory) = given_directory() {
            let store = Store::open(&directory).unwrap();
            submit(&store, 1).await.unwrap();
            unreachable!("the crash point comes first");
        }
        for (point, jobs) in [("store.before-commit", 0), ("store.after-commit-before-answer", 1)] {
            let place = Place::new();
            let child = in_child(name, place.directory.path(), Some(point));
            assert_eq!(child.status.signal(), Some(Signal::SIGKILL as i32), "{point}");
            assert_eq!(names(&place.open()).await, jobs, "{point}");
        }
    }

    #[tokio::test]
    async fn a_caller_that_goes_away_does_not_undo_its_write() {
        let place = Place::new();
        let store = place.open();
        let (ask, answer) = ask(|sql| jobs::submit(sql, &new_job(1, "digits")));
        drop(answer);
        store.inner.asks().send(ask).await.unwrap();
        assert_eq!(submit(&store, 2).await, Ok(()));
        assert_eq!(names(&store).await, 2);
    }

    #[tokio::test]
    async fn the_write_ahead_log_does_not_grow_for_ever() {
        let place = Place::new();
        let store = place.open();
        let long = "x".repeat(4096);
        let groups = 3 * CHECKPOINT_AFTER_WRITES / 50;
        for group in 0..groups {
            let writes = (0..50).map(|number| {
                let values = [format!("{group}-{number}").into(), long.as_str().into()];
                store.write(move |sql| sql.execute("INSERT INTO quarantine (kind, key, why, at_ms) VALUES ('x', $1, $2, 0)", &values))
            });
            futures_util::future::try_join_all(writes).await.unwrap();
        }
        let written = 3 * CHECKPOINT_AFTER_WRITES * long.len();
        let log = place.directory.path().join("store.db-wal").metadata().unwrap().len();
        assert!((log as usize) < written, "{log} bytes of log for {written} bytes of text");
    }
}
