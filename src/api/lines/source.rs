//! The lines of one run, forwards from a place or backwards from it, a block at a time. Files are open only while a block is read.

use std::{
    collections::VecDeque,
    io,
    time::{Duration, Instant},
};

use model::{
    ids::RunKey,
    lines::{Assembler, LogLine},
    logs::{Gap, Stream, Streams},
    terminal::Shown,
};

use super::super::log_files::{LogFiles, Told};
use crate::rundir::RunDir;

/// A line that began further back is shown from there on.
const LOOK_BACK_BYTES: u64 = 64 << 10;

/// Which lines are meant, and how much of a log is read at a time.
#[derive(Clone, Debug)]
pub struct Reading {
    pub dir: RunDir,
    pub run: RunKey,
    pub streams: Streams,
    /// Nothing will be added to it.
    pub is_over: bool,
    pub block_bytes: u64,
}

/// A line and its place among all lines of all runs. Lines without an end stand behind those that have one.
pub struct Placed {
    pub at_us: u64,
    pub end: u64,
    pub line: LogLine,
}

/// What a source has to say next.
pub enum Next {
    Line(Placed),
    End,
    /// So much was read for nothing that it is time to stop. Everything on this side of the place was told.
    Paused {
        at_us: u64,
        end: u64,
    },
}

/// How much may be read before one has to stop.
pub struct Budget {
    pub read_bytes: u64,
    until: Instant,
}

impl Budget {
    const BYTES_MAX: u64 = 64 << 20;
    const TIME_MAX: Duration = Duration::from_secs(2);

    pub fn new() -> Self {
        Self { read_bytes: 0, until: Instant::now() + Self::TIME_MAX }
    }

    pub fn is_spent(&self) -> bool {
        self.read_bytes > Self::BYTES_MAX || Instant::now() > self.until
    }
}

/// Lines that end behind a place, in order.
pub struct Forward {
    pub reading: Reading,
    at: Option<u64>,
    /// Lines that end here or before are passed over.
    from: u64,
    assembler: Assembler,
    ready: VecDeque<LogLine>,
    at_end: bool,
    last_us: u64,
    /// What lies behind this place is left for later.
    until: Option<u64>,
}

impl Forward {
    pub fn new(reading: Reading, from: u64) -> Self {
        Self { reading, at: None, from, assembler: Assembler::default(), ready: VecDeque::new(), at_end: false, last_us: 0, until: None }
    }

    /// Only what is there now, until it is told to go on.
    pub fn until_now(self) -> io::Result<Self> {
        let length = LogFiles::open(&self.reading.dir)?.map_or(Ok(0), |files| files.length())?;
        Ok(Self { until: Some(length), ..self })
    }

    pub fn go_on(self) -> Self {
        Self { until: None, ..self }
    }

    /// Lines whose end is known; at the end of the log also those without one.
    pub fn next(&mut self, budget: &mut Budget) -> io::Result<Next> {
        let mut has_read = false;
        while self.ready.is_empty() && !self.at_end {
            if has_read && budget.is_spent() {
                return self.pause();
            }
            budget.read_bytes += self.read_on()?;
            has_read = true;
            if self.at_end {
                self.ready.extend(self.unfinished());
            }
        }
        let Some(line) = self.ready.pop_front() else { return Ok(Next::End) };
        // A clock that goes back does not change what came first.
        self.last_us = self.last_us.max(line.at_us);
        let end = if line.unfinished { self.place_behind_all() } else { line.end };
        Ok(Next::Line(Placed { at_us: self.last_us, end, line }))
    }

    fn pause(&mut self) -> io::Result<Next> {
        let end = self.place();
        self.last_us = self.last_us.max(time_at(&self.reading.dir, end.saturating_sub(1))?);
        Ok(Next::Paused { at_us: self.last_us, end })
    }

    /// What was added since the end was reached.
    pub fn more(&mut self) -> io::Result<Vec<LogLine>> {
        self.read_on()?;
        Ok(self.ready.drain(..).collect())
    }

    /// What has no end yet; nothing if it was told already.
    pub fn unfinished(&self) -> Vec<LogLine> {
        if self.at.is_some_and(|at| at < self.from) {
            return Vec::new();
        }
        self.assembler.unfinished().into_iter().filter(|line| self.reading.streams.contains(line.stream)).collect()
    }

    /// Whether there was nothing more when it was last read.
    pub fn is_drained(&self) -> bool {
        self.at_end
    }

    /// How far the log was read; everything that ends before was told.
    pub fn place(&self) -> u64 {
        self.at.unwrap_or(0).max(self.from)
    }

    /// The place of a log of which everything was told, also what has no end.
    pub fn place_behind_all(&self) -> u64 {
        self.at.unwrap_or(0).max(self.from.saturating_sub(1)) + 1
    }

    fn read_on(&mut self) -> io::Result<u64> {
        let Some(files) = LogFiles::open(&self.reading.dir)? else {
            self.at_end = true;
            return Ok(0);
        };
        let at = match self.at {
            Some(at) => at,
            None => files.line_start(self.from, LOOK_BACK_BYTES)?,
        };
        let (streams, from) = (self.reading.streams, self.from);
        let ready = &mut self.ready;
        let mut keep = |line: LogLine| {
            if line.end > from && streams.contains(line.stream) {
                ready.push_back(line);
            }
        };
        let most = self.until.map_or(u64::MAX, |until| until.saturating_sub(at)).min(self.reading.block_bytes);
        let stopped = if most == 0 { at } else { step(&files, (at, most), &mut self.assembler, &mut keep)? };
        self.at_end = stopped == at;
        self.at = Some(stopped);
        Ok(stopped - at)
    }
}

/// Lines that end before a place, the last one first.
pub struct Backward {
    pub reading: Reading,
    until: Option<u64>,
    /// In order; taken from the end.
    ready: Vec<LogLine>,
    next_us: u64,
    length: u64,
}

impl Backward {
    /// From the end of the log if no place is given.
    pub fn new(reading: Reading, until: Option<u64>) -> Self {
        Self { reading, until, ready: Vec::new(), next_us: u64::MAX, length: 0 }
    }

    pub fn next(&mut self, budget: &mut Budget) -> io::Result<Next> {
        let mut has_read = false;
        while self.ready.is_empty()
            && let Some(until) = self.until.or(Some(u64::MAX)).filter(|until| *until > 0)
        {
            if has_read && budget.is_spent() {
                self.next_us = self.next_us.min(time_at(&self.reading.dir, until)?);
                return Ok(Next::Paused { at_us: self.next_us, end: until + 1 });
            }
            budget.read_bytes += self.read_back()?;
            has_read = true;
        }
        let Some(line) = self.ready.pop() else { return Ok(Next::End) };
        if line.unfinished && self.next_us != u64::MAX && self.length > 0 {
            return Ok(Next::Line(Placed { at_us: self.next_us, end: self.length + 1, line }));
        }
        self.next_us = self.next_us.min(line.at_us);
        Ok(Next::Line(Placed { at_us: self.next_us, end: line.end, line }))
    }

    fn read_back(&mut self) -> io::Result<u64> {
        let Some(files) = LogFiles::open(&self.reading.dir)? else {
            self.until = Some(0);
            return Ok(0);
        };
        let length = files.length()?;
        let end = self.until.unwrap_or(length).min(length);
        let start = window_start(end, self.reading.block_bytes, files.gap()?);
        let (mut assembler, streams) = (Assembler::default(), self.reading.streams);
        let ready = &mut self.ready;
        let mut keep = |line: LogLine| {
            if line.end > start && line.end <= end && streams.contains(line.stream) {
                ready.push(line);
            }
        };
        let mut at = files.line_start(start, LOOK_BACK_BYTES)?;
        while at < end {
            let stopped = step(&files, (at, (end - at).min(self.reading.block_bytes)), &mut assembler, &mut keep)?;
            at = if stopped > at { stopped } else { end };
        }
        // In the middle of a log, a line without an end goes on behind the window and was told with what is there.
        if self.until.is_none() {
            ready.extend(assembler.unfinished().into_iter().filter(|line| streams.contains(line.stream)));
            self.next_us = files.piece_at(length.saturating_sub(1))?.map_or(u64::MAX, |piece| piece.at_us);
            self.length = length;
        }
        self.until = Some(start);
        Ok(end - start)
    }
}

/// When the byte at a place came.
fn time_at(dir: &RunDir, offset: u64) -> io::Result<u64> {
    let piece = LogFiles::open(dir)?.map(|files| files.piece_at(offset)).transpose()?.flatten();
    Ok(piece.map_or(0, |piece| piece.at_us))
}

/// A window does not begin within what was dropped.
fn window_start(end: u64, block_bytes: u64, gap: Option<Gap>) -> u64 {
    let start = end.saturating_sub(block_bytes);
    match gap {
        Some(gap) if gap.contains(start) && end > gap.to => gap.to,
        Some(gap) if gap.contains(start) || gap.contains(end.saturating_sub(1)) => gap.from.saturating_sub(block_bytes),
        Some(_) | None => start,
    }
}

/// Reads a block into lines. What was dropped ends every line before it, and is a line itself.
fn step(files: &LogFiles, (at, most): (u64, u64), assembler: &mut Assembler, hear: &mut impl FnMut(LogLine)) -> io::Result<u64> {
    files.walk(at, most, &mut |told| match told {
        Told::Bytes { stream, offset, at_us, bytes } => assembler.push(stream, (offset, at_us), bytes, hear),
        Told::Dropped { gap, offset } => {
            assembler.unfinished().into_iter().for_each(&mut *hear);
            assembler.forget();
            hear(dropped(&gap, offset));
        }
    })
}

fn dropped(gap: &Gap, offset: u64) -> LogLine {
    let text = gap.marker(gap.to - offset);
    LogLine {
        stream: Stream::Platform,
        offset,
        end: gap.to,
        at_us: gap.at_ms.saturating_mul(1000),
        shown: Shown { text, ..Shown::default() },
        unfinished: false,
        dropped_bytes: Some(gap.to - offset),
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::log_files::tests::{drop_of, run_dir},
        *,
    };

    use Stream::{Platform, Stderr, Stdout};

    fn reading(dir: &RunDir, block_bytes: u64) -> Reading {
        let run = "job-00000000000000000000000000000001:main-0:1".parse().unwrap();
        Reading { dir: dir.clone(), run, streams: Streams::ALL, is_over: true, block_bytes }
    }

    fn texts(lines: impl Iterator<Item = Placed>) -> Vec<String> {
        lines.map(|Placed { line, .. }| line.shown.text + if line.unfinished { "…" } else { "" }).collect()
    }

    fn line(next: Next) -> Option<Placed> {
        match next {
            Next::Line(placed) => Some(placed),
            Next::End | Next::Paused { .. } => None,
        }
    }

    fn forwards(dir: &RunDir, block_bytes: u64, from: u64) -> Vec<String> {
        let mut source = Forward::new(reading(dir, block_bytes), from);
        texts(std::iter::from_fn(|| line(source.next(&mut Budget::new()).unwrap())))
    }

    fn backwards(dir: &RunDir, block_bytes: u64, until: Option<u64>) -> Vec<String> {
        let mut source = Backward::new(reading(dir, block_bytes), until);
        let mut all = texts(std::iter::from_fn(|| line(source.next(&mut Budget::new()).unwrap())));
        all.reverse();
        all
    }

    const MIXED: [(Stream, &str); 6] =
        [(Stderr, "10%\r"), (Stdout, "one\ntw"), (Platform, "[us]\n"), (Stderr, "20%\r"), (Stdout, "o\nthree\n"), (Stderr, "30%")];

    #[test]
    fn both_ways_see_the_same_lines_whatever_is_read_at_a_time() {
        let (_data, dir) = run_dir(&MIXED);
        for block in [1, 2, 3, 5, 7, 100] {
            assert_eq!(forwards(&dir, block, 0), ["one", "[us]", "two", "three", "30%…"], "{block}");
            assert_eq!(backwards(&dir, block, None), ["one", "[us]", "two", "three", "30%…"], "{block}");
        }
    }

    #[test]
    fn one_may_begin_anywhere_and_sees_whole_lines() {
        let (_data, dir) = run_dir(&MIXED);
        assert_eq!(forwards(&dir, 100, 8), ["[us]", "two", "three", "30%…"]);
        assert_eq!(forwards(&dir, 100, 9), ["[us]", "two", "three", "30%…"]);
        assert_eq!(forwards(&dir, 100, 21), ["three", "30%…"]);
        assert_eq!(backwards(&dir, 3, Some(21)), ["one", "[us]", "two"]);
        assert_eq!(backwards(&dir, 3, Some(20)), ["one", "[us]"]);
    }

    #[test]
    fn what_was_dropped_is_a_line_in_both_directions() {
        let (_data, dir) = run_dir(&[(Stdout, "one\ntwo\nthree\nfour\nfive\nsix\n")]);
        drop_of(&dir, 5..16);
        let marker = "[trainmaster: 11 bytes dropped here: a log may be 1MiB]";
        for block in [1, 2, 4, 6, 9, 100] {
            assert_eq!(forwards(&dir, block, 0), ["one", "t…", marker, "ur", "five", "six"], "{block}");
            let back = backwards(&dir, block, None);
            assert_eq!(
                (&back[0], &back[back.len() - 4..]),
                (&"one".to_owned(), &[marker, "ur", "five", "six"].map(String::from)[..]),
                "{block}"
            );
        }
    }
}
