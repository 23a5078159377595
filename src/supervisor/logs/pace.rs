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
/// So much while we rested is a flood: as much again would fill its pipe, and then the child waits for us.
const FLOOD_BYTES_MIN: usize = 512 << 10;
/// So many words of a flood are read before it is tried again whether a rest does harm.
const FLOOD_WORDS: u32 = 1024;

#[derive(Default)]
pub struct Pace {
    /// When we began to wait for the next word.
    waiting_since: Option<Instant>,
    /// Who spoke last. While we rest nobody sees who speaks first, so there is no rest where both streams speak.
    stream: Option<Stream>,
    in_a_row: u32,
    has_rested: bool,
    /// How many words of a flood are still to come without a rest.
    flood_words: u32,
}

impl Pace {
    /// Called after every word. The whole supervisor rests: nothing that it does is in such a hurry.
    pub fn rest_after(&mut self, stream: Stream, bytes: usize) {
        self.has_rested = self.may_rest(stream, bytes, Instant::now());
        if self.has_rested {
            std::thread::sleep(REST);
        }
        self.waiting_since = Some(Instant::now());
    }

    fn may_rest(&mut self, stream: Stream, bytes: usize, now: Instant) -> bool {
        self.flood_words = if self.has_rested && bytes >= FLOOD_BYTES_MIN { FLOOD_WORDS } else { self.flood_words.saturating_sub(1) };
        self.flows(stream, now) && self.flood_words == 0
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
            self.words(stream, after, 1)
        }

        fn words(&mut self, stream: Stream, after: Duration, bytes: usize) -> bool {
            self.pace.waiting_since = Some(self.now);
            self.now += after;
            self.pace.has_rested = self.pace.may_rest(stream, bytes, self.now);
            self.pace.has_rested
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
    fn a_flood_that_came_while_we_rested_is_read_without_a_rest() {
        let mut talk = Talk::begin();
        talk.flow();
        assert!(!talk.words(Stream::Stdout, SOON, FLOOD_BYTES_MIN), "its pipe is about to be full");
        // What is read at once after a word is little, however fast the child writes.
        let words = (1..).find(|_| talk.words(Stream::Stdout, SOON, 4096)).unwrap();
        assert_eq!(words, FLOOD_WORDS, "then a rest is tried again");
        assert!(talk.words(Stream::Stdout, SOON, 4096), "and the flood is over");
    }

    #[test]
    fn where_both_streams_speak_their_order_is_worth_more_than_a_rest() {
        let mut talk = Talk::begin();
        talk.flow();
        assert!(!talk.word(Stream::Stderr, SOON));
        talk.flow();
    }
}
