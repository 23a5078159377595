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

/// What somebody may do, by the best of their tokens.
pub fn role_of(sql: &Sql<'_>, user: &str) -> Result<Role, StoreError> {
    let question = "SELECT 1 FROM token WHERE holder = $1 AND role = $2 LIMIT 1";
    let is_admin = sql.first(question, &[user.into(), Role::Admin.text().into()], |_| Ok(()))?.is_some();
    Ok(if is_admin { Role::Admin } else { Role::User })
}

/// Whether anybody could come in as an admin at all; if not, the server makes one.
pub fn any_admin(sql: &Sql<'_>) -> Result<bool, StoreError> {
    Ok(sql.first("SELECT 1 FROM token WHERE role = $1 LIMIT 1", &[Role::Admin.text().into()], |_| Ok(()))?.is_some())
}

pub fn revoke(sql: &Sql<'_>, hash: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM token WHERE hash = $1", &[hash.into()])?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::*;

    #[tokio::test]
    async fn a_token_opens_until_it_expires_or_is_revoked() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| add(sql, "h1", "ann", Role::User, "laptop", 10, Some(100))).await.unwrap();
        let found = async |hash: &'static str, now_ms| store.read(move |sql| find(sql, hash, now_ms)).await.unwrap();
        assert_eq!(found("h1", 99).await, Some(Holder { user: "ann".into(), role: Role::User }));
        assert_eq!(found("h1", 100).await, None);
        assert_eq!(found("h2", 50).await, None);
        store.write(|sql| revoke(sql, "h1")).await.unwrap();
        assert_eq!(found("h1", 50).await, None);
    }

    #[tokio::test]
    async fn the_first_admin_is_noticed() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| add(sql, "h1", "ann", Role::User, "", 10, None)).await.unwrap();
        assert_eq!(store.read(any_admin).await, Ok(false));
        store.write(|sql| add(sql, "h2", "root", Role::Admin, "", 10, None)).await.unwrap();
        assert_eq!(store.read(any_admin).await, Ok(true));
        let twice = store.write(|sql| add(sql, "h2", "eve", Role::Admin, "", 10, None)).await;
        assert!(twice.is_err(), "a hash has one holder");
    }

    #[tokio::test]
    async fn a_role_nobody_knows_lets_nobody_in() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| add(sql, "0123456789abcdef", "ann", Role::User, "", 10, None)).await.unwrap();
        place.change_by_hand("UPDATE token SET role = 'emperor'");
        let found = store.read(|sql| find(sql, "0123456789abcdef", 20)).await;
        assert_eq!(found, Err(StoreError::Unreadable { what: "token 01234567… (role holds `emperor`)".into() }));
    }
}
