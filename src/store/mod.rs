//! Facts, in SQL. The whole folder speaks the SQL that SQLite and Postgres share; rows do not leave
//! it, callers see structs made of the model's types. It stores facts and does not act on them.
//!
//! Writes go to one thread that commits many of them together and answers each after the commit;
//! reads have connections of their own and never wait for a write.

use std::{path::Path, sync::Arc, thread};

use tokio::sync::{mpsc, watch};

pub use error::{OpenError, StoreError};
pub use open::FILE_NAME;
pub use sql::{Row, Sql, Value};

use quarantine::Notes;
use readers::Readers;
use writer::{Ask, Writer};

pub mod algorithms;
pub mod commits;
pub mod datasets;
mod error;
pub mod events;
pub mod jobs;
pub mod lineage;
mod lock;
mod mark;
mod migrate;
pub mod named;
mod open;
pub mod originals;
pub mod quarantine;
mod readers;
pub mod runs;
pub mod secrets;
pub mod sessions;
mod sql;
#[cfg(test)]
pub(crate) mod testing;
pub mod tokens;
pub mod uploads;
pub mod volumes;
mod writer;

/// Whether a guarded write landed, or someone else had moved the row first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Written {
    Yes,
    Stale,
}

impl Written {
    fn from_rows(changed: usize) -> Self {
        if changed == 0 { Written::Stale } else { Written::Yes }
    }
}

/// The database of one data directory. Cheap to clone; the last one to go closes it and lets go of
/// the directory.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    /// Only taken away when the store is dropped.
    asks: Option<mpsc::Sender<Ask>>,
    writer: Option<thread::JoinHandle<()>>,
    readers: Arc<Readers>,
    notes: Arc<Notes>,
    changes: watch::Receiver<u64>,
}

impl Store {
    /// Takes the owner lock and opens the database, or makes it if there is none. A database that is
    /// damaged, read-only, someone else's or newer than this program is refused and left untouched.
    pub fn open(data: &Path) -> Result<Store, OpenError> {
        let notes = Arc::new(Notes::default());
        let opened = open::open(data, &notes)?;
        let (changed, changes) = watch::channel(0);
        let (asks, waiting) = mpsc::channel(writer::WAITING_WRITES_MAX);
        let writer = Writer {
            connection: opened.writer,
            notes: notes.clone(),
            epoch: opened.epoch,
            changes: changed,
            lock: opened.lock,
            mark: opened.mark,
            state: writer::State::default(),
        };
        let thread = thread::Builder::new().name("store-writer".into()).spawn(move || writer.run(waiting));
        let thread =
            thread.map_err(|error| OpenError::Io { path: data.to_owned(), what: format!("no thread for the database: {error}") })?;
        let readers = Arc::new(Readers::new(opened.readers));
        Ok(Store { inner: Arc::new(Inner { asks: Some(asks), writer: Some(thread), readers, notes, changes }) })
    }

    /// Runs `op` in a transaction and answers when it is on the disk. If `op` fails or panics, nothing
    /// of it is written. Once asked, it is done even if the caller stops waiting.
    pub async fn write<T: Send + 'static>(
        &self,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (ask, answer) = writer::ask(op);
        let gone = || StoreError::Broken("its writer has ended".into());
        self.inner.asks().send(ask).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }

    /// Runs `op` against the database as it is at one moment. It sees every write that was answered
    /// before, and cannot write.
    pub async fn read<T: Send + 'static>(
        &self,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let result = self.inner.readers.read(self.inner.notes.clone(), op).await;
        self.bring_notes();
        result
    }

    /// The same for a question that is answered at once: one row, by its key.
    pub async fn glance<T: Send + 'static>(
        &self,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let result = self.inner.readers.glance(self.inner.notes.clone(), op).await;
        self.bring_notes();
        result
    }

    /// Has the writer write down what could not be read.
    fn bring_notes(&self) {
        if self.inner.notes.any_waiting() {
            let (nothing, _) = writer::ask(|_| Ok(()));
            // If the queue is full the writer is awake anyway, and takes the notes along.
            drop(self.inner.asks().try_send(nothing));
        }
    }

    /// Changes whenever something was committed; followers and loops wait on it.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.inner.changes.clone()
    }
}

impl Inner {
    fn asks(&self) -> &mpsc::Sender<Ask> {
        self.asks.as_ref().expect("it is only taken away when the store is dropped")
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.readers.close_idle();
        self.asks = None;
        let Some(writer) = self.writer.take() else { return };
        // A write may hold the last store; then its own thread cannot wait for itself.
        if writer.thread().id() != thread::current().id() && writer.join().is_err() {
            tracing::error!("the thread that writes to the database ended in a panic");
        }
    }
}
