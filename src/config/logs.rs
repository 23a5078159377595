//! How much is kept of what tasks print.

use model::resources::{parse_bytes, parse_duration_ms};
use serde::{Deserialize, Serialize};

use super::BadConfig;

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LogsConfig {
    /// Of one run, such as `20GiB`, which is also the usual. Beyond it the oldest bytes are dropped.
    pub run_max: Option<String>,
    /// How long after its end a job's logs are kept, such as `90d`; for ever if absent.
    pub keep_for: Option<String>,
    /// How much is kept of all jobs that are over, such as `500GiB`; everything if absent.
    pub keep_bytes: Option<String>,
}

/// The same in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keeping {
    pub run_bytes_max: Option<u64>,
    pub keep_ms: Option<u64>,
    pub keep_bytes: Option<u64>,
}

const RUN_BYTES_USUAL: u64 = 20 << 30;
/// Less would hold no head, no end and nothing between them.
const RUN_BYTES_LEAST: u64 = 1 << 20;

impl Keeping {
    /// Where it stands for supervisors to read.
    pub const VARIABLE: &str = "TRAINMASTER_LOGS";

    /// Far from home nothing is said, and nothing is dropped: the server keeps its own copy within bounds.
    pub fn of_this_process() -> Self {
        std::env::var(Self::VARIABLE).ok().and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        serde_json::to_string(self).expect("numbers are JSON")
    }
}

impl LogsConfig {
    pub fn keeping(&self) -> Result<Keeping, BadConfig> {
        let size = |name, text: &Option<String>, least: u64| {
            let bad = |text: &String| BadConfig::BadLogs { name, value: text.clone(), wanted: "a size of 1MiB or more; write 20GiB" };
            text.as_ref().map(|text| parse_bytes(text).filter(|it| *it >= least).ok_or_else(|| bad(text))).transpose()
        };
        let time = |text: &String| {
            let bad = || BadConfig::BadLogs { name: "keep_for", value: text.clone(), wanted: "a time; write 90d" };
            parse_duration_ms(text).ok_or_else(bad)
        };
        Ok(Keeping {
            run_bytes_max: Some(size("run_max", &self.run_max, RUN_BYTES_LEAST)?.unwrap_or(RUN_BYTES_USUAL)),
            keep_ms: self.keep_for.as_ref().map(time).transpose()?,
            keep_bytes: size("keep_bytes", &self.keep_bytes, 0)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_file_says_how_much_of_logs_is_kept() {
        let keeping = |text: &str| toml::from_str::<LogsConfig>(text).unwrap().keeping().map_err(|bad| bad.to_string());
        let usual = Keeping { run_bytes_max: Some(20 << 30), keep_ms: None, keep_bytes: None };
        assert_eq!(keeping(""), Ok(usual));
        let all = "run_max = '100MiB'\nkeep_for = '30d'\nkeep_bytes = '1TiB'";
        assert_eq!(keeping(all), Ok(Keeping { run_bytes_max: Some(100 << 20), keep_ms: Some(2_592_000_000), keep_bytes: Some(1 << 40) }));
        assert_eq!(keeping("run_max = '1KiB'"), Err("logs.run_max: `1KiB` is not a size of 1MiB or more; write 20GiB".into()));
        assert_eq!(keeping("keep_for = 'long'"), Err("logs.keep_for: `long` is not a time; write 90d".into()));
    }
}
