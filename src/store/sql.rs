//! The thin door to the database. Everything behind it is SQLite's; everything before it speaks the
//! SQL that SQLite and Postgres share, so that Postgres can stand behind the same door.

use std::{fmt::Display, str::FromStr};

use model::ids::JobId;
use rusqlite::{
    Connection, ToSql, params_from_iter,
    types::{FromSql, ToSqlOutput, ValueRef},
};
use serde::{
    Serialize,
    de::{DeserializeOwned, IgnoredAny},
};

use super::{StoreError, quarantine::Notes};

/// The database inside one transaction.
pub struct Sql<'a> {
    connection: &'a Connection,
    pub(super) notes: &'a Notes,
}

impl<'a> Sql<'a> {
    pub(super) fn new(connection: &'a Connection, notes: &'a Notes) -> Self {
        Self { connection, notes }
    }

    /// Runs a statement and says how many rows it changed.
    pub fn execute(&self, sql: &str, values: &[Value]) -> Result<usize, StoreError> {
        Ok(self.connection.prepare_cached(&numbered(sql))?.execute(params_from_iter(values))?)
    }

    /// Reads every row of a question; the first that cannot be read ends it.
    pub fn query<T>(
        &self,
        sql: &str,
        values: &[Value],
        mut read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Vec<T>, StoreError> {
        let mut statement = self.connection.prepare_cached(&numbered(sql))?;
        let mut rows = statement.query(params_from_iter(values))?;
        let (mut all, mut columns) = (Vec::new(), Vec::new());
        while let Some(row) = rows.next()? {
            if columns.is_empty() {
                columns = row.as_ref().column_names().map(str::to_owned).collect();
            }
            all.push(read(&Row { row, columns: &columns })?);
        }
        Ok(all)
    }

    /// The first row of an answer, for questions that have at most one.
    pub fn first<T>(
        &self,
        sql: &str,
        values: &[Value],
        read: impl FnMut(&Row<'_>) -> Result<T, StoreError>,
    ) -> Result<Option<T>, StoreError> {
        Ok(self.query(sql, values, read)?.into_iter().next())
    }
}

impl Sql<'_> {
    /// Does something that may fail without undoing what was done before it in the same transaction.
    pub fn or_undo<T>(&self, op: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.execute("SAVEPOINT or_undo", &[])?;
        let done = op(self);
        if done.is_err() {
            self.execute("ROLLBACK TO or_undo", &[])?;
        }
        self.execute("RELEASE or_undo", &[])?;
        done
    }
}

impl Sql<'_> {
    /// What would come of it, with nothing of it left in the database.
    pub fn and_undo<T>(&self, op: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        self.execute("SAVEPOINT and_undo", &[])?;
        let done = op(self);
        self.execute("ROLLBACK TO and_undo", &[])?;
        self.execute("RELEASE and_undo", &[])?;
        done
    }
}

/// Our `$1` is SQLite's `?1`. (SQLite takes `$1` too, but as a name, numbered by where it first stands.)
fn numbered(sql: &str) -> String {
    sql.replace('$', "?")
}

/// Something to put in the place of a `$n`.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Text(String),
    Integer(i64),
    Real(f64),
    Null,
}

impl Value {
    /// The JSON of our own types, which cannot fail to be written.
    pub fn json(value: &impl Serialize) -> Value {
        Value::Text(serde_json::to_string(value).expect("our own types have string keys and no failing parts"))
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Integer(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Null => ValueRef::Null,
        }))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Text(text.to_owned())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Self {
        Value::Text(text.clone())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Text(text)
    }
}

impl From<JobId> for Value {
    fn from(id: JobId) -> Self {
        Value::Text(id.to_string())
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Value::Integer(number)
    }
}

impl From<i32> for Value {
    fn from(number: i32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Integer(number.into())
    }
}

impl From<u64> for Value {
    /// A database has no unsigned numbers. What does not fit (a time in 292 million years) is cut.
    fn from(number: u64) -> Self {
        Value::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Value::Real(number)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Value::Null, Into::into)
    }
}

/// One row of an answer. A getter that finds something else than it was asked for answers
/// [`StoreError::Unreadable`], with the column and what it holds.
pub struct Row<'a> {
    row: &'a rusqlite::Row<'a>,
    /// Their names, known once for all rows: to ask SQLite where each value stands takes longer than to read it.
    columns: &'a [String],
}

const SHOWN_CHARACTERS_MAX: usize = 60;

impl Row<'_> {
    pub fn text(&self, column: &str) -> Result<String, StoreError> {
        self.get(column)
    }

    pub fn maybe_text(&self, column: &str) -> Result<Option<String>, StoreError> {
        self.get(column)
    }

    /// A whole number of any sort, in the type it is wanted in.
    pub fn number<N: TryFrom<i64>>(&self, column: &str) -> Result<N, StoreError> {
        N::try_from(self.get::<i64>(column)?).map_err(|_| self.unreadable(column))
    }

    pub fn maybe_number<N: TryFrom<i64>>(&self, column: &str) -> Result<Option<N>, StoreError> {
        let number: Option<i64> = self.get(column)?;
        number.map(|number| N::try_from(number).map_err(|_| self.unreadable(column))).transpose()
    }

    pub fn real(&self, column: &str) -> Result<f64, StoreError> {
        self.get(column)
    }

    /// A text that is the one spelling of something: an id, a name.
    pub fn parsed<T: FromStr>(&self, column: &str) -> Result<T, StoreError> {
        self.spelled(column, |text| text.parse().ok())
    }

    /// A text that `read` knows how to read: a state.
    pub fn spelled<T>(&self, column: &str, read: impl FnOnce(&str) -> Option<T>) -> Result<T, StoreError> {
        read(&self.text(column)?).ok_or_else(|| self.unreadable(column))
    }

    pub fn json<T: DeserializeOwned>(&self, column: &str) -> Result<T, StoreError> {
        serde_json::from_str(&self.text(column)?).map_err(|error| self.unreadable_because(column, &error))
    }

    /// A text that is JSON and stays as it is.
    pub fn json_text(&self, column: &str) -> Result<String, StoreError> {
        self.json::<IgnoredAny>(column)?;
        self.text(column)
    }

    pub fn maybe_json<T: DeserializeOwned>(&self, column: &str) -> Result<Option<T>, StoreError> {
        let text = self.maybe_text(column)?;
        text.map(|text| serde_json::from_str(&text).map_err(|error| self.unreadable_because(column, &error))).transpose()
    }

    /// What a column holds, whatever it is.
    pub fn shown_whole(&self, column: &str) -> String {
        match self.place(column).and_then(|place| self.row.get_ref(place)) {
            Ok(ValueRef::Null) => "nothing".into(),
            Ok(ValueRef::Integer(number)) => number.to_string(),
            Ok(ValueRef::Real(number)) => number.to_string(),
            Ok(ValueRef::Text(bytes) | ValueRef::Blob(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Err(error) => error.to_string(),
        }
    }

    /// The same, short enough for a message.
    pub fn shown(&self, column: &str) -> String {
        self.shown_whole(column).chars().take(SHOWN_CHARACTERS_MAX).collect()
    }

    fn get<T: FromSql>(&self, column: &str) -> Result<T, StoreError> {
        self.place(column).and_then(|place| self.row.get(place)).map_err(|error| match error {
            // Asked for a column that the question does not have: our mistake, not the row's.
            rusqlite::Error::InvalidColumnName(_) => error.into(),
            _ => self.unreadable(column),
        })
    }

    fn place(&self, column: &str) -> rusqlite::Result<usize> {
        self.columns.iter().position(|it| it == column).ok_or_else(|| rusqlite::Error::InvalidColumnName(column.to_owned()))
    }

    fn unreadable(&self, column: &str) -> StoreError {
        StoreError::Unreadable { what: format!("{column} holds `{}`", self.shown(column)) }
    }

    fn unreadable_because(&self, column: &str, why: &dyn Display) -> StoreError {
        StoreError::Unreadable { what: format!("{column} holds `{}`: {why}", self.shown(column)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::*;

    #[tokio::test]
    async fn parameters_go_by_their_numbers_and_not_by_where_they_stand() {
        let place = Place::new();
        let store = place.open();
        let values = ["one".into(), Value::Integer(2), 2.5.into(), Option::<&str>::None.into(), u64::MAX.into()];
        let read = store.read(move |sql| {
            sql.first("SELECT $2 AS b, $1 AS a, $3 AS c, $4 AS d, $5 AS e, $1 AS again", &values, |row| {
                Ok((row.text("a")?, row.number("b")?, row.real("c")?, row.maybe_text("d")?, row.number("e")?, row.text("again")?))
            })
        });
        assert_eq!(read.await, Ok(Some(("one".into(), 2_u32, 2.5, None, i64::MAX, "one".into()))));
    }

    #[tokio::test]
    async fn what_fails_inside_is_undone_and_what_came_before_it_stays() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            sql.execute("UPDATE meta SET value = 70 WHERE name = 'event_seq'", &[])?;
            let failed = sql.or_undo(|sql| {
                sql.execute("UPDATE meta SET value = 80 WHERE name = 'event_seq'", &[])?;
                sql.execute("INSERT INTO nowhere VALUES (1)", &[])
            });
            assert_eq!(failed, Err(StoreError::Sql("no such table: nowhere".into())));
            sql.or_undo(|sql| sql.execute("UPDATE meta SET value = value + 1 WHERE name = 'event_seq'", &[]))
        };
        assert_eq!(store.write(write).await, Ok(1));
        assert_eq!(store.read(crate::store::events::last_seq).await, Ok(71));
    }

    #[tokio::test]
    async fn a_getter_says_which_column_is_wrong_and_what_it_holds() {
        let place = Place::new();
        let store = place.open();
        type Read = fn(&Row<'_>) -> Result<(), StoreError>;
        let reads: [Read; 8] = [
            |row| row.text("number").map(drop),
            |row| row.number::<u32>("number").map(drop),
            |row| row.number::<u32>("text").map(drop),
            |row| row.parsed::<JobId>("text").map(drop),
            |row| row.json::<u32>("text").map(drop),
            |row| row.text("bytes").map(drop),
            |row| row.text("void").map(drop),
            |row| row.text("absent").map(drop),
        ];
        let mut said = String::new();
        for read in reads {
            let question = "SELECT -1 AS number, 'seven' AS text, X'ff' AS bytes, NULL AS void";
            said += &match store.read(move |sql| sql.first(question, &[], read)).await.unwrap_err() {
                StoreError::Unreadable { what } => format!("{what}\n"),
                other => format!("not the row's fault: {other}\n"),
            };
        }
        insta::assert_snapshot!(said, @"
        number holds `-1`
        number holds `-1`
        text holds `seven`
        text holds `seven`
        text holds `seven`: expected value at line 1 column 1
        bytes holds `�`
        void holds `nothing`
        not the row's fault: the database refused: Invalid column name: absent
        ");
    }
}
