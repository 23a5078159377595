//! Pages of jobs. Every question here is answered from an index, page after page, so it costs the same with
//! ten jobs as with a hundred thousand.

use std::cmp::Ordering;

use model::{
    ids::{JobId, JobName},
    job::JobState,
    wire::JobSummary,
};

use crate::store::{Row, Sql, StoreError, Value, quarantine::Kind};

/// What an id has room for.
const TIME_MAX_MS: u64 = (1 << 48) - 1;

/// Which jobs to show. Nothing given means all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Any of these; none given means every state.
    pub states: Vec<JobState>,
    pub name: Option<String>,
    pub tag: Option<String>,
    pub owner: Option<String>,
    /// A part of the name or of the description's beginning, in capitals or not.
    pub text: Option<String>,
    /// A task of it was given a place on this node.
    pub node: Option<String>,
    /// Submitted at this moment or later.
    pub since_ms: Option<u64>,
    /// Submitted before this moment.
    pub until_ms: Option<u64>,
    pub order: Order,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    #[default]
    Newest,
    Oldest,
    Name,
    NameBackwards,
}

impl Order {
    fn is_by_name(self) -> bool {
        match self {
            Order::Newest | Order::Oldest => false,
            Order::Name | Order::NameBackwards => true,
        }
    }

    fn is_falling(self) -> bool {
        match self {
            Order::Newest | Order::NameBackwards => true,
            Order::Oldest | Order::Name => false,
        }
    }

    fn compare(self, one: &JobSummary, other: &JobSummary) -> Ordering {
        let names = if self.is_by_name() { one.name.cmp(&other.name) } else { Ordering::Equal };
        let rising = names.then_with(|| one.id.cmp(&other.id));
        if self.is_falling() { rising.reverse() } else { rising }
    }
}

/// A page of jobs behind `last`, which was the last of the page before.
pub fn list(sql: &Sql<'_>, filter: &Filter, last: Option<JobId>, limit: u32) -> Result<Vec<JobSummary>, StoreError> {
    let mut page = Vec::new();
    for state in each_state(filter) {
        let (question, values) = question(filter, state, last, limit);
        page.extend(sql.query_sound(Kind::Job, &question, &values, read)?);
    }
    page.sort_by(|one, other| filter.order.compare(one, other));
    page.truncate(limit as usize);
    Ok(page)
}

/// One question for each state: an index can give one state's newest jobs in order, but not several
/// states' at once.
fn each_state(filter: &Filter) -> Vec<Option<JobState>> {
    if filter.states.is_empty() {
        return vec![None];
    }
    let mut states = filter.states.clone();
    states.sort();
    states.dedup();
    states.into_iter().map(Some).collect()
}

fn question(filter: &Filter, state: Option<JobState>, last: Option<JobId>, limit: u32) -> (String, Vec<Value>) {
    let (from, id) = tables(filter);
    let (mut conditions, mut values) = (Vec::new(), Vec::new());
    let mut only = |condition: &str, value: Value| {
        values.push(value);
        conditions.push(condition.replace("$", &format!("${}", values.len())));
    };
    filter.text.iter().for_each(|part| only("job.id = found.id AND found.search LIKE $ ESCAPE '!'", pattern(part).into()));
    filter.tag.iter().for_each(|tag| only("job_tag.tag = $", tag.into()));
    state.iter().for_each(|state| only("job.state = $", state.text().into()));
    filter.name.iter().for_each(|name| only("job.name = $", name.into()));
    filter.owner.iter().for_each(|owner| only("job.owner = $", owner.into()));
    filter.node.iter().for_each(|node| only("EXISTS (SELECT 1 FROM run WHERE run.job = job.id AND run.node = $)", node.into()));
    filter.since_ms.iter().for_each(|since| only(&format!("{id} >= $"), first_at(*since).into()));
    filter.until_ms.iter().for_each(|until| only(&format!("{id} < $"), first_at(*until).into()));
    let (sign, direction) = if filter.order.is_falling() { ("<", "DESC") } else { (">", "ASC") };
    let behind = if filter.order.is_by_name() {
        format!("(job.name, job.id) {sign} (SELECT name, id FROM job WHERE id = $)")
    } else {
        format!("{id} {sign} $")
    };
    last.iter().for_each(|last| only(&behind, (*last).into()));
    let order = if filter.order.is_by_name() { format!("job.name {direction}, job.id {direction}") } else { format!("{id} {direction}") };
    let conditions = if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    values.push(limit.into());
    (format!("SELECT {COLUMNS} FROM {from} {conditions} ORDER BY {order} LIMIT ${}", values.len()), values)
}

/// Ids begin with the time of their making: no job of this moment or later has a smaller one.
fn first_at(at_ms: u64) -> JobId {
    JobId::new(at_ms.min(TIME_MAX_MS), &[0; 10])
}

/// Where to look, and the id to go by. A text is looked for in its own index first; `CROSS JOIN` is how
/// SQLite is told to keep to that order.
fn tables(filter: &Filter) -> (&'static str, &'static str) {
    match (&filter.text, &filter.tag) {
        (None, None) => ("job", "job.id"),
        (None, Some(_)) => ("job_tag JOIN job ON job.id = job_tag.job", "job_tag.job"),
        (Some(_), None) => ("job AS found CROSS JOIN job", "found.id"),
        (Some(_), Some(_)) => ("job AS found CROSS JOIN job JOIN job_tag ON job_tag.job = job.id", "found.id"),
    }
}

const COLUMNS: &str = "job.id, job.name, job.version, job.owner, job.state, job.reason, job.reason_zh, job.attempt, job.priority, job.tags, \
                       job.description, job.tasks, job.resources, job.params, job.max_duration_ms, job.created_at_ms, job.started_at_ms, job.ended_at_ms";

/// `LIKE`'s own characters, taken as they are.
fn pattern(part: &str) -> String {
    let escaped = part.to_lowercase().replace('!', "!!").replace('%', "!%").replace('_', "!_");
    format!("%{escaped}%")
}

fn read(row: &Row<'_>) -> Result<JobSummary, StoreError> {
    Ok(JobSummary {
        id: row.parsed::<JobId>("id")?.to_string(),
        name: row.parsed::<JobName>("name")?.to_string(),
        version: row.number("version")?,
        owner: row.text("owner")?,
        state: row.spelled("state", JobState::from_text)?,
        reason: row.text("reason")?,
        reason_zh: row.text("reason_zh")?,
        attempt: row.number("attempt")?,
        priority: row.number("priority")?,
        tags: row.json("tags")?,
        description: row.text("description")?,
        tasks: row.number("tasks")?,
        resources: row.json("resources")?,
        params: row.json("params")?,
        max_duration_ms: row.maybe_number("max_duration_ms")?,
        created_at_ms: row.number("created_at_ms")?,
        started_at_ms: row.maybe_number("started_at_ms")?,
        ended_at_ms: row.maybe_number("ended_at_ms")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Store, Written, jobs, testing::*};

    /// Ten jobs: even ones are `even` and tagged `big`, the first three have failed, the last belongs to bob.
    async fn ten_jobs(place: &Place) -> Store {
        let store = place.open();
        for number in 1..=10 {
            let mut new = new_job(number, if number % 2 == 0 { "even" } else { "odd" });
            new.plan.tags = if number % 2 == 0 { vec!["big".into(), "big".into(), "x".into()] } else { vec![] };
            new.plan.description = format!("No. {number}: 100%_sure!");
            new.owner = if number == 10 { "bob".into() } else { "ann".into() };
            store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
        }
        for number in 1..=3 {
            let failed = to(JobState::Failed, 5);
            let moved = store.write(move |sql| jobs::advance(sql, (job_id(number), JobState::Queued, 1), &failed)).await;
            assert_eq!(moved, Ok(Written::Yes));
        }
        store
    }

    async fn numbers(store: &Store, filter: Filter, before: Option<u64>, limit: u32) -> Vec<u64> {
        let page = store.read(move |sql| list(sql, &filter, before.map(job_id), limit)).await.unwrap();
        page.iter().map(|it| it.created_at_ms).collect()
    }

    #[tokio::test]
    async fn pages_follow_each_other_from_the_newest_to_the_oldest() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        assert_eq!(numbers(&store, Filter::default(), None, 4).await, [10, 9, 8, 7]);
        assert_eq!(numbers(&store, Filter::default(), Some(7), 4).await, [6, 5, 4, 3]);
        assert_eq!(numbers(&store, Filter::default(), Some(3), 4).await, [2, 1]);
    }

    #[tokio::test]
    async fn every_filter_alone_and_all_of_them_together() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        let states = |states: &[JobState]| Filter { states: states.to_vec(), ..Filter::default() };
        let text = |text: &str| Filter { text: Some(text.into()), ..Filter::default() };
        let named = Filter { name: Some("odd".into()), ..Filter::default() };
        let tagged = Filter { tag: Some("big".into()), ..Filter::default() };
        let bobs = Filter { owner: Some("bob".into()), ..Filter::default() };
        assert_eq!(numbers(&store, states(&[JobState::Failed]), None, 9).await, [3, 2, 1]);
        assert_eq!(
            numbers(&store, states(&[JobState::Failed, JobState::Queued, JobState::Failed]), None, 8).await,
            [10, 9, 8, 7, 6, 5, 4, 3]
        );
        assert_eq!(numbers(&store, named, Some(8), 2).await, [7, 5]);
        assert_eq!(numbers(&store, tagged, Some(10), 3).await, [8, 6, 4]);
        assert_eq!(numbers(&store, bobs, None, 9).await, [10]);
        assert_eq!(numbers(&store, text("no. 1"), None, 9).await, [10, 1]);
        assert_eq!(numbers(&store, text("EVE"), None, 9).await, [10, 8, 6, 4, 2]);
        let all = Filter {
            states: vec![JobState::Failed],
            name: Some("even".into()),
            tag: Some("x".into()),
            owner: Some("ann".into()),
            text: Some("sure".into()),
            since_ms: Some(2),
            until_ms: Some(3),
            ..Filter::default()
        };
        assert_eq!(numbers(&store, all, Some(9), 9).await, [2]);
    }

    #[tokio::test]
    async fn between_two_moments_and_on_one_node() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        let span = |since_ms, until_ms| Filter { since_ms, until_ms, ..Filter::default() };
        assert_eq!(numbers(&store, span(Some(4), Some(7)), None, 9).await, [6, 5, 4]);
        assert_eq!(numbers(&store, span(Some(9), None), None, 9).await, [10, 9]);
        assert_eq!(numbers(&store, span(None, Some(3)), None, 9).await, [2, 1]);
        assert_eq!(numbers(&store, span(Some(u64::MAX), None), None, 9).await, [0; 0]);
        let elsewhere = Filter { node: Some("node-9".into()), ..Filter::default() };
        assert_eq!(numbers(&store, elsewhere, None, 9).await, [0; 0]);
    }

    #[tokio::test]
    async fn every_order_goes_on_where_a_page_ended() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        for (order, all) in [
            (Order::Newest, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]),
            (Order::Oldest, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]),
            (Order::Name, [2, 4, 6, 8, 10, 1, 3, 5, 7, 9]),
            (Order::NameBackwards, [9, 7, 5, 3, 1, 10, 8, 6, 4, 2]),
        ] {
            let states = vec![JobState::Failed, JobState::Queued];
            for filter in [Filter { order, ..Filter::default() }, Filter { order, states, ..Filter::default() }] {
                let (first, second) = all.split_at(4);
                assert_eq!(numbers(&store, filter.clone(), None, 4).await, first, "{order:?}");
                assert_eq!(numbers(&store, filter, Some(first[3]), 9).await, second, "{order:?}");
            }
        }
    }

    #[tokio::test]
    async fn the_characters_of_like_are_taken_as_they_are() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        for (part, found) in [("100%_sure!", 10), ("1%", 0), ("100_", 0), ("!", 10), ("'; --", 0)] {
            let filter = Filter { text: Some(part.into()), ..Filter::default() };
            assert_eq!(numbers(&store, filter, None, 50).await.len(), found, "{part}");
        }
    }

    #[tokio::test]
    async fn a_summary_says_what_a_list_shows() {
        let place = Place::new();
        let store = ten_jobs(&place).await;
        let page = store.read(|sql| list(sql, &Filter::default(), Some(job_id(3)), 1)).await.unwrap();
        insta::assert_snapshot!(serde_json::to_string_pretty(&page[0]).unwrap(), @r#"
        {
          "id": "job-00000000000270008000000000000000",
          "name": "even",
          "version": 1,
          "owner": "ann",
          "state": "failed",
          "reason": "",
          "attempt": 1,
          "priority": 0,
          "tags": [
            "big",
            "big",
            "x"
          ],
          "description": "No. 2: 100%_sure!",
          "tasks": 3,
          "resources": {
            "cpus_milli": 3000,
            "memory_bytes": 201326592
          },
          "created_at_ms": 2,
          "started_at_ms": null,
          "ended_at_ms": 5
        }
        "#);
    }

    #[tokio::test]
    async fn no_page_is_made_by_reading_all_jobs_or_by_sorting() {
        let place = Place::new();
        let store = place.open();
        let mut plans = String::new();
        for (what, filter) in every_filter() {
            let (question, values) = question(&filter, each_state(&filter)[0], Some(job_id(5)), 50);
            let steps = store.read(move |sql| sql.query(&format!("EXPLAIN QUERY PLAN {question}"), &values, |row| row.text("detail")));
            plans += &format!("{what}: {}\n", steps.await.unwrap().join("; "));
        }
        insta::assert_snapshot!(plans, @"
        all: SEARCH job USING INDEX sqlite_autoindex_job_1 (id<?)
        state: SEARCH job USING INDEX job_by_state (state=? AND id<?)
        name: SEARCH job USING INDEX job_by_name (name=? AND id<?)
        tag: SEARCH job_tag USING COVERING INDEX job_tag_by_tag (tag=? AND job<?); SEARCH job USING INDEX sqlite_autoindex_job_1 (id=?)
        owner: SEARCH job USING INDEX job_by_owner (owner=? AND id<?)
        text: SEARCH found USING COVERING INDEX job_by_text (id<?); SEARCH job USING INDEX sqlite_autoindex_job_1 (id=?)
        everything: SEARCH found USING COVERING INDEX job_by_text (id<?); SEARCH job USING INDEX sqlite_autoindex_job_1 (id=?); SEARCH job_tag USING COVERING INDEX sqlite_autoindex_job_tag_1 (job=? AND tag=?)
        ");
    }

    #[tokio::test]
    async fn neither_days_nor_another_order_reads_all_jobs_or_sorts() {
        let place = Place::new();
        let store = place.open();
        let days = Filter { since_ms: Some(1), until_ms: Some(9), ..Filter::default() };
        let orders = [Order::Oldest, Order::Name, Order::NameBackwards].map(|order| Filter { order, ..Filter::default() });
        for filter in orders.into_iter().chain([days]) {
            let (question, values) = question(&filter, None, Some(job_id(5)), 50);
            let steps = store.read(move |sql| sql.query(&format!("EXPLAIN QUERY PLAN {question}"), &values, |row| row.text("detail")));
            let plan = steps.await.unwrap().join("; ");
            assert!(plan.starts_with("SEARCH job USING") && !plan.contains("SCAN job") && !plan.contains("B-TREE"), "{filter:?}: {plan}");
        }
    }

    fn every_filter() -> [(&'static str, Filter); 7] {
        let none = Filter::default();
        let (tag, name, owner, states) = (Some("t".to_owned()), Some("n".to_owned()), Some("o".to_owned()), vec![JobState::Failed]);
        [
            ("all", none.clone()),
            ("state", Filter { states: states.clone(), ..none.clone() }),
            ("name", Filter { name: name.clone(), ..none.clone() }),
            ("tag", Filter { tag: tag.clone(), ..none.clone() }),
            ("owner", Filter { owner: owner.clone(), ..none.clone() }),
            ("text", Filter { text: Some("part".into()), ..none.clone() }),
            ("everything", Filter { states, name, tag, owner, text: Some("part".into()), ..none }),
        ]
    }
}
