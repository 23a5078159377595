//! Logs as people read them: lines, merged, filtered, followed, searched, downloaded; and how far they say a task is.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
};

use serde_json::{Value, json};
use trainmaster::{
    client::{Call, Client},
    store::tokens,
};

use crate::house::{House, text, until, until_some};

fn lines(house: &House, job: &str, query: &str) -> Value {
    house.get_json(&format!("/api/v1/jobs/{job}/lines?{query}"))
}

fn texts(page: &Value) -> Vec<String> {
    page["lines"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap().to_owned()).collect()
}

fn printed(house: &House, args: &[&str]) -> String {
    let out = house.cli(args);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    text(&out.stdout)
}

/// Two tasks that speak in turn, each when the other's line is in the log: a line has the time at which it was read, and two
/// supervisors on a busy machine may read later than the other task speaks.
fn in_turn(house: &House) -> String {
    let say = "i=$TRAINMASTER_TASK_INDEX; for n in 0 1 2 3; do \
               until [ -e /cache/turn-$((2*n+i)) ]; do sleep 0.01; done; echo task $i says $n; done";
    let roles = json!({ "worker": { "tasks": 2, "cpus": 0.5, "command": say } });
    let job = house.submit(&json!({ "name": "turns", "roles": roles }).to_string());
    house.wait_for(&job, "running");
    for turn in 0..8 {
        std::fs::write(house.data().join(format!("cache/turn-{turn}")), "").unwrap();
        until("the line is in the log", || texts(&lines(house, &job, "from=start")).len() == turn + 1);
    }
    house.wait_for(&job, "succeeded");
    job
}

#[test]
fn several_tasks_are_merged_by_time_and_read_page_by_page_in_both_directions() {
    let house = House::new();
    let job = in_turn(&house);
    let wanted: Vec<String> = (0..4).flat_map(|n| (0..2).map(move |i| format!("task {i} says {n}"))).collect();
    assert_eq!(texts(&lines(&house, &job, "from=start")), wanted);
    assert_eq!(texts(&lines(&house, &job, "limit=3")), wanted[5..]);
    for (direction, first) in [("after", "from=start"), ("before", "from=end")] {
        let (mut all, mut query) = (Vec::new(), format!("{first}&limit=3"));
        loop {
            let page = lines(&house, &job, &query);
            let found = texts(&page);
            all = if direction == "after" { [all, found].concat() } else { [found, all].concat() };
            if page["at_end"] == true {
                break;
            }
            query = format!("{direction}={}&limit=3", page[direction].as_str().unwrap());
        }
        assert_eq!(all, wanted, "{direction}");
    }
    assert_eq!(texts(&lines(&house, &job, "task=worker-1&tail=2")), ["task 1 says 2", "task 1 says 3"]);
    assert_eq!(texts(&lines(&house, &job, "role=worker&pattern=says%20[12]&regex=true&from=start&limit=2")), wanted[2..4]);
    let context = lines(&house, &job, "pattern=0%20says%202&context=1");
    assert_eq!(texts(&context), wanted[3..6]);
    let marks: Vec<(bool, &Value)> =
        context["lines"].as_array().unwrap().iter().map(|it| (it["context"] == true, &it["matches"])).collect();
    assert_eq!(marks, [(true, &Value::Null), (false, &json!([[5, 13]])), (true, &Value::Null)]);
    let shown = printed(&house, &["logs", &job, "--grep", "SAYS [01]", "-i", "--head", "3"]);
    assert_eq!(shown, "[worker-0] task 0 says 0\n[worker-1] task 1 says 0\n[worker-0] task 0 says 1\n");
    let last = printed(&house, &["logs", &job, "-F", "--grep", "says", "--tail", "2", "--timestamps"]);
    assert!(last.lines().count() == 2 && last.starts_with("20") && last.ends_with("[worker-1] task 1 says 3\n"), "{last}");
}

#[test]
fn what_the_platform_says_is_kept_apart_and_marked() {
    let house = House::new();
    let job = house.submit(
        &json!({ "name": "unready", "setup": "echo out; echo err >&2; exit 3", "roles": { "main": { "command": "true" } } }).to_string(),
    );
    house.wait_for(&job, "failed");
    let read = |stream: &str| text(&house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?{stream}")).unwrap());
    assert_eq!((read("stream=stdout"), read("stream=stderr")), ("out\n".into(), "err\n".into()));
    let ours = read("stream=platform");
    assert!(ours.starts_with("[trainmaster: ") && ours.ends_with("the command was not started]\n"), "{ours}");
    assert_eq!(read("stream=merged").len(), ours.len() + 8);
    assert_eq!(read("platform=false").len(), 8);
    let page = lines(&house, &job, "stream=platform");
    assert_eq!((texts(&page).len(), &page["lines"][0]["stream"]), (1, &json!("platform")));
    assert!(!printed(&house, &["logs", &job, "--no-platform"]).contains("trainmaster"));
    assert!(printed(&house, &["logs", &job, "--follow"]).contains(ours.trim_end()));
}

#[test]
fn a_bar_of_a_million_frames_is_one_line_and_says_how_far_it_is() {
    let house = House::new();
    let bar = "import sys, os, time\nw = sys.stderr.write\nfor i in range(1, 1000001):\n w('\\rtrain: %3d%%|#####     | %d/2000000 [00:10<00:%02d, 99.0it/s]' % (i // 20000, i, i % 60))\n\
               sys.stderr.flush()\nprint('\\x1b[31mred\\x1b[0m\\x1b[2J and \\x1b]0;title\\x07plain', flush=True)\nopen('/cache/done', 'w')\nwhile not os.path.exists('/cache/go'): time.sleep(0.01)\n";
    let job = house.submit(&json!({ "name": "bar", "roles": { "main": { "command": ["python3", "-c", bar] } } }).to_string());
    until("the bar is out", || house.data().join("cache/done").exists());
    let page = until_some("all of it is in the log", || {
        Some(lines(&house, &job, "limit=5")).filter(|page| page["lines"].as_array().unwrap().len() == 2)
    });
    let (red, frame) = (&page["lines"][0], &page["lines"][1]);
    assert_eq!(
        (red["text"].as_str(), &red["colours"]),
        (Some("red and plain"), &json!([{ "at": 0, "sgr": "31" }, { "at": 3, "sgr": "" }]))
    );
    assert_eq!(frame["text"], "train:  50%|#####     | 1000000/2000000 [00:10<00:40, 99.0it/s]");
    assert_eq!(frame["unfinished"], true);
    assert!(page.to_string().len() < 1500, "{page}");
    let shown = house.show(&job);
    let told = &shown["progress"]["tasks"][0];
    assert_eq!(
        (&told["done"], &told["total"], &told["left_s"], &told["percent"]),
        (&json!(1e6), &json!(2e6), &json!(40), &json!(50.0)),
        "{shown}"
    );
    assert!(printed(&house, &["show", &job]).contains("[#####-----]  50% 40s left"));
    assert!(printed(&house, &["list", "--progress"]).contains("[#####-----]  50% 40s left"));
    std::fs::write(house.data().join("cache/go"), "").unwrap();
    house.wait_for(&job, "succeeded");
    assert_eq!(house.show(&job).get("progress"), None, "what is over is not on its way");
}

#[test]
fn lines_can_be_followed_with_a_filter_through_a_restart() {
    let mut house = House::new();
    let job = house.submit_line(
        "long",
        "i=0; until [ -e /cache/enough ]; do i=$((i+1)); echo odd $i; echo even $i >&2; sleep 0.005; done; printf 'odd end'",
    );
    house.wait_for_output(&job, "main-0", "odd 10\n");
    house.keep_port();
    let follower = house.cli_in_background(&["logs", "-f", &job, "--grep", "^odd"]);
    for _ in 0..3 {
        let before = std::fs::metadata(house.run_dir(&job, "main-0", 1).join("output.log")).unwrap().len();
        until("the task goes on", || std::fs::metadata(house.run_dir(&job, "main-0", 1).join("output.log")).unwrap().len() > before + 300);
        house.restart();
    }
    std::fs::write(house.data().join("cache/enough"), "").unwrap();
    house.wait_for(&job, "succeeded");
    let out = follower.wait_with_output().unwrap();
    let wanted: String = house.log(&job, "main-0").lines().filter(|line| line.starts_with("odd")).map(|line| format!("{line}\n")).collect();
    assert!(text(&out.stdout) == wanted, "{}\nwas to be\n{wanted}\n{}", text(&out.stdout), text(&out.stderr));
}

#[test]
fn whoever_begins_to_follow_several_tasks_sees_what_is_there_in_the_order_of_its_times() {
    let house = House::new();
    // Each waits for the other's last word, so that they speak in turn.
    let command = "i=$TRAINMASTER_TASK_INDEX; n=$i; while [ $n -lt 8 ]; do \
        until [ $n = 0 ] || [ -e /cache/said-$((n-1)) ]; do sleep 0.01; done; \
        echo word $n; sleep 0.01; : > /cache/said-$n; n=$((n+2)); done; \
        until [ -e /cache/go ]; do sleep 0.01; done; echo last of $i; printf 'no end'";
    let roles = serde_json::json!({ "w": { "tasks": 2, "cpus": 0.1, "memory": "64MiB", "command": command } });
    let job = house.submit(&serde_json::json!({ "name": "turns", "roles": roles }).to_string());
    house.wait_for_output(&job, "w-1", "word 7\n");
    let follower = house.cli_in_background(&["logs", "-f", &job]);
    std::fs::write(house.data().join("cache/go"), "").unwrap();
    house.wait_for(&job, "succeeded");
    let while_it_ran = text(&follower.wait_with_output().unwrap().stdout);
    for said in [while_it_ran, printed(&house, &["logs", "-f", &job])] {
        let words: Vec<&str> = said.lines().filter_map(|line| line.split_once("word ")).map(|(_, number)| number).collect();
        assert_eq!(words, ["0", "1", "2", "3", "4", "5", "6", "7"], "{said}");
        assert_eq!((said.matches("last of").count(), said.matches("no end").count()), (2, 2), "{said}");
    }
}

#[test]
fn a_part_of_a_log_is_what_was_asked_for() {
    let house = House::new();
    let job = house.submit_line("parts", "printf 'a\\nhit 1\\nb\\nc\\nhit 2\\nd\\nhit 3\\ne\\n'; echo aside >&2");
    house.wait_for(&job, "succeeded");
    let part = |args: &[&str]| printed(&house, &[&["logs", &job, "--no-platform"], args].concat());
    assert_eq!(part(&["--grep", "hit", "--head", "1", "-C", "1"]), "a\nhit 1\nb\n");
    assert_eq!(part(&["--grep", "hit", "--head", "2", "-C", "1"]), "a\nhit 1\nb\nc\nhit 2\nd\n");
    assert_eq!(part(&["--grep", "hit", "--tail", "1", "-C", "1", "--stream", "stdout"]), "d\nhit 3\ne\n");
    assert_eq!(part(&["--head", "2", "--stream", "stdout"]), "a\nhit 1\n");
    assert_eq!(part(&["--tail-bytes", "4", "--stream", "stdout"]), "3\ne\n");
    assert_eq!(part(&["--tail-bytes", "4096", "--stream", "stderr"]), "aside\n");
    assert_eq!(part(&["--task", "parts_main_1", "--stream", "stderr"]), "aside\n");
    let by_container = text(&house.get(&format!("/api/v1/jobs/{job}/follow?task=parts_main_1")).unwrap());
    assert!(by_container.contains("aside"), "{by_container}");
}

/// What a reader is told of a job's lines, the id and the data of each.
fn told(house: &House, job: &str, after: &str) -> Vec<(String, Value)> {
    let authority = house.url().trim_start_matches("http://").to_owned();
    let mut line = TcpStream::connect(&authority).unwrap();
    let path = format!("/api/v1/jobs/{job}/lines?follow=true&platform=false");
    let headers = format!("Host: {authority}\r\nAuthorization: Bearer {}\r\nLast-Event-ID: {after}\r\n", house.token());
    write!(line, "GET {path} HTTP/1.1\r\n{headers}\r\n").unwrap();
    let (mut kind, mut id, mut heard) = (String::new(), String::new(), Vec::new());
    for text in BufReader::new(line).lines().map(Result::unwrap) {
        match text.split_once(": ") {
            Some(("event", it)) => kind = it.to_owned(),
            Some(("id", it)) => id = it.to_owned(),
            Some(("data", data)) if kind == "line" => heard.push((id.clone(), serde_json::from_str(data).unwrap())),
            Some(("data", _)) if kind == "end" => return heard,
            _ => {}
        }
    }
    panic!("the end was not told, only {heard:?}")
}

#[test]
fn whoever_follows_lines_and_is_cut_off_after_any_of_them_goes_on_with_the_next() {
    let house = House::new();
    let job = house.submit_line("brief", "seq 1 40; seq 41 50 >&2; printf end");
    house.wait_for(&job, "succeeded");
    let all = told(&house, &job, "");
    let texts = |heard: &[(String, Value)]| heard.iter().map(|it| it.1["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(all.len(), 51);
    for (cut, (id, _)) in all.iter().enumerate() {
        assert_eq!(texts(&told(&house, &job, id)), texts(&all[cut + 1..]), "cut after line {}", cut + 1);
    }
}

#[test]
fn a_task_that_is_tried_again_alone_speaks_of_one_attempt_after_the_other() {
    let house = House::new();
    let say = "seq -f \"$TRAINMASTER_ATTEMPT-%g\" 1 30000; printf end; [ $TRAINMASTER_ATTEMPT = 3 ]";
    let roles = json!({ "flaky": { "command": say, "retries": 2 }, "steady": { "command": "true" } });
    let job = house.submit(&json!({ "name": "again", "gang": false, "roles": roles }).to_string());
    let follower = house.cli_in_background(&["logs", "-f", &job, "--task", "flaky-0"]);
    house.wait_for(&job, "succeeded");
    let wanted: String = (1..=3).map(|attempt| (1..=30_000).map(|n| format!("{attempt}-{n}\n")).collect::<String>() + "end").collect();
    assert!(text(&follower.wait_with_output().unwrap().stdout) == wanted, "attempts are mixed");
    assert!(text(&house.cli(&["logs", "-f", &job, "--task", "flaky-0"]).stdout) == wanted, "attempts are mixed afterwards");
    let all = lines(&house, &job, "task=flaky-0&attempt=all&from=start&limit=5000");
    assert_eq!((&all["lines"][0]["attempt"], texts(&all)[0].as_str()), (&json!(1), "1-1"));
    let newest = lines(&house, &job, "task=flaky-0&limit=1");
    assert_eq!((&newest["lines"][0]["attempt"], texts(&newest)), (&json!(3), vec!["end".to_owned()]));
    let earlier = printed(&house, &["logs", &job, "--task", "flaky-0", "--attempt", "1"]);
    assert!(earlier.starts_with("1-1\n") && earlier.ends_with("1-30000\nend"), "an attempt keeps its log");
}

#[test]
fn logs_are_downloaded_as_files_or_as_one_archive() {
    let house = House::new();
    let say = "printf 'from %s\\0\\377' $TRAINMASTER_TASK_INDEX";
    let job = house.submit(&json!({ "name": "several", "roles": { "worker": { "tasks": 3, "cpus": 0.1, "command": say } } }).to_string());
    house.wait_for(&job, "succeeded");
    printed(&house, &["logs", &job, "--download", "all"]);
    printed(&house, &["logs", &job, "--download", "all.tar.gz", "--task", "worker-0,worker-2"]);
    let place = house.place();
    for index in 0..3 {
        let saved = std::fs::read(place.join(format!("all/worker-{index}.1.log"))).unwrap();
        assert_eq!(saved, [format!("from {index}").as_bytes(), b"\0\xff"].concat());
    }
    let unpacked = std::process::Command::new("tar").arg("-xzf").arg(place.join("all.tar.gz")).current_dir(&place).status().unwrap();
    assert!(unpacked.success());
    for (index, there) in [(0, true), (1, false), (2, true)] {
        let path = place.join(format!("several-1/worker-{index}.1.log"));
        assert_eq!(path.exists(), there);
        assert!(!there || std::fs::read(path).unwrap() == std::fs::read(place.join(format!("all/worker-{index}.1.log"))).unwrap());
    }
}

#[test]
fn a_search_finds_lines_in_all_jobs_of_whoever_asks() {
    let mut house = House::new();
    house.kill();
    let store = trainmaster::store::Store::open(&house.data()).unwrap();
    let hash = trainmaster::api::token_hash("ann");
    let add = move |sql: &trainmaster::store::Sql<'_>| tokens::add(sql, &hash, "ann", tokens::Role::User, "test", 1, None);
    tokio::runtime::Runtime::new().unwrap().block_on(store.write(add)).unwrap();
    drop(store);
    house.start();
    let jobs: Vec<String> = (0..3)
        .map(|n| house.submit_line(&format!("job-{n}"), &format!("seq -f 'loss {n} at %g' 1 200; echo 'CUDA error: {n}' >&2")))
        .collect();
    jobs.iter().for_each(|job| _ = house.wait_for(job, "succeeded"));
    let found = printed(&house, &["search", "cuda error", "-i"]);
    let mut found: Vec<&str> = found.lines().collect();
    found.sort_unstable();
    assert_eq!(found, ["job-0@1/main-0: CUDA error: 0", "job-1@1/main-0: CUDA error: 1", "job-2@1/main-0: CUDA error: 2"]);
    let json = printed(&house, &["--json", "search", "loss 1 at 1[0-9]$", "--name", "job-1", "-n", "4"]);
    let answers: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((answers.len(), &answers[4]["end"]["more"], &answers[0]["hit"]["matches"]), (5, &json!(true), &json!([[0, 12]])), "{json}");
    assert_eq!(house.cli(&["search", "-F", "loss . at"]).status.code(), Some(1), "nothing is like that");
    let ask = |path: &str| {
        let client = Client::new(&house.url(), "ann").unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(client.call(Call::get(path))).map(|it| text(&it)).map_err(|error| error.to_string())
    };
    let nothing = ask("/api/v1/search/logs?pattern=CUDA").unwrap();
    assert_eq!(nothing, "{\"end\":{\"hits\":0,\"jobs\":0,\"logs\":0,\"bytes\":0,\"more\":false}}\n");
    assert_eq!(ask("/api/v1/progress").unwrap(), "[]");
    for path in ["lines", "lines?follow=true", "logs/archive", "tasks/main-0/log", "follow"] {
        assert_eq!(ask(&format!("/api/v1/jobs/{}/{path}", jobs[0])).unwrap_err(), format!("there is no job `{}`", jobs[0]), "{path}");
    }
    let said = house.get("/api/v1/search/logs?pattern=(&regex=true").unwrap_err().to_string();
    assert!(said.contains("is not a regular expression: unclosed group"), "{said}");
}
