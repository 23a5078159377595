//! Logs as lines: filtered by the server, merged by time, page by page or as they come.

use model::wire::{JobSummary, LineView, LinesPage};
use serde_json::json;

use super::{LogsArgs, Times, ended, list};
use crate::cli::{
    context::{Context, job_path, query},
    failure::{Exit, Failure},
    follow::Wish,
    line_text::{Look, line_text},
    output,
    printer::Manner,
    watch::{Only, Screen, watch},
};

const PAGE_LINES: u64 = 2000;

pub async fn show(context: &Context, args: &LogsArgs, job: &JobSummary, (times, manner): (Times, Manner)) -> Result<Exit, Failure> {
    let look = Look { named: manner.named, times: args.timestamps, colour: manner.colour };
    if args.follow {
        let pairs = [pairs(args, times), vec![("follow", Some("true".into())), ("tail", number(args.tail))]].concat();
        let wish = Wish { lines: Some(pairs), ..Wish::of(&job.id) };
        return ended(watch(context, &wish, &mut Screen::new(manner, Only::default(), context.json).with(look)).await);
    }
    let lines = Pages { context, job, pairs: pairs(args, times), look };
    match (args.head, args.tail) {
        (Some(count), _) => lines.print(vec![("from", Some("start".into()))], Some(count)).await,
        (None, Some(count)) if args.grep.is_some() => lines.print_last(count).await,
        (None, Some(count)) => lines.print(vec![("tail", Some(count.to_string()))], None).await,
        (None, None) => lines.print(vec![("from", Some("start".into()))], None).await,
    }
}

type Pairs = Vec<(&'static str, Option<String>)>;

fn number<T: ToString>(value: Option<T>) -> Option<String> {
    value.map(|value| value.to_string())
}

fn pairs(args: &LogsArgs, times: Times) -> Pairs {
    let yes = |is: bool| is.then(|| "true".to_owned());
    vec![
        ("task", list(&args.task)),
        ("role", list(&args.role)),
        ("attempt", number(args.attempt)),
        ("stream", args.stream.map(|it| it.stream().text().to_owned())),
        ("platform", args.no_platform.then(|| "false".into())),
        ("since_ms", number(times.since_ms)),
        ("until_ms", number(times.until_ms)),
        ("pattern", args.grep.clone()),
        ("regex", yes(args.grep.is_some() && !args.fixed)),
        ("ignore_case", yes(args.ignore_case)),
        ("context", number(args.context)),
    ]
}

struct Pages<'a> {
    context: &'a Context,
    job: &'a JobSummary,
    pairs: Pairs,
    look: Look,
}

impl Pages<'_> {
    async fn page(&self, place: Pairs, limit: u64) -> Result<LinesPage, Failure> {
        let pairs = [self.pairs.clone(), place, vec![("limit", Some(limit.to_string()))]].concat();
        self.context.get(&(job_path(&self.job.id, "/lines") + &query(&pairs))).await
    }

    /// Forwards from a place, so many or all.
    async fn print(&self, mut place: Pairs, count: Option<u64>) -> Result<Exit, Failure> {
        let mut left = count.unwrap_or(u64::MAX);
        while left > 0 {
            let page = self.page(place, left.min(PAGE_LINES)).await?;
            left = left.saturating_sub(page.lines.len() as u64);
            self.print_lines(&page.lines)?;
            let Some(after) = page.after.filter(|_| !page.at_end) else { break };
            place = vec![("after", Some(after))];
        }
        Ok(Exit::Done)
    }

    /// The last that were found: read backwards, printed forwards.
    async fn print_last(&self, count: u64) -> Result<Exit, Failure> {
        let (mut place, mut pages, mut left) = (vec![("from", Some("end".into()))], Vec::new(), count);
        while left > 0 {
            let page = self.page(place, left.min(PAGE_LINES)).await?;
            left = left.saturating_sub(page.lines.iter().filter(|line| !line.context).count() as u64);
            pages.push(page.lines);
            let Some(before) = page.before.filter(|_| !page.at_end) else { break };
            place = vec![("before", Some(before))];
        }
        pages.iter().rev().try_for_each(|lines| self.print_lines(lines))?;
        Ok(Exit::Done)
    }

    fn print_lines(&self, lines: &[LineView]) -> Result<(), Failure> {
        let mut text = String::new();
        for line in lines {
            if self.context.json {
                text.push_str(&format!("{}\n", json!({ "line": line })));
            } else {
                text.push_str(&line_text(line, self.look));
            }
        }
        let written = if self.context.json { output::bytes(output::Sink::Stdout, text.as_bytes()) } else { output::text(&text) };
        Ok(written?)
    }
}
