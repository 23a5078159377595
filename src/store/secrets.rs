//! Secrets: those that people keep by name, and those of jobs. Only seals are stored; the values are on their way to a
//! task or nowhere.

use std::collections::BTreeMap;

use model::{ids::JobId, plan::SecretPlan, secret::SecretValues};

use super::{Row, Sql, StoreError, Written, jobs::Job, volumes::StoredVolume};
use crate::seal::{Seal, SealError};

mod old;

pub use old::seal_old;

/// What may be known of a secret: that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    pub name: String,
    pub updated_at_ms: u64,
}

/// A name cannot have a slash in it, so no two secrets share a context.
fn context(owner: &str, name: &str) -> String {
    format!("secret {owner}/{name}")
}

fn context_of_job(job: &str) -> String {
    format!("secrets of {job}")
}

/// Keeps a secret, in the place of one of that name.
pub fn set(sql: &Sql<'_>, seal: &Seal, (owner, name): (&str, &str), value: &str, at_ms: u64) -> Result<(), StoreError> {
    let sealed = seal.seal(&context(owner, name), value.as_bytes())?;
    sql.execute(
        "INSERT INTO secret (owner, name, sealed, updated_at_ms) VALUES ($1, $2, $3, $4)
         ON CONFLICT (owner, name) DO UPDATE SET sealed = excluded.sealed, updated_at_ms = excluded.updated_at_ms",
        &[owner.into(), name.into(), sealed.into(), at_ms.into()],
    )?;
    Ok(())
}

pub fn list(sql: &Sql<'_>, owner: &str) -> Result<Vec<Kept>, StoreError> {
    sql.query("SELECT name, updated_at_ms FROM secret WHERE owner = $1 ORDER BY name", &[owner.into()], |row| {
        Ok(Kept { name: row.text("name")?, updated_at_ms: row.number("updated_at_ms")? })
    })
}

pub fn remove(sql: &Sql<'_>, owner: &str, name: &str) -> Result<Written, StoreError> {
    Ok(Written::from_rows(sql.execute("DELETE FROM secret WHERE owner = $1 AND name = $2", &[owner.into(), name.into()])?))
}

pub fn value(sql: &Sql<'_>, seal: &Seal, owner: &str, name: &str) -> Result<Option<String>, StoreError> {
    let question = "SELECT sealed FROM secret WHERE owner = $1 AND name = $2";
    let sealed = sql.first(question, &[owner.into(), name.into()], |row| row.text("sealed"))?;
    sealed.map(|sealed| Ok(text(seal.open(&context(owner, name), &sealed)?))).transpose()
}

/// Only text is ever sealed.
fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Keeps what was written into a job file.
pub fn keep_of_job(sql: &Sql<'_>, seal: &Seal, job: JobId, values: &SecretValues) -> Result<(), StoreError> {
    if values.0.is_empty() {
        return Ok(());
    }
    let job = job.to_string();
    let sealed = sealed_values(seal, &job, values)?;
    sql.execute("INSERT INTO job_secret (job, sealed) VALUES ($1, $2)", &[job.into(), sealed.into()])?;
    Ok(())
}

fn sealed_values(seal: &Seal, job: &str, values: &SecretValues) -> Result<String, SealError> {
    seal.seal(&context_of_job(job), &serde_json::to_vec(values).expect("text by name is JSON"))
}

/// What was written into a job file; nothing for most.
pub fn of_job(sql: &Sql<'_>, seal: &Seal, job: JobId) -> Result<SecretValues, StoreError> {
    let sealed = sql.first("SELECT sealed FROM job_secret WHERE job = $1", &[job.into()], |row| row.text("sealed"))?;
    let Some(sealed) = sealed else { return Ok(SecretValues::default()) };
    let bytes = seal.open(&context_of_job(&job.to_string()), &sealed)?;
    serde_json::from_slice(&bytes).map_err(|_| StoreError::Seal(format!("the secrets of {job} are not what was sealed")))
}

/// What the plan says a run needs, by the names that the job has for it. The error names one that is not kept any more.
pub fn of_run(
    sql: &Sql<'_>,
    seal: &Seal,
    job: &Job,
    wanted: &BTreeMap<String, SecretPlan>,
) -> Result<Result<SecretValues, String>, StoreError> {
    let written = of_job(sql, seal, job.id)?;
    let mut values = SecretValues::default();
    for (name, plan) in wanted {
        let value = match &plan.named {
            Some(kept) => value(sql, seal, &job.owner, kept)?,
            None => written.0.get(name).cloned(),
        };
        match value {
            Some(value) => drop(values.0.insert(name.clone(), value)),
            None => return Ok(Err(plan.named.clone().unwrap_or_else(|| name.clone()))),
        }
    }
    Ok(Ok(values))
}

fn context_of_volume(name: &str) -> String {
    name.parse().map(|name| StoredVolume::seal_context(&name)).unwrap_or_default()
}

/// Where seals are: the table, what tells its rows apart, and what a row's seal is for.
struct Sealed {
    table: &'static str,
    keys: &'static [&'static str],
    context: fn(&[String]) -> String,
}

const SEALED: [Sealed; 3] = [
    Sealed { table: "secret", keys: &["owner", "name"], context: |keys| context(&keys[0], &keys[1]) },
    Sealed { table: "job_secret", keys: &["job"], context: |keys| context_of_job(&keys[0]) },
    Sealed { table: "volume", keys: &["name"], context: |keys| context_of_volume(&keys[0]) },
];

/// One seal of each place that has any, to see whether the key is the right one.
pub fn samples(sql: &Sql<'_>) -> Result<Vec<String>, StoreError> {
    let mut samples = Vec::new();
    for Sealed { table, .. } in &SEALED {
        let question = format!("SELECT sealed FROM {table} WHERE sealed IS NOT NULL LIMIT 1");
        samples.extend(sql.first(&question, &[], |row| Ok(row.shown_whole("sealed")))?);
    }
    Ok(samples)
}

/// Seals everything anew that the current key has not sealed. Answers how much that was.
pub fn reseal(sql: &Sql<'_>, seal: &Seal) -> Result<usize, StoreError> {
    SEALED.iter().map(|place| place.reseal(sql, seal)).sum()
}

impl Sealed {
    fn reseal(&self, sql: &Sql<'_>, seal: &Seal) -> Result<usize, StoreError> {
        let question = format!("SELECT {}, sealed FROM {} WHERE sealed IS NOT NULL", self.keys.join(", "), self.table);
        let keys = |row: &Row<'_>| self.keys.iter().map(|key| row.text(key)).collect::<Result<Vec<_>, _>>();
        let rows = sql.query(&question, &[], |row| Ok((keys(row)?, row.text("sealed")?)))?;
        let old: Vec<_> = rows.into_iter().filter(|(_, sealed)| !seal.is_current(sealed)).collect();
        for (keys, sealed) in &old {
            let context = (self.context)(keys);
            let anew = seal.seal(&context, &seal.open(&context, sealed)?)?;
            let guards: Vec<String> = self.keys.iter().zip(2..).map(|(key, number)| format!("{key} = ${number}")).collect();
            let values: Vec<_> = std::iter::once(anew.into()).chain(keys.iter().map(Into::into)).collect();
            sql.execute(&format!("UPDATE {} SET sealed = $1 WHERE {}", self.table, guards.join(" AND ")), &values)?;
        }
        Ok(old.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs, testing::*};

    fn values(pairs: &[(&str, &str)]) -> SecretValues {
        SecretValues(pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<BTreeMap<_, _>>())
    }

    #[tokio::test]
    async fn a_secret_is_its_owners_and_the_newest_counts() {
        let (place, store, seal) = sealed_place();
        for (owner, value, at_ms) in [("ann", "old", 1), ("ann", "new-s3cret", 2), ("bob", "bobs", 3)] {
            let seal = seal.clone();
            store.write(move |sql| set(sql, &seal, (owner, "wandb"), value, at_ms)).await.unwrap();
        }
        let there = store.read(|sql| list(sql, "ann")).await.unwrap();
        assert_eq!(there, [Kept { name: "wandb".into(), updated_at_ms: 2 }]);
        let got = async |owner: &'static str, seal: Seal| store.read(move |sql| value(sql, &seal, owner, "wandb")).await.unwrap();
        assert_eq!(got("ann", seal.clone()).await.as_deref(), Some("new-s3cret"));
        assert_eq!(got("eve", seal.clone()).await, None);
        place.change_by_hand("UPDATE secret SET sealed = (SELECT sealed FROM secret WHERE owner = 'bob') WHERE owner = 'ann'");
        let moved = store.read(move |sql| value(sql, &seal, "ann", "wandb")).await;
        assert!(matches!(moved, Err(StoreError::Seal(_))), "a seal opens in its own place alone: {moved:?}");
        assert_eq!(store.write(|sql| remove(sql, "ann", "wandb")).await, Ok(Written::Yes));
        assert_eq!(store.write(|sql| remove(sql, "ann", "wandb")).await, Ok(Written::Stale));
    }

    #[tokio::test]
    async fn the_secrets_of_a_job_go_with_it() {
        let (place, store, seal) = sealed_place();
        let (kept, sealing) = (values(&[("key", "s3cret")]), seal.clone());
        let submit = move |sql: &Sql<'_>| {
            jobs::submit(sql, &new_job(1, "digits"))?;
            keep_of_job(sql, &sealing, job_id(1), &kept)
        };
        store.write(submit).await.unwrap();
        let opening = seal.clone();
        assert_eq!(store.read(move |sql| of_job(sql, &opening, job_id(1))).await, Ok(values(&[("key", "s3cret")])));
        assert_eq!(store.read(move |sql| of_job(sql, &seal, job_id(2))).await, Ok(SecretValues::default()));
        place.change_by_hand("UPDATE job SET state = 'stopped'");
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(1))).await, Ok(Written::Yes));
        assert_eq!(store.read(samples).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn a_new_key_seals_everything_and_the_old_one_is_not_needed_any_more() {
        let (place, store, seal) = sealed_place();
        let (first, second) = (seal.clone(), seal.clone());
        store.write(move |sql| set(sql, &first, ("ann", "wandb"), "s3cret", 1)).await.unwrap();
        let volume = second.seal("volume data", b"keys").unwrap();
        store.write(move |sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        store.write(move |sql| keep_of_job(sql, &second, job_id(1), &values(&[("key", "x")]))).await.unwrap();
        place.change_by_hand(&format!("INSERT INTO volume VALUES ('data', '{{}}', 'ann', 0, '{volume}', 1)"));
        seal.renew().unwrap();
        let resealing = seal.clone();
        assert_eq!(store.write(move |sql| reseal(sql, &resealing)).await, Ok(3));
        seal.forget_old_keys().unwrap();
        for sealed in store.read(samples).await.unwrap() {
            assert!(seal.is_current(&sealed));
        }
        assert_eq!(store.read(move |sql| value(sql, &seal, "ann", "wandb")).await.unwrap().as_deref(), Some("s3cret"));
    }
}
