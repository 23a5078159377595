//! What tasks use, held against what they really did.

use std::{
    io::{Read, Write},
    net::TcpListener,
    process::Command,
    time::Duration,
};

use serde_json::{Value, json};
use trainmaster::client::{Call, Client};

use crate::house::{Asking, House, cpu_ms, holds_for, peak_own_mib, text, until, until_some};

const MIB: u64 = 1 << 20;

fn submit(house: &House, name: &str, memory: &str, script: &str) -> String {
    let role = json!({ "command": ["python3", "-u", "-c", script], "memory": memory, "cpus": 0.5 });
    house.submit(&json!({ "name": name, "roles": { "main": role } }).to_string())
}

fn usage(house: &House, job: &str) -> Value {
    house.get_json(&format!("/api/v1/jobs/{job}/usage?buckets=2000"))
}

/// How much of a figure there was in all: the area below its curve, without the last bucket and with it. That one reaches
/// beyond the end of the task.
fn area(usage: &Value, curve: &Value) -> (f64, f64) {
    let seconds = usage["bucket_ms"].as_f64().unwrap() / 1000.0;
    let parts: Vec<f64> = curve["mean"].as_array().unwrap().iter().map(|it| it.as_f64().unwrap_or(0.0) * seconds).collect();
    (parts[..parts.len() - 1].iter().sum(), parts.iter().sum())
}

/// A job's first task once it was looked at.
fn looked_at(house: &House, job: &str) -> Value {
    until_some("it is looked at", || {
        let task = usage(house, job)["tasks"][0].clone();
        task["counted"].as_object().is_some_and(|it| !it.is_empty()).then_some(task)
    })
}

/// A script that goes on until a file in its output is there.
fn until_let_go(work: &str) -> String {
    format!("import os,time\n{work}\nprint('done')\nwhile not os.path.exists('/output/go'): time.sleep(0.02)\n")
}

fn let_go(house: &House, job: &str) {
    std::fs::write(house.output_dir(job, "main-0").join("go"), "").unwrap();
    house.wait_for(job, "succeeded");
}

/// Burns that much CPU time with that many CPUs to have, and answers the most it had at once.
fn most_cores(cpus: f64, seconds: f64) -> f64 {
    let house = House::new();
    let burn = format!("import time\nwhile time.process_time() < {seconds}: pass\n");
    let file = json!({ "name": "burner", "roles": { "main": { "command": ["python3", "-c", burn], "cpus": cpus } } });
    let job = house.submit(&file.to_string());
    house.wait_for(&job, "succeeded");
    let usage = usage(&house, &job);
    let task = &usage["tasks"][0];
    let burnt = task["totals"]["cpu_ms"].as_f64().unwrap() / 1000.0;
    assert!((seconds - 0.1..seconds + 0.9).contains(&burnt), "{task:#}");
    let curve = &task["curves"]["cpu_cores"];
    let drawn = area(&usage, curve);
    assert!(drawn.0 - 0.1 < burnt && burnt < drawn.1 + 0.1, "the curve has {drawn:?} s of {burnt} s: {curve}");
    assert_eq!(task["limits"]["cpus"], cpus);
    for sum in [&usage["total"], &usage["roles"][0]] {
        assert_eq!(area(&usage, &sum["curves"]["cpu_cores"]), drawn, "{sum:#}");
        assert_eq!(sum["totals"], task["totals"]);
    }
    curve["max"].as_array().unwrap().iter().filter_map(Value::as_f64).fold(0.0, f64::max)
}

/// A machine that others use may give a task less than a core for a while, but never more; so only the most is held against
/// a bound, and the curve against the CPU time. Both end in the middle between two looks: within a tenth of a second a limit says nothing.
#[test]
fn cpu_time_is_what_was_burnt_and_the_curve_has_all_of_it() {
    assert!(most_cores(1.0, 2.5) < 1.25);
    assert!(most_cores(0.5, 1.25) < 0.85);
}

#[test]
fn memory_and_its_limit_are_shown_while_it_is_held() {
    let house = House::new();
    let job = submit(&house, "holder", "512MiB", &until_let_go("held = bytearray(os.urandom(1024)) * (200 * 1024)"));
    let task = until_some("its memory is seen", || {
        let task = usage(&house, &job)["tasks"][0].clone();
        (task["now"]["memory_bytes"].as_f64()? > 200.0 * MIB as f64).then_some(task)
    });
    assert!(task["now"]["memory_bytes"].as_f64().unwrap() < 300.0 * MIB as f64, "{task:#}");
    assert_eq!(task["limits"]["memory_bytes"], 512 * MIB);
    assert_eq!(task["now"]["processes"], 1.0, "{task:#}");
    let shown = text(&house.cli(&["top", "--once"]).stdout);
    assert!(shown.contains("holder@1") && shown.contains("512M"), "{shown}");
    let_go(&house, &job);
    let after = usage(&house, &job)["tasks"][0].clone();
    assert_eq!(after["now"], json!({}), "nothing is used by what is over");
    assert!(after["totals"]["peak_memory_bytes"].as_u64().unwrap() > 200 * MIB, "{after:#}");
}

#[test]
fn what_was_written_and_read_is_counted_for_the_task_that_did_it() {
    let house = House::new();
    let write = "f = open('/output/big', 'wb')\nfor _ in range(64): f.write(b'x' * (1 << 20))\nf.flush(); os.fsync(f.fileno())\n\
                 os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)\nfor _ in open('/output/big', 'rb'): pass";
    let (busy, idle) = (submit(&house, "writer", "512MiB", &until_let_go(write)), submit(&house, "idle", "512MiB", &until_let_go("pass")));
    let written = |job: &str| usage(&house, job)["tasks"][0]["totals"]["written_bytes"].as_u64();
    until("what was written is counted", || written(&busy) >= Some(64 * MIB));
    until("the other is looked at too", || written(&idle).is_some());
    assert!(written(&busy) < Some(72 * MIB) && written(&idle) < Some(4 * MIB), "{:?} {:?}", written(&busy), written(&idle));
    let_go(&house, &idle);
    let_go(&house, &busy);
    let used = usage(&house, &busy);
    let drawn = area(&used, &used["total"]["curves"]["written_bytes_per_s"]);
    assert!(drawn.0 < 72.0 * MIB as f64 && drawn.1 > 63.9 * MIB as f64, "{drawn:?} {used:#}");
    // What the kernel still had in memory need not be fetched.
    let read = used["total"]["totals"]["read_bytes"].as_u64().unwrap();
    assert!(read > 32 * MIB && read < 128 * MIB, "{read}");
    let idle = usage(&house, &idle)["tasks"][0]["totals"].clone();
    assert!(idle["cpu_ms"].as_u64().unwrap() < 3_000 && idle["written_bytes"].as_u64().unwrap() < 4 * MIB, "{idle}");
}

#[test]
fn a_download_over_loopback_is_counted_for_who_downloads() {
    const BYTES: usize = 8 << 20;
    let house = House::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = std::thread::spawn(move || {
        let (mut line, _) = listener.accept().unwrap();
        line.write_all(&vec![7; BYTES]).unwrap();
        // Until the other side has gone.
        line.read_to_end(&mut Vec::new()).unwrap();
    });
    let fetch = format!(
        "import socket\ns = socket.create_connection(('127.0.0.1', {port}))\nleft = {BYTES}\nwhile left: left -= len(s.recv(65536))\ns.send(b'thanks')"
    );
    let (loader, idle) =
        (submit(&house, "loader", "256MiB", &until_let_go(&fetch)), submit(&house, "idle", "256MiB", &until_let_go("pass")));
    let totals = |job: &str| usage(&house, job)["tasks"][0]["totals"].clone();
    until("what came is counted", || totals(&loader)["received_bytes"].as_u64() == Some(BYTES as u64));
    until("the other is looked at too", || totals(&idle)["received_bytes"] == 0);
    // It may have been looked at between the two.
    until("what went is counted", || totals(&loader)["sent_bytes"].as_u64().is_some_and(|sent| (6..=8).contains(&sent)));
    let how = usage(&house, &loader)["tasks"][0]["counted"]["received_bytes_per_s"].clone();
    assert_eq!(how["code"], "tcp_connections");
    let_go(&house, &loader);
    let_go(&house, &idle);
    serving.join().unwrap();
}

#[test]
fn a_server_that_is_away_leaves_no_hole() {
    let mut house = House::new();
    let job = submit(&house, "steady", "256MiB", &until_let_go("pass"));
    looked_at(&house, &job);
    house.kill();
    let ring = house.run_dir(&job, "main-0", 1).join("usage.fine");
    let length = || std::fs::metadata(&ring).unwrap().len();
    let before = length();
    until("it is looked at while there is no server", || length() > before + 300);
    house.start();
    let_go(&house, &job);
    let usage = usage(&house, &job);
    let cpu = usage["tasks"][0]["curves"]["cpu_cores"]["mean"].as_array().unwrap().clone();
    assert!(cpu.len() >= 4 && cpu.iter().all(Value::is_number), "{cpu:?}");
}

#[test]
fn what_is_too_short_to_look_at_has_its_totals_and_says_why_there_is_no_more() {
    let house = House::new();
    let job = house.submit_line("short", "true");
    house.wait_for(&job, "succeeded");
    let task = usage(&house, &job)["tasks"][0].clone();
    assert!(task["totals"]["cpu_ms"].is_number() && task["curves"] == json!({}), "{task:#}");
    assert_eq!(task["absent"].as_object().unwrap().len(), 10, "{task:#}");
    let why = &task["absent"]["memory_bytes"];
    assert_eq!(why["code"], "too_short");
    assert!(why["reason"].as_str().unwrap().contains("second") && why["reason_zh"].as_str().unwrap().contains("一秒"), "{why}");
    let shown = text(&house.cli(&["top", "short"]).stdout);
    assert!(shown.contains("short@1 has succeeded") && shown.contains("it has not run for a second"), "{shown}");
}

#[test]
fn every_figure_of_a_task_is_counted_or_has_its_reason() {
    let house = House::new();
    let job = submit(&house, "plain", "256MiB", &until_let_go("pass"));
    let task = looked_at(&house, &job);
    assert_eq!(task["counted"].as_object().unwrap().len() + task["absent"].as_object().unwrap().len(), 10, "{task:#}");
    assert_eq!(task["absent"]["accelerator_use"]["code"], "no_device");
    let_go(&house, &job);
}

#[test]
fn the_machine_and_its_nodes_have_their_own_curves_and_keep_them_over_a_restart() {
    let mut house = House::new();
    let job = submit(
        &house,
        "busy",
        "256MiB",
        &until_let_go("end = time.time() + 600\nwhile time.time() < end and not os.path.exists('/output/go'): pass"),
    );
    let nodes = |house: &House| house.get_json("/api/v1/usage?buckets=2000");
    until("the node is seen to be busy", || nodes(&house)["nodes"][0]["now"]["cpu_cores"].as_f64() > Some(0.2));
    let cluster = nodes(&house);
    assert!(cluster["machine"]["now"]["memory_bytes"].as_f64().unwrap() > MIB as f64, "{cluster:#}");
    assert_eq!(cluster["total"]["now"]["cpu_cores"], cluster["nodes"][0]["now"]["cpu_cores"]);
    assert_eq!(cluster["nodes"][0]["absent"]["load"]["code"], "not_per_node");
    let before = cluster["from_ms"].clone();
    house.restart();
    assert_eq!(nodes(&house)["from_ms"], before, "what was kept is still there");
    let_go(&house, &job);
}

/// A person who is no administrator.
pub fn someone(house: &mut House, user: &'static str) -> Asking {
    let token = format!("tm_{user}");
    house.kill();
    let store = trainmaster::store::Store::open(&house.data()).unwrap();
    let hash = trainmaster::api::token_hash(&token);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let add = move |sql: &trainmaster::store::Sql<'_>| {
        use trainmaster::store::tokens::{Role, add};
        add(sql, &hash, user, Role::User, "test", 1, None)
    };
    runtime.block_on(store.write(add)).unwrap();
    drop(store);
    house.start();
    Asking::new(Client::new(&house.url(), token).unwrap())
}

#[test]
fn what_a_job_uses_is_nobody_elses_business() {
    let mut house = House::new();
    let ann = someone(&mut house, "ann");
    let job = submit(&house, "mine", "256MiB", &until_let_go("pass"));
    house.wait_for_output(&job, "main-0", "done");
    let ask = |path: &str| ann.call(Call::get(path)).map(|body| serde_json::from_slice::<Value>(&body).unwrap());
    assert!(ask(&format!("/api/v1/jobs/{job}/usage")).unwrap_err().to_string().contains("there is no job"));
    assert_eq!(ask("/api/v1/usage/now").unwrap()["jobs"], json!([]));
    assert!(ask("/api/v1/usage").is_ok(), "what the cluster uses is no secret");
    assert!(ask("/metrics").unwrap_err().to_string().contains("may not"));
    assert_eq!(house.get_json("/api/v1/usage/now")["jobs"][0]["label"], "mine@1");
    let_go(&house, &job);
}

#[test]
fn a_window_that_makes_no_sense_is_refused() {
    let house = House::new();
    let job = house.submit_line("short", "true");
    house.wait_for(&job, "succeeded");
    for (question, why) in [
        ("buckets=0", "1 to 2000"),
        ("buckets=2001", "1 to 2000"),
        ("from=9&to=5", "a time before 5"),
        ("task=main-7", "has no task"),
        ("task=x", "has no task"),
        ("from=x", "query"),
    ] {
        let said = house.get(&format!("/api/v1/jobs/{job}/usage?{question}")).unwrap_err().to_string();
        assert!(said.contains(why), "{question}: {said}");
    }
    let far = house.get_json(&format!("/api/v1/jobs/{job}/usage?from=0&to=18446744073709551615&buckets=2000"));
    assert!(far["at_ms"].as_array().unwrap().len() <= 2000);
}

#[test]
fn a_supervisor_that_looks_costs_little() {
    let house = House::new();
    let job = submit(&house, "steady", "256MiB", &until_let_go("pass"));
    house.wait_for_output(&job, "main-0", "done");
    let [pid] = house.supervisors()[..] else { panic!("one supervisor") };
    let before = cpu_ms(pid).unwrap();
    holds_for(Duration::from_secs(5), "it lives", || cpu_ms(pid).is_some_and(|now| now < before + 250));
    let mib = peak_own_mib(pid.cast_unsigned());
    assert!(mib < 30, "{mib} MiB");
    let_go(&house, &job);
}

#[test]
fn devices_are_asked_through_their_library() {
    let home = tempfile::tempdir().unwrap();
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .arg(home.path().join("libnvidia-ml.so.1"))
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/usage/nvml.c"))
        .status()
        .unwrap();
    assert!(made.success());
    std::os::unix::fs::symlink("libnvidia-ml.so.1", home.path().join("libnvidia-ml.so")).unwrap();
    let mut house = House::unopened(&[]);
    house.env("LD_LIBRARY_PATH", &home.path().display().to_string());
    house.start();
    let role = json!({ "command": ["python3", "-u", "-c", until_let_go("pass")], "accelerators": { "T4": 1 } });
    let job = house.submit(&json!({ "name": "trainer", "roles": { "main": role } }).to_string());
    let task = until_some("its device is asked", || {
        let task = usage(&house, &job)["tasks"][0].clone();
        task["now"]["accelerator_use"].is_number().then_some(task)
    });
    assert_eq!((&task["now"]["accelerator_use"], &task["now"]["accelerator_memory_bytes"]), (&json!(0.37), &json!(3_000_000_000_f64)));
    assert_eq!(task["counted"]["accelerator_use"]["code"], "nvml");
    until("the machine's are asked too", || house.get_json("/api/v1/usage")["machine"]["now"]["accelerator_use"] == json!(0.74));
    let_go(&house, &job);
}
