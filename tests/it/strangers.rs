//! A pid is only a number: after a reboot, or when it was given out again, it belongs to a stranger.

use std::{
    fs,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::Value;
use trainmaster::{client::Call, identity::Identity};

use crate::house::{House, holds_for, marked, until};

/// Somebody else's process.
struct Stranger(Child);

impl Stranger {
    fn new() -> Self {
        Self(Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().unwrap())
    }

    fn identity(&self) -> Identity {
        Identity::of(self.0.id().cast_signed()).unwrap()
    }

    fn is_alive(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Puts another identity in the place of every one in a run's records.
fn rewrite(record: &Path, identity: &Identity) {
    let identity = serde_json::to_value(identity).unwrap();
    let lines: Vec<String> = fs::read_to_string(record)
        .unwrap()
        .lines()
        .map(|line| {
            let mut value: Value = serde_json::from_str(line).unwrap();
            for name in ["identity", "init", "child"] {
                if value.get(name).is_some() {
                    value[name] = identity.clone();
                }
            }
            value.to_string() + "\n"
        })
        .collect();
    fs::write(record, lines.concat()).unwrap();
}

/// A task that lives when its server and its supervisor die at once, as a machine does; then its records
/// name a stranger. Answers the reason that is given for the end of the first attempt.
fn after_the_machine_died(name: &str, identity: impl Fn(Identity) -> Identity) -> String {
    let mut house = House::new();
    let marker = format!("{name}-{}", std::process::id());
    let line = "echo attempt $TRAINMASTER_ATTEMPT; [ $TRAINMASTER_ATTEMPT = 2 ] || sleep 600";
    let file = serde_json::json!({ "name": name, "env": { "MARKER": marker }, "roles": { "main": { "command": line } } });
    let job = house.submit(&file.to_string());
    house.wait_for_output(&job, "main-0", "attempt 1");
    let supervisors = house.supervisors();
    house.kill();
    for pid in supervisors {
        // SAFETY: plain system call on a process of this test.
        unsafe { libc::kill(pid, libc::SIGKILL) };
    }
    until("nothing of it is left", || marked(&marker).is_empty() && house.supervisors().is_empty());
    let mut stranger = Stranger::new();
    rewrite(&house.run_dir(&job, "main-0", 1).join("supervisor.json"), &identity(stranger.identity()));
    house.start();
    let shown = house.wait_for(&job, "succeeded");
    assert_eq!(shown["attempt"], 2);
    assert!(stranger.is_alive(), "a stranger was killed");
    let runs = shown["runs"].as_array().unwrap();
    runs.iter().find(|run| run["attempt"] == 1).unwrap()["reason"].as_str().unwrap().to_owned()
}

#[test]
fn after_a_reboot_what_ran_is_lost_and_tried_again_and_nobody_is_signalled() {
    let reason = after_the_machine_died("rebooted", |it| Identity { boot_id: "another".into(), ..it });
    assert_eq!(reason, "nobody knows how it ended: the node rebooted (its boot id differs)");
}

#[test]
fn a_stranger_with_the_pid_of_a_dead_supervisor_is_neither_signalled_nor_waited_for() {
    let reason = after_the_machine_died("reused", |it| Identity { start_ticks: it.start_ticks - 1, ..it });
    assert_eq!(reason, "nobody knows how it ended: its supervisor was killed");
}

#[test]
fn a_stop_reaches_the_supervisor_and_not_a_stranger_in_its_place() {
    let house = House::new();
    let job = house.submit("{name: stopped, stop_grace: 50ms, roles: {main: {command: 'echo up; sleep 600'}}}");
    house.wait_for_output(&job, "main-0", "up");
    let record = house.run_dir(&job, "main-0", 1).join("supervisor.json");
    let true_record = fs::read_to_string(&record).unwrap();
    let mut stranger = Stranger::new();
    rewrite(&record, &Identity { start_ticks: stranger.identity().start_ticks - 1, ..stranger.identity() });
    house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), "")).unwrap();
    // Its lock says that it lives, so it is not said to be stopped.
    holds_for(std::time::Duration::from_millis(700), "it is being stopped", || house.state(&job) == "stopping");
    assert!(stranger.is_alive(), "a stranger was signalled");
    fs::write(&record, true_record).unwrap();
    house.wait_for(&job, "stopped");
}
