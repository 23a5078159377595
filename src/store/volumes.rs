//! Volumes: what they are, whose they are, and what opens them, sealed.

use model::{ids::VolumeName, volume::Volume};

use super::{Row, Sql, StoreError, Value, Written, jobs, quarantine::Kind};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVolume {
    pub name: VolumeName,
    pub volume: Volume,
    /// Empty if the server's configuration made it.
    pub owner: String,
    /// Whether the owner is an administrator or the configuration, whose volumes are there for everyone.
    pub shared: bool,
    /// What opens it, sealed.
    pub sealed: Option<String>,
    pub created_at_ms: u64,
}

impl StoredVolume {
    /// What credentials are sealed for; they open nothing else.
    pub fn seal_context(name: &VolumeName) -> String {
        format!("volume {name}")
    }
}

const COLUMNS: &str = "name, body, owner, shared, sealed, created_at_ms";

/// Stale if the name is taken.
pub fn add(sql: &Sql<'_>, new: &StoredVolume) -> Result<Written, StoreError> {
    let changed = sql.execute(
        "INSERT INTO volume (name, body, owner, shared, sealed, created_at_ms) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO NOTHING",
        &values(new),
    )?;
    Ok(Written::from_rows(changed))
}

fn values(volume: &StoredVolume) -> [Value; 6] {
    [
        volume.name.as_str().into(),
        Value::json(&volume.volume),
        (&volume.owner).into(),
        u32::from(volume.shared).into(),
        volume.sealed.clone().into(),
        volume.created_at_ms.into(),
    ]
}

pub fn get(sql: &Sql<'_>, name: &VolumeName) -> Result<Option<StoredVolume>, StoreError> {
    sql.first_sound(Kind::Volume, &format!("SELECT {COLUMNS} FROM volume WHERE name = $1"), &[name.as_str().into()], read)
}

pub fn list(sql: &Sql<'_>) -> Result<Vec<StoredVolume>, StoreError> {
    sql.query_sound(Kind::Volume, &format!("SELECT {COLUMNS} FROM volume ORDER BY name"), &[], read)
}

pub fn remove(sql: &Sql<'_>, name: &VolumeName) -> Result<Written, StoreError> {
    Ok(Written::from_rows(sql.execute("DELETE FROM volume WHERE name = $1", &[name.as_str().into()])?))
}

/// Makes the volumes of the configuration what it says now. Answers a name of it that somebody else has taken.
pub fn configure(sql: &Sql<'_>, wanted: &[StoredVolume]) -> Result<Option<VolumeName>, StoreError> {
    for volume in wanted {
        if get(sql, &volume.name)?.is_some_and(|there| !there.owner.is_empty()) {
            return Ok(Some(volume.name.clone()));
        }
    }
    sql.execute("DELETE FROM volume WHERE owner = ''", &[])?;
    for volume in wanted {
        let Written::Yes = add(sql, volume)? else { return Ok(Some(volume.name.clone())) };
    }
    Ok(None)
}

/// A job that is not over and names the volume, as people call it.
pub fn used_by(sql: &Sql<'_>, name: &VolumeName) -> Result<Option<String>, StoreError> {
    let uses = |job: &jobs::Job| job.plan.volumes().contains(name);
    let job = jobs::not_over(sql)?.into_iter().find(uses);
    Ok(job.map(|job| format!("{}@{}", job.name, job.version)))
}

fn read(row: &Row<'_>) -> Result<StoredVolume, StoreError> {
    Ok(StoredVolume {
        name: row.parsed("name")?,
        volume: row.json("body")?,
        owner: row.text("owner")?,
        shared: row.number::<u32>("shared")? != 0,
        sealed: row.maybe_text("sealed")?,
        created_at_ms: row.number("created_at_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::*;

    fn volume(name: &str, owner: &str) -> StoredVolume {
        let volume = Volume::Local { path: format!("/data/{name}") };
        StoredVolume {
            name: name.parse().unwrap(),
            volume,
            owner: owner.into(),
            shared: owner.is_empty(),
            sealed: Some("tm1.x".into()),
            created_at_ms: 7,
        }
    }

    #[tokio::test]
    async fn a_name_is_taken_until_it_is_removed() {
        let place = Place::new();
        let store = place.open();
        let (mine, name) = (volume("data", "ann"), "data".parse::<VolumeName>().unwrap());
        let add_it = mine.clone();
        assert_eq!(store.write(move |sql| add(sql, &add_it)).await, Ok(Written::Yes));
        assert_eq!(store.write(|sql| add(sql, &volume("data", "bob"))).await, Ok(Written::Stale));
        let wanted = name.clone();
        assert_eq!(store.read(move |sql| get(sql, &wanted)).await, Ok(Some(mine)));
        assert_eq!(store.write(move |sql| remove(sql, &name)).await, Ok(Written::Yes));
        assert_eq!(store.read(list).await, Ok(Vec::new()));
    }

    #[tokio::test]
    async fn the_configuration_has_its_own_and_takes_nobodys() {
        let place = Place::new();
        let store = place.open();
        assert_eq!(store.write(|sql| add(sql, &volume("hers", "ann"))).await, Ok(Written::Yes));
        assert_eq!(store.write(|sql| configure(sql, &[volume("a", ""), volume("b", "")])).await, Ok(None));
        assert_eq!(store.write(|sql| configure(sql, &[volume("b", "")])).await, Ok(None));
        let names: Vec<String> = store.read(list).await.unwrap().into_iter().map(|it| it.name.to_string()).collect();
        assert_eq!(names, ["b", "hers"]);
        assert_eq!(store.write(|sql| configure(sql, &[volume("hers", "")])).await, Ok(Some("hers".parse().unwrap())));
    }

    #[tokio::test]
    async fn a_volume_that_cannot_be_read_does_not_hide_the_others() {
        let place = Place::new();
        let store = place.open();
        assert_eq!(store.write(|sql| add(sql, &volume("good", "ann"))).await, Ok(Written::Yes));
        assert_eq!(store.write(|sql| add(sql, &volume("odd", "ann"))).await, Ok(Written::Yes));
        place.change_by_hand("UPDATE volume SET body = '{\"kind\":\"tape\"}' WHERE name = 'odd'");
        assert_eq!(store.read(list).await.unwrap().len(), 1);
    }
}
