//! What jobs have to do with each other: whose output one begins with, and who reads where another writes.

use model::{
    ids::JobId,
    layout,
    location::Location,
    plan::{Beginning, Plan},
};

use super::{Sql, StoreError};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It begins with the other's output.
    From,
    Rerun,
    Reads,
    Writes,
}

impl How {
    const SPELLED: [(How, &str); 4] = [(How::From, "from"), (How::Rerun, "rerun"), (How::Reads, "reads"), (How::Writes, "writes")];

    fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(how, _)| *how == self).expect("SPELLED has every one").1
    }
}

/// Written with the job itself.
pub fn note(sql: &Sql<'_>, job: JobId, version: u32, plan: &Plan) -> Result<(), StoreError> {
    let former = match &plan.freight.from {
        Some(Beginning::Former(former)) => Some((How::From, former.id.to_string())),
        Some(Beginning::At(place)) => Some((How::Reads, place.without_query())),
        Some(Beginning::Job(_)) | None => None,
    };
    let rerun = plan.origin.rerun_of.iter().map(|it| (How::Rerun, it.id.to_string()));
    let reads = plan.freight.inputs.iter().map(|it| (How::Reads, it.from.without_query()));
    let writes = written(plan, version).into_iter().map(|it| (How::Writes, it.without_query()));
    for (how, what) in former.into_iter().chain(rerun).chain(reads).chain(writes) {
        let values = [job.into(), how.text().into(), what.into()];
        sql.execute("INSERT INTO lineage (job, how, what) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", &values)?;
    }
    Ok(())
}

/// The places that a job's output is copied to, as one finds them there.
pub fn written(plan: &Plan, version: u32) -> Vec<Location> {
    let chief = layout::chief(plan).map(|chief| layout::of_task(plan, version, &chief));
    chief.into_iter().flat_map(|freight| freight.outputs).map(|output| output.to).collect()
}

/// Jobs that name this one, the oldest first.
pub fn naming(sql: &Sql<'_>, how: How, job: JobId, most: u32) -> Result<Vec<JobId>, StoreError> {
    let question = "SELECT job FROM lineage WHERE what = $1 AND how = $2 ORDER BY job LIMIT $3";
    sql.query(question, &[job.to_string().into(), how.text().into(), most.into()], |row| row.parsed("job"))
}

/// Jobs that read or write at a place, below it or above it, the oldest first, with the place that each names.
pub fn at(sql: &Sql<'_>, how: How, place: &str, most: u32) -> Result<Vec<(JobId, String)>, StoreError> {
    // What is below begins with the place and a `/`; `0` is what comes after that.
    let below = "SELECT job, what FROM lineage WHERE how = $1 AND (what = $2 OR (what > $3 AND what < $4)) ORDER BY job LIMIT $5";
    let inside = place.strip_suffix('/').unwrap_or(place);
    let (after, before) =
        if place.ends_with(':') { (place.to_owned(), place.replace(':', ";")) } else { (format!("{inside}/"), format!("{inside}0")) };
    let values = [how.text().into(), place.into(), after.into(), before.into(), most.into()];
    let read = |row: &super::Row<'_>| Ok((row.parsed("job")?, row.text("what")?));
    let mut found = sql.query(below, &values, read)?;
    for above in above(place) {
        let values = [how.text().into(), above.into(), most.into()];
        found.extend(sql.query("SELECT job, what FROM lineage WHERE how = $1 AND what = $2 ORDER BY job LIMIT $3", &values, read)?);
    }
    found.sort();
    found.dedup_by_key(|it| it.0);
    found.truncate(most as usize);
    Ok(found)
}

/// Every place that this one is in: `data:`, `data:a` and `data:a/b` for `data:a/b/c`.
fn above(place: &str) -> Vec<&str> {
    let ends = place.char_indices().filter(|(at, c)| *c == '/' && *at > 0).map(|(at, _)| at);
    let volume = place.find(':').filter(|at| place.len() > at + 1 && !place[at + 1..].starts_with("//")).map(|at| &place[..=at]);
    let above = |end: usize| !place[..end].ends_with('/') && !place[..end].ends_with(':');
    volume.into_iter().chain(ends.filter(|end| above(*end)).map(|end| &place[..end])).collect()
}

#[cfg(test)]
mod tests {
    use model::{
        channels::{InputPlan, Layout, OutputPlan},
        plan::FormerJob,
    };

    use super::*;
    use crate::store::{
        jobs::{self, NewJob},
        testing::*,
    };

    fn job(number: u64, reads: &[&str], writes: &[&str]) -> NewJob {
        let mut new = new_job(number, "digits");
        let input = |from: &&str| InputPlan { name: Some(format!("{from:?}")), from: from.parse().unwrap(), unpack: false };
        let output = |to: &&str| OutputPlan { name: None, to: to.parse().unwrap(), layout: Layout::Chief };
        new.plan.freight.inputs = reads.iter().map(input).collect();
        new.plan.freight.outputs = writes.iter().map(output).collect();
        new
    }

    #[tokio::test]
    async fn whoever_reads_where_another_writes_is_found() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            jobs::submit(sql, &job(1, &[], &["data:models/a"]))?;
            jobs::submit(sql, &job(2, &["data:models/a"], &[]))?;
            jobs::submit(sql, &job(3, &["data:models/a/best.bin"], &[]))?;
            jobs::submit(sql, &job(4, &["data:models"], &[]))?;
            jobs::submit(sql, &job(5, &["data:"], &[]))?;
            jobs::submit(sql, &job(6, &["data:models/ab", "data:models/a-b", "other:models/a"], &[]))?;
            let all = at(sql, How::Reads, "data:models/a", 10)?;
            let told: Vec<String> =
                all.iter().map(|(id, what)| format!("{} {what}", (1..7).find(|it| job_id(*it) == *id).unwrap())).collect();
            let back = at(sql, How::Writes, "data:models/a/best.bin", 10)?;
            let whole = at(sql, How::Writes, "data:", 10)?;
            Ok((told.join(", "), back.len(), whole.len(), at(sql, How::Reads, "data:models/a", 1)?.len()))
        };
        let told = store.write(write).await.unwrap();
        assert_eq!(told, ("2 data:models/a, 3 data:models/a/best.bin, 4 data:models, 5 data:".to_owned(), 1, 1, 1));
    }

    #[tokio::test]
    async fn who_begins_with_another_s_output_is_found_until_it_is_deleted() {
        let place = Place::new();
        let store = place.open();
        let former = FormerJob { id: job_id(1), label: "digits@1".into(), chief: "worker-0".into() };
        let mut later = new_job(2, "digits");
        later.plan.freight.from = Some(Beginning::Former(former.clone()));
        later.plan.origin.rerun_of = Some(former);
        store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
        store.write(move |sql| jobs::submit(sql, &later)).await.unwrap();
        let asked = |sql: &Sql<'_>| Ok((naming(sql, How::From, job_id(1), 9)?, naming(sql, How::Rerun, job_id(1), 9)?));
        assert_eq!(store.read(asked).await.unwrap(), (vec![job_id(2)], vec![job_id(2)]));
        place.change_by_hand("UPDATE job SET state = 'failed'");
        assert_eq!(store.write(|sql| jobs::delete(sql, job_id(2))).await.unwrap(), crate::store::Written::Yes);
        assert_eq!(store.read(asked).await.unwrap(), (vec![], vec![]));
    }

    #[test]
    fn a_place_is_in_every_one_above_it() {
        assert_eq!(above("data:a/b/c"), ["data:", "data:a", "data:a/b"]);
        assert_eq!(above("/mnt/x"), ["/mnt"]);
        assert_eq!(above("https://host/a/b"), ["https://host", "https://host/a"]);
        assert!(above("data:").is_empty());
    }
}
