//! From one task into another of the same gang.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::house::{House, marked, until};

const TWO_NODES: [&str; 6] = ["--nodes", "2", "--node-cpus", "2", "--node-memory", "2GiB"];

/// A caller that runs a line, and a worker that is there to be called.
pub fn called_by(line: &str) -> Value {
    json!({ "name": "reach", "stop_grace": "1s", "roles": {
        "caller": { "cpus": 0.5, "memory": "256MiB", "command": line, "completion": { "min_succeeded": 1 } },
        "worker": { "tasks": 2, "cpus": 0.5, "memory": "256MiB", "command": "echo mine; sleep 600", "env": { "COLOUR": "of worker" } },
    } })
}

fn output_of(house: &House, line: &str) -> String {
    let job = house.submit(&called_by(line).to_string());
    let shown = house.wait_until_over(&job);
    assert_eq!(shown["state"], "succeeded", "{}\n{}", shown["reason"], house.log(&job, "caller-0"));
    assert_eq!(house.log(&job, "worker-1"), "mine\n", "what callers start does not write into the task's log");
    house.log(&job, "caller-0")
}

#[test]
fn a_command_runs_inside_the_other_task_with_its_surroundings() {
    let house = House::with_args(&TWO_NODES);
    let line = r#"
        trainmaster reach worker-1 -- sh -c 'hostname; echo "$TRAINMASTER_ROLE-$TRAINMASTER_TASK_INDEX $COLOUR"; pwd; cat /proc/1/comm'
        trainmaster reach worker-1 -- sh -c 'tr "\0" "\n" < /proc/2/cmdline | tail -n 1'
    "#;
    assert_eq!(output_of(&house, line), "worker-1\nworker-1 of worker\n/code\ntrainmaster-ini\necho mine; sleep 600\n");
}

#[test]
fn streams_codes_and_signals_go_through() {
    let house = House::with_args(&TWO_NODES);
    let line = r#"
        seq 100000 | trainmaster reach worker-0 -- cat | cksum; seq 100000 | cksum
        trainmaster reach worker-0 -- sh -c 'echo out; echo err >&2; exit 41' 2>/dev/null; echo "code $?"
        trainmaster reach worker-0 -- sh -c 'kill -SEGV $$'; echo "code $?"
        trainmaster reach worker-0 -- no-such-program 2>&1; echo "code $?"
        trainmaster reach worker-9 -- true 2>/dev/null; echo "code $?"
        trainmaster reach worker-0 -- sh -c 'trap "echo heard; exit 3" TERM; echo > /output/ready; while :; do sleep 0.05; done' 2>/dev/null &
        until trainmaster reach worker-0 -- test -e /output/ready; do :; done
        kill -TERM $!; wait $!; echo "code $?"
    "#;
    let said = output_of(&house, line);
    let (sums, rest) = said.split_at(said.match_indices('\n').nth(1).unwrap().0 + 1);
    let sums: Vec<&str> = sums.lines().collect();
    assert_eq!(sums[0], sums[1]);
    insta::assert_snapshot!(rest, @"
    out
    code 41
    code 139
    trainmaster: no program `no-such-program` in PATH
    code 127
    code 2
    heard
    code 3
    ");
}

#[test]
fn ssh_finds_the_tasks_of_the_job_and_leaves_other_hosts_to_the_machines_own() {
    let house = House::with_args(&TWO_NODES);
    let line = r#"
        mkdir -p /tmp/others; printf '#!/bin/sh\necho "not ours: $*"\n' > /tmp/others/ssh; chmod +x /tmp/others/ssh
        PATH=$PATH:/tmp/others
        ssh -o StrictHostKeyChecking=no -x ann@worker-1 'echo $COLOUR;' hostname
        echo 'echo from a script' | ssh worker-0
        PATH=${PATH%%:*}:/tmp/others ssh -p 22 elsewhere ls
        getent hosts worker-0 worker-1 caller-0 | wc -l
    "#;
    assert_eq!(output_of(&house, line), "of worker\nworker-1\nfrom a script\nnot ours: -p 22 elsewhere ls\n3\n");
}

#[test]
fn what_was_started_ends_with_its_caller_and_with_its_task() {
    let house = House::with_args(&TWO_NODES);
    let mark = format!("reached-{}", std::process::id());
    let start = format!("trainmaster reach worker-0 -- env MARK={mark} sh -c 'sleep 500 & sleep 501' & caller=$!");
    let line = format!("{start}; until [ -e /output/go ]; do sleep 0.02; done; kill -9 $caller; echo cut; sleep 600");
    let job = house.submit(&called_by(&line).to_string());
    house.wait_for(&job, "running");
    // The caller, who names it too, and the three in the worker.
    until("the guests are there", || marked(&format!("MARK={mark}")).len() >= 4);
    std::fs::write(house.output_dir(&job, "caller-0").join("go"), "").unwrap();
    house.wait_for_output(&job, "caller-0", "cut");
    // What is left is the line of the caller's own shell.
    until("the guests have gone with their caller", || marked(&format!("MARK={mark}")).len() <= 1);
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    house.wait_for(&job, "stopped");
    until("nothing is left", || marked(&mark).is_empty());
}

#[test]
fn whoever_has_no_key_is_turned_away_and_takes_no_place_for_long() {
    let house = House::with_args(&TWO_NODES);
    let job =
        house.submit(&called_by("until [ -e /output/go ]; do sleep 0.02; done; trainmaster reach worker-0 -- echo still here").to_string());
    let shown = house.wait_for(&job, "running");
    let worker = shown["runs"].as_array().unwrap().iter().find(|run| run["task"] == "worker-0").unwrap().clone();
    let port = house.letter(&job, "worker-0").order.gang.unwrap().launch.unwrap().port;
    let nodes = house.get_json("/api/v1/nodes");
    let node = nodes.as_array().unwrap().iter().find(|node| node["name"] == worker["node"]).unwrap();
    let address = (node["address"].as_str().unwrap(), port);
    // Nonsense, and a guess.
    for greeting in [vec![b'x'; 52], [&b"trainmaster reach 1\n"[..], &[7; 32]].concat()] {
        let mut stranger = TcpStream::connect(address).unwrap();
        stranger.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        stranger.write_all(&greeting).unwrap();
        let _ = stranger.write_all(&[0; 32]);
        let _ = stranger.write_all(b"C\0\0\0\x15{\"command\":[\"touch\"]}");
        let mut answer = Vec::new();
        let _ = stranger.read_to_end(&mut answer);
        assert!(answer.len() <= 64, "more than a number and a proof came back: {answer:?}");
    }
    // A crowd that says nothing keeps nobody out who has a key, and is hung up on.
    let asked = Instant::now();
    let crowd: Vec<TcpStream> = (0..100).map(|_| TcpStream::connect(address).unwrap()).collect();
    std::fs::write(house.output_dir(&job, "caller-0").join("go"), "").unwrap();
    house.wait_for_output(&job, "caller-0", "still here\n");
    assert!(asked.elapsed() < Duration::from_secs(8), "the crowd was waited for: {:?}", asked.elapsed());
    for mut stranger in crowd {
        stranger.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        assert_eq!(stranger.read(&mut [0]).unwrap_or(0), 0);
    }
    assert!(asked.elapsed() < Duration::from_secs(25), "{:?}", asked.elapsed());
    house.wait_for(&job, "succeeded");
}

#[test]
fn without_the_convention_there_is_no_door() {
    let house = House::with_args(&TWO_NODES);
    let mut file = called_by("trainmaster reach worker-0 -- true 2>/dev/null || echo no; hostname");
    file["conventions"] = json!([]);
    let job = house.submit(&file.to_string());
    house.wait_for(&job, "succeeded");
    assert_eq!(house.log(&job, "caller-0"), "no\ncaller-0\n");
    let shown = house.show(&job);
    assert!(shown["runs"].as_array().unwrap().iter().all(|run| run["ports"].as_object().unwrap().is_empty()), "{shown:#}");
}
