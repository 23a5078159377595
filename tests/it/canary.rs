//! The canary scan: secrets of every kind go their way through jobs that run, fail, are run again and outlive a killed
//! server, and afterwards none of them is anywhere but where it belongs.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Output},
};

use futures_util::TryStreamExt;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use trainmaster::{
    client::{Call, Client},
    volumes::Entry,
};

use crate::{
    git_server::GitServer,
    house::{House, binary, text, until},
    secrets::cli_with_input,
    stores::{ACCESS_KEY, BUCKET, Origin, S3Server, SECRET_KEY, block_on},
    sync::read_object,
    web_files::WebFiles,
};

mod scan;

use scan::{Canary, Scan, Watch};

/// Jobs have the names of their channels, so that it can be told whose secret a task has.
const JOBS: [&str; 9] = ["inline", "variable", "file", "git-password", "failing", "no-program", "again", "saved", "begun"];

const OF_NO_JOB: [&str; 16] = [
    "jobs",
    "nodes",
    "secrets",
    "volumes",
    "volumes/data",
    "about",
    "progress",
    "datasets",
    "datasets/signed",
    "datasets/signed/versions/1",
    "algorithms",
    "algorithms/told",
    "algorithms/told/versions/1",
    "files?at=data:",
    "search/logs?pattern=private",
    "compare?jobs=inline,failing,again,begun,signed",
];

const OF_A_JOB: [&str; 13] = [
    "",
    "/spec",
    "/original",
    "/plan",
    "/events",
    "/explain",
    "/environment?task=main-0",
    "/versions",
    "/lineage",
    "/provenance",
    "/lines",
    "/metrics",
    "/usage",
];

/// A task has its own job's secrets; a store and its user have been told by us.
fn may_have(channel: &str, environment: &str) -> bool {
    let is_own_task = environment.contains(&format!("TRAINMASTER_JOB={channel}@"));
    let is_told = channel.starts_with("s3")
        && ["MINIO_ROOT_USER=", "AWS_ACCESS_KEY_ID=", "ROOT_ACCESS_KEY="].iter().any(|it| environment.contains(it));
    is_own_task || is_told || (channel == "git-password" && environment.contains("GIT_PROJECT_ROOT="))
}

/// The files that hold what they are there to hold, each for its owner alone.
fn belongs(channel: &str, place: &str) -> bool {
    match channel {
        "API token" => place == "data/admin-token",
        "seal key" | "seal key, bytes" => place == "data/keys/secrets.key",
        "key of the runs" => place == "data/run-secret",
        "run token" => names_of_the_letter(place),
        // What opens an address is kept for its tasks as it was written; the guide says so.
        "signed address" => ["data/store.db", "data/store.db-wal"].contains(&place) || names_of_the_letter(place),
        _ => false,
    }
}

/// The markers and the records are other names of it.
fn names_of_the_letter(place: &str) -> bool {
    let is_record = ["/order.json", "/supervisor.json", "/exit.part", "/exit.json"].iter().any(|name| place.ends_with(name));
    is_record || place.starts_with("data/live/") || place.starts_with("data/reading/")
}

/// What the test has seen of the outside: answers, and what the command line said.
struct Seen<'a> {
    house: &'a House,
    texts: Vec<(String, Vec<u8>)>,
}

impl Seen<'_> {
    fn get(&mut self, path: &str) {
        let answer = self.house.get(path).unwrap_or_else(|error| panic!("{path}: {error}"));
        self.texts.push((format!("GET {path}"), answer));
    }

    fn post(&mut self, what: &str, call: Call<'_>) {
        let answer = self.house.call(call);
        self.texts.push((what.to_owned(), format!("{answer:?}").into_bytes()));
        self.texts.push((what.to_owned(), answer.unwrap_or_default()));
    }

    fn said(&mut self, output: Output) -> String {
        let said = text(&output.stdout);
        self.texts.push(("the command line".into(), [output.stdout, output.stderr].concat()));
        said
    }

    fn cli(&mut self, args: &[&str]) -> String {
        self.said(self.house.cli(args))
    }

    fn everything_there_is_to_ask(&mut self) {
        for path in OF_NO_JOB {
            self.get(&format!("/api/v1/{path}"));
        }
        for job in JOBS.into_iter().chain(["signed"]) {
            for path in OF_A_JOB {
                self.get(&format!("/api/v1/jobs/{job}{path}"));
            }
            self.cli(&["show", job]);
            self.cli(&["show", job, "--env", "main-0"]);
            self.cli(&["show", job, "--original"]);
            self.cli(&["explain", job]);
            self.cli(&["logs", job]);
        }
        self.cli(&["list", "--all"]);
        self.cli(&["secrets", "list"]);
        self.cli(&["volumes", "list", "--json"]);
        self.cli(&["datasets", "show", "signed@1"]);
        self.cli(&["algorithms", "show", "told@1"]);
        self.cli(&["lineage", "signed"]);
        self.cli(&["compare", "inline", "failing"]);
    }
}

/// The hash of a secret shows that a task has it, and says nothing of what it is.
fn hash(canary: &Canary) -> String {
    Sha256::digest(canary.value.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn job_file(channel: &str, canary: &Canary, git: &GitServer) -> String {
    let (main, secrets, code) = match channel {
        "inline" => {
            (json!({ "command": "printf %s '{{ secrets.key }}' | sha256sum; sleep 600" }), json!({ "key": canary.value }), Value::Null)
        }
        "variable" => (
            json!({ "command": "printf %s \"$KEY\" | sha256sum; sleep 600", "env": { "KEY": "{{ secrets.key }}" } }),
            json!({ "key": { "named": "variable" } }),
            Value::Null,
        ),
        "file" => {
            (json!({ "command": "sha256sum < /secrets/key; sleep 600" }), json!({ "key": { "named": "file", "file": true } }), Value::Null)
        }
        "git-password" => (
            json!({ "command": "cat a" }),
            json!({ "git": canary.value }),
            json!({ "git": git.url("private"), "user": "ann", "password": "{{ secrets.git }}" }),
        ),
        "failing" => {
            (json!({ "command": "printf %s '{{ secrets.key }}' | sha256sum; exit 3" }), json!({ "key": canary.value }), Value::Null)
        }
        "no-program" => (json!({ "command": ["{{ secrets.key }}"] }), json!({ "key": canary.value }), Value::Null),
        "begun" => (
            json!({ "command": "cat /output/hash; printf %s '{{ secrets.key }}' | sha256sum | tee /output/hash; sleep 600" }),
            json!({ "key": canary.value }),
            Value::Null,
        ),
        _ => (
            json!({ "command": "printf %s '{{ secrets.key }}' | sha256sum | tee /output/hash" }),
            json!({ "key": canary.value }),
            Value::Null,
        ),
    };
    let mut file = json!({ "name": channel, "secrets": secrets, "code": code, "roles": { "main": main } });
    if ["saved", "begun"].contains(&channel) {
        file["output"] = format!("data:{channel}").into();
        file["logs"] = "data:logs".into();
    }
    if channel == "begun" {
        file["from"] = "data:saved".into();
    }
    file.to_string()
}

fn with_keys(house: &House, args: &[&str]) -> Output {
    let mut command = Command::new(binary());
    command.args(args).env("TRAINMASTER_DATA", house.data()).env_remove("TRAINMASTER_URL").current_dir(house.place());
    command.env("AWS_ACCESS_KEY_ID", ACCESS_KEY).env("AWS_SECRET_ACCESS_KEY", SECRET_KEY).output().unwrap()
}

#[test]
fn no_secret_is_anywhere_but_where_it_belongs() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "8", "--node-memory", "8GiB"]);
    let (temporary, elsewhere) = (house.place().join("temporary"), tempfile::tempdir().unwrap());
    fs::create_dir(&temporary).unwrap();
    house.env("TRAINMASTER_LOG", "trace");
    house.env("TMPDIR", temporary.to_str().unwrap());
    house.start();

    let jobs = JOBS.map(Canary::fresh);
    let of = |channel: &str| jobs.iter().find(|it| it.channel == channel).unwrap();
    let mut canaries = jobs.to_vec();
    canaries.extend([Canary::new("s3 access key", ACCESS_KEY.as_bytes()), Canary::new("s3 secret key", SECRET_KEY.as_bytes())]);
    canaries.push(Canary::new("API token", house.token().as_bytes()));
    let key = fs::read_to_string(house.data().join("keys/secrets.key")).unwrap();
    let key_bytes: Vec<u8> = (0..32).map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap()).collect();
    canaries.extend([Canary::new("seal key", key.trim().as_bytes()), Canary::new("seal key, bytes", &key_bytes)]);
    canaries.push(Canary::new("key of the runs", &fs::read(house.data().join("run-secret")).unwrap()));
    // An address takes few letters as they are.
    let signature: String = Canary::fresh("").value.chars().filter(char::is_ascii_alphanumeric).collect();
    canaries.push(Canary::new("signed address", signature.as_bytes()));
    let site = WebFiles::start();
    let watch = Watch::start(canaries.clone(), may_have);

    let (git, other_git, s3) = (GitServer::private("ann", &of("git-password").value), GitServer::new(), S3Server::start(Origin::Minio));
    git.repository("private").commit(&[("a", "private code")]);
    other_git.repository("public").commit(&[("a", "public code")]);
    let mut texts = Vec::new();
    {
        let mut seen = Seen { house: &house, texts: Vec::new() };
        for name in ["variable", "file"] {
            seen.said(cli_with_input(&house, &["secrets", "set", name], &of(name).value));
        }
        seen.said(with_keys(&house, &["volumes", "add", "data", "--s3", BUCKET, "--endpoint", &s3.endpoint]));
        let tested = seen.cli(&["volumes", "test", "data"]);
        assert!(!tested.is_empty() && !seen.cli(&["volumes", "list"]).is_empty());
        fs::write(house.place().join("a"), "from a bucket").unwrap();
        seen.cli(&["files", "cp", "a", "data:set/a"]);
        house.submit(r#"{"name": "bucket", "input": "data:set", "roles": {"main": {"command": "cat /input/a"}}}"#);
        site.put("a", "", b"behind a signed address");
        let at = site.url(&format!("a?sign={signature}"));
        seen.post("a dataset", Call::post("/api/v1/datasets", json!({ "name": "signed", "at": at }).to_string()));
        let told = json!({ "name": "told", "code": "data:set", "command": "cat a", "params": { "key": { "type": "text", "default": "{{ secrets.key }}" } } });
        seen.post("an algorithm", Call::post("/api/v1/algorithms", told.to_string()));
        let both = json!({ "name": "signed", "input": "signed@1", "roles": { "main": { "command": "cat /input/a" } } });
        house.submit(&both.to_string());
        for channel in JOBS {
            if channel == "begun" {
                assert_eq!(house.wait_until_over("saved")["state"], "succeeded");
            }
            let file = job_file(channel, of(channel), &git);
            seen.post("a dry run", Call::post("/api/v1/jobs?dry_run=true", file.clone()));
            // A person's own file is theirs to hide; it lies outside of the house.
            fs::write(elsewhere.path().join("job.json"), &file).unwrap();
            let path = elsewhere.path().join("job.json");
            seen.cli(&["submit", path.to_str().unwrap(), "--dry-run", "--debug"]);
            seen.cli(&["submit", path.to_str().unwrap()]);
        }
        let bad =
            json!({ "name": "bad", "secrets": { "key": [of("inline").value] }, "roles": { "main": { "command": "{{ secrets.other }}" } } });
        seen.post("a refusal", Call::post("/api/v1/jobs", bad.to_string()));
        seen.post("a refusal", Call::put("/api/v1/secrets/wandb", format!("{}\0", of("variable").value)));
        seen.post("a refusal", Call::post("/api/v1/volumes", format!("{{\"secret_key\": \"{}\"", of("inline").value)));
        for channel in ["inline", "variable", "file", "failing", "again", "begun"] {
            house.wait_for_output(channel, "main-0", &hash(of(channel)));
        }
        seen.everything_there_is_to_ask();
        texts.extend(seen.texts);
    }
    house.restart();
    let mut seen = Seen { house: &house, texts };
    seen.cli(&["rerun", "again", "--set", "tags=[\"again\"]"]);
    house.wait_for_output("again@2", "main-0", &hash(of("again")));
    let public = json!({ "name": "public", "code": { "git": other_git.url("public") }, "roles": { "main": { "command": "cat a; env; cat /proc/*/environ; true" } } });
    house.submit(&public.to_string());
    for (job, state) in [
        ("public", "succeeded"),
        ("bucket", "succeeded"),
        ("signed", "succeeded"),
        ("git-password", "succeeded"),
        ("failing", "failed"),
        ("no-program", "failed"),
        ("again@2", "succeeded"),
    ] {
        assert_eq!(house.wait_until_over(job)["state"], state, "{job}");
    }
    assert!(house.log("begun", "main-0").contains(&hash(of("saved"))), "it began with what was saved");
    assert!(house.log("git-password", "main-0").contains("private code") && house.log("bucket", "main-0").contains("from a bucket"));
    assert!(house.show("no-program").to_string().contains("no program `{{ secrets.key }}`"), "{:#}", house.show("no-program"));
    let running = house.show("variable")["id"].as_str().unwrap().to_owned();
    let run_token = house.letter(&running, "main-0").token;
    canaries.push(Canary::new("run token", run_token.as_bytes()));
    seen.texts.push(("the order of a run".into(), order(&house, &run_token, &running)));

    until("it is being saved", || block_on(s3.store().head("begun/hash")).is_ok());
    let mut scan = Scan::default();
    let root = house.place().parent().unwrap().to_owned();
    scan.walk(&root, &canaries, belongs);
    for job in ["inline", "variable", "file", "begun"] {
        seen.cli(&["stop", job]);
    }
    seen.everything_there_is_to_ask();
    until("all tasks are gone", || house.supervisors().is_empty());
    scan.walk(&root, &canaries, belongs);
    for (place, bytes) in &seen.texts {
        scan.look(place, bytes, &canaries, |_| false);
    }
    let stored: Vec<Entry> = block_on(s3.store().list("").try_collect()).unwrap();
    for Entry { path, .. } in stored {
        scan.look(&format!("the bucket's {path}"), &read_object(&s3, &path), &canaries, |_| false);
    }
    scan.look("another git server's log", format!("{:?}", other_git.seen()).as_bytes(), &canaries, |_| false);
    let (looks, of_processes) = watch.stop();
    assert!(looks >= 20, "processes were looked at only {looks} times");
    everything_was_looked_at(&scan, &root);
    assert_eq!([scan.found, of_processes].concat(), Vec::<String>::new());
    assert!(canaries.len() >= 12);
}

fn order(house: &House, token: &str, job: &str) -> Vec<u8> {
    let client = Client::new(&house.url(), token).unwrap();
    let path = format!("/api/v1/runs/{job}:main-0:1/order");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(client.call(Call::get(&path))).unwrap().to_vec()
}

/// A scan that looks nowhere finds nothing.
fn everything_was_looked_at(scan: &Scan, root: &Path) {
    let places = [
        "server.log",
        "store.db",
        "store.db-wal",
        "order.json",
        "supervisor.json",
        "supervisor.log",
        "output.log",
        "exit.json",
        "GET /api/v1/secrets",
        "/spec",
        "/events",
        "/explain",
        "/environment?task=main-0",
        "/provenance",
        "/lineage",
        "datasets/signed/versions/1",
        "algorithms/told/versions/1",
        "a dataset",
        "an algorithm",
        "a dry run",
        "a refusal",
        "the order of a run",
        "the command line",
        "another git server's log",
        "server.json",
        "main-0.sent",
        "synced.json",
        "the bucket's saved/.trainmaster/manifest-main-0.json",
        "the bucket's begun/.trainmaster/manifest-main-0.json",
        "the bucket's logs/saved/1/main-0.1.log",
    ];
    for wanted in places {
        assert!(scan.places.iter().any(|place| place.ends_with(wanted)), "{wanted} was not looked at: {:#?}", scan.places);
    }
    let log = fs::read_to_string(root.join("server.log")).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log has not everything in it: {log:.500}");
}

#[test]
fn the_scan_finds_a_secret_in_every_form_and_place() {
    let (canary, place) = (Canary::fresh("planted"), tempfile::tempdir().unwrap());
    let value = canary.value.as_bytes();
    let base64 =
        |before: &str| base64::Engine::encode(&base64::engine::general_purpose::STANDARD, format!("{before}{}after", canary.value));
    let planted = [
        ("raw", canary.value.clone()),
        ("reversed", String::new()),
        ("hexadecimal", value.iter().map(|byte| format!("{byte:02x}")).collect()),
        ("JSON-escaped", serde_json::to_string(&canary.value).unwrap()),
        ("base64", base64("")),
        ("base64", base64("x")),
        ("base64", base64("xy")),
    ];
    for (number, (form, text)) in planted.iter().enumerate() {
        let reversed: Vec<u8> = value.iter().rev().copied().collect();
        let bytes = if *form == "reversed" { reversed } else { text.clone().into_bytes() };
        fs::write(place.path().join(format!("{number}")), [b"before \xff".as_slice(), &bytes, b"\0after"].concat()).unwrap();
        let mut scan = Scan::default();
        scan.walk(place.path(), std::slice::from_ref(&canary), |_, _| false);
        assert_eq!(scan.found, [format!("the planted is in {number}, {form}")]);
        fs::remove_file(place.path().join(format!("{number}"))).unwrap();
    }
    let watch = Watch::start(vec![canary.clone()], |_, _| false);
    let mut child = Command::new("sleep").arg("600").env("PLANTED", &canary.value).arg0(&canary.value).spawn().unwrap();
    until("it is seen", || watch.has_seen(2));
    child.kill().unwrap();
    child.wait().unwrap();
    let (_, found) = watch.stop();
    assert!(
        found.iter().any(|it| it.contains("in the arguments of")) && found.iter().any(|it| it.contains("in the environment of")),
        "{found:?}"
    );
}
