//! How a run's output lies on disk: `output.log` holds the bytes of all streams in the order they
//! came, and `output.idx` says of every piece when it came and from which stream.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
    /// Our own words about the run.
    Platform,
}

impl Stream {
    pub const ALL: [Self; 3] = [Self::Stdout, Self::Stderr, Self::Platform];

    pub fn text(self) -> &'static str {
        match self {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
            Stream::Platform => "platform",
        }
    }

    fn code(self) -> u8 {
        match self {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
            Stream::Platform => 3,
        }
    }
}

/// Some of the streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Streams(u8);

impl Streams {
    pub const ALL: Self = Self(0b1110);
    pub const NONE: Self = Self(0);

    pub fn only(stream: Stream) -> Self {
        Self(1 << stream.code())
    }

    pub fn without(self, stream: Stream) -> Self {
        Self(self.0 & !(1 << stream.code()))
    }

    pub fn contains(self, stream: Stream) -> bool {
        self.0 & (1 << stream.code()) != 0
    }
}

/// One piece of output as it was read from the child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Where it begins in `output.log`.
    pub offset: u64,
    pub at_us: u64,
    pub length: u32,
    pub stream: Stream,
}

impl Piece {
    pub const ENCODED_BYTES: usize = 24;

    pub fn encode(&self) -> [u8; Self::ENCODED_BYTES] {
        let mut bytes = [0; Self::ENCODED_BYTES];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.at_us.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.length.to_le_bytes());
        bytes[20] = self.stream.code();
        bytes
    }

    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Option<Self> {
        let number = |range: std::ops::Range<usize>| u64::from_le_bytes(bytes[range].try_into().expect("eight bytes"));
        let stream = Stream::ALL.into_iter().find(|stream| stream.code() == bytes[20])?;
        let length = u32::from_le_bytes(bytes[16..20].try_into().expect("four bytes"));
        Some(Self { offset: number(0..8), at_us: number(8..16), length, stream })
    }

    pub fn end(&self) -> u64 {
        self.offset.saturating_add(u64::from(self.length))
    }
}

/// Reads every whole piece; a torn one at the end is what a crash leaves, and is passed over.
pub fn pieces(index: &[u8]) -> impl Iterator<Item = Piece> + '_ {
    index.chunks_exact(Piece::ENCODED_BYTES).map_while(|bytes| Piece::decode(bytes.try_into().expect("a whole chunk")))
}

/// Bytes of a log that are no more. Offsets behind them stay what they were.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    pub from: u64,
    pub to: u64,
    pub at_ms: u64,
    pub why: Dropped,
}

/// Why they were dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Dropped {
    /// The log of one run was larger than it may be.
    TooLarge { most_bytes: u64 },
    /// The job has been over for too long.
    TooOld { most_ms: u64 },
    /// The logs of all jobs that are over were larger than they may be together.
    TooMuch { most_bytes: u64 },
}

impl Gap {
    /// What stands in the place of `bytes` of it.
    pub fn marker(&self, bytes: u64) -> String {
        use crate::resources::{Bytes, show_duration_ms};
        let why = match self.why {
            Dropped::TooLarge { most_bytes } => format!("a log may be {}", Bytes(most_bytes)),
            Dropped::TooOld { most_ms } => format!("logs are kept for {}", show_duration_ms(most_ms)),
            Dropped::TooMuch { most_bytes } => format!("the logs of jobs that are over may be {}", Bytes(most_bytes)),
        };
        format!("[trainmaster: {bytes} bytes dropped here: {why}]")
    }

    pub fn contains(&self, offset: u64) -> bool {
        self.from <= offset && offset < self.to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_survives_its_encoding_and_a_torn_tail_is_passed_over() {
        let first = Piece { offset: 0, at_us: 5, length: 10, stream: Stream::Stdout };
        let second = Piece { offset: 10, at_us: 6, length: u32::MAX, stream: Stream::Platform };
        let mut index = [first.encode(), second.encode()].concat();
        assert_eq!(pieces(&index).collect::<Vec<_>>(), [first, second]);
        for torn in 1..Piece::ENCODED_BYTES {
            index.truncate(2 * Piece::ENCODED_BYTES - torn);
            assert_eq!(pieces(&index).collect::<Vec<_>>(), [first]);
        }
    }

    #[test]
    fn a_piece_from_before_there_were_words_of_our_own_is_read_as_it_was() {
        let old = [7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(Piece::decode(&old), Some(Piece { offset: 7, at_us: 9, length: 3, stream: Stream::Stderr }));
        let unknown = Piece::decode(&[0xff; Piece::ENCODED_BYTES]);
        assert_eq!(unknown, None);
    }

    #[test]
    fn some_streams_are_not_others() {
        let child = Streams::ALL.without(Stream::Platform);
        assert!(child.contains(Stream::Stdout) && child.contains(Stream::Stderr) && !child.contains(Stream::Platform));
        assert!(!Streams::only(Stream::Stdout).contains(Stream::Stderr));
    }

    #[test]
    fn a_gap_says_how_much_is_gone_and_why() {
        let gap = |why| Gap { from: 0, to: 10, at_ms: 0, why }.marker(10);
        assert_eq!(gap(Dropped::TooLarge { most_bytes: 1 << 30 }), "[trainmaster: 10 bytes dropped here: a log may be 1GiB]");
        assert_eq!(gap(Dropped::TooOld { most_ms: 60_000 }), "[trainmaster: 10 bytes dropped here: logs are kept for 1m]");
    }
}
