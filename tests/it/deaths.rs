//! Scripted deaths, really died, each with the cause it must be given and its sentence in both languages.
//!
//! Where a real one needs a device that is not here, the script says what the library says. The sentences stand in
//! `deaths/expected.txt`; `UPDATE_SNAPSHOTS=1` writes them anew, to be read by a person.

use std::{collections::BTreeMap, fs, path::Path};

use serde_json::{Value, json};
use trainmaster::client::Call;

use crate::{
    house::{House, until_some, until_some_within},
    place::is_root,
};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/deaths/expected.txt");
const FOUR_CPUS: [&str; 6] = ["--nodes", "1", "--node-cpus", "4", "--node-memory", "16GiB"];

/// `== name` and a script, again and again. The name is the cause it must be given, and perhaps `/` and a variant.
fn scripts(text: &'static str) -> Vec<(&'static str, &'static str)> {
    text.strip_prefix("== ").unwrap().split("\n== ").map(|part| part.split_once('\n').unwrap()).collect()
}

/// A job whose only task dies in a certain way.
struct Death {
    name: String,
    spec: Value,
}

fn death(name: &str, role: Value, more: Value) -> Death {
    let mut spec = json!({ "name": name.replace('/', "-"), "roles": { "main": role } });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    spec["roles"]["main"]["cpus"] = json!(0.25);
    if spec["roles"]["main"]["memory"].is_null() {
        spec["roles"]["main"]["memory"] = json!("256MiB");
    }
    Death { name: name.to_owned(), spec }
}

fn by_script(code: &Path) -> Vec<Death> {
    let python = scripts(include_str!("deaths/python.txt")).into_iter().map(|(name, script)| {
        let file = format!("{}.py", name.replace('/', "-"));
        fs::write(code.join(&file), script).unwrap();
        death(name, json!({ "command": ["python3", file] }), json!({ "code": code }))
    });
    let shell = scripts(include_str!("deaths/shell.txt")).into_iter();
    python.chain(shell.map(|(name, line)| death(name, json!({ "command": line.trim_end() }), json!({})))).collect()
}

fn that_never_begin(code: &Path) -> Vec<Death> {
    for (name, text, mode) in
        [("text", "no program\n", 0o755), ("closed", "#!/bin/sh\n", 0o644), ("lost", "#!/no/such/interpreter\n", 0o755)]
    {
        fs::write(code.join(name), text).unwrap();
        fs::set_permissions(code.join(name), std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }
    let run = |name, command: Value| death(name, json!({ "command": command }), json!({ "code": code }));
    let set_up = |name, setup: &str| death(name, json!({ "command": "true" }), json!({ "setup": setup }));
    vec![
        run("start-no-program", json!(["pyhton3", "train.py"])),
        run("start-no-interpreter", json!(["./lost"])),
        run("start-not-executable", json!(["./closed"])),
        run("start-not-a-program", json!(["./text"])),
        set_up("setup-failed", "exit 5"),
        set_up("setup-command-missing", "instal-things"),
        set_up("setup-pip", "echo 'ERROR: Could not find a version that satisfies the requirement torhc (from versions: none)'; exit 1"),
    ]
}

/// What takes control groups, which only root can make everywhere.
fn by_limits() -> Vec<Death> {
    let shell = |name, role: Value| death(name, role, json!({}));
    let fork = "import os, time\nfor _ in range(100000):\n if os.fork() == 0:\n  time.sleep(60)\n  os._exit(0)\n";
    let fill = "f = open('/dev/shm/x', 'wb')\nwhile True: f.write(b'x' * 65536)";
    let touch = "import mmap, os\nfd = os.open('/dev/shm/x', os.O_CREAT | os.O_RDWR)\nos.ftruncate(fd, 8 << 20)\nm = mmap.mmap(fd, 8 << 20)\n\
                 for at in range(0, 8 << 20, 4096): m[at] = 1\n";
    let keep = "import os, time\nos.posix_fallocate(os.open('/output/model', os.O_CREAT | os.O_RDWR), 0, 8 << 20)\ntime.sleep(60)\n";
    vec![
        shell("memory-limit", json!({ "memory": "64MiB", "command": ["python3", "-c", "x = bytearray(300 << 20)"] })),
        shell("disk-limit", json!({ "disk": "4MiB", "command": ["python3", "-c", keep] })),
        shell("process-limit", json!({ "memory": "2GiB", "command": ["python3", "-c", fork] })),
        shell("shm-full", json!({ "shared_memory": "1MiB", "command": ["python3", "-c", fill] })),
        shell("shm-full-bus", json!({ "shared_memory": "4MiB", "command": ["python3", "-c", touch] })),
    ]
}

/// What `explain` says of it in both languages.
fn explained(house: &House, job: &str) -> [Value; 2] {
    ["en", "zh"].map(|lang| house.get_json(&format!("/api/v1/jobs/{job}/explain?lang={lang}")))
}

/// What is wrong with a diagnosis, if anything is.
fn wrong(name: &str, [en, zh]: &[Value; 2]) -> Option<String> {
    let (said, meant) = (&en["failure"]["diagnosis"]["id"], name.split('/').next().unwrap());
    let translated = en["failure"]["diagnosis"]["sentence"] != zh["failure"]["diagnosis"]["sentence"];
    (said != meant || !translated).then(|| format!("{name} is {said}: {:#}", en["failure"]))
}

fn line(name: &str, [en, zh]: &[Value; 2]) -> String {
    let say = |it: &Value, what: &str| it["failure"]["diagnosis"][what].as_str().unwrap_or("nothing").to_owned();
    format!("{name} [{}]\n  {}\n  {}\n", say(en, "retry"), say(en, "sentence"), say(zh, "sentence"))
}

/// The lines of the deaths that were died must stand in the file, word for word.
fn as_expected(said: &BTreeMap<String, String>) {
    let text = fs::read_to_string(EXPECTED).unwrap_or_default();
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for lines in text.lines().collect::<Vec<_>>().chunks(3) {
        known.insert(lines[0].split(' ').next().unwrap().to_owned(), lines.join("\n") + "\n");
    }
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        known.extend(said.clone());
        fs::write(EXPECTED, known.values().cloned().collect::<String>()).unwrap();
    }
    for (name, lines) in said {
        assert_eq!(known.get(name), Some(lines), "{name}");
    }
}

fn all_die(house: &House, deaths: &[Death]) {
    let submitted: Vec<String> = deaths.iter().map(|it| house.submit(&it.spec.to_string())).collect();
    let (mut said, mut mistakes) = (BTreeMap::new(), Vec::new());
    let patience = std::time::Duration::from_secs(180);
    for (death, job) in deaths.iter().zip(&submitted) {
        let over = until_some_within(patience, &format!("{} is over", death.name), || {
            let shown = house.show(job);
            ["succeeded", "failed", "stopped"].contains(&shown["state"].as_str().unwrap()).then_some(shown)
        });
        assert_eq!(over["state"], "failed", "{}: {over:#}", death.name);
        let explained = explained(house, job);
        mistakes.extend(wrong(&death.name, &explained));
        said.insert(death.name.clone(), line(&death.name, &explained));
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    as_expected(&said);
}

#[test]
fn a_hundred_scripted_deaths_are_told_apart_in_both_languages() {
    let house = House::with_args(&FOUR_CPUS);
    let code = house.place();
    let deaths: Vec<Death> = by_script(&code).into_iter().chain(that_never_begin(&code)).collect();
    assert!(deaths.len() >= 100, "only {}", deaths.len());
    all_die(&house, &deaths);
}

#[test]
fn what_the_kernel_ends_is_proven_by_the_kernel() {
    if !is_root("limit what a task takes everywhere") {
        return;
    }
    let house = House::with_args(&FOUR_CPUS);
    all_die(&house, &by_limits());
    let [memory, _] = explained(&house, "memory-limit");
    let evidence = memory["failure"]["diagnosis"]["evidence"].to_string();
    assert!(evidence.contains("control group: oom_kill 1, peak "), "{evidence}");
}

#[test]
fn a_gang_that_does_not_come_together_says_who_was_missing() {
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "4", "--node-memory", "4GiB", "--gang-timeout", "1s"]);
    house.start();
    let roles = json!({ "slow": { "command": "true", "cpus": 0.5 }, "quick": { "command": "true", "cpus": 0.5 } });
    let job =
        house.submit(&json!({ "name": "apart", "setup": "case $TRAINMASTER_ROLE in slow*) sleep 60;; esac", "roles": roles }).to_string());
    let retried = until_some("it is tried again", || {
        let page = house.get_json(&format!("/api/v1/jobs/{job}/events?text=retried"));
        page["events"][0]["reason"].as_str().map(str::to_owned)
    });
    assert!(retried.starts_with("quick-0 could not start: slow-0 was not ready within 1s"), "{retried}");
    assert!(retried.contains("the failure was the platform's, so this retry does not count"), "{retried}");
    let _ = house.call(Call::post(&format!("/api/v1/jobs/{job}/stop"), ""));
}

#[test]
fn out_of_memory_is_never_tried_for_ever_and_what_ends_the_same_way_not_at_all() {
    if !is_root("limit the memory of a task everywhere") {
        return;
    }
    let house = House::with_args(&FOUR_CPUS);
    let greedy = death(
        "greedy",
        json!({ "memory": "64MiB", "command": ["python3", "-c", "x = bytearray(300 << 20)"] }),
        json!({ "retries": "always" }),
    );
    let hopeless = death("hopeless", json!({ "command": ["python3", "-c", "import nothing_like_it"] }), json!({ "retries": "always" }));
    let (greedy, hopeless) = (house.submit(&greedy.spec.to_string()), house.submit(&hopeless.spec.to_string()));
    let shown = house.wait_for(&hopeless, "failed");
    assert_eq!(shown["attempt"], 1);
    let shown = house.wait_for(&greedy, "failed");
    assert_eq!(shown["attempt"], 4, "three retries and no more: {shown:#}");
    let [en, zh] = explained(&house, &greedy);
    assert_eq!(en["rule"], "it was tried again 3 times, and such an end is not tried for ever");
    assert_eq!(zh["rule"], "已重试 3 次，这类结束不会无限重试");
}

#[test]
fn the_rule_that_is_told_is_the_one_that_decided_and_not_that_of_the_first_failure() {
    let house = House::with_args(&FOUR_CPUS);
    // The first would never be tried again; it is the second that decides the job, and its failure may well be.
    let command = "if [ $TRAINMASTER_TASK_INDEX = 0 ]; then no-such-program; else sleep 2; exit 3; fi";
    let roles = json!({ "main": { "cpus": 0.5, "tasks": 2, "completion": { "min_failed": 2 }, "command": command } });
    let job = house.submit(&json!({ "name": "two", "retries": 1, "roles": roles }).to_string());
    let shown = house.wait_for(&job, "failed");
    let [en, zh] = explained(&house, &job);
    assert_eq!(en["failure"]["task"], "main-0", "{en:#}");
    assert_eq!((&en["rule"], &zh["rule"]), (&json!("all 1 retries are used"), &json!("1 次重试已全部用完")), "{shown:#}");
}

#[test]
fn the_first_task_to_fail_is_told_with_its_traceback_and_what_it_did_to_the_others() {
    let house = House::with_args(&FOUR_CPUS);
    let code = house.place();
    fs::write(code.join("train.py"), "def main():\n    raise ValueError('no data')\nmain()\n").unwrap();
    let roles = json!({
        "first": { "cpus": 0.5, "command": ["python3", "train.py"] },
        "other": { "cpus": 0.5, "tasks": 2, "command": "sleep 600" },
    });
    let job = house.submit(&json!({ "name": "echo", "code": code, "roles": roles }).to_string());
    let shown = house.wait_for(&job, "failed");
    let reason = shown["reason"].as_str().unwrap();
    assert!(reason.contains("(the program raised ValueError: no data (train.py:2 in main)); no retries were asked for"), "{reason}");
    assert!(
        shown["reason_zh"].as_str().unwrap().contains("（程序抛出了 ValueError：no data（train.py:2 in main））；作业没有要求重试"),
        "{shown:#}"
    );
    let [en, zh] = explained(&house, &job);
    assert_eq!((&en["failure"]["task"], &en["failure"]["diagnosis"]["id"]), (&json!("first-0"), &json!("python-exception")));
    assert!(en["failure"]["traceback"].as_str().unwrap().ends_with("ValueError: no data"), "{en:#}");
    assert_eq!(
        (&en["consequence"], &zh["consequence"]),
        (&json!("2 other tasks were stopped because of it"), &json!("另有 2 个任务因此被停止"))
    );
    assert_eq!((&en["rule"], &zh["rule"]), (&json!("no retries were asked for"), &json!("作业没有要求重试")));
    assert!(en["next_step"].as_str().unwrap().starts_with("the traceback at the end of the log shows the way there; read"), "{en:#}");
    let out = house.cli(&["explain", "echo", "--lang", "zh"]);
    let said = crate::house::text(&out.stdout);
    assert!(
        said.contains("echo@1 错误：") && said.contains("[python-exception]") && said.contains("raise ValueError('no data')"),
        "{said}"
    );
}

#[test]
fn an_operators_own_cause_is_found_first_and_a_wrong_file_is_refused_with_every_problem() {
    let mut house = House::unopened(&FOUR_CPUS);
    let (config, causes) = (house.place().join("server.toml"), house.place().join("causes.toml"));
    fs::write(&config, format!("[catalogue]\nfile = '{}'\n", causes.display())).unwrap();
    let cause = "[[cause]]\nid = 'licence'\nwhen = { exit = [77], text = 'host (?P<host>\\S+) busy' }\nretry = 'never'\n\
                 title = { en = 'no licence', zh = '没有许可证' }\nsays = { en = 'all licences of {host} are in use', zh = '{host} 的许可证已用完' }\n\
                 advice = { en = 'wait', zh = '请等待' }\n";
    house.args(&["--config", config.to_str().unwrap()]);
    fs::write(&causes, cause.replace("'never'", "'sometimes'").replace("{host} are", "{hots} are")).unwrap();
    house.spawn();
    assert!(!house.ended().success());
    let said = house.server_log();
    assert!(said.contains("cause `licence`") && said.contains("sometimes"), "{said}");
    fs::write(&causes, cause).unwrap();
    house.start();
    let job = house.submit_line("licensed", "echo host lic-1 busy; exit 77");
    house.wait_for(&job, "failed");
    let [_, zh] = explained(&house, &job);
    assert_eq!(zh["failure"]["diagnosis"]["sentence"], "lic-1 的许可证已用完");
    let listed = crate::house::text(&house.cli(&["catalogue", "licence", "--lang", "en"]).stdout);
    assert!(listed.contains("licence  no licence") && listed.contains("not tried again"), "{listed}");
}

#[test]
fn a_timeline_tells_every_step_of_a_job_with_its_duration() {
    let house = House::with_args(&FOUR_CPUS);
    let roles = json!({ "a": { "cpus": 0.5, "command": "echo hello" }, "b": { "cpus": 0.5, "command": "sleep 1.5; echo late; exit 3" } });
    let job = house.submit(&json!({ "name": "told", "retries": 1, "setup": "sleep 0.2", "roles": roles }).to_string());
    house.wait_for(&job, "failed");
    let events = house.get_json(&format!("/api/v1/jobs/{job}/events"))["events"].as_array().unwrap().clone();
    let of = |task: Value, attempt: u64| -> Vec<String> {
        let own = events.iter().filter(|it| it["task"] == task && it["attempt"] == attempt);
        own.map(|it| it["kind"].as_str().unwrap().to_owned()).collect()
    };
    let steps = ["task_placed", "task_setup", "task_gang", "task_started", "task_spoke", "task_ended"];
    assert_eq!(of(json!("b-0"), 1), steps, "{events:#?}");
    assert_eq!(of(json!("a-0"), 2), steps, "{events:#?}");
    let jobs: Vec<String> =
        [1, 2].iter().flat_map(|attempt| of(Value::Null, *attempt)).filter(|kind| kind != "waiting" && kind != "running").collect();
    assert_eq!(jobs, ["submitted", "starting", "retried", "starting", "failed"], "{events:#?}");
    let setup = events.iter().find(|it| it["kind"] == "task_setup").unwrap();
    assert!(setup["took_ms"].as_u64().unwrap() >= 200, "{setup:#}");
    let retried = events.iter().find(|it| it["kind"] == "retried").unwrap();
    assert!(retried["reason"].as_str().unwrap().ends_with("retry 1 of 1"), "{retried:#}");
    assert!(retried["reason_zh"].as_str().unwrap().ends_with("第 1 次重试，共 1 次"), "{retried:#}");
    let ask = |query: &str| house.get_json(&format!("/api/v1/jobs/{job}/events?{query}"))["events"].as_array().unwrap().len();
    assert_eq!((ask("level=error"), ask("level=error&task=b-0"), ask("text=retry%201")), (3, 2, 1), "{events:#?}");
    let followed = house.cli(&["events", "told", "--follow", "--lang", "en"]);
    let said = crate::house::text(&followed.stdout);
    assert!(said.contains("setup (") && said.contains("first line") && said.trim_end().ends_with("all 1 retries are used"), "{said}");
    assert_eq!(said.lines().count(), events.len(), "{said}");
}
