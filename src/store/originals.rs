//! The files that jobs were made from.

use model::{dialect::Report, ids::JobId};

use super::{Sql, StoreError, Value};

#[derive(Clone, Debug, PartialEq)]
pub struct Original {
    /// Masked; none if that could not be done.
    pub text: Option<String>,
    pub report: Report,
}

/// Written with the job itself.
pub fn keep(sql: &Sql<'_>, job: JobId, original: &Original) -> Result<(), StoreError> {
    let values = [job.into(), original.text.clone().into(), Value::json(&original.report)];
    sql.execute("INSERT INTO original (job, text, report) VALUES ($1, $2, $3)", &values)?;
    Ok(())
}

pub fn of_job(sql: &Sql<'_>, job: JobId) -> Result<Option<Original>, StoreError> {
    let read = |row: &super::sql::Row<'_>| Ok(Original { text: row.maybe_text("text")?, report: row.json("report")? });
    sql.first("SELECT job, text, report FROM original WHERE job = $1", &[job.into()], read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Written, jobs, testing::*};

    #[tokio::test]
    async fn a_file_is_kept_for_as_long_as_its_job() {
        let place = Place::new();
        let store = place.open();
        let job = job_id(1);
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        assert_eq!(store.read(move |sql| of_job(sql, job)).await.unwrap(), None);
        let original = Original { text: Some("name: a # b".into()), report: Report { dialect: "openpai_v1".into(), notes: Vec::new() } };
        let kept = original.clone();
        store.write(move |sql| keep(sql, job, &kept)).await.unwrap();
        assert_eq!(store.read(move |sql| of_job(sql, job)).await.unwrap(), Some(original));
        place.change_by_hand("UPDATE job SET state = 'failed'");
        assert_eq!(store.write(move |sql| jobs::delete(sql, job)).await.unwrap(), Written::Yes);
        assert_eq!(store.read(move |sql| of_job(sql, job)).await.unwrap(), None);
    }
}
