//! What names with numbered versions have in common, whatever they name.

use model::{said, versioned::Version, wire::JobRef};

use super::jobs::visible_owner;
use crate::{
    error::Error,
    store::{
        Sql, StoreError,
        lineage::{self, How},
        named::Named,
        tokens::Holder,
    },
};

/// So many jobs are told of each version.
const JOBS_TOLD_MAX: u32 = 10;

pub fn version(text: &str) -> Result<Version, Error> {
    let wanted = said!("a number from 1, or `latest`", "从 1 开始的数字，或 `latest`");
    text.parse().map_err(|_| Error::BadValue { name: "version", value: text.to_owned(), wanted })
}

/// The version that is to be forgotten. Whoever asks twice forgets one, and `latest` would be another by then.
pub fn number(text: &str) -> Result<u32, Error> {
    let wanted = said!(
        "a number from 1: `latest` is another version once one is forgotten, so look its number up first",
        "从 1 开始的数字：移除一个版本后，`latest` 就是另一个版本了，请先查出它的编号"
    );
    match text.parse() {
        Ok(Version::Number(number)) => Ok(number),
        Ok(Version::Latest) | Err(_) => Err(Error::BadValue { name: "version", value: text.to_owned(), wanted }),
    }
}

/// Whether it is the caller's to change; an administrator may change everything.
pub fn is_theirs<Name>(holder: &Holder, named: &Named<Name>) -> Result<(), Error> {
    if named.is_of(holder) { Ok(()) } else { Err(Error::Forbidden) }
}

/// The newest of the caller's jobs that were made with a version.
pub fn jobs(sql: &Sql<'_>, holder: &Holder, how: How, version: &str) -> Result<Vec<JobRef>, StoreError> {
    let jobs = lineage::newest(sql, (how, version), visible_owner(holder).as_deref(), JOBS_TOLD_MAX)?;
    Ok(jobs.into_iter().map(|it| JobRef { id: it.id.to_string(), name: it.name, version: it.version }).collect())
}
