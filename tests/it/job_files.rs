//! What a person does with job files: of other systems, as grids, with secrets, and only to look.

use std::process::Output;

use serde_json::Value;
use trainmaster::client::{Call, ClientError};

use crate::house::{House, text};

const VALUES: &str = "\
worker:
  number: 1
  gpuCount: 0
  image: example/tf-digits:cpu
  port: 8000
  command: echo rate={{ params.lr }} epochs={{ params.epochs }}
ps:
number: 1
command: sleep 600
hyperparams:
  epochs: 3
  learningrate: 0.5
";

/// The same with something that has no meaning here.
fn with_a_claim() -> String {
    format!("{VALUES}persistence:\n  pvc:\n    storage: 5Gi\n")
}

const SWEEP: &str = "\
name: sweep
params: {lr: 0.5, batch: 8, opt: sgd}
roles:
  main:
    cpus: 0.1
    command: echo lr={{ params.lr }} batch={{ params.batch }}
";

fn write(house: &House, name: &str, text: &str) {
    std::fs::write(house.place().join(name), text).unwrap();
}

/// What a command printed when it went well.
fn done(house: &House, arguments: &[&str]) -> (String, String) {
    let out = house.cli(arguments);
    assert_eq!(out.status.code(), Some(0), "{arguments:?}: {}", text(&out.stderr));
    (text(&out.stdout), text(&out.stderr))
}

fn refused(house: &House, arguments: &[&str]) -> String {
    let out: Output = house.cli(arguments);
    assert_eq!(out.status.code(), Some(2), "{arguments:?}: {}{}", text(&out.stdout), text(&out.stderr));
    text(&out.stderr)
}

fn json(printed: &str) -> Value {
    serde_json::from_str(printed).unwrap_or_else(|error| panic!("{error}: {printed}"))
}

fn job_count(house: &House) -> usize {
    house.get_json("/api/v1/jobs")["jobs"].as_array().unwrap().len()
}

#[test]
fn a_values_file_is_submitted_as_it_is_and_its_report_is_told() {
    let house = House::new();
    write(&house, "digits.yaml", VALUES);
    let (said, told) = done(&house, &["submit", "digits.yaml"]);
    assert_eq!(said, "digits@1\n", "the name is the file's");
    assert!(told.contains("digits.yaml: values of the Helm chart"), "{told}");
    assert!(told.contains("changed digits.yaml:5:3: worker.port: roles.worker.ports; a free port"), "{told}");
    assert!(!told.contains("worker.number"), "what was kept is only counted: {told}");
    assert!(told.contains("note: the image example/tf-digits:cpu of worker is not used"), "{told}");
    let over = house.wait_until_over("digits");
    assert_eq!(over["state"], "succeeded", "{over:#}");
    assert_eq!(house.log("digits", "worker-0"), "rate=0.5 epochs=3\n");
    assert_eq!(over["params"], serde_json::json!({"epochs": 3, "batch_size": 20, "lr": 0.5}));

    let events = house.get_json("/api/v1/jobs/digits/events").to_string();
    assert!(events.contains("is not used: this cluster runs no images"), "{events}");

    let (said, told) = done(&house, &["submit", "digits.yaml", "--name", "other", "--set", "roles.worker.command=true", "-v"]);
    assert_eq!(said, "other@1\n");
    assert!(told.contains("kept    digits.yaml:2:3: worker.number: roles.worker.tasks"), "{told}");
}

#[test]
fn strict_refuses_a_file_of_which_anything_is_ignored() {
    let house = House::new();
    write(&house, "values.yaml", &with_a_claim());
    for verb in [
        &["submit", "values.yaml", "--strict"][..],
        &["submit", "values.yaml", "--strict", "--dry-run"],
        &["convert", "values.yaml", "--strict"],
    ] {
        let told = refused(&house, verb);
        assert!(told.contains("values.yaml has a field that is ignored, and --strict refuses that"), "{told}");
        assert!(told.contains("values.yaml:15:5: persistence.pvc.storage: is ignored: "), "{told}");
    }
    assert_eq!(job_count(&house), 0);
    write(&house, "values.yaml", VALUES);
    done(&house, &["submit", "values.yaml", "--strict"]);
}

#[test]
fn the_api_takes_files_of_any_dialect_as_text() {
    let house = House::new();
    match house.call(Call::post("/api/v1/jobs", VALUES)) {
        Err(ClientError::Refused(status, body)) => {
            assert_eq!((status.as_u16(), body.problems[0].path.as_str()), (422, "name"), "{body:?}");
        }
        other => panic!("{other:?}"),
    }
    let answer = house.call(Call::post("/api/v1/jobs?name=mnist", VALUES)).unwrap();
    let answer = json(&text(&answer));
    assert_eq!((answer["name"].as_str(), answer["report"]["dialect"].as_str()), (Some("mnist"), Some("helm_values")));
    assert!(answer["notes"][0].as_str().unwrap().contains("runs no images"), "{answer:#}");
    let bad = VALUES.replace("number: 1\n  gpu", "number: many\n  gpu");
    match house.call(Call::post("/api/v1/jobs?name=mnist", bad)) {
        Err(ClientError::Refused(_, body)) => assert_eq!((body.problems[0].path.as_str(), body.problems[0].line), ("worker.number", 2)),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_dry_run_says_everything_and_makes_nothing() {
    let house = House::new();
    write(&house, "values.yaml", &with_a_claim());
    let (said, _) = done(&house, &["submit", "values.yaml", "--name", "mnist", "--dry-run", "--json"]);
    let document = json(&said);
    assert_eq!((document["dialect"].as_str(), document["plan"]["name"].as_str()), (Some("helm_values"), Some("mnist")));
    assert!(document["report"].as_array().unwrap().iter().any(|note| note["fate"] == "ignored" && note["line"] == 15), "{said}");
    let role = &document["plan"]["roles"][0];
    assert_eq!((role["name"].as_str(), role["script"].as_str()), (Some("worker"), Some("echo rate=0.5 epochs=3")));
    assert_eq!((&role["min_failed"], &role["min_succeeded"]), (&1.into(), &Value::Null));
    for key in ["tasks", "cpus", "memory_bytes", "shared_memory_bytes", "accelerators", "ports", "image", "retries", "env"] {
        assert!(role.get(key).is_some(), "{key} is missing: {role:#}");
    }
    let (said, _) = done(&house, &["submit", "values.yaml", "--dry-run", "--debug"]);
    assert!(said.contains("would be made:") && said.contains("    env      POD_NAME=worker-0\n"), "{said}");
    assert!(said.contains("    env      CLUSTER_CONFIG=") && said.contains("    env      TF_CONFIG="), "{said}");
    let (said, _) = done(&house, &["submit", "values.yaml", "--dry-run", "--debug", "--json"]);
    assert_eq!(json(&said)["made"]["tasks"][1]["name"], "ps-0");
    assert_eq!(job_count(&house), 0);
}

#[test]
fn a_converted_file_is_the_same_plan() {
    let house = House::new();
    write(&house, "values.yaml", VALUES);
    let (nothing, told) = done(&house, &["convert", "values.yaml", "-o", "job.yaml", "--name", "mnist"]);
    assert!(nothing.is_empty() && told.contains("changed values.yaml:"), "{told}");
    let plan = |file: &str| json(&done(&house, &["submit", file, "--name", "mnist", "--dry-run", "--json"]).0);
    assert_eq!(plan("job.yaml")["plan"], plan("values.yaml")["plan"]);
    assert_eq!(plan("job.yaml")["dialect"], "trainmaster");
    let (printed, _) = done(&house, &["convert", "job.yaml"]);
    assert_eq!(printed, std::fs::read_to_string(house.place().join("job.yaml")).unwrap(), "converting again changes nothing");
    let document = json(&done(&house, &["convert", "values.yaml", "--json"]).0);
    assert_eq!((&document["dialect"], &document["spec"]["name"]), (&"helm_values".into(), &"values".into()));
    assert!(refused(&house, &["convert", "values.yaml", "-o", "no/such/place.yaml"]).contains("cannot be written"));
}

#[test]
fn a_grid_is_every_combination_as_versions_of_one_job() {
    let house = House::new();
    write(&house, "sweep.yaml", SWEEP);
    let (said, _) = done(&house, &["run", "sweep.yaml", "--grid", "lr=0.1,1e-2", "--grid", "batch=16,32"]);
    let rows: Vec<Vec<&str>> = said.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        rows[1..],
        [
            ["sweep@1", "lr=0.1", "batch=16"],
            ["sweep@2", "lr=0.1", "batch=32"],
            ["sweep@3", "lr=0.01", "batch=16"],
            ["sweep@4", "lr=0.01", "batch=32"],
        ]
    );
    house.wait_for("sweep@3", "succeeded");
    assert_eq!(house.log("sweep@3", "main-0"), "lr=0.01 batch=16\n");
    let listed = json(&done(&house, &["list", "--name", "sweep", "--json"]).0);
    assert_eq!(listed["jobs"][0]["params"], serde_json::json!({"lr": 0.01, "batch": 32, "opt": "sgd"}));
    assert!(done(&house, &["show", "sweep@2"]).0.contains("lr=0.1 batch=32 opt=sgd"));

    done(&house, &["submit", "sweep.yaml", "-p", "lr=2", "--set", "params.opt=adam"]);
    done(&house, &["rerun", "sweep", "-p", "batch=64"]);
    assert_eq!(house.show("sweep")["params"], serde_json::json!({"lr": 2, "batch": 64, "opt": "adam"}));
    let both = json(&done(&house, &["rerun", "sweep", "--grid", "lr=3,4", "--json"]).0);
    assert_eq!((&both["submitted"][1]["version"], &both["submitted"][1]["params"]), (&8.into(), &serde_json::json!({"lr": 4})));
}

#[test]
fn a_grid_that_cannot_be_meant_submits_nothing() {
    let house = House::new();
    write(&house, "sweep.yaml", SWEEP);
    let many: String = (0..40).map(|number| format!("{number},")).collect();
    let many = many.trim_end_matches(',');
    for (arguments, wanted) in [
        (&["submit", "sweep.yaml", "--grid", "batchh=1,2"][..], "did you mean `batch`?"),
        (&["submit", "sweep.yaml", "-p", "momentum=1"], "it has lr, batch, opt"),
        (&["submit", "sweep.yaml", "--grid", "lr=1,fast"], "`fast` is not"),
        (
            &["submit", "sweep.yaml", "--grid", &format!("lr={many}"), "--grid", &format!("batch={many}")],
            "1600 combinations; the most is 1000",
        ),
        (&["submit", "sweep.yaml", "--follow", "--grid", "lr=1"], "cannot be used with"),
        (&["run", "--grid", "lr=1", "--", "true"], "change a job file"),
    ] {
        let told = refused(&house, arguments);
        assert!(told.contains(wanted), "{arguments:?}: {told}");
    }
    let (said, _) = done(&house, &["submit", "sweep.yaml", "--dry-run", "--grid", "lr=1,2"]);
    assert!(said.contains("as 2 versions") && said.contains("lr=2"), "{said}");
    assert_eq!(job_count(&house), 0);
}

#[test]
fn a_secret_reaches_its_task_and_nobody_else() {
    const SECRET: &str = "hunter2-is-not-shown";
    let house = House::new();
    // The command leaves a mark of the secret's length, so that the task is seen to have had it.
    let command = "key={{ secrets.key }}; echo ${#key}";
    let file = format!("name: login\nsecrets: {{key: {SECRET}, pin: 0042}}\nroles: {{main: {{command: '{command}'}}}}\n");
    write(&house, "login.yaml", &file);
    let (planned, _) = done(&house, &["submit", "login.yaml", "--dry-run", "--json"]);
    assert_eq!(json(&planned)["plan"]["secrets"], serde_json::json!(["key", "pin"]));
    let mut shown = vec![planned, done(&house, &["submit", "login.yaml", "--dry-run", "--debug"]).0];
    done(&house, &["submit", "login.yaml"]);
    done(&house, &["rerun", "login", "--set", "tags=[\"again\"]"]);
    for job in ["login@1", "login@2"] {
        let over = house.wait_until_over(job);
        assert_eq!((&over["state"], house.log(job, "main-0")), (&"succeeded".into(), format!("{}\n", SECRET.len())), "{over:#}");
        assert_eq!(over["spec"]["secrets"], serde_json::json!({"key": "******", "pin": "******"}));
    }
    for path in ["jobs", "jobs/login", "jobs/login/spec", "jobs/login/events", "jobs/login/explain", "nodes"] {
        shown.push(text(&house.get(&format!("/api/v1/{path}")).unwrap()));
    }
    shown.push(done(&house, &["show", "login"]).0);
    shown.push(house.server_log());
    for answer in shown {
        assert!(!answer.contains("hunter2"), "{answer}");
    }
    let hidden = text(&house.get("/api/v1/jobs/login/spec").unwrap());
    match house.call(Call::post("/api/v1/jobs", hidden.clone())) {
        Err(ClientError::Refused(status, body)) => assert_eq!((status.as_u16(), body.problems[0].path.as_str()), (422, "secrets.key")),
        other => panic!("{other:?}"),
    }
    assert!(house.call(Call::post("/api/v1/jobs?from=nobody", hidden.clone())).is_err());
    house.call(Call::post("/api/v1/jobs?from=login@1", hidden)).unwrap();
    assert_eq!(house.wait_until_over("login@3")["state"], "succeeded");
}

#[test]
fn secrets_are_in_nobodys_arguments() {
    let house = House::new();
    let file = "{name: quiet, secrets: {key: s3cretARG}, roles: {main: {command: 'key={{ secrets.key }}; echo $0 ${key#s3}; sleep 600'}}}";
    let job = house.submit(file);
    house.wait_for_output(&job, "main-0", "cretARG");
    assert_eq!(house.log(&job, "main-0"), "/bin/sh cretARG\n");
    assert_eq!(crate::house::marked("s3cretARG"), Vec::<i32>::new());
    house.cli(&["stop", "quiet"]);
    house.wait_until_over(&job);
}
