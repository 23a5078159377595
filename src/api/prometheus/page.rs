//! The text format of Prometheus (0.0.4), and OpenMetrics (1.0.0) for those who ask for it.

use std::fmt::Write;

use crate::meter::{BOUNDS_S, Counted};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Prometheus,
    OpenMetrics,
}

impl Format {
    pub fn wanted(accepted: &str) -> Self {
        if accepted.contains("application/openmetrics-text") { Self::OpenMetrics } else { Self::Prometheus }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Its samples end with `_total`, which is added here.
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    fn text(self) -> &'static str {
        match self {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        }
    }
}

pub type Labels<'a> = &'a [(&'a str, &'a str)];

/// A page in the making. Samples belong to the family that was begun last.
pub struct Page {
    text: String,
    format: Format,
    family: String,
    kind: Kind,
}

impl Page {
    pub fn new(format: Format) -> Self {
        Self { text: String::new(), format, family: String::new(), kind: Kind::Gauge }
    }

    pub fn content_type(&self) -> &'static str {
        match self.format {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }

    pub fn family(&mut self, name: &str, kind: Kind, help: &str) {
        (self.family, self.kind) = (name.to_owned(), kind);
        // Prometheus calls a counter what its samples are called; OpenMetrics leaves the end away.
        let shown = match (self.format, kind) {
            (Format::Prometheus, Kind::Counter) => format!("{name}_total"),
            (Format::Prometheus | Format::OpenMetrics, Kind::Counter | Kind::Gauge | Kind::Histogram) => name.to_owned(),
        };
        self.line(format_args!("# HELP {shown} {}", help.replace('\\', "\\\\").replace('\n', "\\n")));
        self.line(format_args!("# TYPE {shown} {}", kind.text()));
    }

    pub fn sample(&mut self, labels: Labels<'_>, value: f64) {
        let end = match self.kind {
            Kind::Counter => "_total",
            Kind::Gauge | Kind::Histogram => "",
        };
        self.write(end, labels, value);
    }

    /// Buckets of Prometheus hold everything below their bound.
    pub fn histogram(&mut self, labels: Labels<'_>, counted: &Counted) {
        let mut sum = 0;
        let bounds = BOUNDS_S.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(counted.buckets) {
            sum += count;
            self.write("_bucket", &[labels, &[("le", &bound)]].concat(), sum as f64);
        }
        self.write("_sum", labels, counted.sum_s);
        self.write("_count", labels, sum as f64);
    }

    pub fn finish(mut self) -> String {
        if self.format == Format::OpenMetrics {
            self.text.push_str("# EOF\n");
        }
        self.text
    }

    fn write(&mut self, end: &str, labels: Labels<'_>, value: f64) {
        let labels: Vec<String> = labels.iter().map(|(name, text)| format!("{name}=\"{}\"", escaped(text))).collect();
        let labels = if labels.is_empty() { String::new() } else { format!("{{{}}}", labels.join(",")) };
        let family = self.family.clone();
        self.line(format_args!("{family}{end}{labels} {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        writeln!(self.text, "{line}").expect("a string takes everything");
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::meter::Histogram;

    fn page(format: Format) -> String {
        let mut page = Page::new(format);
        page.family("a_bytes", Kind::Gauge, "Bytes\nof \\ a.");
        page.sample(&[("name", "x\"y\\z\n"), ("state", "up")], 1.5);
        page.family("b", Kind::Counter, "Counts.");
        page.sample(&[], 12_345_678_901.0);
        page.finish()
    }

    #[test]
    fn a_page_is_as_each_format_wants_it() {
        insta::assert_snapshot!(page(Format::wanted("text/plain")), @r#"
        # HELP a_bytes Bytes\nof \\ a.
        # TYPE a_bytes gauge
        a_bytes{name="x\"y\\z\n",state="up"} 1.5
        # HELP b_total Counts.
        # TYPE b_total counter
        b_total 12345678901
        "#);
        insta::assert_snapshot!(page(Format::wanted("application/openmetrics-text; version=1.0.0")), @r#"
        # HELP a_bytes Bytes\nof \\ a.
        # TYPE a_bytes gauge
        a_bytes{name="x\"y\\z\n",state="up"} 1.5
        # HELP b Counts.
        # TYPE b counter
        b_total 12345678901
        # EOF
        "#);
    }

    #[test]
    fn buckets_hold_everything_below_their_bound() {
        let histogram = Histogram::new();
        [1, 20, 99_000].iter().for_each(|ms| histogram.note(Duration::from_millis(*ms)));
        let mut page = Page::new(Format::Prometheus);
        page.family("t", Kind::Histogram, "Times.");
        page.histogram(&[("route", "/")], &histogram.counted());
        let text = page.finish();
        for line in [
            r#"t_bucket{route="/",le="0.0005"} 0"#,
            r#"t_bucket{route="/",le="0.025"} 2"#,
            r#"t_bucket{route="/",le="+Inf"} 3"#,
            r#"t_sum{route="/"} 99.021"#,
            r#"t_count{route="/"} 3"#,
        ] {
            assert!(text.lines().any(|it| it == line), "{line}\n{text}");
        }
    }
}
