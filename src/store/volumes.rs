//! Volumes: what they are, whose they are, and what opens them, sealed.

use model::{ids::VolumeName, plan::Plan, volume::Volume};

use super::{
    Row, Sql, StoreError, Value, Written, jobs,
    quarantine::Kind,
    tokens::{self, Holder, Role},
};

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

    /// What administrators and the configuration add is there for everyone; what others add is their own.
    pub fn is_for(&self, holder: &Holder) -> bool {
        self.shared || holder.role == Role::Admin || self.owner == holder.user
    }
}

/// The volumes that a plan names, as far as they are its owner's to use: one that was removed may have come back under the same
/// name as somebody else's.
pub fn of_plan(sql: &Sql<'_>, owner: &str, plan: &Plan) -> Result<Vec<StoredVolume>, StoreError> {
    if plan.volumes().is_empty() {
        return Ok(Vec::new());
    }
    let holder = Holder { user: owner.to_owned(), role: tokens::role_of(sql, owner)? };
    let named = plan.volumes().into_iter().map(|name| get(sql, name)).collect::<Result<Vec<_>, _>>()?;
    Ok(named.into_iter().flatten().filter(|volume| volume.is_for(&holder)).collect())
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

/// Whether a volume is still there and the same, whatever its keys are meanwhile.
pub fn is_still(sql: &Sql<'_>, seen: &StoredVolume) -> Result<bool, StoreError> {
    let same = |it: StoredVolume| it == StoredVolume { sealed: it.sealed.clone(), ..seen.clone() };
    Ok(get(sql, &seen.name)?.is_some_and(same))
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

/// Gives a volume other keys. Stale if it is gone, or is another one meanwhile.
pub fn set_keys(sql: &Sql<'_>, seen: &StoredVolume, sealed: &str) -> Result<Written, StoreError> {
    let changed = sql.execute(
        "UPDATE volume SET sealed = $1 WHERE name = $2 AND owner = $3 AND body = $4 AND created_at_ms = $5",
        &[sealed.to_owned().into(), seen.name.as_str().into(), (&seen.owner).into(), Value::json(&seen.volume), seen.created_at_ms.into()],
    )?;
    Ok(Written::from_rows(changed))
}

/// The jobs that are not over and name the volume.
pub fn used_by(sql: &Sql<'_>, name: &VolumeName) -> Result<Vec<jobs::Job>, StoreError> {
    Ok(jobs::not_over(sql)?.into_iter().filter(|job| job.plan.volumes().contains(name)).collect())
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
    async fn other_keys_are_for_the_volume_that_was_seen_and_no_other() {
        let place = Place::new();
        let store = place.open();
        let hers = volume("data", "ann");
        let (add_it, seen) = (hers.clone(), hers.clone());
        assert_eq!(store.write(move |sql| add(sql, &add_it)).await, Ok(Written::Yes));
        assert_eq!(store.write(move |sql| set_keys(sql, &seen, "tm1.y")).await, Ok(Written::Yes));
        let changed = StoredVolume { sealed: Some("tm1.y".into()), ..hers.clone() };
        assert_eq!(store.read(list).await, Ok(vec![changed.clone()]));
        let others = [
            StoredVolume { owner: "bob".into(), ..hers.clone() },
            StoredVolume { volume: Volume::Local { path: "/elsewhere".into() }, ..hers.clone() },
            StoredVolume { created_at_ms: 8, ..hers },
        ];
        for other in others {
            assert_eq!(store.write(move |sql| set_keys(sql, &other, "tm1.z")).await, Ok(Written::Stale));
        }
        assert_eq!(store.read(list).await, Ok(vec![changed]));
    }

    #[tokio::test]
    async fn a_plan_finds_the_volumes_that_are_its_owners_to_use() {
        let place = Place::new();
        let store = place.open();
        let rules = model::plan::HouseRules::default();
        let text = "name: a\noutput: data\nlogs: open:x\nroles: {w: {command: x}}";
        let (_, plan) = model::plan::from_text(text, &rules).unwrap();
        let names = move |sql: &Sql<'_>| {
            assert_eq!((add(sql, &volume("data", "ann"))?, add(sql, &volume("open", ""))?), (Written::Yes, Written::Yes));
            tokens::add(sql, "h", "root", Role::Admin, "", 1, None)?;
            let found =
                |owner| Ok::<_, StoreError>(of_plan(sql, owner, &plan)?.into_iter().map(|it| it.name.to_string()).collect::<Vec<_>>());
            Ok([found("ann")?, found("bob")?, found("root")?])
        };
        assert_eq!(store.write(names).await.unwrap(), [vec!["data", "open"], vec!["open"], vec!["data", "open"]]);
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
