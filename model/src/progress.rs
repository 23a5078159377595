//! How far a task is, from the bars and lines it prints anyway: tqdm, Keras, pip and rich, and `Batch: 100 of 550`.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::terminal::Line;

/// A bar that stands further back than this is no longer what the task is about.
const FRAMES_MAX: usize = 400;
const FRAME_BYTES_MAX: usize = 2048;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Of everything, if it says how often it goes through its data.
    pub percent: Option<f64>,
    pub done: Option<f64>,
    pub total: Option<f64>,
    /// Such as `it`, `step` or `MB`.
    pub unit: Option<String>,
    /// Units in a second.
    pub rate: Option<f64>,
    /// Seconds, as the task itself believes. Of this epoch, if there are several.
    pub left_s: Option<u64>,
    pub epoch: Option<u64>,
    pub epochs: Option<u64>,
    /// What it was taken from.
    pub text: String,
}

/// The newest word on it in the last bytes of a log.
pub fn newest(tail: &[u8]) -> Option<Progress> {
    let frames = || tail.rsplit(|byte| *byte == b'\r' || *byte == b'\n').filter(|it| !it.is_empty()).take(FRAMES_MAX);
    let text = |frame: &[u8]| Line::of(&frame[..frame.len().min(FRAME_BYTES_MAX)]).text;
    let is_frame = |frame: &[u8]| {
        let at = frame.as_ptr().addr() - tail.as_ptr().addr();
        at > 0 && tail[at - 1] == b'\r' || tail.get(at + frame.len()) == Some(&b'\r')
    };
    let (at, found) = frames().enumerate().find_map(|(at, frame)| Some((at, read(&text(frame), is_frame(frame))?)))?;
    let epoch = || frames().skip(at + 1).find_map(|frame| epoch_line(&text(frame)));
    let (epoch, epochs) = match (found.epoch, found.epochs) {
        (None, None) => epoch().unzip(),
        told => told,
    };
    Some(Progress { percent: overall(&found, epoch.zip(epochs)), epoch, epochs, ..found })
}

fn overall(found: &Progress, epochs: Option<(u64, u64)>) -> Option<f64> {
    let this = found.percent.or_else(|| Some(100.0 * found.done? / found.total.filter(|total| *total > 0.0)?))?;
    let whole = match epochs {
        Some((epoch, epochs)) if epoch >= 1 && epochs >= epoch => ((epoch - 1) as f64 * 100.0 + this) / epochs as f64,
        Some(_) | None => this,
    };
    Some(whole.clamp(0.0, 100.0))
}

fn read(text: &str, is_frame: bool) -> Option<Progress> {
    let found = tqdm(text).or_else(|| keras(text)).or_else(|| batch_of(text)).or_else(|| pip(text)).or_else(|| percent(text, is_frame))?;
    let is_sound = [found.done, found.total, found.percent, found.rate].into_iter().flatten().all(|it| it.is_finite() && it >= 0.0);
    is_sound.then(|| Progress { text: text.trim().chars().take(200).collect(), ..found })
}

/// ` 45%|████▌     | 450/1000 [00:30<00:37, 14.90it/s, loss=0.1]`, or `450it [00:30, 14.90it/s]` where no end is known.
fn tqdm(text: &str) -> Option<Progress> {
    let (before, inside) = text.rsplit_once('[')?;
    let inside = inside.split(']').next()?;
    let counts = before.trim_end().rsplit([' ', '|']).next()?;
    let (times, rest) = inside.split_once(", ")?;
    let (done, total, unit) = match counts.split_once('/') {
        Some((done, total)) if times.contains('<') => (amount(done)?, Some(amount(total)?), None),
        Some(_) => return None,
        None => (amount(counts)?, None, Some(counts.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').to_owned())),
    };
    let left_s = times.split_once('<').and_then(|(_, left)| clock(left));
    let (rate, rate_unit) = rest.split(',').next().and_then(rate).unzip();
    let percent = before.split_once("%|").and_then(|(number, _)| number.rsplit([' ', ':']).next()?.parse().ok());
    Some(Progress {
        done: Some(done.0),
        total: total.map(|it| it.0),
        percent,
        unit: rate_unit.or(unit),
        rate,
        left_s,
        ..Progress::default()
    })
}

/// `  1/782 [....] - ETA: 1:02 - loss: 2.3`, and `45/782 ━━━━ 12s 17ms/step - loss: 2.3`.
fn keras(text: &str) -> Option<Progress> {
    let (counts, rest) = text.trim_start().split_once(' ')?;
    let (done, total) = counts.split_once('/')?;
    let (done, total): (u64, u64) = (done.parse().ok()?, total.parse().ok()?);
    let rest = rest.trim_start();
    if !rest.starts_with(['[', '━']) || done > total {
        return None;
    }
    let mut words = rest.split([' ', '-']).filter(|word| !word.is_empty());
    let is_new = rest.starts_with('━');
    let left_s = match rest.split_once("ETA: ") {
        Some((_, left)) => left.split(' ').next().and_then(clock),
        None if is_new && done < total => words.clone().nth(1).and_then(clock),
        None => (done == total).then_some(0),
    };
    let rate = words.find_map(|word| rate(word).filter(|(_, unit)| unit == "step" || unit == "epoch")).map(|it| it.0);
    let unit = Some("step".to_owned());
    Some(Progress { done: Some(done as f64), total: Some(total as f64), unit, rate, left_s, ..Progress::default() })
}

/// `Step: 1200,  Epoch:  2,  Batch: 100 of 550,  Cost: 0.43`.
fn batch_of(text: &str) -> Option<Progress> {
    let after = |name: &str| text.split_once(name).map(|(_, rest)| rest.trim_start());
    let (done, rest) = after("Batch:")?.split_once(" of ")?;
    let total = rest.trim_start().split(|c: char| !c.is_ascii_digit()).next()?;
    let epoch = after("Epoch:").and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok());
    let unit = Some("batch".to_owned());
    Some(Progress { done: done.trim().parse().ok(), total: Some(total.parse().ok()?), epoch, unit, ..Progress::default() })
}

/// `   ━━━━━━━ 45.2/100.3 MB 12.3 MB/s eta 0:00:05`.
fn pip(text: &str) -> Option<Progress> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let at =
        words.iter().position(|word| word.split_once('/').is_some_and(|(a, b)| a.parse::<f64>().is_ok() && b.parse::<f64>().is_ok()))?;
    let left_s = words.iter().position(|word| *word == "eta" || *word == "ETA").and_then(|it| clock(words.get(it + 1)?));
    if left_s.is_none() && !text.contains(['━', '█', '#']) {
        return None;
    }
    let (done, total) = words[at].split_once('/')?;
    let speed = words.windows(2).find_map(|pair| Some((pair[0].parse::<f64>().ok()?, pair[1].strip_suffix("/s")?)));
    let unit = words.get(at + 1).filter(|unit| unit.chars().all(char::is_alphabetic)).map(|unit| (*unit).to_owned());
    let rate = speed.filter(|(_, of)| unit.as_deref().is_none_or(|unit| unit.eq_ignore_ascii_case(of))).map(|it| it.0);
    Some(Progress { done: done.parse().ok(), total: total.parse().ok(), unit, rate, left_s, ..Progress::default() })
}

/// `Downloading 45%`, only where it is written over and over: else it may be any share of anything.
fn percent(text: &str, is_frame: bool) -> Option<Progress> {
    let (before, _) = text.split_once('%').filter(|_| is_frame)?;
    let number = before.trim_end().rsplit(|c: char| !c.is_ascii_digit() && c != '.').next()?;
    let percent = number.parse().ok().filter(|it: &f64| *it <= 100.0)?;
    Some(Progress { percent: Some(percent), ..Progress::default() })
}

/// `Epoch 3/10`, as Keras says before each of its bars.
fn epoch_line(text: &str) -> Option<(u64, u64)> {
    let (epoch, epochs) = text.trim().strip_prefix("Epoch ")?.split_once('/')?;
    let epochs = epochs.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((epoch.parse().ok()?, epochs.parse().ok()?))
}

/// `450`, `1.2k` or `3.4GB` in ones, and what stands behind the number.
fn amount(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    let scale = match unit.chars().next() {
        Some('k' | 'K') => 1e3,
        Some('M') => 1e6,
        Some('G') => 1e9,
        Some('T') => 1e12,
        Some(_) | None => 1.0,
    };
    Some((number.parse::<f64>().ok()? * scale, unit))
}

/// `14.90it/s` and `1.20s/it`, `17ms/step`, `170us/step`; answers how many in a second, and of what.
fn rate(text: &str) -> Option<(f64, String)> {
    let (number, per) = text.trim().split_once('/')?;
    let (value, unit) = amount(number)?;
    let plain = || number[..number.len() - unit.len()].parse::<f64>().ok();
    let in_s = match (unit, per) {
        (_, "s") => return Some((value, unit.trim_start_matches(['k', 'K', 'M', 'G', 'T']).to_owned())),
        ("s", _) => plain()?,
        ("ms", _) => plain()? / 1e3,
        ("us" | "µs", _) => plain()? / 1e6,
        _ => return None,
    };
    (in_s > 0.0).then(|| (1.0 / in_s, per.to_owned()))
}

/// `37s`, `1:02`, `1:02:03` or `1 day, 1:02:03` in seconds.
fn clock(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(seconds) = text.strip_suffix('s') {
        return seconds.parse().ok();
    }
    let parts: Option<Vec<u64>> = text.split(':').map(|part| part.parse().ok()).collect();
    parts
        .filter(|parts| (2..=3).contains(&parts.len()))
        .map(|parts| parts.iter().fold(0u64, |sum, part| sum.saturating_mul(60).saturating_add(*part)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn told(tail: &str) -> String {
        let Some(it) = newest(tail.as_bytes()) else { return "nothing".into() };
        let number = |value: Option<f64>| value.map_or("?".into(), |value| format!("{}", (value * 100.0).round() / 100.0));
        let epochs =
            it.epoch.map_or(String::new(), |epoch| format!(" epoch {epoch} of {}", it.epochs.map_or("?".into(), |it| it.to_string())));
        let left = it.left_s.map_or("?".into(), |it| it.to_string());
        let unit = it.unit.as_deref().unwrap_or("?");
        format!("{}% {}/{} {unit}, {}/s, {left} s left{epochs}", number(it.percent), number(it.done), number(it.total), number(it.rate))
    }

    #[test]
    fn bars_of_tqdm() {
        assert_eq!(
            told(" 44%|████      | 440/1000 [00:30<00:37, 14.9it/s]\r 45%|████▌     | 450/1000 [00:30<00:37, 14.9it/s, loss=0.1]"),
            "45% 450/1000 it, 14.9/s, 37 s left"
        );
        assert_eq!(told("Epoch 1:   5%|▌  | 5/100 [00:10<03:10,  2.00s/it]"), "5% 5/100 it, 0.5/s, 190 s left");
        assert_eq!(told("450it [00:30, 14.9it/s]"), "?% 450/? it, 14.9/s, ? s left");
        assert_eq!(told("model.bin:  12%|█ | 1.20G/10.0G [00:12<01:30, 98.1MB/s]"), "12% 1200000000/10000000000 B, 98100000/s, 90 s left");
        assert_eq!(told("  0%|          | 0/10 [00:00<?, ?it/s]"), "0% 0/10 ?, ?/s, ? s left");
    }

    #[test]
    fn bars_of_keras_old_and_new() {
        assert_eq!(told("  1/782 [..............................] - ETA: 1:02 - loss: 2.3026"), "0.13% 1/782 step, ?/s, 62 s left");
        assert_eq!(told("Epoch 2/4\n391/782 [=======>......] - ETA: 5s - loss: 2.3"), "37.5% 391/782 step, ?/s, 5 s left epoch 2 of 4");
        assert_eq!(told("782/782 [==============================] - 12s 16ms/step - loss: 1.2"), "100% 782/782 step, 62.5/s, 0 s left");
        let new = "Epoch 1/2\n\r\x1b[1m 45/782\x1b[0m \x1b[32m━\x1b[0m\x1b[37m━━━━\x1b[0m \x1b[1m12s\x1b[0m 20ms/step - accuracy: 0.1 - loss: 2.3";
        assert_eq!(told(new), "2.88% 45/782 step, 50/s, 12 s left epoch 1 of 2");
    }

    #[test]
    fn lines_and_other_bars() {
        assert_eq!(
            told("Step: 1200,  Epoch:  2,  Batch: 100 of 550,  Cost: 0.43,  AvgTime: 3.5ms\n"),
            "18.18% 100/550 batch, ?/s, ? s left epoch 2 of ?"
        );
        assert_eq!(told("   ━━━━━━━╸━━━━ 45.2/100.3 MB 12.3 MB/s eta 0:00:05\r"), "45.06% 45.2/100.3 MB, 12.3/s, 5 s left");
        assert_eq!(told("Downloading: 41%\rDownloading: 42%"), "42% ?/? ?, ?/s, ? s left");
    }

    #[test]
    fn what_is_no_progress_is_none() {
        for text in ["", "accuracy: 93%\n", "see /a/b [1]\n", "10/05/2026 [info] started, fine\n", "loss 3/4\n", "100%"] {
            assert_eq!(told(text), "nothing", "{text}");
        }
        assert_eq!(told(&format!(" 5%|▌ | 5/100 [00:10<03:10, 2.00s/it]\n{}", "epoch done\n".repeat(FRAMES_MAX))), "nothing");
    }

    #[test]
    fn words_printed_between_two_frames_do_not_hide_the_bar() {
        assert_eq!(told("\r 5%|▌ | 5/100 [00:10<03:10, 2.00s/it]saving the model\nsaved\n"), "5% 5/100 it, 0.5/s, 190 s left");
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_stumble(bytes in prop::collection::vec(any::<u8>(), 0..300), text in "[0-9/:%|<\\[\\], .a-zE]{0,60}\r?") {
            newest(&bytes);
            if let Some(found) = newest(text.as_bytes()) {
                prop_assert!(found.percent.is_none_or(|it| (0.0..=100.0).contains(&it)));
            }
        }
    }
}
