//! Taking a job in: all of it or nothing of it, in the one transaction of the caller.

use std::collections::BTreeSet;

use model::{
    ids::{JobId, JobName},
    job::JobState,
    plan::{Plan, RolePlan},
    resources::Resources,
    schedule::Demand,
    words::Words,
};

use crate::store::{
    Sql, StoreError, Value,
    events::{self, NewEvent},
    lineage,
    quarantine::Kind,
};

#[derive(Clone, Debug)]
pub struct NewJob {
    pub id: JobId,
    pub owner: String,
    /// The JSON that was submitted.
    pub spec: String,
    pub plan: Plan,
    /// What the person was told about it, kept as events.
    pub notes: Vec<Words>,
    pub at_ms: u64,
    pub key: Option<Key>,
}

/// An idempotency key. It counts within its owner, so nobody can learn of another's jobs by guessing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    pub text: String,
    /// Of what the request asks for: the same key with something else is a mistake, not a repeat.
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
    if let Some(key) = &new.key
        && let Some(known) = known(sql, &new.owner, key)?
    {
        return Ok(known);
    }
    let version = next_version(sql, &new.owner, &new.plan.name)?;
    insert_job(sql, new, version)?;
    insert_plan(sql, new)?;
    insert_tags(sql, new)?;
    insert_key(sql, new, version)?;
    lineage::note(sql, new.id, version, &new.plan)?;
    events::append(sql, &NewEvent::of_job(new.at_ms, (new.id, FIRST_ATTEMPT), "submitted", Words::default()))?;
    for note in &new.notes {
        events::append(sql, &NewEvent::of_job(new.at_ms, (new.id, FIRST_ATTEMPT), NOTE, note.clone()))?;
    }
    Ok(Submission::Made { version })
}

const FIRST_ATTEMPT: u32 = 1;
/// The kind of event that says what the person was told.
pub const NOTE: &str = "note";

/// What this key has done before, if anything.
pub fn known(sql: &Sql<'_>, owner: &str, key: &Key) -> Result<Option<Submission>, StoreError> {
    let question = "SELECT text, body_hash, job, name, version FROM submit_key WHERE owner = $1 AND text = $2";
    sql.first_sound(Kind::SubmitKey, question, &[owner.into(), (&key.text).into()], |row| {
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
                          description, search, tags, tasks, resources, demand, params, reason, created_at_ms, queued_at_ms, gang)
         VALUES ($1, $2, $3, $4, $5, $6, 0, 0, $7, $8, $9, $10, $11, $12, $13, $14, $15, '', $16, $16, $17)",
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
            searchable(plan.name.as_str(), &plan.description).into(),
            Value::json(&plan.tags),
            plan.task_count().into(),
            Value::json(&altogether(plan)),
            Value::json(&gang),
            Value::json(&plan.params),
            new.at_ms.into(),
            u32::from(plan.gang).into(),
        ],
    )?;
    Ok(())
}

/// What a search by text looks through. Postgres indexes no entry longer than 2,700 bytes, and nobody
/// looks for a job by the end of a long description.
pub(super) fn searchable(name: &str, description: &str) -> String {
    const SEARCH_CHARACTERS_MAX: usize = 600;
    format!("{name}\n{description}").to_lowercase().chars().take(SEARCH_CHARACTERS_MAX).collect()
}

fn demand(role: &RolePlan) -> Demand {
    Demand { role: role.name.clone(), tasks: role.tasks, each: role.needs() }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::store::{Store, Written, events, jobs, testing::*};

    fn with_key(number: u64, body_hash: &str) -> NewJob {
        NewJob { key: Some(Key { text: "k".into(), body_hash: body_hash.into() }), ..new_job(number, "digits") }
    }

    async fn submitted(store: &Store, new: NewJob) -> Submission {
        store.write(move |sql| submit(sql, &new)).await.unwrap()
    }

    /// Submits all of them at once, from as many tasks.
    async fn all_at_once(store: &Store, jobs: impl Iterator<Item = NewJob>) -> Vec<Submission> {
        let waiting: Vec<_> = jobs
            .map(|new| {
                tokio::spawn({
                    let store = store.clone();
                    async move { submitted(&store, new).await }
                })
            })
            .collect();
        let mut answers = Vec::new();
        for answer in waiting {
            answers.push(answer.await.unwrap());
        }
        answers
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn sixty_four_submissions_with_one_key_make_one_job() {
        let place = Place::new();
        let store = place.open();
        let answers = all_at_once(&store, (1..=64).map(|number| with_key(number, "same"))).await;
        let made = answers.iter().filter(|it| matches!(it, Submission::Made { version: 1 })).count();
        let known: BTreeSet<JobId> =
            answers.iter().filter_map(|it| if let Submission::Known { id, .. } = it { Some(*id) } else { None }).collect();
        assert_eq!((made, known.len()), (1, 1));
        assert_eq!(store.read(jobs::count_queued).await, Ok(1));
        assert_eq!(store.read(|sql| events::after(sql, 0, None, 100)).await.unwrap().len(), 1);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn sixty_four_submissions_of_one_name_get_versions_one_to_sixty_four() {
        let place = Place::new();
        let store = place.open();
        let answers = all_at_once(&store, (1..=64).map(|number| new_job(number, "digits"))).await;
        let versions: BTreeSet<u32> =
            answers.iter().filter_map(|it| if let Submission::Made { version } = it { Some(*version) } else { None }).collect();
        assert_eq!(versions, (1..=64).collect());
    }

    #[tokio::test]
    async fn a_key_belongs_to_one_body_and_one_owner() {
        let place = Place::new();
        let store = place.open();
        assert_eq!(submitted(&store, with_key(1, "one")).await, Submission::Made { version: 1 });
        assert_eq!(submitted(&store, with_key(2, "other")).await, Submission::KeyUsedForOther);
        let bobs = NewJob { owner: "bob".into(), ..with_key(3, "one") };
        assert_eq!(submitted(&store, bobs).await, Submission::Made { version: 1 });
    }

    #[tokio::test]
    async fn a_key_goes_on_naming_a_job_that_was_deleted() {
        let place = Place::new();
        let store = place.open();
        assert_eq!(submitted(&store, with_key(1, "same")).await, Submission::Made { version: 1 });
        let stopped = to(JobState::Stopped, 5);
        let _ = store.write(move |sql| jobs::advance(sql, (job_id(1), JobState::Queued, 1), &stopped)).await.unwrap();
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(1))).await, Ok(Written::Yes));
        let known = Submission::Known { id: job_id(1), name: "digits".parse().unwrap(), version: 1 };
        assert_eq!(submitted(&store, with_key(2, "same")).await, known);
        assert_eq!(store.read(|sql| jobs::get(sql, job_id(1))).await, Ok(None));
    }

    #[tokio::test]
    async fn a_submission_that_fails_at_its_end_leaves_nothing() {
        let place = Place::new();
        let store = place.open();
        let failed = store.write(|sql| {
            submit(sql, &with_key(1, "same"))?;
            Err::<(), _>(StoreError::Sql("changed my mind".into()))
        });
        assert_eq!(failed.await, Err(StoreError::Sql("changed my mind".into())));
        assert_eq!(submitted(&store, with_key(2, "same")).await, Submission::Made { version: 1 });
        let events = store.read(|sql| events::after(sql, 0, None, 100)).await.unwrap();
        assert_eq!(events.iter().map(|it| it.seq).collect::<Vec<_>>(), [1], "the first one's number was not spent");
    }

    #[test]
    fn what_all_tasks_need_together_never_wraps_around() {
        let mut plan = plan("digits");
        assert_eq!(altogether(&plan).to_string(), "3 CPU, 192MiB");
        plan.roles[0].resources.memory_bytes = u64::MAX;
        assert_eq!(altogether(&plan).memory_bytes, u64::MAX);
    }
}
