//! A supervisor that is failed by the machine itself says so, and takes nobody's place for ever.

use std::fs;

use super::{
    house::{House, processes, until_some},
    place::{FailingCalls, has_program, is_root},
};

/// Whoever raises the supervisors of this house. It stays for a few seconds after it has raised one.
pub fn nursery(house: &House) -> u32 {
    let parent = format!("PPid:\t{}\n", house.server_pid());
    let is_it = |pid: &i32| {
        let read = |what: &str| fs::read_to_string(format!("/proc/{pid}/{what}")).unwrap_or_default();
        read("status").contains(&parent) && read("cmdline").contains("--nursery")
    };
    until_some("somebody raises supervisors", || processes().into_iter().find(&is_it)).cast_unsigned()
}

fn reason_where(call: &str, line: &str) -> String {
    let house = House::new();
    house.submit_line("first", "true");
    let fails = format!("inject={call}:error=EDQUOT");
    let failing = FailingCalls::of(nursery(&house), &["-e", &format!("trace={call}"), "-e", &fails]);
    let id = house.submit_line("second", line);
    let reason = || house.show(&id)["runs"][0]["reason"].as_str().map(str::to_owned);
    let said = until_some("it says why", || reason().filter(|it| it.contains("quota")));
    drop(failing);
    house.cli(&["stop", &id]);
    house.wait_until_over(&id);
    said
}

#[test]
fn a_supervisor_that_cannot_go_on_says_why_and_its_child_is_gone() {
    if !is_root("make system calls fail") || !has_program("strace", "make system calls fail") {
        return;
    }
    let said = reason_where("fallocate", "sleep 600");
    assert!(said.contains("the disk gives no room for the exit record: Disk quota exceeded"), "{said}");
    let said = reason_where("epoll_create1", "sleep 600");
    assert!(said.contains("its supervisor could not go on: Disk quota exceeded"), "{said}");
}
