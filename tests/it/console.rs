//! The console's door: its files, logging in and out, and what a browser's cookie is good for.

use std::{
    collections::BTreeMap,
    io::{Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use crate::house::{House, text};

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.body))
    }
}

/// A request with nothing but what is written in it.
fn ask(house: &House, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
    let address = house.url().trim_start_matches("http://").to_owned();
    let mut request = format!("{line} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
    headers.iter().for_each(|(name, value)| request += &format!("{name}: {value}\r\n"));
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(format!("{request}\r\n{body}").as_bytes()).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let answer = text(&bytes);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let pairs = head.lines().skip(1).filter_map(|line| line.split_once(": "));
    Answer { status, headers: pairs.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect(), body: body.to_owned() }
}

/// A browser that has logged in.
struct Browser<'a> {
    house: &'a House,
    cookie: String,
    key: String,
    origin: String,
}

impl<'a> Browser<'a> {
    fn with(house: &'a House, proof: &Value) -> Self {
        let answer = ask(house, "POST /api/v1/login", &[("Origin", &house.url())], &proof.to_string());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let cookie = answer.headers["set-cookie"].clone();
        assert!(cookie.contains("; HttpOnly") && cookie.contains("; SameSite=Strict"), "{cookie}");
        let cookie = cookie.split(';').next().unwrap().to_owned();
        Self { house, cookie, key: answer.json()["key"].as_str().unwrap().to_owned(), origin: house.url() }
    }

    fn with_token(house: &'a House) -> Self {
        Self::with(house, &json!({ "token": house.token() }))
    }

    fn ask(&self, line: &str, body: &str) -> Answer {
        let headers = [("Cookie", &*self.cookie), ("X-Trainmaster-Session", &*self.key), ("Origin", &*self.origin)];
        ask(self.house, line, &headers, body)
    }

    fn status_with(&self, line: &str, headers: &[(&str, &str)]) -> u16 {
        let all: Vec<_> = [("Cookie", &*self.cookie)].into_iter().chain(headers.iter().copied()).collect();
        ask(self.house, line, &all, "").status
    }
}

#[test]
fn a_session_lets_its_holder_do_what_the_token_allows_and_outlives_a_restart() {
    let mut house = House::new();
    house.keep_port();
    let (cookie, key) = {
        let browser = Browser::with_token(&house);
        assert_eq!(browser.ask("GET /api/v1/about", "").json()["user"], "admin");
        let submitted = browser.ask("POST /api/v1/jobs", "{name: by-hand, roles: {main: {command: 'true'}}}");
        assert_eq!(submitted.status, 201, "{}", submitted.body);
        (browser.cookie, browser.key)
    };
    house.restart();
    let browser = Browser { house: &house, cookie, key, origin: house.url() };
    assert_eq!(browser.ask("GET /api/v1/jobs/by-hand", "").status, 200);
    let left = browser.ask("DELETE /api/v1/session", "");
    assert_eq!(left.status, 204);
    assert!(left.headers["set-cookie"].contains("Max-Age=0"));
    assert_eq!(browser.ask("GET /api/v1/about", "").status, 401);
}

#[test]
fn a_cookie_alone_opens_nothing() {
    let house = House::new();
    let job = house.submit_line("quiet", "sleep 600");
    let browser = Browser::with_token(&house);
    let own = ("Origin", &*house.url());
    let key = ("X-Trainmaster-Session", &*browser.key);
    let stop = format!("POST /api/v1/jobs/{job}/stop");
    for (line, headers, status) in [
        ("GET /api/v1/jobs", vec![], 403),
        ("GET /api/v1/jobs", vec![("X-Trainmaster-Session", "1")], 403),
        ("GET /api/v1/jobs", vec![key], 200),
        (&stop, vec![], 403),
        (&stop, vec![own], 403),
        (&stop, vec![key], 403),
        (&stop, vec![key, ("Sec-Fetch-Site", "cross-site")], 403),
        (&stop, vec![key, ("Origin", "http://evil.example")], 403),
        (&stop, vec![key, ("Sec-Fetch-Site", "same-origin")], 200),
        ("GET /api/v1/about", vec![key, ("Authorization", "Bearer nothing")], 401),
    ] {
        assert_eq!(browser.status_with(line, &headers), status, "{line} {headers:?}");
    }
    let other = Browser::with_token(&house);
    let foreign_key = [("X-Trainmaster-Session", &*other.key)];
    assert_eq!(browser.status_with("GET /api/v1/jobs", &foreign_key), 403, "a key is good for its own session");
}

#[test]
fn a_log_in_link_is_good_once() {
    let house = House::new();
    let printed = text(&house.cli(&["console"]).stdout);
    let (address, ticket) = printed.trim().split_once("/login#ticket=").unwrap_or_else(|| panic!("{printed}"));
    assert_eq!(address, house.url());
    let from_start = house.server_log();
    let from_start = from_start.split("/login#ticket=").nth(1).expect("`up` prints a link").lines().next().unwrap();
    for ticket in [ticket, from_start] {
        let proof = json!({ "ticket": ticket });
        assert_eq!(Browser::with(&house, &proof).ask("GET /api/v1/about", "").status, 200);
        let again = ask(&house, "POST /api/v1/login", &[], &proof.to_string());
        assert_eq!((again.status, again.json()["code"].as_str().unwrap()), (401, "link_used"));
    }
}

#[test]
fn nobody_logs_in_with_less_than_a_token() {
    let house = House::new();
    for (body, status) in [
        (json!({ "token": "" }), 401),
        (json!({ "token": "tm_0" }), 401),
        (json!({ "ticket": house.token() }), 401),
        (json!({ "token": 7 }), 400),
        (json!({ "user": "admin" }), 400),
        (json!({}), 400),
    ] {
        let answer = ask(&house, "POST /api/v1/login", &[], &body.to_string());
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    let from_elsewhere = [("Origin", "http://evil.example")];
    let body = json!({ "token": house.token() }).to_string();
    assert_eq!(ask(&house, "POST /api/v1/login", &from_elsewhere, &body).status, 403);
}

#[test]
fn a_pass_is_good_for_its_path_and_its_session_alone() {
    let house = House::new();
    let job = house.submit_line("talks", "echo hello");
    house.wait_until_over(&job);
    let browser = Browser::with_token(&house);
    let path = format!("/api/v1/jobs/{job}/tasks/main-0/log?stream=stdout");
    let answer = browser.ask("POST /api/v1/session/pass", &json!({ "path": path }).to_string());
    let with_pass = answer.json()["path"].as_str().unwrap().to_owned();
    let get = |browser: &Browser<'_>, path: &str| browser.status_with(&format!("GET {path}"), &[]);
    assert_eq!(get(&browser, &with_pass), 200);
    assert_eq!(get(&browser, &path), 403);
    assert_eq!(get(&browser, &with_pass.replace("stdout", "stderr")), 403);
    assert_eq!(get(&browser, &format!("{with_pass}0")), 403);
    assert_eq!(get(&Browser::with_token(&house), &with_pass), 403);
    assert_eq!(ask(&house, &format!("GET {with_pass}"), &[], "").status, 401);
    let posted = with_pass.replace("/tasks/main-0/log", "/stop");
    assert_eq!(browser.status_with(&format!("POST {posted}"), &[("Origin", &house.url())]), 403);
}

#[test]
fn every_address_outside_the_api_is_the_console() {
    let house = House::new();
    for path in ["/", "/jobs", "/jobs/digits@3/logs?task=worker-0", "/nowhere"] {
        let page = ask(&house, &format!("GET {path}"), &[], "");
        assert_eq!(page.status, 200, "{path}");
        assert!(page.body.contains("<div id=\"root\">"), "{}", page.body);
        let policy = &page.headers["content-security-policy"];
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(!policy.contains("unsafe"), "{policy}");
        let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
        assert!(page.body.contains(nonce), "the page knows its nonce");
    }
    assert_eq!(ask(&house, "GET /assets/nowhere.js", &[], "").status, 404);
    assert_eq!(ask(&house, "GET /api", &[], "").status, 401);
    assert_eq!(ask(&house, "POST /jobs", &[], "").status, 401);
}

#[test]
fn the_console_s_files_are_sent_once_and_small() {
    let house = House::new();
    let page = ask(&house, "GET /", &[], "").body;
    let script = page.split("src=\"").skip(1).filter_map(|rest| rest.split('"').next()).find(|it| it.starts_with("/assets/")).unwrap();
    let plain = ask(&house, &format!("GET {script}"), &[], "");
    assert_eq!(plain.headers["content-type"], "text/javascript; charset=utf-8");
    assert!(plain.headers["cache-control"].contains("immutable"));
    let zipped = ask(&house, &format!("GET {script}"), &[("Accept-Encoding", "gzip, br")], "");
    assert_eq!(zipped.headers["content-encoding"], "gzip");
    let length = |answer: &Answer| answer.headers["content-length"].parse::<usize>().unwrap();
    assert!(length(&zipped) * 2 < length(&plain));
    let known = [("If-None-Match", &*plain.headers["etag"])];
    assert_eq!(ask(&house, &format!("GET {script}"), &known, "").status, 304);
    assert_eq!(ask(&house, "GET /favicon.svg", &[], "").headers["cache-control"], "no-cache");
}

#[test]
fn no_answer_can_be_framed_guessed_at_or_read_from_another_site() {
    let house = House::new();
    for line in ["GET /", "GET /api/v1/health", "GET /api/v1/jobs", "GET /assets/none.js", "POST /api/v1/login"] {
        let answer = ask(&house, line, &[], "");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff", "{line}");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer", "{line}");
        assert_eq!(answer.headers["cross-origin-resource-policy"], "same-origin", "{line}");
        assert!(answer.headers["content-security-policy"].contains("frame-ancestors 'none'"), "{line}");
        assert!(!answer.headers.contains_key("access-control-allow-origin"), "{line}");
    }
}
