//! The published schema and the reader say the same.

use std::collections::BTreeSet;

use jsonschema::Validator;
use model::{
    algorithm,
    plan::{HouseRules, from_text},
    spec::{read, schema},
};
use serde_json::{Value, json};

fn validator() -> Validator {
    jsonschema::validator_for(&schema()).expect("the schema is one")
}

/// The three maps of a job file whose keys we choose: where they are in the file, and in the schema.
const LEVELS: [(&str, &str); 3] = [("", ""), ("/roles/worker", "/$defs/RoleSpec"), ("/roles/worker/completion", "/$defs/Completion")];

fn smallest() -> Value {
    json!({ "name": "digits", "roles": { "worker": { "command": "true", "completion": {} } } })
}

fn with(level: &str, key: &str, value: Value) -> Value {
    let mut job = smallest();
    job.pointer_mut(level).expect("a level of the smallest job")[key] = value;
    job
}

fn properties(level_in_schema: &str) -> BTreeSet<String> {
    let schema = schema();
    let properties = schema.pointer(&format!("{level_in_schema}/properties")).and_then(Value::as_object).expect("a map with properties");
    properties.keys().cloned().collect()
}

/// The reader names every key it knows when it meets one that is like none of them.
fn known_to_the_reader(level: &str) -> BTreeSet<String> {
    let problems = read(&with(level, "qqqqqqqqqq", json!(1)).to_string()).expect_err("an unknown key");
    let hint = problems[0].hint.clone().expect("a hint");
    let keys = hint.en.strip_prefix("the keys here are ").expect("a list of keys");
    keys.split(", ").map(str::to_owned).collect()
}

#[test]
fn the_schema_and_the_reader_know_the_same_keys() {
    for (level, level_in_schema) in LEVELS {
        assert_eq!(properties(level_in_schema), known_to_the_reader(level), "{level}");
        assert!(!validator().is_valid(&with(level, "qqqqqqqqqq", json!(1))), "{level}");
    }
}

#[test]
fn every_key_of_the_schema_is_described() {
    for (_, level) in LEVELS {
        for key in properties(level) {
            let described = schema().pointer(&format!("{level}/properties/{key}/description")).is_some();
            assert!(described, "{level} {key}");
        }
    }
}

/// Values of every shape a person might try.
fn values() -> Vec<Value> {
    let plain =
        ["", " ", "a", "a b", "a,b", "digits", "5", "90s", "1h30m", "soon", "4GiB", "1.5g", "4 potatoes", "/data", "all", "never", "-1"];
    let mut values: Vec<Value> = plain.iter().map(|text| json!(text)).collect();
    values.extend([json!(null), json!(true), json!(0), json!(1), json!(2), json!(-1), json!(2.0), json!(0.5), json!(-0.5), json!(1e18)]);
    values.extend([json!(5_000_000), json!(4_294_967_296_u64), json!([]), json!(["a"]), json!(["a", "a"]), json!(["a", 5, true])]);
    values.extend([
        json!([null]),
        json!([["a"]]),
        json!(["a b"]),
        json!([""]),
        json!({}),
        json!({"A": 1}),
        json!({"A": 0}),
        json!({"a b": 1}),
    ]);
    values.extend([
        json!({"A": "x"}),
        json!({"A": null}),
        json!({"A": [1]}),
        json!({"1A": "x"}),
        json!({"TRAINMASTER_X": "x"}),
        json!({"A": true}),
    ]);
    values.extend([json!({"min_failed": 1}), json!({"min_failed": null}), json!({"min_succeeded": "never"}), json!({"command": "true"})]);
    values.extend([json!({"A": {"named": "wandb"}}), json!({"A": {"named": "w b"}}), json!({"A": {"value": 5, "file": true}})]);
    values.extend([json!({"A": {"value": "x", "named": "y"}}), json!({"A": {"named": "y", "value": null}}), json!({"A": {"file": true}})]);
    values.extend([json!({"A": {"command": "true"}}), json!({"A": {}}), json!({"a/b": {"command": "true"}})]);
    values
}

/// A file may pass the schema and still break a rule of the house, but one that makes a plan passes the schema, and
/// one that passes the schema has the right shape.
#[test]
fn what_makes_a_plan_passes_the_schema_and_what_passes_the_schema_can_be_read() {
    let validator = validator();
    let (mut good, mut bad) = (0, 0);
    for (level, level_in_schema) in LEVELS {
        for key in properties(level_in_schema) {
            for value in values() {
                let job = with(level, &key, value);
                let text = job.to_string();
                let (valid, read, plan) = (validator.is_valid(&job), read(&text), from_text(&text, &HouseRules::default()));
                assert!(valid || plan.is_err(), "makes a plan but is refused by the schema: {text}");
                assert!(!valid || read.is_ok(), "passes the schema but cannot be read: {text}: {read:?}");
                if plan.is_ok() { good += 1 } else { bad += 1 }
            }
        }
    }
    assert!(good > 100 && bad > 500, "{good} good and {bad} bad");
}

#[test]
fn a_full_job_passes_and_common_slips_do_not() {
    let full = json!({
        "name": "digits", "description": "a test", "tags": ["demo"], "priority": 5, "retries": 2, "max_duration": "1h30m", "stop_grace": 10,
        "code": "/code", "input": "/data", "env": {"BATCH": 64, "ON": true, "X": "y"},
        "roles": {
            "ps": {"command": ["python3", "ps.py", 1], "ports": ["grpc"]},
            "worker": {
                "tasks": 2, "command": "python3 train.py", "cpus": 0.5, "memory": "1GiB", "shared_memory": 67_108_864,
                "accelerators": {"A100": 2}, "ports": {"grpc": 2}, "env": {}, "completion": {"min_failed": "never", "min_succeeded": "all"},
            },
        },
    });
    let validator = validator();
    assert!(validator.is_valid(&full));
    assert!(from_text(&full.to_string(), &HouseRules::default()).is_ok());
    for (pointer, slip) in [
        ("/name", json!("my digits")),
        ("/max_duration", json!("soon")),
        ("/env", json!({"BAD-NAME": "x"})),
        ("/roles", json!({})),
        ("/roles/worker/tasks", json!(0)),
        ("/roles/worker/command", json!("")),
        ("/roles/worker/memory", json!("4 potatoes")),
        ("/roles/worker/completion/min_failed", json!(null)),
        ("/roles/worker/completion/min_failed", json!("none")),
    ] {
        let mut job = full.clone();
        *job.pointer_mut(pointer).expect("a part of the full job") = slip;
        assert!(!validator.is_valid(&job), "{pointer}");
        assert!(from_text(&job.to_string(), &HouseRules::default()).is_err(), "{pointer}");
    }
}

const ALGORITHM: &str = r#"{
    "name": "mlp", "description": "x", "framework": "tensorflow", "code": "data:mlp", "env": {"A": 1}, "command": ["python3", "train.py"],
    "inputs": {"data": {"argument": "--data_url", "env": "DATA_DIR", "accepts": ["dataset"], "required": true, "unpack": false}, "bare": null},
    "outputs": {"train": {"argument": "--train_url", "required": false, "layout": "chief"}},
    "params": {"lr": {"type": "number", "default": 0.1, "min": 0.01, "max": 1, "required": true, "fixed": false, "argument": "--lr"},
               "opt": {"type": "text", "choices": ["adam", "sgd"], "description": "x"}},
    "custom_params": true, "needs": {"accelerators": ["none", "A100"], "accelerators_max": 8, "tasks_max": 1}
}"#;

#[test]
fn the_schema_of_an_algorithm_and_its_reader_say_the_same() {
    let validator = jsonschema::validator_for(&algorithm::schema()).expect("the schema is one");
    let whole: Value = serde_json::from_str(ALGORITHM).expect("it is JSON");
    assert!(validator.is_valid(&whole), "{:?}", validator.iter_errors(&whole).map(|it| it.to_string()).collect::<Vec<_>>());
    assert!(algorithm::read(ALGORITHM).is_ok(), "{:?}", algorithm::read(ALGORITHM));
    let levels = ["", "/inputs/data", "/outputs/train", "/params/lr", "/needs"];
    let (mut good, mut bad) = (0, 0);
    for level in levels {
        let keys: Vec<String> = whole.pointer(level).and_then(Value::as_object).expect("a map").keys().cloned().collect();
        for key in keys.into_iter().chain(["qqqqqqqqqq".to_owned()]) {
            for value in values() {
                let mut changed = whole.clone();
                changed.pointer_mut(level).expect("a level")[key.as_str()] = value;
                let (valid, read) = (validator.is_valid(&changed), algorithm::read(&changed.to_string()));
                assert!(valid || read.is_err(), "is read but refused by the schema: {changed}");
                assert!(!valid || key != "qqqqqqqqqq", "an unknown key passes: {changed}");
                if read.is_ok() { good += 1 } else { bad += 1 }
            }
        }
    }
    assert!(good > 100 && bad > 500, "{good} good and {bad} bad");
}

#[test]
fn a_job_with_an_algorithm_leaves_out_what_the_algorithm_says_and_others_do_not() {
    let validator = validator();
    let least = json!({ "name": "a", "algorithm": "mlp@latest" });
    let more = |key: &str, value: Value| {
        let mut job = least.clone();
        job[key] = value;
        job
    };
    let good = [least.clone(), more("params", json!({"a": null})), more("roles", json!({"w": {"tasks": 2}})), more("code", json!(null))];
    let bad = [
        more("code", json!(".")),
        more("roles", json!({"w": {"command": "x"}})),
        more("algorithm", json!("mlp")),
        json!({ "name": "a" }),
        json!({ "name": "a", "roles": {"w": {}} }),
        json!({ "name": "a", "params": {"a": null}, "roles": {"w": {"command": "x"}} }),
    ];
    let refused = |job: &&Value| !validator.is_valid(job);
    assert_eq!(good.iter().filter(refused).collect::<Vec<_>>(), Vec::<&Value>::new());
    assert_eq!(bad.iter().filter(refused).count(), bad.len());
    let problems = |job: &Value| model::spec::read(&job.to_string()).map(|spec| model::plan::problems(&spec, &HouseRules::default()).len());
    assert_eq!(good.iter().map(problems).collect::<Vec<_>>(), good.iter().map(|_| Ok(0)).collect::<Vec<_>>());
    assert!(bad.iter().all(|job| problems(job) != Ok(0)));
}
