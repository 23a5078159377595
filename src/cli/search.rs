//! `trainmaster search PATTERN`: where something stands in the logs of all jobs.

use http_body_util::BodyExt;
use model::{
    job::JobState,
    wire::{LogHit, SearchEnd, SearchLine},
};

use super::{
    context::{Context, in_time, query, read_answer},
    failure::{Exit, Failure},
    line_text::{Look, line_text},
    output::{self, Sink},
    style,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct SearchArgs {
    /// A regular expression
    pub pattern: String,
    /// The pattern is a text, not a regular expression
    #[arg(long, short = 'F')]
    pub fixed: bool,
    /// Capitals and small letters are the same
    #[arg(long, short)]
    pub ignore_case: bool,
    /// Only jobs in these states, such as failed,running
    #[arg(long, short, value_name = "STATES", value_delimiter = ',', value_parser = super::people::parse_state)]
    pub state: Vec<JobState>,
    /// Only versions of this job
    #[arg(long)]
    pub name: Option<String>,
    /// Only jobs with this tag
    #[arg(long)]
    pub tag: Option<String>,
    /// Only jobs of this person
    #[arg(long)]
    pub owner: Option<String>,
    /// Only jobs with these words in name or description
    #[arg(long, short, value_name = "WORDS")]
    pub query: Option<String>,
    /// How many lines
    #[arg(long, short = 'n', default_value_t = 1000)]
    pub limit: u64,
    /// Show when each line came
    #[arg(long)]
    pub timestamps: bool,
}

/// Exits with 1 if nothing is found, as `grep` does.
pub async fn search(context: &Context, args: &SearchArgs) -> Result<Exit, Failure> {
    let path = path(args);
    let answer = in_time(context.find()?.client.open(Call::get(&path))).await?;
    let look = Look { named: false, times: args.timestamps, colour: Sink::Stdout.has_colour() };
    let (mut body, mut rest, mut end) = (answer.into_body(), Vec::new(), None);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| Failure::away(format!("the search was cut off: {error}")))?;
        let Ok(bytes) = frame.into_data() else { continue };
        rest.extend_from_slice(&bytes);
        let whole = rest.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let lines: Vec<u8> = rest.drain(..whole).collect();
        for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
            match read_answer(line)? {
                SearchLine::Hit(hit) if context.json => output::json_line(&SearchLine::Hit(hit))?,
                SearchLine::Hit(hit) => output::text(&hit_text(&hit, look))?,
                SearchLine::End(told) => end = Some(told),
            }
        }
    }
    conclude(context, end.ok_or_else(|| Failure::away("the search was cut off before its end"))?)
}

fn conclude(context: &Context, end: SearchEnd) -> Result<Exit, Failure> {
    if context.json {
        output::json_line(&SearchLine::End(end.clone()))?;
    } else {
        let more = if end.more { ", and there is more: `-n` shows more" } else { "" };
        output::aside(&format!("{} lines found in the logs of {} jobs{more}", end.hits, end.jobs));
    }
    Ok(if end.hits == 0 { Exit::JobFailed } else { Exit::Done })
}

/// `digits@3/worker-0: loss: nan`.
fn hit_text(hit: &LogHit, look: Look) -> String {
    let attempt = if hit.line.attempt == 1 { String::new() } else { format!(".{}", hit.line.attempt) };
    let place = format!("{}@{}/{}{attempt}:", hit.name, hit.version, hit.line.task);
    let place = if look.colour { style::paint(style::of_task(&hit.job), &place) } else { place };
    format!("{place} {}", line_text(&hit.line, look))
}

fn path(args: &SearchArgs) -> String {
    let yes = |is: bool| is.then(|| "true".to_owned());
    let states: Vec<&str> = args.state.iter().map(|state| state.text()).collect();
    let pairs = [
        ("pattern", Some(args.pattern.clone())),
        ("regex", yes(!args.fixed)),
        ("ignore_case", yes(args.ignore_case)),
        ("state", (!states.is_empty()).then(|| states.join(","))),
        ("name", args.name.clone()),
        ("tag", args.tag.clone()),
        ("owner", args.owner.clone()),
        ("q", args.query.clone()),
        ("limit", Some(args.limit.to_string())),
    ];
    format!("/api/v1/search/logs{}", query(&pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_is_asked_for_as_it_is_wanted() {
        let args = SearchArgs {
            pattern: "a b".into(),
            fixed: true,
            ignore_case: true,
            state: vec![JobState::Failed, JobState::Running],
            name: Some("digits".into()),
            tag: None,
            owner: None,
            query: None,
            limit: 5,
            timestamps: false,
        };
        assert_eq!(path(&args), "/api/v1/search/logs?pattern=a%20b&ignore_case=true&state=failed%2Crunning&name=digits&limit=5");
    }
}
