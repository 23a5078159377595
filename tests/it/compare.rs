//! Jobs side by side: what is kept of each, what differs, and that nobody learns of another's.

use std::{fs, path::Path};

use serde_json::{Value, json};
use trainmaster::{
    client::{Call, Client},
    store::{Sql, Store, tokens},
};

use crate::{
    git_server::GitServer,
    house::{House, text, until},
    requirements,
};

pub fn write(dir: &Path, files: &[(&str, &str)]) {
    for (path, text) in files {
        let place = dir.join(path);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::write(place, text).unwrap();
    }
}

/// Submits the job file of a folder, waits until it is over, and answers its id.
fn submitted(house: &House, dir: &Path, more: &[&str]) -> String {
    let out = house.cli_in(dir, &[&["--json", "submit", "job.yaml"], more].concat());
    assert!(out.status.success(), "{}", text(&out.stderr));
    let id = serde_json::from_slice::<Value>(&out.stdout).unwrap()["id"].as_str().unwrap().to_owned();
    house.wait_for(&id, "succeeded");
    id
}

fn cli(house: &House, args: &[&str]) -> String {
    let out = house.cli(args);
    assert!(out.status.success(), "{args:?}: {}", text(&out.stderr));
    text(&out.stdout)
}

/// What the jobs were given and differs: `kind name: one | other`.
fn differences(house: &House, jobs: &str) -> Vec<String> {
    let told = house.get_json(&format!("/api/v1/compare?jobs={jobs}"));
    let is_result = |row: &&Value| ["metric", "duration", "usage", "ending"].contains(&row["kind"].as_str().unwrap());
    let rows: Vec<&Value> = told["rows"].as_array().unwrap().iter().filter(|row| !is_result(row)).collect();
    assert_eq!(told["differences"], rows.len(), "{told:#}");
    let values = |row: &Value| {
        row["values"].as_array().unwrap().iter().map(|it| it.as_str().unwrap_or("-").to_owned()).collect::<Vec<_>>().join(" | ")
    };
    rows.into_iter().map(|row| format!("{} {}: {}", row["kind"].as_str().unwrap(), row["name"].as_str().unwrap(), values(row))).collect()
}

const JOB: &str = "name: digits\ncode: .\nrequirements: packages/a.txt\nenv: {SEED: '1'}\n\
                   roles: {main: {command: python train.py, cpus: 0.5}}\n";

#[test]
fn one_file_one_package_and_one_variable_are_exactly_three_lines() {
    let house = requirements::house();
    let dir = house.place().join("digits");
    let packages = [("packages/a.txt", "six==1.16.0\n"), ("packages/b.txt", "six==1.17.0\n")];
    write(&dir, &[("job.yaml", JOB), ("train.py", "import six\nlr = 1\nprint(six.__version__)\n"), ("README", "x\n")]);
    write(&dir, &packages);
    let one = submitted(&house, &dir, &[]);
    write(&dir, &[("train.py", "import six\nlr = 2\nprint(six.__version__, lr)\n")]);
    let two = submitted(&house, &dir, &["--set", "env.SEED=2", "--set", "requirements=packages/b.txt"]);
    assert_eq!((house.log(&one, "main-0").as_str(), house.log(&two, "main-0").as_str()), ("1.16.0\n", "1.17.0 2\n"));

    let expected = ["code train.py: there | +2 −2", "package six: 1.16.0 | 1.17.0", "env SEED: 1 | 2"];
    assert_eq!(differences(&house, "digits@1,digits@2"), expected);
    let shown = cli(&house, &["diff", "digits@1", "digits@2"]);
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].starts_with("digits@1 → digits@2: 3 differences in"), "{shown}");
    assert_eq!(
        lines[3..6].iter().map(|line| line.split_whitespace().next().unwrap()).collect::<Vec<_>>(),
        ["code", "package", "env"],
        "{shown}"
    );
    assert_eq!(lines[6], "", "{shown}");
    let patch = cli(&house, &["diff", "digits@1", "digits@2", "--code"]);
    assert_eq!(
        patch,
        "--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n import six\n-lr = 1\n-print(six.__version__)\n+lr = 2\n+print(six.__version__, lr)\n"
    );

    let made = house.get_json("/api/v1/jobs/digits@2/provenance");
    assert_eq!(made["python"]["packages"], json!({"six": "1.17.0"}), "{made:#}");
    assert!(made["python"]["python"].as_str().unwrap().starts_with("3."), "{made:#}");
    assert_eq!((made["file"].as_str(), made["dialect"].as_str()), (Some("job.yaml"), Some("trainmaster")));
    assert_eq!(made["tasks"][0]["command"], json!(["/bin/sh", "-c", "python train.py"]));
    assert_eq!((made["tasks"][0]["env"]["SEED"].as_str(), made["tasks"][0]["node"].as_str()), (Some("2"), Some("node-1")));
    assert_eq!(made["not_recorded"], json!([]));
    // One list for both runs of the same environment.
    submitted(&house, &dir, &["--set", "requirements=packages/b.txt"]);
    assert_eq!(fs::read_dir(house.data().join("packages")).unwrap().count(), 2);
}

#[test]
fn a_rerun_with_another_parameter_differs_in_nothing_else_and_says_what_it_repeats() {
    let house = House::new();
    let job = "name: digits\nparams: {lr: 0.1, epochs: 3}\nroles: {main: {command: 'echo lr {{ params.lr }}', cpus: 0.1}}\n";
    house.wait_for(&house.submit(job), "succeeded");
    cli(&house, &["rerun", "digits", "--set", "lr=0.2"]);
    house.wait_for("digits@2", "succeeded");
    assert_eq!(house.log("digits@2", "main-0"), "lr 0.2\n");
    assert_eq!(differences(&house, "digits@1,digits@2"), ["param lr: 0.1 | 0.2"]);
    assert_eq!(house.get_json("/api/v1/jobs/digits@2/provenance")["rerun_of"], "digits@1");
    assert_eq!(differences(&house, "digits@2,digits@2"), [] as [&str; 0]);
    let versions = house.get_json("/api/v1/jobs/digits/versions");
    assert_eq!(versions["params"], json!(["lr"]));
    let rows: Vec<_> =
        versions["versions"].as_array().unwrap().iter().map(|it| (it["version"].as_u64(), it["rerun_of"].as_str())).collect();
    assert_eq!(rows, [(Some(2), Some("digits@1")), (Some(1), None)]);
    let refused = house.cli(&["rerun", "digits", "--set", "lr=fast"]);
    assert!(text(&refused.stderr).contains("it is a number in the job, and `fast` is not"), "{}", text(&refused.stderr));
    let page = house.get_json("/api/v1/jobs/digits/versions?limit=1");
    assert_eq!((page["versions"][0]["version"].as_u64(), page["next"].as_u64()), (Some(2), Some(2)));
    let rest = house.get_json("/api/v1/jobs/digits/versions?limit=1&before=2");
    assert_eq!((rest["versions"][0]["version"].as_u64(), rest["next"].as_u64()), (Some(1), None));
}

#[test]
fn inputs_are_told_by_what_they_held_and_not_by_their_names_alone() {
    let house = House::new();
    let data = house.place().join("data");
    write(&data, &[("train/a", "12345"), ("train/b", "1"), ("one.txt", "x")]);
    let inputs = json!({"train": data.join("train"), "one": data.join("one.txt")});
    let job = json!({"name": "reads", "inputs": inputs, "roles": {"main": {"command": "cat /input/train/*", "cpus": 0.1}}});
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    assert_eq!(differences(&house, "reads@1,reads@2"), [] as [&str; 0]);
    write(&data, &[("train/c", "123")]);
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    let [row] = &differences(&house, "reads@1,reads@3")[..] else { panic!("{:?}", differences(&house, "reads@1,reads@3")) };
    assert!(row.starts_with("input /input/train content: 2 files, 6B, ") && row.contains(" | 3 files, 9B, "), "{row}");
    let made = house.get_json("/api/v1/jobs/reads@3/provenance");
    assert_eq!(made["inputs"].as_array().unwrap().len(), 2, "{made:#}");
    assert_eq!(made["not_recorded"][0]["what"], "packages");
}

#[test]
fn code_from_git_is_told_by_its_commit_and_its_files() {
    let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let mut house = House::unopened_at(data.path());
    house.start();
    let server = GitServer::new();
    let repository = server.repository("p");
    let job =
        json!({"name": "git", "code": {"git": server.url("p"), "ref": "main"}, "roles": {"main": {"command": "cat t.txt", "cpus": 0.1}}});
    let first = repository.commit(&[("t.txt", "one\n"), ("same.txt", "same\n")]);
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    let second = repository.commit(&[("t.txt", "one\ntwo\n")]);
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    let commits = format!("code commit: {first} | {second}");
    assert_eq!(differences(&house, "git@1,git@2"), [commits.as_str(), "code t.txt: there | +1"]);
    assert_eq!(cli(&house, &["diff", "git@1", "git@2", "--code"]), "--- a/t.txt\n+++ b/t.txt\n@@ -1,1 +1,2 @@\n one\n+two\n");
    let none = house.cli(&["diff", "git@1", &house.submit_line("plain", "true"), "--code"]);
    assert!(text(&none.stderr).contains("plain@1's code are not here: it has no code of its own"), "{}", text(&none.stderr));
}

/// A house that knows two people beside its administrator, whose tokens are their names.
pub fn house_with_people() -> House {
    let mut house = House::new();
    house.kill();
    for user in ["ann", "bob"] {
        let store = Store::open(&house.data()).unwrap();
        let hash = trainmaster::api::token_hash(user);
        let add = move |sql: &Sql<'_>| tokens::add(sql, &hash, user, tokens::Role::User, "test", 1, None);
        block_on(store.write(add)).unwrap();
    }
    house.start();
    house
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(work)
}

pub fn ask(house: &House, user: &str, call: Call<'_>) -> Result<String, String> {
    let client = Client::new(&house.url(), user).unwrap();
    block_on(client.call(call)).map(|bytes| text(&bytes)).map_err(|error| error.to_string())
}

#[test]
fn nobody_compares_with_another_s_job_or_learns_of_it() {
    let house = house_with_people();
    let job = |name: &str| json!({"name": name, "roles": {"main": {"command": "true", "cpus": 0.1}}}).to_string();
    for (user, name) in [("ann", "hers"), ("ann", "hers"), ("bob", "his")] {
        ask(&house, user, Call::post("/api/v1/jobs", job(name))).unwrap();
    }
    let secret = house.get_json("/api/v1/jobs/hers")["id"].as_str().unwrap().to_owned();
    for path in [
        "/api/v1/compare?jobs=his,hers",
        "/api/v1/compare?jobs=hers@1,his@1",
        &format!("/api/v1/compare?jobs=his,{secret}"),
        &format!("/api/v1/compare/code?jobs=his,{secret}"),
        "/api/v1/jobs/hers/versions",
        &format!("/api/v1/jobs/{secret}/versions"),
        &format!("/api/v1/jobs/{secret}/lineage"),
        &format!("/api/v1/jobs/{secret}/provenance"),
    ] {
        let said = ask(&house, "bob", Call::get(path)).unwrap_err();
        assert!(said.starts_with("there is no job"), "{path}: {said}");
        assert!(ask(&house, "nobody", Call::get(path)).is_err());
    }
    ask(&house, "ann", Call::get("/api/v1/compare?jobs=hers@1,hers@2")).unwrap();
    assert_eq!(house.get_json(&format!("/api/v1/compare?jobs=his,{secret}"))["jobs"][1]["label"], "hers@2", "an administrator sees all");
}

#[test]
fn a_question_that_makes_no_sense_is_refused_with_the_reason() {
    let house = House::new();
    house.submit_line("a", "true");
    let said = |path: &str| house.get(path).unwrap_err().to_string();
    assert_eq!(said("/api/v1/compare?jobs=a"), "jobs = `a` is not two to 20 jobs with commas");
    assert_eq!(said("/api/v1/compare/code?jobs=a,a,a"), "jobs = `a,a,a` is not two jobs with a comma");
    assert_eq!(said("/api/v1/compare?jobs=a,b"), "there is no job `b`");
    assert_eq!(said("/api/v1/compare?jobs=a,a&metric=x&direction=up"), "direction = `up` is not `lower` or `higher`");
    assert_eq!(said("/api/v1/jobs/a/versions?limit=0"), "limit = `0` is not 1 to 200");
    assert_eq!(said("/api/v1/jobs/a/provenance?task=main-7"), "job a has no task `main-7`");
    assert_eq!(house.get_json("/api/v1/jobs/a/provenance")["label"], "a@1", "also of a job that may not have begun");
}

#[test]
fn the_best_version_by_a_metric_is_told_with_its_value_and_step() {
    let house = House::new();
    let line = r#"printf '{"step":1,"accuracy":0.5,"loss":2}\n{"step":2,"accuracy":%s,"loss":1}\n{"step":3,"accuracy":0.6,"loss":1.5}\n' {{ params.peak }} > /output/metrics.jsonl"#;
    let job = json!({"name": "digits", "params": {"peak": 0.7}, "roles": {"main": {"command": line, "cpus": 0.1}}});
    house.wait_for(&house.submit(&job.to_string()), "succeeded");
    for peak in ["0.9", "0.8"] {
        cli(&house, &["rerun", "digits@1", "-p", &format!("peak={peak}"), "--follow"]);
    }
    let metrics = |path: &str| house.get_json(path)["metrics"].clone();
    until("the numbers of all three are read", || {
        let rows = house.get_json("/api/v1/jobs/digits/versions?metric=accuracy")["versions"].clone();
        rows.as_array().unwrap().iter().all(|row| row["metrics"][0]["last_step"] == 3)
    });
    let best = metrics("/api/v1/jobs/digits/versions?metric=accuracy")[0].clone();
    assert_eq!(best, json!({"name": "accuracy", "direction": "higher", "guessed": true, "best": {"version": 2, "value": 0.9, "step": 2}}));
    assert_eq!(metrics("/api/v1/jobs/digits/versions?metric=accuracy:lower")[0]["best"]["value"], 0.5);
    assert_eq!(metrics("/api/v1/jobs/digits/versions")[1]["name"], "loss");
    let shown = cli(&house, &["versions", "digits", "--metric", "accuracy"]);
    assert!(
        shown.contains("0.9 *") && shown.contains("* best accuracy: digits@2 with 0.9 at step 2 (higher is better, to judge by its name)"),
        "{shown}"
    );

    let told = cli(&house, &["compare", "digits@1", "digits@2", "digits@3", "--metric", "accuracy"]);
    let row = told.lines().find(|line| line.starts_with("metric")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["metric", "accuracy", "0.7", "0.9", "+28.6%", "*", "0.8", "+14.3%"], "{told}");
    assert!(told.contains("digits@2 is best: the highest accuracy is 0.9 at step 2"), "{told}");
    assert_eq!(cli(&house, &["compare", "digits@3", "digits@2", "-m", "accuracy", "--best"]), "digits@2 accuracy 0.9 at step 2\n");
    let none = house.cli(&["compare", "digits@3", "digits@2", "-m", "speed", "--best"]);
    assert!(text(&none.stderr).contains("no job has a best value of `speed`"), "{}", text(&none.stderr));
    let difference = cli(&house, &["diff", "digits@1", "digits@2"]);
    assert!(difference.contains("+0.2 (+28.6%) better"), "{difference}");
    assert_eq!(differences(&house, "digits@1,digits@2"), ["param peak: 0.7 | 0.9"]);
}
