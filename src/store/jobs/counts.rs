//! How many jobs there are of each kind.

use model::job::JobState;

use crate::store::{Sql, StoreError, Value};

/// Jobs that wait for their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queued {
    pub count: u64,
    /// Since when the one that waits longest is there.
    pub oldest_ms: Option<u64>,
}

/// Of one owner, or of everyone.
pub fn queued(sql: &Sql<'_>, owner: Option<&str>) -> Result<Queued, StoreError> {
    let (of_owner, values) = match owner {
        Some(owner) => ("AND owner = $2", vec![Value::from(JobState::Queued.text()), owner.into()]),
        None => ("", vec![Value::from(JobState::Queued.text())]),
    };
    let question =
        format!("SELECT COUNT(*) AS count, MIN(COALESCE(queued_at_ms, created_at_ms)) AS oldest FROM job WHERE state = $1 {of_owner}");
    let found = sql.first(&question, &values, |row| Ok(Queued { count: row.number("count")?, oldest_ms: row.maybe_number("oldest")? }))?;
    Ok(found.unwrap_or(Queued { count: 0, oldest_ms: None }))
}

/// Every state there is, and how many are in it.
pub fn by_state(sql: &Sql<'_>) -> Result<Vec<(JobState, u64)>, StoreError> {
    let rows = sql.query("SELECT state, COUNT(*) AS count FROM job GROUP BY state", &[], |row| {
        Ok((row.text("state")?, row.number::<u64>("count")?))
    })?;
    let count = |state: JobState| rows.iter().find(|(text, _)| text == state.text()).map_or(0, |(_, count)| *count);
    Ok(JobState::SPELLED.iter().map(|(state, _)| (*state, count(*state))).collect())
}
