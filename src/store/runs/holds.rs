//! What the live runs hold, as placing wants to know it: without the plans of their jobs, which are long.

use std::collections::BTreeMap;

use model::schedule::Held;

use crate::store::{Row, Sql, StoreError, quarantine::Kind};

#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    pub held: Held,
    pub devices: BTreeMap<String, Vec<u32>>,
    pub ports: BTreeMap<String, Vec<u16>>,
}

/// Of every run that is not over. Asked by what it is not, so that a state nobody knows comes to light.
pub fn holds(sql: &Sql<'_>) -> Result<Vec<Hold>, StoreError> {
    let question = "SELECT run.job, run.attempt, run.role, run.task_index, run.node, run.amount, run.devices, run.ports,
                           job.name, job.version, job.started_at_ms, job.max_duration_ms
                      FROM run LEFT JOIN job ON job.id = run.job
                     WHERE run.state NOT IN ('succeeded', 'failed', 'stopped', 'unknown')
                     ORDER BY run.job, run.attempt, run.role, run.task_index";
    sql.query_sound(Kind::Run, question, &[], read)
}

/// A job that cannot be read is called by its number, and nobody knows how long it takes.
fn read(row: &Row<'_>) -> Result<Hold, StoreError> {
    let job = row.parsed("job")?;
    let label = row.text("name").and_then(|name| Ok(format!("{name}@{}", row.number::<u32>("version")?)));
    let at = |column| row.maybe_number::<u64>(column).ok().flatten();
    Ok(Hold {
        held: Held {
            job,
            label: label.unwrap_or_else(|_| job.to_string()),
            node: row.parsed("node")?,
            amount: row.json("amount")?,
            until_ms: at("started_at_ms").zip(at("max_duration_ms")).map(|(began, most)| began + most),
        },
        devices: row.json("devices")?,
        ports: row.json("ports")?,
    })
}
