//! What a task uses, on its way to a server that does not share our disk.

use std::time::Duration;

use model::wire::usage::UsageReport;
use tokio::time::{Instant, sleep};

use crate::{
    rundir::RunDir,
    supervisor::report::{Home, Told},
    usage::Place,
};

const BETWEEN_LOOKS: Duration = Duration::from_secs(5);
/// A server that was away for longer than the ring reaches back misses what fell out of it.
const READINGS_MAX: usize = 3_600;

pub struct UsageShipment {
    home: Home,
    place: Place,
    told_to_ms: u64,
}

impl UsageShipment {
    pub fn new(home: Home, dir: &RunDir) -> Self {
        Self { home, place: Place::of_run(dir), told_to_ms: 0 }
    }

    /// Ships what comes while the child runs. Ends only when the server wants no more.
    pub async fn keep_shipping(&mut self) {
        const WHILE_IT_RUNS: Duration = Duration::from_secs(365 * 24 * 3600);
        loop {
            sleep(BETWEEN_LOOKS).await;
            if let Told::Unwanted(_) = self.ship(Instant::now() + WHILE_IT_RUNS).await {
                return;
            }
        }
    }

    /// Ships what is there now.
    pub async fn ship(&mut self, until: Instant) -> Told {
        let Some(basis) = self.place.basis() else { return Told::Yes(()) };
        let mut readings = self.place.recent(READINGS_MAX);
        readings.retain(|it| it.at_ms > self.told_to_ms);
        let Some(last) = readings.last().map(|it| it.at_ms) else { return Told::Yes(()) };
        let body = serde_json::to_vec(&UsageReport { basis, readings }).expect("numbers are JSON");
        let path = format!("/api/v1/runs/{}/usage", self.home.run);
        let told = self.home.post(&path, &body, until).await;
        if told == Told::Yes(()) {
            self.told_to_ms = last;
        }
        told
    }
}
