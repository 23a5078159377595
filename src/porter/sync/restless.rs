//! Files that grow without a rest, as the log of a busy task does: now and then they go out as far as they have come.
//!
//! That is done with files alone that are good to read at any length, and that have only grown since they were last looked at.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use super::{sending::Extent, settled::grows_by_lines};
use crate::volumes::Prefix;

const BETWEEN_LOOKS: Duration = Duration::from_secs(30);
/// A longer one is looked at less often, since all of it is read.
const BYTES_A_LOOK: u64 = 64 << 20;
const FILES_MAX: usize = 1_000;

#[derive(Default)]
pub struct Restless {
    watched: HashMap<Vec<u8>, Watched>,
}

struct Watched {
    next: Instant,
    /// What was there of it the last time.
    seen: Option<Prefix>,
}

impl Restless {
    /// How much of a file is to go now, if it is time to look at it.
    pub fn look(&self, path: &[u8], now: Instant) -> Option<Extent> {
        let watched = self.watched.get(path);
        let is_time = watched.map_or(self.watched.len() < FILES_MAX, |it| it.next <= now);
        (grows_by_lines(path) && is_time).then(|| Extent::SoFar(watched.and_then(|it| it.seen)))
    }

    pub fn saw(&mut self, path: Vec<u8>, seen: Option<Prefix>, now: Instant) {
        let looks = seen.map_or(1, |it| 1 + it.bytes / BYTES_A_LOOK);
        let next = now + BETWEEN_LOOKS.saturating_mul(u32::try_from(looks).unwrap_or(u32::MAX));
        self.watched.insert(path, Watched { next, seen });
    }

    pub fn forget(&mut self, path: &[u8]) {
        self.watched.remove(path);
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use super::*;

    #[test]
    fn only_what_is_good_at_any_length_is_looked_at_and_not_too_often() {
        let (mut restless, now) = (Restless::default(), Instant::now());
        assert!(restless.look(b"model.pt", now).is_none());
        assert!(matches!(restless.look(b"train.log", now), Some(Extent::SoFar(None))));
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("x"), "text").unwrap();
        let seen = Prefix::of(&File::open(dir.path().join("x")).unwrap(), 4).unwrap();
        restless.saw(b"train.log".to_vec(), Some(seen), now);
        assert!(restless.look(b"train.log", now + Duration::from_secs(29)).is_none());
        assert!(matches!(restless.look(b"train.log", now + Duration::from_secs(30)), Some(Extent::SoFar(Some(it))) if it == seen));
        restless.forget(b"train.log");
        assert!(matches!(restless.look(b"train.log", now), Some(Extent::SoFar(None))));
    }
}
