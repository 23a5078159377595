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
    /// A version of a dataset, by its name.
    Dataset,
    /// A version of an algorithm, by its name.
    Algorithm,
}

impl How {
    const SPELLED: [(How, &str); 6] = [
        (How::From, "from"),
        (How::Rerun, "rerun"),
        (How::Reads, "reads"),
        (How::Writes, "writes"),
        (How::Dataset, "dataset"),
        (How::Algorithm, "algorithm"),
    ];

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
    let inputs = &plan.freight.inputs;
    let reads = inputs.iter().filter_map(|it| it.from.place()).map(|it| (How::Reads, it.without_query()));
    let datasets = inputs.iter().filter_map(|it| it.from.version()).map(|it| (How::Dataset, it.name().to_string()));
    let writes = written(plan, version).into_iter().map(|it| (How::Writes, it.without_query()));
    let algorithm = plan.algorithm.iter().map(|it| (How::Algorithm, it.to_string()));
    for (how, what) in former.into_iter().chain(rerun).chain(reads).chain(datasets).chain(writes).chain(algorithm) {
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

/// A job as a person calls it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    pub id: JobId,
    pub name: String,
    pub version: u32,
}

/// The newest jobs that say they have to do with something of this name: all of them, or one owner's.
pub fn newest(sql: &Sql<'_>, (how, what): (How, &str), owner: Option<&str>, most: u32) -> Result<Vec<Named>, StoreError> {
    let mut values = vec![what.into(), how.text().into(), most.into()];
    let mut question = "SELECT job.id, job.name, job.version FROM lineage JOIN job ON job.id = lineage.job
        WHERE lineage.what = $1 AND lineage.how = $2"
        .to_owned();
    if let Some(owner) = owner {
        values.push(owner.into());
        question += " AND job.owner = $4";
    }
    question += " ORDER BY lineage.job DESC LIMIT $3";
    let read = |row: &super::Row<'_>| Ok(Named { id: row.parsed("id")?, name: row.text("name")?, version: row.number("version")? });
    sql.query(&question, &values, read)
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
        dataset::{DatasetVersion, Held, InputFrom},
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
    async fn who_reads_a_version_of_a_dataset_is_found_by_its_name_and_by_its_place() {
        let place = Place::new();
        let store = place.open();
        let held = Held { files: 1, bytes: 1, fingerprint: "f".into() };
        let mnist = DatasetVersion { dataset: "mnist".parse().unwrap(), version: 3, at: "data:mnist/v3".parse().unwrap(), held };
        let reading = |number| {
            let mut new = job(number, &["data:x"], &[]);
            new.plan.freight.inputs[0].from = InputFrom::Version(mnist.clone());
            new
        };
        let (first, second, other) = (reading(1), reading(2), job(3, &["data:mnist/v3"], &[]));
        let write = move |sql: &Sql<'_>| {
            [&first, &second, &other].into_iter().try_for_each(|new| jobs::submit(sql, new).map(|_| ()))?;
            let named = |owner, most| newest(sql, (How::Dataset, "mnist@3"), owner, most);
            let ids = |all: Vec<Named>| all.into_iter().map(|it| it.id).collect::<Vec<_>>();
            let place = at(sql, How::Reads, "data:mnist/v3", 10)?.len();
            Ok((ids(named(None, 9)?), ids(named(None, 1)?), ids(named(Some("nobody"), 9)?), place))
        };
        assert_eq!(store.write(write).await.unwrap(), (vec![job_id(2), job_id(1)], vec![job_id(2)], vec![], 3));
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
