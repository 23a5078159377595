//! Logs are byte-exact, whole to the last byte, and can be followed through anything.

use trainmaster::client::Call;

use crate::house::{House, peak_own_mib, text, until, until_some};

#[test]
fn the_last_bytes_are_there_without_a_newline() {
    let house = House::new();
    for number in 0..20 {
        let job = house.submit_line("tail", &format!("printf 'token-{number}'"));
        house.wait_for(&job, "succeeded");
        assert_eq!(house.log(&job, "main-0"), format!("token-{number}"));
    }
}

#[test]
fn binary_output_on_both_streams_comes_back_byte_for_byte() {
    let house = House::new();
    let script =
        "import os\nfor i in range(2000):\n os.write(1, bytes([i % 256]) * (i % 97)); os.write(2, bytes([255 - i % 256]) * (i % 89))\n";
    let job =
        house.submit(&serde_json::json!({ "name": "binary", "roles": { "main": { "command": ["python3", "-c", script] } } }).to_string());
    house.wait_for(&job, "succeeded");
    let read = |stream: &str| house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?stream={stream}")).unwrap();
    let stdout: Vec<u8> = (0..2000usize).flat_map(|i| vec![(i % 256) as u8; i % 97]).collect();
    let stderr: Vec<u8> = (0..2000usize).flat_map(|i| vec![(255 - i % 256) as u8; i % 89]).collect();
    assert!(read("stdout") == stdout, "stdout differs");
    assert!(read("stderr") == stderr, "stderr differs");
    assert_eq!(read("merged").len(), stdout.len() + stderr.len());
}

#[test]
fn logs_of_one_task_can_be_cut_to_the_last_lines() {
    let house = House::new();
    let job = house.submit_line("lines", "seq 1 100");
    house.wait_for(&job, "succeeded");
    let out = house.cli(&["logs", &job, "--task", "main-0", "--tail", "2"]);
    assert_eq!(text(&out.stdout), "99\n100\n", "{}", text(&out.stderr));
}

#[test]
fn following_ends_with_the_job_and_misses_nothing() {
    let house = House::new();
    let job = house.submit_line("followed", "for i in $(seq 1 50); do echo line $i; sleep 0.01; done; printf end");
    let out = house.cli(&["logs", "-f", &job, "--task", "main-0"]);
    let wanted: String = (1..=50).map(|i| format!("line {i}\n")).chain(["end".into()]).collect();
    assert_eq!(text(&out.stdout), wanted, "{}", text(&out.stderr));
}

/// What a follower got: the kinds of the events, and the bytes of one task.
fn followed(house: &House, job: &str) -> (Vec<String>, String) {
    let stream = text(&house.get(&format!("/api/v1/jobs/{job}/follow")).unwrap());
    let (mut kinds, mut bytes) = (Vec::new(), String::new());
    for event in stream.split("\n\n").filter(|event| event.contains("event:")) {
        let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).map(str::trim).unwrap_or_default();
        kinds.push(field("event:").to_owned());
        let data: serde_json::Value = serde_json::from_str(field("data:")).unwrap();
        bytes += data["text"].as_str().unwrap_or_default();
    }
    (kinds, bytes)
}

fn ends_once(kinds: &[String]) -> bool {
    kinds.last().is_some_and(|last| last == "end") && kinds.iter().filter(|kind| *kind == "end").count() == 1
}

#[test]
fn a_follower_may_come_before_the_job_starts() {
    let house = House::new();
    let hog = house.submit("{name: hog, roles: {main: {cpus: 2, command: 'sleep 600'}}}");
    house.wait_for(&hog, "running");
    let job = house.submit("{name: later, roles: {main: {cpus: 2, command: 'seq 1 1000; printf end'}}}");
    let (kinds, bytes) = std::thread::scope(|scope| {
        let follower = scope.spawn(|| followed(&house, &job));
        house.call(Call::post(&format!("/api/v1/jobs/{hog}/stop"), "")).unwrap();
        follower.join().unwrap()
    });
    assert!(ends_once(&kinds), "{kinds:?}");
    assert_eq!(bytes, (1..=1000).map(|i| format!("{i}\n")).collect::<String>() + "end");
}

#[test]
fn a_follower_may_come_at_any_moment_of_the_end() {
    let house = House::new();
    for number in 0..40_u64 {
        let job = house.submit_line("brief", &format!("echo begun; printf 'token-{number}'"));
        // A little later each time, until the job is long over.
        until_some("the moment has come", || (house.show(&job)["created_at_ms"].as_u64().unwrap() + number * 2 <= now_ms()).then_some(()));
        let (kinds, bytes) = followed(&house, &job);
        assert!(ends_once(&kinds), "{kinds:?}");
        assert_eq!(bytes, format!("begun\ntoken-{number}"));
    }
}

fn now_ms() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64
}

#[test]
fn the_last_unterminated_token_of_every_one_of_two_thousand_tasks_is_kept() {
    const JOBS: usize = 40;
    const TASKS: usize = 50;
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "10", "--node-memory", "10GiB"]);
    let file = |number| {
        serde_json::json!({ "name": format!("tokens-{number}"), "roles": { "main": { "tasks": TASKS, "cpus": 0.2, "memory": "64MiB",
            "command": ["sh", "-c", "printf token-$TRAINMASTER_TASK_INDEX"] } } })
        .to_string()
    };
    let jobs: Vec<String> = (0..JOBS).map(|number| house.submit(&file(number))).collect();
    for job in &jobs {
        house.wait_for(job, "succeeded");
        for task in 0..TASKS {
            let log = std::fs::read_to_string(house.run_dir(job, &format!("main-{task}"), 1).join("output.log")).unwrap_or_default();
            assert_eq!(log, format!("token-{task}"), "{job}");
        }
    }
    assert_eq!(house.log(&jobs[0], &format!("main-{}", TASKS - 1)), format!("token-{}", TASKS - 1));
}

#[test]
fn followers_lose_and_repeat_nothing_when_the_server_is_killed_again_and_again() {
    let mut house = House::new();
    let job =
        house.submit_line("long", "i=0; until [ -e /cache/enough ]; do i=$((i+1)); echo line $i; sleep 0.002; done; printf 'last %s' $i");
    house.wait_for_output(&job, "main-0", "line 10\n");
    let mut followers: Vec<std::process::Child> =
        (0..3).map(|_| house.cli_in_background(&["logs", "-f", &job, "--task", "main-0"])).collect();
    for kill in 0..6 {
        if kill == 3 {
            // From here on every server has the port of this one; before, each had another.
            house.keep_port();
        }
        let before = std::fs::metadata(house.run_dir(&job, "main-0", 1).join("output.log")).unwrap().len();
        until("the task goes on", || std::fs::metadata(house.run_dir(&job, "main-0", 1).join("output.log")).unwrap().len() > before + 500);
        house.restart();
    }
    std::fs::write(house.data().join("cache/enough"), "").unwrap();
    house.wait_for(&job, "succeeded");
    let whole = house.log(&job, "main-0");
    for follower in followers.drain(..) {
        let out = follower.wait_with_output().unwrap();
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        assert!(text(&out.stdout) == whole, "a follower has {} bytes of {}", out.stdout.len(), whole.len());
    }
    let lines = whole.lines().count() - 1;
    assert!(lines > 200 && whole.ends_with(&format!("line {lines}\nlast {lines}")), "{lines} lines");
}

/// The most memory a process has ever had, in MiB.
#[test]
fn a_line_without_an_end_and_a_bar_that_never_moves_on_are_kept_in_little_memory() {
    const MIB: usize = 64;
    let house = House::new();
    let line = house.submit_line(
        "line",
        &format!("head -c {MIB}M /dev/zero | tr '\\0' x; echo done > /cache/done; until [ -e /cache/go ]; do sleep 0.02; done"),
    );
    let bar = "import sys\nfor i in range(200000): sys.stdout.write('\\r%d' % i)\n";
    let bar = house.submit(&serde_json::json!({ "name": "bar", "roles": { "main": { "command": ["python3", "-c", bar] } } }).to_string());
    house.wait_for(&bar, "succeeded");
    until("the line is out and only its supervisor is left", || house.data().join("cache/done").exists() && house.supervisors().len() == 1);
    let supervisor = peak_own_mib(house.supervisors()[0].cast_unsigned());
    std::fs::write(house.data().join("cache/go"), "").unwrap();
    house.wait_for(&line, "succeeded");
    let got = house.get(&format!("/api/v1/jobs/{line}/tasks/main-0/log")).unwrap();
    assert!(got.len() == MIB << 20 && got.iter().all(|byte| *byte == b'x'), "{} bytes", got.len());
    let wanted: String = (0..200_000).map(|i| format!("\r{i}")).collect();
    assert!(house.get(&format!("/api/v1/jobs/{bar}/tasks/main-0/log")).unwrap() == wanted.as_bytes());
    let out = house.cli(&["logs", "-f", &bar, "--task", "main-0"]);
    assert!(out.stdout == wanted.as_bytes(), "the command line shows {} of {} bytes", out.stdout.len(), wanted.len());
    assert!((1..=30).contains(&supervisor), "the supervisor had {supervisor} MiB");
    let server = peak_own_mib(house.server_pid());
    assert!(server <= 150, "the server had {server} MiB");
}
