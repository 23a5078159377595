//! Values of the right shape that break a rule.

use crate::{all_told, job, named, role, text};

#[test]
fn values_that_break_a_rule() {
    all_told(&[
        (
            named("name: my digits"),
            &[
                "line 1, column 7: name: `my digits` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as digits or bert-large.v2)",
            ],
        ),
        (
            named("name: -rf"),
            &[
                "line 1, column 7: name: `-rf` begins with `-`; begin with a letter or a digit (write a name such as digits or bert-large.v2)",
            ],
        ),
        (named(r#"name: """#), &["line 1, column 7: name: is empty (write a name such as digits or bert-large.v2)"]),
        (
            named("name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"),
            &[
                "line 1, column 7: name: `aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…` has 65 characters; the most is 64 (write a name such as digits or bert-large.v2)",
            ],
        ),
        (
            named(r#"name: "../etc""#),
            &[
                "line 1, column 7: name: `../etc` has `/`; use letters, digits, `-`, `.`, `_` and `~` (write a name such as digits or bert-large.v2)",
            ],
        ),
        (
            named(r#"name: "a\eb""#),
            &[
                r#"line 1, column 7: name: `a\u{1b}b` has `\u{1b}`; use letters, digits, `-`, `.`, `_` and `~` (write a name such as digits or bert-large.v2)"#,
            ],
        ),
        (job(r#"description: "a\ab""#), &[r#"line 2, column 14: description: has the control character \u{7} (remove it)"#]),
        (
            job(r#"tags: ["", "a,b", " a", "a\tb"]"#),
            &[
                "line 2, column 8: tags[0]: is empty (write a short label, or remove it)",
                "line 2, column 12: tags[1]: `a,b` has a comma (write each tag as an item of its own, without commas)",
                "line 2, column 19: tags[2]: ` a` begins or ends with a space (remove the space)",
                r#"line 2, column 25: tags[3]: `a\u{9}b` has the control character \u{9} (write each tag as an item of its own, without commas)"#,
            ],
        ),
        (job(&format!("tags: [{}]", vec!["t"; 33].join(", "))), &["line 2, column 7: tags: has 33 tags; the most is 32 (remove some)"]),
        (job("retries: 100001"), &["line 2, column 10: retries: is 100001; the most is 100000 (write a number from 0 to 100000)"]),
        (job("max_duration: soon"), &["line 2, column 15: max_duration: `soon` is not a time (write 90s, 15m, 12h or 7d)"]),
        (job("max_duration: 0s"), &["line 2, column 15: max_duration: `0s` is no time at all (write 90s, 15m, 12h or 7d)"]),
        (
            job("max_duration: 9999d"),
            &["line 2, column 15: max_duration: `9999d` is too long; the most is 3650d (write 90s, 15m, 12h or 7d)"],
        ),
        (job("stop_grace: -5s"), &["line 2, column 13: stop_grace: `-5s` is not a time (write 90s, 15m, 12h or 7d)"]),
        (job("stop_grace: 0"), &["line 2, column 13: stop_grace: `0` is no time at all (write 90s, 15m, 12h or 7d)"]),
        (
            job("code: src"),
            &[
                "line 2, column 7: code: `src` is neither a whole path nor a volume and a path nor a URL (write a directory's whole path, a repository's address, or a volume and a path such as `data:code`)",
            ],
        ),
        (
            job(r#"input: """#),
            &[
                "line 2, column 8: input: `\"\"` names no place (write a volume and a path such as `data:mnist`, a directory's whole path, or a URL)",
            ],
        ),
        (
            job(r#"env: {BAD-NAME: 1, 2X: 1, "": 1, TRAINMASTER_JOB: x}"#),
            &[
                "line 2, column 7: env.BAD-NAME: `BAD-NAME` is not a name for a variable (use letters, digits and _, and begin with a letter or _)",
                "line 2, column 20: env.2X: `2X` is not a name for a variable (use letters, digits and _, and begin with a letter or _)",
                r#"line 2, column 27: env."": `""` is not a name for a variable (use letters, digits and _, and begin with a letter or _)"#,
                "line 2, column 34: env.TRAINMASTER_JOB: `TRAINMASTER_JOB` is reserved: names that begin with TRAINMASTER_ tell a task about its job (choose another name)",
            ],
        ),
        (job("env:\n  A: \"x\\0y\""), &["line 3, column 6: has a NUL character, which no program can be given (remove it)"]),
        (
            text("name: digits\nroles: {}\n"),
            &["line 2, column 1: roles: has no role, so there is nothing to run (write `worker:` and under it at least `command: …`)"],
        ),
        (
            text("name: digits\nroles:\n  my worker:\n    command: a\n  a.b/c:\n    command: b\n"),
            &[
                r#"line 3, column 3: roles."my worker": the role's name `my worker` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as worker or ps)"#,
                r#"line 5, column 3: roles."a.b/c": the role's name `a.b/c` has `/`; use letters, digits, `-`, `.`, `_` and `~` (write a name such as worker or ps)"#,
            ],
        ),
        (role("tasks: 0"), &["line 5, column 12: roles.worker.tasks: is 0; a role has 1 to 1000 tasks (write a number from 1 to 1000)"]),
        (
            role("tasks: 1001"),
            &["line 5, column 12: roles.worker.tasks: is 1001; a role has 1 to 1000 tasks (write a number from 1 to 1000)"],
        ),
        (
            text("name: digits\nroles:\n  a: {command: x, tasks: 600}\n  b: {command: x, tasks: 600}\n"),
            &["line 2, column 1: roles: has 1200 tasks together; the most is 1000 (ask for fewer tasks)"],
        ),
        (
            role("cpus: 0"),
            &["line 5, column 11: roles.worker.cpus: is 0; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("cpus: -1"),
            &["line 5, column 11: roles.worker.cpus: is -1; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("cpus: .inf"),
            &["line 5, column 11: roles.worker.cpus: is inf; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("cpus: .nan"),
            &["line 5, column 11: roles.worker.cpus: is NaN; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("cpus: 0.0001"),
            &["line 5, column 11: roles.worker.cpus: is 0.0001; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("cpus: 1e9"),
            &["line 5, column 11: roles.worker.cpus: is 1000000000; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)"],
        ),
        (
            role("memory: 4 potatoes"),
            &["line 5, column 13: roles.worker.memory: `4 potatoes` is not a size (write a size such as 512MiB or 4GiB)"],
        ),
        (
            role("memory: 4"),
            &[
                "line 5, column 13: roles.worker.memory: is 4B; nothing runs in less than 4MiB (write a unit after the number: 512MiB, 4GiB)",
            ],
        ),
        (
            role("memory: 3MiB"),
            &[
                "line 5, column 13: roles.worker.memory: is 3MiB; nothing runs in less than 4MiB (write a unit after the number: 512MiB, 4GiB)",
            ],
        ),
        (
            role("memory: 9999999TiB"),
            &["line 5, column 13: roles.worker.memory: `9999999TiB` is more than any machine has (write a size such as 512MiB or 4GiB)"],
        ),
        (
            role("shared_memory: lots"),
            &["line 5, column 20: roles.worker.shared_memory: `lots` is not a size (write a size such as 512MiB or 4GiB)"],
        ),
        (
            role(r#"accelerators: {"A 100": 1}"#),
            &[
                r#"line 5, column 20: roles.worker.accelerators."A 100": `A 100` is not a name for a type of accelerator (use 1 to 64 letters, digits, `-`, `.`, `_` and `~`)"#,
            ],
        ),
        (role("accelerators: 20000"), &["line 5, column 19: roles.worker.accelerators: is 20000; the most is 10000 (ask for fewer)"]),
        (
            role(r#"ports: ["a b", grpc, grpc]"#),
            &[
                "line 5, column 13: roles.worker.ports[0]: `a b` is not a name for a port (use 1 to 64 letters, digits, `-`, `.`, `_` and `~`)",
                "line 5, column 26: roles.worker.ports[2]: `grpc` is there twice (write `{grpc: 2}` for two ports of that label)",
            ],
        ),
        (
            role("ports: {grpc: 0, http: 65}"),
            &[
                "line 5, column 13: roles.worker.ports.grpc: is 0; a label has 1 to 64 ports (write a number from 1 to 64)",
                "line 5, column 22: roles.worker.ports.http: is 65; a label has 1 to 64 ports (write a number from 1 to 64)",
            ],
        ),
        (
            role("ports: {a: 40, b: 40}"),
            &["line 5, column 5: roles.worker.ports: has 80 ports together; the most is 64 for each task (ask for fewer ports)"],
        ),
        (
            role("ports: [http-api, http_api]"),
            &[
                "line 5, column 12: roles.worker.ports: `http-api` and `http_api` would both be TRAINMASTER_PORTS_HTTP_API to the task (choose labels that differ in letters or digits)",
            ],
        ),
        (
            role("completion: {min_failed: 0, min_succeeded: 2}"),
            &[
                "line 5, column 30: roles.worker.completion.min_failed: is 0, which would decide the job before it begins (write 1 or more, all, or never)",
                "line 5, column 48: roles.worker.completion.min_succeeded: is 2, and the role has 1 task, so it would never be met (write `all` or `never`, or more tasks)",
            ],
        ),
        (
            role("tasks: 2\ncompletion: {min_failed: 3}"),
            &[
                "line 6, column 30: roles.worker.completion.min_failed: is 3, and the role has 2 tasks, so it would never be met (write `all` or `never`, or more tasks)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: \"  \"\n"),
            &[
                "line 4, column 14: roles.worker.command: is empty, so there is nothing to run (write a line such as `command: python3 train.py`, or a list of words)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: []\n"),
            &[
                "line 4, column 14: roles.worker.command: is empty, so there is nothing to run (write a line such as `command: python3 train.py`, or a list of words)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: [\"\", x]\n"),
            &[
                "line 4, column 15: roles.worker.command[0]: the program has an empty name (write a line such as `command: python3 train.py`, or a list of words)",
            ],
        ),
    ]);
}
