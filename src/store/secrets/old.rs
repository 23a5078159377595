//! Jobs from before there were seals: their secrets stand in the plan and the spec for anyone to read.

use std::{fs, path::Path};

use model::secret::SecretValues;
use rusqlite::{Connection, TransactionBehavior, params};
use serde_json::{Map, Value, json};

use super::sealed_values;
use crate::{seal::Seal, store::open::FILE_NAME};

const MARK: &str = "secrets_in_plain_text";
/// What the mark says: there may be some; they are sealed, and what they were may still lie about; all is done.
const TO_SEAL: i64 = 1;
const TO_SWEEP: i64 = 2;
const DONE: i64 = 0;

/// Seals the secrets of all jobs from before, once. Nothing of them stays behind: not in pages of the database that are no
/// longer used, not in its log, and not in the copies from before the change.
///
/// Done on a connection of its own before anyone else writes: pages can only be swept outside of a transaction.
pub fn seal_old(data: &Path, seal: &Seal) -> Result<(), OldSecrets> {
    let path = data.join(FILE_NAME);
    let mut connection = Connection::open(&path)?;
    if mark(&connection)? == TO_SEAL {
        seal_all(&mut connection, seal)?;
    }
    if mark(&connection)? == TO_SWEEP {
        connection.execute_batch("VACUUM")?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        remove_copies(data)?;
        set_mark(&connection, DONE)?;
        tracing::info!("the secrets of earlier jobs are sealed now; copies of the database with them in plain text were removed");
    }
    Ok(())
}

#[derive(Debug, thiserror::Error)]
pub enum OldSecrets {
    #[error(transparent)]
    Sql(#[from] rusqlite::Error),
    #[error(transparent)]
    Seal(#[from] crate::seal::SealError),
    #[error("a copy of the database with secrets in plain text cannot be removed: {0}")]
    Copy(#[from] std::io::Error),
}

fn mark(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("SELECT COALESCE(MAX(value), 0) FROM meta WHERE name = ?1", [MARK], |row| row.get(0))
}

fn set_mark(connection: &Connection, mark: i64) -> rusqlite::Result<usize> {
    connection.execute("UPDATE meta SET value = ?2 WHERE name = ?1", params![MARK, mark])
}

fn seal_all(connection: &mut Connection, seal: &Seal) -> Result<(), OldSecrets> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let old = jobs_from_before(&transaction)?;
    for Old { job, values, spec, plan } in &old {
        let sealed = sealed_values(seal, job, values)?;
        transaction.execute("INSERT OR REPLACE INTO job_secret (job, sealed) VALUES (?1, ?2)", params![job, sealed])?;
        transaction.execute("UPDATE job_plan SET spec = ?2, plan = ?3 WHERE job = ?1", params![job, spec, plan])?;
    }
    set_mark(&transaction, if old.is_empty() { DONE } else { TO_SWEEP })?;
    Ok(transaction.commit()?)
}

fn jobs_from_before(connection: &Connection) -> rusqlite::Result<Vec<Old>> {
    let mut statement = connection.prepare("SELECT job, spec, plan FROM job_plan WHERE plan LIKE '%\"secrets\":{\"%'")?;
    // A row that cannot be read is set aside when it is met.
    let text = |row: &rusqlite::Row<'_>, at: usize| row.get::<_, String>(at).unwrap_or_default();
    let rows = statement.query_map([], |row| Ok(Old::read(text(row, 0), &text(row, 1), &text(row, 2))))?;
    rows.filter_map(Result::transpose).collect()
}

/// A job from before, taken apart.
struct Old {
    job: String,
    values: SecretValues,
    spec: String,
    plan: String,
}

impl Old {
    /// `None` for a job that has no secret in plain text, or cannot be read.
    fn read(job: String, spec: &str, plan: &str) -> Option<Self> {
        let (mut spec, mut plan): (Value, Value) = (serde_json::from_str(spec).ok()?, serde_json::from_str(plan).ok()?);
        let secrets: &mut Map<String, Value> = plan.get_mut("secrets")?.as_object_mut()?;
        let mut values = SecretValues::default();
        for (name, value) in secrets {
            if let Value::String(text) = value {
                values.0.insert(name.clone(), std::mem::take(text));
                *value = json!({});
            }
        }
        model::spec::mask(&mut spec);
        (!values.0.is_empty()).then(|| Self { job, values, spec: spec.to_string(), plan: plan.to_string() })
    }
}

/// Copies that were kept before a change of the database's shape.
fn remove_copies(data: &Path) -> std::io::Result<()> {
    for entry in fs::read_dir(data)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(&format!("{FILE_NAME}.before-")) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs, secrets, testing::*};

    /// A database of the last shape before seals, with a job whose secrets stand in it, and one that was deleted.
    async fn from_before(place: &Place) {
        let store = place.open();
        for (number, name) in [(1, "login"), (2, "plain"), (3, "gone")] {
            store.write(move |sql| jobs::submit(sql, &new_job(number, name))).await.unwrap();
        }
        drop(store);
        let connection = place.by_hand();
        let plan: String = connection.query_row("SELECT plan FROM job_plan LIMIT 1", [], |row| row.get(0)).unwrap();
        let write = |job, secret: &str| {
            let plan = plan.replace("\"secrets\":{}", &format!("\"secrets\":{{\"key\":\"{secret}\"}}"));
            let spec = format!("{{\"name\":\"login\",\"secrets\":{{\"key\":\"{secret}\"}}}}");
            let change = "UPDATE job_plan SET spec = ?2, plan = ?3 WHERE job = ?1";
            connection.execute(change, params![job_id(job).to_string(), spec, plan]).unwrap();
        };
        write(1, "hush-hush-one");
        write(3, &format!("hush-hush-three{}", "x".repeat(20_000)));
        connection.execute("DELETE FROM job WHERE name = 'gone'", []).unwrap();
        fs::copy(place.file(), place.file().with_extension("db.before-5")).unwrap();
    }

    #[tokio::test]
    async fn secrets_from_before_are_sealed_once_and_nothing_of_them_stays() {
        let (place, _, seal) = sealed_place();
        from_before(&place).await;
        let store = place.open();
        seal_old(place.directory.path(), &seal).unwrap();
        let (opening, masked) = (seal.clone(), store.read(|sql| jobs::get(sql, job_id(1))).await.unwrap().unwrap());
        let kept = store.read(move |sql| secrets::of_job(sql, &opening, job_id(1))).await.unwrap();
        assert_eq!(kept.0["key"], "hush-hush-one");
        assert_eq!(masked.spec, r#"{"name":"login","secrets":{"key":"******"}}"#);
        assert!(store.read(|sql| jobs::get(sql, job_id(2))).await.unwrap().is_some());
        for entry in fs::read_dir(place.directory.path()).unwrap() {
            let path = entry.unwrap().path();
            let bytes = if path.is_file() { fs::read(&path).unwrap() } else { Vec::new() };
            assert!(!bytes.windows(9).any(|it| it == b"hush-hush"), "{} has a secret in it", path.display());
        }
        assert_eq!(mark(&place.by_hand()), Ok(DONE));
    }

    #[tokio::test]
    async fn a_crash_before_the_sweep_is_made_good_at_the_next_start() {
        let (place, _, seal) = sealed_place();
        from_before(&place).await;
        drop(place.open());
        seal_all(&mut place.by_hand(), &seal).unwrap();
        assert!(place.file().with_extension("db.before-5").exists());
        seal_old(place.directory.path(), &seal).unwrap();
        assert!(!place.file().with_extension("db.before-5").exists());
        assert!(!fs::read(place.file()).unwrap().windows(9).any(|it| it == b"hush-hush"));
    }
}
