use super::*;

fn plan_of(text: &str) -> String {
    match from_text(text, &HouseRules::default()) {
        Ok((_, plan)) => plan.to_string(),
        Err(problems) => problems.iter().map(|problem| format!("{problem}\n")).collect(),
    }
}

const EVERYTHING: &str = r#"
name: digits
description: |
  A small classifier,
  trained by everyone.
tags: [demo, mnist, demo]
priority: -5
retries: 2
max_duration: 90
stop_grace: 1m30s
code: /home/ann/digits
input: /data/digits
env: {BATCH: 64, SHARED: job, DEBUG: true, VERSION: 1.10, EMPTY: ""}
roles:
  worker:
    tasks: 2
    command: python3 train.py --lr $LR
    cpus: 0.5
    memory: 1.5GiB
    shared_memory: 134217728
    accelerators: {A100: 2, T4: 0}
    ports: {grpc: 2, http: 1}
    env: {SHARED: role, LR: 1e-3}
    completion: {min_failed: all, min_succeeded: 1}
  ps:
    command: [python3, "ps server.py", 5, true, it's]
    ports: [grpc]
    accelerators: 1
"#;

#[test]
fn every_default_is_filled_in_and_every_string_is_read() {
    insta::assert_snapshot!(plan_of("name: small\nroles: {worker: {command: 'true'}}"), @"
    small: 1 task in 1 role
      priority      0
      retries       0
      max duration  none
      stop grace    30s
      worker: 1 × (1 CPU, 1GiB, 64MiB shared memory)
        command     /bin/sh -c true
        completion  fails with 1 failed task
    ");
    insta::assert_snapshot!(plan_of(EVERYTHING), @r#"
    digits: 3 tasks in 2 roles
      A small classifier,
      trained by everyone.
      tags          demo, mnist
      priority      -5
      retries       2
      max duration  1m 30s
      stop grace    1m 30s
      /code         /home/ann/digits
      /input        /data/digits
      worker: 2 × (0.5 CPU, 1.5GiB, 2 × A100, 128MiB shared memory)
        command     /bin/sh -c 'python3 train.py --lr $LR'
        ports       grpc × 2
        ports       http × 1
        ports       torch × 1 of worker-0, so that peers find each other
        ports       jax × 1 of worker-0, so that peers find each other
        env         BATCH=64
        env         DEBUG=true
        env         EMPTY=
        env         LR=1e-3
        env         SHARED=role
        env         VERSION=1.10
        completion  fails with 2 failed tasks; succeeds with 1 succeeded task
      ps: 1 × (1 CPU, 1GiB, 1 × any, 64MiB shared memory)
        command     python3 'ps server.py' 5 true 'it'\''s'
        ports       grpc × 1
        env         BATCH=64
        env         DEBUG=true
        env         EMPTY=
        env         SHARED=job
        env         VERSION=1.10
        completion  fails with 1 failed task; the job does not wait for it
    "#);
}

#[test]
fn keys_without_a_value_are_as_good_as_not_written() {
    let nothing = "name: small\ndescription:\ntags: ~\npriority: null\nretries:\nmax_duration:\nstop_grace:\ncode:\ninput:\nenv:\nroles:\n  worker:\n    \
                   command: 'true'\n    tasks:\n    cpus:\n    memory:\n    shared_memory:\n    accelerators:\n    ports:\n    env:\n    completion:\n";
    assert_eq!(plan_of(nothing), plan_of("name: small\nroles: {worker: {command: 'true'}}"));
}

#[test]
fn yaml_and_json_say_the_same_and_a_spec_survives_its_json_form() {
    let (spec, plan) = from_text(EVERYTHING, &HouseRules::default()).unwrap();
    for json in [serde_json::to_string(&spec).unwrap(), serde_json::to_string_pretty(&spec).unwrap()] {
        assert_eq!(from_text(&json, &HouseRules::default()), Ok((spec.clone(), plan.clone())), "{json}");
    }
    assert_eq!(serde_json::from_value::<JobSpec>(serde_json::to_value(&spec).unwrap()).unwrap(), spec);
}

#[test]
fn only_a_parameter_server_beside_others_is_not_waited_for() {
    let waited_for = |roles: &str| {
        let (_, plan) = from_text(&format!("name: a\nroles: {{{roles}}}"), &HouseRules::default()).unwrap();
        plan.roles.iter().map(|role| format!("{}:{}", role.name, role.completion.waited_for)).collect::<Vec<_>>().join(" ")
    };
    let (ps, worker) = ("ps: {command: x}", "worker: {command: x}");
    assert_eq!(waited_for(&format!("{ps}, {worker}")), "ps:false worker:true");
    assert_eq!(waited_for(ps), "ps:true");
    assert_eq!(waited_for(&format!("ps: {{command: x, completion: {{min_succeeded: never}}}}, {worker}")), "ps:true worker:true");
    assert_eq!(waited_for(&format!("ps: {{command: x, completion: {{min_failed: never}}}}, {worker}")), "ps:false worker:true");
}

#[test]
fn never_is_not_the_same_as_not_given() {
    let completion = |given: &str| {
        let (_, plan) = from_text(&format!("name: a\nroles: {{w: {{command: x, tasks: 3, {given}}}}}"), &HouseRules::default()).unwrap();
        (plan.roles[0].completion.min_failed, plan.roles[0].completion.min_succeeded)
    };
    assert_eq!(completion(""), (Some(1), None));
    assert_eq!(completion("completion: {}"), (Some(1), None));
    assert_eq!(completion("completion: {min_failed: never, min_succeeded: never}"), (None, None));
    assert_eq!(completion("completion: {min_failed: 2, min_succeeded: all}"), (Some(2), Some(3)));
}

#[test]
fn a_spec_without_a_file_has_problems_without_a_place() {
    let spec = JobSpec { name: "my job".into(), ..JobSpec::default() };
    let problems = compile(&spec, &HouseRules::default()).unwrap_err();
    let told: String = problems.iter().map(|problem| format!("{problem}\n")).collect();
    insta::assert_snapshot!(told, @"
    name: `my job` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as digits or bert-large.v2)
    roles: has no role, so there is nothing to run (write `worker:` and under it at least `command: …`)
    ");
}

#[test]
fn below_a_word_that_is_wrong_everything_else_is_told_too() {
    insta::assert_snapshot!(plan_of("name: a\nrole:\n  w:\n    command: x\n    tasks: 0\n    cpus: lots\n"), @"
    line 2, column 1: role: unknown key `role` (did you mean `roles`?)
    line 5, column 12: roles.w.tasks: is 0; a role has 1 to 1000 tasks (write a number from 1 to 1000)
    line 6, column 11: roles.w.cpus: must be a number, not the text `lots` (write a number such as 2 or 0.5, without quotes)
    ");
    insta::assert_snapshot!(plan_of("name: a\nroles:\n  My Worker:\n    comand: x\n    tasks: 0\n    env: {A=B: c}\n"), @r#"
    line 3, column 3: roles."My Worker": the role's name `My Worker` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as worker or ps)
    line 4, column 5: roles."My Worker".comand: unknown key `comand` (did you mean `command`?)
    line 5, column 12: roles."My Worker".tasks: is 0; a role has 1 to 1000 tasks (write a number from 1 to 1000)
    line 6, column 11: roles."My Worker".env."A=B": `A=B` is not a name for a variable (use letters, digits and _, and begin with a letter or _)
    "#);
}

#[test]
fn the_house_has_its_own_rules() {
    let strict = HouseRules { tasks_max: 2, retries_max: 0, ports_max: 1, ..HouseRules::default() };
    let text = "name: a\nretries: 1\nroles:\n  w:\n    command: x\n    tasks: 3\n    ports: [a, b]\n";
    let told: String = from_text(text, &strict).unwrap_err().iter().map(|problem| format!("{problem}\n")).collect();
    insta::assert_snapshot!(told, @"
    line 2, column 10: retries: is 1; the most is 0 (write a number from 0 to 0)
    line 6, column 12: roles.w.tasks: is 3; a role has 1 to 2 tasks (write a number from 1 to 2)
    line 7, column 12: roles.w.ports: has 2 ports together; the most is 1 for each task (ask for fewer ports)
    ");
    let generous =
        HouseRules { cpus_milli_default: 4000, memory_bytes_per_cpu: 2 * GIB, stop_grace_ms_default: 5000, ..HouseRules::default() };
    let (_, plan) = from_text("name: a\nroles: {w: {command: x}}", &generous).unwrap();
    assert_eq!(plan.roles[0].resources.to_string(), "4 CPU, 8GiB");
    assert_eq!(plan.stop_grace_ms, 5000);
}

#[test]
fn words_the_kernel_would_not_take_are_refused() {
    let long = "x".repeat(140_000);
    let text = format!("name: a\nenv: {{LONG: {long}}}\nroles:\n  w:\n    command: [echo, {long}]\n  v:\n    command: echo {long}\n");
    insta::assert_snapshot!(plan_of(&text), @"
    line 2, column 7: env.LONG: has 140005 bytes; the kernel takes at most 131071 (put it in a file under `code` or `input`)
    line 5, column 21: roles.w.command[1]: has 140000 bytes; the kernel takes at most 131071 (put it in a file under `code` or `input`)
    line 7, column 14: roles.v.command: has 140005 bytes; the kernel takes at most 131071 (put it in a file under `code` or `input`)
    ");
}

#[test]
fn the_argument_of_a_channel_goes_to_the_last_command_also_of_a_line_with_functions() {
    let command = |line: &str| {
        let text = format!("name: a\ninputs: {{data: {{from: 'data:mnist', argument: --data_url}}}}\nroles: {{w: {{command: {line:?}}}}}");
        from_text(&text, &HouseRules::default()).map(|(_, plan)| plan.roles[0].command[2].clone())
    };
    let line = "log() { echo \"$*\"; }; log start; python3 train.py";
    assert_eq!(command(line).unwrap(), format!("{line} \"$@\""));
    let said = "main() { python3 train.py \"$@\"; }; main \"$@\" | tee log";
    assert_eq!(command(said).unwrap(), said);
    assert!(command("log() { echo \"$*\"; }\nlog start\npython3 train.py").is_err());
}
