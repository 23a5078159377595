//! One log after the other in large blocks, each stream by itself. The pattern runs over whole blocks; only where it is found, and where a
//! terminal would show something else than the bytes are, is a line looked at.

use std::{io, ops::Range, sync::LazyLock};

use model::{ids::RunKey, logs::Stream, terminal::Line, wire::LineView};
use regex::bytes::Regex;

use super::super::{lines::pattern::Pattern, log_files::LogFiles};
use crate::rundir::RunDir;

const BLOCK_BYTES: usize = 512 << 10;
/// A line that is longer is looked at in parts.
const LINE_BYTES_MAX: usize = BLOCK_BYTES / 2;
/// What is shown before and behind a match in a line that is longer.
const AROUND_BYTES: usize = 1024;
/// A match across the end of a part of a line is found if it is no longer than this.
const OVERLAP_BYTES: usize = 1024;

/// What changes what a terminal shows: colours and other escapes, and what writes over a line.
static UNLIKE_SHOWN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?-u)[\x08\x1b]|\r[^\n]").expect("it is sound"));

pub struct Scan<'a> {
    pattern: &'a Pattern,
    lanes: [Lane; 3],
    /// Bytes of several streams, before they are told apart.
    mixed: Vec<u8>,
}

type Hear<'a> = dyn FnMut(Vec<LineView>, u64) -> bool + 'a;

impl<'a> Scan<'a> {
    pub fn new(pattern: &'a Pattern) -> Self {
        Self { pattern, lanes: Default::default(), mixed: Vec::new() }
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
        self.lanes.iter_mut().for_each(Lane::clear);
        let mut at = part.start;
        while at < part.end {
            let kept = self.lanes.iter().map(|lane| lane.filled).max().unwrap_or(0);
            let to = part.end.min(at + (BLOCK_BYTES - kept) as u64);
            let read = self.read(files, at..to)?;
            at += read;
            let is_last = read == 0 || at >= part.end;
            if !hear(self.found(files, run, is_last)?, read) {
                return Ok(false);
            }
            if is_last {
                break;
            }
        }
        Ok(true)
    }

    /// Most logs are of one stream for a long time, and are read to where they are looked at. Answers how many bytes there were.
    fn read(&mut self, files: &LogFiles, range: Range<u64>) -> io::Result<u64> {
        let turns = files.turns(range.start, range.end)?;
        let length = (range.end - range.start) as usize;
        if let [(stream, _)] = turns[..] {
            let lane = &mut self.lanes[number(stream)];
            let read = files.read_into(lane.room(range.start, length), range.start)?;
            lane.filled += read;
            return Ok(read as u64);
        }
        self.mixed.resize(length, 0);
        let read = files.read_into(&mut self.mixed, range.start)?;
        let mut from = 0;
        for (stream, end) in turns {
            let to = ((end - range.start) as usize).min(read);
            self.lanes[number(stream)].add(range.start + from as u64, &self.mixed[from..to.max(from)]);
            from = to;
        }
        Ok(read as u64)
    }

    /// Looks at every line that has ended, and forgets it.
    fn found(&mut self, files: &LogFiles, run: &RunKey, is_last: bool) -> io::Result<Vec<LineView>> {
        let mut all = Vec::new();
        for lane in self.lanes.iter_mut().filter(|lane| lane.filled > 0) {
            let (end, is_cut) = lane.ready(is_last);
            all.extend(Find { pattern: self.pattern, files, run, is_cut }.lines(lane, end)?);
            lane.forget(if is_cut { end.saturating_sub(OVERLAP_BYTES) } else { end });
            if end > 0 {
                lane.is_told &= is_cut;
            }
        }
        all.sort_by_key(|line| line.end);
        Ok(all)
    }
}

fn number(stream: Stream) -> usize {
    match stream {
        Stream::Stdout => 0,
        Stream::Stderr => 1,
        Stream::Platform => 2,
    }
}

/// The bytes of one stream that are looked at.
#[derive(Default)]
struct Lane {
    bytes: Vec<u8>,
    filled: usize,
    /// From which byte on they lie where in the log.
    places: Vec<(usize, u64)>,
    /// It begins with the rest of a line that was told already.
    is_told: bool,
}

impl Lane {
    fn clear(&mut self) {
        (self.filled, self.is_told) = (0, false);
        self.places.clear();
    }

    /// Room for bytes that lie there in the log.
    fn room(&mut self, at: u64, length: usize) -> &mut [u8] {
        let follows = self.places.last().is_some_and(|(from, place)| place + (self.filled - from) as u64 == at);
        if !follows {
            self.places.push((self.filled, at));
        }
        if self.bytes.len() < self.filled + length {
            self.bytes.resize(BLOCK_BYTES.max(self.filled + length), 0);
        }
        &mut self.bytes[self.filled..self.filled + length]
    }

    fn add(&mut self, at: u64, bytes: &[u8]) {
        self.room(at, bytes.len()).copy_from_slice(bytes);
        self.filled += bytes.len();
    }

    /// How far it can be looked at, and whether that is in the middle of a line.
    fn ready(&self, is_last: bool) -> (usize, bool) {
        if is_last {
            return (self.filled, false);
        }
        match self.bytes[..self.filled].iter().rposition(|byte| *byte == b'\n') {
            Some(newline) => (newline + 1, false),
            None if self.filled > LINE_BYTES_MAX => (self.filled, true),
            None => (0, false),
        }
    }

    fn forget(&mut self, from: usize) {
        if from == 0 {
            return;
        }
        let first = self.places.partition_point(|(begin, _)| *begin <= from).saturating_sub(1);
        self.places.drain(..first);
        for (begin, place) in &mut self.places {
            *place += from.saturating_sub(*begin) as u64;
            *begin = begin.saturating_sub(from);
        }
        self.bytes.copy_within(from..self.filled, 0);
        self.filled -= from;
    }

    /// Where in the log a byte lies.
    fn place(&self, at: usize) -> u64 {
        let number = self.places.partition_point(|(begin, _)| *begin <= at).saturating_sub(1);
        self.places.get(number).map_or(0, |(begin, place)| place + (at - begin) as u64)
    }
}

/// What is looked for, and where.
struct Find<'a> {
    pattern: &'a Pattern,
    files: &'a LogFiles,
    run: &'a RunKey,
    /// The last line goes on behind the end.
    is_cut: bool,
}

impl Find<'_> {
    fn lines(&self, lane: &mut Lane, end: usize) -> io::Result<Vec<LineView>> {
        let mut begin = 0;
        if lane.is_told {
            let Some(newline) = lane.bytes[..end].iter().position(|byte| *byte == b'\n') else { return Ok(Vec::new()) };
            (begin, lane.is_told) = (newline + 1, false);
        }
        let mut found = self.as_they_are(lane, begin..end)?;
        let told: Vec<usize> = found.iter().map(|(start, _)| *start).collect();
        found.extend(self.as_they_are_shown(lane, begin..end, &told)?);
        Ok(found.into_iter().map(|(_, line)| line).collect())
    }

    /// Lines whose bytes match, each with where it begins.
    fn as_they_are(&self, lane: &mut Lane, part: Range<usize>) -> io::Result<Vec<(usize, LineView)>> {
        let (mut at, end, mut found, mut is_told) = (part.start, part.end, Vec::new(), false);
        let block = &lane.bytes[..end];
        while at < end
            && let Some(hit) = self.pattern.find_in(&block[at..])
        {
            let hit = at + hit.start..at + hit.end;
            let line = line_around(block, hit.start);
            let is_in_line = hit.end <= line.end || self.pattern.find_in(&block[line.clone()]).is_some();
            if is_in_line {
                let shown = shown_part(block, &hit, &line);
                found.push((line.start, self.view(lane, hit.start, (&line, &shown))?));
                is_told = line.end == end;
            }
            at = line.end + 1;
        }
        lane.is_told = is_told;
        Ok(found)
    }

    /// Lines that match only as a terminal shows them: where a colour stands in the middle of a word, for one.
    fn as_they_are_shown(&self, lane: &Lane, part: Range<usize>, told: &[usize]) -> io::Result<Vec<(usize, LineView)>> {
        let (mut at, end, mut found) = (part.start, part.end, Vec::new());
        let block = &lane.bytes[..end];
        while let Some(odd) = UNLIKE_SHOWN.find_at(block, at.min(end)) {
            let line = line_around(block, odd.start());
            let is_whole = !(self.is_cut && line.end == end);
            if is_whole && told.binary_search(&line.start).is_err() && self.pattern.is_in(&Line::of(&block[line.clone()]).text) {
                found.push((line.start, self.view(lane, line.start, (&line, &line))?));
            }
            at = line.end + 1;
        }
        Ok(found)
    }

    fn view(&self, lane: &Lane, hit: usize, (line, shown): (&Range<usize>, &Range<usize>)) -> io::Result<LineView> {
        let text = Line::of(&lane.bytes[shown.clone()]);
        let piece = self.files.piece_at(lane.place(hit))?;
        // With the newline, where there is one.
        let last = if line.end < lane.filled { line.end } else { line.end.saturating_sub(1) };
        Ok(LineView {
            task: self.run.task.to_string(),
            attempt: self.run.attempt,
            stream: piece.map_or(Stream::Stdout, |piece| piece.stream),
            at_ms: piece.map_or(0, |piece| piece.at_us / 1000),
            offset: lane.place(shown.start),
            end: lane.place(last) + 1,
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn whatever_the_streams_do_to_each_other_a_search_finds_what_each_has_said(
            pieces in prop::collection::vec((0usize..3, "[ab\n]{0,6}"), 0..60),
        ) {
            const ALL: [Stream; 3] = [Stream::Stdout, Stream::Stderr, Stream::Platform];
            let pieces: Vec<(Stream, &str)> = pieces.iter().map(|(stream, text)| (ALL[*stream], text.as_str())).collect();
            let (_data, dir) = run_dir(&pieces);
            let said = |stream| pieces.iter().filter(|piece| piece.0 == stream).map(|piece| piece.1).collect::<String>();
            let wanted = |stream: Stream| said(stream).split('\n').filter(|line| line.contains("ab")).map(|line| format!("{} {line}", stream.text())).collect::<Vec<_>>();
            let mut wanted: Vec<String> = ALL.into_iter().flat_map(wanted).collect();
            let without_places = |hit: String| hit.split_once('@').map(|(stream, rest)| format!("{stream} {}", rest.split(' ').nth(1).unwrap())).unwrap();
            let mut got: Vec<String> = found("ab", &dir).into_iter().map(without_places).collect();
            wanted.sort();
            got.sort();
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn a_line_is_whole_whatever_the_other_stream_says_in_the_middle_of_it() {
        use Stream::{Platform, Stderr, Stdout};
        let (_data, dir) = run_dir(&[
            (Stderr, "10%\r"),
            (Stdout, "the nee"),
            (Stderr, "20% warn"),
            (Stdout, "dle is\nhere\n"),
            (Platform, "[needle]\n"),
            (Stderr, "ing\n"),
        ]);
        assert_eq!(found("needle", &dir), ["stdout@4 the needle is [[4, 10]]", "platform@31 [needle] [[1, 7]]"]);
        assert_eq!(found("^here$", &dir), ["stdout@26 here [[0, 4]]"]);
        assert_eq!(found("warning", &dir), ["stderr@11 20% warning [[4, 11]]"]);
        assert_eq!(found("nee.*warn", &dir), [""; 0], "no line of anybody");
    }

    #[test]
    fn streams_that_take_turns_over_many_blocks_lose_nothing() {
        let pieces: Vec<(Stream, String)> = (0..60_000)
            .flat_map(|number| {
                [
                    (Stream::Stdout, format!("out {number} wo")),
                    (Stream::Stderr, format!("\rbar {number}")),
                    (Stream::Stdout, "rd here\n".into()),
                ]
            })
            .collect();
        let pieces: Vec<(Stream, &str)> = pieces.iter().map(|(stream, text)| (*stream, text.as_str())).collect();
        let (_data, dir) = run_dir(&pieces);
        assert_eq!(found("word", &dir).len(), 60_000);
        assert_eq!(found(r"^out 59999 word here$", &dir).len(), 1);
        assert_eq!(found("bar 41999", &dir).len(), 1);
    }

    #[test]
    fn what_a_terminal_would_show_is_found_as_well() {
        let (_data, dir) = run_dir(&[(Stream::Stdout, "\x1b[31mERROR\x1b[0m: no data\nplain\nabc\rXY\nwindows\r\n")]);
        assert_eq!(found("ERROR: no", &dir).len(), 1);
        assert_eq!(found("^ERROR", &dir).len(), 1);
        assert_eq!(found("ERROR", &dir).len(), 1, "and once");
        assert_eq!(found("XYc", &dir).len(), 1);
        assert_eq!(found("windows$", &dir).len(), 1);
    }

    #[test]
    fn what_was_dropped_is_not_searched() {
        let (_data, dir) = run_dir(&[(Stream::Stdout, &"needle\n".repeat(1000))]);
        drop_of(&dir, 70..6930);
        assert_eq!(found("needle", &dir).len(), 20);
        assert_eq!(found(r"\x00", &dir), [""; 0]);
    }
}
