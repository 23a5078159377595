//! Whoever looks gives what was seen to a keeper.

use std::io;

use model::usage::{Reading, Stretch};

use super::{Place, coarse::List, fine::Ring, is_near};

/// Keeps readings: each in the ring, and all of them thinned in the list.
pub struct Keeper {
    ring: Ring,
    list: List,
    last: Option<Reading>,
    /// On its way to the list, and still too short for it.
    growing: Option<Stretch>,
}

impl Keeper {
    /// Goes on where another was ended, by a crash or not.
    pub fn open(place: Place) -> io::Result<Self> {
        let (ring, list) = (Ring::open(&place.fine)?, List::open(&place.coarse)?);
        let listed_to_ms = super::coarse::read_all(&place.coarse).last().map_or(0, |it| it.to_ms);
        let unlisted = place.stretches(listed_to_ms, u64::MAX).into_iter().filter(|it| it.from_ms >= listed_to_ms);
        let growing = unlisted.reduce(|one, next| one.and(&next));
        Ok(Self { ring, list, last: place.recent(1).pop(), growing })
    }

    pub fn last(&self) -> Option<&Reading> {
        self.last.as_ref()
    }

    /// One that is not newer than the last is passed over: it was kept already, or a clock was set back.
    pub fn add(&mut self, reading: &Reading) -> io::Result<()> {
        if self.last.as_ref().is_some_and(|last| last.at_ms >= reading.at_ms) {
            return Ok(());
        }
        self.ring.add(reading)?;
        if let Some(last) = self.last.replace(reading.clone()).filter(|last| is_near(last, reading)) {
            self.grow(Stretch::between(&last, reading))
        } else {
            self.close()
        }
    }

    fn grow(&mut self, stretch: Stretch) -> io::Result<()> {
        let grown = self.growing.take().map_or(stretch.clone(), |it| it.and(&stretch));
        let is_long = grown.length_ms() >= self.list.spacing_ms;
        self.growing = Some(grown);
        if is_long { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> io::Result<()> {
        self.growing.take().map_or(Ok(()), |stretch| self.list.add(&stretch))
    }
}

#[cfg(test)]
mod tests {
    use model::usage::Figure;

    use super::*;
    use crate::usage::{coarse, fine};

    /// A task that uses so much CPU time in each of its seconds.
    fn run(place: &Place, seconds: std::ops::Range<u64>, cpu_us: impl Fn(u64) -> u64) {
        let mut total = 0;
        let mut keeper = Keeper::open(place.clone()).unwrap();
        for second in seconds {
            total += cpu_us(second);
            let mut reading = Reading { at_ms: second * 1000, ..Reading::default() };
            reading.set(Figure::CpuCores, Some(total));
            reading.set(Figure::MemoryBytes, Some(second % 100));
            keeper.add(&reading).unwrap();
            if second % 777 == 0 {
                keeper = Keeper::open(place.clone()).unwrap();
            }
        }
    }

    fn place(home: &tempfile::TempDir) -> Place {
        Place::named(home.path(), "task")
    }

    #[test]
    fn a_day_is_kept_whole_in_a_few_hundred_kilobytes() {
        const DAY_S: u64 = 24 * 3600;
        let home = tempfile::tempdir().unwrap();
        run(&place(&home), 0..DAY_S + 1, |second| if second % 3600 < 600 { 2_000_000 } else { 0 });
        let stretches = place(&home).stretches(0, u64::MAX);
        // Nothing is left out and nothing is told twice.
        assert_eq!((stretches[0].from_ms, stretches.last().unwrap().to_ms), (0, DAY_S * 1000));
        assert!(stretches.windows(2).all(|pair| pair[0].to_ms == pair[1].from_ms));
        let cpu = |it: &Stretch| it.get(Figure::CpuCores).unwrap();
        let used: f64 = stretches.iter().map(|it| cpu(it).mean * it.length_ms() as f64 / 1000.0).sum();
        assert!((used - 24.0 * 600.0 * 2.0).abs() < 200.0, "{used}");
        assert!(stretches.iter().any(|it| cpu(it).max > 1.99) && stretches.iter().any(|it| cpu(it).min < 0.01));
        let size = |path: &std::path::Path| std::fs::metadata(path).unwrap().len();
        let bytes = size(&place(&home).fine) + size(&place(&home).coarse);
        assert!(bytes < 600 << 10, "{bytes} bytes");
    }

    #[test]
    fn the_last_hour_is_there_second_by_second() {
        let home = tempfile::tempdir().unwrap();
        run(&place(&home), 0..5_000, |_| 1_000_000);
        let last = place(&home).stretches(4_000_000, u64::MAX);
        assert_eq!(last.len(), 999);
        assert!(last.iter().all(|it| it.length_ms() == 1000));
        assert_eq!(place(&home).window(), Some((0, 4_999_000)));
    }

    #[test]
    fn a_gap_is_not_drawn_over() {
        let home = tempfile::tempdir().unwrap();
        run(&place(&home), 0..30, |_| 1_000_000);
        run(&place(&home), 4_000..4_030, |_| 1_000_000);
        let stretches = place(&home).stretches(0, u64::MAX);
        assert!(stretches.iter().all(|it| it.length_ms() <= 10_000), "{stretches:?}");
        assert!(coarse::read_all(&place(&home).coarse).iter().all(|it| it.to_ms < 30_000 || it.from_ms >= 4_000_000));
    }

    #[test]
    fn a_clock_that_was_set_back_adds_nothing() {
        let home = tempfile::tempdir().unwrap();
        run(&place(&home), 100..110, |_| 1);
        run(&place(&home), 50..60, |_| 1);
        assert_eq!(fine::read_all(&place(&home).fine).len(), 10);
    }
}
