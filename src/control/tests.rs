//! The loop against an engine that sees and does what it is told.

use std::{
    collections::BTreeMap,
    future::{pending, ready},
    sync::{Arc, Mutex},
};

use model::{
    ids::{NodeName, RunKey},
    job::JobState,
    order::Report,
    plan::PortPlan,
    reconcile::{Phase, Seen},
    schedule::Assignment,
    task::Cause,
    words::Words,
};

use super::{Board, Control, Endings, Nudge, deadlines::Deadlines, placing, refill, running, settling, sweeping::Leftovers};
use crate::{
    engine::{Answer, Engine, EngineError, Node, Start},
    run_token::RunSecret,
    store::{Store, Written, jobs, quarantine, runs, testing::*},
};

mod unclear;

#[derive(Default)]
struct Puppet {
    seen: Mutex<Vec<Seen>>,
    /// What it sees besides, and only once.
    seen_once: Mutex<Vec<Seen>>,
    /// What it says when it is asked to stop something; nothing: done.
    cannot_stop: Mutex<Option<String>>,
    /// What it was asked to erase, and is still at.
    erasing: Mutex<Vec<RunKey>>,
    /// What was placed and is started in the moment in which it is asked what it sees.
    arriving: Mutex<Vec<placing::Placed>>,
}

impl Engine for Puppet {
    fn nodes(&self) -> Answer<'_, Vec<Node>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    fn free_ports<'a>(&'a self, _: &'a NodeName, _: PortPlan, _: &'a [u16]) -> Answer<'a, Vec<u16>, Words> {
        Box::pin(ready(Err(Words::from("only 2 of 5 ports are free"))))
    }
    fn start<'a>(&'a self, _: Start<'a>) -> Answer<'a, ()> {
        Box::pin(ready(Ok(())))
    }
    fn stop<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> {
        let refused = self.cannot_stop.lock().unwrap().clone();
        Box::pin(ready(refused.map_or(Ok(()), |why| Err(EngineError::Away(why)))))
    }
    fn list(&self) -> Answer<'_, Vec<Seen>> {
        self.arriving.lock().unwrap().clear();
        let once = std::mem::take(&mut *self.seen_once.lock().unwrap());
        Box::pin(ready(Ok([self.seen.lock().unwrap().clone(), once].concat())))
    }
    fn sync<'a>(&'a self, _: Start<'a>, _: bool) -> Answer<'a, Option<model::sync::Synced>> {
        Box::pin(ready(Ok(None)))
    }
    fn remove<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> {
        Box::pin(ready(Ok(())))
    }
    fn erase<'a>(&'a self, run: &'a RunKey) -> Answer<'a, ()> {
        self.erasing.lock().unwrap().push(run.clone());
        Box::pin(pending())
    }
}

fn control(place: &Place) -> (Control, Arc<Puppet>) {
    let engine = Arc::new(Puppet::default());
    let board = Board::default();
    let capacity = resources(8, 8192);
    let (name, address, reason) = ("here".parse().unwrap(), "127.0.0.1".into(), Default::default());
    board.set(vec![Node { name, address, capacity, devices: BTreeMap::new(), open: true, reason }]);
    let run_key = RunSecret::of(place.directory.path()).unwrap();
    let uploads = crate::code::upload::Room::of(place.directory.path());
    let (nudge, server_url, sync_patience_ms) = (Nudge::default(), "http://127.0.0.1:9".to_owned(), 1_000);
    let (data, keeping, endings) = (place.directory.path().to_owned(), crate::config::Keeping::default(), Endings::default());
    let (store, told) = (place.open(), engine.clone());
    (Control { store, engine: told, nudge, board, server_url, run_key, sync_patience_ms, uploads, data, keeping, endings }, engine)
}

/// A job of one worker, moved along these states, with its run.
async fn job_in(store: &Store, states: &[JobState]) -> RunKey {
    let mut new = new_job(1, "digits");
    new.plan.roles = vec![role("worker", 1)];
    store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    let run = run_key(1, "worker-0", 1);
    let placed = new_run(&run);
    store.write(move |sql| runs::insert(sql, &placed)).await.unwrap();
    let mut from = JobState::Queued;
    for state in states {
        let change = to(*state, 5);
        let _ = store.write(move |sql| jobs::advance(sql, (job_id(1), from, 1), &change)).await.unwrap();
        from = *state;
    }
    run
}

async fn job(control: &Control, number: u64) -> jobs::Job {
    control.store.read(move |sql| jobs::get(sql, job_id(number))).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_run_whose_supervisor_is_on_its_way_is_not_called_stopped_before_its_door_is_closed() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let run = job_in(&control.store, &[JobState::Starting, JobState::Stopping]).await;
    *engine.seen.lock().unwrap() = vec![Seen { run, phase: Phase::NotTaken }];
    *engine.cannot_stop.lock().unwrap() = Some("it is just being taken up".into());
    let mut sight = running::Sight::default();
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Stopping);

    *engine.cannot_stop.lock().unwrap() = None;
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Stopping, "somebody may have taken it up before it could be closed");
    engine.seen.lock().unwrap()[0].phase = Phase::Ended(ending(Cause::Stopped { killed: false }));
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Stopped);
}

#[tokio::test]
async fn a_job_that_was_out_of_sight_when_the_server_died_is_seen_again_by_the_next() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let run = job_in(&control.store, &[JobState::Starting, JobState::Running, JobState::Unknown]).await;
    *engine.seen.lock().unwrap() = vec![Seen { run, phase: Phase::Alive }];
    running::turn(&control, &mut running::Sight::default()).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Running);
}

#[tokio::test]
async fn a_run_that_had_begun_is_given_up_where_its_node_has_no_trace_of_it_and_not_begun_again() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let run = job_in(&control.store, &[JobState::Starting]).await;
    let (begun, started) = (run.clone(), Report::Started { at_ms: 7, pid: 5, missing: Vec::new(), steps: Vec::new(), spoke_at_ms: None });
    let _moved = control.store.write(move |sql| settling::take_report(sql, &begun, &started)).await.unwrap();
    for phase in [Phase::Alive, Phase::NotTaken] {
        *engine.seen.lock().unwrap() = vec![Seen { run: run.clone(), phase: phase.clone() }];
        running::turn(&control, &mut running::Sight::default()).await.unwrap();
        let wanted = run.clone();
        let ending = control.store.read(move |sql| runs::get(sql, &wanted)).await.unwrap().unwrap().ending;
        let is_unknown = ending.is_some_and(|it| matches!(it.cause, Cause::Unknown { .. }));
        assert_eq!(is_unknown, phase == Phase::NotTaken, "{phase:?}");
    }
}

#[tokio::test]
async fn a_job_whose_ports_cannot_be_had_says_so_and_holds_nobody_up() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    for (number, ports) in [(1, BTreeMap::from([("http".to_owned(), PortPlan { count: 5, from: None })])), (2, BTreeMap::new())] {
        let mut new = new_job(number, "digits");
        new.plan.roles = vec![role("worker", 1)];
        new.plan.roles[0].ports = ports;
        control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    }
    placing::Placing::default().sweep(&control).await.unwrap();
    assert_eq!(job(&control, 2).await.state, JobState::Starting);
    let greedy = job(&control, 1).await;
    assert_eq!((greedy.state, greedy.reason.en.as_str()), (JobState::Queued, "waits for ports on here: only 2 of 5 ports are free"));
}

#[tokio::test]
async fn what_deleted_jobs_left_behind_is_erased_beside_the_turns_and_by_one_alone() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let run = job_in(&control.store, &[JobState::Starting, JobState::Stopping, JobState::Stopped]).await;
    let _ = control.store.write(|sql| jobs::delete(sql, job_id(1))).await.unwrap();
    let mut leftovers = Leftovers::default();
    leftovers.turn(&control);
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
    while engine.erasing.lock().unwrap().is_empty() && std::time::Instant::now() < deadline {
        tokio::task::yield_now().await;
    }
    leftovers.turn(&control);
    assert_eq!(*engine.erasing.lock().unwrap(), [run], "somebody is still at it");
}

#[tokio::test]
async fn a_run_that_was_erased_between_the_looks_at_disk_and_database_is_not_called_lost() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let over = |number| Seen { run: run_key(number, "worker-0", 1), phase: Phase::Ended(ending(Cause::Exited { code: 0 })) };
    *engine.seen_once.lock().unwrap() = vec![over(7)];
    running::turn(&control, &mut running::Sight::default()).await.unwrap();
    assert_eq!(control.store.read(quarantine::list).await.unwrap(), Vec::<String>::new());

    (*engine.seen.lock().unwrap(), *engine.seen_once.lock().unwrap()) = (vec![over(8)], vec![over(7)]);
    running::turn(&control, &mut running::Sight::default()).await.unwrap();
    assert_eq!(control.store.read(quarantine::runs_set_aside).await.unwrap(), [run_key(8, "worker-0", 1)], "it is still there");
}

#[tokio::test]
async fn a_bell_rings_for_one_gang_and_no_other() {
    let nudge = Nudge::default();
    let (mut ours, theirs) = (nudge.gang_bell(job_id(1)), nudge.gang_bell(job_id(2)));
    nudge.gang(job_id(1));
    assert_eq!((ours.changed().await.is_ok(), theirs.has_changed().unwrap()), (true, false));
}

#[tokio::test]
async fn a_job_whose_outcome_is_decided_is_not_turned_into_a_stopped_one_by_its_longest_duration() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    job_in(&control.store, &[JobState::Starting, JobState::Running, JobState::Finishing]).await;
    let _ = control.store.write(|sql| jobs::set_max_duration(sql, job_id(1), Some(1))).await.unwrap();
    Deadlines::default().turn(&control).await.unwrap();
    settling::turn(&control).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Finishing);
}

#[tokio::test]
async fn the_longest_duration_counts_in_the_pause_between_two_attempts_too() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    job_in(&control.store, &[JobState::Starting, JobState::Running, JobState::Queued]).await;
    let _ = control.store.write(|sql| jobs::set_max_duration(sql, job_id(1), Some(1))).await.unwrap();
    Deadlines::default().turn(&control).await.unwrap();
    let stopped = job(&control, 1).await;
    assert_eq!((stopped.state, stopped.reason.en.as_str()), (JobState::Stopped, "stopped by its maximum duration of 1ms"));
}

#[tokio::test]
async fn a_clock_that_was_set_while_no_server_ran_ends_nothing() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    job_in(&control.store, &[JobState::Starting, JobState::Running]).await;
    let _ = control.store.write(|sql| jobs::set_max_duration(sql, job_id(1), Some(3_600_000))).await.unwrap();
    let set_clock = |hours: u64| place.change_by_hand(&format!("UPDATE job SET started_at_ms = {}", super::now_ms() - hours * 3_600_000));
    set_clock(0);
    Deadlines::default().turn(&control).await.unwrap();
    set_clock(24);
    Deadlines::default().turn(&control).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Running, "by a clock that nobody sets it has just begun");
    place.change_by_hand("UPDATE job_clock SET boot_id = 'before'");
    Deadlines::default().turn(&control).await.unwrap();
    assert_eq!(job(&control, 1).await.state, JobState::Stopping, "after a reboot only the wall clock knows");
}

#[tokio::test]
async fn of_a_job_that_is_no_gang_a_task_that_is_over_still_has_what_it_was_told() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let mut new = new_job(1, "digits");
    (new.plan.gang, new.plan.roles) = (false, vec![role("worker", 3)]);
    control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    placing::Placing::default().sweep(&control).await.unwrap();
    for task in ["worker-0", "worker-1", "worker-2"] {
        let (run, report) = (run_key(1, task, 1), Report::Ended { ending: ending(Cause::Exited { code: 0 }) });
        let _ = control.store.write(move |sql| settling::take_report(sql, &run, &report)).await.unwrap();
    }
    let job = job(&control, 1).await;
    assert_eq!(job.state, JobState::Succeeded);
    let (task, asked) = ("worker-1".parse().unwrap(), job.clone());
    let placed = control.store.read(move |sql| super::placed(sql, &asked, &"worker-1".parse().unwrap())).await.unwrap();
    assert_eq!(placed.iter().map(|run| run.run.task.to_string()).collect::<Vec<_>>(), ["worker-1"]);
    let told = super::environment(&job, &placed, &task).unwrap().env;
    assert!(told.values().all(|value| !value.contains('<')), "{told:?}");
}

#[tokio::test]
async fn of_a_job_that_is_no_gang_nothing_is_concluded_and_nothing_placed_while_one_of_its_runs_cannot_be_read() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let mut new = new_job(1, "digits");
    (new.plan.gang, new.plan.roles) = (false, vec![role("worker", 3)]);
    new.plan.roles[0].resources = resources(3, 64);
    control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    let turn = async || {
        settling::turn(&control).await.unwrap();
        placing::Placing::default().sweep(&control).await.unwrap();
    };
    turn().await;
    let said = job(&control, 1).await;
    assert_eq!(said.state, JobState::Starting);
    assert!(said.reason.en.starts_with("2 of 3 tasks run; the next needs 1 × (3 CPU, 64MiB) for worker"), "{}", said.reason);
    for task in ["worker-0", "worker-1"] {
        let (run, report) = (run_key(1, task, 1), Report::Ended { ending: ending(Cause::Exited { code: 0 }) });
        let (written, _) = control.store.write(move |sql| settling::take_report(sql, &run, &report)).await.unwrap();
        assert_eq!(written, Written::Yes);
    }
    place.change_by_hand("UPDATE run SET state = 'odd' WHERE task_index = 0");
    turn().await;
    let count = async || control.store.read(|sql| runs::of_job(sql, job_id(1))).await.unwrap().len();
    assert_eq!((job(&control, 1).await.state, count().await), (JobState::Running, 1));
    place.change_by_hand("UPDATE run SET state = 'succeeded' WHERE task_index = 0");
    turn().await;
    assert_eq!((job(&control, 1).await.state, count().await), (JobState::Running, 3));
}

/// Jobs that each want the whole node, the first of them placed.
async fn one_runs_and_others_wait(control: &Control, jobs: u64) -> RunKey {
    for number in 1..=jobs {
        let mut new = new_job(number, "digits");
        new.plan.roles = vec![role("worker", 1)];
        new.plan.roles[0].resources = resources(8, 64);
        control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    }
    placing::Placing::default().glance(control).await.unwrap();
    run_key(1, "worker-0", 1)
}

async fn end_and_refill(control: &Control, run: RunKey) -> refill::Refilled {
    let (board, nudge) = (control.board.clone(), control.nudge.clone());
    let report = Report::Ended { ending: ending(Cause::Exited { code: 0 }) };
    let end = move |sql: &crate::store::Sql<'_>| {
        let _landed = settling::take_report(sql, &run, &report)?;
        Ok(refill::refill(sql, &board, &nudge))
    };
    control.store.write(end).await.unwrap()
}

#[tokio::test]
async fn whoever_ends_makes_room_for_the_next_in_the_same_transaction() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let first = one_runs_and_others_wait(&control, 3).await;
    assert!(control.nudge.room().is_full(), "nobody has to look for room for a job that comes now");
    let before = *control.store.changes().borrow();
    let refilled = end_and_refill(&control, first).await;
    assert_eq!(*control.store.changes().borrow() - before, 1, "one commit");
    let placed: Vec<RunKey> = refilled.placed.iter().flat_map(|it| it.new.runs().iter().cloned()).collect();
    assert_eq!((placed, refilled.is_more), (vec![run_key(2, "worker-0", 1)], false));
    let mut states = Vec::new();
    for number in 1..=3 {
        states.push(job(&control, number).await.state);
    }
    assert_eq!(states, [JobState::Succeeded, JobState::Starting, JobState::Queued]);
    let gang = control.store.read(|sql| runs::of_attempt(sql, job_id(2), 1)).await.unwrap();
    assert_eq!(refilled.placed[0].gang, gang, "they are told of each other what the database would tell");
}

#[tokio::test]
async fn a_run_that_is_on_its_way_to_its_engine_is_not_called_stopped_before_it_has_arrived() {
    let place = Place::new();
    let (control, engine) = control(&place);
    let first = one_runs_and_others_wait(&control, 2).await;
    let on_their_way = end_and_refill(&control, first).await.placed;
    let stop = |sql: &crate::store::Sql<'_>| jobs::advance(sql, (job_id(2), JobState::Starting, 1), &to(JobState::Stopping, 7));
    assert_eq!(control.store.write(stop).await.unwrap(), Written::Yes);
    let mut sight = running::Sight::default();
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 2).await.state, JobState::Stopping, "its engine does not know it yet, and will");

    // It arrives while it is looked around.
    *engine.arriving.lock().unwrap() = on_their_way;
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 2).await.state, JobState::Stopping, "what was seen is from before");
    running::turn(&control, &mut sight).await.unwrap();
    assert_eq!(job(&control, 2).await.state, JobState::Stopped);
}

#[tokio::test]
async fn room_that_nobody_wants_is_open_to_whoever_comes() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let only = one_runs_and_others_wait(&control, 1).await;
    let refilled = end_and_refill(&control, only).await;
    assert!(refilled.placed.is_empty() && !control.nudge.room().is_full());
}

#[tokio::test]
async fn a_decision_from_before_somebody_else_placed_does_not_land() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let first = one_runs_and_others_wait(&control, 3).await;
    let mut taken = placing::Taken::new(&[], control.nudge.room().placings());
    end_and_refill(&control, first).await;
    let (role, node, amount) = ("worker".parse().unwrap(), "here".parse().unwrap(), resources(8, 64));
    let assignments = vec![Assignment { role, index: 0, node, amount }];
    assert_eq!(placing::start(&control, job_id(3), assignments, &mut taken).await.unwrap(), None);
    assert_eq!(job(&control, 3).await.state, JobState::Queued, "its place was given to the second");
}

/// A job of one worker that wants so many CPUs.
fn wanting(number: u64, cpus: u64) -> jobs::NewJob {
    let mut new = new_job(number, "digits");
    new.plan.roles = vec![role("worker", 1)];
    new.plan.roles[0].resources = resources(cpus, 64);
    new
}

#[tokio::test]
async fn behind_thousands_that_do_not_fit_a_job_that_fits_beside_them_starts_at_the_next_sweep() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let jobs = [5].into_iter().chain([6; 5000]).chain([1]).zip(1..).map(|(cpus, number)| wanting(number, cpus));
    let jobs: Vec<jobs::NewJob> = jobs.collect();
    control.store.write(move |sql| jobs.iter().try_for_each(|new| jobs::submit(sql, new).map(drop))).await.unwrap();
    let mut placing = placing::Placing::default();
    placing.sweep(&control).await.unwrap();
    let states = [job(&control, 1).await.state, job(&control, 2).await.state, job(&control, 5002).await.state];
    assert_eq!(states, [JobState::Starting, JobState::Queued, JobState::Starting]);
}

#[tokio::test]
async fn every_job_of_a_long_queue_is_told_why_it_waits_and_nothing_is_written_twice() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let jobs: Vec<jobs::NewJob> = (1..=1000).map(|number| wanting(number, 8)).collect();
    control.store.write(move |sql| jobs.iter().try_for_each(|new| jobs::submit(sql, new).map(drop))).await.unwrap();
    let mut placing = placing::Placing::default();
    let untold = || place.by_hand().query_row("SELECT COUNT(*) FROM job WHERE reason = ''", [], |row| row.get::<_, i64>(0)).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while untold() > 0 {
        assert!(std::time::Instant::now() < deadline, "{} jobs were told nothing", untold());
        placing.sweep(&control).await.unwrap();
    }
    let reason = job(&control, 1000).await.reason.en;
    assert!(reason.starts_with("needs 1 × (8 CPU, 64MiB) for worker; free now: here 0 of 8 CPU"), "{reason}");
    assert!(reason.ends_with("998 jobs are before it"), "{reason}");
    let commits = *control.store.changes().borrow();
    for _ in 0..10 {
        placing.sweep(&control).await.unwrap();
    }
    assert_eq!(*control.store.changes().borrow(), commits, "what was said already is not written again");
}
