//! Wrong job files, and everything a person is told about each.

#[path = "../chinese/mod.rs"]
mod chinese;
mod keys;
mod rules;
mod shapes;
mod training;

use model::{
    plan::{HouseRules, from_text},
    spec::Problem,
};
use proptest::prelude::*;

const ROLES: &str = "roles:\n  worker:\n    command: python3 train.py\n";

fn text(whole: &str) -> String {
    whole.to_owned()
}

/// A good job but for the name.
fn named(line: &str) -> String {
    format!("{line}\n{ROLES}")
}

/// A good job but for one more line.
fn job(line: &str) -> String {
    format!("name: digits\n{line}\n{ROLES}")
}

/// A good job but for more lines in its role.
fn role(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    format!("name: digits\n{ROLES}{lines}")
}

fn told(text: &str) -> Vec<String> {
    match from_text(text, &HouseRules::default()) {
        Ok((_, plan)) => vec![format!("fine: {plan}")],
        Err(problems) => problems.iter().map(in_both).collect(),
    }
}

/// The English of a problem, whose Chinese is there too.
fn in_both(problem: &Problem) -> String {
    for words in std::iter::once(&problem.message).chain(problem.hint.as_deref()) {
        assert!(chinese::is_chinese(words), "{words:?}");
    }
    problem.to_string()
}

fn all_told(cases: &[(String, &[&str])]) {
    for (text, problems) in cases {
        assert_eq!(told(text), *problems, "{text}");
    }
}

#[test]
fn more_problems_than_anyone_reads_are_counted() {
    let variables: String = (0..150).map(|number| format!("  {number}x: 1\n")).collect();
    let told = told(&job(&format!("env:\n{variables}")));
    assert_eq!(told.len(), 101);
    assert_eq!(told[100], "and 50 more problems");
}

#[test]
fn the_files_these_are_made_from_are_good() {
    for good in [named("name: digits"), job("priority: 1"), role("tasks: 2")] {
        assert!(from_text(&good, &HouseRules::default()).is_ok(), "{good}");
    }
}

const GOOD: &str = "name: digits\ntags: [demo, mnist]\nmax_duration: 1h30m\ncode: /code\nenv: {BATCH: 64}\nroles:\n  ps:\n    command: [python3, ps.py]\n    \
                    ports: [grpc]\n  worker:\n    tasks: 2\n    command: python3 train.py\n    cpus: 0.5\n    memory: 1GiB\n    accelerators: {A100: 2}\n    \
                    completion: {min_failed: never, min_succeeded: all}\n";

/// A good file with a few characters replaced, dropped or put in.
fn a_slip_of_the_pen() -> impl Strategy<Value = String> {
    let slip =
        (0..GOOD.len(), 0..4_usize, prop::sample::select(vec!["", "x", ":", "- ", "[", "}", "\"", "\n", "  ", "0", "~", "\t", "*a", "!"]));
    prop::collection::vec(slip, 1..4).prop_map(|slips| {
        let mut text = GOOD.to_owned();
        for (at, drop, put) in slips {
            let at = at.min(text.len());
            text.replace_range(at..(at + drop).min(text.len()), put);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn whatever_slips_every_problem_has_a_place_in_the_file_and_one_line_of_words(text in a_slip_of_the_pen()) {
        let Err(problems) = from_text(&text, &HouseRules::default()) else { return Ok(()) };
        prop_assert!(!problems.is_empty());
        let lines = text.lines().count() as u32 + 1;
        for problem in problems {
            prop_assert!((1..=lines).contains(&problem.line) && problem.column >= 1, "{problem}");
            prop_assert!(!problem.to_string().contains(char::is_control), "{problem}");
        }
    }
}
