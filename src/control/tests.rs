//! The loop against an engine that sees and does what it is told.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Arc, Mutex},
};

use model::{
    ids::{NodeName, RunKey},
    job::JobState,
    order::Report,
    plan::PortPlan,
    reconcile::{Phase, Seen},
    task::Cause,
};

use super::{Board, Control, Nudge, deadlines::Deadlines, placing, running, settling};
use crate::{
    engine::{Answer, Engine, EngineError, Node, Start},
    run_token::RunSecret,
    store::{Store, Written, jobs, runs, testing::*},
};

#[derive(Default)]
struct Puppet {
    seen: Mutex<Vec<Seen>>,
    /// What it says when it is asked to stop something; nothing: done.
    cannot_stop: Mutex<Option<String>>,
}

impl Engine for Puppet {
    fn nodes(&self) -> Answer<'_, Vec<Node>> {
        Box::pin(ready(Ok(Vec::new())))
    }
    fn free_ports<'a>(&'a self, _: &'a NodeName, _: PortPlan, _: &'a [u16]) -> Answer<'a, Vec<u16>> {
        Box::pin(ready(Err(EngineError::Away("only 2 of 5 ports are free".into()))))
    }
    fn start<'a>(&'a self, _: Start<'a>) -> Answer<'a, ()> {
        Box::pin(ready(Ok(())))
    }
    fn stop<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> {
        let refused = self.cannot_stop.lock().unwrap().clone();
        Box::pin(ready(refused.map_or(Ok(()), |why| Err(EngineError::Away(why)))))
    }
    fn list(&self) -> Answer<'_, Vec<Seen>> {
        Box::pin(ready(Ok(self.seen.lock().unwrap().clone())))
    }
    fn remove<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> {
        Box::pin(ready(Ok(())))
    }
    fn erase<'a>(&'a self, _: &'a RunKey) -> Answer<'a, ()> {
        Box::pin(ready(Ok(())))
    }
}

fn control(place: &Place) -> (Control, Arc<Puppet>) {
    let engine = Arc::new(Puppet::default());
    let board = Board::default();
    let capacity = resources(8, 8192);
    let (name, address, reason) = ("here".parse().unwrap(), "127.0.0.1".into(), String::new());
    board.set(vec![Node { name, address, capacity, devices: BTreeMap::new(), open: true, reason }]);
    let run_key = RunSecret::of(place.directory.path()).unwrap();
    let (nudge, server_url) = (Nudge::default(), "http://127.0.0.1:9".to_owned());
    (Control { store: place.open(), engine: engine.clone(), nudge, board, server_url, run_key }, engine)
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
async fn a_job_whose_ports_cannot_be_had_says_so_and_holds_nobody_up() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    for (number, ports) in [(1, BTreeMap::from([("http".to_owned(), PortPlan { count: 5, from: None })])), (2, BTreeMap::new())] {
        let mut new = new_job(number, "digits");
        new.plan.roles = vec![role("worker", 1)];
        new.plan.roles[0].ports = ports;
        control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    }
    placing::turn(&control, placing::Look::Far).await.unwrap();
    assert_eq!(job(&control, 2).await.state, JobState::Starting);
    let greedy = job(&control, 1).await;
    assert_eq!((greedy.state, greedy.reason.as_str()), (JobState::Queued, "waits for ports on here: only 2 of 5 ports are free"));
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
async fn of_a_job_that_is_no_gang_nothing_is_concluded_and_nothing_placed_while_one_of_its_runs_cannot_be_read() {
    let place = Place::new();
    let (control, _engine) = control(&place);
    let mut new = new_job(1, "digits");
    (new.plan.gang, new.plan.roles) = (false, vec![role("worker", 3)]);
    new.plan.roles[0].resources = resources(3, 64);
    control.store.write(move |sql| jobs::submit(sql, &new)).await.unwrap();
    let turn = async || {
        settling::turn(&control).await.unwrap();
        placing::turn(&control, placing::Look::Far).await.unwrap();
    };
    turn().await;
    let said = job(&control, 1).await;
    assert_eq!(said.state, JobState::Starting);
    assert!(said.reason.starts_with("2 of 3 tasks run; the next needs 1 × (3 CPU, 64MiB) for worker"), "{}", said.reason);
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
