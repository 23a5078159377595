//! A series as a pyramid: rows of points, above them rows of digests, above them rows of digests of those. What belongs to a
//! series follows from how many points it has; whatever else lies in the last row of a level is left over and passed over.

use std::{io, ops::Range};

use model::metrics::{Digest, Point};
use rusqlite::Connection;

use super::rows::{self, FAN, RowAt, Writer};

/// What to do with a row of which only the digest is known.
pub enum Way {
    Take,
    Skip,
    Descend,
}

/// One who goes through a series.
pub trait Visitor {
    /// Points `positions` of the series come to `digest`.
    fn meet(&mut self, digest: &Digest, positions: &Range<u64>) -> Way;
    fn point(&mut self, point: &Point, position: u64);
    /// Whether there is nothing left to look for.
    fn is_done(&self) -> bool {
        false
    }
}

/// A series of so many points in a book.
#[derive(Clone, Copy)]
pub struct Pyramid<'a> {
    pub connection: &'a Connection,
    pub series: i64,
    pub count: u64,
}

impl Pyramid<'_> {
    /// Goes through the points from first to last, from above.
    pub fn walk(&self, visitor: &mut dyn Visitor) -> io::Result<()> {
        let mut begin = 0;
        for level in (1..=top(self.count)).rev() {
            let size = size(level);
            let complete = self.count / size;
            self.nodes(level, begin / size..complete, visitor)?;
            begin = complete * size;
        }
        if begin < self.count { self.points(begin / FAN, visitor) } else { Ok(()) }
    }

    fn nodes(&self, level: u32, mut nodes: Range<u64>, visitor: &mut dyn Visitor) -> io::Result<()> {
        while nodes.start < nodes.end && !visitor.is_done() {
            let number = nodes.start / FAN;
            let row_end = nodes.end.min((number + 1) * FAN);
            let at = RowAt { series: self.series, level, number };
            let digests = rows::digests(self.connection, at, (row_end - number * FAN) as usize)?;
            for node in nodes.start..row_end {
                let digest =
                    digests.get((node - number * FAN) as usize).ok_or_else(|| io::Error::other("a row of digests is too short"))?;
                match visitor.meet(digest, &(node * size(level)..(node + 1) * size(level))) {
                    Way::Take | Way::Skip => {}
                    Way::Descend if level == 1 => self.points(node, visitor)?,
                    Way::Descend => self.nodes(level - 1, node * FAN..(node + 1) * FAN, visitor)?,
                }
            }
            nodes.start = row_end;
        }
        Ok(())
    }

    fn points(&self, number: u64, visitor: &mut dyn Visitor) -> io::Result<()> {
        for (index, point) in self.row(number)?.iter().enumerate() {
            visitor.point(point, number * FAN + index as u64);
        }
        Ok(())
    }

    fn row(&self, number: u64) -> io::Result<Vec<Point>> {
        let length = (self.count - number * FAN).min(FAN) as usize;
        rows::points(self.connection, RowAt { series: self.series, level: 0, number }, length)
    }

    /// What all points before a position come to.
    fn digest_before(&self, end: u64) -> io::Result<Option<Digest>> {
        let mut before = Before { end, sum: None };
        self.walk(&mut before)?;
        Ok(before.sum)
    }

    /// Takes out every point at or after a step, and answers the tail of what is left; `None` if there is no such point.
    pub fn cut(&self, from_step: i64, writer: &mut Writer<'_>) -> io::Result<Option<Tail>> {
        let mut late = FirstFrom { step: from_step, found: None };
        self.walk(&mut late)?;
        let Some(first) = late.found else { return Ok(None) };
        let mut tail = Tail::load(self.connection, self.series, first, self.digest_before(first)?)?;
        // What stays is written over what was read already: it is never more.
        for number in first / FAN..self.count.div_ceil(FAN) {
            let skipped = first.saturating_sub(number * FAN) as usize;
            for point in self.row(number)?.into_iter().skip(skipped).filter(|it| it.step < from_step) {
                tail.push(writer, point)?;
            }
        }
        Ok(Some(tail))
    }
}

/// How many points a node of a level stands for.
fn size(level: u32) -> u64 {
    FAN.pow(level)
}

/// The highest level at which a series of so many points has a node.
fn top(count: u64) -> u32 {
    let mut level = 0;
    while count >= size(level + 1) {
        level += 1;
    }
    level
}

struct Before {
    end: u64,
    sum: Option<Digest>,
}

impl Before {
    fn take(&mut self, digest: &Digest) {
        match &mut self.sum {
            Some(sum) => sum.add(digest),
            none => *none = Some(*digest),
        }
    }
}

impl Visitor for Before {
    fn meet(&mut self, digest: &Digest, positions: &Range<u64>) -> Way {
        if positions.end <= self.end {
            self.take(digest);
            return Way::Take;
        }
        if positions.start >= self.end { Way::Skip } else { Way::Descend }
    }

    fn point(&mut self, point: &Point, position: u64) {
        if position < self.end {
            self.take(&Digest::from(*point));
        }
    }
}

struct FirstFrom {
    step: i64,
    found: Option<u64>,
}

impl Visitor for FirstFrom {
    fn meet(&mut self, digest: &Digest, _: &Range<u64>) -> Way {
        if self.found.is_none() && digest.steps.1 >= self.step { Way::Descend } else { Way::Skip }
    }

    fn point(&mut self, point: &Point, position: u64) {
        if self.found.is_none() && point.step >= self.step {
            self.found = Some(position);
        }
    }

    fn is_done(&self) -> bool {
        self.found.is_some()
    }
}

/// The end of a series, where points are added.
pub struct Tail {
    series: i64,
    /// All of the series.
    pub digest: Option<Digest>,
    /// Of the row that is not full yet.
    points: Vec<Point>,
    /// The same for each level above.
    levels: Vec<Level>,
}

#[derive(Default)]
struct Level {
    digests: Vec<Digest>,
    is_new: bool,
}

impl Tail {
    pub fn load(connection: &Connection, series: i64, count: u64, digest: Option<Digest>) -> io::Result<Self> {
        let at = |level: u32| RowAt { series, level, number: count / size(level + 1) };
        let points = match (count % FAN) as usize {
            0 => Vec::new(),
            some => rows::points(connection, at(0), some)?,
        };
        let mut levels = Vec::new();
        for level in 1..=top(count) {
            let digests = match (count / size(level) % FAN) as usize {
                0 => Vec::new(),
                some => rows::digests(connection, at(level), some)?,
            };
            levels.push(Level { digests, is_new: false });
        }
        Ok(Self { series, digest, points, levels })
    }

    pub fn count(&self) -> u64 {
        self.digest.map_or(0, |it| it.count)
    }

    pub fn push(&mut self, writer: &mut Writer<'_>, point: Point) -> io::Result<()> {
        let number = self.count() / FAN;
        let new = Digest::from(point);
        match &mut self.digest {
            Some(digest) => digest.add(&new),
            none => *none = Some(new),
        }
        self.points.push(point);
        if self.points.len() as u64 == FAN {
            writer.points(RowAt { series: self.series, level: 0, number }, &self.points)?;
            let sum = Digest::sum(self.points.drain(..).map(Digest::from)).expect("a full row is not empty");
            self.carry(writer, 1, number, sum)?;
        }
        Ok(())
    }

    /// Row `node` of the level below is full.
    fn carry(&mut self, writer: &mut Writer<'_>, level: u32, node: u64, sum: Digest) -> io::Result<()> {
        if self.levels.len() < level as usize {
            self.levels.push(Level::default());
        }
        let own = &mut self.levels[level as usize - 1];
        own.digests.push(sum);
        own.is_new = true;
        if own.digests.len() as u64 == FAN {
            writer.digests(RowAt { series: self.series, level, number: node / FAN }, &own.digests)?;
            let sum = Digest::sum(own.digests.drain(..)).expect("a full row is not empty");
            self.carry(writer, level + 1, node / FAN, sum)?;
        }
        Ok(())
    }

    /// Writes the rows that are not full.
    pub fn flush(&mut self, writer: &mut Writer<'_>) -> io::Result<()> {
        let count = self.count();
        let at = |level: u32| RowAt { series: self.series, level, number: count / size(level + 1) };
        if !self.points.is_empty() {
            writer.points(at(0), &self.points)?;
        }
        for (level, own) in (1..).zip(&mut self.levels) {
            if std::mem::take(&mut own.is_new) && !own.digests.is_empty() {
                writer.digests(at(level), &own.digests)?;
            }
        }
        Ok(())
    }
}
