//! What the server counts about itself, for whoever watches it.

use std::{
    collections::BTreeMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How long commits to the database take.
pub static COMMITS: Histogram = Histogram::new();
/// How long the loop takes for a turn.
pub static TURNS: Histogram = Histogram::new();
/// How many streams are being followed.
pub static FOLLOWERS: AtomicI64 = AtomicI64::new(0);
/// Requests by route; there are only as many as there are routes and methods.
pub static REQUESTS: Requests = Requests(Mutex::new(BTreeMap::new()));

/// Seconds up to which each bucket reaches; one more takes the rest.
pub const BOUNDS_S: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

#[derive(Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS_S.len() + 1],
    sum_us: AtomicU64,
}

/// A histogram at one moment. Each bucket has only its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Counted {
    pub buckets: [u64; BOUNDS_S.len() + 1],
    pub sum_s: f64,
}

impl Histogram {
    pub const fn new() -> Self {
        Self { buckets: [const { AtomicU64::new(0) }; BOUNDS_S.len() + 1], sum_us: AtomicU64::new(0) }
    }

    pub fn note(&self, took: Duration) {
        let place = BOUNDS_S.iter().position(|bound| took.as_secs_f64() <= *bound).unwrap_or(BOUNDS_S.len());
        self.buckets[place].fetch_add(1, Relaxed);
        self.sum_us.fetch_add(took.as_micros() as u64, Relaxed);
    }

    pub fn counted(&self) -> Counted {
        let buckets = std::array::from_fn(|place| self.buckets[place].load(Relaxed));
        Counted { buckets, sum_s: self.sum_us.load(Relaxed) as f64 / 1e6 }
    }
}

/// Method and route, such as `GET` and `/api/v1/jobs/{job}`.
type Which = (String, String);

pub struct Requests(Mutex<BTreeMap<Which, Tally>>);

#[derive(Default)]
struct Tally {
    by_status: BTreeMap<u16, u64>,
    took: Histogram,
}

/// What is known of one route.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub method: String,
    pub route: String,
    pub by_status: BTreeMap<u16, u64>,
    pub took: Counted,
}

impl Requests {
    fn tallies(&self) -> MutexGuard<'_, BTreeMap<Which, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn note(&self, method: &str, route: &str, status: u16, took: Duration) {
        let mut tallies = self.tallies();
        let tally = tallies.entry((method.to_owned(), route.to_owned())).or_default();
        *tally.by_status.entry(status).or_default() += 1;
        tally.took.note(took);
    }

    pub fn counted(&self) -> Vec<Route> {
        let route = |((method, route), tally): (&Which, &Tally)| Route {
            method: method.clone(),
            route: route.clone(),
            by_status: tally.by_status.clone(),
            took: tally.took.counted(),
        };
        self.tallies().iter().map(route).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_time_falls_into_one_bucket() {
        let histogram = Histogram::new();
        for ms in [0, 1, 3, 3, 100_000] {
            histogram.note(Duration::from_millis(ms));
        }
        let counted = histogram.counted();
        assert_eq!(counted.buckets, [1, 1, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        assert!((counted.sum_s - 100.007).abs() < 1e-9);
    }
}
