//! What people say about a job, which they may change at any time, also when it is over.

use model::{ids::JobId, said};

use super::submit::searchable;
use crate::store::{
    Sql, StoreError, Written,
    events::{self, NewEvent},
};

/// Beyond this many changes the timeline of a job tells of no more.
const CHANGES_TOLD_MAX: u64 = 50;

/// Who says it, and when.
pub struct Saying<'a> {
    pub by: &'a str,
    pub at_ms: u64,
}

/// Stale for a job that is not there. Writes nothing, and so wakes nobody, if that is already what it says.
pub fn set_description(sql: &Sql<'_>, id: JobId, text: &str, saying: &Saying<'_>) -> Result<Written, StoreError> {
    let name = sql.first("SELECT name FROM job WHERE id = $1", &[id.into()], |row| row.text("name"))?;
    let Some(name) = name else { return Ok(Written::Stale) };
    let attempt = sql.first(
        "UPDATE job SET description = $2, search = $3 WHERE id = $1 AND description <> $2 RETURNING attempt",
        &[id.into(), text.into(), searchable(&name, text).into()],
        |row| row.number("attempt"),
    )?;
    if let Some(attempt) = attempt
        && events::count(sql, id, "described")?.0 < CHANGES_TOLD_MAX
    {
        let words = said!("by {}", "由 {} 修改", saying.by);
        events::append(sql, &NewEvent::of_job(saying.at_ms, (id, attempt), "described", words))?;
    }
    Ok(Written::Yes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{
        jobs::{Filter, get, list, submit},
        testing::*,
    };

    #[tokio::test]
    async fn a_description_is_changed_found_by_its_new_words_and_told_of_once() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| submit(sql, &new_job(1, "digits"))).await.unwrap();
        let set = async |number, text: &'static str| {
            store.write(move |sql| set_description(sql, job_id(number), text, &Saying { by: "ann", at_ms: 9 })).await.unwrap()
        };
        assert_eq!((set(1, "With Dropout").await, set(1, "With Dropout").await), (Written::Yes, Written::Yes));
        assert_eq!(set(2, "nobody").await, Written::Stale);
        let job = store.read(|sql| get(sql, job_id(1))).await.unwrap().unwrap();
        assert_eq!(job.plan.description, "With Dropout");
        let found = async |words: &'static str| {
            let filter = Filter { text: Some(words.into()), ..Filter::default() };
            store.read(move |sql| list(sql, &filter, None, 10)).await.unwrap().len()
        };
        assert_eq!((found("dropout").await, found("trains").await), (1, 0));
        let events = store.read(|sql| events::after(sql, 0, None, 10)).await.unwrap();
        let told: Vec<(&str, &str, &str)> = events.iter().map(|it| (it.kind.as_str(), it.reason.as_str(), it.reason_zh.as_str())).collect();
        assert_eq!(told[1..], [("described", "by ann", "由 ann 修改")]);
    }

    #[tokio::test]
    async fn however_often_it_is_changed_the_timeline_stays_short() {
        let place = Place::new();
        let store = place.open();
        store.write(|sql| submit(sql, &new_job(1, "digits"))).await.unwrap();
        let change_often = |sql: &Sql<'_>| {
            (0..2 * CHANGES_TOLD_MAX)
                .try_for_each(|number| set_description(sql, job_id(1), &number.to_string(), &Saying { by: "ann", at_ms: 9 }).map(|_| ()))
        };
        store.write(change_often).await.unwrap();
        let (told, _) = store.read(|sql| events::count(sql, job_id(1), "described")).await.unwrap();
        assert_eq!(told, CHANGES_TOLD_MAX);
    }
}
