//! `trainmaster top`: what runs now and what it uses, drawn again and again.

use std::time::Duration;

use model::{
    usage::Figure,
    wire::{
        JobDetail,
        usage::{JobUsage, UsageNow},
    },
};

use super::{
    context::{Context, job_path},
    failure::{Exit, Failure},
    output::{self, Sink},
    people::{label, now_ms, parse_job},
};

mod screen;
mod view;

use screen::{Key, Screen};
use view::View;

#[derive(Clone, Debug, clap::Args)]
pub struct TopArgs {
    /// Only this job, with why some figures are absent: name, name@version or id
    #[arg(value_parser = parse_job)]
    pub job: Option<String>,
    /// Show it once and end; the same where nobody watches
    #[arg(long)]
    pub once: bool,
    /// What comes first; keys change it: c, m, d, n, g, j
    #[arg(long, value_enum, default_value_t = Order::Cpu)]
    pub sort: Order,
    /// Seconds between two looks
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub every: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Order {
    Cpu,
    Memory,
    Disk,
    Network,
    Accelerator,
    Name,
}

impl Order {
    pub fn text(self) -> &'static str {
        match self {
            Order::Cpu => "CPU",
            Order::Memory => "memory",
            Order::Disk => "disk",
            Order::Network => "network",
            Order::Accelerator => "accelerators",
            Order::Name => "name",
        }
    }

    /// What is added up to compare by; nothing where names decide.
    pub fn figures(self) -> &'static [Figure] {
        match self {
            Order::Cpu => &[Figure::CpuCores],
            Order::Memory => &[Figure::MemoryBytes],
            Order::Disk => &[Figure::ReadBytesPerS, Figure::WrittenBytesPerS],
            Order::Network => &[Figure::ReceivedBytesPerS, Figure::SentBytesPerS],
            Order::Accelerator => &[Figure::AcceleratorUse],
            Order::Name => &[],
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|it: &f64| (0.2..=3600.0).contains(it)).ok_or_else(|| "give a number of seconds from 0.2 to 3600".into())
}

pub async fn top(context: &Context, args: &TopArgs) -> Result<Exit, Failure> {
    let chosen = match &args.job {
        Some(job) => Some(context.get::<JobDetail>(&job_path(job, "")).await?),
        None => None,
    };
    if let Some(job) = chosen.as_ref().filter(|job| job.summary.state.is_over()) {
        return over(context, job).await;
    }
    let id = chosen.map(|job| job.summary.id);
    if context.json {
        output::json(&look(context, id.as_deref()).await?)?;
    } else if args.once || !Sink::Stdout.is_terminal() {
        let now = look(context, id.as_deref()).await?;
        let view = View { now: &now, order: args.sort, width: output::width(), alone: id.is_some(), at_ms: now_ms() };
        output::text(&view.text())?;
    } else {
        keep_drawing(context, args, id.as_deref()).await?;
    }
    Ok(Exit::Done)
}

async fn look(context: &Context, only: Option<&str>) -> Result<UsageNow, Failure> {
    let mut now: UsageNow = context.get("/api/v1/usage/now").await?;
    now.jobs.retain(|job| only.is_none_or(|id| job.id == id));
    Ok(now)
}

/// Draws until somebody presses q. A server that is away for a while is waited for.
async fn keep_drawing(context: &Context, args: &TopArgs, only: Option<&str>) -> Result<(), Failure> {
    let mut screen = Screen::open()?;
    let mut order = args.sort;
    loop {
        let text = match look(context, only).await {
            Ok(now) => View { now: &now, order, width: output::width(), alone: only.is_some(), at_ms: now_ms() }.text(),
            Err(failure) if failure.exit == Exit::Away => format!("{}\n", failure.body.message),
            Err(failure) => return Err(failure),
        };
        screen.draw(&text, &view::keys(order))?;
        match screen.key(Duration::from_secs_f64(args.every)) {
            Some(Key::Quit) => return Ok(()),
            Some(Key::Sort(by)) => order = by,
            Some(Key::Other) | None => {}
        }
    }
}

/// One that is over uses nothing; what it has used is known.
async fn over(context: &Context, job: &JobDetail) -> Result<Exit, Failure> {
    let usage: JobUsage = context.get(&job_path(&job.summary.id, "/usage?buckets=1")).await?;
    if context.json {
        output::json(&usage)?;
    } else {
        output::text(&view::over(&label(&job.summary), job.summary.state, &usage, output::width()))?;
    }
    Ok(Exit::Done)
}
