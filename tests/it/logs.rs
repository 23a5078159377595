//! Logs are byte-exact, whole to the last byte, and can be followed through anything.

use crate::house::{House, text};

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
