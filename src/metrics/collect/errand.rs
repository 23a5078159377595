//! What is to be read of a run: written into its marker before the run is started.

use std::collections::BTreeMap;

use model::plan::MetricsPlan;
use serde::{Deserialize, Serialize};

use super::output::Output;
use crate::rundir::RunDir;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Errand {
    #[serde(flatten)]
    pub plan: MetricsPlan,
    /// How long the files were that the attempts before it have left. What is beyond is this attempt's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub found: BTreeMap<String, u64>,
}

/// As much of a run's letter as we read.
#[derive(Deserialize)]
struct Letter {
    order: Order,
}

#[derive(Deserialize)]
struct Order {
    #[serde(default)]
    metrics: MetricsPlan,
}

impl Errand {
    /// A marker that says no more than the run's letter is another name of that.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let of_letter = |letter: Letter| Self { plan: letter.order.metrics, found: BTreeMap::new() };
        // Below the letter is what its supervisor has written.
        let words = bytes.split(|byte| *byte == b'\n').next()?;
        serde_json::from_slice(words).map(of_letter).or_else(|_| serde_json::from_slice(words)).ok()
    }

    /// Whether it says more than the run's letter.
    pub fn needs_words(&self) -> bool {
        !self.found.is_empty()
    }

    /// For a run that is about to begin, when nothing of the attempts before it lives.
    pub fn new(plan: &MetricsPlan, dir: &RunDir, attempt: u32) -> Self {
        let found = if attempt > 1 { Output::new(dir.output()).lengths(plan) } else { BTreeMap::new() };
        Self { plan: plan.clone(), found }
    }
}
