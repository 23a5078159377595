//! Numbers of a job, as the API shows them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::metrics::{Digest, MetricNumber, Point, SeriesSummary, Source, Value};

/// Every series of a job, and what was left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MetricsView {
    pub series: Vec<SeriesSummary>,
    pub notes: Vec<MetricsNote>,
    /// Not all that was written has been read: there may be more in a moment.
    pub is_being_read: bool,
}

/// Something that was not kept, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MetricsNote {
    pub task: String,
    pub attempt: u32,
    pub text: String,
    /// The same in Chinese, where there is any.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text_zh: String,
}

/// What stands to the right of a curve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MetricAxis {
    #[default]
    Step,
    Time,
}

/// Several series over one range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurvesView {
    pub x: MetricAxis,
    /// The first and the last place on the axis: a step, or a time in milliseconds.
    pub from: i64,
    pub to: i64,
    pub curves: Vec<CurveView>,
    /// How many series were asked for beyond the most that one answer has.
    pub left_out: u64,
}

/// One series between two places: all its points if they are few, or buckets of equal width.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurveView {
    pub task: String,
    pub attempt: u32,
    pub source: Source,
    pub group: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub points: Option<Vec<PointView>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Vec<BucketView>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PointView {
    pub step: i64,
    pub at_ms: u64,
    #[schema(value_type = MetricNumber)]
    pub value: Value,
}

/// What the points between two places come to.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct BucketView {
    pub count: u64,
    /// How many of them are NaN or infinite.
    pub not_finite: u64,
    pub first: PointView,
    pub last: PointView,
    /// Of the finite values; none if there is none.
    pub least: Option<f64>,
    pub greatest: Option<f64>,
}

/// News of some series, on a stream.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CurveNews {
    #[serde(flatten)]
    pub curve: CurveView,
    /// How many points the series has now.
    pub total: u64,
    /// Points were taken back: this is the whole curve, and what was sent before holds no longer.
    pub anew: bool,
}

impl From<Point> for PointView {
    fn from(point: Point) -> Self {
        Self { step: point.step, at_ms: point.at_ms, value: Value(point.value) }
    }
}

impl From<&Digest> for BucketView {
    fn from(digest: &Digest) -> Self {
        Self {
            count: digest.count,
            not_finite: digest.not_finite,
            first: digest.first.into(),
            last: digest.last.into(),
            least: digest.least.map(|it| it.value),
            greatest: digest.greatest.map(|it| it.value),
        }
    }
}
