//! `trainmaster compare A B C --metric accuracy`: jobs side by side.

use std::collections::BTreeSet;

use model::{
    compare::{Direction, short_number},
    wire::{BestJob, ComparedRow, Comparison, Delta},
};

use super::{
    context::{Context, query},
    failure::{Exit, Failure},
    output,
    style::{self, paint},
    table::{Cell, Table},
    terminal::plain,
};

#[derive(Clone, Debug, clap::Args)]
pub struct CompareArgs {
    /// Jobs: a name for its newest version, or name@version, or an id
    #[arg(num_args = 2.., required = true, value_parser = super::people::parse_job)]
    pub jobs: Vec<String>,
    /// Show this metric and no other; may be given again. `NAME:lower` or `NAME:higher` says which way is better
    #[arg(long, short, value_name = "NAME")]
    pub metric: Vec<String>,
    /// Print only which job is best by the first metric
    #[arg(long)]
    pub best: bool,
    /// Also what is the same
    #[arg(long, conflicts_with = "best")]
    pub all: bool,
}

pub async fn compare(context: &Context, args: &CompareArgs) -> Result<Exit, Failure> {
    let path = asking(&args.jobs, &args.metric, args.all);
    let answer: serde_json::Value = context.get(&path).await?;
    if context.json && !args.best {
        return Ok(output::json(&answer).map(|()| Exit::Done)?);
    }
    let comparison: Comparison =
        serde_json::from_value(answer).map_err(|error| Failure::usage(format!("the server said something else: {error}")))?;
    if args.best {
        let best = comparison.best.as_ref().ok_or_else(|| no_best(&args.metric))?;
        return Ok(if context.json { output::json(best) } else { output::line(&best_text(best)) }.map(|()| Exit::Done)?);
    }
    output::text(&side_by_side(&comparison, output::width()))?;
    Ok(Exit::Done)
}

/// The request for a comparison.
pub fn asking(jobs: &[String], metrics: &[String], all: bool) -> String {
    let metrics = (!metrics.is_empty()).then(|| metrics.join(","));
    format!("/api/v1/compare{}", query(&[("jobs", Some(jobs.join(","))), ("metric", metrics), ("all", all.then(|| "true".into()))]))
}

pub fn no_best(metrics: &[String]) -> Failure {
    let which = if metrics.is_empty() { "any metric".into() } else { format!("`{}`", metrics.join("`, `")) };
    let failure = Failure::usage(format!("no job has a best value of {which}"));
    failure.hint("name the metric and which way is better, such as --metric accuracy:higher")
}

fn best_text(best: &BestJob) -> String {
    format!("{} {} {} at step {}", plain(&best.label), plain(&best.metric), short_number(best.value), best.step)
}

fn side_by_side(comparison: &Comparison, width: Option<usize>) -> String {
    let heads = ["WHAT", "NAME"].into_iter().map(str::to_owned).chain(comparison.jobs.iter().map(|it| it.label.clone()));
    let mut table = Table::of(heads.collect());
    for row in &comparison.rows {
        let cells = (0..row.values.len()).map(|at| cell(row, at));
        table.push([row.kind.text().into(), Cell::from(&row.name)].into_iter().chain(cells).collect());
    }
    let counted = counted(comparison);
    let table = if comparison.rows.is_empty() { String::new() } else { table.render_even(width, 1) };
    let best = comparison.best.iter().map(|best| {
        let way = if best.direction == Direction::Lower { "lowest" } else { "highest" };
        format!(
            "{} is best: the {way} {} is {} at step {}\n",
            paint(style::LOUD, &plain(&best.label)),
            plain(&best.metric),
            short_number(best.value),
            best.step
        )
    });
    format!("{table}\n{counted}\n{}{}", best.collect::<String>(), notes(comparison))
}

/// How many things differ, and how many do not.
pub fn counted(comparison: &Comparison) -> String {
    let same = match comparison.equal {
        1 => "1 thing is the same".into(),
        equal => format!("{equal} things are the same"),
    };
    match comparison.differences {
        0 => format!("no difference in what they were given; {same}"),
        1 => format!("1 difference in what they were given; {same}"),
        differences => format!("{differences} differences in what they were given; {same}"),
    }
}

/// The value, and for a number how far it is from the first.
fn cell(row: &ComparedRow, at: usize) -> Cell {
    let Some(value) = &row.values[at] else { return Cell::styled(style::QUIET, "-") };
    let is_best = row.metric.as_ref().is_some_and(|it| it.best == Some(at));
    let mark = if is_best { " *" } else { "" };
    let percent = row.deltas.get(at).copied().flatten().map_or(String::new(), |delta| format!(" {}", in_percent(&delta)));
    Cell::styled(if is_best { style::GOOD } else { style::NONE }, &format!("{value}{percent}{mark}"))
}

fn in_percent(delta: &Delta) -> String {
    match delta.percent {
        Some(percent) => format!("{percent:+.1}%"),
        None if delta.by == 0.0 => "+0".into(),
        None => text_of(delta),
    }
}

/// Such as `+0.02 (+2.2%) better`; never by its colour alone.
pub fn change(row: &ComparedRow, at: usize) -> Cell {
    let Some(delta) = row.deltas.get(at).copied().flatten() else { return "".into() };
    let by = if row.metric.is_some() { format!("{} ", text_of(&delta)) } else { String::new() };
    let percent = delta.percent.map_or(String::new(), |it| if by.is_empty() { format!("{it:+.1}%") } else { format!("({it:+.1}%)") });
    let (word, colour) = match delta.better {
        Some(true) => (" better", style::GOOD),
        Some(false) => (" worse", style::BAD),
        None => ("", style::NONE),
    };
    Cell::styled(colour, format!("{by}{percent}{word}").trim())
}

/// With its sign.
pub fn text_of(delta: &Delta) -> String {
    let sign = if delta.by > 0.0 { "+" } else { "" };
    format!("{sign}{}", short_number(delta.by))
}

/// What one of them cannot say while another can.
pub fn notes(comparison: &Comparison) -> String {
    let all: Vec<BTreeSet<&str>> = comparison.jobs.iter().map(|job| job.not_recorded.iter().map(|it| it.what.as_str()).collect()).collect();
    let is_everyone_s = |what: &str| all.iter().all(|it| it.contains(what));
    let notes = comparison.jobs.iter().flat_map(|job| job.not_recorded.iter().map(move |it| (job, it)));
    let told = notes.filter(|(_, it)| !is_everyone_s(&it.what));
    told.map(|(job, it)| format!("note: {} has no record of its {}: {}\n", plain(&job.label), plain(&it.what), plain(&it.why))).collect()
}

#[cfg(test)]
pub mod tests {
    use model::wire::NotRecorded;

    use super::*;

    pub fn row(kind: &str, name: &str, values: &[Option<&str>]) -> ComparedRow {
        let differs = values.windows(2).any(|pair| pair[0] != pair[1]);
        serde_json::from_value(serde_json::json!({"kind": kind, "name": name, "values": values, "differs": differs})).unwrap()
    }

    pub fn comparison() -> Comparison {
        let job = |label: &str| serde_json::json!({"id": label, "label": label, "owner": "ann", "state": "succeeded", "created_at_ms": 0});
        let metric = serde_json::json!({"kind": "metric", "name": "accuracy", "values": ["0.92", "0.94"], "differs": true,
            "deltas": [null, {"by": 0.02, "percent": 2.17, "better": true}],
            "metric": {"direction": "higher", "guessed": true, "values": [null, null], "best": 1}});
        let rows = vec![
            row("code", "train.py", &[Some("there"), Some("+2 −1")]),
            row("package", "six", &[Some("1.16.0"), Some("1.17.0")]),
            row("env", "SEED", &[Some("1"), None]),
            serde_json::from_value(metric).unwrap(),
            serde_json::from_value(serde_json::json!({"kind": "duration", "name": "whole job", "values": ["4s", "3s"], "differs": true,
                "deltas": [null, {"by": -1000.0, "percent": -25.0}]}))
            .unwrap(),
        ];
        let best = serde_json::json!({"metric": "accuracy", "direction": "higher", "id": "a@2", "label": "a@2", "value": 0.94, "step": 10});
        let told = serde_json::json!({"jobs": [job("a@1"), job("a@2")], "rows": rows, "differences": 3, "equal": 14, "best": best});
        serde_json::from_value(told).unwrap()
    }

    #[test]
    fn jobs_stand_side_by_side_and_the_best_has_a_star() {
        let mut told = comparison();
        told.jobs[0].not_recorded = vec![NotRecorded::new("packages".into(), "it has none of ours".into())];
        let shown = |width| anstream::adapter::strip_str(&side_by_side(&told, width)).to_string();
        insta::assert_snapshot!(shown(None), @"
        WHAT      NAME       a@1     a@2
        code      train.py   there   +2 −1
        package   six        1.16.0  1.17.0
        env       SEED       1       -
        metric    accuracy   0.92    0.94 +2.2% *
        duration  whole job  4s      3s -25.0%

        3 differences in what they were given; 14 things are the same
        a@2 is best: the highest accuracy is 0.94 at step 10
        note: a@1 has no record of its packages: it has none of ours
        ");
        assert!(shown(Some(50)).lines().take(6).all(|line| line.chars().count() <= 50), "{}", shown(Some(50)));
    }

    #[test]
    fn the_best_is_one_line() {
        assert_eq!(best_text(&comparison().best.unwrap()), "a@2 accuracy 0.94 at step 10");
        assert!(no_best(&["lr".into()]).body.message.contains("`lr`"));
    }
}
