//! Who may come in. Only hashes are kept; a token itself is shown once and never stored.

use super::{Sql, StoreError, quarantine::Kind};

/// Whose token it is, and what they may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub user: String,
    pub role: Role,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    Admin,
    User,
}

impl Role {
    const SPELLED: [(Role, &str); 2] = [(Role::Admin, "admin"), (Role::User, "user")];

    pub fn text(self) -> &'static str {
        Self::SPELLED.iter().find(|(role, _)| *role == self).expect("SPELLED has every role").1
    }

    pub fn from_text(text: &str) -> Option<Self> {
        Self::SPELLED.iter().find(|(_, it)| *it == text).map(|(role, _)| *role)
    }
}

pub fn add(
    sql: &Sql<'_>,
    hash: &str,
    user: &str,
    role: Role,
    label: &str,
    at_ms: u64,
    expires_at_ms: Option<u64>,
) -> Result<(), StoreError> {
    sql.execute(
        "INSERT INTO token (hash, holder, role, label, created_at_ms, expires_at_ms) VALUES ($1, $2, $3, $4, $5, $6)",
        &[hash.into(), user.into(), role.text().into(), label.into(), at_ms.into(), expires_at_ms.into()],
    )?;
    Ok(())
}

/// Who holds the token with this hash. One that has expired belongs to nobody.
pub fn find(sql: &Sql<'_>, hash: &str, now_ms: u64) -> Result<Option<Holder>, StoreError> {
    sql.first_sound(
        Kind::Token,
        "SELECT hash, holder, role FROM token WHERE hash = $1 AND (expires_at_ms IS NULL OR expires_at_ms > $2)",
        &[hash.into(), now_ms.into()],
        |row| Ok(Holder { user: row.text("holder")?, role: row.spelled("role", Role::from_text)? }),
    )
}

/// Whether anybody could come in as an admin at all; if not, the server makes one.
pub fn any_admin(sql: &Sql<'_>) -> Result<bool, StoreError> {
    Ok(sql.first("SELECT 1 FROM token WHERE role = $1 LIMIT 1", &[Role::Admin.text().into()], |_| Ok(()))?.is_some())
}

pub fn revoke(sql: &Sql<'_>, hash: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM token WHERE hash = $1", &[hash.into()])?;
    Ok(())
}
