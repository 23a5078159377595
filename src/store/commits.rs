//! Which commit the code of a job is, when it comes from git.

use model::ids::RunKey;

use super::{
    Sql, StoreError, Written,
    runs::{THIS_RUN, key},
};

/// Notes what a run has found. The first that finds anything finds it for its job: all of its tasks and later attempts get the
/// same, wherever the branch has gone meanwhile.
pub fn found(sql: &Sql<'_>, run: &RunKey, commit: &str) -> Result<Written, StoreError> {
    let values = [&key(run)[..], &[commit.into()]].concat();
    let job_s = "SELECT job.commit_id FROM job WHERE job.id = run.job";
    let changed = sql.execute(&format!("UPDATE run SET commit_id = COALESCE(({job_s}), $5) WHERE {THIS_RUN}"), &values)?;
    if changed > 0 {
        sql.execute("UPDATE job SET commit_id = COALESCE(commit_id, $2) WHERE id = $1", &[run.job.into(), commit.into()])?;
    }
    Ok(Written::from_rows(changed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{jobs, runs, testing::*};

    #[tokio::test]
    async fn the_first_commit_that_is_found_is_the_job_s_and_every_task_s() {
        let (place, job) = (Place::new(), job_id(1));
        let store = place.open();
        let (one, other, unknown) = (run_key(1, "worker-0", 1), run_key(1, "worker-1", 1), run_key(2, "worker-0", 1));
        let write = move |sql: &Sql<'_>| {
            jobs::submit(sql, &new_job(1, "digits"))?;
            runs::insert(sql, &new_run(&one))?;
            runs::insert(sql, &new_run(&other))?;
            let written = [found(sql, &one, "aa")?, found(sql, &other, "bb")?, found(sql, &one, "cc")?, found(sql, &unknown, "dd")?];
            let runs: Vec<_> = runs::of_job(sql, job)?.into_iter().map(|run| run.commit).collect();
            Ok((written, runs, jobs::get(sql, job)?.and_then(|job| job.commit)))
        };
        let told = store.write(write).await.unwrap();
        let (yes, a) = (Written::Yes, Some("aa".to_owned()));
        assert_eq!(told, ([yes, yes, yes, Written::Stale], vec![a.clone(), a.clone()], a));
    }
}
