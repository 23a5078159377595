//! Datasets and their versions: what they are and whose they are.

use model::{
    dataset::{DatasetVersion, Held},
    ids::{DatasetName, VolumeName},
};

use super::{
    Row, Sql, StoreError, Written,
    named::{self, Named, Tables},
    quarantine::Kind,
    tokens::Holder,
    volumes::{self, StoredVolume},
};

const TABLES: Tables = Tables("dataset");

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredDataset {
    pub named: Named<DatasetName>,
    pub description: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub what: DatasetVersion,
    pub note: String,
    pub made_by: String,
    pub created_at_ms: u64,
}

/// A version to be made, of a dataset that may be new.
#[derive(Clone, Debug)]
pub struct NewVersion {
    /// Its version is not looked at: the next number is found here.
    pub what: DatasetVersion,
    /// The volume that was looked through, as it was then.
    pub volume: Option<StoredVolume>,
    pub description: Option<String>,
    pub note: String,
    pub by: Holder,
    pub at_ms: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    New(StoredVersion),
    /// The newest is the same place with the same content.
    Known(StoredVersion),
    /// The name is somebody else's.
    Taken,
    /// The volume was removed while it was looked through.
    NoVolume,
}

/// Makes the next version, and the dataset with its first one. Whoever asks twice for the same gets one.
pub fn make(sql: &Sql<'_>, new: &NewVersion) -> Result<Made, StoreError> {
    let name = &new.what.dataset;
    if let Some(seen) = &new.volume
        && !volumes::is_still(sql, seen)?
    {
        return Ok(Made::NoVolume);
    }
    match get(sql, name)? {
        Some(dataset) if !dataset.named.is_of(&new.by) => return Ok(Made::Taken),
        Some(_) => {}
        None => TABLES.add(sql, &Named::of(name.clone(), &new.by, new.at_ms))?,
    }
    describe(sql, new)?;
    if let Some(newest) = versions(sql, name, 1)?.pop()
        && (&newest.what.at, &newest.what.held) == (&new.what.at, &new.what.held)
    {
        return Ok(Made::Known(newest));
    }
    let what = DatasetVersion { version: TABLES.next_number(sql, name.as_str())?, ..new.what.clone() };
    let made = StoredVersion { what, note: new.note.clone(), made_by: new.by.user.clone(), created_at_ms: new.at_ms };
    insert(sql, &made)?;
    Ok(Made::New(made))
}

fn describe(sql: &Sql<'_>, new: &NewVersion) -> Result<(), StoreError> {
    if let Some(description) = &new.description {
        let values = [new.what.dataset.as_str().into(), description.into()];
        sql.execute("UPDATE dataset SET description = $2 WHERE name = $1", &values)?;
    }
    Ok(())
}

fn insert(sql: &Sql<'_>, made: &StoredVersion) -> Result<(), StoreError> {
    let DatasetVersion { dataset, version, at, held } = &made.what;
    let values = [
        dataset.as_str().into(),
        (*version).into(),
        at.to_string().into(),
        at.volume().map(ToString::to_string).into(),
        held.files.into(),
        held.bytes.into(),
        (&held.fingerprint).into(),
        (&made.note).into(),
        (&made.made_by).into(),
        made.created_at_ms.into(),
    ];
    sql.execute(
        "INSERT INTO dataset_version (dataset, version, at, volume, files, bytes, fingerprint, note, made_by, created_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        &values,
    )?;
    Ok(())
}

const DATASET: &str = "SELECT name, description, owner, shared, created_at_ms FROM dataset";
const VERSION: &str = "SELECT dataset, version, at, files, bytes, fingerprint, note, made_by, created_at_ms FROM dataset_version";

pub fn get(sql: &Sql<'_>, name: &DatasetName) -> Result<Option<StoredDataset>, StoreError> {
    sql.first_sound(Kind::Dataset, &format!("{DATASET} WHERE name = $1"), &[name.as_str().into()], read)
}

pub fn list(sql: &Sql<'_>) -> Result<Vec<StoredDataset>, StoreError> {
    sql.query_sound(Kind::Dataset, &format!("{DATASET} ORDER BY name"), &[], read)
}

/// The newest first.
pub fn versions(sql: &Sql<'_>, name: &DatasetName, most: u32) -> Result<Vec<StoredVersion>, StoreError> {
    let question = format!("{VERSION} WHERE dataset = $1 ORDER BY version DESC LIMIT $2");
    sql.query_sound(Kind::DatasetVersion, &question, &[name.as_str().into(), most.into()], read_version)
}

pub fn version(sql: &Sql<'_>, name: &DatasetName, number: u32) -> Result<Option<StoredVersion>, StoreError> {
    let question = format!("{VERSION} WHERE dataset = $1 AND version = $2");
    sql.first_sound(Kind::DatasetVersion, &question, &[name.as_str().into(), number.into()], read_version)
}

pub fn count(sql: &Sql<'_>, name: &DatasetName) -> Result<u32, StoreError> {
    TABLES.count(sql, name.as_str())
}

pub fn remove(sql: &Sql<'_>, name: &DatasetName) -> Result<Written, StoreError> {
    TABLES.remove(sql, name.as_str())
}

pub fn remove_version(sql: &Sql<'_>, name: &DatasetName, number: u32) -> Result<Written, StoreError> {
    TABLES.remove_version(sql, name.as_str(), number)
}

/// The datasets that have versions in a volume.
pub fn in_volume(sql: &Sql<'_>, volume: &VolumeName) -> Result<Vec<String>, StoreError> {
    let question = "SELECT DISTINCT dataset FROM dataset_version WHERE volume = $1 ORDER BY dataset";
    sql.query(question, &[volume.as_str().into()], |row| row.text("dataset"))
}

fn read(row: &Row<'_>) -> Result<StoredDataset, StoreError> {
    Ok(StoredDataset { named: named::read(row)?, description: row.text("description")? })
}

fn read_version(row: &Row<'_>) -> Result<StoredVersion, StoreError> {
    let held = Held { files: row.number("files")?, bytes: row.number("bytes")?, fingerprint: row.text("fingerprint")? };
    Ok(StoredVersion {
        what: DatasetVersion { dataset: row.parsed("dataset")?, version: row.number("version")?, at: row.parsed("at")?, held },
        note: row.text("note")?,
        made_by: row.text("made_by")?,
        created_at_ms: row.number("created_at_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use model::volume::Volume;

    use super::*;
    use crate::store::{testing::*, tokens::Role};

    fn name(text: &str) -> DatasetName {
        text.parse().unwrap()
    }

    fn new(dataset: &str, at: &str, print: &str, by: &str) -> NewVersion {
        let held = Held { files: 2, bytes: 10, fingerprint: print.into() };
        NewVersion {
            what: DatasetVersion { dataset: name(dataset), version: 0, at: at.parse().unwrap(), held },
            volume: None,
            description: None,
            note: String::new(),
            by: Holder { user: by.into(), role: if by == "root" { Role::Admin } else { Role::User } },
            at_ms: 7,
        }
    }

    fn said(made: &Made) -> String {
        match made {
            Made::New(it) => format!("new {}", it.what.name()),
            Made::Known(it) => format!("known {}", it.what.name()),
            Made::Taken => "taken".into(),
            Made::NoVolume => "no volume".into(),
        }
    }

    #[tokio::test]
    async fn the_same_again_is_no_new_version_and_a_number_is_never_used_again() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            let make = |at: &str, print: &str| Ok::<_, StoreError>(said(&make(sql, &new("mnist", at, print, "ann"))?));
            let mut all =
                vec![make("data:a", "f")?, make("data:a", "f")?, make("data:a", "g")?, make("data:b", "g")?, make("data:a", "g")?];
            assert_eq!(remove_version(sql, &name("mnist"), 4)?, Written::Yes);
            assert_eq!(remove_version(sql, &name("mnist"), 4)?, Written::Stale);
            all.push(make("data:c", "g")?);
            assert_eq!((count(sql, &name("mnist"))?, remove(sql, &name("mnist"))?), (4, Written::Yes));
            assert_eq!((count(sql, &name("mnist"))?, get(sql, &name("mnist"))?), (0, None));
            all.push(make("data:a", "f")?);
            Ok(all)
        };
        let all = store.write(write).await.unwrap();
        assert_eq!(all, ["new mnist@1", "known mnist@1", "new mnist@2", "new mnist@3", "new mnist@4", "new mnist@5", "new mnist@6"]);
    }

    #[tokio::test]
    async fn a_name_is_whoever_made_it_s_and_its_description_is_the_last_that_was_given() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            let described = NewVersion { description: Some("digits".into()), ..new("mnist", "data:a", "f", "ann") };
            let all =
                [make(sql, &described)?, make(sql, &new("mnist", "data:b", "f", "bob"))?, make(sql, &new("mnist", "data:b", "f", "root"))?];
            Ok((all.iter().map(said).collect::<Vec<_>>(), list(sql)?))
        };
        let (all, list) = store.write(write).await.unwrap();
        assert_eq!(all, ["new mnist@1", "taken", "new mnist@2"]);
        let named = Named { name: name("mnist"), owner: "ann".into(), shared: false, created_at_ms: 7 };
        let hers = StoredDataset { named, description: "digits".into() };
        assert_eq!(list, std::slice::from_ref(&hers));
        let is_for = |user: &str, role| hers.named.is_for(&Holder { user: user.into(), role });
        assert_eq!([is_for("ann", Role::User), is_for("bob", Role::User), is_for("eve", Role::Admin)], [true, false, true]);
    }

    #[tokio::test]
    async fn a_volume_that_was_removed_while_it_was_looked_through_gets_no_dataset() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            let seen = StoredVolume {
                name: "data".parse().unwrap(),
                volume: Volume::Local { path: "/data".into() },
                owner: "ann".into(),
                shared: false,
                sealed: None,
                created_at_ms: 7,
            };
            let make = || make(sql, &NewVersion { volume: Some(seen.clone()), ..new("mnist", "data:a", "f", "ann") });
            let mut all = vec![said(&make()?)];
            for then in [seen.clone(), StoredVolume { created_at_ms: 8, ..seen.clone() }] {
                assert_eq!(volumes::add(sql, &then)?, Written::Yes);
                assert_eq!(volumes::set_keys(sql, &then, "tm1.new")?, Written::Yes);
                all.push(said(&make()?));
                assert_eq!(volumes::remove(sql, &seen.name)?, Written::Yes);
            }
            Ok((all, versions(sql, &name("mnist"), 9)?.len()))
        };
        let (all, kept) = store.write(write).await.unwrap();
        assert_eq!((all.join(", ").as_str(), kept), ("no volume, new mnist@1, no volume", 1));
    }

    #[tokio::test]
    async fn what_points_into_a_volume_is_found_until_it_is_forgotten() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            make(sql, &new("mnist", "data:a", "f", "ann"))?;
            make(sql, &new("mnist", "/sets/a", "f", "ann"))?;
            let (data, sets) = ("data".parse().unwrap(), "sets".parse().unwrap());
            let found = (in_volume(sql, &data)?, in_volume(sql, &sets)?);
            assert_eq!(remove(sql, &name("mnist"))?, Written::Yes);
            Ok((found, in_volume(sql, &data)?))
        };
        assert_eq!(store.write(write).await.unwrap(), ((vec!["mnist".to_owned()], vec![]), vec![]));
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_does_not_hide_the_others() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            make(sql, &new("mnist", "data:a", "f", "ann"))?;
            make(sql, &new("mnist", "data:b", "f", "ann"))?;
            make(sql, &new("faces", "data:c", "f", "ann"))
        };
        store.write(write).await.unwrap();
        place.change_by_hand("UPDATE dataset_version SET at = 'nowhere' WHERE version = 2");
        place.change_by_hand("UPDATE dataset SET shared = 'x' WHERE name = 'faces'");
        let numbers =
            |sql: &Sql<'_>| Ok((list(sql)?.len(), versions(sql, &name("mnist"), 9)?.iter().map(|it| it.what.version).collect::<Vec<_>>()));
        assert_eq!(store.read(numbers).await.unwrap(), (1, vec![1]));
        let told = store.read(crate::store::quarantine::list).await.unwrap();
        assert!(told.iter().any(|it| it.starts_with("dataset version mnist@2: ")), "{told:?}");
    }
}
