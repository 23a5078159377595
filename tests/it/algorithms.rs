//! Algorithms by the command line and the API, and jobs that are made from them.

use std::{fs, path::Path, process::Output};

use serde_json::{Value, json};
use trainmaster::{
    client::{Call, Client, ClientError},
    store::tokens,
};

use crate::{
    house::{House, text},
    stores::block_on,
};

const MLP: &str = "name: mlp
description: a small one
image: none-is-run
env: {GREETING: 'hello {{ params.who }}'}
command: 'echo $GREETING $(cat $DATA_DIR/a) && echo'
inputs:
  data: {argument: --data_url, env: DATA_DIR, unpack: false}
outputs:
  train: {argument: --train_url, required: false}
params:
  who: {type: text, default: world, choices: [world, moon]}
  lr: {type: number, default: 0.1, min: 0.0001, max: 1}
  epochs: {type: integer}
  augment: {type: boolean, default: false, required: false}
  batch: {type: integer, default: 32, fixed: true, argument: --batch_size}
needs: {accelerators: [none, A100], accelerators_max: 2, tasks_max: 1}
";

fn done(out: &Output) -> String {
    assert!(out.status.success(), "{}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

fn refused(out: &Output) -> String {
    assert_eq!(out.status.code(), Some(2), "{}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stderr)
}

fn add(house: &House, algorithm: &str) -> Value {
    serde_json::from_slice(&house.call(Call::post("/api/v1/algorithms", algorithm.to_owned())).unwrap()).unwrap()
}

/// A volume with the digits, and one for results.
fn with_volumes(house: &House) {
    for (name, file) in [("data", "mnist/v1/a"), ("results", "here")] {
        let root = house.place().join(name);
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "digits\n").unwrap();
        let volume = json!({ "name": name, "volume": { "kind": "local", "path": root } });
        house.call(Call::post("/api/v1/volumes", volume.to_string())).unwrap();
    }
}

fn printed(house: &House, job: &str) -> String {
    let over = house.wait_until_over(job);
    let log = house.log(job, "worker-0");
    assert_eq!(over["state"], "succeeded", "{over:#}\n{log}");
    log
}

#[test]
fn a_job_runs_an_algorithm_on_a_dataset_and_is_the_same_again_after_a_newer_version() {
    let house = House::new();
    with_volumes(&house);
    house.call(Call::post("/api/v1/datasets", json!({ "name": "mnist", "at": "data:mnist/v1" }).to_string())).unwrap();
    assert_eq!(add(&house, MLP)["version"], 1);
    let file = "name: run1\nalgorithm: mlp@latest # the best\ninputs: {data: mnist@latest}\noutputs: {train: results:run1}\nparams: {epochs: 3, lr: 0.01, augment: null, who: moon}\nroles: {worker: {cpus: 0.5}}\n";
    let first = house.submit(file);
    let said = "hello moon digits\n--lr=0.01 --epochs=3 --batch_size=32 --data_url=/input/data --train_url=/output/train\n";
    assert_eq!(printed(&house, &first), said);
    let spec = &house.show(&first)["spec"];
    assert_eq!((&spec["algorithm"], &spec["inputs"]["data"]), (&json!("mlp@1"), &json!("mnist@1")));
    assert_eq!(spec["params"], json!({ "epochs": 3, "lr": 0.01, "augment": null, "who": "moon" }));
    let original = house.get_json(&format!("/api/v1/jobs/{first}/original"));
    assert_eq!(original["text"], file);
    let plan = house.get_json(&format!("/api/v1/jobs/{first}/plan"));
    assert_eq!((&plan["algorithm"], &plan["params"]["batch"]), (&json!("mlp@1"), &json!(32)));

    add(&house, &MLP.replace("echo $GREETING", "echo new $GREETING"));
    done(&house.cli(&["rerun", "run1", "--follow"]));
    assert_eq!(house.log("run1@2", "worker-0"), said, "what is submitted again is the same again");
    done(&house.cli(&["rerun", "run1", "--set", "algorithm=mlp@latest", "--follow"]));
    assert!(house.log("run1@3", "worker-0").starts_with("new hello moon"));
    let diff = done(&house.cli(&["diff", "run1@1", "run1@3"]));
    assert!(diff.contains("mlp@1") && diff.contains("mlp@2"), "{diff}");
    let shown = done(&house.cli(&["show", "run1@3"]));
    assert!(shown.contains("algorithm    mlp@2"), "{shown}");
    let jobs = house.get_json("/api/v1/algorithms/mlp/versions/1")["jobs"].clone();
    let versions: Vec<u64> = jobs.as_array().unwrap().iter().map(|it| it["version"].as_u64().unwrap()).collect();
    assert_eq!(versions, [2, 1]);
    for told in [&["show", "run1@1", "--provenance"][..], &["lineage", "run1@1"]] {
        assert!(done(&house.cli(told)).contains("mlp@1"), "{told:?}");
    }
}

#[test]
fn a_forgotten_version_does_not_come_back_and_a_job_that_was_made_from_it_goes_on() {
    let house = House::new();
    with_volumes(&house);
    add(&house, MLP);
    let slow = MLP.replace("&& echo'", "&& while [ ! -e $DATA_DIR/go ]; do sleep 0.1; done; echo \"$@\"'");
    assert_eq!(add(&house, &slow)["version"], 2);
    let live = house.submit("{name: live, algorithm: mlp@2, inputs: {data: data:mnist/v1}, params: {epochs: 1}}");
    house.wait_for_output(&live, "worker-0", "hello world");
    assert_eq!(done(&house.cli(&["algorithms", "remove", "mlp@latest"])), "mlp@2 is forgotten; jobs that were made from it go on\n");
    let said = refused(&house.cli(&["rerun", "live"]));
    assert!(said.contains("the algorithm `mlp` has no version 2") && said.contains("the newest is `mlp@1`"), "{said}");
    assert_eq!(add(&house, &slow)["version"], 3, "its number is never used again");
    done(&house.cli(&["algorithms", "remove", "mlp"]));
    assert_eq!(house.get_json("/api/v1/algorithms"), json!([]));
    fs::write(house.place().join("data/mnist/v1/go"), "").unwrap();
    assert!(printed(&house, &live).ends_with("--data_url=/input/data\n"));
    assert_eq!(add(&house, MLP)["version"], 4, "nor those of all of it");
}

/// What of a job is wrong, and words of its refusal.
const REFUSALS: &[(&str, &[&str])] = &[
    ("inputs: {data: data:x, dta: data:x}", &["inputs.dta", "is no channel of the algorithm", "did you mean `data`?"]),
    ("params: {epochs: 1}", &["inputs.data", "is missing, and the algorithm needs it"]),
    ("inputs: {data: data:x}", &["params.epochs", "has no value, and the algorithm needs one"]),
    ("params: {epoch: 1}", &["params.epoch", "is no parameter of the algorithm", "did you mean `epochs`?"]),
    ("params: {epochs: many}", &["params.epochs", "must be a whole number, not `many`"]),
    ("params: {lr: 7}", &["params.lr", "out of its range", "from 0.0001 to 1"]),
    ("params: {who: sun}", &["params.who", "not one of its choices", "world, moon"]),
    ("params: {batch: 64}", &["params.batch", "is fixed by the algorithm to `32`"]),
    ("params: {epochs: null}", &["params.epochs", "is left out with `null`, and the algorithm needs it"]),
    ("roles: {worker: {tasks: 2}}", &["roles.worker.tasks", "the algorithm is not distributed"]),
    ("roles: {worker: {accelerators: {H100: 1}}}", &["roles.worker.accelerators.H100", "is no type that the algorithm can use"]),
    ("roles: {worker: {accelerators: {A100: 3}}}", &["roles.worker.accelerators.A100", "at most 2 in one task"]),
    ("roles: {worker: {command: x}}", &["roles.worker.command", "is the algorithm's to say"]),
    ("setup: x", &["setup", "is the algorithm's to say"]),
];

#[test]
fn a_job_that_does_not_fit_its_algorithm_is_refused_and_told_why() {
    let house = House::new();
    add(&house, MLP);
    add(&house, &MLP.replace("name: mlp", "name: picky").replace("unpack: false", "accepts: [dataset]"));
    let said = |job: String| match house.call(Call::post("/api/v1/jobs?dry_run=true", job.clone())) {
        Err(ClientError::Refused(status, body)) if status == 422 && body.code == "bad_spec" => {
            let line = |it: &model::wire::ProblemView| {
                assert!(it.hint.is_some() && it.message_zh != it.message && it.line > 0, "{it:?}");
                format!("{}: {} ({})\n", it.path, it.message, it.hint.clone().unwrap_or_default())
            };
            body.problems.iter().map(line).collect::<String>()
        }
        other => panic!("{job}: {other:?}"),
    };
    for (part, words) in REFUSALS {
        let said = said(format!("name: a\nalgorithm: mlp@1\n{part}\n"));
        assert!(words.iter().all(|it| said.contains(it)), "{part} should say {words:?}: {said}");
    }
    let place = said("name: a\nalgorithm: picky@1\ninputs: {data: data:x}\nparams: {epochs: 1}\n".into());
    assert!(place.starts_with("inputs.data: `data:x` is a place, and the algorithm takes only datasets here"), "{place}");
    let gone = said("name: a\nalgorithm: mlp@2\ncode: .\n".into());
    assert!(gone.contains("the algorithm `mlp` has no version 2") && gone.contains("code: is the algorithm's to say"), "{gone}");
    let other = said("name: a\nalgorithm: mpl@1\n".into());
    assert_eq!(other, "algorithm: there is no algorithm `mpl` (did you mean `mlp`?)\n");
    assert_eq!(house.get_json("/api/v1/jobs")["jobs"], json!([]));
}

#[test]
fn the_example_is_added_with_its_folder_and_runs_as_it_is() {
    let house = House::new();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/algorithm");
    let (algorithm, job) = (example.join("algorithm.yaml"), example.join("job.yaml"));
    let (algorithm, job) = (algorithm.to_str().unwrap(), job.to_str().unwrap());
    assert_eq!(done(&house.cli(&["algorithms", "add", algorithm, "--dry-run"])), "line-fit@1 is what it would be\n");
    assert_eq!(house.get_json("/api/v1/algorithms"), json!([]), "nothing stays of a dry run");
    assert_eq!(done(&house.cli(&["algorithms", "add", algorithm])), "line-fit@1\n");
    assert_eq!(done(&house.cli(&["algorithms", "add", algorithm])), "line-fit@1\n", "the same again is no new version");
    assert_eq!(done(&house.cli(&["algorithms", "add", algorithm, "--dry-run"])), "line-fit@1 is what it would be\n", "nor would it be one");
    let version = house.get_json("/api/v1/algorithms/line-fit/versions/latest");
    assert_eq!(version["text"], fs::read_to_string(algorithm).unwrap());
    assert!(version["document"]["code"]["upload"].is_string(), "{version:#}");
    let followed = done(&house.cli(&["submit", job, "--follow"]));
    assert!(followed.contains("y = 2.00 x + 1.00 from 17 points"), "{followed}");
    let params = house.show("line@1")["params"].clone();
    assert_eq!(params, json!({ "lr": 0.05, "steps": 400, "loss": "squares", "seed": 7 }));
    let planned = done(&house.cli(&["submit", job, "--dry-run", "-p", "loss=distances", "-p", "lr=0.01"]));
    assert!(planned.contains("line-fit@1") && planned.contains("--loss=distances") && planned.contains("--lr=0.01"), "{planned}");
    let grid = done(&house.cli(&["submit", job, "--grid", "lr=0.01,0.02", "--set", "params.steps=100"]));
    assert!(grid.contains("line@2") && grid.contains("line@3"), "{grid}");
    assert!(printed(&house, "line@3").contains("step: 100 loss:"));
    let said = refused(&house.cli(&["submit", job, "-p", "lr=7"]));
    assert!(said.contains("params.lr") && said.contains("out of its range"), "{said}");
    let shown = done(&house.cli(&["algorithms", "show", "line-fit@1"]));
    assert!(shown.contains("line@1") && shown.contains("params   lr=0.05 steps=500 loss=squares seed=7"), "{shown}");
    assert!(done(&house.cli(&["algorithms", "list"])).contains("line-fit@1"));
    assert!(done(&house.cli(&["schema", "--algorithm"])).contains("Trainmaster algorithm"));
}

#[test]
fn lists_tell_of_a_version_what_it_is_and_not_all_that_it_says() {
    let house = House::new();
    add(&house, &MLP.replace("none-is-run", &"x".repeat(60_000)));
    let listed = house.get_json("/api/v1/algorithms")[0]["latest"].clone();
    let shown = house.get_json("/api/v1/algorithms/mlp");
    assert_eq!(shown["all"], json!([listed]));
    assert_eq!(shown["latest"], listed);
    assert_eq!((&listed["version"], &listed["description"]), (&json!(1), &json!("a small one")));
    assert!(listed.to_string().len() < 1_000, "{listed:#}");
    let version = house.get_json("/api/v1/algorithms/mlp/versions/1");
    assert!(version["text"].as_str().unwrap().len() > 60_000 && version["document"]["params"]["lr"].is_object());
}

#[test]
fn whoever_adds_code_that_moves_is_told_so() {
    let house = House::new();
    let added = |code: &str, more: &[&str]| {
        fs::write(house.place().join("a.yaml"), format!("{{name: a, code: {code}, command: x}}")).unwrap();
        let out = house.cli(&[&["algorithms", "add", "a.yaml"], more].concat());
        (done(&out), text(&out.stderr))
    };
    for more in [&["--dry-run"][..], &[]] {
        let (_, told) = added("'https://example.org/a.git#main'", more);
        assert!(told.starts_with("note: the code is what `main` of its repository is when a job starts"), "{told}");
    }
    let (_, told) = added(&format!("'https://example.org/a.git#{}'", "1f".repeat(20)), &["--dry-run"]);
    assert_eq!(told, "");
}

#[test]
fn what_an_administrator_adds_is_for_everyone_and_what_others_add_is_their_own() {
    let mut house = House::new();
    house.kill();
    for user in ["ann", "bob"] {
        let store = trainmaster::store::Store::open(&house.data()).unwrap();
        let hash = trainmaster::api::token_hash(user);
        let add = move |sql: &trainmaster::store::Sql<'_>| tokens::add(sql, &hash, user, tokens::Role::User, "test", 1, None);
        block_on(store.write(add)).unwrap();
    }
    house.start();
    let ask = |user: &str, call: Call<'_>| {
        let client = Client::new(&house.url(), user).unwrap();
        block_on(client.call(call)).map(|bytes| text(&bytes)).map_err(|error| error.to_string())
    };
    let simple = |name: &str| format!("{{name: {name}, image: x, command: 'true'}}");
    add(&house, &simple("shared"));
    ask("ann", Call::post("/api/v1/algorithms", simple("hers"))).unwrap();
    let listed = ask("bob", Call::get("/api/v1/algorithms")).unwrap();
    assert!(listed.contains("shared") && !listed.contains("hers"), "{listed}");
    assert_eq!(ask("bob", Call::get("/api/v1/algorithms/hers")).unwrap_err(), "there is no algorithm `hers`");
    for name in ["hers", "shared"] {
        let said = ask("bob", Call::post("/api/v1/algorithms", simple(name).replace("true", "false"))).unwrap_err();
        assert_eq!(said, format!("the algorithm `{name}` is somebody else's"));
        assert!(ask("bob", Call::delete(&format!("/api/v1/algorithms/{name}/versions/1"))).is_err());
    }
    ask("bob", Call::post("/api/v1/jobs", "{name: his, algorithm: shared@latest}")).unwrap();
    assert!(ask("bob", Call::post("/api/v1/jobs", "{name: his, algorithm: hers@latest}")).is_err());
    let told = ask("ann", Call::get("/api/v1/algorithms/shared/versions/1")).unwrap();
    assert!(told.contains(r#""jobs":[]"#), "others' jobs are not told: {told}");
    ask("ann", Call::delete("/api/v1/algorithms/hers")).unwrap();
}
