//! Reading a run's output: pieces from the index, bytes from the log, and what was dropped from the record of it.

use std::{fs::File, io, os::unix::fs::FileExt};

use model::logs::{Gap, Piece, Stream, Streams};

use crate::rundir::{RunDir, gap};

pub struct LogFiles {
    dir: RunDir,
    log: File,
    index: File,
}

/// What lies somewhere in a log.
pub enum Told<'a> {
    Bytes { stream: Stream, offset: u64, at_us: u64, bytes: &'a [u8] },
    Dropped { gap: Gap, offset: u64 },
}

/// Bytes as they are, without their streams.
pub enum Block {
    Bytes(Vec<u8>),
    Dropped(Gap),
}

impl LogFiles {
    /// `None` if the run has not opened them yet.
    pub fn open(dir: &RunDir) -> io::Result<Option<Self>> {
        match (File::open(dir.log()), File::open(dir.index())) {
            (Ok(log), Ok(index)) => Ok(Some(Self { dir: dir.clone(), log, index })),
            (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    pub fn length(&self) -> io::Result<u64> {
        Ok(self.log.metadata()?.len())
    }

    pub fn gap(&self) -> io::Result<Option<Gap>> {
        gap::read(&self.dir)
    }

    /// At most so many bytes from `offset` on. What was dropped while they were read is seen afterwards.
    pub fn block_at(&self, offset: u64, most: u64) -> io::Result<Block> {
        let bytes = self.read_at(offset, most as usize)?;
        let Some(gap) = self.gap()? else { return Ok(Block::Bytes(bytes)) };
        if gap.contains(offset) {
            return Ok(Block::Dropped(gap));
        }
        let before = if offset < gap.from { gap.from - offset } else { u64::MAX };
        Ok(Block::Bytes(bytes[..bytes.len().min(usize::try_from(before).unwrap_or(usize::MAX))].to_vec()))
    }

    /// Tells at most so many bytes from `offset` on, piece by piece, and answers where it stopped.
    pub fn walk(&self, offset: u64, most: u64, hear: &mut dyn FnMut(Told<'_>)) -> io::Result<u64> {
        let bytes = match self.block_at(offset, most)? {
            Block::Bytes(bytes) => bytes,
            Block::Dropped(gap) => {
                hear(Told::Dropped { gap, offset });
                return Ok(gap.to);
            }
        };
        let end = offset + bytes.len() as u64;
        let mut pieces = Pieces::new(&self.index, self.first_piece(|piece| piece.end() > offset)?, Pieces::FEW);
        let mut told = offset;
        while told < end
            && let Some(piece) = pieces.next()?
        {
            let (from, to) = (piece.offset.max(told), piece.end().min(end));
            if from < to {
                let part = &bytes[(from - offset) as usize..(to - offset) as usize];
                hear(Told::Bytes { stream: piece.stream, offset: from, at_us: piece.at_us, bytes: part });
                told = to;
            }
        }
        Ok(told)
    }

    /// Whose the bytes between two places are: each stream with where its turn ends. What nothing is known of yet is stdout's.
    pub fn turns(&self, from: u64, to: u64) -> io::Result<Vec<(Stream, u64)>> {
        let mut pieces = Pieces::new(&self.index, self.first_piece(|piece| piece.end() > from)?, Pieces::MANY);
        let (mut at, mut turns): (u64, Vec<(Stream, u64)>) = (from, Vec::new());
        while at < to {
            let (stream, end) = pieces.next()?.map_or((Stream::Stdout, to), |piece| (piece.stream, piece.end().min(to)));
            match turns.last_mut() {
                Some(last) if last.0 == stream => last.1 = end,
                Some(_) | None => turns.push((stream, end)),
            }
            at = end.max(at);
        }
        Ok(turns)
    }

    /// Where the output since a moment begins.
    pub fn offset_since(&self, at_ms: u64) -> io::Result<u64> {
        self.offset_of_first(|piece| piece.at_us >= at_ms.saturating_mul(1000))
    }

    /// Where the first piece begins for which this holds; the end if there is none.
    pub fn offset_of_first(&self, is_after: impl Fn(&Piece) -> bool) -> io::Result<u64> {
        let number = self.first_piece(is_after)?;
        Ok(self.piece(number)?.map_or(self.length()?, |piece| piece.offset))
    }

    /// Which stream a byte is of, and when it came.
    pub fn piece_at(&self, offset: u64) -> io::Result<Option<Piece>> {
        self.piece(self.first_piece(|piece| piece.end() > offset)?)
    }

    /// Where the last lines of some streams begin. An unterminated last line counts as one.
    pub fn tail_start(&self, streams: Streams, lines: u64) -> io::Result<u64> {
        const WINDOW_BYTES: u64 = 64 << 10;
        let (mut end, mut seen, mut is_last_byte) = (self.length()?, 0, true);
        if lines == 0 {
            return Ok(end);
        }
        while end > 0 {
            let start = end.saturating_sub(WINDOW_BYTES);
            let (mut window, mut at) = (Vec::new(), start);
            while at < end {
                let stopped = self.walk(at, end - at, &mut |told| {
                    if let Told::Bytes { stream, offset, bytes, .. } = told
                        && streams.contains(stream)
                    {
                        window.push((offset, bytes.to_vec()));
                    }
                })?;
                at = if stopped > at { stopped } else { end };
            }
            for (offset, bytes) in window.iter().rev() {
                for (position, byte) in bytes.iter().enumerate().rev() {
                    // The newline that ends the last line does not begin another one.
                    seen += u64::from(*byte == b'\n' && !is_last_byte);
                    is_last_byte = false;
                    if seen == lines {
                        return Ok(offset + position as u64 + 1);
                    }
                }
            }
            end = start;
        }
        Ok(0)
    }

    /// Where the last bytes of some streams begin.
    pub fn last_bytes_start(&self, streams: Streams, bytes: u64) -> io::Result<u64> {
        const WINDOW_BYTES: u64 = 64 << 10;
        let (mut end, mut missing) = (self.length()?, bytes);
        if streams == Streams::ALL {
            return Ok(end.saturating_sub(bytes));
        }
        while end > 0 && missing > 0 {
            let start = end.saturating_sub(WINDOW_BYTES);
            let (mut parts, mut at) = (Vec::new(), start);
            while at < end {
                let stopped = self.walk(at, end - at, &mut |told| match told {
                    Told::Bytes { stream, offset, bytes, .. } if streams.contains(stream) => parts.push((offset, bytes.len() as u64)),
                    Told::Bytes { .. } | Told::Dropped { .. } => {}
                })?;
                at = if stopped > at { stopped } else { end };
            }
            for (offset, length) in parts.into_iter().rev() {
                if length >= missing {
                    return Ok(offset + length - missing);
                }
                missing -= length;
            }
            end = start;
        }
        Ok(end)
    }

    /// Where to begin in order to see the lines whole that end behind `offset`: not more than so far back.
    pub fn line_start(&self, offset: u64, most_back: u64) -> io::Result<u64> {
        const WINDOW_BYTES: u64 = 8 << 10;
        let least = offset.saturating_sub(most_back).max(self.gap()?.filter(|gap| gap.to <= offset).map_or(0, |gap| gap.to));
        let (mut end, mut open, mut begins) = (offset, Streams::ALL, offset);
        while end > least && open != Streams::NONE {
            let start = end.saturating_sub(WINDOW_BYTES).max(least);
            let mut window = Vec::new();
            self.walk(start, end - start, &mut |told| {
                if let Told::Bytes { stream, offset, bytes, .. } = told {
                    let newline = bytes.iter().rposition(|byte| *byte == b'\n').map(|at| offset + at as u64 + 1);
                    window.push((stream, offset, newline));
                }
            })?;
            for (stream, from, newline) in window.into_iter().rev() {
                if open.contains(stream) {
                    begins = begins.min(newline.unwrap_or(from));
                    open = if newline.is_some() { open.without(stream) } else { open };
                }
            }
            end = start;
        }
        Ok(begins)
    }

    /// As much as there is, and answers how much.
    pub fn read_into(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.log.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        Ok(filled)
    }

    fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let filled = self.read_into(&mut bytes, offset)?;
        bytes.truncate(filled);
        Ok(bytes)
    }

    fn piece_count(&self) -> io::Result<u64> {
        Ok(self.index.metadata()?.len() / Piece::ENCODED_BYTES as u64)
    }

    fn piece(&self, number: u64) -> io::Result<Option<Piece>> {
        let mut bytes = [0; Piece::ENCODED_BYTES];
        match self.index.read_exact_at(&mut bytes, number * Piece::ENCODED_BYTES as u64) {
            Ok(()) => Ok(Piece::decode(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The number of the first piece for which `is_after` holds; pieces are in order of offset and time.
    fn first_piece(&self, is_after: impl Fn(&Piece) -> bool) -> io::Result<u64> {
        let (mut low, mut high) = (0, self.piece_count()?);
        while low < high {
            let middle = low + (high - low) / 2;
            match self.piece(middle)? {
                Some(piece) if !is_after(&piece) => low = middle + 1,
                _ => high = middle,
            }
        }
        Ok(low)
    }
}

/// The index from a piece on, read by many at a time.
struct Pieces<'a> {
    index: &'a File,
    number: u64,
    /// How many are read at a time.
    at_once: usize,
    read: Vec<u8>,
    at: usize,
}

impl<'a> Pieces<'a> {
    const FEW: usize = 128;
    const MANY: usize = 2048;

    fn new(index: &'a File, number: u64, at_once: usize) -> Self {
        Self { index, number, at_once, read: Vec::new(), at: 0 }
    }

    fn next(&mut self) -> io::Result<Option<Piece>> {
        if self.read.len() < self.at + Piece::ENCODED_BYTES {
            self.read.resize(self.at_once * Piece::ENCODED_BYTES, 0);
            let got = self.index.read_at(&mut self.read, self.number * Piece::ENCODED_BYTES as u64)?;
            self.read.truncate(got);
            self.at = 0;
        }
        let Some(bytes) = self.read.get(self.at..self.at + Piece::ENCODED_BYTES) else { return Ok(None) };
        self.at += Piece::ENCODED_BYTES;
        self.number += 1;
        Ok(Piece::decode(bytes.try_into().expect("a whole piece")))
    }
}

#[cfg(test)]
pub mod tests {
    use std::ops::Range;

    use model::logs::Dropped;

    use super::*;

    /// A run's directory with these pieces in its log, one millisecond apart, beginning at 1 ms.
    pub fn run_dir(pieces: &[(Stream, &str)]) -> (tempfile::TempDir, RunDir) {
        let data = tempfile::tempdir().unwrap();
        let run = "job-00000000000000000000000000000001:main-0:1".parse().unwrap();
        let dir = RunDir::new(data.path(), &run);
        std::fs::create_dir_all(dir.path()).unwrap();
        let (mut log, mut index) = (Vec::new(), Vec::new());
        for (number, (stream, text)) in pieces.iter().enumerate() {
            let at_us = (number as u64 + 1) * 1000;
            let piece = Piece { offset: log.len() as u64, at_us, length: text.len() as u32, stream: *stream };
            index.extend(piece.encode());
            log.extend(text.as_bytes());
        }
        std::fs::write(dir.log(), log).unwrap();
        std::fs::write(dir.index(), index).unwrap();
        (data, dir)
    }

    pub fn drop_of(dir: &RunDir, bytes: Range<u64>) {
        let log = std::fs::OpenOptions::new().write(true).open(dir.log()).unwrap();
        gap::drop_bytes(dir, &log, &Gap { from: bytes.start, to: bytes.end, at_ms: 9, why: Dropped::TooLarge { most_bytes: 1 << 20 } })
            .unwrap();
    }

    fn files(pieces: &[(Stream, &str)]) -> (tempfile::TempDir, LogFiles) {
        let (data, dir) = run_dir(pieces);
        let files = LogFiles::open(&dir).unwrap().unwrap();
        (data, files)
    }

    fn told(files: &LogFiles, from: u64, streams: Streams) -> String {
        let (mut text, mut at) = (String::new(), from);
        loop {
            let stopped = files
                .walk(at, 7, &mut |it| match it {
                    Told::Bytes { stream, bytes, .. } if streams.contains(stream) => text.push_str(std::str::from_utf8(bytes).unwrap()),
                    Told::Bytes { .. } => {}
                    Told::Dropped { gap, offset } => text.push_str(&format!("<{}>", gap.to - offset)),
                })
                .unwrap();
            if stopped == at {
                return text;
            }
            at = stopped;
        }
    }

    use Stream::{Platform, Stderr, Stdout};
    const MIXED: [(Stream, &str); 5] = [(Stdout, "one\n"), (Stderr, "warn\n"), (Stdout, "two\n"), (Platform, "[us]\n"), (Stdout, "three")];

    #[test]
    fn each_stream_can_be_read_alone_and_all_in_order() {
        let (_data, files) = files(&MIXED);
        let read = |streams, from| told(&files, from, streams);
        assert_eq!(read(Streams::ALL, 0), "one\nwarn\ntwo\n[us]\nthree");
        assert_eq!(read(Streams::ALL.without(Platform), 0), "one\nwarn\ntwo\nthree");
        assert_eq!(read(Streams::only(Stdout), 0), "one\ntwo\nthree");
        assert_eq!(read(Streams::only(Stderr), 0), "warn\n");
        assert_eq!(read(Streams::only(Stdout), 2), "e\ntwo\nthree");
        assert_eq!(read(Streams::ALL, files.offset_since(3).unwrap()), "two\n[us]\nthree");
        assert_eq!(read(Streams::ALL, files.offset_since(99).unwrap()), "");
    }

    #[test]
    fn the_last_lines_are_counted_across_pieces_with_an_unterminated_one() {
        let (_data, files) = files(&MIXED);
        let tail = |streams, lines| told(&files, files.tail_start(streams, lines).unwrap(), streams);
        assert_eq!(tail(Streams::ALL, 0), "");
        assert_eq!(tail(Streams::ALL, 1), "three");
        assert_eq!(tail(Streams::ALL, 2), "[us]\nthree");
        assert_eq!(tail(Streams::only(Stdout), 2), "two\nthree");
        assert_eq!(tail(Streams::only(Stdout), 9), "one\ntwo\nthree");
        assert_eq!(tail(Streams::only(Stderr), 1), "warn\n");
    }

    #[test]
    fn it_is_known_whose_turn_it_is() {
        let (_data, files) = files(&[(Stdout, "one\n"), (Stdout, "two"), (Stderr, "warn"), (Stdout, "\nthree\n")]);
        assert_eq!(files.turns(0, 18).unwrap(), [(Stdout, 7), (Stderr, 11), (Stdout, 18)]);
        assert_eq!(files.turns(2, 9).unwrap(), [(Stdout, 7), (Stderr, 9)]);
        assert_eq!(files.turns(15, 30).unwrap(), [(Stdout, 30)]);
        assert_eq!(files.turns(5, 5).unwrap(), []);
    }

    #[test]
    fn the_last_bytes_are_those_of_the_streams_that_are_wanted() {
        let (_data, files) = files(&MIXED);
        let tail = |streams, bytes| told(&files, files.last_bytes_start(streams, bytes).unwrap(), streams);
        assert_eq!(tail(Streams::ALL, 7), "]\nthree");
        assert_eq!(tail(Streams::only(Stdout), 7), "o\nthree");
        assert_eq!(tail(Streams::only(Stderr), 3), "rn\n");
        assert_eq!((tail(Streams::ALL, 0), tail(Streams::only(Stdout), 0)), (String::new(), String::new()));
        assert_eq!(tail(Streams::only(Stdout), 4096), "one\ntwo\nthree");
    }

    #[test]
    fn what_was_dropped_is_told_wherever_one_begins_and_never_read() {
        let (_data, dir) = run_dir(&MIXED);
        drop_of(&dir, 4..12);
        let files = LogFiles::open(&dir).unwrap().unwrap();
        assert_eq!(told(&files, 0, Streams::ALL), "one\n<8>\n[us]\nthree");
        assert_eq!(told(&files, 6, Streams::ALL), "<6>\n[us]\nthree");
        assert_eq!(told(&files, 13, Streams::ALL), "[us]\nthree");
        assert_eq!(told(&files, files.tail_start(Streams::ALL, 9).unwrap(), Streams::ALL), "one\n<8>\n[us]\nthree");
    }

    #[test]
    fn a_line_is_found_from_its_beginning_in_every_stream() {
        let (_data, files) = files(&[(Stderr, "10%\r"), (Stdout, "a\nb\n"), (Stderr, "20%\r"), (Stdout, "c\nd")]);
        assert_eq!(files.line_start(15, 1000).unwrap(), 0, "the bar began at 0");
        assert_eq!(files.line_start(15, 4).unwrap(), 11);
        assert_eq!(files.line_start(0, 1000).unwrap(), 0);
    }
}
