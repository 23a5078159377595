use model::{ids::RoleName, job::JobState, standing::Placed, task::Cause};

use super::*;
use crate::store::{Store, jobs, testing::*};

async fn with_runs(place: &Place, runs: &[RunKey]) -> Store {
    let store = place.open();
    store.write(|sql| jobs::submit(sql, &new_job(1, "digits"))).await.unwrap();
    for run in runs {
        let new = new_run(run);
        store.write(move |sql| insert(sql, &new)).await.unwrap();
    }
    store
}

async fn run(store: &Store, run: &RunKey) -> Run {
    let run = run.clone();
    store.read(move |sql| get(sql, &run)).await.unwrap().unwrap()
}

async fn end(store: &Store, run: &RunKey, cause: Cause) -> Written {
    let run = run.clone();
    store.write(move |sql| ended(sql, &run, &ending(cause), &"".into(), 45)).await.unwrap()
}

async fn start(store: &Store, run: &RunKey) -> Written {
    let run = run.clone();
    store.write(move |sql| started(sql, &run, 30, 77, &["no cgroup".into(), "no overlay".into()])).await.unwrap()
}

#[tokio::test]
async fn a_run_comes_back_as_it_was_placed_started_and_ended() {
    let place = Place::new();
    let key = run_key(1, "worker-0", 1);
    let store = with_runs(&place, std::slice::from_ref(&key)).await;
    let NewRun { node, amount, devices, ports, address, .. } = new_run(&key);
    let placed = Run {
        run: key.clone(),
        job_attempt: 1,
        state: TaskState::Starting,
        node,
        amount,
        devices,
        ports,
        address,
        placed_at_ms: 20,
        ready_at_ms: None,
        started_at_ms: None,
        ended_at_ms: None,
        pid: None,
        ending: None,
        end_order: None,
        note: Default::default(),
        kept: None,
        missing: vec![],
        commit: None,
        sync: None,
        sync_since_ms: None,
    };
    assert_eq!(run(&store, &key).await, placed);
    assert_eq!(start(&store, &key).await, Written::Yes);
    let missing = vec!["no cgroup".to_owned(), "no overlay".to_owned()];
    let running = Run { state: TaskState::Running, started_at_ms: Some(30), pid: Some(77), missing, ..placed };
    assert_eq!(run(&store, &key).await, running);
    assert_eq!(end(&store, &key, Cause::Exited { code: 3 }).await, Written::Yes);
    let ending = Some(ending(Cause::Exited { code: 3 }));
    let over = Run { state: TaskState::Failed, ended_at_ms: Some(40), ending, end_order: Some(1), ..running };
    assert_eq!(run(&store, &key).await, over);
}

#[tokio::test]
async fn a_run_starts_once_and_ends_once_and_each_is_an_event() {
    let place = Place::new();
    let key = run_key(1, "worker-0", 1);
    let store = with_runs(&place, std::slice::from_ref(&key)).await;
    assert_eq!((start(&store, &key).await, start(&store, &key).await), (Written::Yes, Written::Stale));
    assert_eq!(end(&store, &key, Cause::Stopped { killed: false }).await, Written::Yes);
    assert_eq!(end(&store, &key, Cause::Exited { code: 0 }).await, Written::Stale);
    assert_eq!(start(&store, &key).await, Written::Stale, "a report that comes late");
    assert_eq!(run(&store, &key).await.state, TaskState::Stopped);
    assert_eq!(end(&store, &run_key(1, "worker-9", 1), Cause::Exited { code: 0 }).await, Written::Stale);
    let events = store.read(|sql| events::after(sql, 1, None, 100)).await.unwrap();
    let lines: String =
        events.iter().map(|it| format!("{} {} {}: {}\n", it.at_ms, it.task.as_ref().unwrap(), it.kind, it.reason)).collect();
    insta::assert_snapshot!(lines, @"
    30 worker-0 task_started: no cgroup; no overlay
    45 worker-0 task_ended: stopped after 10ms
    ");
}

#[tokio::test]
async fn a_gang_waits_for_those_who_are_neither_ready_nor_running_nor_over() {
    let place = Place::new();
    let keys = ["ps-0", "worker-0", "worker-1", "worker-2"].map(|task| run_key(1, task, 1));
    let store = with_runs(&place, &keys).await;
    let waited_for = async || {
        let tasks = store.read(|sql| not_ready(sql, job_id(1), 1)).await.unwrap();
        tasks.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let say_ready = async |at_ms| {
        let key = keys[1].clone();
        store.write(move |sql| ready(sql, &key, at_ms)).await.unwrap()
    };
    assert_eq!(waited_for().await, "ps-0 worker-0 worker-1 worker-2");
    assert_eq!((say_ready(5).await, say_ready(9).await), (Written::Yes, Written::Yes), "said twice, as after a lost answer");
    assert_eq!(run(&store, &keys[1]).await.ready_at_ms, Some(5));
    assert_eq!(start(&store, &keys[2]).await, Written::Yes);
    assert_eq!(end(&store, &keys[3], Cause::Exited { code: 0 }).await, Written::Yes);
    assert_eq!(waited_for().await, "ps-0");
    place.change_by_hand("UPDATE run SET state = 'nonsense' WHERE role = 'ps'");
    assert_eq!(waited_for().await, "ps-0", "nobody knows what it does, so it is waited for");
    assert_eq!(end(&store, &keys[1], Cause::Stopped { killed: false }).await, Written::Yes);
    assert_eq!(say_ready(9).await, Written::Stale);
}

#[tokio::test]
async fn the_order_of_endings_counts_within_the_attempt() {
    let place = Place::new();
    let keys = [("ps-0", 1), ("worker-0", 1), ("worker-1", 1), ("worker-0", 2)].map(|(task, attempt)| run_key(1, task, attempt));
    let store = with_runs(&place, &keys).await;
    for key in [&keys[2], &keys[3], &keys[0]] {
        assert_eq!(end(&store, key, Cause::Unknown { why: "gone".into() }).await, Written::Yes);
    }
    let runs = store.read(|sql| of_job(sql, job_id(1))).await.unwrap();
    let order: Vec<String> = runs.iter().map(|it| format!("{} #{} {:?}", it.run.task, it.run.attempt, it.end_order)).collect();
    assert_eq!(order, ["worker-0 #2 Some(1)", "ps-0 #1 Some(2)", "worker-0 #1 None", "worker-1 #1 Some(1)"]);
    let of_first = store.read(|sql| of_attempt(sql, job_id(1), 1)).await.unwrap();
    assert_eq!(of_first.len(), 3);
}

#[tokio::test]
async fn tasks_are_in_the_order_of_their_numbers() {
    let place = Place::new();
    let keys: Vec<RunKey> = (0..12).map(|index| run_key(1, &format!("worker-{index}"), 1)).collect();
    let store = with_runs(&place, &keys).await;
    let runs = store.read(|sql| of_attempt(sql, job_id(1), 1)).await.unwrap();
    assert_eq!(runs.into_iter().map(|it| it.run).collect::<Vec<_>>(), keys);
}

#[tokio::test]
async fn live_runs_are_found_by_their_own_small_index() {
    let place = Place::new();
    let keys = ["ps-0", "worker-0", "worker-1"].map(|task| run_key(1, task, 1));
    let store = with_runs(&place, &keys).await;
    assert_eq!(start(&store, &keys[0]).await, Written::Yes);
    assert_eq!(end(&store, &keys[1], Cause::Exited { code: 0 }).await, Written::Yes);
    let live: Vec<String> = store.read(live).await.unwrap().iter().map(|it| it.run.task.to_string()).collect();
    assert_eq!(live, ["ps-0", "worker-1"]);
    let plan = store.read(|sql| sql.query(&format!("EXPLAIN QUERY PLAN {}", live_question()), &[], |row| row.text("detail")));
    assert_eq!(plan.await.unwrap()[0], "SCAN run USING INDEX run_live");
}

/// It is told from the ends of indexes where nobody was left out, and counted where somebody was; in both ways it is the same.
#[tokio::test]
async fn how_far_each_role_has_come_is_known_also_where_a_task_was_left_out_or_tried_again() {
    let place = Place::new();
    let keys = ["ps-0", "worker-0", "worker-1", "worker-3"].map(|task| run_key(1, task, 1));
    let store = with_runs(&place, &keys).await;
    let job = store.read(|sql| jobs::get(sql, job_id(1))).await.unwrap().unwrap();
    let told = async || {
        let job = job.clone();
        let tally = store.read(move |sql| tally(sql, &job)).await.unwrap().unwrap();
        let role = |(name, it): (&RoleName, &Placed)| format!("{name}: {} of {} good, without {:?}", it.succeeded, it.first, it.left_out);
        let rest = tally.rest.iter().map(|it| format!("{}#{}", it.task, it.attempt)).collect::<Vec<_>>().join(" ");
        format!("{}; rest: {rest}", tally.roles.iter().map(role).collect::<Vec<_>>().join("; "))
    };
    let (fine, broken) = (Cause::Exited { code: 0 }, Cause::Exited { code: 3 });
    let mut seen = vec![told().await];
    assert_eq!(end(&store, &keys[1], fine.clone()).await, Written::Yes);
    assert_eq!(end(&store, &keys[2], broken).await, Written::Yes);
    seen.push(told().await);
    for task in ["worker-2#1", "worker-1#2"] {
        let (task, attempt) = task.split_once('#').unwrap();
        let new = NewRun { job_attempt: 1, ..new_run(&run_key(1, task, attempt.parse().unwrap())) };
        store.write(move |sql| insert(sql, &new)).await.unwrap();
    }
    seen.push(told().await);
    assert_eq!(end(&store, &run_key(1, "worker-1", 2), fine).await, Written::Yes);
    seen.push(told().await);
    place.change_by_hand("UPDATE run SET end_order = 'nonsense' WHERE state = 'failed'");
    seen.push(told().await);
    insta::assert_snapshot!(seen.join("\n"), @"
    ps: 0 of 1 good, without []; worker: 0 of 4 good, without [2]; rest: ps-0#1 worker-0#1 worker-1#1 worker-3#1
    ps: 0 of 1 good, without []; worker: 1 of 4 good, without [2]; rest: ps-0#1 worker-3#1 worker-1#1
    ps: 0 of 1 good, without []; worker: 1 of 4 good, without []; rest: ps-0#1 worker-2#1 worker-3#1 worker-1#2 worker-1#1
    ps: 0 of 1 good, without []; worker: 2 of 4 good, without []; rest: ps-0#1 worker-2#1 worker-3#1
    ps: 0 of 1 good, without []; worker: 2 of 4 good, without []; rest: ps-0#1 worker-2#1 worker-3#1
    ");
}

/// A job of a thousand tasks asks these at every ending, and must not be read through each time.
#[tokio::test]
async fn what_an_ending_asks_is_answered_by_indexes_that_know_it() {
    let store = Place::new().open();
    let (all, of_role) = (vec!["j".into(), 1.into()], vec!["j".into(), 1.into(), "worker".into()]);
    let questions = [
        (rest(COLUMNS), all.clone()),
        (format!("SELECT COUNT(*) FROM ({})", rest("1")), all.clone()),
        (live_of_question(), all.clone()),
        (format!("SELECT 1 FROM run WHERE {} LIMIT 1", awaited()), all.clone()),
        (roles::good_question(), all),
        (roles::LAST.to_owned(), of_role),
        (LAST_ATTEMPT.to_owned(), vec!["j".into(), "worker".into(), 1.into()]),
    ];
    let mut plans = Vec::new();
    for (question, values) in questions {
        let plan = store.read(move |sql| sql.query(&format!("EXPLAIN QUERY PLAN {question}"), &values, |row| row.text("detail")));
        plans.push(plan.await.unwrap().into_iter().filter(|it| it.starts_with("S")).collect::<Vec<_>>().join("; "));
    }
    insta::assert_snapshot!(plans.join("\n"), @"
    SEARCH run USING INDEX run_live (job=?); SEARCH good USING INDEX run_by_task (job=? AND role=? AND task_index=?); SEARCH run USING INDEX run_bad (job=? AND job_attempt=?); SEARCH good USING INDEX run_by_task (job=? AND role=? AND task_index=?)
    SEARCH run USING INDEX run_live (job=?); SEARCH good USING INDEX run_by_task (job=? AND role=? AND task_index=?); SEARCH run USING INDEX run_bad (job=? AND job_attempt=?); SEARCH good USING INDEX run_by_task (job=? AND role=? AND task_index=?); SCAN (subquery-4)
    SEARCH run USING INDEX run_live (job=?)
    SEARCH run USING INDEX run_live (job=? AND attempt=?)
    SCAN CONSTANT ROW; SCALAR SUBQUERY 1; SEARCH run USING COVERING INDEX run_by_end (job=? AND job_attempt=? AND end_order>?); SCALAR SUBQUERY 2; SEARCH run USING INDEX run_bad (job=? AND job_attempt=?)
    SEARCH run USING INDEX run_by_task (job=? AND role=?)
    SEARCH run USING COVERING INDEX run_by_task (job=? AND role=? AND task_index=?)
    ");
}

#[tokio::test]
async fn a_run_is_placed_once_and_only_for_a_job_that_exists() {
    let place = Place::new();
    let key = run_key(1, "worker-0", 1);
    let store = with_runs(&place, std::slice::from_ref(&key)).await;
    let again = new_run(&key);
    assert!(store.write(move |sql| insert(sql, &again)).await.is_err());
    let of_nobody = new_run(&run_key(2, "worker-0", 1));
    assert!(store.write(move |sql| insert(sql, &of_nobody)).await.is_err());
}

#[tokio::test]
async fn a_deleted_job_leaves_its_runs_to_be_erased_and_each_is_forgotten_when_it_is() {
    let place = Place::new();
    let keys = ["ps-0", "worker-0"].map(|task| run_key(1, task, 1));
    let store = with_runs(&place, &keys).await;
    place.change_by_hand("UPDATE run SET pid = -1 WHERE role = 'ps'");
    let stopped = to(JobState::Stopped, 5);
    let _ = store.write(move |sql| jobs::advance(sql, (job_id(1), JobState::Queued, 1), &stopped)).await.unwrap();
    assert_eq!(store.read(leftovers).await, Ok(vec![]));
    assert_eq!(store.write(|sql| jobs::delete(sql, job_id(1))).await, Ok(Written::Yes));
    assert_eq!(store.read(leftovers).await, Ok(keys.to_vec()), "also the one that could not be read");
    let first = keys[0].clone();
    store.write(move |sql| erased(sql, &first)).await.unwrap();
    place.change_by_hand("INSERT INTO leftover (run) VALUES ('nonsense')");
    assert_eq!(store.read(leftovers).await, Ok(vec![keys[1].clone()]));
}
