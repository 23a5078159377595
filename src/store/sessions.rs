//! Who is logged in with a browser. A session stands for a token and ends with it; only hashes are kept.

use super::{
    Sql, StoreError, Written,
    tokens::{self, Holder},
};

/// A log-in that goes on until it expires, its holder leaves, or its token is revoked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Of what the cookie holds.
    pub hash: String,
    /// Of what the page sends beside the cookie.
    pub key_hash: String,
    pub token_hash: String,
    pub expires_at_ms: u64,
}

/// Begins a session, and forgets those that are over.
pub fn begin(sql: &Sql<'_>, session: &Session, now_ms: u64) -> Result<(), StoreError> {
    sql.execute("DELETE FROM session WHERE expires_at_ms <= $1", &[now_ms.into()])?;
    sql.execute(
        "INSERT INTO session (hash, key_hash, token_hash, expires_at_ms) VALUES ($1, $2, $3, $4)",
        &[(&session.hash).into(), (&session.key_hash).into(), (&session.token_hash).into(), session.expires_at_ms.into()],
    )?;
    Ok(())
}

/// The session with this hash, and whose it is.
pub fn find(sql: &Sql<'_>, hash: &str, now_ms: u64) -> Result<Option<(Session, Holder)>, StoreError> {
    let question = "SELECT hash, key_hash, token_hash, expires_at_ms FROM session WHERE hash = $1 AND expires_at_ms > $2";
    let session = sql.first(question, &[hash.into(), now_ms.into()], |row| {
        let (hash, key_hash, token_hash) = (row.text("hash")?, row.text("key_hash")?, row.text("token_hash")?);
        Ok(Session { hash, key_hash, token_hash, expires_at_ms: row.number("expires_at_ms")? })
    })?;
    let Some(session) = session else { return Ok(None) };
    Ok(tokens::find(sql, &session.token_hash, now_ms)?.map(|holder| (session, holder)))
}

pub fn end(sql: &Sql<'_>, hash: &str) -> Result<(), StoreError> {
    sql.execute("DELETE FROM session WHERE hash = $1", &[hash.into()])?;
    Ok(())
}

/// Keeps what lets someone in once, and forgets what is too old to.
pub fn keep_ticket(sql: &Sql<'_>, hash: &str, token_hash: &str, now_ms: u64, expires_at_ms: u64) -> Result<(), StoreError> {
    sql.execute("DELETE FROM ticket WHERE expires_at_ms <= $1", &[now_ms.into()])?;
    sql.execute(
        "INSERT INTO ticket (hash, token_hash, expires_at_ms) VALUES ($1, $2, $3)",
        &[hash.into(), token_hash.into(), expires_at_ms.into()],
    )?;
    Ok(())
}

/// Takes a ticket away and answers which token it stands for; a second time there is none.
pub fn take_ticket(sql: &Sql<'_>, hash: &str, now_ms: u64) -> Result<Option<String>, StoreError> {
    let question = "SELECT token_hash FROM ticket WHERE hash = $1 AND expires_at_ms > $2";
    let token_hash = sql.first(question, &[hash.into(), now_ms.into()], |row| row.text("token_hash"))?;
    let taken = Written::from_rows(sql.execute("DELETE FROM ticket WHERE hash = $1", &[hash.into()])?);
    Ok(token_hash.filter(|_| taken == Written::Yes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{testing::*, tokens::Role};

    fn session(hash: &str) -> Session {
        Session { hash: hash.into(), key_hash: "k".into(), token_hash: "t".into(), expires_at_ms: 100 }
    }

    #[tokio::test]
    async fn a_session_ends_with_its_time_its_token_or_when_its_holder_leaves() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| tokens::add(sql, "t", "ann", Role::User, "", 1, None)).await.unwrap();
        for hash in ["one", "two"] {
            store.write(move |sql| begin(sql, &session(hash), 1)).await.unwrap();
        }
        let holder = async |hash: &'static str, now_ms| store.read(move |sql| find(sql, hash, now_ms)).await.unwrap().map(|it| it.1.user);
        assert_eq!(holder("one", 99).await.as_deref(), Some("ann"));
        assert_eq!(holder("one", 100).await, None);
        store.write(|sql| end(sql, "one")).await.unwrap();
        assert_eq!(holder("one", 50).await, None);
        assert_eq!(holder("two", 50).await.as_deref(), Some("ann"));
        store.write(|sql| tokens::revoke(sql, "t")).await.unwrap();
        assert_eq!(holder("two", 50).await, None);
    }

    #[tokio::test]
    async fn a_ticket_is_good_once_and_not_for_long() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| tokens::add(sql, "t", "ann", Role::User, "", 1, None)).await.unwrap();
        store.write(|sql| keep_ticket(sql, "a", "t", 1, 100)).await.unwrap();
        store.write(|sql| keep_ticket(sql, "b", "t", 1, 100)).await.unwrap();
        let take = async |hash: &'static str, now_ms| store.write(move |sql| take_ticket(sql, hash, now_ms)).await.unwrap();
        assert_eq!(take("a", 50).await.as_deref(), Some("t"));
        assert_eq!(take("a", 50).await, None);
        assert_eq!(take("b", 100).await, None);
    }
}
