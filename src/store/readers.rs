//! Connections that only read. A read never waits for the writer, and always sees one moment.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, PoisonError},
};

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{Sql, StoreError, quarantine::Notes};

pub(super) struct Readers {
    idle: Mutex<Vec<Connection>>,
    /// As many permits as there are connections.
    free: Arc<Semaphore>,
}

impl Readers {
    pub fn new(connections: Vec<Connection>) -> Self {
        Self { free: Arc::new(Semaphore::new(connections.len())), idle: Mutex::new(connections) }
    }

    pub async fn read<T: Send + 'static>(
        self: &Arc<Self>,
        notes: Arc<Notes>,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = self.work(notes, op).await;
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Panicked))
    }

    /// A read of one row by its key, done here and now: it is over before another thread would have begun it.
    pub async fn glance<T: Send + 'static>(
        self: &Arc<Self>,
        notes: Arc<Notes>,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let work = self.work(notes, op).await;
        work()
    }

    /// What is to be done with a connection, once one is free.
    async fn work<T: Send + 'static>(
        self: &Arc<Self>,
        notes: Arc<Notes>,
        op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError> + Send + 'static,
    ) -> impl FnOnce() -> Result<T, StoreError> + Send + 'static {
        let permit = self.free.clone().acquire_owned().await.expect("the semaphore is never closed");
        let readers = self.clone();
        move || {
            let connection = readers.idle().pop().expect("a permit stands for a connection");
            let result = catch_unwind(AssertUnwindSafe(|| at_one_moment(&connection, &notes, op))).unwrap_or(Err(StoreError::Panicked));
            end_moment(&connection);
            readers.idle().push(connection);
            drop(permit);
            result
        }
    }

    /// Closes the connections nobody reads from, so that the writer is the last and tidies up.
    pub fn close_idle(&self) {
        self.idle().clear();
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn at_one_moment<T>(connection: &Connection, notes: &Notes, op: impl FnOnce(&Sql<'_>) -> Result<T, StoreError>) -> Result<T, StoreError> {
    let sql = Sql::new(connection, notes);
    sql.execute("BEGIN", &[])?;
    op(&sql)
}

fn end_moment(connection: &Connection) {
    if !connection.is_autocommit() {
        // It only read; there is nothing to lose.
        drop(connection.prepare_cached("ROLLBACK").and_then(|mut it| it.execute([])));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;
    use crate::store::{jobs, testing::*};

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn a_read_sees_one_moment_while_writes_go_on() {
        let place = Place::new();
        let store = place.open();
        let (inside, is_inside) = mpsc::channel();
        let (let_go, go) = mpsc::channel();
        let reading = tokio::spawn({
            let store = store.clone();
            let op = move |sql: &Sql<'_>| {
                let before = jobs::count_queued(sql)?;
                inside.send(()).unwrap();
                go.recv().unwrap();
                Ok((before, jobs::count_queued(sql)?))
            };
            async move { store.read(op).await }
        });
        is_inside.recv().unwrap();
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        assert_eq!(store.read(jobs::count_queued).await, Ok(1), "a read that begins after the answer sees the write");
        let_go.send(()).unwrap();
        assert_eq!(reading.await.unwrap(), Ok((0, 0)));
    }

    #[tokio::test]
    async fn a_read_cannot_write_and_a_panic_costs_no_connection() {
        let place = Place::new();
        let store = place.open();
        for _ in 0..10 {
            let written = store.read(|sql| sql.execute("UPDATE meta SET value = 7", &[])).await;
            assert_eq!(written, Err(StoreError::Sql("attempt to write a readonly database".into())));
            let panicked = store.read(|_| -> Result<(), StoreError> { panic!("a mistake of ours") }).await;
            assert_eq!(panicked, Err(StoreError::Panicked));
        }
        assert_eq!(store.read(jobs::count_queued).await, Ok(0));
    }
}
