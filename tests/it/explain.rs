//! Every wait has a reason with numbers.

use crate::house::{House, text, until};

#[test]
fn a_waiting_job_says_what_it_needs_what_is_free_and_who_holds_the_rest() {
    let house = House::new();
    let hog = house.submit("{name: hog, roles: {main: {cpus: 2, command: 'sleep 600'}}}");
    house.wait_for(&hog, "running");
    house.submit("{name: waiting, roles: {worker: {tasks: 2, cpus: 1, command: 'true'}}}");
    let explained = house.get_json("/api/v1/jobs/waiting/explain");
    assert_eq!(explained["nodes"][0]["held_by"][0]["job"], "hog@1");
    assert_eq!(explained["next_step"], "wait, ask for less, or stop one of the jobs that hold what it needs");
    let reason = explained["reason"].as_str().unwrap();
    assert!(reason.contains("hog@1") && reason.contains("2 CPU") && reason.contains('0'), "{reason}");
    let out = house.cli(&["explain", "waiting"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains("hog@1"), "{}", text(&out.stdout));
    until("the reason is stored", || house.show("waiting")["reason"].as_str().unwrap().contains("hog@1"));
}

#[test]
fn a_job_that_can_never_fit_says_so() {
    let house = House::new();
    house.submit("{name: huge, roles: {main: {cpus: 64, command: 'true'}}}");
    let explained = house.get_json("/api/v1/jobs/huge/explain");
    let (reason, next_step) = (explained["reason"].as_str().unwrap(), explained["next_step"].as_str().unwrap());
    assert!(reason.contains("never") && reason.contains("64"), "{reason}");
    assert!(next_step.contains("waiting does not help"), "{next_step}");
}
