//! The nursery keeps the program's text on large pages while it raises many supervisors; none that stays holds on to them.

use std::fs;

use super::{
    house::{House, processes, until},
    mishap::nursery,
    place::can,
};

/// Of memory that is run, in large pages.
fn large_text_kib(pid: i32) -> u64 {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap_or_default();
    let mut is_text = false;
    let mut sum = 0;
    for line in smaps.lines() {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [range, protection, ..] if range.contains('-') => is_text = protection.starts_with("r-x"),
            ["AnonHugePages:", kib, ..] if is_text => sum += kib.parse::<u64>().unwrap(),
            _ => {}
        }
    }
    sum
}

fn children_of(parent: i32) -> Vec<i32> {
    let is_child = |pid: &i32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        status.contains(&format!("PPid:\t{parent}\n"))
    };
    processes().into_iter().filter(is_child).collect()
}

#[test]
fn whoever_raises_many_has_its_text_on_large_pages_and_whoever_stays_gives_them_back() {
    let enabled = fs::read_to_string("/sys/kernel/mm/transparent_hugepage/enabled").unwrap_or_default();
    let has_some = cfg!(target_arch = "x86_64") && !enabled.is_empty() && !enabled.contains("[never]");
    if !can(has_some, &format!("this machine has no large pages for text ({})", enabled.trim())) {
        return;
    }
    let house = House::new();
    let many = house.submit("{name: many, gang: false, roles: {main: {tasks: 40, cpus: 0.5, memory: 16MiB, command: ['true']}}}");
    let nursery = nursery(&house).cast_signed();
    assert_eq!(house.wait_until_over(&many)["state"], "succeeded");
    let long = house.submit_line("long", "echo here; sleep 600");
    house.wait_for_output(&long, "main-0", "here");
    until("the nursery has large pages", || large_text_kib(nursery) > 0);
    let supervisor = house.supervisors()[0];
    assert_eq!(children_of(nursery), [supervisor], "it was raised by the same nursery");
    let init = children_of(supervisor)[0];
    until("who stays has given them back", || large_text_kib(supervisor) + large_text_kib(init) == 0);
    house.cli(&["stop", &long]);
    assert_eq!(house.wait_until_over(&long)["state"], "stopped");
}
