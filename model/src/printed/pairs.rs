//! Lines such as `Step: 7, Cost: 0.8`, `loss=0.12 acc=0.93` or `{'loss': 0.5, 'epoch': 1.0}`: names, each with a number.

use std::sync::LazyLock;

use regex::Regex;

use super::{Found, Memory};

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("our own expressions are tested")
}

/// Words of which a line that tells of a training has at least one. Without that, every line with a port number in it would
/// become a curve.
static TELLING: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "(?i)loss|acc|cost|error_rate|perplexity|ppl|precision|recall|f1|auc|bleu|rouge|reward|score|mse|mae|rmse|\
         iou|learning_rate|grad_norm|total time|epoch|step",
    )
});
static METRIC: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        "(?i)loss|acc|cost|error_rate|perplexity|ppl|precision|recall|f1|auc|bleu|rouge|reward|score|mse|mae|rmse|\
         iou|learning_rate|grad_norm|total time",
    )
});
const NUMBER: &str = r"[-+]?(?:[0-9]+\.?[0-9]*(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?|nan|NaN|NAN|inf|Inf|infinity|Infinity)";
/// A name, a colon or equals sign, a number. Of several words only the well-known ones belong to a name.
static PAIR: LazyLock<Regex> = LazyLock::new(|| {
    let before = "(?i:train|training|val|valid|validation|test|eval|total|final|best|avg|average|mean|global|learning)";
    regex(&format!(r#"['"]?((?:{before} )?[A-Za-z_][A-Za-z0-9_./@-]*)['"]?\s*[:=]\s*['"]?({NUMBER})"#))
});
/// The same with nothing in between: `step 100`, `train loss 4.2`.
static SPACED: LazyLock<Regex> = LazyLock::new(|| {
    let metric = "(?:(?:train|training|val|valid|validation|test|eval|avg|average|mean) )?(?:loss|acc|accuracy)";
    regex(&format!(r"(?i)\b(step|iter|iteration|epoch|{metric}) +({NUMBER})"))
});
/// Where in its epoch a line is: `Epoch: 1 [640/60000 (1%)]`.
static WITHIN: LazyLock<Regex> = LazyLock::new(|| regex(r"\[\s*([0-9]+)\s*/\s*([0-9]+)"));

const STEPS: [&str; 5] = ["step", "global_step", "iter", "iteration", "steps"];
const EPOCHS: [&str; 1] = ["epoch"];
/// Where a training is, not how it goes.
const COUNTERS: [&str; 4] = ["batch", "epochs", "v_num", "batches"];

/// A quick look before the long one: most lines of most programs hold nothing.
pub fn may_hold_values(line: &str) -> bool {
    TELLING.is_match(line)
}

pub struct Pair<'a> {
    pub name: &'a str,
    pub value: f64,
}

/// Every name with a number, in their order. What goes on after the number, as in `12:30`, is no number.
pub fn pairs(line: &str) -> Vec<Pair<'_>> {
    let with_sign = PAIR.captures_iter(line).filter_map(|it| Some((it.get(1)?, it.get(2)?)));
    let spaced = SPACED.captures_iter(line).filter_map(|it| Some((it.get(1)?, it.get(2)?)));
    let mut all: Vec<_> = with_sign.chain(spaced).filter(|(_, number)| ends_well(&line[number.end()..])).collect();
    all.sort_by_key(|(name, _)| name.start());
    all.dedup_by_key(|(_, number)| number.start());
    all.into_iter().filter_map(|(name, number)| Some(Pair { name: name.as_str(), value: number.as_str().parse().ok()? })).collect()
}

/// A unit, a total or a mark may follow a number; more of a word, a clock or a version may not.
fn ends_well(rest: &str) -> bool {
    let after_unit = rest.trim_start_matches(|it: char| it.is_ascii_alphabetic() || "%/".contains(it));
    let unit = rest.len() - after_unit.len();
    match after_unit.chars().next() {
        None => unit <= 8,
        Some(':') => after_unit[1..].chars().next().is_none_or(|it| !it.is_ascii_digit()),
        Some('.') => after_unit[1..].chars().next().is_none_or(|it| it.is_whitespace()),
        Some(next) if next.is_ascii_digit() => rest.starts_with('/'),
        Some(next) => unit <= 8 && !next.is_alphanumeric() && next != '_' && next != '-',
    }
}

/// By its last word: `Train Epoch` is an epoch.
fn is_one_of(name: &str, names: &[&str]) -> bool {
    let name = name.rsplit(' ').next().unwrap_or(name);
    names.iter().any(|it| name.eq_ignore_ascii_case(it))
}

pub fn is_counter(name: &str) -> bool {
    is_one_of(name, &STEPS) || is_one_of(name, &EPOCHS) || is_one_of(name, &COUNTERS)
}

/// The values of one line, and what it says about where the training is.
pub fn found(memory: &mut Memory, line: &str) -> Vec<Found> {
    let pairs = pairs(line);
    let counter =
        |names: &[&str]| pairs.iter().find(|it| is_one_of(it.name, names)).filter(|it| it.value.fract() == 0.0).map(|it| it.value as i64);
    let within = || WITHIN.captures(line).and_then(|it| Some((it[1].parse::<i64>().ok()?, it[2].parse::<i64>().ok()?)));
    let step = counter(&STEPS).or_else(|| {
        let epoch = counter(&EPOCHS)?;
        Some(within().map_or(epoch, |(done, total)| (epoch - 1).max(0).saturating_mul(total).saturating_add(done)))
    });
    memory.step = step.or(memory.step);
    if !METRIC.is_match(line) {
        return Vec::new();
    }
    let values = pairs.iter().filter(|it| !is_counter(it.name));
    values.map(|it| Found { name: it.name.to_owned(), value: it.value, step: memory.step }).collect()
}
