//! What the server tells about itself.

use std::{fs, sync::atomic::Ordering::Relaxed};

use nix::sys::resource::{Resource, getrlimit};

use super::page::{Kind, Page};
use crate::meter::{COMMITS, FOLLOWERS, REQUESTS, TURNS};

pub fn write(page: &mut Page) {
    page.family("trainmaster_build_info", Kind::Gauge, "Which server this is; the value is always 1.");
    page.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    process(page);
    requests(page);
    page.family("trainmaster_followers", Kind::Gauge, "Streams that are being followed.");
    page.sample(&[], FOLLOWERS.load(Relaxed) as f64);
    for (name, help, histogram) in [
        ("trainmaster_store_commit_duration_seconds", "How long commits to the database take.", &COMMITS),
        ("trainmaster_loop_turn_duration_seconds", "How long the control loop takes for a turn.", &TURNS),
    ] {
        page.family(name, Kind::Histogram, help);
        page.histogram(&[], &histogram.counted());
    }
}

fn requests(page: &mut Page) {
    let routes = REQUESTS.counted();
    page.family("trainmaster_http_requests", Kind::Counter, "Requests by route, method and status.");
    for route in &routes {
        for (status, count) in &route.by_status {
            page.sample(&[("method", &route.method), ("route", &route.route), ("status", &status.to_string())], *count as f64);
        }
    }
    page.family("trainmaster_http_request_duration_seconds", Kind::Histogram, "How long until an answer begins.");
    for route in &routes {
        page.histogram(&[("method", &route.method), ("route", &route.route)], &route.took);
    }
}

/// Under the names that programs everywhere use for themselves.
fn process(page: &mut Page) {
    // SAFETY: all zeroes is a valid value, and it outlives the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    };
    let seconds = |it: libc::timeval| it.tv_sec as f64 + it.tv_usec as f64 / 1e6;
    page.family("process_cpu_seconds", Kind::Counter, "CPU time of the server.");
    page.sample(&[], seconds(usage.ru_utime) + seconds(usage.ru_stime));
    let gauges = [
        ("process_resident_memory_bytes", "Memory of the server.", resident_bytes()),
        ("process_open_fds", "Files the server has open.", fs::read_dir("/proc/self/fd").map_or(0, Iterator::count) as u64),
        ("process_max_fds", "Files the server may have open.", getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |it| it.0)),
    ];
    for (name, help, value) in gauges {
        page.family(name, Kind::Gauge, help);
        page.sample(&[], value as f64);
    }
}

fn resident_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kib = text.lines().find_map(|line| line.strip_prefix("VmRSS:")?.split_whitespace().next()?.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
