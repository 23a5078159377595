//! Lines of several runs in the order of their times, in either direction, with little of each log in memory.

use std::{collections::BTreeMap, fmt, io, str::FromStr};

use model::{ids::TaskName, lines::LogLine};

use super::source::{Backward, Budget, Forward, Next, Placed, Reading};
use crate::api::log_files::LogFiles;

/// A line's place among all lines.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub at_us: u64,
    pub task: TaskName,
    pub attempt: u32,
    pub end: u64,
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}.{}:{}", self.at_us, self.task, self.attempt, self.end)
    }
}

impl FromStr for Key {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split(':');
        let (Some(at_us), Some(run), Some(end), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else { return Err(()) };
        let (task, attempt) = run.rsplit_once('.').ok_or(())?;
        let number = |text: &str| text.parse::<u64>().map_err(|_| ());
        let attempt = attempt.parse().map_err(|_| ())?;
        Ok(Self { at_us: number(at_us)?, task: task.parse().map_err(|_| ())?, attempt, end: number(end)? })
    }
}

/// Where reading begins, and which way it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begin {
    Start,
    /// With the last lines of each run.
    Tail(u64),
    After(Key),
    End,
    Before(Key),
}

impl Begin {
    pub fn is_backward(&self) -> bool {
        match self {
            Begin::Start | Begin::Tail(_) | Begin::After(_) => false,
            Begin::End | Begin::Before(_) => true,
        }
    }
}

/// Moments between which lines are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    pub since_ms: Option<u64>,
    pub until_ms: Option<u64>,
}

impl Span {
    fn takes(&self, at_us: u64) -> bool {
        self.since_ms.is_none_or(|since| at_us >= since.saturating_mul(1000))
            && self.until_ms.is_none_or(|until| at_us < until.saturating_mul(1000))
    }
}

enum Source {
    Forward(Forward),
    Backward(Backward),
}

pub struct Merge {
    sources: Vec<Source>,
    heads: BTreeMap<Key, (usize, LogLine)>,
    begin: Begin,
    span: Span,
    budget: Budget,
    /// Lines beyond this place are not told: somebody has not read so far.
    paused: Option<Key>,
    /// Who has not.
    behind: Vec<usize>,
}

impl Merge {
    pub fn open(readings: Vec<Reading>, begin: Begin, span: Span) -> io::Result<Self> {
        let mut merge = Self::empty(begin, span);
        for reading in readings {
            if let Some(source) = source(reading, &merge.begin, span)? {
                merge.sources.push(source);
                merge.refill(merge.sources.len() - 1)?;
            }
        }
        Ok(merge)
    }

    fn empty(begin: Begin, span: Span) -> Self {
        Self { sources: Vec::new(), heads: BTreeMap::new(), begin, span, budget: Budget::new(), paused: None, behind: Vec::new() }
    }

    /// Forwards, each log from its own place.
    pub fn of(logs: Vec<Forward>) -> Self {
        let behind = (0..logs.len()).collect();
        Self { sources: logs.into_iter().map(Source::Forward).collect(), behind, ..Self::empty(Begin::Start, Span::default()) }
    }

    /// Reads on where it was time to stop.
    pub fn go_on(&mut self) -> io::Result<()> {
        (self.budget, self.paused) = (Budget::new(), None);
        std::mem::take(&mut self.behind).into_iter().try_for_each(|number| self.refill(number))
    }

    /// The logs that were read forwards, as far as they were.
    pub fn into_logs(self) -> Vec<Forward> {
        let forward = |source| match source {
            Source::Forward(log) => Some(log),
            Source::Backward(_) => None,
        };
        self.sources.into_iter().filter_map(forward).collect()
    }

    /// The next line, whether or not it may still grow.
    pub fn next(&mut self) -> io::Result<Option<(Key, LogLine, bool)>> {
        let is_backward = self.begin.is_backward();
        let head = if is_backward { self.heads.last_entry() } else { self.heads.first_entry() };
        let is_read = |key: &Key| self.paused.as_ref().is_none_or(|paused| if is_backward { key > paused } else { key < paused });
        let Some(head) = head.filter(|head| is_read(head.key())) else { return Ok(None) };
        let (key, (number, line)) = head.remove_entry();
        self.refill(number)?;
        let may_grow = line.unfinished && !reading(&self.sources[number]).is_over;
        Ok(Some((key, line, may_grow)))
    }

    pub fn is_at_end(&self) -> bool {
        self.heads.is_empty() && self.paused.is_none()
    }

    /// Where to go on if it was time to stop.
    pub fn paused(&self) -> Option<&Key> {
        self.paused.as_ref()
    }

    pub fn is_spent(&self) -> bool {
        self.budget.is_spent()
    }

    fn pause(&mut self, at: Key) {
        let nearest = match (self.paused.take(), self.begin.is_backward()) {
            (None, _) => at,
            (Some(other), true) => other.max(at),
            (Some(other), false) => other.min(at),
        };
        self.paused = Some(nearest);
    }

    fn refill(&mut self, number: usize) -> io::Result<()> {
        loop {
            let next = match &mut self.sources[number] {
                Source::Forward(source) => source.next(&mut self.budget)?,
                Source::Backward(source) => source.next(&mut self.budget)?,
            };
            let run = &reading(&self.sources[number]).run;
            let key = |at_us, end| Key { at_us, task: run.task.clone(), attempt: run.attempt, end };
            let (key, Placed { at_us, line, .. }) = match next {
                Next::Line(placed) => (key(placed.at_us, placed.end), placed),
                Next::End => return Ok(()),
                Next::Paused { at_us, end } => {
                    let at = key(at_us, end);
                    self.pause(at);
                    self.behind.push(number);
                    return Ok(());
                }
            };
            let is_beyond = match &self.begin {
                Begin::Start | Begin::Tail(_) | Begin::End => true,
                Begin::After(cursor) => key > *cursor,
                Begin::Before(cursor) => key < *cursor,
            };
            if !self.span.takes(at_us) && self.is_past(at_us) {
                return Ok(());
            }
            if is_beyond && self.span.takes(at_us) {
                self.heads.insert(key, (number, line));
                return Ok(());
            }
        }
    }

    /// Whether nothing that is wanted comes behind this moment.
    fn is_past(&self, at_us: u64) -> bool {
        if self.begin.is_backward() {
            self.span.since_ms.is_some_and(|since| at_us < since.saturating_mul(1000))
        } else {
            self.span.until_ms.is_some_and(|until| at_us >= until.saturating_mul(1000))
        }
    }
}

fn reading(source: &Source) -> &Reading {
    match source {
        Source::Forward(source) => &source.reading,
        Source::Backward(source) => &source.reading,
    }
}

/// Where in its log a run is read from. `None` if it has none.
fn source(reading: Reading, begin: &Begin, span: Span) -> io::Result<Option<Source>> {
    let Some(files) = LogFiles::open(&reading.dir)? else { return Ok(None) };
    let is_own = |key: &Key| key.task == reading.run.task && key.attempt == reading.run.attempt;
    let since = span.since_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?.unwrap_or(0);
    let until = span.until_ms.map(|at_ms| files.offset_since(at_ms)).transpose()?;
    let place = match begin {
        Begin::Start => since,
        Begin::Tail(lines) => files.tail_start(reading.streams, *lines)?.max(since),
        Begin::After(key) if is_own(key) => key.end,
        Begin::After(key) => files.offset_of_first(|piece| piece.at_us >= key.at_us)?.max(since),
        Begin::End => return Ok(Some(Source::Backward(Backward::new(reading, until)))),
        Begin::Before(key) if is_own(key) => return Ok(Some(Source::Backward(Backward::new(reading, Some(key.end.saturating_sub(1)))))),
        Begin::Before(key) => {
            let place = files.offset_of_first(|piece| piece.at_us > key.at_us)?;
            return Ok(Some(Source::Backward(Backward::new(reading, Some(place.min(until.unwrap_or(u64::MAX)))))));
        }
    };
    Ok(Some(Source::Forward(Forward::new(reading, place))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_survives_its_text_form_and_nonsense_is_none() {
        let text = "1700000000000000:parameter-server-0.2:4096";
        assert_eq!(text.parse::<Key>().unwrap().to_string(), text);
        for nonsense in ["", "1:2", "1:worker-0:5", "x:worker-0.1:5", "1:../x.1:5", "1:worker-0.1:5:6"] {
            assert!(nonsense.parse::<Key>().is_err(), "{nonsense}");
        }
    }

    #[test]
    fn places_are_in_the_order_of_their_times() {
        let key = |text: &str| text.parse::<Key>().unwrap();
        assert!(key("1:worker-1.1:9") < key("2:worker-0.1:3"));
        assert!(key("1:worker-0.1:9") < key("1:worker-1.1:3"));
        assert!(key("1:worker-0.1:3") < key("1:worker-0.1:9"));
    }
}
