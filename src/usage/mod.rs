//! What was used, on disk: written by whoever looks, a supervisor at its task or the server at its machine, and read by the
//! server.
//!
//! Readings of the last hour are kept as they are, in a ring. Beside them grows a list of stretches since the beginning; when
//! it is full, each two of them become one. So there is a bound on every run, however long, and no stretch of it is ever lost.

mod coarse;
mod devices;
mod fine;
mod keeper;
pub mod machine;
mod record;

use std::{
    fs, io,
    path::{Path, PathBuf},
};

pub use devices::Devices;
pub use keeper::Keeper;
use model::{
    ids::NodeName,
    task::Ending,
    usage::{Absence, Basis, Figure, Reading, Stretch, UsageTotals},
};

use crate::rundir::{
    RunDir,
    record::{Record, last_line},
};

/// Two readings further apart than this say nothing of the time between them.
const GAP_MS: u64 = 60_000;

/// Where the files of one task or machine are.
#[derive(Clone, Debug)]
pub struct Place {
    fine: PathBuf,
    coarse: PathBuf,
    basis: PathBuf,
}

impl Place {
    pub fn of_run(dir: &RunDir) -> Self {
        Self { fine: dir.usage_fine(), coarse: dir.usage_coarse(), basis: dir.usage_basis() }
    }

    fn named(folder: &Path, name: &str) -> Self {
        let file = |end: &str| folder.join(format!("{name}.{end}"));
        Self { fine: file("fine"), coarse: file("coarse"), basis: file("json") }
    }

    /// The machine the server is on.
    pub fn of_machine(data: &Path) -> Self {
        Self::named(&folder(data), "machine")
    }

    /// What tasks use on one of its nodes.
    pub fn of_node(data: &Path, node: &NodeName) -> Self {
        Self::named(&folder(data), &format!("node-{node}"))
    }

    /// Everything that touches a window, in order.
    pub fn stretches(&self, from_ms: u64, to_ms: u64) -> Vec<Stretch> {
        let readings = fine::read_all(&self.fine);
        let begin = readings.first().map_or(u64::MAX, |it| it.at_ms);
        let mut found: Vec<Stretch> = Vec::new();
        if from_ms < begin {
            // One that reaches into the hour of readings would tell twice what it shares with them.
            let older = coarse::read_all(&self.coarse).into_iter().filter(|it| it.from_ms < begin);
            found.extend(older.map(|it| Stretch { to_ms: it.to_ms.min(begin), ..it }));
        }
        found.extend(readings.windows(2).filter(|pair| is_near(&pair[0], &pair[1])).map(|pair| Stretch::between(&pair[0], &pair[1])));
        found.retain(|it| it.to_ms > from_ms && it.from_ms < to_ms);
        found
    }

    /// The last readings, oldest first; few are read without reading all.
    pub fn recent(&self, count: usize) -> Vec<Reading> {
        fine::read_last(&self.fine, count)
    }

    /// The first moment and the last of which anything is known.
    pub fn window(&self) -> Option<(u64, u64)> {
        let last = self.recent(1).pop()?.at_ms;
        let first = coarse::first_ms(&self.coarse).or_else(|| fine::read_all(&self.fine).first().map(|it| it.at_ms));
        Some((first.unwrap_or(last), last))
    }

    /// Where the figures come from. None if nobody has looked.
    pub fn basis(&self) -> Option<Basis> {
        serde_json::from_slice(&fs::read(&self.basis).ok()?).ok()
    }

    pub fn write_basis(&self, basis: &Basis) -> io::Result<()> {
        let part = self.basis.with_extension("json.part");
        fs::write(&part, serde_json::to_vec(basis)?)?;
        fs::rename(part, &self.basis)
    }
}

/// Where the files of machine and nodes are.
pub fn folder(data: &Path) -> PathBuf {
    data.join("usage")
}

fn is_near(before: &Reading, after: &Reading) -> bool {
    after.at_ms.saturating_sub(before.at_ms) <= GAP_MS
}

/// What is used now, from the last few readings. None if nobody has looked lately.
pub fn now(place: &Place, now_ms: u64) -> Option<Stretch> {
    const LOOKS: usize = 4;
    const STALE_MS: u64 = 30_000;
    let recent = place.recent(LOOKS);
    let (last, first) = (recent.last()?, recent.first()?);
    let fresh = now_ms.saturating_sub(last.at_ms) < STALE_MS && is_near(first, last) && last.at_ms > first.at_ms;
    fresh.then(|| Stretch::between(first, last))
}

/// What a run has used in all: from its exit record, which the kernel vouches for, and from what was sampled.
pub fn totals(dir: &RunDir) -> UsageTotals {
    let sampled = Place::of_run(dir).recent(1).pop();
    let peak = sampled.as_ref().and_then(|it| it.get(Figure::MemoryBytes));
    let sampled = sampled.map(|it| it.totals()).unwrap_or_default();
    let ending = last_line::<Ending>(&dir.exit()).ok().and_then(Record::whole);
    let (cpu_ms, peak_memory_bytes) = ending.map_or((None, None), |it| (it.cpu_ms, it.peak_memory_bytes));
    UsageTotals { cpu_ms: cpu_ms.or(sampled.cpu_ms), peak_memory_bytes: peak_memory_bytes.or_else(|| peak_of(dir).or(peak)), ..sampled }
}

/// The most memory that was ever seen.
fn peak_of(dir: &RunDir) -> Option<u64> {
    let stretches = Place::of_run(dir).stretches(0, u64::MAX);
    let most = stretches.iter().filter_map(|it| it.get(Figure::MemoryBytes)).map(|it| it.max).reduce(f64::max);
    most.map(|bytes| bytes as u64)
}

/// Where a run's figures come from; where nobody has looked, why not.
pub fn basis(dir: &RunDir, has_started: bool) -> Basis {
    let why = if has_started { Absence::TooShort } else { Absence::NotSampled };
    Place::of_run(dir).basis().unwrap_or_else(|| Basis::nothing(why))
}

#[cfg(test)]
mod tests {
    use model::task::Cause;

    use super::*;

    #[test]
    fn totals_are_those_of_the_kernel_and_then_those_that_were_sampled() {
        let home = tempfile::tempdir().unwrap();
        let dir = RunDir::at(home.path());
        assert_eq!(totals(&dir), UsageTotals::default());
        let mut keeper = Keeper::open(Place::of_run(&dir)).unwrap();
        for (second, memory) in [(1, 50), (2, 900), (3, 40)] {
            let mut reading = Reading { at_ms: second * 1000, ..Reading::default() };
            reading.set(Figure::CpuCores, Some(second * 500_000));
            reading.set(Figure::MemoryBytes, Some(memory));
            reading.set(Figure::WrittenBytesPerS, Some(second * 7));
            keeper.add(&reading).unwrap();
        }
        let sampled = UsageTotals { cpu_ms: Some(1500), peak_memory_bytes: Some(900), written_bytes: Some(21), ..UsageTotals::default() };
        assert_eq!(totals(&dir), sampled);
        let exited = Ending::new(Cause::Exited { code: 0 }, Some(1), 2);
        let ending = Ending { peak_memory_bytes: Some(1000), cpu_ms: Some(1501), ..exited };
        fs::write(dir.exit(), serde_json::to_vec(&ending).unwrap()).unwrap();
        assert_eq!(totals(&dir), UsageTotals { cpu_ms: Some(1501), peak_memory_bytes: Some(1000), ..sampled });
    }
}
