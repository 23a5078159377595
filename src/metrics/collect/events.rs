//! Event files of one directory, in the order of their names.

use std::{collections::HashMap, fs::File, io, os::unix::fs::FileExt};

use model::{
    metrics::{Point, Source},
    said,
    tfevents::{Event, Framed, Restarts, Summary, Void, What, event, framed},
    words::Words,
};

use super::output::FileState;
use crate::metrics::book::{Batch, SeriesKey};

/// Larger than any record that is looked at, so that reading always gets on.
const CHUNK_BYTES: usize = 4 << 20;

/// A directory whose files are read, as long as one batch is open.
pub struct Directory<'a> {
    pub attempt: u32,
    pub group: &'a str,
    /// Where a file ends, as far as it is read now.
    pub end: u64,
    pub restarts: &'a mut Restarts,
    pub tags: Tags,
}

/// The numbers of tags in a batch. Writers tell their tags in the same order again and again, so the one after the last is
/// tried first.
#[derive(Default)]
pub struct Tags {
    told: Vec<(String, Option<usize>)>,
    places: HashMap<String, usize>,
    next: usize,
}

impl Tags {
    fn get(&mut self, tag: &str) -> Option<Option<usize>> {
        let at = match self.told.get(self.next) {
            Some((name, _)) if name == tag => self.next,
            Some(_) | None => *self.places.get(tag)?,
        };
        self.next = (at + 1) % self.told.len();
        Some(self.told[at].1)
    }

    fn add(&mut self, tag: &str, number: Option<usize>) {
        self.places.insert(tag.to_owned(), self.told.len());
        self.told.push((tag.to_owned(), number));
    }
}

fn damaged(group: &str, at_byte: u64) -> Words {
    let place = if group.is_empty() { "/output".to_owned() } else { format!("/output/{group}") };
    said!(
        "an event file in `{place}` is damaged at byte {at_byte}; the rest of it is not read",
        "`{place}` 中有一个事件文件从第 {at_byte} 字节起已损坏，之后的内容没有读取"
    )
}

impl Directory<'_> {
    /// Reads on in one file until nothing is left or enough was read; answers how many bytes that were.
    pub fn read(&mut self, batch: &mut Batch<'_>, file: &File, state: &mut FileState, bytes_max: u64) -> io::Result<u64> {
        let begin = state.offset;
        let end = self.end;
        let mut chunk = vec![0; CHUNK_BYTES.min(end.saturating_sub(begin) as usize)];
        while state.offset < end && state.offset - begin < bytes_max && !state.is_given_up {
            let wanted = chunk.len().min((end - state.offset) as usize);
            let length = file.read_at(&mut chunk[..wanted], state.offset)?;
            if self.chunk(batch, &chunk[..length], end, state)? == 0 {
                break;
            }
        }
        Ok(state.offset - begin)
    }

    fn chunk(&mut self, batch: &mut Batch<'_>, bytes: &[u8], file_end: u64, state: &mut FileState) -> io::Result<u64> {
        let begin = state.offset;
        let mut rest = bytes;
        loop {
            match framed(rest) {
                Framed::Record { payload, length } => {
                    if let Some(event) = event(payload) {
                        self.event(batch, &event)?;
                    }
                    state.offset += length as u64;
                    rest = &rest[length..];
                }
                Framed::Large { length } if state.offset + length <= file_end => {
                    state.offset += length;
                    rest = rest.get(length as usize..).unwrap_or_default();
                }
                Framed::Large { .. } | Framed::Short => break,
                Framed::Damaged => {
                    state.is_given_up = true;
                    batch.note(self.attempt, &damaged(self.group, state.offset))?;
                    break;
                }
            }
        }
        Ok(state.offset - begin)
    }

    fn event(&mut self, batch: &mut Batch<'_>, event: &Event<'_>) -> io::Result<()> {
        match self.restarts.take(event) {
            Some(Void::All { from_step }) => self.void_all(batch, from_step)?,
            Some(Void::OfTheseTags { from_step }) => {
                if let What::Summary(summary) = event.what {
                    self.void_tags(batch, summary, from_step)?;
                }
            }
            None => {}
        }
        let What::Summary(summary) = event.what else { return Ok(()) };
        let at_ms = if event.wall_time.is_finite() { (event.wall_time * 1000.0).round() as u64 } else { 0 };
        for tagged in summary.values() {
            if let Some(value) = tagged.value
                && let Some(number) = self.number(batch, tagged.tag)?
            {
                batch.put(number, Point { step: event.step, at_ms, value })?;
            }
        }
        Ok(())
    }

    fn void_all(&mut self, batch: &mut Batch<'_>, from_step: i64) -> io::Result<()> {
        for name in batch.names(self.attempt, Source::Events, self.group)? {
            if let Some(number) = self.number(batch, &name)? {
                batch.cut(number, from_step)?;
            }
        }
        Ok(())
    }

    fn void_tags(&mut self, batch: &mut Batch<'_>, summary: Summary<'_>, from_step: i64) -> io::Result<()> {
        for tagged in summary.values().filter(|it| it.value.is_some()) {
            if let Some(number) = self.number(batch, tagged.tag)? {
                batch.cut(number, from_step)?;
            }
        }
        Ok(())
    }

    fn number(&mut self, batch: &mut Batch<'_>, tag: &str) -> io::Result<Option<usize>> {
        if let Some(number) = self.tags.get(tag) {
            return Ok(number);
        }
        let key = SeriesKey { attempt: self.attempt, source: Source::Events, group: self.group.to_owned(), name: tag.to_owned() };
        let number = batch.series(key)?;
        self.tags.add(tag, number);
        Ok(number)
    }
}
