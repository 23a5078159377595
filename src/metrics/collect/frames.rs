//! Bytes of a stream → lines, and what stood on a line before it was written over.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A line with a value in it is shorter; what is longer is passed over.
const LINE_BYTES_MAX: usize = 64 << 10;

/// What of a stream is not a whole line yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frames {
    #[serde(serialize_with = "as_text", deserialize_with = "from_text")]
    rest: Vec<u8>,
    is_too_long: bool,
}

impl Frames {
    /// Hands out every frame that ends in these bytes, and whether it ends its line.
    pub fn feed(&mut self, bytes: &[u8], take: &mut impl FnMut(&str, bool)) {
        let mut begin = 0;
        while let Some(length) = bytes[begin..].iter().position(|byte| matches!(byte, b'\n' | b'\r' | 8)) {
            let end = begin + length;
            // A carriage return right before a newline only ends the line.
            let ends_line = bytes[end] == b'\n' || bytes[end] == b'\r' && bytes.get(end + 1) == Some(&b'\n');
            self.frame(&bytes[begin..end], ends_line, take);
            begin = end + 1;
        }
        self.keep(&bytes[begin..]);
    }

    /// The stream has ended, with or without a last newline.
    pub fn end(&mut self, take: &mut impl FnMut(&str, bool)) {
        self.frame(&[], true, take);
    }

    fn frame(&mut self, last: &[u8], ends_line: bool, take: &mut impl FnMut(&str, bool)) {
        if self.rest.is_empty() && !self.is_too_long && last.len() <= LINE_BYTES_MAX {
            hand(last, ends_line, take);
            return;
        }
        self.keep(last);
        if !self.is_too_long {
            hand(&self.rest, ends_line, take);
        }
        self.rest.clear();
        self.is_too_long = false;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.rest.len() + bytes.len() > LINE_BYTES_MAX {
            self.is_too_long = true;
            self.rest = Vec::new();
        }
        if !self.is_too_long {
            self.rest.extend_from_slice(bytes);
        }
    }
}

fn hand(frame: &[u8], ends_line: bool, take: &mut impl FnMut(&str, bool)) {
    if !frame.is_empty() {
        take(&String::from_utf8_lossy(frame), ends_line);
    }
}

fn as_text<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&BASE64_STANDARD.encode(bytes))
}

fn from_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    BASE64_STANDARD.decode(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_the_same_however_they_come() {
        let text = b"one\r\ntwo\rthree\nf\x08our\n\nfive";
        for cut in 0..=text.len() {
            let (mut frames, mut seen) = (Frames::default(), Vec::new());
            let mut take = |frame: &str, ends: bool| seen.push(format!("{frame}{}", if ends { "." } else { "" }));
            frames.feed(&text[..cut], &mut take);
            // Over a restart.
            frames = serde_json::from_str(&serde_json::to_string(&frames).unwrap()).unwrap();
            frames.feed(&text[cut..], &mut take);
            frames.end(&mut take);
            // Where the stream is cut between the two, the return is taken for one that is written over.
            let one = if cut == 4 { "one" } else { "one." };
            assert_eq!(seen, [one, "two", "three.", "f", "our.", "five."], "{cut}");
        }
    }

    #[test]
    fn a_line_without_an_end_takes_no_room() {
        let (mut frames, mut seen) = (Frames::default(), Vec::new());
        for _ in 0..10 {
            frames.feed(&[b'x'; 30 << 10], &mut |frame: &str, _| seen.push(frame.len()));
            assert!(frames.rest.capacity() <= 2 * LINE_BYTES_MAX);
        }
        frames.feed(b"\nshort\n", &mut |frame: &str, _| seen.push(frame.len()));
        assert_eq!(seen, [5]);
    }
}
