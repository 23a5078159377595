//! What a row of points comes to. Digests of neighbours add up to the digest of both, so a curve of any length is read
//! from few of them.

use super::{Extreme, Point};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Digest {
    pub count: u64,
    /// How many values are NaN or infinite.
    pub not_finite: u64,
    pub first: Point,
    pub last: Point,
    /// Of the finite values.
    pub least: Option<Extreme>,
    pub greatest: Option<Extreme>,
    /// The lowest and the highest step; a training that goes back has them anywhere.
    pub steps: (i64, i64),
    pub times_ms: (u64, u64),
}

impl From<Point> for Digest {
    fn from(point: Point) -> Self {
        let extreme = point.value.is_finite().then_some(Extreme { value: point.value, step: point.step });
        Self {
            count: 1,
            not_finite: u64::from(extreme.is_none()),
            first: point,
            last: point,
            least: extreme,
            greatest: extreme,
            steps: (point.step, point.step),
            times_ms: (point.at_ms, point.at_ms),
        }
    }
}

impl Digest {
    pub const ENCODED_BYTES: usize = 128;

    /// Takes in what comes right after.
    pub fn add(&mut self, next: &Digest) {
        self.count += next.count;
        self.not_finite += next.not_finite;
        self.last = next.last;
        self.least = chosen(self.least, next.least, |old, new| new < old);
        self.greatest = chosen(self.greatest, next.greatest, |old, new| new > old);
        self.steps = (self.steps.0.min(next.steps.0), self.steps.1.max(next.steps.1));
        self.times_ms = (self.times_ms.0.min(next.times_ms.0), self.times_ms.1.max(next.times_ms.1));
    }

    /// All of them together; none of nothing.
    pub fn sum(digests: impl IntoIterator<Item = Digest>) -> Option<Digest> {
        digests.into_iter().reduce(|mut sum, next| {
            sum.add(&next);
            sum
        })
    }

    pub fn encode(&self, bytes: &mut Vec<u8>) {
        let nothing = Extreme { value: f64::NAN, step: 0 };
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.not_finite.to_le_bytes());
        self.first.encode(bytes);
        self.last.encode(bytes);
        for extreme in [self.least.unwrap_or(nothing), self.greatest.unwrap_or(nothing)] {
            bytes.extend(extreme.value.to_le_bytes());
            bytes.extend(extreme.step.to_le_bytes());
        }
        bytes.extend(self.steps.0.to_le_bytes());
        bytes.extend(self.steps.1.to_le_bytes());
        bytes.extend(self.times_ms.0.to_le_bytes());
        bytes.extend(self.times_ms.1.to_le_bytes());
    }

    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let eight = |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().expect("eight bytes") };
        let point = |at: usize| Point::decode(bytes[at..at + Point::ENCODED_BYTES].try_into().expect("a whole point"));
        let extreme = |at: usize| {
            let value = f64::from_le_bytes(eight(at));
            value.is_finite().then_some(Extreme { value, step: i64::from_le_bytes(eight(at + 8)) })
        };
        Self {
            count: u64::from_le_bytes(eight(0)),
            not_finite: u64::from_le_bytes(eight(8)),
            first: point(16),
            last: point(40),
            least: extreme(64),
            greatest: extreme(80),
            steps: (i64::from_le_bytes(eight(96)), i64::from_le_bytes(eight(104))),
            times_ms: (u64::from_le_bytes(eight(112)), u64::from_le_bytes(eight(120))),
        }
    }
}

fn chosen(old: Option<Extreme>, new: Option<Extreme>, better: impl Fn(f64, f64) -> bool) -> Option<Extreme> {
    match (old, new) {
        (Some(old), Some(new)) => Some(if better(old.value, new.value) { new } else { old }),
        (old, new) => old.or(new),
    }
}

impl Point {
    pub const ENCODED_BYTES: usize = 24;

    pub fn encode(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.step.to_le_bytes());
        bytes.extend(self.at_ms.to_le_bytes());
        bytes.extend(self.value.to_le_bytes());
    }

    pub fn decode(bytes: &[u8; Self::ENCODED_BYTES]) -> Self {
        let eight = |at: usize| -> [u8; 8] { bytes[at..at + 8].try_into().expect("eight bytes") };
        Self { step: i64::from_le_bytes(eight(0)), at_ms: u64::from_le_bytes(eight(8)), value: f64::from_le_bytes(eight(16)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(values: &[f64]) -> Digest {
        let point = |(step, value): (usize, &f64)| Point { step: step as i64 + 7, at_ms: 1000 - step as u64, value: *value };
        Digest::sum(values.iter().enumerate().map(point).map(Digest::from)).unwrap()
    }

    #[test]
    fn the_first_of_equal_extremes_counts_and_what_is_not_finite_is_none() {
        let sum = digest(&[f64::NAN, 2.0, -1.0, f64::INFINITY, -1.0, 2.0, f64::NEG_INFINITY]);
        assert_eq!(sum.least, Some(Extreme { value: -1.0, step: 9 }));
        assert_eq!(sum.greatest, Some(Extreme { value: 2.0, step: 8 }));
        assert_eq!((sum.count, sum.not_finite, sum.steps, sum.times_ms), (7, 3, (7, 13), (994, 1000)));
        assert!(sum.first.value.is_nan() && sum.last.value == f64::NEG_INFINITY);
        assert_eq!(digest(&[f64::NAN]).least, None);
    }

    #[test]
    fn a_digest_survives_its_encoding() {
        for values in [&[1.0, 2.5][..], &[f64::INFINITY], &[-0.0, 1e300, f64::NEG_INFINITY]] {
            let mut bytes = Vec::new();
            digest(values).encode(&mut bytes);
            assert_eq!(Digest::decode(bytes.as_slice().try_into().unwrap()), digest(values));
        }
    }
}
