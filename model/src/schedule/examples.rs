//! Placing in small scenes, as text.
//!
//! `node n1 4 8 T4=2` has 4 CPU, 8 GiB and two T4; `held a@1 n1 2 1 until=60` is a job that holds 2 CPU and
//! 1 GiB there; `job b@1 worker=2x1,1 max=50 priority=3` waits with two workers of 1 CPU and 1 GiB each. `loose` says
//! that it is no gang, and `running=3` that so many more of its tasks are placed already.

use super::*;
use crate::resources::GIB;

fn amount(words: &[&str]) -> Resources {
    let number = |text: &str| text.parse::<f64>().unwrap();
    let (mut cpus, mut memory, mut accelerators) = (0.0, 0.0, std::collections::BTreeMap::new());
    for (at, word) in words.iter().enumerate() {
        match word.split_once('=') {
            Some((kind, count)) if !["until", "max", "priority", "running"].contains(&kind) => {
                accelerators.insert(kind.to_owned(), count.parse().unwrap());
            }
            Some(_) => {}
            None if at == 0 => cpus = number(word),
            None if at == 1 => memory = number(word),
            None => {}
        }
    }
    Resources { cpus_milli: (cpus * 1000.0) as u64, memory_bytes: (memory * GIB as f64) as u64, accelerators }
}

fn option(words: &[&str], name: &str) -> Option<u64> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

fn demand(word: &str) -> Option<Demand> {
    let (role, rest) = word.split_once('=')?;
    let (tasks, each) = rest.split_once('x')?;
    let each: Vec<&str> = each.split(',').collect();
    let each: Vec<String> = each.iter().map(|word| word.replace(':', "=")).collect();
    let each = amount(&each.iter().map(String::as_str).collect::<Vec<_>>());
    Some(Demand { role: role.parse().unwrap(), tasks: tasks.parse().unwrap(), each })
}

/// What becomes of every job, one line each.
fn said(scene: &str) -> String {
    let (mut nodes, mut held, mut queue) = (Vec::new(), Vec::new(), Vec::new());
    for (number, line) in (1_u64..).zip(scene.lines()) {
        let job = JobId::new(number, &[0; 10]);
        match line.split_whitespace().collect::<Vec<_>>().as_slice() {
            [] => {}
            ["node", name, rest @ ..] => {
                nodes.push(Node { name: name.parse().unwrap(), capacity: amount(rest), open: !rest.contains(&"closed") });
            }
            ["held", label, node, rest @ ..] => held.push(Held {
                job,
                label: label.to_string(),
                node: node.parse().unwrap(),
                amount: amount(rest),
                until_ms: option(rest, "until"),
            }),
            ["job", label, rest @ ..] => {
                let gang: Vec<Demand> = rest.iter().filter_map(|word| demand(word)).collect();
                let running = option(rest, "running").unwrap_or(0) as u32;
                let (label, priority, max_duration_ms) =
                    (label.to_string(), option(rest, "priority").unwrap_or(0) as i32, option(rest, "max"));
                let loose = rest.contains(&"loose").then(|| Loose::whole(&gang));
                let loose = loose.map(|it| Loose { running, all: it.all + running, ..it });
                queue.push(Waiting { job, label, priority, max_duration_ms, gang, loose });
            }
            other => panic!("cannot read {other:?}"),
        }
    }
    let line = |decision: &Decision| {
        let label = &queue.iter().find(|it| it.job == decision.job).unwrap().label;
        let task = |it: &Assignment| format!(" {}-{} on {} ({})", it.role, it.index, it.node, it.amount);
        let starts = |it: &[Assignment]| format!("{label} starts:{}\n", it.iter().map(task).collect::<Vec<_>>().join(","));
        match &decision.what {
            What::Start(assignments) => starts(assignments),
            What::Part(assignments, reason) => format!("{}{label} waits: {reason}\n", starts(assignments)),
            What::Wait(reason) => format!("{label} waits: {reason}\n"),
        }
    };
    place(&queue, &nodes, &held, 0).iter().map(line).collect()
}

#[test]
fn tasks_go_where_they_leave_the_least_behind_and_keep_away_from_devices() {
    insta::assert_snapshot!(said("
        node big 8 32
        node devices 4 8 A100=2
        node small 2 4
        job one@1 worker=1x2,4
        job two@1 worker=2x2,4
        job three@1 trainer=1x1,1,A100:1
    "), @"
    one@1 starts: worker-0 on small (2 CPU, 4GiB)
    two@1 starts: worker-0 on big (2 CPU, 4GiB), worker-1 on big (2 CPU, 4GiB)
    three@1 starts: trainer-0 on devices (1 CPU, 1GiB, 1 × A100)
    ");
}

#[test]
fn a_gang_that_does_not_fit_waits_whole_with_its_arithmetic() {
    insta::assert_snapshot!(said("
        node node-1 2 4
        node node-2 2 4 closed
        held digits@1 node-1 1.5 2
        job big@1 ps=1x0.5,1 worker=2x1,1
        job next@1 worker=1x1,1
    "), @"
    big@1 waits: needs 1 × (0.5 CPU, 1GiB) for ps and 2 × (1 CPU, 1GiB) for worker; free now: node-1 0.5 of 2 CPU, 2GiB of 4GiB; node-2 is closed; held by digits@1 (1.5 CPU, 2GiB); it is next
    next@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0.5 of 2 CPU, 2GiB of 4GiB; node-2 is closed; held by digits@1 (1.5 CPU, 2GiB); 1 job is before it
    ");
}

#[test]
fn any_device_becomes_one_type_and_is_never_a_mix() {
    insta::assert_snapshot!(said("
        node node-1 8 8 A100=1 T4=2
        job two@1 worker=1x1,1,any:2
        job one@1 worker=1x1,1,any:1
        job more@1 worker=1x1,1,any:1
    "), @"
    two@1 starts: worker-0 on node-1 (1 CPU, 1GiB, 2 × T4)
    one@1 starts: worker-0 on node-1 (1 CPU, 1GiB, 1 × A100)
    more@1 waits: needs 1 × (1 CPU, 1GiB, 1 × any) for worker; free now: node-1 6 of 8 CPU, 6GiB of 8GiB, 0 of 1 × A100, 0 of 2 × T4; held by one@1 (1 CPU, 1GiB, 1 × A100), two@1 (1 CPU, 1GiB, 2 × T4); it is next
    ");
}

#[test]
fn a_higher_priority_goes_first_and_then_the_older_job() {
    insta::assert_snapshot!(said("
        node node-1 1 1
        job old@1 worker=1x1,1
        job young@1 worker=1x1,1
        job urgent@1 worker=1x1,1 priority=5
    "), @"
    urgent@1 starts: worker-0 on node-1 (1 CPU, 1GiB)
    old@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 1 CPU, 0B of 1GiB; held by urgent@1 (1 CPU, 1GiB); it is next
    young@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 1 CPU, 0B of 1GiB; held by urgent@1 (1 CPU, 1GiB); 1 job is before it
    ");
}

#[test]
fn behind_a_head_with_a_known_start_a_job_must_be_gone_by_then_or_leave_the_room() {
    insta::assert_snapshot!(said("
        node node-1 4 16
        held digits@1 node-1 3 1 until=100
        job head@1 worker=1x3,1
        job short@1 worker=1x0.5,1 max=100
        job long@1 worker=1x0.5,1 max=101
        job endless@1 worker=1x0.5,1
    "), @"
    head@1 waits: needs 1 × (3 CPU, 1GiB) for worker; free now: node-1 0 of 4 CPU, 13GiB of 16GiB; held by digits@1 (3 CPU, 1GiB), short@1 (0.5 CPU, 1GiB), long@1 (0.5 CPU, 1GiB); it is next, at the latest when digits@1 reaches its maximum duration
    short@1 starts: worker-0 on node-1 (0.5 CPU, 1GiB)
    long@1 starts: worker-0 on node-1 (0.5 CPU, 1GiB)
    endless@1 waits: needs 1 × (0.5 CPU, 1GiB) for worker; free now: node-1 0 of 4 CPU, 13GiB of 16GiB; held by digits@1 (3 CPU, 1GiB), short@1 (0.5 CPU, 1GiB), long@1 (0.5 CPU, 1GiB); 1 job is before it
    ");
}

#[test]
fn a_job_that_would_still_be_there_when_the_head_starts_waits() {
    insta::assert_snapshot!(said("
        node node-1 4 16
        held digits@1 node-1 2 1 until=100
        job head@1 worker=1x4,1
        job long@1 worker=1x1,1 max=101
        job endless@1 worker=1x1,1
    "), @"
    head@1 waits: needs 1 × (4 CPU, 1GiB) for worker; free now: node-1 2 of 4 CPU, 15GiB of 16GiB; held by digits@1 (2 CPU, 1GiB); it is next, at the latest when digits@1 reaches its maximum duration
    long@1 waits: needs 1 × (1 CPU, 1GiB) for worker, and that is free, but head@1 would be delayed by it, as its max_duration reaches too far; 1 job is before it
    endless@1 waits: needs 1 × (1 CPU, 1GiB) for worker, and that is free, but head@1 could be delayed by it, as it has no max_duration; 2 jobs are before it
    ");
}

#[test]
fn behind_a_head_that_can_start_any_time_a_job_takes_only_what_the_head_cannot_use() {
    // Once digits ends, head uses 6 of the 8; two are left over whatever happens.
    insta::assert_snapshot!(said("
        node node-1 8 64
        held digits@1 node-1 4 1
        job head@1 worker=1x6,1
        job one@1 worker=1x1,1
        job two@1 worker=1x1,1
        job three@1 worker=1x1,1
    "), @"
    head@1 waits: needs 1 × (6 CPU, 1GiB) for worker; free now: node-1 2 of 8 CPU, 61GiB of 64GiB; held by digits@1 (4 CPU, 1GiB), one@1 (1 CPU, 1GiB), two@1 (1 CPU, 1GiB); it is next
    one@1 starts: worker-0 on node-1 (1 CPU, 1GiB)
    two@1 starts: worker-0 on node-1 (1 CPU, 1GiB)
    three@1 waits: needs 1 × (1 CPU, 1GiB) for worker, and that is free, but head@1 could be delayed by it; 1 job is before it
    ");
    // If b ends before a, five are free and head could start: the two that are free now must stay free.
    insta::assert_snapshot!(said("
        node node-1 10 64
        held a@1 node-1 5 1
        held b@1 node-1 3 1
        job head@1 worker=1x4,1
        job small@1 worker=1x2,1
    "), @"
    head@1 waits: needs 1 × (4 CPU, 1GiB) for worker; free now: node-1 2 of 10 CPU, 62GiB of 64GiB; held by a@1 (5 CPU, 1GiB), b@1 (3 CPU, 1GiB); it is next
    small@1 waits: needs 1 × (2 CPU, 1GiB) for worker, and that is free, but head@1 could be delayed by it; 1 job is before it
    ");
    // The head can never use node-2, so others may.
    insta::assert_snapshot!(said("
        node node-1 8 64
        node node-2 2 64
        held a@1 node-1 8 1
        job head@1 worker=1x4,1
        job small@1 worker=1x2,1
    "), @"
    head@1 waits: needs 1 × (4 CPU, 1GiB) for worker; free now: node-1 0 of 8 CPU, 63GiB of 64GiB; node-2 0 of 2 CPU, 63GiB of 64GiB; held by a@1 (8 CPU, 1GiB), small@1 (2 CPU, 1GiB); it is next
    small@1 starts: worker-0 on node-2 (2 CPU, 1GiB)
    ");
}

#[test]
fn a_job_that_can_never_fit_says_so_and_holds_nobody_up() {
    insta::assert_snapshot!(said("
        node node-1 4 16
        node node-2 2 8 closed
        job wide@1 worker=1x64,1
        job many@1 ps=1x1,1 worker=9x1,1
        job odd@1 worker=1x1,1,H100:1
        job small@1 worker=1x4,1
    "), @"
    wide@1 waits: needs 1 × (64 CPU, 1GiB) for worker, which can never fit: no node holds one worker task even when empty; node-1 has 4 CPU, 16GiB, node-2 has 2 CPU, 8GiB
    many@1 waits: needs 1 × (1 CPU, 1GiB) for ps and 9 × (1 CPU, 1GiB) for worker, which can never fit: the 2 nodes together, when empty, can hold at most 1 ps or 6 worker tasks
    odd@1 waits: needs 1 × (1 CPU, 1GiB, 1 × H100) for worker, which can never fit: no node holds one worker task even when empty; node-1 has 4 CPU, 16GiB, node-2 has 2 CPU, 8GiB
    small@1 starts: worker-0 on node-1 (4 CPU, 1GiB)
    ");
    insta::assert_snapshot!(said("job lost@1 worker=1x1,1"), @"lost@1 waits: needs 1 × (1 CPU, 1GiB) for worker, which can never fit: there are 0 nodes");
}

#[test]
fn long_lists_are_cut_and_counted() {
    let nodes: String = (1..=7).map(|at| format!("node node-{at} 1 1\nheld h{at}@1 node-{at} 1 1\n")).collect();
    insta::assert_snapshot!(said(&format!("{nodes}\njob a@1 worker=1x1,1\njob b@1 worker=1x1,1\njob c@1 worker=1x1,1")), @"
    a@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 1 CPU, 0B of 1GiB; node-2 0 of 1 CPU, 0B of 1GiB; node-3 0 of 1 CPU, 0B of 1GiB; node-4 0 of 1 CPU, 0B of 1GiB; node-5 0 of 1 CPU, 0B of 1GiB and 2 more nodes; held by h1@1 (1 CPU, 1GiB), h2@1 (1 CPU, 1GiB), h3@1 (1 CPU, 1GiB), h4@1 (1 CPU, 1GiB), h5@1 (1 CPU, 1GiB) and 2 more jobs; it is next
    b@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 1 CPU, 0B of 1GiB; node-2 0 of 1 CPU, 0B of 1GiB; node-3 0 of 1 CPU, 0B of 1GiB; node-4 0 of 1 CPU, 0B of 1GiB; node-5 0 of 1 CPU, 0B of 1GiB and 2 more nodes; held by h1@1 (1 CPU, 1GiB), h2@1 (1 CPU, 1GiB), h3@1 (1 CPU, 1GiB), h4@1 (1 CPU, 1GiB), h5@1 (1 CPU, 1GiB) and 2 more jobs; 1 job is before it
    c@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 1 CPU, 0B of 1GiB; node-2 0 of 1 CPU, 0B of 1GiB; node-3 0 of 1 CPU, 0B of 1GiB; node-4 0 of 1 CPU, 0B of 1GiB; node-5 0 of 1 CPU, 0B of 1GiB and 2 more nodes; held by h1@1 (1 CPU, 1GiB), h2@1 (1 CPU, 1GiB), h3@1 (1 CPU, 1GiB), h4@1 (1 CPU, 1GiB), h5@1 (1 CPU, 1GiB) and 2 more jobs; 2 jobs are before it
    ");
}

#[test]
fn a_node_that_shrank_under_its_tasks_has_nothing_free() {
    insta::assert_snapshot!(said("
        node node-1 2 4
        held a@1 node-1 3 1 until=10
        held b@1 node-1 1 1 until=20
        held gone@1 node-9 5 5
        job head@1 worker=1x2,1
        job small@1 worker=1x1,1 max=15
    "), @"
    head@1 waits: needs 1 × (2 CPU, 1GiB) for worker; free now: node-1 0 of 2 CPU, 2GiB of 4GiB; held by a@1 (3 CPU, 1GiB), b@1 (1 CPU, 1GiB); it is next, at the latest when b@1 reaches its maximum duration
    small@1 waits: needs 1 × (1 CPU, 1GiB) for worker; free now: node-1 0 of 2 CPU, 2GiB of 4GiB; held by a@1 (3 CPU, 1GiB), b@1 (1 CPU, 1GiB); 1 job is before it
    ");
}

#[test]
fn the_tasks_of_a_job_that_is_no_gang_start_as_they_fit() {
    insta::assert_snapshot!(said("
        node n1 2 4
        node n2 1 4
        held hog@1 n2 0.5 1
        job sweep@1 worker=9x1,1 loose running=1
        job next@1 worker=1x0.5,1
        job gang@1 worker=2x0.5,1
    "), @"
    sweep@1 starts: worker-0 on n1 (1 CPU, 1GiB), worker-1 on n1 (1 CPU, 1GiB)
    sweep@1 waits: 3 of 10 tasks run; the next needs 1 × (1 CPU, 1GiB) for worker; free now: n1 0 of 2 CPU, 2GiB of 4GiB; n2 0.5 of 1 CPU, 3GiB of 4GiB; held by sweep@1 (2 CPU, 2GiB), hog@1 (0.5 CPU, 1GiB); it is next
    next@1 waits: needs 1 × (0.5 CPU, 1GiB) for worker, and that is free, but sweep@1 could be delayed by it; 1 job is before it
    gang@1 waits: needs 2 × (0.5 CPU, 1GiB) for worker; free now: n1 0 of 2 CPU, 2GiB of 4GiB; n2 0.5 of 1 CPU, 3GiB of 4GiB; held by sweep@1 (2 CPU, 2GiB), hog@1 (0.5 CPU, 1GiB); 2 jobs are before it
    ");
}

#[test]
fn a_role_that_does_not_fit_keeps_no_other_role_of_the_job_from_starting() {
    insta::assert_snapshot!(said("
        node n1 4 4
        job mixed@1 big=1x64,1 small=2x1,1 loose
    "), @"
    mixed@1 starts: small-0 on n1 (1 CPU, 1GiB), small-1 on n1 (1 CPU, 1GiB)
    mixed@1 waits: 2 of 3 tasks run; the next needs 1 × (64 CPU, 1GiB) for big, which can never fit: no node holds one big task even when empty; n1 has 4 CPU, 4GiB
    ");
}

#[test]
fn a_port_that_must_be_that_one_is_there_once_on_every_node_and_is_nobodys_device() {
    let each = |kinds: &[(&str, u32)]| Resources {
        cpus_milli: 1000,
        memory_bytes: GIB,
        accelerators: kinds.iter().map(|(kind, count)| (kind.to_string(), *count)).collect(),
    };
    let waiting = |number, label: &str, tasks, each| Waiting {
        job: JobId::new(number, &[0; 10]),
        label: label.into(),
        priority: 0,
        max_duration_ms: None,
        gang: vec![Demand { role: "w".parse().unwrap(), tasks, each }],
        loose: None,
    };
    let node = |name: &str| Node {
        name: name.parse().unwrap(),
        capacity: Resources { cpus_milli: 8000, memory_bytes: 8 * GIB, ..each(&[]) },
        open: true,
    };
    let port = || each(&[("port 8000", 1)]);
    let queue = [waiting(1, "two@1", 2, port()), waiting(2, "three@1", 3, port()), waiting(3, "gpu@1", 1, each(&[("any", 1)]))];
    let decisions = place(&queue, &[node("n1"), node("n2")], &[], 0);
    let told: Vec<String> = decisions
        .iter()
        .map(|it| match &it.what {
            What::Start(all) | What::Part(all, _) => all.iter().map(|it| it.node.to_string()).collect::<Vec<_>>().join(" "),
            What::Wait(reason) => reason.en.split(';').next().unwrap().to_owned(),
        })
        .collect();
    assert_eq!(told[0], "n1 n2");
    assert!(told[1].contains("can never fit") && told[2].contains("can never fit"), "{told:?}");
}
