//! A figure over time, on an axis that all figures of an answer share.

use serde::{Deserialize, Serialize};

use super::{Figure, Stretch};

/// A window cut into equal buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis {
    pub from_ms: u64,
    pub bucket_ms: u64,
    pub buckets: usize,
}

/// A figure in each bucket; nothing where nothing is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Curve {
    pub mean: Vec<Option<f64>>,
    /// Absent for sums: the parts need not have had their least and their most at the same time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub min: Vec<Option<f64>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub max: Vec<Option<f64>>,
}

impl Axis {
    /// No bucket is shorter than a second, which is how often tasks are looked at.
    pub fn new(from_ms: u64, to_ms: u64, buckets: usize) -> Self {
        const BUCKET_MS_MIN: u64 = 1_000;
        let length_ms = to_ms.saturating_sub(from_ms).max(1);
        let bucket_ms = length_ms.div_ceil(buckets.max(1) as u64).max(BUCKET_MS_MIN);
        Self { from_ms, bucket_ms, buckets: length_ms.div_ceil(bucket_ms) as usize }
    }

    pub fn to_ms(&self) -> u64 {
        self.from_ms.saturating_add(self.bucket_ms.saturating_mul(self.buckets as u64))
    }

    /// When each bucket ends.
    pub fn at_ms(&self) -> Vec<u64> {
        (1..=self.buckets as u64).map(|it| self.from_ms.saturating_add(it.saturating_mul(self.bucket_ms))).collect()
    }

    /// Which buckets a stretch reaches into.
    fn reach(&self, stretch: &Stretch) -> std::ops::Range<usize> {
        let place = |at_ms: u64| (at_ms.saturating_sub(self.from_ms) / self.bucket_ms) as usize;
        if stretch.to_ms <= self.from_ms || stretch.from_ms >= self.to_ms() {
            return 0..0;
        }
        place(stretch.from_ms)..(place(stretch.to_ms - 1) + 1).min(self.buckets)
    }

    /// How long a stretch is within a bucket.
    fn shared_ms(&self, stretch: &Stretch, bucket: usize) -> u64 {
        let begin = self.from_ms.saturating_add((bucket as u64).saturating_mul(self.bucket_ms));
        stretch.to_ms.min(begin.saturating_add(self.bucket_ms)).saturating_sub(stretch.from_ms.max(begin))
    }

    /// Draws a figure. Each stretch weighs in a bucket as much as it has of it.
    pub fn draw(&self, stretches: &[Stretch], figure: Figure) -> Curve {
        let mut sums = vec![(0.0, 0.0); self.buckets];
        let (mut min, mut max) = (vec![None::<f64>; self.buckets], vec![None::<f64>; self.buckets]);
        for stretch in stretches {
            let Some(spread) = stretch.get(figure) else { continue };
            for bucket in self.reach(stretch) {
                let weight = self.shared_ms(stretch, bucket) as f64;
                sums[bucket] = (sums[bucket].0 + weight * spread.mean, sums[bucket].1 + weight);
                min[bucket] = Some(min[bucket].map_or(spread.min, |it| it.min(spread.min)));
                max[bucket] = Some(max[bucket].map_or(spread.max, |it| it.max(spread.max)));
            }
        }
        let mean = sums.into_iter().map(|(sum, weight)| (weight > 0.0).then(|| sum / weight)).collect();
        Curve { mean, min, max }
    }
}

/// Bucket by bucket the sum of what is known.
pub fn sum<'a>(curves: impl Iterator<Item = &'a Curve>) -> Curve {
    let mut mean: Vec<Option<f64>> = Vec::new();
    for curve in curves {
        mean.resize(mean.len().max(curve.mean.len()), None);
        for (total, part) in mean.iter_mut().zip(&curve.mean) {
            *total = match (*total, *part) {
                (Some(total), Some(part)) => Some(total + part),
                (one, other) => one.or(other),
            };
        }
    }
    Curve { mean, ..Curve::default() }
}

#[cfg(test)]
mod tests {
    use super::{super::Spread, *};

    fn stretch(from_ms: u64, to_ms: u64, mean: f64) -> Stretch {
        let mut stretch = Stretch { from_ms, to_ms, ..Stretch::default() };
        stretch.spreads[Figure::CpuCores as usize] = Some(Spread { min: mean, mean, max: mean });
        stretch
    }

    #[test]
    fn an_axis_has_the_buckets_asked_for_but_none_shorter_than_a_second() {
        assert_eq!(Axis::new(0, 60_000, 10), Axis { from_ms: 0, bucket_ms: 6_000, buckets: 10 });
        assert_eq!(Axis::new(0, 5_000, 100), Axis { from_ms: 0, bucket_ms: 1_000, buckets: 5 });
        assert_eq!(Axis::new(7, 7, 0), Axis { from_ms: 7, bucket_ms: 1_000, buckets: 1 });
        assert_eq!(Axis::new(0, 3_500, 3).at_ms(), [1_167, 2_334, 3_501]);
    }

    #[test]
    fn a_stretch_counts_in_a_bucket_for_as_long_as_it_is_there() {
        let axis = Axis::new(0, 4_000, 4);
        let curve = axis.draw(&[stretch(0, 500, 4.0), stretch(500, 2_500, 1.0)], Figure::CpuCores);
        assert_eq!(curve.mean, [Some(2.5), Some(1.0), Some(1.0), None]);
        assert_eq!(curve.max, [Some(4.0), Some(1.0), Some(1.0), None]);
    }

    #[test]
    fn what_lies_outside_the_window_is_not_drawn() {
        let axis = Axis::new(10_000, 12_000, 2);
        let curve = axis.draw(&[stretch(8_000, 10_000, 9.0), stretch(9_000, 11_000, 2.0), stretch(12_000, 13_000, 9.0)], Figure::CpuCores);
        assert_eq!(curve.mean, [Some(2.0), None]);
    }

    #[test]
    fn a_sum_has_what_is_known() {
        let curve = |mean: &[Option<f64>]| Curve { mean: mean.to_vec(), ..Curve::default() };
        let parts = [curve(&[Some(1.0), None, None]), curve(&[Some(2.0), Some(5.0), None])];
        assert_eq!(sum(parts.iter()), curve(&[Some(3.0), Some(5.0), None]));
    }
}
