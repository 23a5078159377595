//! Files that are no job files, and keys that are not right.

use crate::{all_told, job, named, role, text};

#[test]
fn text_that_is_no_job_file() {
    all_told(&[
        (text(""), &["line 1, column 1: the file is empty (a job needs at least `name` and `roles`)"]),
        (text("# only a comment\n"), &["line 1, column 1: the file is empty (a job needs at least `name` and `roles`)"]),
        (text("null\n"), &["line 1, column 1: the file is empty (a job needs at least `name` and `roles`)"]),
        (
            text("just words\n"),
            &["line 1, column 1: must be a map, not the text `just words` (a job file begins with a line such as `name: digits`)"],
        ),
        (text("- a\n- list\n"), &["line 1, column 1: must be a map, not a list (a job file begins with a line such as `name: digits`)"]),
        (text("42\n"), &["line 1, column 1: must be a map, not the number `42` (a job file begins with a line such as `name: digits`)"]),
        (
            text("name: digits\nroles: [worker\n"),
            &[
                "line 3, column 1: this is not YAML: while parsing a flow sequence, expected ',' or ']' (look at the indentation, the quotes and the brackets here and on the line before)",
            ],
        ),
        (
            text("name: digits\n\troles:\n"),
            &["line 1, column 7: this is not YAML: while scanning a plain scalar, found a tab (indent with spaces, not tabs)"],
        ),
        (
            text("name: \"digits\nroles: {}\n"),
            &[
                "line 1, column 7: this is not YAML: invalid indentation in quoted scalar (look at the indentation, the quotes and the brackets here and on the line before)",
            ],
        ),
        (
            text("name: digits\n  roles: {}\n"),
            &[
                "line 2, column 8: this is not YAML: mapping values are not allowed in this context (a text with `: ` in it, or one that ends with `:`, stands in quotes; else look at the indentation here and on the line before)",
            ],
        ),
        (
            text("name: digits\n---\nname: other\n"),
            &["line 2, column 1: a second document begins here (a job file describes one job; submit each file by itself)"],
        ),
        (text("name: a\u{7}b\n"), &[r#"line 1, column 8: has the control character \u{7} (remove it; is this a text file in UTF-8?)"#]),
    ]);
}

#[test]
fn keys_that_are_not_there_twice_there_or_misspelt() {
    all_told(&[
        (text("name: digits\n"), &["line 1, column 1: roles: is missing (write `worker:` and under it at least `command: …`)"]),
        (
            text("roles:\n  worker:\n    command: python3 train.py\n"),
            &["line 1, column 1: name: is missing (give the job a name, such as `name: digits`)"],
        ),
        (
            text("name:\nroles:\n"),
            &[
                "line 1, column 5: name: is there without a value (give the job a name, such as `name: digits`)",
                "line 2, column 6: roles: is there without a value (write `worker:` and under it at least `command: …`)",
            ],
        ),
        (
            text("name: digits\nroles:\n  worker:\n"),
            &["line 3, column 3: roles.worker.command: is missing (write a line such as `command: python3 train.py`, or a list of words)"],
        ),
        (
            text("name: digits\nroles:\n  worker: {}\n"),
            &["line 3, column 3: roles.worker.command: is missing (write a line such as `command: python3 train.py`, or a list of words)"],
        ),
        (job("descripton: a test"), &["line 2, column 1: descripton: unknown key `descripton` (did you mean `description`?)"]),
        (job("maxDuration: 1h"), &["line 2, column 1: maxDuration: unknown key `maxDuration` (did you mean `max_duration`?)"]),
        (job("timeout: 1h"), &["line 2, column 1: timeout: unknown key `timeout` (did you mean `max_duration`?)"]),
        (
            job("picture: torch"),
            &[
                "line 2, column 1: picture: unknown key `picture` (the keys here are name, algorithm, description, tags, priority, retries, gang, max_duration, stop_grace, keep_failed, framework, image, params, secrets, conventions, code, requirements, setup, input, inputs, output, outputs, logs, metrics, from, env, roles)",
            ],
        ),
        (
            job("command: python3 train.py"),
            &["line 2, column 1: command: unknown key `command` (it belongs in a role, such as `worker` under `roles`)"],
        ),
        (
            role("cpu: 2\ngpus: 1\nreplicas: 2"),
            &[
                "line 5, column 5: roles.worker.cpu: unknown key `cpu` (did you mean `cpus`?)",
                "line 6, column 5: roles.worker.gpus: unknown key `gpus` (did you mean `accelerators`?)",
                "line 7, column 5: roles.worker.replicas: unknown key `replicas` (did you mean `tasks`?)",
            ],
        ),
        (
            role("retries: 3"),
            &[
                "line 5, column 14: roles.worker.retries: is for a job whose tasks stand alone; here all tasks start again together (write `gang: false` for the job, or give the job `retries`)",
            ],
        ),
        (
            role("completion:\n  minFailed: 1\n  max_failed: 1"),
            &[
                "line 6, column 7: roles.worker.completion.minFailed: unknown key `minFailed` (did you mean `min_failed`?)",
                "line 7, column 7: roles.worker.completion.max_failed: unknown key `max_failed` (did you mean `min_failed`?)",
            ],
        ),
        (
            job("name: other"),
            &["line 2, column 1: the key `name` is here a second time; the first is at line 1, column 1 (keep one of them)"],
        ),
        (
            role("cpus: 1\ncpus: 2"),
            &["line 6, column 5: the key `cpus` is here a second time; the first is at line 5, column 5 (keep one of them)"],
        ),
        (job("1: one"), &["line 2, column 1: the key `1` is not text (put it in quotes)"]),
        (
            named("<<: {name: digits}"),
            &[
                r#"line 1, column 1: "<<": unknown key `<<` (merging is not taken in job files; write the keys out)"#,
                "line 1, column 1: name: is missing (give the job a name, such as `name: digits`)",
            ],
        ),
    ]);
}

#[test]
fn what_yaml_allows_and_we_do_not() {
    all_told(&[
        (
            named("name: &n digits\ndescription: *n"),
            &[
                "line 1, column 7: an anchor (`&name`) is not taken in job files (remove it and write the value out where it is used)",
                "line 2, column 14: an alias (`*name`) is not taken in job files (write the value out)",
            ],
        ),
        (
            named("name: !!str 5"),
            &["line 1, column 7: a tag (`!name`) is not taken in job files (remove it; put a value in quotes to make it text)"],
        ),
        (named("name: *nobody"), &["line 1, column 7: an alias (`*name`) is not taken in job files (write the value out)"]),
        (text("name: digits\nroles: *gone\n"), &["line 2, column 8: an alias (`*name`) is not taken in job files (write the value out)"]),
        (
            text("name: digits\nbase: &base {command: x}\nroles:\n  worker: *base\n"),
            &[
                "line 2, column 1: base: unknown key `base` (the keys here are name, algorithm, description, tags, priority, retries, gang, max_duration, stop_grace, keep_failed, framework, image, params, secrets, conventions, code, requirements, setup, input, inputs, output, outputs, logs, metrics, from, env, roles)",
                "line 2, column 7: an anchor (`&name`) is not taken in job files (remove it and write the value out where it is used)",
                "line 4, column 11: an alias (`*name`) is not taken in job files (write the value out)",
            ],
        ),
    ]);
}

#[test]
fn several_things_at_once() {
    all_told(&[
        (
            text(
                "name: my digits\nretry: 3\nmax_duration: soon\nroles:\n  worker:\n    cpu: 1\n    tasks: many\n    completion: {min_failed: 3, min_succeeded: }\n  ps: 5\n  a.b:\n    command: []\n    memory: 1.5\n    env: {BAD-NAME: 1, X: }\n",
            ),
            &[
                "line 1, column 7: name: `my digits` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as digits or bert-large.v2)",
                "line 2, column 1: retry: unknown key `retry` (did you mean `retries`?)",
                "line 3, column 15: max_duration: `soon` is not a time (write 90s, 15m, 12h or 7d)",
                "line 5, column 3: roles.worker.command: is missing (write a line such as `command: python3 train.py`, or a list of words)",
                "line 6, column 5: roles.worker.cpu: unknown key `cpu` (did you mean `cpus`?)",
                "line 7, column 12: roles.worker.tasks: must be a whole number, 1 or more, not the text `many` (write a number such as 2)",
                "line 8, column 46: roles.worker.completion.min_succeeded: is there without a value (write `never` if that is meant, or remove the key for the usual rule)",
                "line 9, column 7: roles.ps: must be a map, not the number `5` (write `command: …` under it)",
                r#"line 11, column 14: roles."a.b".command: is empty, so there is nothing to run (write a line such as `command: python3 train.py`, or a list of words)"#,
                r#"line 12, column 13: roles."a.b".memory: must be a size, not the number `1.5` (add a unit: 1.5GiB)"#,
                r#"line 13, column 11: roles."a.b".env.BAD-NAME: `BAD-NAME` is not a name for a variable (use letters, digits and _, and begin with a letter or _)"#,
                r#"line 13, column 25: roles."a.b".env.X: must be text, not nothing (write "" for an empty value)"#,
            ],
        ),
        (
            text("{\n  \"name\": \"\",\n  \"env\": {\"A\": null},\n  \"roles\": {\"worker\": {\"cpus\": \"1\", \"ports\": [1]}}\n}\n"),
            &[
                "line 2, column 11: name: is empty (write a name such as digits or bert-large.v2)",
                r#"line 3, column 16: env.A: must be text, not nothing (write "" for an empty value)"#,
                "line 4, column 13: roles.worker.command: is missing (write a line such as `command: python3 train.py`, or a list of words)",
                "line 4, column 32: roles.worker.cpus: must be a number, not the text `1` (write a number such as 2 or 0.5, without quotes)",
                r#"line 4, column 47: roles.worker.ports[0]: must be text, not the number `1` (put it in quotes: "1")"#,
            ],
        ),
        (
            text(
                "roles:\n  worker:\n    comand: x\n    tasks: 0\n    completion: {min_failed: 5}\nname: digits\nname: two\ncode: ~/digits\n",
            ),
            &[
                "line 3, column 5: roles.worker.comand: unknown key `comand` (did you mean `command`?)",
                "line 4, column 12: roles.worker.tasks: is 0; a role has 1 to 1000 tasks (write a number from 1 to 1000)",
                "line 7, column 1: the key `name` is here a second time; the first is at line 6, column 1 (keep one of them)",
                "line 8, column 7: code: `~/digits` is neither a whole path nor a volume and a path nor a URL (write a directory's whole path, a repository's address, or a volume and a path such as `data:code`)",
            ],
        ),
    ]);
}
