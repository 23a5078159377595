//! The API's door: who is let in, and under which names.

use std::{
    io::{Read, Write},
    net::TcpStream,
};

use crate::house::{House, text};

/// A request as raw bytes, so that nothing is tidied up on the way.
fn raw(house: &House, request: &str) -> (u16, String) {
    let address = house.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(request.replace("{host}", &address).as_bytes()).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = text(&answer);
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok()).unwrap_or_else(|| panic!("no status in {answer:?}"));
    (status, answer)
}

#[test]
fn no_route_answers_without_a_token_except_those_that_tell_nothing() {
    let house = House::new();
    let document = house.get_json("/api/v1/openapi.json");
    let mut asked = 0;
    for path in document["paths"].as_object().unwrap().keys() {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
            let real = path.replace("{job}", "digits").replace("{task}", "main-0").replace("{node}", "node-1");
            let real = real.replace("{run}", "job-00000000000000000000000000000001:main-0:1");
            for token in ["", "Authorization: Bearer nothing\r\n", "Authorization: Bearer \r\n", "Authorization: Basic YTpi\r\n"] {
                let (status, _) = raw(
                    &house,
                    &format!("{method} {real} HTTP/1.1\r\nHost: {{host}}\r\n{token}Content-Length: 0\r\nConnection: close\r\n\r\n"),
                );
                let wanted = match (path.as_str(), method) {
                    ("/api/v1/health", "GET") => 200,
                    ("/api/v1/login", "POST") => 400,
                    ("/api/v1/health" | "/api/v1/login", _) => 405,
                    _ => 401,
                };
                assert_eq!(status, wanted, "{method} {path} {token:?}");
                asked += 1;
            }
        }
    }
    assert!(asked > 300, "only {asked} requests were tried");
    assert_eq!(raw(&house, "GET /api/v1/nowhere HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").0, 401);
}

#[test]
fn a_foreign_name_or_origin_is_refused_on_every_method() {
    let house = House::new();
    let token = house.token();
    for method in ["GET", "POST"] {
        for (headers, status) in [
            ("Host: evil.example\r\n", 421),
            ("Host: 127.0.0.1\r\n", 421),
            ("Host: {host}\r\nHost: {host}\r\n", 400),
            ("Host: {host}\r\nOrigin: http://evil.example\r\n", 403),
            ("Host: {host}\r\nOrigin: null\r\n", 403),
        ] {
            let request = format!(
                "{method} /api/v1/jobs HTTP/1.1\r\n{headers}Authorization: Bearer {token}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let (got, answer) = raw(&house, &request);
            assert!(got == status || (status == 400 && got == 421), "{method} {headers:?}: {answer}");
        }
    }
    let own = format!(
        "GET /api/v1/jobs HTTP/1.1\r\nHost: {{host}}\r\nOrigin: http://{{host}}\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n"
    );
    assert_eq!(raw(&house, &own).0, 200);
}

#[test]
fn a_run_s_token_opens_its_own_run_and_nothing_else() {
    let house = House::new();
    let job = house.submit_line("spy", "sleep 600");
    house.wait_for(&job, "running");
    let token = house.letter(&job, "main-0").token;
    let ask = |path: &str| {
        raw(
            &house,
            &format!("GET {path} HTTP/1.1\r\nHost: {{host}}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n", token.trim()),
        )
        .0
    };
    assert_eq!(ask(&format!("/api/v1/runs/{job}:main-0:1/order")), 200);
    assert_eq!(ask(&format!("/api/v1/runs/{job}:main-0:2/order")), 401);
    assert_eq!(ask("/api/v1/jobs"), 401);
}

#[test]
fn the_administrator_s_token_is_for_its_owner_s_eyes_only() {
    use std::os::unix::fs::PermissionsExt;
    let house = House::new();
    let mode = |path: &str| std::fs::metadata(house.data().join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("admin-token"), 0o600);
    assert_eq!(mode("run-secret"), 0o600);
    assert_eq!(mode("store.db"), 0o600);
    assert_eq!(mode("."), 0o700);
}

#[test]
fn lists_come_in_pages_and_can_be_filtered() {
    let house = House::new();
    for number in 0..7 {
        house.submit(&format!("{{name: page-{number}, tags: [t{}], roles: {{main: {{command: 'true'}}}}}}", number % 2));
    }
    let mut names = Vec::new();
    let mut path = "/api/v1/jobs?limit=3".to_owned();
    loop {
        let page = house.get_json(&path);
        names.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["name"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => path = format!("/api/v1/jobs?limit=3&cursor={next}"),
            None => break,
        }
    }
    let wanted: Vec<String> = (0..7).rev().map(|number| format!("page-{number}")).collect();
    assert_eq!(names, wanted);
    assert_eq!(house.get_json("/api/v1/jobs?tag=t1")["jobs"].as_array().unwrap().len(), 3);
    assert_eq!(house.get_json("/api/v1/jobs?name=page-3")["jobs"].as_array().unwrap().len(), 1);
    assert_eq!(house.get_json("/api/v1/jobs?q=ge-5")["jobs"].as_array().unwrap().len(), 1);
}

#[test]
fn the_largest_numbers_in_a_question_about_a_log_are_only_numbers() {
    let house = House::new();
    let job = house.submit_line("short", "echo one; echo two");
    house.wait_until_over(&job);
    let log = |query: &str| text(&house.get(&format!("/api/v1/jobs/{job}/tasks/main-0/log?{query}")).unwrap());
    assert_eq!(log(&format!("tail=1&limit={}", u64::MAX)), "two\n");
    assert_eq!(log(&format!("offset=4&limit={}", u64::MAX)), "two\n");
    assert_eq!(log(&format!("since_ms={}", u64::MAX)), "");
    assert_eq!(log(&format!("offset={}", u64::MAX)), "");
}

#[test]
fn more_followers_than_a_process_usually_has_files_keep_nobody_out() {
    use nix::sys::resource::{Resource, getrlimit, setrlimit};
    let (soft, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
    if hard < 4_000 {
        eprintln!("skipped: nobody can have more than {hard} files open here");
        return;
    }
    setrlimit(Resource::RLIMIT_NOFILE, 1_000, hard).unwrap();
    let house = House::new();
    setrlimit(Resource::RLIMIT_NOFILE, soft.max(4_000), hard).unwrap();
    let job = house.submit_line("watched", "echo here; sleep 600");
    house.wait_for_output(&job, "main-0", "here");
    let (address, token) = (house.url().trim_start_matches("http://").to_owned(), house.token());
    let follow = format!("GET /api/v1/jobs/{job}/follow HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\r\n");
    let crowd: Vec<TcpStream> = (0..1_100)
        .map(|_| {
            let mut stream = TcpStream::connect(&address).unwrap();
            stream.write_all(follow.as_bytes()).unwrap();
            stream
        })
        .collect();
    let next = house.submit_line("limit", "ulimit -n");
    house.wait_for(&next, "succeeded");
    assert_eq!(house.log(&next, "main-0"), "1000\n", "a task has what the server was given");
    drop(crowd);
    let said = house.server_log();
    assert!(!said.contains("could not take a connection") && !said.contains("ends early"), "{said}");
}
