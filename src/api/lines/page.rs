//! A page of lines: those that are wanted, with the lines around them.

use std::{collections::VecDeque, io};

use model::{
    ids::RunKey,
    lines::LogLine,
    wire::{LineView, LinesPage},
};

use super::{
    merge::{Begin, Key, Merge, Span},
    pattern::Pattern,
    source::Reading,
};

pub struct Asked {
    pub readings: Vec<Reading>,
    pub begin: Begin,
    pub span: Span,
    pub pattern: Option<Pattern>,
    /// Lines before and after each that is wanted.
    pub context: usize,
    pub limit: usize,
}

pub fn page(asked: Asked) -> io::Result<LinesPage> {
    let (backward, limit) = (asked.begin.is_backward(), asked.limit);
    let cursor = match &asked.begin {
        Begin::After(key) | Begin::Before(key) => Some(key.clone()),
        Begin::Start | Begin::Tail(_) | Begin::End => None,
    };
    let mut merge = Merge::open(asked.readings, asked.begin, asked.span)?;
    let mut sieve = Sieve { pattern: asked.pattern, context: asked.context, held: VecDeque::new(), owed: 0, taken: Vec::new() };
    let mut place = Place { last: cursor.clone(), newest: None };
    while !(sieve.is_full(limit) || merge.is_spent() && place.last != cursor) {
        let Some((key, line, may_grow)) = merge.next()? else {
            place.last = merge.paused().cloned().or(place.last);
            break;
        };
        let view = view(&key, line);
        sieve.take(place.last.clone(), &key, view);
        if !may_grow {
            place.newest = place.newest.or_else(|| backward.then(|| key.clone()));
            place.last = Some(key);
        }
    }
    let at_end = merge.is_at_end();
    // What was passed over may stand before something that is found on the next page.
    let last = if at_end { place.last } else { sieve.held.front().map_or(place.last, |(before, _, _)| before.clone()) };
    let mut lines = sieve.taken;
    if backward {
        lines.reverse();
    }
    let first = lines.first().map(|(key, _)| key.clone());
    let (before, after) = if backward { ((!at_end).then_some(last).flatten(), place.newest.or(cursor)) } else { (first, last) };
    let text = |key: Option<Key>| key.map(|key| key.to_string());
    Ok(LinesPage { lines: lines.into_iter().map(|it| it.1).collect(), before: text(before), after: text(after), at_end })
}

/// How far the page has come, not counting lines that may still grow: those come again.
struct Place {
    last: Option<Key>,
    newest: Option<Key>,
}

/// Lets through what is wanted and what stands around it. It does not matter which way the lines come.
pub struct Sieve {
    pub pattern: Option<Pattern>,
    pub context: usize,
    /// The last lines that were not wanted, each with the place before it.
    held: VecDeque<(Option<Key>, Key, LineView)>,
    /// So many lines are still to be let through for the sake of the last one that was wanted.
    owed: usize,
    taken: Vec<(Key, LineView)>,
}

impl Sieve {
    pub fn new(pattern: Option<Pattern>, context: usize) -> Self {
        Self { pattern, context, held: VecDeque::new(), owed: 0, taken: Vec::new() }
    }

    fn is_full(&self, limit: usize) -> bool {
        self.taken.len() >= limit && self.owed == 0 || self.taken.len() >= limit.saturating_add(self.context)
    }

    /// What was let through since it was last asked.
    pub fn let_through(&mut self) -> Vec<(Key, LineView)> {
        std::mem::take(&mut self.taken)
    }

    /// Where the first line of a run ends that may still be let through.
    pub fn first_held(&self, run: &RunKey) -> Option<u64> {
        self.held.iter().find(|(_, key, _)| key.task == run.task && key.attempt == run.attempt).map(|(_, key, _)| key.end)
    }

    pub fn take(&mut self, before: Option<Key>, key: &Key, mut line: LineView) {
        let is_wanted = self.pattern.as_ref().is_none_or(|pattern| pattern.is_in(&line.text));
        if is_wanted {
            line.matches = self.pattern.as_ref().map_or(Vec::new(), |pattern| pattern.matches(&line.text));
            let around = self.held.drain(..).map(|(_, key, line)| (key, LineView { context: true, ..line }));
            self.taken.extend(around);
            self.taken.push((key.clone(), line));
            self.owed = self.context;
        } else if self.owed > 0 {
            self.owed -= 1;
            self.taken.push((key.clone(), LineView { context: true, ..line }));
        } else if self.context > 0 {
            self.held.push_back((before, key.clone(), line));
            if self.held.len() > self.context {
                self.held.pop_front();
            }
        }
    }
}

pub fn view(key: &Key, line: LogLine) -> LineView {
    LineView {
        task: key.task.to_string(),
        attempt: key.attempt,
        stream: line.stream,
        at_ms: line.at_us / 1000,
        offset: line.offset,
        end: line.end,
        text: line.shown.text,
        colours: line.shown.colours,
        matches: Vec::new(),
        context: false,
        unfinished: line.unfinished,
        cut_bytes: line.shown.cut_bytes,
        dropped_bytes: line.dropped_bytes,
    }
}
