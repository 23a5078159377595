//! `trainmaster metrics JOB`: its curves, in the terminal.

use std::time::Duration;

use http_body_util::BodyExt;
use model::{
    job::JobState,
    resources::show_duration_ms,
    wire::{BucketView, CurveView, CurvesView, JobDetail, MetricAxis, MetricsView, PointView},
};

use super::{
    chart::{Chart, Line, Stretch, number},
    context::{Context, job_path, query},
    failure::{Exit, Failure},
    output::{self, Sink},
    style::{self, paint},
    terminal::plain,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct MetricsArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Only series of this name; may be given several times
    #[arg(long)]
    pub name: Vec<String>,
    /// Only of this task, such as worker-0
    #[arg(long)]
    pub task: Option<String>,
    /// Only of this attempt, and all of it
    #[arg(long)]
    pub attempt: Option<u32>,
    /// Only of this directory below /output
    #[arg(long)]
    pub group: Option<String>,
    /// What stands to the right
    #[arg(long, default_value = "step")]
    pub x: X,
    /// Draw them again as they grow, until the job is over
    #[arg(long, short)]
    pub follow: bool,
    /// Print every point as CSV instead
    #[arg(long, conflicts_with = "follow")]
    pub csv: bool,
    /// Lines for each chart
    #[arg(long, default_value_t = 12, value_parser = clap::value_parser!(u8).range(3..=60))]
    pub height: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum X {
    Step,
    Time,
}

impl X {
    fn text(self) -> &'static str {
        match self {
            X::Step => "step",
            X::Time => "time",
        }
    }
}

const WIDTH_DEFAULT: usize = 100;
const WIDTH_MAX: usize = 200;
const CHARTS_MAX: usize = 6;
const REDRAW_EVERY: Duration = Duration::from_secs(1);

pub async fn metrics(context: &Context, args: &MetricsArgs) -> Result<Exit, Failure> {
    if args.csv {
        return csv(context, args).await;
    }
    if !args.follow {
        let shown = picture(context, args).await?;
        return shown.show(context.json).map(|()| Exit::Done);
    }
    loop {
        // The state is asked for first: what is drawn after the end is all of it, once it was read.
        let is_over = state(context, args).await?.is_over();
        let shown = picture(context, args).await?;
        let is_whole = is_over && !shown.is_being_read;
        if !context.json && Sink::Stdout.is_terminal() {
            output::text("\x1b[H\x1b[J")?;
        }
        shown.show(context.json)?;
        if is_whole {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(REDRAW_EVERY).await;
    }
}

async fn state(context: &Context, args: &MetricsArgs) -> Result<JobState, Failure> {
    let job: JobDetail = context.get(&job_path(&args.job, "")).await?;
    Ok(job.summary.state)
}

fn asked(args: &MetricsArgs, more: &[(&str, Option<String>)]) -> String {
    let name = (!args.name.is_empty()).then(|| args.name.join(","));
    let mut pairs = vec![
        ("name", name),
        ("task", args.task.clone()),
        ("attempt", args.attempt.map(|it| it.to_string())),
        ("group", args.group.clone()),
    ];
    pairs.extend_from_slice(more);
    query(&pairs)
}

/// What was answered, and as it is drawn.
struct Picture {
    curves: CurvesView,
    text: String,
    is_being_read: bool,
}

impl Picture {
    fn show(&self, json: bool) -> Result<(), Failure> {
        if json {
            output::json(&self.curves)?
        } else {
            output::text(&self.text)?
        }
        Ok(())
    }
}

async fn picture(context: &Context, args: &MetricsArgs) -> Result<Picture, Failure> {
    let width = output::width().unwrap_or(WIDTH_DEFAULT).min(WIDTH_MAX);
    let more = [("x", Some(args.x.text().to_owned())), ("buckets", Some((2 * width).to_string()))];
    let found: MetricsView = context.get(&job_path(&args.job, &format!("/metrics{}", asked(args, &[])))).await?;
    let curves: CurvesView = context.get(&job_path(&args.job, &format!("/metrics/points{}", asked(args, &more)))).await?;
    let mut text = charts(&curves, width, usize::from(args.height));
    if found.series.is_empty() {
        let yet = if found.is_being_read { " so far" } else { "" };
        text = format!("no numbers were found in what {} wrote{yet}\n", plain(&args.job));
    }
    for note in &found.notes {
        text.push_str(&format!(
            "{}: {} (attempt {}): {}\n",
            paint(style::WAITS, "note"),
            plain(&note.task),
            note.attempt,
            plain(&note.text)
        ));
    }
    Ok(Picture { curves, text, is_being_read: found.is_being_read })
}

/// A chart for each name, so that what can be compared is seen together.
fn charts(curves: &CurvesView, width: usize, height: usize) -> String {
    let mut names: Vec<&str> = Vec::new();
    curves.curves.iter().for_each(|it| {
        if !names.contains(&it.name.as_str()) {
            names.push(&it.name)
        }
    });
    let mut text = String::new();
    for name in names.iter().take(CHARTS_MAX) {
        let of_name: Vec<&CurveView> = curves.curves.iter().filter(|it| it.name == *name && !is_empty(it)).collect();
        let labels = labels(&of_name);
        let line = |(number, (curve, label)): (usize, (&&CurveView, String))| Line {
            label,
            style: style::TASKS[number % style::TASKS.len()],
            stretches: stretches(curve, curves.x),
        };
        let lines: Vec<Line> = of_name.iter().zip(labels).enumerate().map(line).collect();
        text.push_str(&chart(name, &lines, curves, (width, height)));
    }
    let rest: Vec<String> = names.iter().skip(CHARTS_MAX).map(|it| plain(it)).collect();
    if !rest.is_empty() {
        text.push_str(&format!("and {} more, to be drawn with --name: {}\n", rest.len(), rest.join(", ")));
    }
    if curves.left_out > 0 {
        text.push_str(&format!("{} more series are left out; --name, --task and --group choose\n", curves.left_out));
    }
    text
}

fn chart(name: &str, lines: &[Line], curves: &CurvesView, (width, height): (usize, usize)) -> String {
    let places = || lines.iter().flat_map(|line| &line.stretches).map(|it| it.x);
    let (first, last) = (places().fold(f64::INFINITY, f64::min), places().fold(f64::NEG_INFINITY, f64::max));
    let (first, last) = if first <= last { (first, last) } else { (curves.from as f64, curves.to as f64) };
    let elapsed = |x: f64| show_duration_ms(((x - first).max(0.0) / 1000.0).round() as u64 * 1000);
    let step = |x: f64| number(x.round());
    let show_x: &dyn Fn(f64) -> String = match curves.x {
        MetricAxis::Step => &step,
        MetricAxis::Time => &elapsed,
    };
    let chart = Chart { lines, x: (first, last), show_x, width, height, has_colour: Sink::Stdout.has_colour() };
    format!("{}   {}\n{}\n", paint(style::LOUD, &plain(name)), chart.legend(), chart.draw())
}

/// What tells the curves of one chart apart, and no more than that.
fn labels(curves: &[&CurveView]) -> Vec<String> {
    let differs = |part: &dyn Fn(&CurveView) -> String| curves.iter().any(|it| part(it) != part(curves[0]));
    let (task, group, source) =
        (differs(&|it| it.task.clone()), differs(&|it| it.group.clone()), differs(&|it| it.source.text().to_owned()));
    let attempt = differs(&|it| it.attempt.to_string());
    let label = |it: &&CurveView| {
        let mut words = Vec::new();
        words.extend(task.then(|| it.task.clone()));
        words.extend((group && !it.group.is_empty()).then(|| it.group.clone()));
        words.extend(source.then(|| it.source.text().to_owned()));
        words.extend(attempt.then(|| format!("attempt {}", it.attempt)));
        plain(&words.join(" "))
    };
    curves.iter().map(label).collect()
}

fn is_empty(curve: &CurveView) -> bool {
    curve.points.as_ref().is_some_and(Vec::is_empty)
}

fn stretches(curve: &CurveView, x: MetricAxis) -> Vec<Stretch> {
    let place = |it: &PointView| match x {
        MetricAxis::Step => it.step as f64,
        MetricAxis::Time => it.at_ms as f64,
    };
    let point = |it: &PointView| Stretch {
        x: place(it),
        range: it.value.0.is_finite().then_some((it.value.0, it.value.0)),
        last: it.value.0,
        has_not_finite: !it.value.0.is_finite(),
    };
    let bucket = |it: &BucketView| Stretch {
        x: place(&it.last),
        range: it.least.zip(it.greatest),
        last: it.last.value.0,
        has_not_finite: it.not_finite > 0,
    };
    let points = curve.points.iter().flatten().map(point);
    points.chain(curve.buckets.iter().flatten().map(bucket)).collect()
}

async fn csv(context: &Context, args: &MetricsArgs) -> Result<Exit, Failure> {
    let path = job_path(&args.job, &format!("/metrics/csv{}", asked(args, &[])));
    let mut body = context.find()?.client.open(Call::get(&path)).await?.into_body();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::new(Exit::Away, "cut_off", format!("the connection was cut: {error}")))?;
        if let Some(bytes) = frame.data_ref() {
            output::bytes(Sink::Stdout, bytes)?;
        }
    }
    Ok(Exit::Done)
}
