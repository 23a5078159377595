//! Which uploaded folders the jobs' code is.

use std::collections::BTreeSet;

use model::{bundle::ContentHash, ids::JobId, wire::UploadFacts};

use super::{Sql, StoreError, Value};

/// Written with the job itself, so that the folder is wanted for as long as the job is there.
pub fn note(sql: &Sql<'_>, job: JobId, facts: &UploadFacts) -> Result<(), StoreError> {
    let values = [job.into(), (&facts.digest).into(), Value::json(facts)];
    sql.execute("INSERT INTO upload_use (job, digest, facts) VALUES ($1, $2, $3)", &values)?;
    Ok(())
}

/// What is known of a job's folder; none if its code came from elsewhere.
pub fn of_job(sql: &Sql<'_>, job: JobId) -> Result<Option<UploadFacts>, StoreError> {
    sql.first("SELECT facts FROM upload_use WHERE job = $1", &[job.into()], |row| row.json("facts"))
}

/// Every folder that a job or an algorithm names.
pub fn wanted(sql: &Sql<'_>) -> Result<BTreeSet<ContentHash>, StoreError> {
    let all = sql.query(
        "SELECT digest FROM upload_use UNION SELECT upload AS digest FROM algorithm_version WHERE upload IS NOT NULL",
        &[],
        |row| row.parsed("digest"),
    )?;
    Ok(all.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Written, jobs, testing::*};

    #[tokio::test]
    async fn a_folder_is_wanted_for_as_long_as_a_job_names_it() {
        let place = Place::new();
        let store = place.open();
        let job = job_id(1);
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        let digest = ContentHash::of(b"x");
        let facts = UploadFacts { digest: digest.to_string(), files: 1, bytes: 2, commit: None, branch: None, dirty: None };
        let noted = facts.clone();
        store.write(move |sql| note(sql, job, &noted)).await.unwrap();
        assert_eq!(store.read(move |sql| of_job(sql, job)).await.unwrap(), Some(facts));
        assert_eq!(store.read(wanted).await.unwrap(), BTreeSet::from([digest]));
        place.change_by_hand("UPDATE job SET state = 'failed'");
        assert_eq!(store.write(move |sql| jobs::delete(sql, job)).await.unwrap(), Written::Yes);
        assert_eq!(store.read(wanted).await.unwrap(), BTreeSet::new());
    }
}
