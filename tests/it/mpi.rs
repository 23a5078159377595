//! MPI over tasks, with Debian's Open MPI: nothing but the host file and our launcher between them.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    house::{House, marked, until},
    place::has_program,
};

/// Open MPI is as many packages as all of us, so a machine may do without; CI may not.
fn has_mpi() -> bool {
    has_program("mpicc", "compile what the ranks run")
}

/// The directory with the compiled program, to be seen as `/code`.
fn compiled(house: &House) -> PathBuf {
    let code = house.place().join("code");
    std::fs::create_dir_all(&code).unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/mpi/sum.c");
    let made = Command::new("mpicc").arg("-o").arg(code.join("sum")).arg(source).status().unwrap();
    assert!(made.success());
    code
}

/// A launcher, and workers that wait to be reached.
fn job(code: &Path, workers: u32, slots: u32, program: &str) -> Value {
    let hosts: String = (0..workers).map(|index| format!("worker-{index} slots={slots}\\n")).collect();
    let line = format!("printf '{hosts}' > /tmp/hosts; exec mpirun --hostfile /tmp/hosts -np {} {program}", workers * slots);
    let worker = json!({ "tasks": workers, "cpus": 0.3, "memory": "256MiB", "command": "sleep 600" });
    let launcher = json!({ "cpus": 0.3, "memory": "256MiB", "command": line, "completion": { "min_succeeded": 1 } });
    json!({ "name": "sum", "code": code, "conventions": ["mpi"], "stop_grace": "1s", "roles": { "launcher": launcher, "worker": worker } })
}

/// What the ranks said. Open MPI now and then has a word about its own process groups in between.
fn lines(text: &str) -> Vec<&str> {
    let mut lines: Vec<&str> = text.lines().filter(|line| line.starts_with("rank ")).collect();
    lines.sort_unstable();
    lines
}

#[test]
fn four_ranks_over_two_tasks_and_over_four_add_up() {
    if !has_mpi() {
        return;
    }
    let house = House::with_args(&["--nodes", "2", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let code = compiled(&house);
    for (workers, slots) in [(2, 2), (4, 1)] {
        let id = house.submit(&job(&code, workers, slots, "/code/sum").to_string());
        let shown = house.wait_until_over(&id);
        let said = house.log(&id, "launcher-0");
        assert_eq!(shown["state"], "succeeded", "{}\n{said}", shown["reason"]);
        let wanted: Vec<String> = (0..4).map(|rank| format!("rank {rank} of 4 on worker-{}: 6", rank / slots)).collect();
        assert_eq!(lines(&said), wanted);
        assert_eq!(house.log(&id, "worker-0"), "", "what ranks print goes to the launcher");
    }
}

#[test]
fn tasks_that_share_a_node_and_its_address_are_hosts_of_their_own() {
    if !has_mpi() {
        return;
    }
    let house = House::new();
    let id = house.submit(&job(&compiled(&house), 2, 1, "/code/sum").to_string());
    let shown = house.wait_until_over(&id);
    let said = house.log(&id, "launcher-0");
    assert_eq!(shown["state"], "succeeded", "{}\n{said}", shown["reason"]);
    assert_eq!(lines(&said), ["rank 0 of 2 on worker-0: 1", "rank 1 of 2 on worker-1: 1"]);
}

#[test]
fn a_rank_that_dies_fails_the_job_within_seconds_and_nothing_is_left() {
    if !has_mpi() {
        return;
    }
    let house = House::with_args(&["--nodes", "2", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let id = house.submit(&job(&compiled(&house), 2, 2, "/code/sum 2").to_string());
    let submitted = Instant::now();
    let shown = house.wait_until_over(&id);
    assert_eq!(shown["state"], "failed", "{}", house.log(&id, "launcher-0"));
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.starts_with("launcher-0 exited with code 7 "), "{reason}\n{}", house.log(&id, "launcher-0"));
    assert!(submitted.elapsed() < Duration::from_secs(20), "{:?}", submitted.elapsed());
    until("nothing of it is left", || marked(&id).is_empty());
}

/// What the launcher does before it begins, with two ranks on each of two workers; the job fails in its name, and says whom it missed.
fn fails_without_worker_1(before: &str, worker: &str, why: &str) {
    if !has_mpi() {
        return;
    }
    let house = House::with_args(&["--nodes", "2", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let mut file = job(&compiled(&house), 2, 2, "/code/sum");
    let line = format!("{before}; {}", file["roles"]["launcher"]["command"].as_str().unwrap());
    file["roles"]["launcher"]["command"] = line.into();
    file["roles"]["worker"]["command"] = worker.into();
    let id = house.submit(&file.to_string());
    let shown = house.wait_until_over(&id);
    let said = house.log(&id, "launcher-0");
    assert_eq!(shown["state"], "failed", "{said}");
    assert!(shown["reason"].as_str().unwrap().starts_with("launcher-0 exited with code "), "{}\n{said}", shown["reason"]);
    assert!(said.contains(&format!("worker-1 cannot be reached: {why}")), "{said}");
    assert_eq!(lines(&said), Vec::<&str>::new(), "no rank has begun");
    until("nothing of it is left", || marked(&id).is_empty());
}

#[test]
fn a_rank_whose_task_is_gone_fails_the_job_and_is_named() {
    let gone = "while trainmaster reach worker-1 -- true 2>/dev/null; do sleep 0.05; done";
    fails_without_worker_1(gone, "[ $TRAINMASTER_TASK_INDEX = 0 ] || exit 0; sleep 600", "Connection refused");
}

#[test]
fn a_rank_that_is_looked_for_at_the_wrong_port_fails_the_job_and_is_named() {
    let elsewhere = r#"cp -r $TRAINMASTER_GANG /tmp/gang; export TRAINMASTER_GANG=/tmp/gang
        sed 's/\("worker-1":{"address":"[0-9.]*","port":\)[0-9]*/\11/' -i /tmp/gang/reach.json"#;
    fails_without_worker_1(elsewhere, "sleep 600", "Connection refused");
}

#[test]
fn a_stopped_job_leaves_no_rank_behind() {
    if !has_mpi() {
        return;
    }
    let house = House::with_args(&["--nodes", "2", "--node-cpus", "2", "--node-memory", "2GiB"]);
    let id = house.submit(&job(&house.place(), 2, 2, "sh -c 'echo up; exec sleep 300'").to_string());
    until("every rank is up", || house.log(&id, "launcher-0").matches("up\n").count() == 4);
    house.call(Call::post(&format!("/api/v1/jobs/{id}/stop"), "")).unwrap();
    house.wait_for(&id, "stopped");
    until("nothing of it is left", || marked(&id).is_empty());
}
