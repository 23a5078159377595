//! The clock on the wall jumps: nothing ends because of it, and nothing waits.

use std::path::PathBuf;

use trainmaster::client::Call;

use crate::{
    house::{House, holds_for},
    place::can,
};

/// The library that lies about the time to whoever loads it.
fn lying_library() -> Option<PathBuf> {
    let places = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path().join("faketime/libfaketime.so.1"));
    places.into_iter().find(|path| path.exists())
}

#[test]
fn a_clock_that_jumps_ends_nothing_and_delays_nothing() {
    let library = lying_library();
    if !can(library.is_some(), "there is no library of `faketime` to make the clock jump") {
        return;
    }
    let mut house = House::unopened(&["--nodes", "1", "--node-cpus", "2", "--node-memory", "4GiB"]);
    let clock = house.place().join("clock");
    std::fs::write(&clock, "+0").unwrap();
    house.env("LD_PRELOAD", library.unwrap().to_str().unwrap());
    house.env("FAKETIME_TIMESTAMP_FILE", clock.to_str().unwrap());
    house.env("FAKETIME_NO_CACHE", "1");
    // Clocks that only count are not set by anyone.
    house.env("DONT_FAKE_MONOTONIC", "1");
    house.start();
    let long = house.submit("{name: long, max_duration: 1h, roles: {main: {cpus: 0.5, command: 'echo up; sleep 600'}}}");
    house.wait_for_output(&long, "main-0", "up");
    house.wait_for(&long, "running");
    for (number, time) in ["+1d", "-1d", "@1970-01-02 00:00:00", "@2040-01-01 00:00:00", "+0"].into_iter().enumerate() {
        std::fs::write(&clock, time).unwrap();
        let brief =
            house.submit(&format!("{{name: brief-{number}, max_duration: 1h, roles: {{main: {{cpus: 0.5, command: 'sleep 0.6'}}}}}}"));
        let shown = house.wait_for(&brief, "succeeded");
        assert_eq!(shown["attempt"], 1, "{time}: {shown:#}");
        assert_eq!(house.state(&long), "running", "{time}");
    }
    // A limit that is really over still counts, whatever the clock says.
    std::fs::write(&clock, "-1d").unwrap();
    let limited = house.submit("{name: limited, max_duration: 300ms, roles: {main: {cpus: 0.5, command: 'sleep 600'}}}");
    let shown = house.wait_for(&limited, "stopped");
    assert!(shown["reason"].as_str().unwrap().contains("maximum duration of 300ms"), "{shown:#}");
    house.call(Call::post(&format!("/api/v1/jobs/{long}/duration"), "{\"max_duration\": \"2h\"}")).unwrap();
    holds_for(std::time::Duration::from_millis(700), "the long one runs", || house.state(&long) == "running");
}
