//! One log after the other in large blocks. The pattern runs over whole blocks; only where it is found is the line around it looked at.

use std::{io, ops::Range};

use model::{ids::RunKey, logs::Stream, terminal::Line, wire::LineView};

use super::super::{lines::pattern::Pattern, log_files::LogFiles};
use crate::rundir::RunDir;

const BLOCK_BYTES: usize = 512 << 10;
/// What is shown before and behind a match in a line that is longer.
const AROUND_BYTES: usize = 1024;
/// A match across the end of a block that has no end of line in it is found if it is no longer than this.
const OVERLAP_BYTES: usize = 1024;

pub struct Scan<'a> {
    pattern: &'a Pattern,
    block: Vec<u8>,
}

type Hear<'a> = dyn FnMut(Vec<LineView>, u64) -> bool + 'a;

impl<'a> Scan<'a> {
    pub fn new(pattern: &'a Pattern) -> Self {
        Self { pattern, block: vec![0; BLOCK_BYTES] }
    }

    /// Tells what is found, with how many bytes were looked at, until nobody wants more.
    pub fn log(&mut self, dir: &RunDir, run: &RunKey, hear: &mut Hear<'_>) -> io::Result<()> {
        let Some(files) = LogFiles::open(dir)? else { return Ok(()) };
        let length = files.length()?;
        let gap = files.gap()?.map_or(length..length, |gap| gap.from.min(length)..gap.to);
        for part in [0..gap.start, gap.end..length] {
            if !self.part(&files, run, part, hear)? {
                break;
            }
        }
        Ok(())
    }

    fn part(&mut self, files: &LogFiles, run: &RunKey, part: Range<u64>, hear: &mut Hear<'_>) -> io::Result<bool> {
        // What is kept from the last block, and whether it is the rest of a line that was told already.
        let (mut at, mut kept, mut is_told) = (part.start, 0, false);
        while at < part.end {
            let most = (part.end - at).min((BLOCK_BYTES - kept) as u64) as usize;
            let read = files.read_into(&mut self.block[kept..kept + most], at)?;
            let filled = kept + read;
            let begins = at - kept as u64;
            at += read as u64;
            let is_last = read == 0 || at >= part.end;
            let newline = self.block[..filled].iter().rposition(|byte| *byte == b'\n');
            let (end, is_cut) = match newline {
                Some(newline) if !is_last => (newline + 1, false),
                None if !is_last => (filled, true),
                Some(_) | None => (filled, false),
            };
            let found = self.find(files, run, (begins, end), &mut is_told)?;
            if !hear(found, read as u64) {
                return Ok(false);
            }
            if is_last {
                return Ok(true);
            }
            let from = if is_cut { end.saturating_sub(OVERLAP_BYTES) } else { end };
            is_told &= is_cut;
            self.block.copy_within(from..filled, 0);
            kept = filled - from;
        }
        Ok(true)
    }

    fn find(&self, files: &LogFiles, run: &RunKey, (begins, end): (u64, usize), is_told: &mut bool) -> io::Result<Vec<LineView>> {
        let block = &self.block[..end];
        let (mut at, mut found) = (0, Vec::new());
        if *is_told {
            let Some(newline) = block.iter().position(|byte| *byte == b'\n') else { return Ok(found) };
            (at, *is_told) = (newline + 1, false);
        }
        while at < end
            && let Some(hit) = self.pattern.find_in(&block[at..])
        {
            let hit = at + hit.start..at + hit.end;
            let line = line_around(block, hit.start);
            let is_in_line = hit.end <= line.end || self.pattern.find_in(&block[line.clone()]).is_some();
            if is_in_line {
                found.push(self.view(files, run, begins, (block, &hit, &line))?);
                *is_told = line.end == end;
            }
            at = line.end + 1;
        }
        Ok(found)
    }

    fn view(
        &self,
        files: &LogFiles,
        run: &RunKey,
        begins: u64,
        (block, hit, line): (&[u8], &Range<usize>, &Range<usize>),
    ) -> io::Result<LineView> {
        let shown = shown_part(block, hit, line);
        let text = Line::of(&block[shown.clone()]);
        let piece = files.piece_at(begins + hit.start as u64)?;
        Ok(LineView {
            task: run.task.to_string(),
            attempt: run.attempt,
            stream: piece.map_or(Stream::Stdout, |piece| piece.stream),
            at_ms: piece.map_or(0, |piece| piece.at_us / 1000),
            offset: begins + shown.start as u64,
            end: begins + line.end as u64 + 1,
            matches: self.pattern.matches(&text.text),
            text: text.text,
            colours: text.colours,
            context: false,
            unfinished: false,
            cut_bytes: (line.len() - shown.len()) as u64,
            dropped_bytes: None,
        })
    }
}

fn line_around(block: &[u8], at: usize) -> Range<usize> {
    let start = block[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
    let end = block[at..].iter().position(|byte| *byte == b'\n').map_or(block.len(), |newline| at + newline);
    start..end
}

/// Of a bar the frame with the match, and of a long line what stands around it.
fn shown_part(block: &[u8], hit: &Range<usize>, line: &Range<usize>) -> Range<usize> {
    let (first, last) = (line.start.max(hit.start.saturating_sub(AROUND_BYTES)), line.end.min(hit.end.max(hit.start) + AROUND_BYTES));
    let start = block[first..hit.start].iter().rposition(|byte| *byte == b'\r').map_or(first, |at| first + at + 1);
    let from = hit.end.min(last);
    let end = block[from..last].iter().position(|byte| *byte == b'\r').map_or(last, |at| from + at);
    start..end
}

#[cfg(test)]
mod tests {
    use super::{
        super::super::log_files::tests::{drop_of, run_dir},
        *,
    };

    fn found(pattern: &str, dir: &RunDir) -> Vec<String> {
        let pattern = Pattern::new(pattern, true, false).unwrap();
        let run = "job-00000000000000000000000000000001:main-0:1".parse().unwrap();
        let mut all = Vec::new();
        let mut hear = |lines: Vec<LineView>, _| {
            all.extend(lines.into_iter().map(|line| format!("{}@{} {} {:?}", line.stream.text(), line.offset, line.text, line.matches)));
            true
        };
        Scan::new(&pattern).log(dir, &run, &mut hear).unwrap();
        all
    }

    #[test]
    fn each_line_with_a_match_is_found_once() {
        let (_data, dir) = run_dir(&[(Stream::Stdout, "one two\ntwo\n"), (Stream::Stderr, "two two\nend")]);
        assert_eq!(found("two", &dir), ["stdout@0 one two [[4, 7]]", "stdout@8 two [[0, 3]]", "stderr@12 two two [[0, 3], [4, 7]]"]);
        assert_eq!(found("^end$", &dir), ["stderr@20 end [[0, 3]]"]);
        assert_eq!(found(r"one\s+two\s+two", &dir), [""; 0], "no match goes over the end of a line");
        assert_eq!(found(r"two\s*t?", &dir).len(), 3);
    }

    #[test]
    fn of_a_bar_one_frame_is_told_and_of_a_long_line_a_part() {
        let bar: String = (0..200_000).map(|number| format!("\rstep {number}")).collect();
        let (_data, dir) = run_dir(&[(Stream::Stderr, &bar), (Stream::Stdout, "\nstep on\n")]);
        assert_eq!(found("step 150000", &dir), ["stderr@1688891 step 150000 [[0, 11]]"]);
        let all = found("step", &dir);
        assert_eq!(all.len(), 2, "{} hits", all.len());
        let long = "x".repeat(3 * BLOCK_BYTES);
        let (_data, dir) = run_dir(&[(Stream::Stdout, &format!("{long}needle{long}needle\n"))]);
        let all = found("needle", &dir);
        assert!(all.len() == 1 && all[0].len() < 3000, "{} hits", all.len());
    }

    #[test]
    fn lines_across_the_ends_of_blocks_are_whole() {
        let text: String = (0..200_000).map(|number| format!("line {number} here\n")).collect();
        let (_data, dir) = run_dir(&[(Stream::Stdout, &text)]);
        assert_eq!(found("here", &dir).len(), 200_000);
    }

    #[test]
    fn what_was_dropped_is_not_searched() {
        let (_data, dir) = run_dir(&[(Stream::Stdout, &"needle\n".repeat(1000))]);
        drop_of(&dir, 70..6930);
        assert_eq!(found("needle", &dir).len(), 20);
        assert_eq!(found(r"\x00", &dir), [""; 0]);
    }
}
