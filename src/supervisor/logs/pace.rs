//! How fast words come. To be woken costs the child more than to write: one that prints without a pause would spend a fifth of its
//! time on waking us. While we rest its words wait in the pipe, which has room for far more than it can say meanwhile.

use std::time::{Duration, Instant};

/// Short beside the time in which the fastest child fills its pipe.
const REST: Duration = Duration::from_micros(200);
/// Words that come at such distances come one upon the other.
const CLOSE: Duration = Duration::from_millis(1);
/// So many of them in a row are a stream, and not just a line in two pieces.
const STREAM_MIN: u32 = 16;

#[derive(Default)]
pub struct Pace {
    last: Option<Instant>,
    in_a_row: u32,
}

impl Pace {
    /// Called after every word. The whole supervisor rests: nothing that it does is in such a hurry.
    pub fn rest(&mut self) {
        if self.is_stream(Instant::now()) {
            std::thread::sleep(REST);
        }
    }

    fn is_stream(&mut self, now: Instant) -> bool {
        let is_close = self.last.is_some_and(|last| now.duration_since(last) < CLOSE);
        self.in_a_row = if is_close { self.in_a_row.saturating_add(1) } else { 0 };
        self.last = Some(now);
        self.in_a_row >= STREAM_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_come_one_upon_the_other_are_rested_after() {
        let (mut pace, mut now) = (Pace::default(), Instant::now());
        let mut after = |pause| {
            now += pause;
            pace.is_stream(now)
        };
        let short: Vec<bool> = (0..=STREAM_MIN).map(|_| after(REST)).collect();
        assert_eq!(short.iter().filter(|it| **it).count(), 1, "the last of many");
        assert!(after(REST) && !after(CLOSE) && !after(REST), "a pause begins anew");
    }
}
