//! The one thread that writes. It commits many writes together, because what costs time is the sync
//! to disk and that costs the same for one row as for five hundred.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::{Connection, config::DbConfig};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Sql, StoreError, lock::OwnerLock, quarantine, quarantine::Notes};
use crate::crash;

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
        let committed = transaction.and_then(|()| self.commit());
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
        let begun = self.connection.execute_batch("BEGIN IMMEDIATE").map_err(StoreError::from).and_then(|()| self.check_owner());
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
        if let Err(error) = self.connection.execute_batch("SAVEPOINT one_write") {
            *transaction = Err(self.give_up(error.into()));
            return ask(transaction.clone().map(|()| unreachable!("it was set to an error just now")));
        }
        let ran = ask(Ok(&Sql::new(&self.connection, &self.notes)));
        let after = match &ran.error {
            None => "RELEASE one_write",
            Some(_) => "ROLLBACK TO one_write; RELEASE one_write",
        };
        *transaction = self.go_on(ran.error.as_ref(), after);
        ran
    }

    /// Whether the transaction still stands after a write. Some failures (a full disk, a failing one)
    /// make SQLite roll back all of it.
    fn go_on(&mut self, failed: Option<&StoreError>, after: &str) -> Result<(), StoreError> {
        if let Some(broken @ StoreError::Broken(_)) = failed {
            return Err(self.give_up(broken.clone()));
        }
        if self.connection.is_autocommit() {
            return Err(failed.cloned().unwrap_or_else(|| StoreError::Sql("the transaction ended too early".into())));
        }
        self.connection.execute_batch(after).map_err(|error| self.give_up(error.into()))
    }

    fn commit(&mut self) -> Result<(), StoreError> {
        let noted = self.write_notes();
        crash::point("store.before-commit");
        match self.connection.execute_batch("COMMIT").map_err(StoreError::from) {
            Ok(()) => {
                self.notes.written(noted);
                Ok(())
            }
            Err(error @ (StoreError::Busy | StoreError::Full)) => Err(self.give_up(error)),
            // After a failed sync the kernel may call lost pages clean, so trying again could succeed
            // without the data being there. Nothing is written any more until a restart reads the disk anew.
            Err(error) => Err(self.give_up(StoreError::Broken(error.to_string()))),
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
