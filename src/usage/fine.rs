//! The ring of readings: the newest takes the place of the oldest.

use std::{
    fs::{self, File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use model::usage::Reading;

use super::record::{READING_BYTES, decode_reading, encode_reading};

/// An hour at one reading a second.
pub const READINGS_MAX: u64 = 3_600;

pub struct Ring {
    file: File,
    next: u64,
}

impl Ring {
    /// Opens the ring where it was left.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).mode(0o600).open(path)?;
        let length = length_of(&file)?;
        let next = newest(&file, length).map_or(length, |slot| slot + 1) % READINGS_MAX;
        Ok(Self { file, next })
    }

    pub fn add(&mut self, reading: &Reading) -> io::Result<()> {
        self.file.write_all_at(&encode_reading(reading), self.next * READING_BYTES as u64)?;
        self.next = (self.next + 1) % READINGS_MAX;
        Ok(())
    }
}

fn length_of(file: &File) -> io::Result<u64> {
    Ok((file.metadata()?.len() / READING_BYTES as u64).min(READINGS_MAX))
}

fn read_slot(file: &File, slot: u64) -> Option<Reading> {
    let mut bytes = [0; READING_BYTES];
    file.read_exact_at(&mut bytes, slot * READING_BYTES as u64).ok()?;
    decode_reading(&bytes)
}

/// Times grow up to the newest, and those after it are older than all before it: halving finds the edge. Where a slot cannot
/// be read, all of them are looked at instead.
fn newest(file: &File, length: u64) -> Option<u64> {
    let at_ms = |slot: u64| read_slot(file, slot).map(|it| it.at_ms);
    let halve = || -> Option<u64> {
        let first = at_ms(0)?;
        let (mut low, mut high) = (0, length);
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if at_ms(middle)? >= first { low = middle } else { high = middle }
        }
        Some(low)
    };
    halve().or_else(|| (0..length).filter_map(|slot| Some((at_ms(slot)?, slot))).max().map(|(_, slot)| slot))
}

/// Every reading, oldest first. A file that is not there has none.
pub fn read_all(path: &Path) -> Vec<Reading> {
    let mut bytes = fs::read(path).unwrap_or_default();
    bytes.truncate(READINGS_MAX as usize * READING_BYTES);
    let mut readings: Vec<Reading> = bytes.chunks_exact(READING_BYTES).filter_map(decode_reading).collect();
    readings.sort_by_key(|it| it.at_ms);
    readings
}

/// The last few, oldest first.
pub fn read_last(path: &Path, count: usize) -> Vec<Reading> {
    let read = || -> Option<Vec<Reading>> {
        let file = File::open(path).ok()?;
        let length = length_of(&file).ok()?;
        let newest = newest(&file, length)?;
        let slots = (0..(count as u64).min(length)).map(|back| (newest + length - back) % length);
        Some(slots.filter_map(|slot| read_slot(&file, slot)).collect())
    };
    let mut readings = read().unwrap_or_default();
    readings.sort_by_key(|it| it.at_ms);
    readings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_goes_on_where_it_was_left_and_keeps_an_hour() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("ring");
        let reading = |second: u64| Reading { at_ms: second * 1000, ..Reading::default() };
        for second in 0..2 * READINGS_MAX + 17 {
            // Opened anew now and then, as after a crash.
            let mut ring = Ring::open(&path).unwrap();
            ring.add(&reading(second)).unwrap();
            if second % 500 == 0 || second > 2 * READINGS_MAX {
                let last: Vec<u64> = read_last(&path, 2).iter().map(|it| it.at_ms / 1000).collect();
                assert_eq!(last, if second == 0 { vec![0] } else { vec![second - 1, second] });
            }
        }
        let all = read_all(&path);
        assert_eq!((all.len() as u64, all[0].at_ms / 1000), (READINGS_MAX, READINGS_MAX + 17));
        assert_eq!(fs::metadata(&path).unwrap().len(), READINGS_MAX * READING_BYTES as u64);
    }

    #[test]
    fn a_slot_that_was_written_half_costs_nothing_but_itself() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("ring");
        let mut ring = Ring::open(&path).unwrap();
        (1..=5).for_each(|second| ring.add(&Reading { at_ms: second * 1000, ..Reading::default() }).unwrap());
        ring.file.write_all_at(&[9; 8], 2 * READING_BYTES as u64 + 8).unwrap();
        let seconds = |readings: Vec<Reading>| readings.iter().map(|it| it.at_ms / 1000).collect::<Vec<u64>>();
        assert_eq!(seconds(read_all(&path)), [1, 2, 4, 5]);
        assert_eq!(seconds(read_last(&path, 2)), [4, 5]);
        assert_eq!(Ring::open(&path).unwrap().next, 5);
    }
}
