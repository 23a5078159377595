//! Taking a job in: all of it or nothing of it, in the one transaction of the caller.

use std::collections::BTreeSet;

use model::{
    ids::{JobId, JobName},
    job::JobState,
    plan::{Plan, RolePlan},
    resources::Resources,
    schedule::Demand,
};

use crate::store::{Sql, StoreError, Value, events, quarantine::Kind};

#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub owner: String,
    /// The JSON that was submitted.
    pub spec: String,
    pub plan: Plan,
    pub at_ms: u64,
    pub key: Option<Key>,
}

/// An idempotency key. It counts within its owner, so nobody can learn of another's jobs by guessing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    /// Of the request's body: the same key with another body is a mistake, not a repeat.
    pub body_hash: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Submission {
    Made {
        version: u32,
    },
    /// This key has made this job before. The job may have been deleted since.
    Known {
        id: JobId,
        name: JobName,
        version: u32,
    },
    KeyUsedForOther,
}

pub fn submit(sql: &Sql<'_>, new: &NewJob) -> Result<Submission, StoreError> {
    if let Some(known) = known(sql, new)? {
        return Ok(known);
    }
    let version = next_version(sql, &new.owner, &new.plan.name)?;
    insert_job(sql, new, version)?;
    insert_plan(sql, new)?;
    insert_tags(sql, new)?;
    insert_key(sql, new, version)?;
    events::append(sql, new.at_ms, new.id, None, Some(FIRST_ATTEMPT), "submitted", "")?;
    Ok(Submission::Made { version })
}

const FIRST_ATTEMPT: u32 = 1;

fn known(sql: &Sql<'_>, new: &NewJob) -> Result<Option<Submission>, StoreError> {
    let Some(key) = &new.key else { return Ok(None) };
    let question = "SELECT text, body_hash, job, name, version FROM submit_key WHERE owner = $1 AND text = $2";
    sql.first_sound(Kind::SubmitKey, question, &[(&new.owner).into(), (&key.text).into()], |row| {
        if row.text("body_hash")? != key.body_hash {
            return Ok(Submission::KeyUsedForOther);
        }
        Ok(Submission::Known { id: row.parsed("job")?, name: row.parsed("name")?, version: row.number("version")? })
    })
}

fn next_version(sql: &Sql<'_>, owner: &str, name: &JobName) -> Result<u32, StoreError> {
    let next = sql.first(
        "INSERT INTO job_version (owner, name, last) VALUES ($1, $2, 1)
         ON CONFLICT (owner, name) DO UPDATE SET last = job_version.last + 1 RETURNING last",
        &[owner.into(), name.as_str().into()],
        |row| row.number("last"),
    )?;
    next.ok_or_else(|| StoreError::Sql(format!("no version was given out for {name}")))
}

fn insert_job(sql: &Sql<'_>, new: &NewJob, version: u32) -> Result<(), StoreError> {
    let plan = &new.plan;
    let gang: Vec<Demand> = plan.roles.iter().map(demand).collect();
    sql.execute(
        "INSERT INTO job (id, owner, name, version, state, attempt, used_for_user, used_for_platform, priority, max_duration_ms,
                          description, tags, tasks, resources, demand, reason, created_at_ms, queued_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $8, $9, $10, $11, $12, $13, '', $14, $14)",
        &[
            new.id.into(),
            (&new.owner).into(),
            plan.name.as_str().into(),
            version.into(),
            JobState::Queued.text().into(),
            FIRST_ATTEMPT.into(),
            plan.priority.into(),
            plan.max_duration_ms.into(),
            (&plan.description).into(),
            Value::json(&plan.tags),
            plan.task_count().into(),
            Value::json(&altogether(plan)),
            Value::json(&gang),
            new.at_ms.into(),
        ],
    )?;
    Ok(())
}

fn demand(role: &RolePlan) -> Demand {
    Demand { role: role.name.clone(), tasks: role.tasks, each: role.resources.clone() }
}

/// What all tasks need together, for people to read; no number of tasks makes it wrap around.
fn altogether(plan: &Plan) -> Resources {
    let mut sum = Resources::default();
    for RolePlan { tasks, resources, .. } in &plan.roles {
        sum.cpus_milli = sum.cpus_milli.saturating_add(resources.cpus_milli.saturating_mul((*tasks).into()));
        sum.memory_bytes = sum.memory_bytes.saturating_add(resources.memory_bytes.saturating_mul((*tasks).into()));
        for (kind, count) in &resources.accelerators {
            let have = sum.accelerators.entry(kind.clone()).or_default();
            *have = have.saturating_add(count.saturating_mul(*tasks));
        }
    }
    sum
}

fn insert_plan(sql: &Sql<'_>, new: &NewJob) -> Result<(), StoreError> {
    let values = [new.id.into(), (&new.spec).into(), Value::json(&new.plan)];
    sql.execute("INSERT INTO job_plan (job, spec, plan) VALUES ($1, $2, $3)", &values)?;
    Ok(())
}

fn insert_tags(sql: &Sql<'_>, new: &NewJob) -> Result<(), StoreError> {
    // The same tag twice says nothing more than once.
    for tag in new.plan.tags.iter().collect::<BTreeSet<_>>() {
        sql.execute("INSERT INTO job_tag (job, tag) VALUES ($1, $2)", &[new.id.into(), tag.into()])?;
    }
    Ok(())
}

fn insert_key(sql: &Sql<'_>, new: &NewJob, version: u32) -> Result<(), StoreError> {
    let Some(key) = &new.key else { return Ok(()) };
    sql.execute(
        "INSERT INTO submit_key (owner, text, body_hash, job, name, version, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &[
            (&new.owner).into(),
            (&key.text).into(),
            (&key.body_hash).into(),
            new.id.into(),
            new.plan.name.as_str().into(),
            version.into(),
            new.at_ms.into(),
        ],
    )?;
    Ok(())
}
