//! Jobs that run: what they find, what they leave, how their endings are told.

use std::path::Path;

use crate::{
    house::{House, text},
    place::{is_root, mount_small_disk, with_own_mounts},
};

#[test]
fn a_command_runs_without_any_file_and_its_output_and_code_come_back() {
    let house = House::new();
    let out = house.cli(&["run", "--", "sh", "-c", "echo hello; echo oops >&2"]);
    assert_eq!((text(&out.stdout).as_str(), out.status.code()), ("hello\n", Some(0)), "{}", text(&out.stderr));
    assert!(text(&out.stderr).contains("oops"), "{}", text(&out.stderr));

    let out = house.cli(&["run", "--", "sh", "-c", "exit 3"]);
    assert_eq!(out.status.code(), Some(1));
    assert!(text(&out.stderr).contains("exited with code 3"), "{}", text(&out.stderr));
}

#[test]
fn the_caller_s_directory_is_the_task_s_code_and_what_it_writes_there_stays_with_the_run() {
    let house = House::new();
    std::fs::write(house.place().join("train.sh"), "echo from $(pwd); echo x > made.txt; ls").unwrap();
    let out = house.cli(&["run", "--", "sh", "train.sh"]);
    assert_eq!(text(&out.stdout), "from /code\nmade.txt\ntrain.sh\n", "{}", text(&out.stderr));
    assert!(!house.place().join("made.txt").exists(), "the run wrote into the user's own directory");
}

#[test]
fn a_task_finds_its_paths_and_not_the_server_s_data() {
    let house = House::new();
    let input = house.place().join("data");
    std::fs::create_dir_all(&input).unwrap();
    std::fs::write(input.join("digits.csv"), "1,2\n").unwrap();
    let job = house.submit(
        &serde_json::json!({ "name": "paths", "input": input, "roles": { "main": { "command": format!(
            "cat /input/digits.csv; touch /input/x || echo input is read-only; echo model > /output/model.bin; \
             touch /cache/c && echo cache; ls -A {} | wc -l; cat {}/admin-token || echo no token",
            house.data().display(), house.data().display()) } } })
        .to_string(),
    );
    house.wait_for(&job, "succeeded");
    let stdout = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?stream=stdout")).unwrap();
    assert_eq!(text(&stdout), "1,2\ninput is read-only\ncache\n0\nno token\n");
    assert_eq!(std::fs::read_to_string(house.output_dir(&job, "main-0").join("model.bin")).unwrap(), "model\n");
}

/// The first has a root built for it alone; those that come soon after it get copies of one.
#[test]
fn later_tasks_find_the_same_rooms_as_the_first() {
    let house = House::new();
    let look = format!(
        "ls -A / /input /code /tmp /output; stat -c '%a %n' / /code /tmp /output /cache /dev/shm /proc /sys; \
         awk '{{print $5, $6}}' /proc/self/mountinfo | sort; df -B1 --output=size /dev/shm; cat /proc/1/comm; \
         for place in / /usr /sys /input; do touch $place/x 2> /dev/null || echo $place is closed; done; \
         for place in /tmp /output /code /cache /dev/shm; do touch $place/x && echo $place is open; rm $place/x; done; \
         cat {}/admin-token 2> /dev/null || echo no token",
        house.data().display()
    );
    let seen: Vec<String> = (0..3)
        .map(|_| {
            let job = house.submit_line("look", &look);
            house.wait_for(&job, "succeeded");
            house.log(&job, "main-0")
        })
        .collect();
    assert!(seen[0].contains("/ is closed\n") && seen[0].ends_with("/dev/shm is open\nno token\n"), "{}", seen[0]);
    assert_eq!((&seen[1], &seen[2]), (&seen[0], &seen[0]));
}

#[test]
fn what_is_mounted_between_two_tasks_is_seen_by_the_second() {
    if !is_root("mount a disk") {
        return;
    }
    with_own_mounts(|| {
        let house = House::new();
        let look = || {
            let job = house.submit_line("look", "ls -A /mnt");
            house.wait_for(&job, "succeeded");
            house.log(&job, "main-0")
        };
        let (disk, before) = (Path::new("/mnt"), [look(), look(), look()]);
        mount_small_disk(disk, "size=1m");
        std::fs::write(disk.join("new"), "").unwrap();
        let mounted = [look(), look()];
        nix::mount::umount(disk).unwrap();
        assert_eq!((&mounted[0], &mounted[1]), (&"new\n".to_owned(), &"new\n".to_owned()));
        assert!([look(), look()].iter().chain(&before).all(|seen| *seen == before[0]), "{before:?}");
    });
}

#[test]
fn submitting_the_same_name_again_makes_the_next_version() {
    let house = House::new();
    house.submit_line("again", "true");
    let second = house.submit_line("again", "echo second");
    house.wait_for(&second, "succeeded");
    assert_eq!(house.show("again")["version"], 2);
    assert_eq!(house.log("again@2", "main-0"), "second\n");
    house.wait_for("again@1", "succeeded");
}

#[test]
fn tasks_of_a_gang_learn_where_their_peers_are() {
    let house = House::new();
    let job = house.submit(
        "{name: gang, roles: {ps: {command: 'sleep 600', ports: [grpc], cpus: 0.5}, \
         worker: {tasks: 2, cpus: 0.5, command: 'echo $TRAINMASTER_ROLE $TRAINMASTER_TASK_INDEX; echo $TRAINMASTER_CLUSTER'}}}",
    );
    let shown = house.wait_for(&job, "succeeded");
    let port = shown["runs"].as_array().unwrap().iter().find(|run| run["task"] == "ps-0").unwrap()["ports"]["grpc"][0].as_u64().unwrap();
    let log = house.log(&job, "worker-1");
    assert_eq!(log.lines().next(), Some("worker 1"));
    assert!(log.contains(&format!("\"ps\":[\"127.0.0.2:{port}\"]")) || log.contains(&format!("\"ps\":[\"127.0.0.1:{port}\"]")), "{log}");
    let ps = shown["runs"].as_array().unwrap().iter().find(|run| run["task"] == "ps-0").unwrap();
    assert_eq!(ps["state"], "stopped", "a parameter server is stopped, not failed");
}

#[test]
fn every_ending_is_told_as_it_was() {
    let house = House::new();
    for (line, state, reason) in [
        ("exit 0", "succeeded", "every task that counts has ended"),
        ("exit 7", "failed", "main-0 exited with code 7"),
        ("kill -SEGV $$", "failed", "main-0 ended by signal 11 (SIGSEGV, a segmentation fault)"),
    ] {
        let job = house.submit_line("ending", line);
        let shown = house.wait_until_over(&job);
        assert_eq!(shown["state"], state, "{shown:#}");
        assert!(shown["reason"].as_str().unwrap().starts_with(reason), "{}", shown["reason"]);
    }
    let job = house.submit("{name: ending, roles: {main: {command: [no-such-program]}}}");
    let shown = house.wait_for(&job, "failed");
    assert!(shown["reason"].as_str().unwrap().contains("no-such-program"), "{}", shown["reason"]);
}

#[test]
fn retries_are_counted_and_every_attempt_keeps_its_log() {
    let house = House::new();
    let job = house
        .submit("{name: retried, retries: 2, roles: {main: {command: 'echo attempt $TRAINMASTER_ATTEMPT; [ $TRAINMASTER_ATTEMPT = 3 ]'}}}");
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["runs"].as_array().unwrap().len(), 3);
    for attempt in 1..=3 {
        let log = house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?attempt={attempt}")).unwrap();
        assert_eq!(text(&log), format!("attempt {attempt}\n"));
    }
}

#[test]
fn devices_are_given_by_index_and_a_cpu_task_gets_none() {
    let house = House::with_args(&["--nodes", "1", "--node-cpus", "4", "--node-memory", "4GiB", "--device", "A100=4"]);
    let line = "echo $CUDA_VISIBLE_DEVICES/$NVIDIA_VISIBLE_DEVICES; sleep 600";
    let first = house.submit(&format!("{{name: a, roles: {{main: {{accelerators: {{A100: 2}}, command: '{line}'}}}}}}"));
    let second = house.submit(&format!("{{name: b, roles: {{main: {{accelerators: 2, command: '{line}'}}}}}}"));
    let third = house.submit(&format!("{{name: c, roles: {{main: {{command: '{line}'}}}}}}"));
    house.wait_for_output(&first, "main-0", "0,1/0,1\n");
    house.wait_for_output(&second, "main-0", "2,3/2,3\n");
    house.wait_for_output(&third, "main-0", "/none\n");
}
