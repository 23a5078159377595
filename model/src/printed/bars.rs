//! Progress bars. Keras draws one for each epoch, and only what stands there at its end is meant; tqdm's carry the newest
//! values behind them as they go.

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::{
    Found, Memory,
    pairs::{is_counter, pairs},
};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BarMemory {
    /// How far the last bar was, and of how much.
    done: u64,
    total: u64,
    /// What all bars before this one counted.
    before: u64,
    /// What was said already where the bar stands now.
    said: Vec<String>,
    /// The last frame of a bar of Keras that is full: it may be drawn once more, with the values of the validation.
    pending: Option<Pending>,
    /// The epoch whose bar comes next.
    epoch: Option<i64>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Pending {
    total: u64,
    epoch: Option<i64>,
    values: Vec<(String, f64)>,
}

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("our own expressions are tested")
}

/// `71/71 ━━━━━ 0s 2ms/step - loss: 0.3`, `71/71 [=====] - 0s 2ms/step - loss: 0.3`, `71/71 - 0s - 2ms/step - loss: 0.3`.
static KERAS: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*([0-9]+)/([0-9]+|Unknown)\s.*?(?:step|epoch|sample|s)\s+-\s(.*)$"));
static KERAS_EPOCH: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*Epoch ([0-9]+)/[0-9]+\s*$"));
/// `Epoch 0:  50%|█████     | 50/100 [00:01<00:01, 45.1it/s, loss=0.5]`.
static TQDM: LazyLock<Regex> = LazyLock::new(|| regex(r"^(.*?)\s*[0-9]+%\|.*\|\s*([0-9]+)/([0-9]+)\s*\[(.*)\]"));
const NAMES_MAX: usize = 64;

/// What a frame of a bar says; `None` if it is no bar.
pub fn frame(memory: &mut Memory, frame: &str, is_whole_line: bool) -> Option<Vec<Found>> {
    if let Some(epoch) = KERAS_EPOCH.captures(frame) {
        let found = take_pending(memory, frame);
        memory.bar.epoch = epoch[1].parse().ok();
        memory.step = memory.bar.epoch;
        return Some(found);
    }
    if let Some(bar) = TQDM.captures(frame) {
        return Some(tqdm(memory, &[&bar[1], &bar[4]], bar[2].parse().ok()?, bar[3].parse().ok()?));
    }
    let bar = KERAS.captures(frame)?;
    let done: u64 = bar[1].parse().ok()?;
    let total = bar[2].parse().unwrap_or(if is_whole_line { done } else { u64::MAX });
    Some(keras(memory, done, total, &bar[3]))
}

fn keras(memory: &mut Memory, done: u64, total: u64, values: &str) -> Vec<Found> {
    if done != total {
        return take_pending(memory, "");
    }
    let same = memory.bar.pending.as_ref().is_some_and(|it| it.total == total);
    let found = if same { Vec::new() } else { take_pending(memory, "") };
    // A bar that no epoch was announced for is an evaluation, and its values are no part of the training's curves.
    let epoch = if same { memory.bar.pending.as_ref().and_then(|it| it.epoch) } else { memory.bar.epoch.take() };
    let prefix = if epoch.is_none() && memory.step.is_some() { "evaluate/" } else { "" };
    let values = pairs(values).iter().take(NAMES_MAX).map(|it| (format!("{prefix}{}", it.name), it.value)).collect();
    memory.bar.pending = Some(Pending { total, epoch, values });
    found
}

/// A full bar is meant once something else comes.
pub fn take_pending(memory: &mut Memory, next: &str) -> Vec<Found> {
    let is_nothing = !next.is_empty() && next.trim().is_empty();
    let Some(pending) = memory.bar.pending.take_if(|_| !is_nothing) else { return Vec::new() };
    let step = pending.epoch.or(memory.step);
    pending.values.into_iter().map(|(name, value)| Found { name, value, step }).collect()
}

fn tqdm(memory: &mut Memory, texts: &[&str], done: u64, total: u64) -> Vec<Found> {
    let values: Vec<(String, f64)> = texts
        .iter()
        .flat_map(|text| pairs(text))
        .filter(|it| !is_counter(it.name))
        .take(NAMES_MAX)
        .map(|it| (it.name.to_owned(), it.value))
        .collect();
    if values.is_empty() {
        return Vec::new();
    }
    let bar = &mut memory.bar;
    if done < bar.done {
        bar.before = bar.before.saturating_add(bar.done);
    }
    if done != bar.done || total != bar.total {
        bar.said.clear();
    }
    (bar.done, bar.total) = (done, total);
    let step = Some(bar.before.saturating_add(done) as i64);
    let new: Vec<(String, f64)> = values.into_iter().filter(|(name, _)| !bar.said.contains(name)).collect();
    bar.said.extend(new.iter().map(|(name, _)| name.clone()));
    new.into_iter().map(|(name, value)| Found { name, value, step }).collect()
}
