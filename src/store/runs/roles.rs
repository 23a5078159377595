//! How far each role of a job that is no gang has come. A large job asks this at every ending, so what can be told from the ends of
//! indexes is not counted.

use std::collections::{BTreeMap, BTreeSet};

use model::{
    ids::{JobId, RoleName},
    standing::Placed,
};

use super::{BAD, Run};
use crate::store::{Sql, StoreError, jobs::Job};

/// `others` are the runs whose task has not succeeded.
pub fn placed(sql: &Sql<'_>, job: &Job, others: &[Run]) -> Result<BTreeMap<RoleName, Placed>, StoreError> {
    let attempt = (job.id, job.attempt);
    let mut begun = Vec::new();
    for role in &job.plan.roles {
        let others: BTreeSet<u32> = others.iter().filter(|it| it.run.task.role == role.name).map(|it| it.run.task.index).collect();
        if let Some(last) = last(sql, attempt, &role.name)? {
            begun.push((&role.name, last + 1, others.len() as u32));
        }
    }
    // No task succeeds twice. So if there are as many tasks as there could be at most, none was left out in any role.
    let most: u32 = begun.iter().map(|(_, tasks, _)| tasks).sum();
    let there = good(sql, attempt)? + begun.iter().map(|(_, _, others)| others).sum::<u32>();
    let placed = begun.into_iter().map(|(role, tasks, others)| {
        let left_out = if there == most { Vec::new() } else { left_out(sql, attempt, role, tasks)? };
        let succeeded = tasks.saturating_sub(others + left_out.len() as u32);
        Ok((role.clone(), Placed { first: tasks, left_out, succeeded }))
    });
    placed.collect()
}

pub(super) const LAST: &str =
    "SELECT task_index FROM run WHERE job = $1 AND job_attempt = $2 AND role = $3 ORDER BY task_index DESC LIMIT 1";

fn last(sql: &Sql<'_>, (job, job_attempt): (JobId, u32), role: &RoleName) -> Result<Option<u32>, StoreError> {
    sql.first(LAST, &[job.into(), job_attempt.into(), role.as_str().into()], |row| row.number("task_index"))
}

/// Endings are numbered without a gap, so the last number is how many there were.
pub(super) fn good_question() -> String {
    let all = "SELECT COALESCE(MAX(end_order), 0) FROM run WHERE job = $1 AND job_attempt = $2 AND end_order IS NOT NULL";
    let bad = format!("SELECT COUNT(*) FROM run WHERE job = $1 AND job_attempt = $2 AND {BAD}");
    format!("SELECT ({all}) - ({bad}) AS good")
}

/// How many runs of an attempt have succeeded, if nobody has spoilt a row.
fn good(sql: &Sql<'_>, (job, job_attempt): (JobId, u32)) -> Result<u32, StoreError> {
    let good = sql.first(&good_question(), &[job.into(), job_attempt.into()], |row| Ok(row.number("good").unwrap_or(0)))?;
    Ok(good.unwrap_or(0))
}

fn left_out(sql: &Sql<'_>, (job, job_attempt): (JobId, u32), role: &RoleName, tasks: u32) -> Result<Vec<u32>, StoreError> {
    let question = "SELECT DISTINCT task_index FROM run WHERE job = $1 AND job_attempt = $2 AND role = $3";
    let values = [job.into(), job_attempt.into(), role.as_str().into()];
    let there: BTreeSet<u32> = sql.query(question, &values, |row| row.number("task_index"))?.into_iter().collect();
    Ok((0..tasks).filter(|index| !there.contains(index)).collect())
}
