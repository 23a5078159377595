//! Values in what a task printed.

use std::{fs::File, io, os::unix::fs::FileExt};

use model::{
    logs::{Piece, Stream, pieces},
    metrics::{Point, Source},
    plan::MetricsPlan,
    printed::{Found, Memory, Printed, Rule},
};
use serde::{Deserialize, Serialize};

use super::frames::Frames;
use crate::{
    metrics::book::{Batch, SeriesKey},
    rundir::RunDir,
};

const PIECES_AT_ONCE: usize = 4096;
const PIECE_BYTES_AT_ONCE: u64 = 1 << 20;

/// How far the output of one attempt was read.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogState {
    /// Where the next piece stands in the index, and how much of it was read.
    piece: u64,
    read_of_piece: u64,
    at_ms: u64,
    stdout: StreamState,
    stderr: StreamState,
    has_ended: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct StreamState {
    frames: Frames,
    memory: Memory,
}

pub struct LogReader {
    dir: RunDir,
    attempt: u32,
    printed: Printed,
    pub state: LogState,
}

impl LogReader {
    pub fn new(dir: &RunDir, attempt: u32, plan: &MetricsPlan, state: LogState) -> Self {
        let rules = plan.rules.iter().filter_map(|text| Rule::parse(text).ok()).collect();
        Self { dir: dir.clone(), attempt, printed: Printed { rules }, state }
    }

    /// Whether something stands in the index that was not read.
    pub fn has_news(&self) -> bool {
        let index_bytes = std::fs::metadata(self.dir.index()).map_or(0, |it| it.len());
        index_bytes / Piece::ENCODED_BYTES as u64 > self.state.piece
    }

    /// Whether a line may wait for its end.
    pub fn is_open(&self) -> bool {
        self.state.piece > 0 && !self.state.has_ended
    }

    /// Reads on until nothing is left or enough was read; answers how many bytes that were.
    pub fn read(&mut self, batch: &mut Batch<'_>, bytes_max: u64) -> io::Result<u64> {
        let (Some(index), Some(log)) = (opened(File::open(self.dir.index()))?, opened(File::open(self.dir.log()))?) else { return Ok(0) };
        let log_bytes = log.metadata()?.len();
        let mut read = 0;
        while read < bytes_max {
            let before = read;
            for piece in next_pieces(&index, self.state.piece)? {
                if piece.end() > log_bytes || read >= bytes_max {
                    break;
                }
                read += self.piece(batch, &log, &piece, bytes_max - read)?;
            }
            if read == before {
                break;
            }
        }
        Ok(read)
    }

    fn piece(&mut self, batch: &mut Batch<'_>, log: &File, piece: &Piece, bytes_max: u64) -> io::Result<u64> {
        let mut read = 0;
        self.state.at_ms = piece.at_us / 1000;
        while self.state.read_of_piece < u64::from(piece.length) && read < bytes_max {
            let length = (u64::from(piece.length) - self.state.read_of_piece).min(PIECE_BYTES_AT_ONCE);
            let mut bytes = vec![0; length as usize];
            log.read_exact_at(&mut bytes, piece.offset + self.state.read_of_piece)?;
            self.bytes(batch, piece.stream, &bytes)?;
            self.state.read_of_piece += length;
            read += length;
        }
        if self.state.read_of_piece >= u64::from(piece.length) {
            self.state.piece += 1;
            self.state.read_of_piece = 0;
        }
        // An empty piece is progress too.
        Ok(read.max(1))
    }

    fn bytes(&mut self, batch: &mut Batch<'_>, stream: Stream, bytes: &[u8]) -> io::Result<()> {
        let (printed, attempt, at_ms) = (&self.printed, self.attempt, self.state.at_ms);
        let StreamState { frames, memory } = match stream {
            Stream::Stdout => &mut self.state.stdout,
            Stream::Stderr => &mut self.state.stderr,
            // Our own words hold no values of the task.
            Stream::Platform => return Ok(()),
        };
        let mut result = Ok(());
        frames.feed(bytes, &mut |frame, is_whole_line| {
            if result.is_ok() {
                result = put(batch, attempt, at_ms, printed.frame(memory, frame, is_whole_line));
            }
        });
        result
    }

    /// Nothing more will come.
    pub fn end(&mut self, batch: &mut Batch<'_>) -> io::Result<()> {
        let (printed, attempt, at_ms) = (&self.printed, self.attempt, self.state.at_ms);
        for StreamState { frames, memory } in [&mut self.state.stdout, &mut self.state.stderr] {
            let mut found = Vec::new();
            frames.end(&mut |frame, is_whole_line| found.extend(printed.frame(memory, frame, is_whole_line)));
            found.extend(printed.end(memory));
            put(batch, attempt, at_ms, found)?;
        }
        self.state.has_ended = true;
        Ok(())
    }
}

/// What nobody gave a step is counted.
fn put(batch: &mut Batch<'_>, attempt: u32, at_ms: u64, found: Vec<Found>) -> io::Result<()> {
    for Found { name, value, step } in found {
        if let Some(number) = batch.series(SeriesKey { attempt, source: Source::Output, group: String::new(), name })? {
            let step = step.unwrap_or(batch.count(number) as i64 + 1);
            batch.put(number, Point { step, at_ms, value })?;
        }
    }
    Ok(())
}

fn next_pieces(index: &File, from: u64) -> io::Result<Vec<Piece>> {
    let mut bytes = vec![0; PIECES_AT_ONCE * Piece::ENCODED_BYTES];
    let length = index.read_at(&mut bytes, from * Piece::ENCODED_BYTES as u64)?;
    Ok(pieces(&bytes[..length]).collect())
}

fn opened(file: io::Result<File>) -> io::Result<Option<File>> {
    match file {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}
