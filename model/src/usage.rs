//! What tasks and machines use: what can be told, how it is counted, how it is thinned, and what it comes to.

use serde::{Deserialize, Serialize};

mod basis;
mod curve;
mod stretch;

pub use basis::{Absence, Basis, Source};
pub use curve::{Axis, Curve, sum};
pub use stretch::{Spread, Stretch};

/// What a run has used in all, as far as anybody could tell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct UsageTotals {
    pub cpu_ms: Option<u64>,
    pub peak_memory_bytes: Option<u64>,
    pub read_bytes: Option<u64>,
    pub written_bytes: Option<u64>,
    pub received_bytes: Option<u64>,
    pub sent_bytes: Option<u64>,
}

/// Something that can be told. Their order is that of the records on disk: new ones come last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Figure {
    /// How many cores are busy.
    CpuCores,
    ReadBytesPerS,
    WrittenBytesPerS,
    ReceivedBytesPerS,
    SentBytesPerS,
    /// Without what the kernel would drop if anybody needed the room.
    MemoryBytes,
    Processes,
    Threads,
    /// How many devices are busy.
    AcceleratorUse,
    AcceleratorMemoryBytes,
    /// How many would run if they could, over a minute; of a machine.
    Load,
    /// What is taken of the disk that has the data; of a machine.
    DiskUsedBytes,
}

/// How a figure is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A total that only grows; what is shown is how fast.
    Counter,
    /// What it is at the moment.
    Gauge,
}

impl Figure {
    pub const COUNT: usize = 12;
    pub const ALL: [Figure; Self::COUNT] = [
        Figure::CpuCores,
        Figure::ReadBytesPerS,
        Figure::WrittenBytesPerS,
        Figure::ReceivedBytesPerS,
        Figure::SentBytesPerS,
        Figure::MemoryBytes,
        Figure::Processes,
        Figure::Threads,
        Figure::AcceleratorUse,
        Figure::AcceleratorMemoryBytes,
        Figure::Load,
        Figure::DiskUsedBytes,
    ];

    /// Those that mean something for a task.
    pub fn of_tasks() -> impl Iterator<Item = Figure> {
        Self::ALL.into_iter().filter(|it| !matches!(it, Figure::Load | Figure::DiskUsedBytes))
    }

    pub fn kind(self) -> Kind {
        match self {
            Figure::CpuCores | Figure::ReadBytesPerS | Figure::WrittenBytesPerS | Figure::ReceivedBytesPerS | Figure::SentBytesPerS => {
                Kind::Counter
            }
            Figure::MemoryBytes
            | Figure::Processes
            | Figure::Threads
            | Figure::AcceleratorUse
            | Figure::AcceleratorMemoryBytes
            | Figure::Load
            | Figure::DiskUsedBytes => Kind::Gauge,
        }
    }

    /// How much of what is shown one of what is sampled is: CPU time is sampled in millionths of a second,
    /// load and the use of devices in thousandths.
    fn scale(self) -> f64 {
        match self {
            Figure::CpuCores => 1e-6,
            Figure::AcceleratorUse | Figure::Load => 1e-3,
            Figure::ReadBytesPerS
            | Figure::WrittenBytesPerS
            | Figure::ReceivedBytesPerS
            | Figure::SentBytesPerS
            | Figure::MemoryBytes
            | Figure::Processes
            | Figure::Threads
            | Figure::AcceleratorMemoryBytes
            | Figure::DiskUsedBytes => 1.0,
        }
    }
}

/// One look at everything: totals of what is counted, and how the rest stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub at_ms: u64,
    pub values: [Option<u64>; Figure::COUNT],
}

impl Reading {
    pub fn get(&self, figure: Figure) -> Option<u64> {
        self.values[figure as usize]
    }

    pub fn set(&mut self, figure: Figure, value: Option<u64>) {
        self.values[figure as usize] = value;
    }

    /// What is counted cannot have become less: where it seems so, somebody took his account with him.
    pub fn no_less_than(mut self, earlier: &Reading) -> Self {
        for figure in Figure::ALL.into_iter().filter(|it| it.kind() == Kind::Counter) {
            let (before, now) = (earlier.get(figure), self.get(figure));
            self.set(figure, before.max(now));
        }
        self
    }

    /// Totals so far.
    pub fn totals(&self) -> UsageTotals {
        UsageTotals {
            cpu_ms: self.get(Figure::CpuCores).map(|us| us / 1000),
            peak_memory_bytes: None,
            read_bytes: self.get(Figure::ReadBytesPerS),
            written_bytes: self.get(Figure::WrittenBytesPerS),
            received_bytes: self.get(Figure::ReceivedBytesPerS),
            sent_bytes: self.get(Figure::SentBytesPerS),
        }
    }
}

impl UsageTotals {
    /// Both together. What only one of them can tell of is not the sum, and is left out.
    pub fn and(self, other: Self) -> Self {
        let both = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.saturating_add(b));
        Self {
            cpu_ms: both(self.cpu_ms, other.cpu_ms),
            peak_memory_bytes: both(self.peak_memory_bytes, other.peak_memory_bytes),
            read_bytes: both(self.read_bytes, other.read_bytes),
            written_bytes: both(self.written_bytes, other.written_bytes),
            received_bytes: both(self.received_bytes, other.received_bytes),
            sent_bytes: both(self.sent_bytes, other.sent_bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_where_their_number_says() {
        for (place, figure) in Figure::ALL.into_iter().enumerate() {
            assert_eq!(figure as usize, place);
        }
    }

    #[test]
    fn what_is_counted_never_becomes_less() {
        let reading = |cpu, memory| {
            let mut reading = Reading { at_ms: 1, ..Reading::default() };
            reading.set(Figure::CpuCores, cpu);
            reading.set(Figure::MemoryBytes, memory);
            reading
        };
        let kept = |before, now| reading(now, Some(3)).no_less_than(&reading(before, Some(7))).get(Figure::CpuCores);
        assert_eq!(kept(Some(5), Some(9)), Some(9));
        assert_eq!(kept(Some(5), Some(4)), Some(5));
        assert_eq!(kept(Some(5), None), Some(5));
        assert_eq!(kept(None, Some(4)), Some(4));
        assert_eq!(reading(None, Some(3)).no_less_than(&reading(None, Some(7))).get(Figure::MemoryBytes), Some(3));
    }
}
