//! `trainmaster diff A B`: what is not the same in two jobs.

use model::wire::{ComparedRow, Comparison};

use super::{
    code,
    compare::{asking, change, counted, notes},
    context::{Context, query},
    failure::{Exit, Failure},
    output,
    style::{self, paint},
    table::{Cell, Table},
    terminal::plain,
};
use crate::client::Call;

#[derive(Clone, Debug, clap::Args)]
pub struct DiffArgs {
    /// A job: its name for the newest version, or name@version, or its id
    #[arg(value_parser = super::people::parse_job)]
    pub one: String,
    /// The job that is told against it
    #[arg(value_parser = super::people::parse_job)]
    pub other: String,
    /// Also what is the same
    #[arg(long)]
    pub all: bool,
    /// Print what differs in their code instead, as a patch
    #[arg(long, conflicts_with = "all")]
    pub code: bool,
}

pub async fn diff(context: &Context, args: &DiffArgs) -> Result<Exit, Failure> {
    let jobs = [args.one.clone(), args.other.clone()];
    if args.code {
        let path = format!("/api/v1/compare/code{}", query(&[("jobs", Some(jobs.join(",")))]));
        return code::print(&context.call(Call::get(&path)).await?);
    }
    let path = asking(&jobs, &[], args.all);
    if context.json {
        output::json(&context.get::<serde_json::Value>(&path).await?)?;
        return Ok(Exit::Done);
    }
    let comparison: Comparison = context.get(&path).await?;
    output::text(&difference(&comparison, output::width()))?;
    Ok(Exit::Done)
}

fn difference(comparison: &Comparison, width: Option<usize>) -> String {
    let labels: Vec<String> = comparison.jobs.iter().map(|it| paint(style::LOUD, &plain(&it.label))).collect();
    let (given, results): (Vec<&ComparedRow>, Vec<&ComparedRow>) = comparison.rows.iter().partition(|row| row.kind.is_given());
    let mut text = format!("{}: {}\n", labels.join(" → "), counted(comparison));
    text.push_str(&section(comparison, &given, "WHAT", width));
    text.push_str(&section(comparison, &results, "RESULT", width));
    text.push_str(&notes(comparison));
    text
}

/// Rows that fit stand in a table. Of a row that does not, both sides are printed whole: what was cut off might be the difference.
fn section(comparison: &Comparison, rows: &[&ComparedRow], head: &str, width: Option<usize>) -> String {
    if rows.is_empty() {
        return String::new();
    }
    let is_result = rows.iter().any(|row| !row.kind.is_given());
    let is_long =
        |row: &&&ComparedRow| row.values.iter().flatten().any(|value| value.contains('\n') || value.chars().count() > longest(width));
    let (long, short): (Vec<&ComparedRow>, Vec<&ComparedRow>) = rows.iter().partition(|row| is_long(row));
    let heads = [head, "NAME"].into_iter().map(str::to_owned).chain(comparison.jobs.iter().map(|it| it.label.clone()));
    let mut table = Table::of(heads.chain(is_result.then(|| "CHANGE".to_owned())).collect());
    for row in &short {
        let cells = [row.kind.text().into(), Cell::from(&row.name)].into_iter().chain(row.values.iter().map(value));
        table.push(cells.chain(is_result.then(|| change(row, 1))).collect());
    }
    let table = if short.is_empty() { String::new() } else { table.render_even(width, 1) };
    format!("\n{table}{}", long.into_iter().map(in_lines).collect::<String>())
}

fn longest(width: Option<usize>) -> usize {
    width.map_or(usize::MAX, |width| width.saturating_sub(34) / 2)
}

fn value(value: &Option<String>) -> Cell {
    value.as_ref().map_or_else(|| Cell::styled(style::QUIET, "-"), Cell::from)
}

fn in_lines(row: &ComparedRow) -> String {
    let side = |at: usize, mark: &str, colour| match &row.values[at] {
        Some(value) => value.lines().map(|line| format!("  {}\n", paint(colour, &format!("{mark} {}", plain(line))))).collect(),
        None => String::new(),
    };
    let head = format!("{}  {}\n", row.kind.text(), plain(&row.name));
    if !row.differs {
        return head + &side(0, "=", style::NONE);
    }
    head + &side(0, "-", style::BAD) + &side(1, "+", style::GOOD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::compare::tests::{comparison, row};

    fn shown(comparison: &Comparison, width: usize) -> String {
        anstream::adapter::strip_str(&difference(comparison, Some(width))).to_string()
    }

    #[test]
    fn a_difference_is_a_line() {
        insta::assert_snapshot!(shown(&comparison(), 80), @"
        a@1 → a@2: 3 differences in what they were given; 14 things are the same

        WHAT     NAME      a@1     a@2
        code     train.py  there   +2 −1
        package  six       1.16.0  1.17.0
        env      SEED      1       -

        RESULT    NAME       a@1   a@2   CHANGE
        metric    accuracy   0.92  0.94  +0.02 (+2.2%) better
        duration  whole job  4s    3s    -25.0%
        ");
    }

    #[test]
    fn what_does_not_fit_is_printed_whole() {
        let mut one = comparison();
        let long = |lr: &str| format!("python train.py --epochs 100 --batch-size 128 --optimizer adam --lr {lr}");
        one.rows = vec![row("command", "main", &[Some(&long("0.1")), Some(&long("0.2"))]), row("env", "A", &[Some("1"), None])];
        insta::assert_snapshot!(shown(&one, 60), @"
        a@1 → a@2: 3 differences in what they were given; 14 things are the same

        WHAT  NAME  a@1  a@2
        env   A     1    -
        command  main
          - python train.py --epochs 100 --batch-size 128 --optimizer adam --lr 0.1
          + python train.py --epochs 100 --batch-size 128 --optimizer adam --lr 0.2
        ");
    }

    #[test]
    fn jobs_that_do_not_differ_are_told_so() {
        let same = Comparison { rows: Vec::new(), differences: 0, equal: 1, ..comparison() };
        assert_eq!(shown(&same, 80).lines().next(), Some("a@1 → a@2: no difference in what they were given; 1 thing is the same"));
    }
}
