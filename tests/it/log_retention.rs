//! What is kept of logs, and what stands where something is no more; and readers who do not read.

use std::{
    io::Write,
    net::TcpStream,
    os::{fd::AsRawFd, unix::fs::MetadataExt},
};

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket, sockopt};

use crate::house::{House, text, until, until_some_within};

const MIB: u64 = 1 << 20;

fn with_config(config: &str) -> House {
    let mut house = unopened(config);
    house.start();
    house
}

fn unopened(config: &str) -> House {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let path = house.place().join("server.toml");
    std::fs::write(&path, config).unwrap();
    house.args(&["--config", path.to_str().unwrap()]);
    house
}

fn on_disk(house: &House, job: &str) -> u64 {
    std::fs::metadata(house.run_dir(job, "main-0", 1).join("output.log")).unwrap().blocks() * 512
}

/// Takes the words on what was dropped out of a text; answers the lines between them, and how many bytes are gone.
fn apart(got: &[u8]) -> (Vec<&str>, u64) {
    let got = std::str::from_utf8(got).expect("no byte of a hole is shown as if a task had written it");
    let dropped = |line: &str| line.strip_prefix("[trainmaster: ")?.split(' ').next()?.parse::<u64>().ok();
    let gone = got.lines().filter_map(dropped).sum();
    (got.lines().filter(|line| dropped(line).is_none() && !line.is_empty()).collect(), gone)
}

#[test]
fn a_log_over_its_bound_drops_its_oldest_bytes_and_says_so_to_every_reader() {
    const LINES: u64 = 5_000_000;
    const LINE_BYTES: u64 = 100;
    let house = with_config("[logs]\nrun_max = '100MB'\n");
    let say = format!("import sys\nw = sys.stdout.write\nfor i in range({LINES}): w('%098d|\\n' % i)\n");
    let job = house.submit(&serde_json::json!({ "name": "much", "roles": { "main": { "command": ["python3", "-c", say] } } }).to_string());
    house.wait_for(&job, "running");
    let follower = house.cli_in_background(&["logs", "-f", &job, "--task", "main-0"]);
    let drained = std::thread::spawn(move || follower.wait_with_output().unwrap());
    until_some_within(std::time::Duration::from_secs(240), "the job is over", || (house.state(&job) == "succeeded").then_some(()));
    assert!(on_disk(&house, &job) <= 100_000_000 + MIB, "{} bytes are on disk", on_disk(&house, &job));
    let whole = LINES * LINE_BYTES;
    let raw = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log")).unwrap();
    let followed = drained.join().unwrap();
    assert_eq!(followed.status.code(), Some(0), "{}", text(&followed.stderr));
    for (who, got) in [("raw", &raw), ("followed", &followed.stdout)] {
        let (lines, gone) = apart(got);
        let kept: u64 = lines.iter().map(|line| line.len() as u64 + 1).sum();
        assert!(gone > 0 || who == "followed", "{who}: nothing is gone");
        // A line at either side of a gap may have lost its end.
        assert!(
            (kept + gone).abs_diff(whole) <= 2 * LINE_BYTES * (1 + got.windows(13).filter(|it| *it == b"[trainmaster:").count() as u64),
            "{who}: {kept} + {gone}"
        );
        assert!(lines[0] == format!("{:098}|", 0) && *lines.last().unwrap() == format!("{:098}|", LINES - 1), "{who}");
    }
    let page = house.get_json(&format!("/api/v1/jobs/{job}/lines?stream=platform&from=start"));
    assert_eq!(page["lines"][0]["dropped_bytes"].as_u64(), Some(apart(&raw).1), "{page}");
    let last = house.get_json(&format!("/api/v1/jobs/{job}/lines?limit=2"));
    assert_eq!(last["lines"][1]["end"].as_u64(), Some(whole), "places stay what they were");
    let found = house.get(&format!("/api/v1/search/logs?pattern={}", LINES - 1)).unwrap();
    assert!(text(&found).contains("\"hits\":1,"), "{}", text(&found));
    assert!(house.cli(&["logs", &job, "--download", "kept"]).status.success());
    assert!(std::fs::read(house.place().join("kept/main-0.1.log")).unwrap() == raw);
}

#[test]
fn a_supervisor_that_dies_between_the_word_and_the_hole_leaves_the_word() {
    const LINE_BYTES: u64 = 16;
    let mut house = unopened("[logs]\nrun_max = '4MiB'\n");
    house.crash_at("run.gap-written-before-hole");
    house.start();
    let much = format!("if [ $TRAINMASTER_ATTEMPT = 1 ]; then yes 0123456789abcde | head -c {}; sleep 600; fi; echo again", 32 * MIB);
    let job = house.submit_line("much", &much);
    let shown = house.wait_until_over(&job);
    assert!(house.crashed(), "nothing was dropped");
    assert_eq!(shown["state"], "succeeded", "{shown:#}");
    assert_eq!(house.log(&job, "main-0"), "again\n");
    let raw = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?attempt=1")).unwrap();
    let (lines, gone) = apart(&raw);
    assert!(gone > 0 && gone % 4096 == 0, "{gone} bytes are said to be gone");
    let pieces = lines.iter().filter(|line| **line != "0123456789abcde").count();
    assert!(lines.len() as u64 > MIB / LINE_BYTES && pieces <= 3, "{} lines, of which {pieces} are cut", lines.len());
}

#[test]
fn logs_of_jobs_that_are_over_go_by_age_and_by_size() {
    let mut house = with_config("");
    let old = house.submit_line("old", "seq 1 100000");
    house.wait_for(&old, "succeeded");
    let young = house.submit_line("young", "seq 1 100000");
    house.wait_for(&young, "succeeded");
    let whole = house.log(&young, "main-0");
    std::fs::write(house.place().join("server.toml"), "[logs]\nkeep_bytes = '700KiB'\n").unwrap();
    house.restart();
    until("the older one goes", || house.log(&old, "main-0").contains("dropped here: the logs of jobs that are over may be 700KiB"));
    assert_eq!(house.log(&young, "main-0"), whole);
    assert_eq!(on_disk(&house, &old), 0);
    let page = house.get_json(&format!("/api/v1/jobs/{old}/lines"));
    assert_eq!((page["lines"].as_array().unwrap().len(), page["lines"][0]["dropped_bytes"].as_u64()), (1, Some(whole.len() as u64)));
    std::fs::write(house.place().join("server.toml"), "[logs]\nkeep_for = '1ms'\n").unwrap();
    house.restart();
    until("the younger one goes too", || house.log(&young, "main-0").contains("dropped here: logs are kept for 1ms"));
}

fn memory_kib(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap().trim().trim_end_matches(" kB").trim().parse().unwrap()
}

/// Asks for something and reads nothing of it; the kernel keeps as little for it as it can.
fn stalled_reader(house: &House, path: &str) -> TcpStream {
    let address = house.url().trim_start_matches("http://").to_owned();
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::empty(), None).unwrap();
    setsockopt(&socket, sockopt::RcvBuf, &4096).unwrap();
    connect(socket.as_raw_fd(), &address.parse::<SockaddrIn>().unwrap()).unwrap();
    let mut line = TcpStream::from(socket);
    write!(line, "GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\r\n", house.token()).unwrap();
    line
}

#[test]
fn followers_who_do_not_read_cost_little_and_disturb_nobody() {
    const STALLED: usize = 200;
    let house = House::new();
    let job = house
        .submit_line("talks", "head -c 32M /dev/zero | tr '\\0' 'x' | fold -w 99; until [ -e /cache/go ]; do sleep 0.01; done; echo end");
    until("it has spoken", || {
        std::fs::metadata(house.run_dir(&job, "main-0", 1).join("output.log")).is_ok_and(|log| log.len() > 33_800_000)
    });
    let first = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log")).unwrap();
    let before = memory_kib(house.server_pid());
    let ask = |number: usize| stalled_reader(&house, &format!("/api/v1/jobs/{job}/{}", ["follow", "lines?follow=true"][number % 2]));
    let stalled: Vec<TcpStream> = (0..STALLED).map(ask).collect();
    let follower = house.cli_in_background(&["logs", "-f", &job, "--task", "main-0"]);
    std::fs::write(house.data().join("cache/go"), "").unwrap();
    let out = follower.wait_with_output().unwrap();
    assert!(
        out.stdout.len() == first.len() + 4 && out.stdout.starts_with(&first),
        "{} bytes of {}: {}",
        out.stdout.len(),
        first.len() + 4,
        text(&out.stderr)
    );
    let grown = memory_kib(house.server_pid()).saturating_sub(before);
    // 64 MiB for two thousand of them, and what any follower of a large log may take for a moment.
    assert!(grown <= (64 << 10) * STALLED as u64 / 2000 + (24 << 10), "{grown} KiB more");
    assert_eq!(stalled.len(), STALLED);
}
