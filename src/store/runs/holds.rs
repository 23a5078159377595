//! What the live runs hold, as placing wants to know it: without the plans of their jobs, which are long.

use std::collections::BTreeMap;

use model::{
    ids::{JobId, NodeName, RoleName},
    resources::Resources,
    schedule::Held,
};

use super::LIVE;
use crate::store::{Row, Sql, StoreError, jobs, quarantine::Kind};

#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    pub held: Held,
    pub devices: BTreeMap<String, Vec<u32>>,
    /// None where nobody can say which.
    pub ports: Option<BTreeMap<String, Vec<u16>>>,
}

/// What can be read of a run's row that cannot be read as a whole. It lives all the same, and holds what it holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Unclear {
    pub job: JobId,
    pub label: String,
    pub node: Option<NodeName>,
    pub amount: Option<Resources>,
    pub devices: Option<BTreeMap<String, Vec<u32>>>,
    pub ports: Option<BTreeMap<String, Vec<u16>>>,
    role: Option<RoleName>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Holds {
    pub clear: Vec<Hold>,
    pub unclear: Vec<Unclear>,
}

/// Of every run that is not over. Asked by what it is not, so that a state nobody knows comes to light.
pub fn holds(sql: &Sql<'_>) -> Result<Holds, StoreError> {
    let question = format!(
        "SELECT run.job, run.attempt, run.role, run.task_index, run.node, run.amount, run.devices, run.ports,
                job.name, job.version, job.started_at_ms, job.max_duration_ms
           FROM run LEFT JOIN job ON job.id = run.job
          WHERE run.{LIVE}
          ORDER BY run.job, run.attempt, run.role, run.task_index"
    );
    let mut holds = Holds::default();
    for row in sql.query_or_rest(Kind::Run, &question, &[], read, read_rest)? {
        match row {
            Ok(hold) => holds.clear.push(hold),
            Err(rest) => holds.unclear.push(as_planned(sql, rest)?),
        }
    }
    Ok(holds)
}

/// A job that cannot be read is called by its number, and nobody knows how long it takes.
fn read(row: &Row<'_>) -> Result<Hold, StoreError> {
    let job = row.parsed("job")?;
    let at = |column| row.maybe_number::<u64>(column).ok().flatten();
    Ok(Hold {
        held: Held {
            job,
            label: label(row).unwrap_or_else(|_| job.to_string()),
            node: row.parsed("node")?,
            amount: row.json("amount")?,
            until_ms: at("started_at_ms").zip(at("max_duration_ms")).map(|(began, most)| began + most),
        },
        devices: row.json("devices")?,
        ports: Some(row.json("ports")?),
    })
}

fn label(row: &Row<'_>) -> Result<String, StoreError> {
    Ok(format!("{}@{}", row.text("name")?, row.number::<u32>("version")?))
}

fn read_rest(row: &Row<'_>) -> Unclear {
    Unclear {
        job: row.parsed("job").unwrap_or_else(|_| JobId::new(0, &[0; 10])),
        label: label(row).unwrap_or_else(|_| row.shown("job")),
        node: row.parsed("node").ok(),
        amount: row.json("amount").ok(),
        devices: row.json("devices").ok(),
        ports: row.json("ports").ok(),
        role: row.parsed("role").ok(),
    }
}

/// It was given what its job's plan says, if that can be read.
fn as_planned(sql: &Sql<'_>, rest: Unclear) -> Result<Unclear, StoreError> {
    let (None, Some(role)) = (&rest.amount, &rest.role) else { return Ok(rest) };
    let job = match jobs::get(sql, rest.job) {
        Err(StoreError::Unreadable { .. }) => None,
        read => read?,
    };
    let amount = job.and_then(|job| Some(job.plan.role(role)?.needs()));
    Ok(Unclear { amount, ..rest })
}
