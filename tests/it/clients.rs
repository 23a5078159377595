//! Many clients at once: the same key, the same name, opposite wishes, and some who do not listen.

use std::{
    collections::BTreeSet,
    io::{Read, Write},
    net::TcpStream,
    sync::Barrier,
    time::{Duration, Instant},
};

use serde_json::Value;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, until, until_some};

const CLIENTS: usize = 64;

/// Does the same from as many threads as there are clients, all at the same moment.
fn all_at_once<T: Send>(what: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let start = Barrier::new(CLIENTS);
    std::thread::scope(|scope| {
        let client = |number| {
            start.wait();
            what(number)
        };
        let threads: Vec<_> = (0..CLIENTS).map(|number| scope.spawn(move || client(number))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

fn submit(house: &House, key: &str, file: &str) -> Result<Value, ClientError> {
    let answer = house.call(Call::post("/api/v1/jobs", file.to_owned()).header("idempotency-key", key))?;
    Ok(serde_json::from_slice(&answer).unwrap())
}

#[test]
fn one_key_from_many_clients_is_one_job_also_when_the_server_dies_meanwhile() {
    let mut house = House::new();
    house.keep_port();
    const FILE: &str = "{name: once, roles: {main: {command: 'echo ran >> /cache/ran'}}}";
    let ids: BTreeSet<String> = all_at_once(|_| submit(&house, "k", FILE).unwrap()["id"].to_string()).into_iter().collect();
    assert_eq!(ids.len(), 1, "{ids:?}");

    // Killed in the middle of it: whoever was not answered asks again.
    let (asking, card) = (house.asking(), house.data().join("server.json"));
    let ids: BTreeSet<String> = std::thread::scope(|scope| {
        let clients = scope.spawn(|| {
            all_at_once(|_| {
                until_some("the server answers", || {
                    let answer = asking.call(Call::post("/api/v1/jobs", FILE.replace("once", "twice")).header("idempotency-key", "k2"));
                    answer.ok().map(|answer| serde_json::from_slice::<Value>(&answer).unwrap()["id"].to_string())
                })
            })
        });
        for _ in 0..5 {
            house.kill();
            house.start();
        }
        assert!(card.exists());
        clients.join().unwrap().into_iter().collect()
    });
    assert_eq!(ids.len(), 1, "{ids:?}");
    house.wait_for("twice", "succeeded");
    house.wait_for("once", "succeeded");
    assert_eq!(std::fs::read_to_string(house.data().join("cache/ran")).unwrap(), "ran\nran\n");
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 2);
    match submit(&house, "k", "{name: other, roles: {main: {command: 'true'}}}") {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.code.as_str()), (409, "key_reused")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_repeat_is_answered_with_its_job_although_the_same_file_would_be_refused_now() {
    let house = House::new();
    house.call(Call::put("/api/v1/secrets/wandb", "k3pt")).unwrap();
    const FILE: &str = "{name: kept, secrets: {key: {named: wandb}}, roles: {main: {command: 'true', image: me/mine}}}";
    let first = submit(&house, "k", FILE).unwrap();
    assert!(first["notes"].to_string().contains("the image me/mine of main is not used"), "{first}");
    house.call(Call::delete("/api/v1/secrets/wandb")).unwrap();
    match submit(&house, "another", FILE) {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.code.as_str()), (422, "bad_spec")),
        other => panic!("{other:?}"),
    }
    assert_eq!(submit(&house, "k", FILE).unwrap(), first);
    match submit(&house, "k", "not even a job file") {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.code.as_str()), (409, "key_reused")),
        other => panic!("{other:?}"),
    }
}

#[test]
fn one_name_from_many_clients_gets_every_version_once() {
    let house = House::new();
    let versions = all_at_once(|_| {
        let answer = house.call(Call::post("/api/v1/jobs", "{name: same, roles: {main: {cpus: 64, command: 'true'}}}")).unwrap();
        serde_json::from_slice::<Value>(&answer).unwrap()["version"].as_u64().unwrap()
    });
    assert_eq!(versions.into_iter().collect::<BTreeSet<u64>>(), (1..=CLIENTS as u64).collect());
}

/// Asks for a stop, a deletion and the state of one job from three sides while it ends by itself, and
/// answers how it ended.
fn race(house: &House, number: usize) -> String {
    let id = house.submit_line(&format!("race-{number}"), "true");
    let path = format!("/api/v1/jobs/{id}");
    let stop = || house.call(Call::post(&format!("{path}/stop"), "")).map(|_| ());
    let delete = || house.call(Call::delete(&path)).map(|_| ());
    let refused = |answer: Result<(), ClientError>| match answer {
        Ok(()) => None,
        Err(ClientError::Refused(status, body)) if [404, 409].contains(&status.as_u16()) => Some(body.code),
        Err(error) => panic!("race {number}: {error:?}"),
    };
    let mut states = Vec::new();
    std::thread::scope(|scope| {
        if !number.is_multiple_of(3) {
            scope.spawn(|| refused(stop()));
        }
        let deleter = scope.spawn(|| until("it is deleted", || refused(delete()).is_none_or(|code| code == "no_such_job")));
        until("it is gone", || match house.get(&path) {
            Ok(shown) => {
                let state = serde_json::from_slice::<Value>(&shown).unwrap()["state"].as_str().unwrap().to_owned();
                if states.last() != Some(&state) {
                    states.push(state);
                }
                false
            }
            Err(ClientError::Refused(status, _)) => status == 404,
            Err(error) => panic!("{error:?}"),
        });
        deleter.join().unwrap();
    });
    let over = |state: &String| ["succeeded", "failed", "stopped"].contains(&state.as_str());
    let ended: Vec<&String> = states.iter().skip_while(|state| !over(state)).collect();
    assert!(ended.len() <= 1 && !states.contains(&"failed".to_owned()), "race {number}: {states:?}");
    states.last().cloned().unwrap_or_default()
}

#[test]
fn stopping_ending_and_deleting_at_once_is_one_ending_and_leaves_nothing() {
    const ROUNDS: usize = 50;
    const AT_ONCE: usize = 4;
    let house = House::new();
    let endings: Vec<String> = std::thread::scope(|scope| {
        let house = &house;
        let lane = |lane| (0..ROUNDS).map(|round| race(house, round * AT_ONCE + lane)).collect::<Vec<_>>();
        let lanes: Vec<_> = (0..AT_ONCE).map(|number| scope.spawn(move || lane(number))).collect();
        lanes.into_iter().flat_map(|lane| lane.join().unwrap()).collect()
    });
    assert_eq!(endings.len(), ROUNDS * AT_ONCE);
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len(), 0);
    let empty = |folder: &str| std::fs::read_dir(house.data().join(folder)).unwrap().next().is_none();
    until("every file is gone", || empty("runs") && empty("live"));
    until("nobody is left", || house.groups().is_empty());
    assert_eq!(house.get_json("/api/v1/about")["quarantined"], serde_json::json!([]));
}

/// The memory a process has now, in MiB.
fn resident_mib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<u64>().unwrap() >> 10
}

#[test]
fn followers_that_do_not_read_cost_little_and_hold_nobody_up() {
    const STALLED: usize = 50;
    let house = House::new();
    let talk = house.submit_line("talk", "yes 0123456789abcdef | head -c 64M; echo done > /cache/done; sleep 600");
    until("it has said everything", || house.data().join("cache/done").exists());
    let before = resident_mib(house.server_pid());
    let address = house.url().trim_start_matches("http://").to_owned();
    let mut stalled: Vec<TcpStream> = (0..STALLED)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            let head =
                format!("GET /api/v1/jobs/{talk}/follow HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n", house.token());
            stream.write_all(head.as_bytes()).unwrap();
            stream
        })
        .collect();
    // Each has its first bytes, and then does not come back for more.
    for stream in &mut stalled {
        stream.read_exact(&mut [0; 1024]).unwrap();
    }
    let answer_time = || {
        let asked = Instant::now();
        house.get_json("/api/v1/jobs");
        asked.elapsed()
    };
    until("the lines to all of them are full", || answer_time() < Duration::from_secs(1));
    let (mut slowest, mut most) = (Duration::ZERO, 0);
    for number in 0..10 {
        let other = house.submit(&format!("{{name: other-{number}, roles: {{main: {{cpus: 0.5, command: 'echo fine'}}}}}}"));
        slowest = slowest.max(answer_time());
        house.wait_for(&other, "succeeded");
        most = most.max(resident_mib(house.server_pid()));
    }
    // Held up would be for ever; how quick an answer is on a machine with nothing else to do, the benches tell.
    assert!(slowest < Duration::from_secs(10), "an answer took {slowest:?}");
    assert!(most < before + 100, "{before} MiB became {most} MiB with {STALLED} followers");
    // One that reads gets everything.
    let log = house.get(&format!("/api/v1/jobs/{talk}/tasks/main-0/log")).unwrap();
    assert_eq!(log.len(), 64 << 20);
}
