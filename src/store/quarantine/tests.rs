use model::job::JobState;

use super::*;
use crate::store::{Store, Written, events, testing::*};

const WAITING: [u64; 3] = [1, 2, 3];
const STARTED: [u64; 3] = [4, 5, 6];
/// In each group of three, the one that gets the poison.
const POISONED: [u64; 2] = [2, 5];
const TASKS: [&str; 3] = ["worker-0", "worker-1", "worker-2"];
const POISONED_TASK: &str = "worker-1";

async fn six_jobs(place: &Place) -> Store {
    let store = place.open();
    for number in WAITING.into_iter().chain(STARTED) {
        store.write(move |sql| jobs::submit(sql, &new_job(number, "digits"))).await.unwrap();
    }
    for number in STARTED {
        let starting = to(JobState::Starting, 5);
        let moved = store.write(move |sql| jobs::advance(sql, (job_id(number), JobState::Queued, 1), &starting)).await;
        assert_eq!(moved, Ok(Written::Yes));
        for task in TASKS {
            store.write(move |sql| runs::insert(sql, &new_run(&run_key(number, task, 1)))).await.unwrap();
        }
    }
    store
}

/// Which of `expected` did not come through. Only a poisoned one may be missing.
fn lost<T: PartialEq + std::fmt::Debug>(expected: &[T], came: &[T], poisoned: &[T]) -> bool {
    let missing: Vec<&T> = expected.iter().filter(|it| !came.contains(it)).collect();
    assert!(missing.iter().all(|it| poisoned.contains(it)), "{missing:?} is missing and was not poisoned");
    !missing.is_empty()
}

/// Where the poisoned jobs no longer show, in words. Everything else has to be there.
fn jobs_lost_in(sql: &Sql<'_>) -> Result<String, StoreError> {
    let ids = |numbers: &[u64]| numbers.iter().map(|number| job_id(*number)).collect::<Vec<_>>();
    let (waiting, started, poisoned) = (ids(&WAITING), ids(&STARTED), ids(&POISONED));
    let all = [waiting.clone(), started.clone()].concat();
    let listed: Vec<_> = jobs::list(sql, &jobs::Filter::default(), None, 10)?.iter().filter_map(|it| it.id.parse().ok()).collect();
    let queued: Vec<_> = jobs::queued(sql, 10, 0)?.iter().map(|it| it.waiting.job).collect();
    let unfinished: Vec<_> = jobs::unfinished(sql)?.iter().map(|it| it.id).collect();
    let got: Vec<_> = all.iter().copied().filter(|id| matches!(jobs::get(sql, *id), Ok(Some(_)))).collect();
    let places = [
        ("list", lost(&all, &listed, &poisoned)),
        ("queued", lost(&waiting, &queued, &poisoned)),
        ("unfinished", lost(&started, &unfinished, &poisoned)),
        ("get", lost(&all, &got, &poisoned)),
    ];
    Ok(places.iter().filter(|(_, lost)| *lost).map(|(place, _)| *place).collect::<Vec<_>>().join(", "))
}

/// The same for runs.
fn runs_lost_in(sql: &Sql<'_>) -> Result<String, StoreError> {
    let keys = |tasks: &[&str], numbers: &[u64]| -> Vec<_> {
        numbers.iter().flat_map(|number| tasks.iter().map(|task| run_key(*number, task, 1))).collect()
    };
    let (all, poisoned) = (keys(&TASKS, &STARTED), keys(&[POISONED_TASK], &[5]));
    let live: Vec<_> = runs::live(sql)?.into_iter().map(|it| it.run).collect();
    let of_job: Vec<_> = runs::of_job(sql, job_id(5))?.into_iter().map(|it| it.run).collect();
    let places = [("live", lost(&all, &live, &poisoned)), ("of_job", lost(&keys(&TASKS, &[5]), &of_job, &poisoned))];
    Ok(places.iter().filter(|(_, lost)| *lost).map(|(place, _)| *place).collect::<Vec<_>>().join(", "))
}

async fn set_aside(store: &Store) -> Vec<String> {
    store.read(list).await.unwrap()
}

/// Poisons one column, looks, starts again, looks again; answers where the poisoned rows are missing.
async fn poisoned(column: &str, statement: &str, look: fn(&Sql<'_>) -> Result<String, StoreError>) -> String {
    let place = Place::new();
    let store = six_jobs(&place).await;
    assert_eq!(store.read(look).await.unwrap(), "", "nothing is lost before the poison");
    assert!(place.change_by_hand(statement) > 0, "{statement}");
    let lost_in = store.read(look).await.unwrap();
    let said = set_aside(&store).await;
    assert!(!said.is_empty() && said.iter().all(|it| it.contains(column)), "{statement}: {said:?}");
    drop(store);
    let store = place.open();
    assert_eq!(store.read(look).await.unwrap(), lost_in, "the same after a restart");
    assert_eq!(set_aside(&store).await, said);
    let more = new_job(7, "digits");
    assert_eq!(store.write(move |sql| jobs::submit(sql, &more)).await, Ok(jobs::Submission::Made { version: 7 }));
    lost_in
}

#[tokio::test]
async fn a_poisoned_column_of_a_job_costs_that_job_and_no_other() {
    let poisons = [
        ("id", "'digits-' || created_at_ms"),
        ("owner", "X'ff00ff'"),
        ("name", "'no name'"),
        ("name", "X'ff00ff'"),
        ("version", "'newest' || id"),
        ("version", "-created_at_ms"),
        ("state", "'exploded'"),
        ("attempt", "-1"),
        ("attempt", "99999999999"),
        ("used_for_user", "'many'"),
        ("used_for_platform", "-7"),
        ("used_in_a_row", "'often'"),
        ("not_before_ms", "'soon'"),
        ("priority", "'high'"),
        ("gang", "'band'"),
        ("max_duration_ms", "-1"),
        ("description", "X'ff00ff'"),
        ("tags", "'[\"small\"'"),
        ("tasks", "-3"),
        ("resources", "'{\"cpus_milli\": -1}'"),
        ("demand", "'nothing'"),
        ("reason", "X'ff00ff'"),
        ("created_at_ms", "-1"),
        ("queued_at_ms", "'yesterday'"),
        ("started_at_ms", "-1.5"),
        ("ended_at_ms", "'never'"),
        ("stop_by", "X'ff00ff'"),
    ];
    let mut table = String::new();
    for (column, poison) in poisons {
        let statement = format!("UPDATE job SET {column} = {poison} WHERE id IN ('{}', '{}')", job_id(2), job_id(5));
        table += &format!("{column} = {poison}: {}\n", poisoned(column, &statement, jobs_lost_in).await);
    }
    for column in ["spec", "plan"] {
        let statement = format!("UPDATE job_plan SET {column} = X'ff00ff' WHERE job IN ('{}', '{}')", job_id(2), job_id(5));
        table += &format!("job_plan.{column} = X'ff00ff': {}\n", poisoned(column, &statement, jobs_lost_in).await);
    }
    let statement = format!("DELETE FROM job_plan WHERE job IN ('{}', '{}')", job_id(2), job_id(5));
    table += &format!("no job_plan: {}\n", poisoned("plan", &statement, jobs_lost_in).await);
    insta::assert_snapshot!(table, @r#"
    id = 'digits-' || created_at_ms: list, queued, unfinished, get
    owner = X'ff00ff': list, unfinished, get
    name = 'no name': list, queued, unfinished, get
    name = X'ff00ff': list, queued, unfinished, get
    version = 'newest' || id: list, queued, unfinished, get
    version = -created_at_ms: list, queued, unfinished, get
    state = 'exploded': list, queued, unfinished, get
    attempt = -1: list, unfinished, get
    attempt = 99999999999: list, unfinished, get
    used_for_user = 'many': unfinished, get
    used_for_platform = -7: unfinished, get
    used_in_a_row = 'often': unfinished, get
    not_before_ms = 'soon': unfinished, get
    priority = 'high': list, queued
    gang = 'band': queued
    max_duration_ms = -1: list, queued, unfinished, get
    description = X'ff00ff': list
    tags = '["small"': list
    tasks = -3: list
    resources = '{"cpus_milli": -1}': list
    demand = 'nothing': queued
    reason = X'ff00ff': list, unfinished, get
    created_at_ms = -1: list, unfinished, get
    queued_at_ms = 'yesterday': unfinished, get
    started_at_ms = -1.5: list, unfinished, get
    ended_at_ms = 'never': list, unfinished, get
    stop_by = X'ff00ff': unfinished, get
    job_plan.spec = X'ff00ff': unfinished, get
    job_plan.plan = X'ff00ff': unfinished, get
    no job_plan: unfinished, get
    "#);
}

#[tokio::test]
async fn a_poisoned_column_of_a_run_costs_that_run_and_no_other() {
    let poisons = [
        ("attempt", "-1"),
        ("job_attempt", "-1"),
        ("role", "'no role'"),
        ("task_index", "'first'"),
        ("state", "'exploded'"),
        ("node", "'no node'"),
        ("amount", "'{\"cpus_milli\": 1}'"),
        ("devices", "'{\"A100\": [-1]}'"),
        ("ports", "'{\"http\": [99999]}'"),
        ("address", "X'ff00ff'"),
        ("placed_at_ms", "-1"),
        ("started_at_ms", "-1"),
        ("ended_at_ms", "'never'"),
        ("pid", "99999999999"),
        ("ending", "'{\"cause\": {\"kind\": \"eaten\"}}'"),
        ("end_order", "-1"),
        ("note", "X'ff00ff'"),
        ("kept", "'for ever'"),
        ("missing", "'{}'"),
    ];
    let mut table = String::new();
    for (column, poison) in poisons {
        let statement = format!("UPDATE run SET {column} = {poison} WHERE job = '{}' AND task_index = 1", job_id(5));
        table += &format!("{column} = {poison}: {}\n", poisoned(column, &statement, runs_lost_in).await);
    }
    insta::assert_snapshot!(table, @r#"
    attempt = -1: live, of_job
    job_attempt = -1: live, of_job
    role = 'no role': live, of_job
    task_index = 'first': live, of_job
    state = 'exploded': live, of_job
    node = 'no node': live, of_job
    amount = '{"cpus_milli": 1}': live, of_job
    devices = '{"A100": [-1]}': live, of_job
    ports = '{"http": [99999]}': live, of_job
    address = X'ff00ff': live, of_job
    placed_at_ms = -1: live, of_job
    started_at_ms = -1: live, of_job
    ended_at_ms = 'never': live, of_job
    pid = 99999999999: live, of_job
    ending = '{"cause": {"kind": "eaten"}}': live, of_job
    end_order = -1: live, of_job
    note = X'ff00ff': live, of_job
    kept = 'for ever': live, of_job
    missing = '{}': live, of_job
    "#);
}

#[tokio::test]
async fn a_poisoned_event_is_passed_over() {
    for (column, poison) in
        [("at_ms", "-1"), ("job", "X'ff'"), ("task", "X'ff'"), ("attempt", "-1"), ("kind", "X'ff'"), ("reason", "X'ff'")]
    {
        let place = Place::new();
        let store = six_jobs(&place).await;
        place.change_by_hand(&format!("UPDATE event SET {column} = {poison} WHERE seq = 2"));
        let seqs: Vec<u64> = store.read(|sql| events::after(sql, 0, None, 4)).await.unwrap().iter().map(|it| it.seq).collect();
        assert_eq!(seqs, [1, 3, 4], "{column}");
        assert_eq!(set_aside(&store).await.len(), 1, "{column}");
    }
}

#[tokio::test]
async fn a_job_that_cannot_be_read_says_so_and_what_is_wrong_with_it() {
    let place = Place::new();
    let store = six_jobs(&place).await;
    place.change_by_hand(&format!("UPDATE job SET state = 'exploded' WHERE id = '{}'", job_id(2)));
    let what = format!("job {} (state holds `exploded`)", job_id(2));
    assert_eq!(store.read(|sql| jobs::get(sql, job_id(2))).await, Err(StoreError::Unreadable { what }));
    let said = format!("job {}: state holds `exploded`", job_id(2));
    assert_eq!(set_aside(&store).await, std::slice::from_ref(&said), "known at once");
    // Notes are written with the next write, whoever it belongs to.
    store.write(|_| Ok(())).await.unwrap();
    let written: String =
        place.by_hand().query_row("SELECT kind || ' ' || key || ': ' || why FROM quarantine", [], |row| row.get(0)).unwrap();
    assert_eq!(written, said);
}

#[tokio::test]
async fn a_row_that_was_mended_is_forgotten_at_the_next_start() {
    let place = Place::new();
    let store = six_jobs(&place).await;
    place.change_by_hand(&format!("UPDATE job SET attempt = -1 WHERE id = '{}'", job_id(2)));
    place.change_by_hand(&format!("UPDATE run SET pid = -1 WHERE job = '{}'", job_id(5)));
    store.read(|sql| Ok((jobs_lost_in(sql), runs::of_job(sql, job_id(5))?))).await.unwrap().0.unwrap();
    assert_eq!(set_aside(&store).await.len(), 4);
    let runs = store.read(runs_set_aside).await.unwrap();
    assert_eq!(runs, TASKS.map(|task| run_key(5, task, 1)));
    drop(store);
    place.change_by_hand(&format!("UPDATE job SET attempt = 1 WHERE id = '{}'", job_id(2)));
    assert_eq!(set_aside(&place.open()).await.len(), 3);
    place.change_by_hand(&format!("UPDATE run SET pid = NULL WHERE job = '{}'", job_id(5)));
    assert_eq!(set_aside(&place.open()).await, [""; 0]);
}

#[tokio::test]
async fn a_job_that_is_deleted_takes_its_notes_along() {
    let place = Place::new();
    let store = six_jobs(&place).await;
    place.change_by_hand("UPDATE job SET attempt = -1, state = 'failed'");
    place.change_by_hand("UPDATE run SET pid = -1");
    store.read(|sql| Ok((jobs::list(sql, &jobs::Filter::default(), None, 9)?, runs::of_job(sql, job_id(5))?))).await.unwrap();
    assert_eq!(set_aside(&store).await.len(), 9, "six jobs and three runs");
    store.write(|_| Ok(())).await.unwrap();
    assert_eq!(store.write(|sql| jobs::delete(sql, job_id(5))).await, Ok(Written::Yes));
    assert_eq!(set_aside(&store).await.len(), 5);
}

#[tokio::test]
async fn very_many_bad_rows_are_passed_over_and_only_the_first_are_noted() {
    let place = Place::new();
    let store = six_jobs(&place).await;
    let many = NOTES_MAX + 50;
    place.change_by_hand(&format!(
        "WITH RECURSIVE n (i) AS (SELECT 100 UNION ALL SELECT i + 1 FROM n WHERE i < {})
         INSERT INTO event (seq, at_ms, job, kind, reason) SELECT i, -1, '{}', 'note', '' FROM n",
        many + 99,
        job_id(1)
    ));
    assert_eq!(store.read(|sql| events::after(sql, 99, None, 10_000)).await, Ok(vec![]));
    assert_eq!(set_aside(&store).await.len(), NOTES_MAX as usize);
}
