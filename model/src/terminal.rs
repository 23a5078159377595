//! What a task wrote, made fit for a terminal or a page: colours pass, and nothing else that could move the cursor,
//! rename the window or hide text.

mod escapes;
mod filter;
mod line;

pub use filter::{Filter, plain};
pub use line::{Colour, Line, Shown};

/// Bytes as text, however they are cut: half a character is kept until the rest of it comes.
#[derive(Clone, Debug, Default)]
struct Decoder {
    unfinished: Vec<u8>,
}

enum Decoded<'a> {
    Text(&'a str),
    /// Never valid, whatever follows.
    Bad(&'a [u8]),
}

impl Decoder {
    fn feed(&mut self, bytes: &[u8], mut hear: impl FnMut(Decoded<'_>)) {
        if self.unfinished.is_empty() {
            return self.read(bytes, &mut hear);
        }
        let mut joined = std::mem::take(&mut self.unfinished);
        joined.extend_from_slice(bytes);
        self.read(&joined, &mut hear);
    }

    fn read(&mut self, mut rest: &[u8], hear: &mut impl FnMut(Decoded<'_>)) {
        while !rest.is_empty() {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return hear(Decoded::Text(text)),
                Err(error) => error,
            };
            let (good, bad) = rest.split_at(error.valid_up_to());
            hear(Decoded::Text(std::str::from_utf8(good).expect("checked a moment ago")));
            let Some(length) = error.error_len() else {
                self.unfinished = bad.to_vec();
                return;
            };
            hear(Decoded::Bad(&bad[..length]));
            rest = &bad[length..];
        }
    }

    /// What is left when no more bytes come.
    fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.unfinished)
    }
}
