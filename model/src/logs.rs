//! How a run's output lies on disk: `output.log` holds the bytes of both streams in the order they
//! came, and `output.idx` says of every piece when it came and from which stream.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    Stdout,
    Stderr,
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
        bytes[20] = match self.stream {
            Stream::Stdout => 1,
            Stream::Stderr => 2,
        };
        bytes
    }

    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Option<Self> {
        let number = |range: std::ops::Range<usize>| u64::from_le_bytes(bytes[range].try_into().expect("eight bytes"));
        let stream = match bytes[20] {
            1 => Stream::Stdout,
            2 => Stream::Stderr,
            _ => return None,
        };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_survives_its_encoding_and_a_torn_tail_is_passed_over() {
        let first = Piece { offset: 0, at_us: 5, length: 10, stream: Stream::Stdout };
        let second = Piece { offset: 10, at_us: 6, length: u32::MAX, stream: Stream::Stderr };
        let mut index = [first.encode(), second.encode()].concat();
        assert_eq!(pieces(&index).collect::<Vec<_>>(), [first, second]);
        for torn in 1..Piece::ENCODED_BYTES {
            index.truncate(2 * Piece::ENCODED_BYTES - torn);
            assert_eq!(pieces(&index).collect::<Vec<_>>(), [first]);
        }
    }
}
