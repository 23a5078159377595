//! The feed of all events, for readers that come back.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpStream,
    time::Duration,
};

use serde_json::Value;

use crate::house::House;

/// So many events from the feed, after that one; then the line is cut.
fn read(house: &House, last: Option<u64>, count: usize) -> Vec<u64> {
    let address = house.url().trim_start_matches("http://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let last = last.map(|seq| format!("Last-Event-ID: {seq}\r\n")).unwrap_or_default();
    let token = house.token();
    write!(stream, "GET /api/v1/events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n{last}\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert_eq!(lines.next().unwrap(), "HTTP/1.1 200 OK");
    let (mut seen, mut data) = (Vec::new(), Value::Null);
    let mut id = None;
    for line in lines {
        match line.split_once(": ") {
            Some(("data", json)) => data = serde_json::from_str(json).unwrap(),
            Some(("id", number)) => id = Some(number.parse::<u64>().unwrap()),
            Some(_) | None => {}
        }
        if let (Some(number), Some(seq)) = (id, data["seq"].as_u64()) {
            assert_eq!(number, seq, "the number to come back with is that of the event");
            seen.push(seq);
            (id, data) = (None, Value::Null);
        }
        if seen.len() == count {
            break;
        }
    }
    seen
}

fn of_job(house: &House, job: &str) -> Vec<u64> {
    let page = house.get_json(&format!("/api/v1/jobs/{job}/events"));
    page["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

#[test]
fn a_reader_that_comes_back_to_the_next_server_misses_nothing_and_reads_nothing_twice() {
    let mut house = House::new();
    let before = house.submit_line("before", "true");
    house.wait_for(&before, "succeeded");
    let mut fed = read(&house, None, 3);
    house.kill();
    house.start();
    let after = house.submit_line("after", "true");
    house.wait_for(&after, "succeeded");
    let mut all = [of_job(&house, &before), of_job(&house, &after)].concat();
    all.sort_unstable();
    fed.extend(read(&house, fed.last().copied(), all.len() - 3));
    assert_eq!(fed, all);

    // Nothing is left to be read; what comes next is the next thing that happens.
    let last = all.last().copied();
    let next = std::thread::scope(|scope| {
        let reader = scope.spawn(|| read(&house, last, 1));
        let later = house.submit_line("later", "true");
        let next = reader.join().unwrap();
        assert_eq!(of_job(&house, &later).first(), next.first());
        next
    });
    assert!(next.first().copied() > last);
}
