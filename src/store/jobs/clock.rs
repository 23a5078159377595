//! When jobs began, by the clock of the machine's life.

use model::ids::JobId;

use crate::store::{Sql, StoreError};

/// When a job began, if that was in this life of the machine.
pub fn began_up_ms(sql: &Sql<'_>, job: JobId, boot_id: &str) -> Result<Option<u64>, StoreError> {
    let question = "SELECT began_up_ms FROM job_clock WHERE job = $1 AND boot_id = $2";
    sql.first(question, &[job.into(), boot_id.into()], |row| row.number("began_up_ms"))
}

/// Notes it, unless the job is gone meanwhile.
pub fn note(sql: &Sql<'_>, job: JobId, boot_id: &str, began_up_ms: u64) -> Result<(), StoreError> {
    sql.execute(
        "INSERT INTO job_clock (job, boot_id, began_up_ms) SELECT id, $2, $3 FROM job WHERE id = $1
         ON CONFLICT (job) DO UPDATE SET boot_id = excluded.boot_id, began_up_ms = excluded.began_up_ms",
        &[job.into(), boot_id.into(), began_up_ms.into()],
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs::submit, testing::*};

    #[tokio::test]
    async fn what_was_noted_counts_in_the_same_life_of_the_machine_only() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| submit(sql, &new_job(1, "digits"))).await.unwrap();
        for began in [70, 50] {
            store.write(move |sql| note(sql, job_id(1), "this", began)).await.unwrap();
        }
        store.write(|sql| note(sql, job_id(2), "this", 9)).await.unwrap();
        let known = async |job, boot| store.read(move |sql| began_up_ms(sql, job_id(job), boot)).await.unwrap();
        assert_eq!((known(1, "this").await, known(1, "other").await, known(2, "this").await), (Some(50), None, None));
    }
}
