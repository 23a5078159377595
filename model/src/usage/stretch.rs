//! A stretch of time and what was used in it: what is left of many readings when they are thinned.

use super::{Figure, Kind, Reading};

/// The least, the mean and the most of a figure over a stretch, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    pub min: f64,
    pub mean: f64,
    pub max: f64,
}

/// From one moment, which is not part of it, to another, which is.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    pub from_ms: u64,
    pub to_ms: u64,
    pub spreads: [Option<Spread>; Figure::COUNT],
}

impl Stretch {
    /// What two readings, one after the other, say of the time between them.
    pub fn between(before: &Reading, after: &Reading) -> Self {
        let seconds = after.at_ms.saturating_sub(before.at_ms).max(1) as f64 / 1000.0;
        let shown = |figure: Figure| {
            let now = after.get(figure)?;
            let value = match figure.kind() {
                // Of what was not counted before, nobody knows when it came.
                Kind::Counter => now.saturating_sub(before.get(figure)?) as f64 / seconds,
                Kind::Gauge => now as f64,
            };
            let value = value * figure.scale();
            Some(Spread { min: value, mean: value, max: value })
        };
        Self { from_ms: before.at_ms, to_ms: after.at_ms, spreads: Figure::ALL.map(shown) }
    }

    pub fn get(&self, figure: Figure) -> Option<Spread> {
        self.spreads[figure as usize]
    }

    pub fn length_ms(&self) -> u64 {
        self.to_ms.saturating_sub(self.from_ms)
    }

    /// Both as one. Means are weighed by how long each was.
    pub fn and(&self, later: &Self) -> Self {
        let (mine, theirs) = (self.length_ms().max(1) as f64, later.length_ms().max(1) as f64);
        let both = |figure: Figure| match (self.get(figure), later.get(figure)) {
            (Some(a), Some(b)) => {
                Some(Spread { min: a.min.min(b.min), mean: (a.mean * mine + b.mean * theirs) / (mine + theirs), max: a.max.max(b.max) })
            }
            (one, other) => one.or(other),
        };
        Self { from_ms: self.from_ms.min(later.from_ms), to_ms: self.to_ms.max(later.to_ms), spreads: Figure::ALL.map(both) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at_ms: u64, cpu_us: Option<u64>, memory: u64) -> Reading {
        let mut reading = Reading { at_ms, ..Reading::default() };
        reading.set(Figure::CpuCores, cpu_us);
        reading.set(Figure::MemoryBytes, Some(memory));
        reading
    }

    #[test]
    fn a_counter_is_shown_by_how_fast_it_grows_and_a_gauge_as_it_stands() {
        let stretch = Stretch::between(&reading(1_000, Some(0), 5), &reading(3_000, Some(3_000_000), 9));
        assert_eq!(stretch.get(Figure::CpuCores).unwrap().mean, 1.5);
        assert_eq!(stretch.get(Figure::MemoryBytes).unwrap().mean, 9.0);
        assert_eq!(stretch.get(Figure::SentBytesPerS), None);
    }

    #[test]
    fn what_was_not_counted_before_says_nothing_of_the_time_between() {
        let stretch = Stretch::between(&reading(1_000, None, 5), &reading(2_000, Some(7), 5));
        assert_eq!(stretch.get(Figure::CpuCores), None);
    }

    #[test]
    fn thinning_keeps_the_least_the_most_and_the_area() {
        let readings = [reading(0, Some(0), 1), reading(1_000, Some(1_000_000), 8), reading(4_000, Some(1_000_000), 2)];
        let thin = Stretch::between(&readings[0], &readings[1]).and(&Stretch::between(&readings[1], &readings[2]));
        assert_eq!((thin.from_ms, thin.to_ms), (0, 4_000));
        assert_eq!(thin.get(Figure::CpuCores), Some(Spread { min: 0.0, mean: 0.25, max: 1.0 }));
        assert_eq!(thin.get(Figure::MemoryBytes), Some(Spread { min: 2.0, mean: 3.5, max: 8.0 }));
    }
}
