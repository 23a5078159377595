//! How jobs, times and amounts are written for people. Pure text: the clock comes in as an argument.

use model::{
    job::JobState,
    resources::show_duration_ms,
    wire::{JobSummary, RunView},
};

/// `digits@3`.
pub fn label(job: &JobSummary) -> String {
    format!("{}@{}", job.name, job.version)
}

/// `1 file`, `2 files`.
pub fn files(count: u64) -> String {
    format!("{count} file{}", if count == 1 { "" } else { "s" })
}

/// What stands before a job's state in a sentence: it *is* queued, it *has* failed, it *was* stopped.
pub fn verb(state: JobState) -> &'static str {
    match state {
        JobState::Succeeded | JobState::Failed => "has",
        JobState::Stopped => "was",
        JobState::Queued | JobState::Starting | JobState::Running | JobState::Finishing | JobState::Stopping | JobState::Unknown => "is",
    }
}

/// How long ago, in whole seconds.
pub fn age(at_ms: u64, now_ms: u64) -> String {
    show_duration_ms(now_ms.saturating_sub(at_ms) / 1000 * 1000).replace("0ms", "0s")
}

/// How long something ran or runs; `-` if it never did.
pub fn took(started_at_ms: Option<u64>, ended_at_ms: Option<u64>, now_ms: u64) -> String {
    let end = ended_at_ms.unwrap_or(now_ms);
    started_at_ms.map_or("-".into(), |start| show_duration_ms(end.saturating_sub(start)))
}

/// How a run ended, and what else the server says of it.
pub fn run_reason(run: &RunView) -> String {
    match &run.ending {
        Some(ending) if run.reason.is_empty() => ending.to_string(),
        Some(_) | None => run.reason.clone(),
    }
}

/// A moment on the person's own clock: `2026-03-01 14:05:09`.
pub fn moment(at_ms: u64) -> String {
    on_the_clock(at_ms, "%Y-%m-%d %H:%M:%S")
}

/// To the millisecond: `2026-03-01 14:05:09.123`.
pub fn moment_ms(at_ms: u64) -> String {
    on_the_clock(at_ms, "%Y-%m-%d %H:%M:%S%.3f")
}

fn on_the_clock(at_ms: u64, form: &str) -> String {
    let at = i64::try_from(at_ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or("-".into(), |at| at.to_zoned(jiff::tz::TimeZone::system()).strftime(form).to_string())
}

/// `[#####-----]  52% 1m left`.
pub fn bar(percent: Option<f64>, left_s: Option<u64>) -> String {
    const WIDTH: usize = 10;
    let left = left_s.map_or(String::new(), |left| format!(" {} left", show_duration_ms(left.saturating_mul(1000))));
    let Some(percent) = percent else { return left.trim_start().to_owned() };
    let full = ((percent / 100.0 * WIDTH as f64) as usize).min(WIDTH);
    format!("[{}{}] {percent:3.0}%{left}", "#".repeat(full), "-".repeat(WIDTH - full))
}

/// Reads `10m`, or a moment such as `2026-03-01T14:05`, as milliseconds since 1970.
pub fn parse_since(text: &str, now_ms: u64, zone: &jiff::tz::TimeZone) -> Option<u64> {
    if let Some(ago_ms) = model::resources::parse_duration_ms(text) {
        return Some(now_ms.saturating_sub(ago_ms));
    }
    let at = text.parse::<jiff::Timestamp>().ok();
    let local = || text.parse::<jiff::civil::DateTime>().ok()?.to_zoned(zone.clone()).ok().map(|zoned| zoned.timestamp());
    u64::try_from(at.or_else(local)?.as_millisecond()).ok()
}

pub fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// How a job is named on the command line: `digits`, `digits@3` or its id.
pub fn parse_job(text: &str) -> Result<String, String> {
    let (name, version) = text.split_once('@').map_or((text, None), |(name, version)| (name, Some(version)));
    model::ids::JobName::parse(name).map_err(|why| format!("a job's name {why}"))?;
    match version.map(str::parse::<u32>) {
        None | Some(Ok(1..)) => Ok(text.to_owned()),
        Some(Ok(0) | Err(_)) => Err("behind the `@` stands a version, such as digits@3".into()),
    }
}

pub fn parse_state(text: &str) -> Result<JobState, String> {
    let all = || JobState::SPELLED.map(|(_, text)| text).join(", ");
    JobState::from_text(text).ok_or_else(|| format!("a state is one of {}", all()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_whole_seconds() {
        assert_eq!(age(1_000, 1_400), "0s");
        assert_eq!(age(1_000, 13_400), "12s");
        assert_eq!(age(0, 5_400_000), "1h 30m");
        assert_eq!(age(5_000, 1_000), "0s");
    }

    #[test]
    fn what_runs_is_measured_until_now_and_what_never_ran_is_not() {
        assert_eq!(took(None, None, 9), "-");
        assert_eq!(took(Some(1_000), None, 3_500), "2.5s");
        assert_eq!(took(Some(1_000), Some(2_000), 99_000), "1s");
    }

    #[test]
    fn progress_is_a_short_bar() {
        assert_eq!(bar(Some(52.4), Some(62)), "[#####-----]  52% 1m 2s left");
        assert_eq!(bar(Some(100.0), None), "[##########] 100%");
        assert_eq!(bar(None, Some(1)), "1s left");
        assert_eq!(bar(None, None), "");
    }

    #[test]
    fn since_is_a_while_ago_or_a_moment() {
        let zone = jiff::tz::TimeZone::fixed(jiff::tz::offset(8));
        let read = |text| parse_since(text, 10_000_000, &zone);
        assert_eq!(read("10m"), Some(9_400_000));
        assert_eq!(read("1970-01-01T00:01:00Z"), Some(60_000));
        assert_eq!(read("1970-01-01T08:01"), Some(60_000));
        assert_eq!(read("yesterday"), None);
        assert_eq!(read(""), None);
    }

    #[test]
    fn a_job_is_named_by_name_version_or_id() {
        for good in ["digits", "digits@3", "job-0198c0de000070008000000000000001"] {
            assert_eq!(parse_job(good).as_deref(), Ok(good));
        }
        for bad in ["", "@3", "digits@", "digits@0", "digits@x", "../etc", "a b"] {
            assert!(parse_job(bad).is_err(), "{bad}");
        }
        assert_eq!(parse_job("a b").unwrap_err(), "a job's name has a space; use letters, digits, `-`, `.`, `_` and `~`");
    }
}
