//! What goes over the line between a `reach` in one task and the supervisor of another.
//!
//! First each side shows that it has the gang's key, by a code over two numbers that nobody has used before;
//! the key itself never travels. Then come frames: a byte for the kind, four for the length, the rest.

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

pub const MAGIC: &[u8; 20] = b"trainmaster reach 1\n";
pub const NONCE_BYTES: usize = 32;
pub const PROOF_BYTES: usize = 32;
/// Commands of launchers are long; nothing else comes near it.
pub const FRAME_BYTES_MAX: usize = 128 << 10;
/// How much output or input goes into one frame.
pub const DATA_BYTES_MAX: usize = 32 << 10;
const HEAD_BYTES: usize = 5;

pub type Nonce = [u8; NONCE_BYTES];

/// The key of a gang.
#[derive(Clone)]
pub struct Key(Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Caller,
    Task,
}

/// What both sides know when they prove themselves: the two numbers, and who is called.
pub struct Meeting<'a> {
    pub caller: &'a Nonce,
    pub task: &'a Nonce,
    pub name: &'a str,
}

impl Key {
    /// From its hexadecimal digits.
    pub fn read(hex: &str) -> Option<Self> {
        const DIGITS: usize = 64;
        let digits = hex.trim();
        if digits.len() != DIGITS || !digits.chars().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        (0..DIGITS).step_by(2).map(byte).collect::<Option<_>>().map(Self)
    }

    /// Each side proves something else, so that none can be given back its own words.
    pub fn proof(&self, side: Side, meeting: &Meeting<'_>) -> [u8; PROOF_BYTES] {
        self.mac(side, meeting).finalize().into_bytes().into()
    }

    /// Compares in constant time.
    pub fn is_proof(&self, side: Side, meeting: &Meeting<'_>, proof: &[u8]) -> bool {
        self.mac(side, meeting).verify_slice(proof).is_ok()
    }

    fn mac(&self, side: Side, meeting: &Meeting<'_>) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("any length is a key");
        let side: &[u8] = match side {
            Side::Caller => b"caller",
            Side::Task => b"task..",
        };
        for part in [&MAGIC[..], side, &meeting.caller[..], &meeting.task[..], meeting.name.as_bytes()] {
            mac.update(part);
        }
        mac
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// From the caller: what to start.
    Start(Start),
    Stdin(Vec<u8>),
    StdinEnd,
    Signal(u8),
    /// From the task.
    Stdout(Vec<u8>),
    Stderr(Vec<u8>),
    /// It is over, with the code a shell would show.
    Exit(u8),
    /// It never began, or cannot be seen any more; in words.
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    pub command: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadFrame {
    #[error("a frame of {0} bytes is longer than any of ours")]
    TooLong(usize),
    #[error("a frame of kind {0} is none of ours")]
    Unknown(u8),
    #[error("a frame of kind {0} cannot be read")]
    Unreadable(u8),
}

impl Frame {
    pub fn bytes(&self) -> Vec<u8> {
        let json = |start: &Start| serde_json::to_vec(start).expect("words are JSON");
        let (kind, body) = match self {
            Frame::Start(start) => (b'C', json(start)),
            Frame::Stdin(bytes) => (b'I', bytes.clone()),
            Frame::StdinEnd => (b'Z', Vec::new()),
            Frame::Signal(number) => (b'S', vec![*number]),
            Frame::Stdout(bytes) => (b'O', bytes.clone()),
            Frame::Stderr(bytes) => (b'E', bytes.clone()),
            Frame::Exit(code) => (b'X', vec![*code]),
            Frame::Failed(words) => (b'F', words.clone().into_bytes()),
        };
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX).to_be_bytes();
        [&[kind], &length[..], &body].concat()
    }

    fn read(kind: u8, body: &[u8]) -> Result<Self, BadFrame> {
        let unreadable = || BadFrame::Unreadable(kind);
        let byte = || if let [byte] = body { Ok(*byte) } else { Err(unreadable()) };
        Ok(match kind {
            b'C' => Frame::Start(serde_json::from_slice(body).map_err(|_| unreadable())?),
            b'I' => Frame::Stdin(body.to_vec()),
            b'Z' if body.is_empty() => Frame::StdinEnd,
            b'Z' => return Err(unreadable()),
            b'S' => Frame::Signal(byte()?),
            b'O' => Frame::Stdout(body.to_vec()),
            b'E' => Frame::Stderr(body.to_vec()),
            b'X' => Frame::Exit(byte()?),
            b'F' => Frame::Failed(String::from_utf8_lossy(body).into_owned()),
            other => return Err(BadFrame::Unknown(other)),
        })
    }
}

/// Makes frames of bytes, however they come.
#[derive(Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    read: usize,
}

impl Decoder {
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.read);
        self.read = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, once it is whole.
    pub fn frame(&mut self) -> Result<Option<Frame>, BadFrame> {
        let rest = &self.bytes[self.read..];
        let Some((head, after)) = rest.split_at_checked(HEAD_BYTES) else { return Ok(None) };
        let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
        if length > FRAME_BYTES_MAX {
            return Err(BadFrame::TooLong(length));
        }
        let Some(body) = after.get(..length) else { return Ok(None) };
        let frame = Frame::read(head[0], body)?;
        self.read += HEAD_BYTES + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key(vec![byte; 32])
    }

    fn all() -> Vec<Frame> {
        vec![
            Frame::Start(Start { command: vec!["echo".into(), "a b".into()] }),
            Frame::Stdin(b"in\0".to_vec()),
            Frame::StdinEnd,
            Frame::Signal(15),
            Frame::Stdout(vec![7; DATA_BYTES_MAX]),
            Frame::Stderr(Vec::new()),
            Frame::Exit(255),
            Frame::Failed("no program `x`".into()),
        ]
    }

    #[test]
    fn frames_come_out_as_they_went_in_whether_whole_or_byte_by_byte() {
        let bytes: Vec<u8> = all().iter().flat_map(Frame::bytes).collect();
        for size in [1, 2, 5, 7, 4096, bytes.len()] {
            let mut decoder = Decoder::default();
            let mut frames = Vec::new();
            for chunk in bytes.chunks(size) {
                decoder.feed(chunk);
                while let Some(frame) = decoder.frame().unwrap() {
                    frames.push(frame);
                }
            }
            assert_eq!(frames, all(), "{size} bytes at a time");
        }
    }

    #[test]
    fn what_is_none_of_ours_is_refused_before_it_is_kept() {
        let said = |bytes: &[u8]| {
            let mut decoder = Decoder::default();
            decoder.feed(bytes);
            decoder.frame().map_or_else(|bad| bad.to_string(), |frame| format!("{frame:?}"))
        };
        assert_eq!(said(&[b'O', 0xff, 0xff, 0xff, 0xff]), "a frame of 4294967295 bytes is longer than any of ours");
        assert_eq!(said(&[b'O', 0, 2, 0, 1]), "a frame of 131073 bytes is longer than any of ours");
        assert_eq!(said(&[0, 0, 0, 0, 0]), "a frame of kind 0 is none of ours");
        assert_eq!(said(&[b'X', 0, 0, 0, 0]), "a frame of kind 88 cannot be read");
        assert_eq!(said(&[b'Z', 0, 0, 0, 1, 1]), "a frame of kind 90 cannot be read");
        assert_eq!(said(&[b'C', 0, 0, 0, 1, b'{']), "a frame of kind 67 cannot be read");
        assert_eq!(said(&[b'O', 0, 0, 0]), "None");
        assert_eq!(said(&[b'O', 0, 0, 0, 1]), "None");
    }

    #[test]
    fn a_proof_is_good_for_its_key_side_meeting_and_task_alone() {
        let meeting = |caller: &'static Nonce, name: &'static str| Meeting { caller, task: &[2; 32], name };
        let there = meeting(&[1; 32], "worker-1");
        let proof = key(1).proof(Side::Caller, &there);
        assert!(key(1).is_proof(Side::Caller, &there, &proof));
        assert!(!key(2).is_proof(Side::Caller, &there, &proof));
        assert!(!key(1).is_proof(Side::Task, &there, &proof));
        assert!(!key(1).is_proof(Side::Caller, &meeting(&[3; 32], "worker-1"), &proof));
        assert!(!key(1).is_proof(Side::Caller, &meeting(&[1; 32], "worker-2"), &proof));
        assert!(!key(1).is_proof(Side::Caller, &there, &proof[..31]));
    }

    #[test]
    fn a_key_is_read_from_its_digits_and_from_nothing_else() {
        let digits = "0f".repeat(32);
        assert_eq!(Key::read(&format!("{digits}\n")).unwrap().0, [15; 32]);
        for wrong in ["", "0f", &digits[1..], &format!("{digits}0f"), "ü", &"zz".repeat(32), &"+f".repeat(32)] {
            assert!(Key::read(wrong).is_none(), "{wrong}");
        }
    }
}
