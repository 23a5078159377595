use super::{AlgorithmAt, Kept, check, read};
use crate::{
    dialect::{Given, translate_with},
    plan::{HouseRules, from_text_with},
    spec::{self, Problem},
};

const MLP: &str = "name: mnist-mlp
description: a small classifier
framework: tensorflow
code: https://example.org/me/mnist.git#main
env: { OMP_NUM_THREADS: \"1\", OPTIMIZER: \"{{ params.optimizer }}\" }
command: python3 train.py --epochs={{ params.epochs }}
inputs:
  data: { argument: --data_url, env: DATA_DIR, description: the digits }
  labels: { accepts: [place], required: false, unpack: true }
outputs:
  train: { argument: --train_url, required: false, layout: chief }
params:
  lr: { type: number, default: 0.1, min: 0.0001, max: 1, description: learning rate }
  epochs: { type: integer, min: 1 }
  optimizer: { type: text, default: adam, choices: [adam, sgd] }
  augment: { type: boolean, default: false, required: false }
  batch: { type: integer, default: 32, fixed: true, argument: --batch_size }
needs:
  accelerators: [none, A100, Ascend910]
  accelerators_max: 8
  tasks_max: 2
";

fn told(problems: Vec<Problem>) -> String {
    let line = |it: &Problem| {
        assert!(!it.words().zh.is_empty() && it.hint.is_some(), "{it}");
        format!("{it}\n")
    };
    problems.iter().map(line).collect()
}

/// The algorithm as it is kept, or what is wrong with it.
fn kept(text: &str) -> Kept {
    let document = read(text).unwrap_or_else(|problems| panic!("{}", told(problems)));
    Kept { at: AlgorithmAt { name: "mnist-mlp".parse().unwrap(), version: 2 }, document }
}

fn bad(text: &str) -> String {
    told(read(text).expect_err("a bad algorithm"))
}

/// The plan of a job that was made from it, or what is wrong with the job.
fn planned(algorithm: &str, job: &str) -> String {
    match from_text_with(job, (&HouseRules::default(), Some(&kept(algorithm))), |_| {}) {
        Ok((_, plan)) => plan.to_string(),
        Err(problems) => told(problems),
    }
}

#[test]
fn a_job_says_the_least_and_the_algorithm_all_else() {
    let job = "name: run1\nalgorithm: mnist-mlp@latest\ninputs: {data: data:mnist}\nparams: {epochs: 3}\n";
    insta::assert_snapshot!(planned(MLP, job), @r#"
    run1: 1 task in 1 role
      priority      0
      retries       0
      max duration  none
      stop grace    30s
      framework     tensorflow
      algorithm     mnist-mlp@2
      param         lr=0.1
      param         epochs=3
      param         optimizer=adam
      param         augment=false
      param         batch=32
      /code         https://example.org/me/mnist.git#main
      /input/data   data:mnist
      worker: 1 × (1 CPU, 1GiB, 64MiB shared memory)
        command     /bin/sh -c 'python3 train.py --epochs=3 "$@"' sh --lr=0.1 --augment=false --batch_size=32
        env         OMP_NUM_THREADS=1
        env         OPTIMIZER=adam
        completion  fails with 1 failed task
    "#);
}

#[test]
fn a_job_says_what_is_its_own_and_is_handed_over_as_the_algorithm_has_it() {
    let job = "name: run1
algorithm: mnist-mlp@2
inputs: {data: {from: data:mnist}, labels: data:labels.zip}
outputs: {train: results:run1}
params: {epochs: 3.0, lr: 1, augment: null, optimizer: sgd, batch: 32}
env: {OMP_NUM_THREADS: '4', RATE: '{{ params.lr }}'}
priority: 5
roles: {worker: {tasks: 2, cpus: 2, accelerators: {A100: 1}}}
";
    insta::assert_snapshot!(planned(MLP, job), @r#"
    run1: 2 tasks in 1 role
      priority      5
      retries       0
      max duration  none
      stop grace    30s
      framework     tensorflow
      algorithm     mnist-mlp@2
      param         lr=1
      param         epochs=3
      param         optimizer=sgd
      param         batch=32
      /code         https://example.org/me/mnist.git#main
      /input/data   data:mnist
      /input/labels data:labels.zip
      /output/train to results:run1
      worker: 2 × (2 CPU, 2GiB, 1 × A100, 64MiB shared memory)
        command     /bin/sh -c 'python3 train.py --epochs=3 "$@"' sh --lr=1 --batch_size=32
        ports       grpc × 1, so that peers find each other
        ports       torch × 1 of worker-0, so that peers find each other
        ports       jax × 1 of worker-0, so that peers find each other
        env         OMP_NUM_THREADS=4
        env         OPTIMIZER=sgd
        env         RATE=1
        completion  fails with 1 failed task
    "#);
}

#[test]
fn everything_a_job_has_wrong_is_told_at_once_at_its_place() {
    let job = "name: run1
algorithm: mnist-mlp@2
code: .
image: x
setup: ls
input: data:x
inputs:
  dat: data:mnist
  labels: labels@3
outputs: {train: {to: results:x, argument: --out}}
params:
  lr: 7
  optimizer: adamw
  augment: 1
  batch: 64
  momentum: 0.9
  epoch: null
roles:
  worker:
    tasks: 3
    command: python3 other.py
    accelerators: {H100: 9}
    cpus: -1
";
    insta::assert_snapshot!(planned(MLP, job), @"
    line 3, column 7: code: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 4, column 8: image: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 5, column 8: setup: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 6, column 8: input: has no name, and the channels of an algorithm have (write it under `inputs` with the channel's name)
    line 7, column 1: inputs.data: is missing, and the algorithm needs it: `the digits` (write where the data is, such as `inputs: {data: mnist@latest}`)
    line 8, column 3: inputs.dat: is no channel of the algorithm (did you mean `data`?)
    line 9, column 3: inputs.labels: `labels@3` is a dataset, and the algorithm takes only places here (write a place such as `data:mnist`)
    line 10, column 44: outputs.train.argument: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 11, column 1: params.epochs: has no value, and the algorithm needs one (write `epochs: …` under `params`)
    line 12, column 3: params.lr: is `7`, which is out of its range (write a number from 0.0001 to 1)
    line 13, column 3: params.optimizer: is `adamw`, which is not one of its choices (write one of adam, sgd)
    line 14, column 3: params.augment: must be true or false, not `1` (write true or false)
    line 15, column 3: params.batch: is fixed by the algorithm to `32` (remove `batch`; another value needs another version of the algorithm)
    line 16, column 3: params.momentum: is no parameter of the algorithm, which takes no others (its parameters are lr, epochs, optimizer, augment, batch)
    line 17, column 3: params.epoch: is left out, and the algorithm has no such parameter (did you mean `epochs`?)
    line 20, column 12: roles.worker.tasks: makes 3 tasks; the algorithm can run in at most 2 (ask for no more than 2)
    line 21, column 14: roles.worker.command: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 22, column 20: roles.worker.accelerators.H100: `H100` is no type that the algorithm can use (it can use A100, Ascend910; write the type, such as `accelerators: {A100: 1}`)
    line 22, column 20: roles.worker.accelerators.H100: is 9; the algorithm can use at most 8 in one task (write a number up to 8)
    line 23, column 11: roles.worker.cpus: is -1; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)
    ");
}

#[test]
fn what_has_no_value_and_must_have_one_is_told_once() {
    let job = "name: run1\nalgorithm: mnist-mlp@2\nparams: {lr: null, batch: null, optimizer: 5}\nroles: {a: {tasks: 2, accelerators: 2}, b: {accelerators: {A100: 5, Ascend910: 4}}}\n";
    insta::assert_snapshot!(planned(MLP, job), @"
    line 1, column 1: inputs.data: is missing, and the algorithm needs it: `the digits` (write where the data is, such as `inputs: {data: mnist@latest}`)
    line 3, column 1: params.epochs: has no value, and the algorithm needs one (write `epochs: …` under `params`)
    line 3, column 10: params.lr: is left out with `null`, and the algorithm needs it (write a value, or remove the key for the algorithm's own, `0.1`)
    line 3, column 20: params.batch: is fixed by the algorithm to `32` (remove `batch`; another value needs another version of the algorithm)
    line 3, column 33: params.optimizer: is `5`, which is not one of its choices (write one of adam, sgd)
    line 4, column 1: roles: makes 3 tasks; the algorithm can run in at most 2 (ask for no more than 2)
    line 4, column 37: roles.a.accelerators: asks for accelerators of any type, and the algorithm cannot use every type (it can use A100, Ascend910; write the type, such as `accelerators: {A100: 1}`)
    line 4, column 45: roles.b.accelerators: is 9; the algorithm can use at most 8 in one task (write a number up to 8)
    ");
}

#[test]
fn an_algorithm_may_take_parameters_and_secrets_of_the_job() {
    let algorithm =
        "name: a\nimage: x\ncommand: [python3, train.py, '{{ secrets.key }}']\ncustom_params: true\nneeds: {accelerators: [A100]}\n";
    let job = "name: j\nalgorithm: a@1\nsecrets: {key: {named: wandb}}\nparams: {sly: '{{ secrets.key }}', n: 1}\nroles: {worker: {accelerators: {A100: 1}}}\n";
    insta::assert_snapshot!(planned(algorithm, job), @r"
    j: 1 task in 1 role
      priority      0
      retries       0
      max duration  none
      stop grace    30s
      algorithm     mnist-mlp@2
      param         sly={{ secrets.key }}
      param         n=1
      secret        key, kept as wandb
      worker: 1 × (1 CPU, 1GiB, 1 × A100, 64MiB shared memory)
        command     python3 train.py '{{ secrets.key }}' '--sly=\{{ secrets.key }}' --n=1
        image       x
        completion  fails with 1 failed task
    ");
    insta::assert_snapshot!(planned(algorithm, "name: j\nalgorithm: a@1\nparams: {n: null}\n"), @"
    line 1, column 1: roles: asks for none, and the algorithm needs accelerators (it can use A100; write the type, such as `accelerators: {A100: 1}`)
    line 1, column 1: secrets.key: is missing, and the algorithm needs it (write `secrets: {key: {named: key}}` with one that you keep)
    line 3, column 10: params.n: is left out, and the algorithm has no such parameter (remove it: the algorithm has no parameters)
    ");
}

#[test]
fn a_job_whose_algorithm_nobody_knows_is_told_all_that_is_wrong_anyhow() {
    let job = "name: j\nalgorithm: a@1\ncode: .\nparams: {x: null, y: 5}\ninputs: {d: data:x}\nenv: {A: '{{ params.z }}', B: '{{ secrets.z }}'}\nroles: {w: {cpus: -1}}\n";
    let refused = |job: &str| told(from_text_with(job, (&HouseRules::default(), None), |_| {}).unwrap_err());
    insta::assert_snapshot!(refused(job), @r"
    line 3, column 7: code: is the algorithm's to say, so a job with `algorithm` has none (remove it, or add a version of the algorithm that says it)
    line 6, column 28: env.B: says `{{ secrets.z }}`, and there is no such name under `secrets` (add `z` under `secrets`, or write `\{{` for the letters themselves)
    line 7, column 19: roles.w.cpus: is -1; a task has 0.001 to 100000 CPUs (write a number such as 2 or 0.5)
    ");
    insta::assert_snapshot!(refused("name: j\nalgorithm: a\n"), @"line 2, column 12: algorithm: `a` says no version (write an algorithm and version such as `mnist-mlp@latest`)");
}

#[test]
fn only_a_job_with_an_algorithm_may_leave_out_what_the_algorithm_says() {
    let refused = |job: &str| told(from_text_with(job, (&HouseRules::default(), None), |_| {}).unwrap_err());
    insta::assert_snapshot!(refused("name: j\n"), @"line 1, column 1: roles: is missing (write `worker:` and under it at least `command: …`)");
    insta::assert_snapshot!(refused("name: j\nparams: {a: null}\nroles: {w: {}}\n"), @"
    line 2, column 13: params.a: must be a number, true or false, or text, not nothing (write one value, in quotes if it is more than a word)
    line 3, column 9: roles.w.command: is missing (write a line such as `command: python3 train.py`, or a list of words)
    ");
}

#[test]
fn the_version_that_was_taken_stands_in_the_spec_and_the_rest_is_as_it_was_written() {
    let job = "name: run1\nalgorithm: mnist-mlp@latest\ninputs: {data: data:mnist}\nparams: {epochs: 3, augment: null}\n";
    let translated = translate_with(job, &Given::default(), (&HouseRules::default(), Some(&kept(MLP)))).unwrap();
    let spec = serde_json::to_string(&translated.spec).unwrap();
    assert_eq!(spec, r#"{"name":"run1","algorithm":"mnist-mlp@2","params":{"epochs":3,"augment":null},"inputs":{"data":"data:mnist"}}"#);
    assert_eq!(spec::read(&spec), Ok(translated.spec.clone()));
    assert_eq!(spec::read(&spec::to_yaml(&translated.spec)), Ok(translated.spec.clone()));
}

#[test]
fn everything_an_algorithm_has_wrong_is_told_at_once_at_its_place() {
    let text = "name: my algorithm
code: {git: 'https://example.org/me/mnist.git', password: hunter2}
secrets: {git: x}
framework: pytorchh
command: python3 train.py {{ params.gone }} {{ params.maybe }}
inputs:
  data: {accepts: [datasets], argument: data}
  bare:
  none: {accepts: []}
params:
  a: {type: float}
  b: {default: 1}
  c: {type: integer, default: 1.5, min: 3, max: 2}
  d: {type: text, default: x, choices: [y, 5], min: 1}
  e: {type: boolean, fixed: true, argument: '--a=b'}
  f: {type: number, default: 1, argument: none}
  maybe: {type: text, required: false}
  g h: {type: text}
needs: {accelerators: [], tasks_max: 0, gpus: 1}
";
    insta::assert_snapshot!(bad(text), @r#"
    line 1, column 7: name: `my algorithm` has a space; use letters, digits, `-`, `.`, `_` and `~` (write a name such as mnist-mlp)
    line 2, column 59: code.password: is written out, and whoever reads the job would read it (write `password: "{{ secrets.git }}"`; a job then gives its own as `git` under `secrets`)
    line 3, column 1: secrets: unknown key `secrets` (it belongs in the job file that names the algorithm)
    line 4, column 12: framework: `pytorchh` is not a framework we know (write one of tensorflow, keras, pytorch, jax, python, with or without a version: pytorch@2.9)
    line 5, column 10: command: says `{{ params.gone }}`, and there is no such name under `params` (add `gone` under `params`, or write `\{{` for the letters themselves)
    line 7, column 20: inputs.data.accepts[0]: `datasets` is neither `dataset` nor `place` (write `[dataset, place]`, or one of them)
    line 7, column 41: inputs.data.argument: `data` is not a flag (write a flag such as `--data_url`)
    line 9, column 19: inputs.none.accepts: is empty, so a job could give it nothing (write `[dataset, place]`, or one of them)
    line 11, column 13: params.a.type: `float` is not a type of parameters (write one of text, integer, number, boolean)
    line 12, column 3: params.b.type: is missing (write one of text, integer, number, boolean)
    line 13, column 31: params.c.default: must be a whole number, not `1.5` (write a number such as 10)
    line 13, column 41: params.c.min: is 3, which is more than `max`, 2 (swap the two)
    line 14, column 28: params.d.default: is `x`, which is not one of its choices (write one of y, 5)
    line 14, column 53: params.d.min: is for numbers, and the type is text (remove it, or write `choices`)
    line 15, column 3: params.e.default: is missing, and `fixed` needs it (write the value that it always has)
    line 15, column 45: params.e.argument: `--a=b` is not a flag (write a flag such as `--batch_size`, or `none`)
    line 16, column 43: params.f.argument: is `none`, and no `{{ params.f }}` puts it in, so the program would never have it (write a flag such as `--f`, or name it in the command)
    line 17, column 33: params.maybe.required: is false, and `{{ params.maybe }}` would have nothing to put in (write `required: true`, or let a flag hand it over)
    line 18, column 3: params."g h": `g h` is not a name for a parameter (use letters, digits, `_`, `.` and `-`, and begin with a letter or `_`)
    line 19, column 23: needs.accelerators: is empty, so it could run on nothing (write types such as `[none, A100]`, or remove it)
    line 19, column 38: needs.tasks_max: is 0 (write 1 or more; `accelerators: [none]` says that it uses CPUs alone)
    line 19, column 41: needs.gpus: unknown key `gpus` (did you mean `accelerators`?)
    "#);
    let endless = bad("{name: a, image: x, command: x, params: {a: {type: number, min: .nan, max: .inf}}}");
    assert_eq!(endless.matches("is no number that anything could be held against").count(), 2, "{endless}");
    insta::assert_snapshot!(bad("name: a\n"), @"
    line 1, column 1: command: is missing (write a line such as `command: python3 train.py`, or a list of words)
    line 1, column 1: code: is missing, and there is no `image` that could have the program (write a repository, a volume's place, or `code: .` for the folder of the file)
    ");
    insta::assert_snapshot!(bad("name: a\nimage: x\nparams: {lr: {type: number, default: 1}}\ncommand: |\n  a\n  b\n"), @r#"line 5, column 3: command: has several lines, so it cannot be told which command takes the parameters and channels (write `"$@"` behind the command that takes them, such as `python3 train.py "$@"`)"#);
    insta::assert_snapshot!(bad(""), @"line 1, column 1: the file is empty (an algorithm needs at least `name`, `code` and `command`)");
}

#[test]
fn an_algorithm_is_the_same_after_a_way_through_json() {
    let document = kept(MLP).document;
    let json = serde_json::to_string(&document).unwrap();
    assert_eq!(read(&json), Ok(document.clone()), "{json}");
    assert_eq!(serde_json::from_str::<super::Algorithm>(&json).unwrap(), document);
    assert!(check(&document).is_ok());
}

/// What a command of an algorithm with `lr` by flag prints for it, as a shell runs it, or why it is refused.
fn printed(command: &str, rest: &str, job: &str) -> String {
    let text = format!("name: a\nimage: x\n{rest}command: {command}\n");
    let document = match read(&text) {
        Ok(document) => document,
        Err(problems) => return told(problems),
    };
    let kept = Kept { at: AlgorithmAt { name: "a".parse().unwrap(), version: 1 }, document };
    let (_, plan) = from_text_with(&format!("name: j\nalgorithm: a@1\n{job}"), (&HouseRules::default(), Some(&kept)), |_| {}).unwrap();
    let command: Vec<String> = plan.roles[0].command.iter().map(|word| crate::template::with_secrets(word, |_| None)).collect();
    let out = std::process::Command::new(&command[0]).args(&command[1..]).output().unwrap();
    String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr)
}

#[test]
fn a_command_that_would_lose_its_flags_is_refused() {
    let lr = "params: {lr: {type: number, default: 0.1}}\n";
    let others = ["custom_params: true\n", "inputs: {data: {argument: --data_url}}\n"];
    let lost = [
        "'echo x # mine'",
        "'echo x; echo done'",
        "'echo x || exit 3'",
        "'echo x | cat'",
        "'echo x &'",
        "'(echo x)'",
        "'echo x \\'",
        "bash -c 'echo x'",
        "true && A=1 exec /bin/sh -ec \"echo x\"",
        "bash -o pipefail -c 'echo \"$@\"'",
        "timeout 1h bash -c 'echo x'",
        "A=1 nice -n 5 env B=2 nohup /bin/bash -c 'echo x'",
        "'bash -c ''echo \"$@\"'' 2>&1 > /dev/null'",
        "mpirun -np 2 sh -c 'echo \"$@\"'",
        "cd /&&bash -c 'echo x'",
        "'(cd / && echo x) 2>&1'",
        "'true && (cd / && echo x) > /dev/null'",
        "'log() { echo \"$*\"; }; log x; echo x'",
    ];
    for command in lost.into_iter().chain([
        "if (true) then (echo x) fi",
        "if (true) then (echo x) fi 2>&1",
        "[bash, -c, 'echo x']",
        "[timeout, 1h, bash, -c, 'echo x']",
        "[/bin/sh, -c, 'echo x \"$@\"']",
        "|\n  a\n  b",
    ]) {
        for rest in [lr].into_iter().chain(others) {
            let said = printed(command, rest, "");
            assert!(said.contains(": command: ") && said.contains("\"$@\"") && said.lines().count() == 1, "{command}\n{rest}{said}");
        }
        assert!(read(&format!("name: a\nimage: x\ncommand: {command}\n")).is_ok(), "{command}");
    }
    insta::assert_snapshot!(printed("echo x | cat", lr, ""), @r#"line 4, column 10: command: has `|`, and flags that are put behind the line would not get to the program (write `"$@"` where the flags belong, such as `python3 train.py "$@" | tee log`)"#);
    insta::assert_snapshot!(printed("[bash, -c, echo x]", lr, ""), @r#"line 4, column 10: command: is a shell and its line, and flags that are put behind them would not get to the program (write the line alone, or `"$@"` in it where the flags belong and a word behind it: `[bash, -c, 'python3 train.py "$@"', bash]`)"#);
}

#[test]
fn a_command_gets_its_flags_once_where_it_says_so() {
    let lr = "params: {lr: {type: number, default: 0.1}}\n";
    for command in [
        "echo",
        "true && echo",
        "'echo \"$@\" | cat'",
        "'echo \"$@\"; true # done'",
        "|\n  true\n  echo \"$@\"\n",
        "[echo]",
        "[bash, -e, -c, 'echo \"$@\"', bash]",
        "'bash -c ''echo \"$@\"'' bash'",
        "\"bash -c 'true' && echo\"",
        "\"bash -c 'true'&&echo\"",
        "'timeout 9 bash -c ''echo \"$@\"'' bash'",
        "[timeout, 9, bash, -c, 'echo \"$@\"', bash]",
        "'(cd / && true) && echo'",
    ] {
        assert_eq!(printed(command, lr, ""), "--lr=0.1\n", "{command}");
    }
    assert_eq!(printed("bash -c 'echo a && true' x&&echo done", lr, ""), "a\ndone --lr=0.1\n");
    for command in
        ["[bash, train.sh, -c, config.yaml]", "[timeout, 1h, bash, train.sh, -c, config.yaml]", "timeout 1h bash train.sh -c config.yaml"]
    {
        assert!(read(&format!("{{name: a, image: x, custom_params: true, command: {command}}}")).is_ok(), "{command}");
    }
}

#[test]
fn a_value_stays_one_word_in_a_line_of_the_algorithm() {
    let rest = "params: {x: {type: text}}\n";
    for line in [
        "printf %s {{ params.x }}",
        "printf %s \"{{ params.x }}\"",
        "printf %s '{{params.x}}'",
        "y=`printf %s {{ params.x }}`; printf %s \"$y\"",
    ] {
        for value in ["my run; echo PWNED", "it's", "$(id)`id`\"", "a\\", "{{ secrets.key }}", "*"] {
            let job = format!("params: {{x: {}}}\n", serde_json::to_string(value).unwrap());
            for command in [serde_json::to_string(line).unwrap(), format!("[bash, -c, {}]", serde_json::to_string(line).unwrap())] {
                assert_eq!(printed(&command, rest, &job), value, "{command}");
            }
        }
    }
    let sum = printed("'echo $(( {{ params.x }} ))'", rest, "params: {x: '1 )); echo PWNED; : $(( 1'}\n");
    assert!(!sum.lines().any(|it| it == "PWNED"), "{sum}");
    let document = printed("|\n  cat <<'END'\n  {{ params.x }}\n  END\n", rest, "params: {x: \"a\\nEND\\necho PWNED\"}\n");
    assert_eq!(document, "a END echo PWNED\n");
    let setup = "name: a\nimage: x\ncommand: a\nsetup: get {{ params.x }}\nparams: {x: {type: text}}\n";
    let plan = planned(setup, "name: j\nalgorithm: a@1\nparams: {x: a b}\n");
    assert!(plan.contains("get 'a b'"), "{plan}");
    let alone = crate::plan::from_text("name: j\nparams: {x: a b}\nroles: {w: {command: 'echo {{ params.x }}'}}\n", &HouseRules::default());
    assert_eq!(alone.unwrap().1.roles[0].command[2], "echo a b");
}

#[test]
fn a_number_is_the_same_with_a_point_and_without() {
    let rest = "params: {a: {type: number, choices: [0.5, 1.0, 2]}, b: {type: number, default: 1.0, fixed: true}}\n";
    assert_eq!(printed("echo", rest, "params: {a: 1, b: 1}\n"), "--a=1.0 --b=1.0\n");
    assert_eq!(printed("echo", rest, "params: {a: 2.0}\n"), "--a=2 --b=1.0\n");
}

#[test]
fn a_value_is_of_the_kind_that_the_algorithm_says_however_it_is_written() {
    let kinds = "params: {a: {type: text}, b: {type: integer}, c: {type: number}, d: {type: boolean}}\n";
    assert_eq!(printed("echo", kinds, "params: {a: '1.10', b: '7', c: '1e-4', d: 'True'}\n"), "--a=1.10 --b=7 --c=0.0001 --d=true\n");
    assert_eq!(printed("echo", kinds, "params: {a: 007, b: 007, c: 007, d: true}\n"), "--a=007 --b=7 --c=7 --d=true\n");
    let told = planned(
        &format!("name: a\nimage: x\ncommand: echo\n{kinds}"),
        "name: j\nalgorithm: a@1\nparams: {a: 1.10, b: '1.5', c: much, d: '1'}\n",
    );
    insta::assert_snapshot!(told, @r"
    line 3, column 19: params.b: must be a whole number, not `1.5` (write a number such as 10)
    line 3, column 29: params.c: must be a number, not `much` (write a number such as 0.1)
    line 3, column 38: params.d: must be true or false, not `1` (write true or false)
    ");
}

#[test]
fn text_has_the_letters_that_were_written_with_and_without_quotes() {
    let letters =
        ["1.10", "0.1", "1.0", "0x1F", "0o17", "+5", "-0", "007", "7", "True", "true", "1e-5", "1e21", ".5", "99999999999999999999"];
    for text in letters {
        let given = format!("params: {{a: {text}}}\n");
        let expected = format!("--a={text}\n");
        assert_eq!(printed("echo", "params: {a: {type: text}}\n", &given), expected);
        assert_eq!(printed("echo", &format!("params: {{a: {{type: text, default: {text}}}}}\n"), ""), expected);
        assert_eq!(printed("echo", &format!("params: {{a: {{type: text, choices: [x, {text}]}}}}\n"), &given), expected);
        assert_eq!(printed("echo", "custom_params: true\n", &given), expected);
        // As the program sends it where the file had to be changed, and as the server keeps it.
        let spec = spec::read(&format!("name: j\nalgorithm: a@1\n{given}")).unwrap();
        let sent = serde_json::to_string(&spec.params).unwrap();
        assert_eq!(printed("echo", "params: {a: {type: text}}\n", &format!("params: {sent}\n")), expected, "{sent}");
        assert_eq!(spec::read(&spec::to_yaml(&spec)), Ok(spec));
    }
}

#[test]
fn the_spec_that_is_kept_has_numbers_where_the_algorithm_has_them() {
    let algorithm = kept(
        "{name: a, image: x, command: a, custom_params: true, params: {lr: {type: number}, n: {type: integer, required: false}, on: {type: boolean}, tag: {type: text}}}",
    );
    let job = "name: j\nalgorithm: a@1\nparams: {lr: 1e-4, n: null, on: True, tag: 1.10, own: 1.10}\n";
    let translated = translate_with(job, &Given::default(), (&HouseRules::default(), Some(&algorithm))).unwrap();
    let params = serde_json::to_string(&translated.spec.params).unwrap();
    assert_eq!(params, r#"{"lr":0.0001,"n":null,"on":true,"tag":"1.10","own":"1.10"}"#);
}

#[test]
fn a_flag_is_for_one_thing_alone() {
    let text = "name: a
image: x
command: a
custom_params: true
inputs: {data: {argument: --data}}
params:
  lr: {type: number, default: 1}
  rate: {type: number, default: 1, argument: --lr}
  data: {type: text, default: x}
";
    insta::assert_snapshot!(bad(text), @"
    line 8, column 46: params.rate.argument: is `--lr`, which is the flag of `params.lr` too (write another flag for one of the two)
    line 9, column 3: params.data.argument: is `--data`, which is the flag of `inputs.data` too (write another flag for one of the two)
    ");
    let text = "{name: a, image: x, command: a, custom_params: true, inputs: {d: {argument: --data}}, params: {b: {type: integer, default: 1, argument: --batch}}}";
    insta::assert_snapshot!(planned(text, "name: j\nalgorithm: a@1\ninputs: {d: /d}\nparams: {batch: 3, data: x, b2: 5}\n"), @"
    line 4, column 10: params.batch: would be handed over as `--batch`, which is the flag of `params.b` (give it another name, or write `params.b` instead)
    line 4, column 20: params.data: would be handed over as `--data`, which is the flag of `inputs.d` (give it another name, or write `inputs.d` instead)
    ");
}
