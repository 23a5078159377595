//! What the datasets are that a job file names: looked up once, when the job is submitted.

use model::{
    dataset::DatasetVersion,
    ids::DatasetName,
    plan::{KnownDatasets, Plan},
    spec::JobSpec,
    versioned::{Version, Versioned},
};

use super::{App, Holder, VERSIONS_TOLD_MAX};
use crate::{
    error::Error,
    store::{Sql, StoreError, datasets as rows},
};

/// Puts numbers and places into the plan, and the numbers into the spec that is kept. Whoever submits that again submits the same.
pub async fn pin(app: &App, holder: &Holder, (spec, plan): (&mut JobSpec, &mut Plan)) -> Result<(), Error> {
    let named: Vec<_> = plan.datasets_to_pin().into_iter().cloned().collect();
    if named.is_empty() {
        return Ok(());
    }
    let who = holder.clone();
    let known = app.store.read(move |sql| known(sql, &who, &named)).await?;
    plan.pin_datasets(&known).map_err(Error::BadSpec)?;
    plan.pin_into(spec);
    Ok(())
}

/// The datasets that are theirs to use; those that are named have their versions with them.
fn known(sql: &Sql<'_>, holder: &Holder, named: &[Versioned<DatasetName>]) -> Result<KnownDatasets, StoreError> {
    let theirs = rows::list(sql)?.into_iter().filter(|dataset| dataset.named.is_for(holder));
    theirs.map(|it| Ok((it.named.name.clone(), versions(sql, named.iter().filter(|named| named.name == it.named.name))?))).collect()
}

/// The newest of a dataset, and whichever else of it is named.
fn versions<'a>(sql: &Sql<'_>, named: impl Iterator<Item = &'a Versioned<DatasetName>>) -> Result<Vec<DatasetVersion>, StoreError> {
    let mut all: Vec<DatasetVersion> = Vec::new();
    for Versioned { name, version } in named {
        if all.is_empty() {
            all = rows::versions(sql, name, VERSIONS_TOLD_MAX)?.into_iter().map(|it| it.what).collect();
        }
        if let Version::Number(number) = version
            && all.iter().all(|it| it.version != *number)
        {
            all.extend(rows::version(sql, name, *number)?.map(|it| it.what));
        }
    }
    Ok(all)
}
