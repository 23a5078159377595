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
        let permit = self.free.clone().acquire_owned().await.expect("the semaphore is never closed");
        let readers = self.clone();
        let work = move || {
            let connection = readers.idle().pop().expect("a permit stands for a connection");
            let result = catch_unwind(AssertUnwindSafe(|| at_one_moment(&connection, &notes, op))).unwrap_or(Err(StoreError::Panicked));
            end_moment(&connection);
            readers.idle().push(connection);
            drop(permit);
            result
        };
        tokio::task::spawn_blocking(work).await.unwrap_or(Err(StoreError::Panicked))
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
        drop(connection.execute_batch("ROLLBACK"));
    }
}
