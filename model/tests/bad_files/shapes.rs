//! Values of the wrong shape.

use crate::{all_told, job, named, role, text};

#[test]
fn values_of_the_wrong_shape() {
    all_told(&[
        (named("name: 42"), &[r#"line 1, column 7: name: must be text, not the number `42` (put it in quotes: "42")"#]),
        (named("name: [digits]"), &["line 1, column 7: name: must be text, not a list (write a line of text)"]),
        (job("description: {a: b}"), &["line 2, column 14: description: must be text, not a map (write a line of text)"]),
        (job("tags: demo"), &["line 2, column 7: tags: must be a list, not the text `demo` (write `[first, second]`)"]),
        (
            job("tags: [1, demo, true, null, [x]]"),
            &[
                r#"line 2, column 8: tags[0]: must be text, not the number `1` (put it in quotes: "1")"#,
                r#"line 2, column 17: tags[2]: must be text, not `true` (put it in quotes: "true")"#,
                "line 2, column 23: tags[3]: must be text, not nothing (write `[first, second]`)",
                "line 2, column 29: tags[4]: must be text, not a list (write `[first, second]`)",
            ],
        ),
        (
            job("priority: high"),
            &[
                "line 2, column 11: priority: must be a whole number from -2147483648 to 2147483647, not the text `high` (write a number such as 10 or -5)",
            ],
        ),
        (
            job("priority: 99999999999"),
            &[
                "line 2, column 11: priority: must be a whole number from -2147483648 to 2147483647, not the number `99999999999` (write a number such as 10 or -5)",
            ],
        ),
        (
            job("retries: -1"),
            &[
                "line 2, column 10: retries: must be a whole number, 0 or more, `always` or `forever`, not the number `-1` (write a number such as 2)",
            ],
        ),
        (
            job("retries: 1.5"),
            &[
                "line 2, column 10: retries: must be a whole number, 0 or more, `always` or `forever`, not the number `1.5` (write a number such as 2)",
            ],
        ),
        (
            job(r#"retries: "2""#),
            &[
                "line 2, column 10: retries: must be a whole number, 0 or more, `always` or `forever`, not the text `2` (write it without quotes)",
            ],
        ),
        (job("max_duration: 1.5"), &["line 2, column 15: max_duration: must be a time, not the number `1.5` (write 90s, 15m, 12h or 7d)"]),
        (job("stop_grace: [30s]"), &["line 2, column 13: stop_grace: must be a time, not a list (write 90s, 15m, 12h or 7d)"]),
        (job("code: true"), &[r#"line 2, column 7: code: must be text, not `true` (put it in quotes: "true")"#]),
        (job("env: [A=1]"), &["line 2, column 6: env: must be a map, not a list (write `NAME: value` pairs)"]),
        (
            job("env: {A: , B: [1], C: {d: e}}"),
            &[
                r#"line 2, column 8: env.A: must be text, not nothing (write "" for an empty value)"#,
                "line 2, column 15: env.B: must be text, not a list (write one value, in quotes if it is more than a word)",
                "line 2, column 23: env.C: must be text, not a map (write one value, in quotes if it is more than a word)",
            ],
        ),
        (
            text("name: digits\nroles: worker\n"),
            &["line 2, column 8: roles: must be a map, not the text `worker` (write `worker:` and under it at least `command: …`)"],
        ),
        (
            text("name: digits\nroles:\n  - worker\n"),
            &["line 3, column 3: roles: must be a map, not a list (write `worker:` and under it at least `command: …`)"],
        ),
        (
            text("name: digits\nroles:\n  worker: python3 train.py\n"),
            &["line 3, column 11: roles.worker: must be a map, not the text `python3 train.py` (write `command: …` under it)"],
        ),
        (
            role("tasks: two"),
            &["line 5, column 12: roles.worker.tasks: must be a whole number, 1 or more, not the text `two` (write a number such as 2)"],
        ),
        (
            role(r#"cpus: "2""#),
            &["line 5, column 11: roles.worker.cpus: must be a number, not the text `2` (write a number such as 2 or 0.5, without quotes)"],
        ),
        (
            role("cpus: [1]"),
            &["line 5, column 11: roles.worker.cpus: must be a number, not a list (write a number such as 2 or 0.5, without quotes)"],
        ),
        (role("memory: 1.5"), &["line 5, column 13: roles.worker.memory: must be a size, not the number `1.5` (add a unit: 1.5GiB)"]),
        (
            role("memory: -1"),
            &[
                "line 5, column 13: roles.worker.memory: must be a size, not the number `-1` (write a size such as 512MiB or 4GiB, or a number of bytes)",
            ],
        ),
        (
            role("memory: true"),
            &[
                "line 5, column 13: roles.worker.memory: must be a size, not `true` (write a size such as 512MiB or 4GiB, or a number of bytes)",
            ],
        ),
        (
            role("shared_memory: {size: 1}"),
            &[
                "line 5, column 20: roles.worker.shared_memory: must be a size, not a map (write a size such as 512MiB or 4GiB, or a number of bytes)",
            ],
        ),
        (
            role("accelerators: A100"),
            &[
                "line 5, column 19: roles.worker.accelerators: must be a whole number or a map, not the text `A100` (write a number such as 2, or a number by type such as `{A100: 2}`)",
            ],
        ),
        (
            role("accelerators: [A100]"),
            &[
                "line 5, column 19: roles.worker.accelerators: must be a whole number or a map, not a list (write a number such as 2, or a number by type such as `{A100: 2}`)",
            ],
        ),
        (
            role("accelerators: {A100: two}"),
            &[
                "line 5, column 26: roles.worker.accelerators.A100: must be a whole number, 0 or more, not the text `two` (write a number such as 2)",
            ],
        ),
        (
            role("ports: 8080"),
            &[
                "line 5, column 12: roles.worker.ports: must be a list or a map, not the number `8080` (write labels such as `[grpc]`, or how many by label such as `{grpc: 2}`)",
            ],
        ),
        (
            role("ports: [8080]"),
            &[r#"line 5, column 13: roles.worker.ports[0]: must be text, not the number `8080` (put it in quotes: "8080")"#],
        ),
        (
            role("ports: {grpc: x}"),
            &["line 5, column 19: roles.worker.ports.grpc: must be a whole number, 1 or more, not the text `x` (write a number such as 2)"],
        ),
        (
            role("completion: 1"),
            &["line 5, column 17: roles.worker.completion: must be a map, not the number `1` (write `min_failed: 1` under it)"],
        ),
        (
            role("completion: {min_failed: null}"),
            &[
                "line 5, column 30: roles.worker.completion.min_failed: is there without a value (write `never` if that is meant, or remove the key for the usual rule)",
            ],
        ),
        (
            role("completion:\n  min_succeeded:"),
            &[
                "line 6, column 20: roles.worker.completion.min_succeeded: is there without a value (write `never` if that is meant, or remove the key for the usual rule)",
            ],
        ),
        (
            role("completion: {min_failed: none}"),
            &[
                "line 5, column 30: roles.worker.completion.min_failed: must be a whole number, `all` or `never`, not the text `none` (write 1, all or never)",
            ],
        ),
        (
            role("completion: {min_failed: 1.5, min_succeeded: -1}"),
            &[
                "line 5, column 30: roles.worker.completion.min_failed: must be a whole number, `all` or `never`, not the number `1.5` (write 1, all or never)",
                "line 5, column 50: roles.worker.completion.min_succeeded: must be a whole number, `all` or `never`, not the number `-1` (write 1, all or never)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: 5\n"),
            &[r#"line 4, column 14: roles.worker.command: must be text, not the number `5` (put it in quotes: "5")"#],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: {run: x}\n"),
            &[
                "line 4, column 14: roles.worker.command: must be text, not a map (write a line such as `command: python3 train.py`, or a list of words)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n    command: [python3, [x], null, 5]\n"),
            &[
                "line 4, column 24: roles.worker.command[1]: must be text, not a list (put the word in quotes)",
                "line 4, column 29: roles.worker.command[2]: must be text, not nothing (put the word in quotes)",
            ],
        ),
    ]);
}
