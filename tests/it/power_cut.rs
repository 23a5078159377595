//! The power goes, and comes back: what was answered before is there, what was told as ended has ended so, and everything else comes to a
//! true end.

use std::{
    collections::BTreeMap,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    forgetful::{Forgetful, Unsynced},
    house::{Asking, House, processes, until},
    place::{is_root, with_own_mounts},
};

const CUTS: usize = 6;
const CLIENTS: usize = 3;
/// Of each client.
const JOBS_A_LIFE: usize = 8;
const ENDED_BEFORE_A_CUT: usize = 8;

/// What the outside was told, by the job's name.
#[derive(Default)]
struct Told {
    ids: BTreeMap<String, String>,
    /// How they ended, and what they had printed.
    endings: BTreeMap<String, (String, Vec<u8>)>,
}

/// Its number is what it prints and, in every fourth, why it fails.
fn job(number: usize) -> (String, String) {
    let name = format!("job-{number}");
    let line = format!("for n in 1 2 3; do echo {number}.$n; sleep 0.02; done; printf end; exit $(({number} % 4 / 3))");
    (name.clone(), json!({ "name": name, "roles": { "main": { "command": line, "cpus": 0.5, "memory": "64MiB" } } }).to_string())
}

fn whole_log(name: &str) -> Vec<u8> {
    let number = name.strip_prefix("job-").unwrap();
    format!("{number}.1\n{number}.2\n{number}.3\nend").into_bytes()
}

fn expected_state(name: &str) -> &'static str {
    let number: usize = name.strip_prefix("job-").unwrap().parse().unwrap();
    if number % 4 == 3 { "failed" } else { "succeeded" }
}

/// Submits one job after another, until they are enough or nobody answers any more.
fn submit_until_dark(asking: &Asking, next: &AtomicUsize, dark: &AtomicBool) -> BTreeMap<String, String> {
    let mut ids = BTreeMap::new();
    while ids.len() < JOBS_A_LIFE && !dark.load(Ordering::SeqCst) {
        let (name, file) = job(next.fetch_add(1, Ordering::SeqCst));
        let Ok(answer) = asking.call(Call::post("/api/v1/jobs", file)) else { break };
        let answer: Value = serde_json::from_slice(&answer).unwrap();
        ids.insert(name, answer["id"].as_str().unwrap().to_owned());
    }
    ids
}

fn jobs_in(asking: &Asking, states: &str) -> Option<Vec<Value>> {
    let answer = asking.call(Call::get(&format!("/api/v1/jobs?state={states}&limit=500"))).ok()?;
    Some(serde_json::from_slice::<Value>(&answer).unwrap()["jobs"].as_array().unwrap().clone())
}

/// The endings of this life that somebody saw.
fn endings_until_dark(asking: &Asking, told: &Told, dark: &AtomicBool, seen: &AtomicUsize) -> BTreeMap<String, (String, Vec<u8>)> {
    let mut endings = BTreeMap::new();
    while !dark.load(Ordering::SeqCst) {
        let Some(over) = jobs_in(asking, "succeeded,failed") else { break };
        for job in over {
            let (name, id) = (job["name"].as_str().unwrap().to_owned(), job["id"].as_str().unwrap());
            if told.endings.contains_key(&name) || endings.contains_key(&name) {
                continue;
            }
            let Ok(log) = asking.call(Call::get(&format!("/api/v1/jobs/{id}/tasks/main-0/log"))) else { break };
            endings.insert(name, (job["state"].as_str().unwrap().to_owned(), log));
            seen.fetch_add(1, Ordering::SeqCst);
        }
    }
    endings
}

/// Everyone who has something open on the disk, as far as there still are any.
fn holders(place: &Path) -> Vec<i32> {
    let holds = |pid: &i32| {
        let files = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        files.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target.starts_with(place))
    };
    let own = std::process::id().cast_signed();
    processes().into_iter().filter(|pid| *pid != own).filter(holds).collect()
}

/// One life of the machine, until its power goes.
fn live(house: &mut House, disk: &Forgetful, told: &mut Told, next: &AtomicUsize, unsynced: Unsynced) {
    let (dark, seen) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let asking: Vec<Asking> = (0..=CLIENTS).map(|_| house.asking()).collect();
    let (ids, endings) = std::thread::scope(|scope| {
        let clients: Vec<_> = asking[1..].iter().map(|asking| scope.spawn(|| submit_until_dark(asking, next, &dark))).collect();
        let watcher = scope.spawn(|| endings_until_dark(&asking[0], told, &dark, &seen));
        until("some have ended", || seen.load(Ordering::SeqCst) >= ENDED_BEFORE_A_CUT);
        disk.cut_power(unsynced);
        dark.store(true, Ordering::SeqCst);
        house.kill();
        let ids: Vec<_> = clients.into_iter().flat_map(|client| client.join().unwrap()).collect();
        (ids, watcher.join().unwrap())
    });
    told.ids.extend(ids);
    told.endings.extend(endings);
}

/// Nobody survives the power.
fn end_everyone(place: &Path) {
    until("everyone is gone", || {
        let left = holders(place);
        for pid in &left {
            // SAFETY: a plain system call on a process of this test.
            unsafe { libc::kill(*pid, libc::SIGKILL) };
        }
        left.is_empty()
    });
}

fn is_all_there(house: &House, told: &Told) {
    for (name, id) in &told.ids {
        assert_eq!(house.show(id)["name"], **name, "what was answered is there");
    }
    for (name, (state, log)) in &told.endings {
        let id = house.show(name)["id"].as_str().unwrap().to_owned();
        assert_eq!(house.state(&id), *state, "{name} has ended only once");
        assert_eq!(house.get(&format!("/api/v1/jobs/{id}/tasks/main-0/log")).unwrap(), *log, "the log of {name} is what it was");
    }
}

/// Whoever is over did what it was to do, or the platform says that it does not know.
fn every_end_is_true(house: &House, told: &Told) {
    for name in told.ids.keys() {
        let shown = house.wait_until_over(name);
        let (state, id) = (shown["state"].as_str().unwrap(), shown["id"].as_str().unwrap());
        assert_eq!(state, expected_state(name), "{name}: {}", shown["reason"]);
        assert_eq!(house.get(&format!("/api/v1/jobs/{id}/tasks/main-0/log")).unwrap(), whole_log(name), "{name}");
    }
}

fn nothing_is_lost_where(unsynced: fn(u64) -> Unsynced) {
    if !is_root("mount a disk of its own") {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    with_own_mounts(|| {
        let (disk, mut told, next) = (Forgetful::new(), Told::default(), AtomicUsize::new(0));
        let mut mounted = disk.mount(place.path());
        let mut house = House::unopened_at(&place.path().join("data"));
        house.start();
        for cut in 0..CUTS {
            let unsynced = unsynced(cut as u64);
            println!("power cut {cut}: {unsynced:?}, {} answered, {} ended", told.ids.len(), told.endings.len());
            live(&mut house, &disk, &mut told, &next, unsynced);
            end_everyone(place.path());
            drop(mounted);
            disk.turn_on();
            mounted = disk.mount(place.path());
            house.start();
            is_all_there(&house, &told);
        }
        every_end_is_true(&house, &told);
        assert!(told.endings.len() >= CUTS * ENDED_BEFORE_A_CUT);
        drop(house);
        end_everyone(place.path());
        drop(mounted);
    });
}

#[test]
fn nothing_that_was_answered_is_lost_where_a_power_cut_takes_all_that_was_not_synced() {
    nothing_is_lost_where(|_| Unsynced::Lost);
}

#[test]
fn nothing_that_was_answered_is_lost_where_a_power_cut_leaves_shreds() {
    nothing_is_lost_where(|cut| Unsynced::Torn { seed: cut });
}
