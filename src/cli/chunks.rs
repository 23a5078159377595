//! Pieces of followed logs: their bytes, and the guard against hearing one twice.

use std::collections::HashMap;

use base64::{Engine, prelude::BASE64_STANDARD};
use model::wire::LogChunk;

use super::failure::{Exit, Failure};

pub fn bytes(chunk: &LogChunk) -> Result<Vec<u8>, Failure> {
    match (&chunk.text, &chunk.base64) {
        (Some(text), _) => Ok(text.clone().into_bytes()),
        (None, Some(base64)) => BASE64_STANDARD.decode(base64).map_err(|error| unreadable(chunk, &error.to_string())),
        (None, None) => Err(unreadable(chunk, "it has neither text nor base64")),
    }
}

fn unreadable(chunk: &LogChunk, why: &str) -> Failure {
    Failure::new(Exit::Us, "unreadable", format!("a piece of {}'s log at byte {} cannot be read: {why}", chunk.task, chunk.offset))
}

/// The same place in the log with other bytes: text where it is text, base64 where it is not.
pub fn with_bytes(chunk: &LogChunk, offset: u64, bytes: Vec<u8>) -> LogChunk {
    let (text, base64) = text_or_base64(bytes);
    LogChunk { offset, text, base64, ..chunk.clone() }
}

/// Exactly one of the two is there.
pub fn text_or_base64(bytes: Vec<u8>) -> (Option<String>, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (Some(text), None),
        Err(error) => (None, Some(BASE64_STANDARD.encode(error.as_bytes()))),
    }
}

/// How far each run's log has been heard. The server continues where we say; this makes sure that a
/// byte is never shown twice even if it begins a little earlier.
#[derive(Default)]
pub struct Heard {
    ends: HashMap<(String, u32), u64>,
}

impl Heard {
    /// The part of a chunk that is new.
    pub fn fresh(&mut self, chunk: LogChunk) -> Result<Option<LogChunk>, Failure> {
        let bytes = bytes(&chunk)?;
        let chunk_end = chunk.offset + chunk.dropped_bytes.unwrap_or(bytes.len() as u64);
        let end = self.ends.entry((chunk.task.clone(), chunk.attempt)).or_insert(0);
        let known = end.saturating_sub(chunk.offset);
        if chunk_end <= *end {
            return Ok(None);
        }
        *end = chunk_end;
        match usize::try_from(known) {
            Ok(0) | Err(_) => Ok(Some(chunk)),
            // Of what is gone there is no part to show.
            Ok(_) if chunk.dropped_bytes.is_some() => Ok(Some(chunk)),
            Ok(known) => Ok(Some(with_bytes(&chunk, chunk.offset + known as u64, bytes[known..].to_vec()))),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::logs::Stream;
    use proptest::prelude::*;

    use super::*;

    fn chunk(offset: u64, bytes: &[u8]) -> LogChunk {
        let empty = LogChunk {
            task: "worker-0".into(),
            attempt: 1,
            stream: Stream::Stdout,
            offset,
            at_ms: 0,
            text: None,
            base64: None,
            dropped_bytes: None,
        };
        with_bytes(&empty, offset, bytes.to_vec())
    }

    #[test]
    fn bytes_that_are_no_text_survive() {
        let odd = chunk(0, b"\xff\x00\xe5");
        assert_eq!((odd.text.clone(), odd.base64.as_deref()), (None, Some("/wDl")));
        assert_eq!(bytes(&odd).unwrap(), b"\xff\x00\xe5");
        let broken = LogChunk { base64: Some("?".into()), ..odd };
        assert!(bytes(&broken).unwrap_err().body.message.starts_with("a piece of worker-0's log at byte 0 cannot be read"));
    }

    #[test]
    fn another_attempt_is_another_log() {
        let mut heard = Heard::default();
        assert!(heard.fresh(chunk(0, b"abc")).unwrap().is_some());
        assert!(heard.fresh(chunk(0, b"abc")).unwrap().is_none());
        assert!(heard.fresh(LogChunk { attempt: 2, ..chunk(0, b"abc") }).unwrap().is_some());
    }

    proptest! {
        #[test]
        fn no_byte_is_heard_twice_and_none_is_missed(
            log in prop::collection::vec(any::<u8>(), 1..100),
            cuts in prop::collection::vec((1usize..20, 0usize..20), 1..40),
        ) {
            let (mut heard, mut place, mut got) = (Heard::default(), 0usize, Vec::new());
            for (forward, back) in cuts {
                let (start, end) = (place.saturating_sub(back), (place + forward).min(log.len()));
                if let Some(new) = heard.fresh(chunk(start as u64, &log[start..end])).unwrap() {
                    prop_assert_eq!(new.offset as usize, got.len());
                    got.extend(bytes(&new).unwrap());
                }
                place = end;
            }
            prop_assert_eq!(&got, &log[..place]);
        }
    }
}
