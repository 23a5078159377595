//! A curve as somebody wants to see it: every point where they are few, or as many digests as there are columns on a screen.

use std::{io, ops::Range as Positions};

use model::metrics::{Digest, Point};

use super::{
    book::{Book, Stored},
    pyramid::{Visitor, Way},
};

/// Along what a curve is cut into buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Axis {
    Step,
    Time,
    /// The number of the point in its series.
    Position,
}

/// From the first to the last, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub first: i64,
    pub last: i64,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Curve {
    Points(Vec<Point>),
    /// Only those that hold a point.
    Buckets(Vec<Digest>),
}

/// A curve that jumps back and forth would be read whole to cut it exactly. After this many
/// rows a row is counted where it begins.
const ROWS_MAX: usize = 6_000;

/// Sees a series between two places of an axis in at most so many pieces.
pub fn view(book: &Book, series: &Stored, axis: Axis, range: Range, buckets_max: usize) -> io::Result<Curve> {
    let pyramid = book.pyramid(series);
    let mut count = Sieve::new(axis, range, 1);
    pyramid.walk(&mut count)?;
    let there = count.buckets[0].map_or(0, |it| it.count);
    if there <= buckets_max as u64 {
        let mut points = All { axis, range, rows_left: ROWS_MAX, points: Vec::with_capacity(there as usize) };
        pyramid.walk(&mut points)?;
        points.points.truncate(buckets_max);
        return Ok(Curve::Points(points.points));
    }
    let mut sieve = Sieve::new(axis, range, buckets_max);
    pyramid.walk(&mut sieve)?;
    Ok(Curve::Buckets(sieve.buckets.into_iter().flatten().collect()))
}

impl Axis {
    fn of(self, point: &Point, position: u64) -> i64 {
        match self {
            Axis::Step => point.step,
            Axis::Time => point.at_ms as i64,
            Axis::Position => position as i64,
        }
    }

    fn range(self, digest: &Digest, positions: &Positions<u64>) -> Range {
        match self {
            Axis::Step => Range { first: digest.steps.0, last: digest.steps.1 },
            Axis::Time => Range { first: digest.times_ms.0 as i64, last: digest.times_ms.1 as i64 },
            Axis::Position => Range { first: positions.start as i64, last: positions.end as i64 - 1 },
        }
    }
}

impl Range {
    fn has(self, place: i64) -> bool {
        self.first <= place && place <= self.last
    }

    fn misses(self, other: Range) -> bool {
        other.last < self.first || other.first > self.last
    }
}

struct Sieve {
    axis: Axis,
    range: Range,
    buckets: Vec<Option<Digest>>,
    rows_left: usize,
}

impl Sieve {
    fn new(axis: Axis, range: Range, buckets: usize) -> Self {
        Self { axis, range, buckets: vec![None; buckets.max(1)], rows_left: ROWS_MAX }
    }

    fn bucket(&self, place: i64) -> usize {
        let width = i128::from(self.range.last) - i128::from(self.range.first) + 1;
        let at = (i128::from(place) - i128::from(self.range.first)) * self.buckets.len() as i128 / width;
        at.clamp(0, self.buckets.len() as i128 - 1) as usize
    }

    fn add(&mut self, place: i64, digest: &Digest) {
        let bucket = self.bucket(place);
        match &mut self.buckets[bucket] {
            Some(sum) => sum.add(digest),
            none => *none = Some(*digest),
        }
    }
}

impl Visitor for Sieve {
    fn meet(&mut self, digest: &Digest, positions: &Positions<u64>) -> Way {
        let own = self.axis.range(digest, positions);
        if self.range.misses(own) {
            return Way::Skip;
        }
        let is_inside = self.range.has(own.first) && self.range.has(own.last);
        let begin = self.axis.of(&digest.first, positions.start);
        let in_one = is_inside && self.bucket(own.first) == self.bucket(own.last);
        if in_one || self.rows_left == 0 && self.range.has(begin) {
            self.add(begin, digest);
            return Way::Take;
        }
        descend(&mut self.rows_left)
    }

    fn point(&mut self, point: &Point, position: u64) {
        let place = self.axis.of(point, position);
        if self.range.has(place) {
            self.add(place, &Digest::from(*point));
        }
    }
}

/// As long as there are rows left to read.
fn descend(rows_left: &mut usize) -> Way {
    if *rows_left == 0 {
        return Way::Skip;
    }
    *rows_left -= 1;
    Way::Descend
}

struct All {
    axis: Axis,
    range: Range,
    rows_left: usize,
    points: Vec<Point>,
}

impl Visitor for All {
    fn meet(&mut self, digest: &Digest, positions: &Positions<u64>) -> Way {
        if self.range.misses(self.axis.range(digest, positions)) { Way::Skip } else { descend(&mut self.rows_left) }
    }

    fn point(&mut self, point: &Point, position: u64) {
        if self.range.has(self.axis.of(point, position)) {
            self.points.push(*point);
        }
    }
}
