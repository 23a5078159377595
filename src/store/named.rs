//! Names that have numbered versions, such as datasets and algorithms: whose they are, and which numbers they have had.

use std::str::FromStr;

use super::{
    Row, Sql, StoreError, Value, Written,
    tokens::{Holder, Role},
};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named<Name> {
    pub name: Name,
    pub owner: String,
    /// Whether the owner is an administrator, whose things are there for everyone.
    pub shared: bool,
    pub created_at_ms: u64,
}

impl<Name> Named<Name> {
    pub fn of(name: Name, owner: &Holder, created_at_ms: u64) -> Self {
        Self { name, owner: owner.user.clone(), shared: owner.role == Role::Admin, created_at_ms }
    }

    pub fn is_for(&self, holder: &Holder) -> bool {
        self.shared || self.is_of(holder)
    }

    /// Whether it is the holder's to change.
    pub fn is_of(&self, holder: &Holder) -> bool {
        holder.role == Role::Admin || self.owner == holder.user
    }
}

pub(super) fn read<Name: FromStr>(row: &Row<'_>) -> Result<Named<Name>, StoreError> {
    Ok(Named {
        name: row.parsed("name")?,
        owner: row.text("owner")?,
        shared: row.number::<u32>("shared")? != 0,
        created_at_ms: row.number("created_at_ms")?,
    })
}

/// The tables of one sort of names: those of `dataset` are `dataset`, `dataset_number` and `dataset_version`.
#[derive(Clone, Copy)]
pub(super) struct Tables(pub &'static str);

impl Tables {
    pub fn add<Name: AsRef<str>>(self, sql: &Sql<'_>, new: &Named<Name>) -> Result<(), StoreError> {
        let values = [new.name.as_ref().into(), (&new.owner).into(), u32::from(new.shared).into(), new.created_at_ms.into()];
        sql.execute(&format!("INSERT INTO {} (name, owner, shared, created_at_ms) VALUES ($1, $2, $3, $4)", self.0), &values)?;
        Ok(())
    }

    /// From 1, and never one that was there before.
    pub fn next_number(self, sql: &Sql<'_>, name: &str) -> Result<u32, StoreError> {
        let (own, name) = (self.0, [Value::from(name)]);
        sql.execute(&format!("INSERT INTO {own}_number (name, next) VALUES ($1, 1) ON CONFLICT (name) DO NOTHING"), &name)?;
        let number = sql.first(&format!("SELECT next FROM {own}_number WHERE name = $1"), &name, |row| row.number("next"))?;
        sql.execute(&format!("UPDATE {own}_number SET next = next + 1 WHERE name = $1"), &name)?;
        Ok(number.unwrap_or(1))
    }

    /// How many versions there are.
    pub fn count(self, sql: &Sql<'_>, name: &str) -> Result<u32, StoreError> {
        let question = format!("SELECT COUNT(*) AS versions FROM {0}_version WHERE {0} = $1", self.0);
        Ok(sql.first(&question, &[name.into()], |row| row.number("versions"))?.unwrap_or(0))
    }

    /// Forgets a name with all its versions, but not which numbers they had.
    pub fn remove(self, sql: &Sql<'_>, name: &str) -> Result<Written, StoreError> {
        Ok(Written::from_rows(sql.execute(&format!("DELETE FROM {} WHERE name = $1", self.0), &[name.into()])?))
    }

    pub fn remove_version(self, sql: &Sql<'_>, name: &str, number: u32) -> Result<Written, StoreError> {
        let order = format!("DELETE FROM {0}_version WHERE {0} = $1 AND version = $2", self.0);
        Ok(Written::from_rows(sql.execute(&order, &[name.into(), number.into()])?))
    }
}
