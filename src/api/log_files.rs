//! Reading a run's output: pieces from the index, bytes from the log.

use std::{fs::File, io, os::unix::fs::FileExt};

use model::logs::{Piece, Stream};

use crate::rundir::RunDir;

/// The most bytes one chunk of a followed log carries.
const CHUNK_BYTES_MAX: usize = 64 << 10;

pub struct LogFiles {
    log: File,
    index: File,
}

/// Bytes of one stream that came together.
pub struct Chunk {
    pub stream: Stream,
    pub offset: u64,
    pub at_ms: u64,
    pub bytes: Vec<u8>,
}

impl LogFiles {
    /// `None` if the run has not opened them yet.
    pub fn open(dir: &RunDir) -> io::Result<Option<Self>> {
        match (File::open(dir.log()), File::open(dir.index())) {
            (Ok(log), Ok(index)) => Ok(Some(Self { log, index })),
            (Err(error), _) | (_, Err(error)) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            (Err(error), _) | (_, Err(error)) => Err(error),
        }
    }

    pub fn length(&self) -> io::Result<u64> {
        Ok(self.log.metadata()?.len())
    }

    pub fn read_at(&self, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        let mut filled = 0;
        while filled < length {
            match self.log.read_at(&mut bytes[filled..], offset + filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
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

    /// Where the output since a moment begins.
    pub fn offset_since(&self, at_ms: u64) -> io::Result<u64> {
        let number = self.first_piece(|piece| piece.at_us >= at_ms.saturating_mul(1000))?;
        Ok(self.piece(number)?.map_or(self.length()?, |piece| piece.offset))
    }

    /// The chunk that begins at `offset`, as long as one stream goes on; `None` if nothing is there yet.
    pub fn chunk_at(&self, offset: u64) -> io::Result<Option<Chunk>> {
        let mut number = self.first_piece(|piece| piece.end() > offset)?;
        let Some(first) = self.piece(number)? else { return Ok(None) };
        let mut end = first.end();
        while end - offset < CHUNK_BYTES_MAX as u64 {
            number += 1;
            match self.piece(number)? {
                Some(piece) if piece.stream == first.stream && piece.offset == end => end = piece.end(),
                _ => break,
            }
        }
        let length = (end - offset).min(CHUNK_BYTES_MAX as u64) as usize;
        let bytes = self.read_at(offset, length)?;
        let chunk = Chunk { stream: first.stream, offset, at_ms: first.at_us / 1000, bytes };
        Ok((!chunk.bytes.is_empty()).then_some(chunk))
    }

    /// The ranges of the log that come from `stream` (or both) and lie at or after `from`.
    pub fn ranges(&self, stream: Option<Stream>, from: u64) -> io::Result<Vec<(u64, u64)>> {
        let length = self.length()?;
        let Some(stream) = stream else { return Ok(if from < length { vec![(from, length)] } else { Vec::new() }) };
        let mut ranges: Vec<(u64, u64)> = Vec::new();
        let first = self.first_piece(|piece| piece.end() > from)?;
        for number in first..self.piece_count()? {
            let Some(piece) = self.piece(number)? else { break };
            let (start, end) = (piece.offset.max(from), piece.end().min(length));
            if piece.stream != stream || start >= end {
                continue;
            }
            match ranges.last_mut() {
                Some(last) if last.1 == start => last.1 = end,
                _ => ranges.push((start, end)),
            }
        }
        Ok(ranges)
    }

    /// Keeps only the last `lines` lines of the ranges. An unterminated last line counts as one.
    pub fn keep_last_lines(&self, ranges: Vec<(u64, u64)>, lines: u64) -> io::Result<Vec<(u64, u64)>> {
        const BLOCK_BYTES: u64 = 64 << 10;
        if lines == 0 {
            return Ok(Vec::new());
        }
        let (mut seen, mut is_last_byte, mut kept) = (0, true, Vec::new());
        for (start, end) in ranges.into_iter().rev() {
            let mut block_end = end;
            while block_end > start {
                let block_start = block_end.saturating_sub(BLOCK_BYTES).max(start);
                let block = self.read_at(block_start, (block_end - block_start) as usize)?;
                for (position, byte) in block.iter().enumerate().rev() {
                    // The newline that ends the last line does not begin another one.
                    seen += u64::from(*byte == b'\n' && !is_last_byte);
                    is_last_byte = false;
                    if seen == lines {
                        kept.push((block_start + position as u64 + 1, end));
                        kept.reverse();
                        return Ok(kept);
                    }
                }
                block_end = block_start;
            }
            kept.push((start, end));
        }
        kept.reverse();
        Ok(kept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `o` and `e` pieces from `o:hello e:oops`, one millisecond apart, beginning at 1 ms.
    fn files(pieces: &[(Stream, &str)]) -> (tempfile::TempDir, LogFiles) {
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
        let files = LogFiles::open(&dir).unwrap().unwrap();
        (data, files)
    }

    fn text(files: &LogFiles, ranges: &[(u64, u64)]) -> String {
        ranges.iter().map(|(start, end)| String::from_utf8(files.read_at(*start, (end - start) as usize).unwrap()).unwrap()).collect()
    }

    use Stream::{Stderr, Stdout};
    const MIXED: [(Stream, &str); 4] = [(Stdout, "one\n"), (Stderr, "warn\n"), (Stdout, "two\n"), (Stdout, "three")];

    #[test]
    fn each_stream_can_be_read_alone_and_both_in_order() {
        let (_data, files) = files(&MIXED);
        let read = |stream, from| text(&files, &files.ranges(stream, from).unwrap());
        assert_eq!(read(None, 0), "one\nwarn\ntwo\nthree");
        assert_eq!(read(Some(Stdout), 0), "one\ntwo\nthree");
        assert_eq!(read(Some(Stderr), 0), "warn\n");
        assert_eq!(read(Some(Stdout), 2), "e\ntwo\nthree");
        assert_eq!(read(None, files.offset_since(3).unwrap()), "two\nthree");
        assert_eq!(read(None, files.offset_since(99).unwrap()), "");
    }

    #[test]
    fn the_last_lines_are_counted_across_pieces_with_an_unterminated_one() {
        let (_data, files) = files(&MIXED);
        let tail = |stream, lines| text(&files, &files.keep_last_lines(files.ranges(stream, 0).unwrap(), lines).unwrap());
        assert_eq!(tail(None, 0), "");
        assert_eq!(tail(None, 1), "three");
        assert_eq!(tail(None, 2), "two\nthree");
        assert_eq!(tail(Some(Stdout), 2), "two\nthree");
        assert_eq!(tail(Some(Stdout), 9), "one\ntwo\nthree");
        assert_eq!(tail(Some(Stderr), 1), "warn\n");
    }

    #[test]
    fn chunks_join_pieces_of_one_stream_and_continue_at_any_byte() {
        let (_data, files) = files(&MIXED);
        let chunk = |offset| files.chunk_at(offset).unwrap().map(|it| (it.stream, String::from_utf8(it.bytes).unwrap()));
        assert_eq!(chunk(0), Some((Stdout, "one\n".into())));
        assert_eq!(chunk(2), Some((Stdout, "e\n".into())));
        assert_eq!(chunk(4), Some((Stderr, "warn\n".into())));
        assert_eq!(chunk(9), Some((Stdout, "two\nthree".into())));
        assert_eq!(chunk(18), None);
    }
}
