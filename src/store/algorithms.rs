//! Algorithms and their versions: what they say and whose they are.

use model::{
    algorithm::{Algorithm, AlgorithmAt, Kept},
    ids::AlgorithmName,
};

use super::{
    Row, Sql, StoreError, Value, Written,
    named::{self, Named, Tables},
    quarantine::Kind,
    tokens::Holder,
};

const TABLES: Tables = Tables("algorithm");

pub type StoredAlgorithm = Named<AlgorithmName>;

#[derive(Clone, Debug, PartialEq)]
pub struct StoredVersion {
    pub what: Kept,
    /// As it was handed in.
    pub text: String,
    pub made_by: String,
    pub created_at_ms: u64,
}

/// A version to be made, of an algorithm that may be new.
#[derive(Clone, Debug)]
pub struct NewVersion {
    pub name: AlgorithmName,
    pub document: Algorithm,
    pub text: String,
    pub by: Holder,
    pub at_ms: u64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Made {
    New(StoredVersion),
    /// The newest says the same.
    Known(StoredVersion),
    /// The name is somebody else's.
    Taken,
}

/// Makes the next version, and the algorithm with its first one. Whoever asks twice for the same gets one.
pub fn make(sql: &Sql<'_>, new: &NewVersion) -> Result<Made, StoreError> {
    match get(sql, &new.name)? {
        Some(algorithm) if !algorithm.is_of(&new.by) => return Ok(Made::Taken),
        Some(_) => {}
        None => TABLES.add(sql, &Named::of(new.name.clone(), &new.by, new.at_ms))?,
    }
    if let Some(newest) = versions(sql, &new.name, 1)?.pop()
        && newest.what.document == new.document
    {
        return Ok(Made::Known(newest));
    }
    let at = AlgorithmAt { name: new.name.clone(), version: TABLES.next_number(sql, new.name.as_str())? };
    let made = StoredVersion {
        what: Kept { at, document: new.document.clone() },
        text: new.text.clone(),
        made_by: new.by.user.clone(),
        created_at_ms: new.at_ms,
    };
    insert(sql, &made)?;
    Ok(Made::New(made))
}

fn insert(sql: &Sql<'_>, made: &StoredVersion) -> Result<(), StoreError> {
    let Kept { at, document } = &made.what;
    let values = [
        at.name.as_str().into(),
        at.version.into(),
        Value::json(document),
        (&made.text).into(),
        document.upload().map(str::to_owned).into(),
        (&made.made_by).into(),
        made.created_at_ms.into(),
    ];
    sql.execute(
        "INSERT INTO algorithm_version (algorithm, version, document, text, upload, made_by, created_at_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7)",
        &values,
    )?;
    Ok(())
}

const ALGORITHM: &str = "SELECT name, owner, shared, created_at_ms FROM algorithm";
const VERSION: &str = "SELECT algorithm, version, document, text, made_by, created_at_ms FROM algorithm_version";

pub fn get(sql: &Sql<'_>, name: &AlgorithmName) -> Result<Option<StoredAlgorithm>, StoreError> {
    sql.first_sound(Kind::Algorithm, &format!("{ALGORITHM} WHERE name = $1"), &[name.as_str().into()], named::read)
}

pub fn list(sql: &Sql<'_>) -> Result<Vec<StoredAlgorithm>, StoreError> {
    sql.query_sound(Kind::Algorithm, &format!("{ALGORITHM} ORDER BY name"), &[], named::read)
}

/// The newest first.
pub fn versions(sql: &Sql<'_>, name: &AlgorithmName, most: u32) -> Result<Vec<StoredVersion>, StoreError> {
    let question = format!("{VERSION} WHERE algorithm = $1 ORDER BY version DESC LIMIT $2");
    sql.query_sound(Kind::AlgorithmVersion, &question, &[name.as_str().into(), most.into()], read_version)
}

pub fn version(sql: &Sql<'_>, name: &AlgorithmName, number: u32) -> Result<Option<StoredVersion>, StoreError> {
    let question = format!("{VERSION} WHERE algorithm = $1 AND version = $2");
    sql.first_sound(Kind::AlgorithmVersion, &question, &[name.as_str().into(), number.into()], read_version)
}

pub fn count(sql: &Sql<'_>, name: &AlgorithmName) -> Result<u32, StoreError> {
    TABLES.count(sql, name.as_str())
}

pub fn remove(sql: &Sql<'_>, name: &AlgorithmName) -> Result<Written, StoreError> {
    TABLES.remove(sql, name.as_str())
}

pub fn remove_version(sql: &Sql<'_>, name: &AlgorithmName, number: u32) -> Result<Written, StoreError> {
    TABLES.remove_version(sql, name.as_str(), number)
}

fn read_version(row: &Row<'_>) -> Result<StoredVersion, StoreError> {
    let at = AlgorithmAt { name: row.parsed("algorithm")?, version: row.number("version")? };
    Ok(StoredVersion {
        what: Kept { at, document: row.json("document")? },
        text: row.text("text")?,
        made_by: row.text("made_by")?,
        created_at_ms: row.number("created_at_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{testing::*, tokens::Role};

    fn name(text: &str) -> AlgorithmName {
        text.parse().unwrap()
    }

    fn new(algorithm: &str, rest: &str, by: &str) -> NewVersion {
        let text = format!("name: {algorithm}\nimage: x\n{rest}");
        NewVersion {
            name: name(algorithm),
            document: model::algorithm::read(&text).unwrap(),
            text,
            by: Holder { user: by.into(), role: if by == "root" { Role::Admin } else { Role::User } },
            at_ms: 7,
        }
    }

    fn said(made: &Made) -> String {
        match made {
            Made::New(it) => format!("new {}", it.what.at),
            Made::Known(it) => format!("known {}", it.what.at),
            Made::Taken => "taken".into(),
        }
    }

    #[tokio::test]
    async fn the_same_again_is_no_new_version_and_a_number_is_never_used_again() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            let make = |rest: &str| Ok::<_, StoreError>(said(&make(sql, &new("mlp", rest, "ann"))?));
            let mut all = vec![make("command: a")?, make("command: a # the same")?, make("command: b")?, make("command: a")?];
            assert_eq!(remove_version(sql, &name("mlp"), 3)?, Written::Yes);
            assert_eq!(remove_version(sql, &name("mlp"), 3)?, Written::Stale);
            all.push(make("command: c")?);
            assert_eq!((count(sql, &name("mlp"))?, remove(sql, &name("mlp"))?), (3, Written::Yes));
            assert_eq!((count(sql, &name("mlp"))?, get(sql, &name("mlp"))?), (0, None));
            all.push(make("command: a")?);
            Ok(all)
        };
        assert_eq!(store.write(write).await.unwrap(), ["new mlp@1", "known mlp@1", "new mlp@2", "new mlp@3", "new mlp@4", "new mlp@5"]);
    }

    #[tokio::test]
    async fn a_name_is_whoever_made_it_s_and_what_was_handed_in_stays_as_it_was() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            let by = |who: &str, rest: &str| Ok::<_, StoreError>(said(&make(sql, &new("mlp", rest, who))?));
            Ok((
                vec![by("ann", "command: a # mine")?, by("bob", "command: b")?, by("root", "command: b")?],
                list(sql)?,
                versions(sql, &name("mlp"), 9)?,
            ))
        };
        let (all, list, versions) = store.write(write).await.unwrap();
        assert_eq!(all, ["new mlp@1", "taken", "new mlp@2"]);
        let hers = StoredAlgorithm { name: name("mlp"), owner: "ann".into(), shared: false, created_at_ms: 7 };
        assert_eq!(list, std::slice::from_ref(&hers));
        let is_for = |user: &str, role| hers.is_for(&Holder { user: user.into(), role });
        assert_eq!([is_for("ann", Role::User), is_for("bob", Role::User), is_for("eve", Role::Admin)], [true, false, true]);
        assert_eq!(versions.iter().map(|it| it.made_by.as_str()).collect::<Vec<_>>(), ["root", "ann"]);
        assert_eq!(versions[1].text, "name: mlp\nimage: x\ncommand: a # mine");
    }

    #[tokio::test]
    async fn a_folder_is_wanted_for_as_long_as_a_version_names_it() {
        let place = Place::new();
        let store = place.open();
        let digest = model::bundle::ContentHash::of(b"x");
        let code = format!("command: a\ncode: {{upload: {digest}}}");
        let write = move |sql: &Sql<'_>| {
            make(sql, &new("mlp", &code, "ann"))?;
            let before = crate::store::uploads::wanted(sql)?;
            assert_eq!(remove(sql, &name("mlp"))?, Written::Yes);
            Ok((before.into_iter().collect::<Vec<_>>(), crate::store::uploads::wanted(sql)?.len()))
        };
        assert_eq!(store.write(write).await.unwrap(), (vec![digest], 0));
    }

    #[tokio::test]
    async fn a_row_that_cannot_be_read_does_not_hide_the_others() {
        let place = Place::new();
        let store = place.open();
        let write = |sql: &Sql<'_>| {
            make(sql, &new("mlp", "command: a", "ann"))?;
            make(sql, &new("mlp", "command: b", "ann"))?;
            make(sql, &new("cnn", "command: b", "ann"))
        };
        store.write(write).await.unwrap();
        place.change_by_hand("UPDATE algorithm_version SET document = 'nothing' WHERE algorithm = 'mlp' AND version = 2");
        place.change_by_hand("UPDATE algorithm SET shared = 'x' WHERE name = 'cnn'");
        let numbers =
            |sql: &Sql<'_>| Ok((list(sql)?.len(), versions(sql, &name("mlp"), 9)?.iter().map(|it| it.what.at.version).collect::<Vec<_>>()));
        assert_eq!(store.read(numbers).await.unwrap(), (1, vec![1]));
        let told = store.read(crate::store::quarantine::list).await.unwrap();
        assert!(told.iter().any(|it| it.starts_with("algorithm version mlp@2: ")), "{told:?}");
    }
}
