//! Files of lines: `metrics.jsonl`, `metrics.csv`, and what the job file names.

use std::{fs::File, io, os::unix::fs::FileExt, time::UNIX_EPOCH};

use model::{
    metric_lines::{self, Format, Row},
    metrics::{Point, Source},
};

use super::output::FileState;
use crate::metrics::book::{Batch, SeriesKey};

/// Longer lines are passed over.
const CHUNK_BYTES: usize = 1 << 20;

/// A file that is read, as long as one batch is open.
pub struct Lines<'a> {
    pub attempt: u32,
    pub group: &'a str,
    pub format: Format,
    /// Where it ends, as far as it is read now.
    pub end: u64,
    /// Nobody writes to it any more, so a last line without an end is a line.
    pub is_whole: bool,
}

impl Lines<'_> {
    /// Reads on until nothing is left or enough was read; answers how many bytes that were.
    pub fn read(&self, batch: &mut Batch<'_>, file: &File, state: &mut FileState, bytes_max: u64) -> io::Result<u64> {
        let metadata = file.metadata()?;
        let at_ms = metadata.modified().ok().and_then(|it| it.duration_since(UNIX_EPOCH).ok()).map_or(0, |it| it.as_millis() as u64);
        let begin = state.offset;
        let mut chunk = vec![0; CHUNK_BYTES.min(self.end.saturating_sub(begin) as usize)];
        while state.offset < self.end && state.offset - begin < bytes_max {
            let wanted = chunk.len().min((self.end - state.offset) as usize);
            let length = file.read_at(&mut chunk[..wanted], state.offset)?;
            let is_end = self.is_whole && state.offset + length as u64 >= self.end;
            let taken = self.chunk(batch, &chunk[..length], state, (at_ms, is_end))?;
            if taken == 0 {
                break;
            }
            state.offset += taken as u64;
        }
        Ok(state.offset - begin)
    }

    fn chunk(&self, batch: &mut Batch<'_>, bytes: &[u8], state: &mut FileState, (at_ms, is_end): (u64, bool)) -> io::Result<usize> {
        let end = if is_end { bytes.len() } else { bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1) };
        if end == 0 && bytes.len() == CHUNK_BYTES {
            state.skips_line = true;
            return Ok(bytes.len());
        }
        for line in bytes[..end].split(|byte| *byte == b'\n') {
            // What a line that is too long ends with is no line.
            if !std::mem::take(&mut state.skips_line)
                && let Ok(line) = std::str::from_utf8(line)
            {
                self.line(batch, line.trim(), state, at_ms)?;
            }
        }
        Ok(end)
    }

    fn line(&self, batch: &mut Batch<'_>, line: &str, state: &mut FileState, at_ms: u64) -> io::Result<()> {
        if line.is_empty() {
            return Ok(());
        }
        let row = match (self.format, &state.header) {
            (Format::Json, _) => metric_lines::json_row(line),
            (Format::Csv, Some((header, separator))) => Some(metric_lines::csv_row(header, *separator, line)),
            (Format::Csv, None) => {
                state.header = Some((metric_lines::csv_header(line), metric_lines::separator(line)));
                None
            }
        };
        row.map_or(Ok(()), |row| self.put(batch, row, at_ms))
    }

    fn put(&self, batch: &mut Batch<'_>, row: Row, at_ms: u64) -> io::Result<()> {
        for (name, value) in row.values {
            let key = SeriesKey { attempt: self.attempt, source: Source::File, group: self.group.to_owned(), name };
            if let Some(number) = batch.series(key)? {
                let step = row.step.unwrap_or(batch.count(number) as i64 + 1);
                batch.put(number, Point { step, at_ms: row.at_ms.unwrap_or(at_ms), value })?;
            }
        }
        Ok(())
    }
}
