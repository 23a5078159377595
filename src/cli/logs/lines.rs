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
        (Some(count), _) => lines.print(vec![("from", Some("start".into()))], Tally::first(count, args.context)).await,
        (None, Some(count)) if args.grep.is_some() => lines.print_last(Tally::first(count, args.context)).await,
        (None, Some(count)) => lines.print(vec![("tail", Some(count.to_string()))], Tally::all()).await,
        (None, None) => lines.print(vec![("from", Some("start".into()))], Tally::all()).await,
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

/// How many of the lines that were found are wanted, each with the lines around it. It does not matter which way they come.
struct Tally {
    left: u64,
    context: u64,
    /// Lines that still stand around the last one that was found.
    owed: u64,
}

impl Tally {
    fn all() -> Self {
        Self { left: u64::MAX, context: 0, owed: 0 }
    }

    fn first(count: u64, context: Option<u32>) -> Self {
        Self { left: count, context: context.unwrap_or(0).into(), owed: 0 }
    }

    fn is_met(&self) -> bool {
        self.left == 0
    }

    /// So many that whatever stands around the last one is in the same page.
    fn page_lines(&self) -> u64 {
        self.left.saturating_mul(self.context.saturating_mul(2).saturating_add(1)).min(PAGE_LINES)
    }

    fn takes(&mut self, line: &LineView) -> bool {
        match (line.context, self.left) {
            (true, 0) => {
                let is_owed = self.owed > 0;
                self.owed = self.owed.saturating_sub(1);
                is_owed
            }
            (true, _) => true,
            (false, 0) => {
                self.owed = 0;
                false
            }
            (false, _) => {
                self.left -= 1;
                self.owed = if self.left == 0 { self.context } else { 0 };
                true
            }
        }
    }
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
    async fn print(&self, mut place: Pairs, mut tally: Tally) -> Result<Exit, Failure> {
        while !tally.is_met() {
            let page = self.page(place, tally.page_lines()).await?;
            let lines: Vec<LineView> = page.lines.into_iter().filter(|line| tally.takes(line)).collect();
            self.print_lines(&lines)?;
            let Some(after) = page.after.filter(|_| !page.at_end) else { break };
            place = vec![("after", Some(after))];
        }
        Ok(Exit::Done)
    }

    /// The last that were found: read backwards, printed forwards.
    async fn print_last(&self, mut tally: Tally) -> Result<Exit, Failure> {
        let (mut place, mut lines) = (vec![("from", Some("end".into()))], Vec::new());
        while !tally.is_met() {
            let page = self.page(place, tally.page_lines()).await?;
            lines.extend(page.lines.into_iter().rev().filter(|line| tally.takes(line)));
            let Some(before) = page.before.filter(|_| !page.at_end) else { break };
            place = vec![("before", Some(before))];
        }
        lines.reverse();
        self.print_lines(&lines)?;
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

#[cfg(test)]
mod tests {
    use model::logs::Stream;

    use super::*;

    fn line(text: &str) -> LineView {
        LineView {
            task: "main-0".into(),
            attempt: 1,
            stream: Stream::Stdout,
            at_ms: 0,
            offset: 0,
            end: 0,
            text: text.into(),
            colours: Vec::new(),
            matches: Vec::new(),
            context: text.starts_with('.'),
            unfinished: false,
            cut_bytes: 0,
            dropped_bytes: None,
        }
    }

    fn taken(count: u64, context: u32, lines: &str) -> String {
        let mut tally = Tally::first(count, Some(context));
        lines.split(' ').filter(|text| tally.takes(&line(text))).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn only_what_was_found_is_counted_and_the_last_one_has_what_stands_around_it() {
        let lines = ".a .b one .c .d .e two .f three .g";
        assert_eq!(taken(1, 2, lines), ".a .b one .c .d");
        assert_eq!(taken(2, 3, lines), ".a .b one .c .d .e two .f");
        assert_eq!(taken(9, 2, lines), lines);
        assert_eq!((Tally::first(1, Some(2)).page_lines(), Tally::all().page_lines()), (5, PAGE_LINES));
    }
}
