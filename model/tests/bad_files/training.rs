//! Frameworks, parameters, secrets, conventions, gangs and ports that cannot be meant.

use crate::{all_told, job, role};

#[test]
fn frameworks_and_conventions_that_nobody_knows() {
    all_told(&[
        (
            job("framework: caffe"),
            &[
                "line 2, column 12: framework: `caffe` is not a framework we know (write one of tensorflow, keras, pytorch, jax, python, with or without a version: pytorch@2.9)",
            ],
        ),
        (
            job("framework: pytorch@latest"),
            &[
                "line 2, column 12: framework: `pytorch@latest` is not a framework we know (write one of tensorflow, keras, pytorch, jax, python, with or without a version: pytorch@2.9)",
            ],
        ),
        (
            job("conventions: [tf_config, tfconfig]"),
            &[
                "line 2, column 26: conventions[1]: `tfconfig` is not a convention (there are pai_v1, pai_v2, tf_config, cluster_config, torch, jax, mpi, modelarts, arena, ascend)",
            ],
        ),
        (
            job("conventions: torch"),
            &["line 2, column 14: conventions: must be a list, not the text `torch` (write `[tf_config, torch]`, or `[]` for none)"],
        ),
    ]);
}

#[test]
fn parameters_and_secrets_that_cannot_be_put_in() {
    all_told(&[
        (
            job("params: {learning rate: 1}"),
            &[
                "line 2, column 10: params.\"learning rate\": `learning rate` is not a name for a parameter (use letters, digits, `_`, `.` and `-`, and begin with a letter or `_`)",
            ],
        ),
        (
            job("params: {lr: [1]}"),
            &[
                "line 2, column 14: params.lr: must be a number, true or false, or text, not a list (write one value, in quotes if it is more than a word)",
            ],
        ),
        (
            "name: a\nparams: {lr: 1}\nroles: {w: {command: 'train {{ params.lt }} {{ secrets.key }}'}}".into(),
            &[
                "line 3, column 22: roles.w.command: says `{{ params.lt }}`, and there is no such name under `params` (add `lt` under `params`, or write `\\{{` for the letters themselves)",
                "line 3, column 22: roles.w.command: says `{{ secrets.key }}`, and there is no such name under `secrets` (add `key` under `secrets`, or write `\\{{` for the letters themselves)",
            ],
        ),
        (job("secrets: {key: }"), &["line 2, column 14: secrets.key: must be text, not nothing (write \"\" for an empty value)"]),
        (
            job("secrets: {key: {named: wandb, value: x}}"),
            &[
                "line 2, column 16: secrets.key: must have one of `value` and `named` (write the secret itself, `{named: NAME}` for one that you keep, or `{value: …, file: true}`)",
            ],
        ),
        (
            "name: a\nenv: {KEY: '{{ secrets.key }}'}\nroles: {w: {command: x}}".into(),
            &[
                "line 2, column 7: env.KEY: says `{{ secrets.key }}`, and there is no such name under `secrets` (add `key` under `secrets`, or write `\\{{` for the letters themselves)",
            ],
        ),
    ]);
}

#[test]
fn gangs_and_ports_that_cannot_be_had() {
    all_told(&[
        (
            job("gang: maybe"),
            &["line 2, column 7: gang: must be true or false, not the text `maybe` (write true or false, without quotes)"],
        ),
        (
            job("retries: often"),
            &[
                "line 2, column 10: retries: must be a whole number, 0 or more, `always` or `forever`, not the text `often` (write a number such as 2)",
            ],
        ),
        (job("keep_failed: 0s"), &["line 2, column 14: keep_failed: `0s` is no time at all (write 90s, 15m, 12h or 7d)"]),
        (
            role("ports: {http: {from: 65535, count: 2}}"),
            &[
                "line 5, column 13: roles.worker.ports.http: asks for 2 ports from 65535; there are 1 to 65535 (begin lower, or ask for fewer)",
            ],
        ),
        (
            role("ports: {http: {count: 2}}"),
            &["line 5, column 13: roles.worker.ports.http.from: is missing (write the first port, such as `from: 8000`)"],
        ),
        (
            role("ports: {http: {from: 0}}"),
            &["line 5, column 13: roles.worker.ports.http: asks for 1 ports from 0; there are 1 to 65535 (begin lower, or ask for fewer)"],
        ),
        (
            role("completion: {wait: never}"),
            &[
                "line 5, column 24: roles.worker.completion.wait: must be true or false, not the text `never` (write true or false, without quotes)",
            ],
        ),
    ]);
}
