//! How fast words come. To be woken costs the child more than to write: one that prints without a pause would spend a fifth of its
//! time on waking us. While we rest its words wait in the pipe, which has room for far more than it can say meanwhile.

use std::time::{Duration, Instant};

use model::logs::Stream;

/// Short beside the time in which a child that prints fills its pipe, and long beside the time that reading takes.
const REST: Duration = Duration::from_millis(1);
/// Words that had to be waited for no longer than this come one upon the other.
const CLOSE: Duration = Duration::from_micros(500);
/// So many of them in a row are a flow, and not just a line in two pieces.
const FLOW_MIN: u32 = 16;

#[derive(Default)]
pub struct Pace {
    /// When we began to wait for the next word.
    waiting_since: Option<Instant>,
    /// Who spoke last. While we rest nobody sees who speaks first, so there is no rest where both streams speak.
    stream: Option<Stream>,
    in_a_row: u32,
}

impl Pace {
    /// Called after every word. The whole supervisor rests: nothing that it does is in such a hurry.
    pub fn rest_after(&mut self, stream: Stream) {
        if self.flows(stream, Instant::now()) {
            std::thread::sleep(REST);
        }
        self.waiting_since = Some(Instant::now());
    }

    fn flows(&mut self, stream: Stream, now: Instant) -> bool {
        let is_close = self.waiting_since.is_some_and(|since| now.duration_since(since) < CLOSE);
        let is_same = self.stream.replace(stream) == Some(stream);
        self.in_a_row = if is_close && is_same { self.in_a_row.saturating_add(1) } else { 0 };
        self.in_a_row >= FLOW_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOON: Duration = Duration::from_micros(40);

    struct Talk {
        pace: Pace,
        now: Instant,
    }

    impl Talk {
        fn begin() -> Self {
            Self { pace: Pace::default(), now: Instant::now() }
        }

        fn word(&mut self, stream: Stream, after: Duration) -> bool {
            self.pace.waiting_since = Some(self.now);
            self.now += after;
            self.pace.flows(stream, self.now)
        }

        /// Speaks without a pause until there is a rest.
        fn flow(&mut self) {
            let words = (1..).find(|_| self.word(Stream::Stdout, SOON)).unwrap();
            assert!((FLOW_MIN..=FLOW_MIN + 1).contains(&words), "after {words}");
        }
    }

    #[test]
    fn only_words_that_come_one_upon_the_other_are_rested_after() {
        let mut talk = Talk::begin();
        talk.flow();
        assert!(talk.word(Stream::Stdout, SOON));
        assert!(!talk.word(Stream::Stdout, CLOSE), "a pause");
        talk.flow();
    }

    #[test]
    fn where_both_streams_speak_their_order_is_worth_more_than_a_rest() {
        let mut talk = Talk::begin();
        talk.flow();
        assert!(!talk.word(Stream::Stderr, SOON));
        talk.flow();
    }
}
