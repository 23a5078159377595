//! Lines out of pieces: each stream's lines are put together by themselves, so that a bar on one stream does not run into what is
//! printed on the other. A line stands where it ends.

use crate::{
    logs::Stream,
    terminal::{Line, Shown},
};

/// A longer line is shown as it comes, and not kept.
const RAW_BYTES_MAX: usize = 16 << 10;

/// A line and its place in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    pub stream: Stream,
    /// Where it begins, as far as was looked.
    pub offset: u64,
    /// Behind its last byte.
    pub end: u64,
    /// When its last byte came.
    pub at_us: u64,
    pub shown: Shown,
    /// It has no end yet, and may never have one.
    pub unfinished: bool,
    /// How many bytes were dropped in this place; the text says so.
    pub dropped_bytes: Option<u64>,
}

/// Puts lines together, in little memory however long they are.
#[derive(Clone, Debug, Default)]
pub struct Assembler {
    pending: [Option<Pending>; 3],
}

#[derive(Clone, Debug)]
struct Pending {
    offset: u64,
    end: u64,
    at_us: u64,
    raw: Vec<u8>,
    /// For what became too long to be kept.
    line: Option<Box<Line>>,
}

fn place(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Platform => 2,
    }
}

impl Assembler {
    /// Takes bytes of one stream that came together at `at_us` and lie at `offset`.
    pub fn push(&mut self, stream: Stream, (offset, at_us): (u64, u64), bytes: &[u8], hear: &mut impl FnMut(LogLine)) {
        let slot = &mut self.pending[place(stream)];
        let mut at = offset;
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let is_whole = part.ends_with(b"\n");
            let text = if is_whole { &part[..part.len() - 1] } else { part };
            let end = at + part.len() as u64;
            match (slot.take(), is_whole) {
                (None, true) => hear(line(stream, (at, end), at_us, Line::of(text))),
                (pending, is_whole) => {
                    let mut pending = pending.unwrap_or_else(|| Pending { offset: at, end, at_us, raw: Vec::new(), line: None });
                    pending.add(text);
                    (pending.end, pending.at_us) = (end, at_us);
                    if is_whole { hear(pending.finish(stream, false)) } else { *slot = Some(pending) }
                }
            }
            at = end;
        }
    }

    /// What has no end yet, in order.
    pub fn unfinished(&self) -> Vec<LogLine> {
        let streams = [Stream::Stdout, Stream::Stderr, Stream::Platform];
        let pending = self.pending.iter().zip(streams).filter_map(|(it, stream)| Some(it.clone()?.finish(stream, true)));
        let mut lines: Vec<LogLine> = pending.collect();
        lines.sort_by_key(|line| line.end);
        lines
    }

    pub fn forget(&mut self) {
        self.pending = Default::default();
    }
}

impl Pending {
    fn add(&mut self, bytes: &[u8]) {
        if self.line.is_none() && self.raw.len() + bytes.len() <= RAW_BYTES_MAX {
            return self.raw.extend_from_slice(bytes);
        }
        let raw = std::mem::take(&mut self.raw);
        let line = self.line.get_or_insert_default();
        line.feed(&raw);
        line.feed(bytes);
    }

    fn finish(self, stream: Stream, unfinished: bool) -> LogLine {
        let shown = self.line.map_or_else(|| Line::of(&self.raw), |line| line.shown());
        LogLine { unfinished, ..line(stream, (self.offset, self.end), self.at_us, shown) }
    }
}

fn line(stream: Stream, (offset, end): (u64, u64), at_us: u64, shown: Shown) -> LogLine {
    LogLine { stream, offset, end, at_us, shown, unfinished: false, dropped_bytes: None }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    use Stream::{Stderr, Stdout};

    fn told(pieces: &[(Stream, &str)]) -> Vec<String> {
        let (mut assembler, mut lines, mut offset) = (Assembler::default(), Vec::new(), 0);
        for (number, (stream, text)) in pieces.iter().enumerate() {
            assembler.push(*stream, (offset, number as u64), text.as_bytes(), &mut |line| lines.push(line));
            offset += text.len() as u64;
        }
        lines.extend(assembler.unfinished());
        let tell = |it: LogLine| format!("{}-{}@{} {}{}", it.offset, it.end, it.at_us, it.shown.text, if it.unfinished { "…" } else { "" });
        lines.into_iter().map(tell).collect()
    }

    #[test]
    fn each_stream_has_its_own_lines_and_each_line_its_place() {
        let pieces = [(Stderr, "10%\r"), (Stdout, "epoch 1\nepo"), (Stderr, "20%"), (Stdout, "ch 2\n"), (Stderr, "\n"), (Stdout, "end")];
        assert_eq!(told(&pieces), ["4-12@1 epoch 1", "12-23@3 epoch 2", "0-24@4 20%", "24-27@5 end…"]);
    }

    #[test]
    fn a_line_too_long_to_keep_is_still_one_line() {
        let long = "x".repeat(RAW_BYTES_MAX);
        let lines = told(&[(Stdout, &long), (Stdout, &long), (Stdout, "\rend\nnext\n")]);
        assert_eq!(lines.len(), 2);
        assert!(lines[0].contains(" endxxxx") && lines[1].ends_with(" next"), "{}", lines[1]);
    }

    proptest! {
        #[test]
        fn where_the_bytes_are_cut_does_not_matter(text in "[a-c\n\r]{0,80}", cut in 1usize..9) {
            let whole: Vec<String> = told(&[(Stdout, &text)]).into_iter().map(|it| it.replace("@0", "")).collect();
            let parts: Vec<(Stream, &str)> = text.as_bytes().chunks(cut).map(|it| (Stdout, std::str::from_utf8(it).unwrap())).collect();
            let cut: Vec<String> = told(&parts).into_iter().map(|it| it[..it.find('@').unwrap()].to_owned() + &it[it.find(' ').unwrap()..]).collect();
            prop_assert_eq!(whole, cut);
        }
    }
}
