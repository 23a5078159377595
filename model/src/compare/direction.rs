//! Which way a metric gets better.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    Lower,
    Higher,
}

const LOWER: &[&str] = &[
    "loss",
    "losses",
    "cost",
    "error",
    "errors",
    "err",
    "perplexity",
    "ppl",
    "nll",
    "mse",
    "rmse",
    "mae",
    "mape",
    "msle",
    "bce",
    "ce",
    "entropy",
    "crossentropy",
    "divergence",
    "kl",
    "kld",
    "distance",
    "regret",
    "wer",
    "cer",
    "fid",
    "fpr",
    "fnr",
    "brier",
    "ece",
    "bpc",
    "bpd",
    "deviation",
    "mistakes",
    "penalty",
    "epe",
    "miss",
    "missrate",
];
const HIGHER: &[&str] = &[
    "acc",
    "accuracy",
    "auc",
    "auroc",
    "auprc",
    "roc",
    "ap",
    "map",
    "f1",
    "fbeta",
    "fscore",
    "precision",
    "recall",
    "sensitivity",
    "specificity",
    "tpr",
    "tnr",
    "bleu",
    "rouge",
    "meteor",
    "cider",
    "reward",
    "rewards",
    "return",
    "returns",
    "score",
    "iou",
    "miou",
    "dice",
    "jaccard",
    "psnr",
    "ssim",
    "r2",
    "likelihood",
    "ndcg",
    "mrr",
    "hits",
    "kappa",
    "mcc",
    "correlation",
    "pearson",
    "spearman",
    "success",
    "wins",
    "winrate",
    "similarity",
    "throughput",
    "correct",
    "top1",
    "top5",
];
/// Such as `neg_mean_squared_error`, which is better when it is higher.
const TURNS: &[&str] = &["neg", "negative", "minus"];

impl Direction {
    /// What the name of a metric says. The last word that says anything decides: `accuracy_loss` is a loss.
    pub fn guess(name: &str) -> Option<Self> {
        let words = words(name);
        let says = |word: &String| {
            let is_in = |list: &[&str]| list.contains(&word.as_str());
            if is_in(LOWER) { Some(Direction::Lower) } else { is_in(HIGHER).then_some(Direction::Higher) }
        };
        let plain = words.iter().rev().find_map(says)?;
        let turned = words.iter().any(|word| TURNS.contains(&word.as_str()));
        Some(if turned { plain.opposite() } else { plain })
    }

    fn opposite(self) -> Self {
        match self {
            Direction::Lower => Direction::Higher,
            Direction::Higher => Direction::Lower,
        }
    }

    /// Whether the one is better than the other.
    pub fn prefers(self, one: f64, other: f64) -> bool {
        match self {
            Direction::Lower => one < other,
            Direction::Higher => one > other,
        }
    }

    pub fn text(self) -> &'static str {
        match self {
            Direction::Lower => "lower",
            Direction::Higher => "higher",
        }
    }

    pub fn from_text(text: &str) -> Option<Self> {
        [Direction::Lower, Direction::Higher].into_iter().find(|it| it.text() == text)
    }
}

/// `valTop1Acc/epoch-2` as `val`, `top1`, `acc`, `epoch`, `2`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if !letter.is_alphanumeric() || (letter.is_uppercase() && was_small) {
            words.push(String::new());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
        if letter.is_alphanumeric() {
            words.last_mut().expect("there is always one").extend(letter.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_which_way_is_better() {
        let names = [
            "loss",
            "val_loss",
            "train/Loss",
            "Cost",
            "top1_error",
            "perplexity",
            "accuracy",
            "valAcc",
            "eval-AUC",
            "f1",
            "BLEU",
            "mean_reward",
            "neg_mean_squared_error",
            "negative_log_likelihood",
            "accuracy_loss",
            "epoch_accuracy",
            "lr",
            "step",
            "grad_norm",
            "time",
            "",
            "损失",
        ];
        let says = |name: &str| format!("{name}: {}", Direction::guess(name).map_or("?", Direction::text));
        insta::assert_snapshot!(names.map(says).join("\n"), @"
        loss: lower
        val_loss: lower
        train/Loss: lower
        Cost: lower
        top1_error: lower
        perplexity: lower
        accuracy: higher
        valAcc: higher
        eval-AUC: higher
        f1: higher
        BLEU: higher
        mean_reward: higher
        neg_mean_squared_error: higher
        negative_log_likelihood: lower
        accuracy_loss: lower
        epoch_accuracy: higher
        lr: ?
        step: ?
        grad_norm: ?
        time: ?
        : ?
        损失: ?
        ");
    }

    #[test]
    fn nothing_is_better_than_not_a_number_and_it_is_better_than_nothing() {
        for direction in [Direction::Lower, Direction::Higher] {
            assert!(!direction.prefers(f64::NAN, 1.0) && !direction.prefers(1.0, f64::NAN));
            assert_eq!(Direction::from_text(direction.text()), Some(direction));
        }
    }
}
