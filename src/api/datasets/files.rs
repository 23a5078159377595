//! The files of a version of a dataset, which are read and never changed.

use model::{
    ids::DatasetName,
    versioned::{Version, Versioned},
};

use super::{
    super::{files::Place, job_files},
    App, Holder, found, stored,
};
use crate::error::Error;

/// The version, and the path in it; none if a volume is meant.
pub fn named(at: &str) -> Option<(Versioned<DatasetName>, &str)> {
    let (name, path) = at.split_once(':')?;
    Some((name.parse().ok()?, path.trim_matches('/')))
}

pub async fn place(app: &App, holder: &Holder, (named, path): (Versioned<DatasetName>, &str)) -> Result<Place, Error> {
    let Versioned { name, version } = &named;
    let dataset = found(app, holder, name.as_str()).await?.named.name;
    let wanted = *version;
    let version = app.store.read(move |sql| stored(sql, &dataset, wanted)).await?;
    let gone = || Error::NoSuchDatasetVersion { dataset: name.to_string(), version: Version::to_string(&wanted) };
    job_files::of_place(app, holder, (&named.to_string(), &version.ok_or_else(gone)?.what.at), path).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_behind_a_version_is_a_dataset_s() {
        let read = |at: &str| named(at).map(|(named, path)| format!("{named} {path}"));
        assert_eq!(read("mnist@3:train/a"), Some("mnist@3 train/a".into()));
        assert_eq!(read("mnist@latest:"), Some("mnist@latest ".into()));
        for other in ["data:mnist@3", "mnist:x", "mnist@3", "mnist@x:a", "http://host/a@3:x"] {
            assert_eq!(read(other), None, "{other}");
        }
    }
}
