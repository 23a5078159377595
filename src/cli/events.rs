//! `trainmaster events JOB`: what happened to a job from its submission to its end, and how long each step took.

use std::time::Duration;

use model::{
    resources::show_duration_ms,
    timeline::title,
    wire::{EventLevel, EventPage, EventView},
    words::{Lang, Words},
};

use super::{
    context::{Context, job_path, query},
    failure::{Exit, Failure},
    language::LangArgs,
    output,
    people::{moment, now_ms, parse_since},
    style::{self, paint},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct EventsArgs {
    /// Its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub job: String,
    /// Go on until the job is over
    #[arg(short, long)]
    pub follow: bool,
    /// Only of this task, such as worker-0
    #[arg(long)]
    pub task: Option<String>,
    /// Only what matters as much or more: info, warning or error
    #[arg(long, value_parser = parse_level, default_value = "info")]
    pub level: EventLevel,
    /// Only what has this in it
    #[arg(long)]
    pub text: Option<String>,
    /// Only since then: 10m ago, or a time
    #[arg(long)]
    pub since: Option<String>,
    #[command(flatten)]
    pub language: LangArgs,
}

fn parse_level(text: &str) -> Result<EventLevel, String> {
    EventLevel::from_text(text).ok_or_else(|| "write info, warning or error".into())
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(500);

pub async fn events(context: &Context, args: &EventsArgs) -> Result<Exit, Failure> {
    let since = args.since.as_ref().map(|text| {
        let bad = || Failure::new(Exit::You, "bad-time", format!("`{text}` is not a time; write 10m, 2h or 2026-01-31T08:00"));
        parse_since(text, now_ms(), &jiff::tz::TimeZone::system()).ok_or_else(bad)
    });
    let since_ms = since.transpose()?;
    let mut after = 0;
    let lang = args.language.lang();
    loop {
        let page = page(context, args, (after, since_ms)).await?;
        after = page.events.last().map_or(after, |event| event.seq);
        for event in &page.events {
            if context.json { output::json_line(event)? } else { output::line(&event_line(event, lang))? }
        }
        if page.next.is_some() {
            continue;
        }
        if !args.follow || is_over(context, &args.job, after).await? {
            return Ok(Exit::Done);
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

async fn page(context: &Context, args: &EventsArgs, (after, since_ms): (u64, Option<u64>)) -> Result<EventPage, Failure> {
    let pairs = [
        ("after", Some(after.to_string())),
        ("task", args.task.clone()),
        ("level", Some(args.level.text().to_owned())),
        ("text", args.text.clone()),
        ("since_ms", since_ms.map(|at| at.to_string())),
    ];
    context.get(&job_path(&args.job, &format!("/events{}", query(&pairs)))).await
}

/// Whether there will be no more: the job is over, and nothing came after what was seen.
async fn is_over(context: &Context, job: &str, after: u64) -> Result<bool, Failure> {
    let summary: model::wire::JobSummary = context.get(&job_path(job, "")).await?;
    if !summary.state.is_over() {
        return Ok(false);
    }
    let rest: EventPage = context.get(&job_path(job, &format!("/events?after={after}&level=error"))).await?;
    Ok(rest.events.is_empty())
}

fn event_line(event: &EventView, lang: Lang) -> String {
    let title = title(&event.kind);
    let words = Words::new(event.reason.clone(), event.reason_zh.clone());
    let style = match event.level {
        EventLevel::Info => style::NONE,
        EventLevel::Warning => style::WAITS,
        EventLevel::Error => style::BAD,
    };
    let attempt = event.attempt.filter(|attempt| *attempt > 1).map_or(String::new(), |attempt| format!("#{attempt}"));
    let who = format!("{}{attempt}", event.task.as_deref().map_or("-".into(), plain));
    let took = event.took_ms.map_or(String::new(), |took| format!(" ({})", show_duration_ms(took)));
    let said = words.say(lang);
    let colon = if said.is_empty() { "" } else { ": " };
    format!("{}  {:<12} {}{took}{colon}{}", moment(event.at_ms), who, paint(style, &plain(title.say(lang))), plain(said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_with_who_what_how_long_and_why() {
        let event = EventView {
            seq: 7,
            at_ms: 1_000,
            job: "j".into(),
            task: Some("worker-0".into()),
            attempt: Some(2),
            kind: "task_ended".into(),
            reason: "exited\nwith code 3".into(),
            reason_zh: "退出，退出码 3".into(),
            level: EventLevel::Error,
            took_ms: Some(2_500),
        };
        let line = |lang| anstream::adapter::strip_str(&event_line(&event, lang)).to_string();
        assert!(line(Lang::En).ends_with("  worker-0#2   ended (2.5s): exited with code 3"), "{}", line(Lang::En));
        assert!(line(Lang::Zh).ends_with("  worker-0#2   已结束 (2.5s): 退出，退出码 3"), "{}", line(Lang::Zh));
    }
}
