//! Ids and names. Each is its own type, is parsed once at the edge, and says what it names when printed.

use std::{fmt, str::FromStr};

use crate::{said, speaks, words::Words};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{got}` is not a {wanted}")]
pub struct BadId {
    wanted: &'static str,
    got: String,
}

/// One submission. Ids sort by creation time, so "newest first" needs no extra column.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobId(Uuid);

impl JobId {
    /// `at_ms` and `random` come from the caller: this crate reads no clock and rolls no dice.
    pub fn new(at_ms: u64, random: &[u8; 10]) -> Self {
        Self(uuid::Builder::from_unix_timestamp_millis(at_ms, random).into_uuid())
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job-{}", self.0.simple())
    }
}

impl FromStr for JobId {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let uuid = text.strip_prefix("job-").filter(|hex| hex.len() == 32).and_then(|hex| hex.parse().ok());
        uuid.map(Self).ok_or_else(|| BadId { wanted: "job id", got: text.to_owned() })
    }
}

/// What a person calls a job: 1–64 letters, digits and `- . _ ~`, beginning with a letter or digit.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct JobName(String);

/// What a role of a job is called: 1–64 of the same characters as a job's name; it may begin with `_`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RoleName(String);

/// A node of a cluster: the same alphabet again, so it can stand in a path or a URL.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct NodeName(String);

/// A named place where bytes live: the same alphabet again. It never has a `:`, which stands after it in a location.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct VolumeName(String);

/// Data under a name that has versions: the same alphabet again. It never has an `@`, which stands before a version.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DatasetName(String);

/// Reusable code under a name that has versions: the same alphabet again.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AlgorithmName(String);

const JOB_NAME_LENGTH_MAX: usize = 64;
const ROLE_NAME_LENGTH_MAX: usize = 64;

impl JobName {
    pub const PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._~-]{0,63}$";
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, JOB_NAME_LENGTH_MAX, "").map(|()| Self(text.to_owned()))
    }
}

impl RoleName {
    pub const PATTERN: &str = "^[A-Za-z0-9_][A-Za-z0-9._~-]{0,63}$";
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, ROLE_NAME_LENGTH_MAX, "_").map(|()| Self(text.to_owned()))
    }
}

impl NodeName {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, JOB_NAME_LENGTH_MAX, "").map(|()| Self(text.to_owned()))
    }
}

impl VolumeName {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, JOB_NAME_LENGTH_MAX, "").map(|()| Self(text.to_owned()))
    }
}

impl DatasetName {
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, JOB_NAME_LENGTH_MAX, "").map(|()| Self(text.to_owned()))
    }
}

impl AlgorithmName {
    pub const PATTERN: &str = JobName::PATTERN;
    pub fn parse(text: &str) -> Result<Self, BadName> {
        check_name(text, JOB_NAME_LENGTH_MAX, "").map(|()| Self(text.to_owned()))
    }
}

#[derive(Debug, PartialEq, Eq)]
pub enum BadName {
    Empty,
    TooLong { length: usize, most: usize },
    BadStart(char),
    BadCharacter(char),
}

impl BadName {
    /// What is said of the name.
    pub fn words(&self) -> Words {
        match self {
            BadName::Empty => said!("is empty", "是空的"),
            BadName::TooLong { length, most } => said!("has {length} characters; the most is {most}", "有 {length} 个字符，最多 {most} 个"),
            BadName::BadStart(first) => {
                said!("begins with `{}`; begin with a letter or a digit", "以 `{}` 开头；请以字母或数字开头", visible(*first))
            }
            BadName::BadCharacter(' ') => {
                said!("has a space; use letters, digits, `-`, `.`, `_` and `~`", "含有空格；请用字母、数字、`-`、`.`、`_` 和 `~`")
            }
            BadName::BadCharacter(bad) => {
                said!(
                    "has `{}`; use letters, digits, `-`, `.`, `_` and `~`",
                    "含有 `{}`；请用字母、数字、`-`、`.`、`_` 和 `~`",
                    visible(*bad)
                )
            }
        }
    }
}

speaks!(BadName);

/// A character as it may stand in a message: a terminal must not obey it.
fn visible(c: char) -> String {
    if c.is_control() { c.escape_unicode().to_string() } else { c.to_string() }
}

fn check_name(text: &str, most: usize, also_first: &str) -> Result<(), BadName> {
    let Some(first) = text.chars().next() else { return Err(BadName::Empty) };
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._~".contains(c);
    if let Some(bad) = text.chars().find(|c| !allowed(*c)) {
        return Err(BadName::BadCharacter(bad));
    }
    if !first.is_ascii_alphanumeric() && !also_first.contains(first) {
        return Err(BadName::BadStart(first));
    }
    if text.len() > most {
        return Err(BadName::TooLong { length: text.len(), most });
    }
    Ok(())
}

/// One slot of a role, with an index from 0: `worker-0`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct TaskName {
    pub role: RoleName,
    pub index: u32,
}

impl fmt::Display for TaskName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.role, self.index)
    }
}

impl FromStr for TaskName {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { wanted: "task name such as worker-0", got: text.to_owned() };
        let (role, index) = text.rsplit_once('-').ok_or_else(bad)?;
        let role = RoleName::parse(role).map_err(|_| bad())?;
        let index = index.parse().map_err(|_| bad())?;
        let task = Self { role, index };
        // `worker-007` names nothing: every task has one spelling.
        if task.to_string() == text { Ok(task) } else { Err(bad()) }
    }
}

impl TaskName {
    /// The task that somebody means who is used to names of containers: `digits_worker_1` is the first worker of digits.
    pub fn of_container(job: &JobName, text: &str) -> Option<Self> {
        let (role, number) = text.strip_prefix(job.as_str())?.strip_prefix('_')?.rsplit_once('_')?;
        let index = number.parse::<u32>().ok().filter(|it| it.to_string() == number)?.checked_sub(1)?;
        Some(Self { role: RoleName::parse(role).ok()?, index })
    }
}

/// One attempt of one task. The attempt is the fence: a report that carries an older one than the
/// database is recorded and changes nothing.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunKey {
    pub job: JobId,
    pub task: TaskName,
    pub attempt: u32,
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}", self.job, self.task, self.attempt)
    }
}

impl FromStr for RunKey {
    type Err = BadId;
    fn from_str(text: &str) -> Result<Self, BadId> {
        let bad = || BadId { wanted: "run key such as job-…:worker-0:1", got: text.to_owned() };
        let mut parts = text.split(':');
        let (Some(job), Some(task), Some(attempt), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err(bad());
        };
        Ok(Self {
            job: job.parse().map_err(|_| bad())?,
            task: task.parse().map_err(|_| bad())?,
            attempt: attempt.parse().map_err(|_| bad())?,
        })
    }
}

/// Text forms that follow from `Display` and `FromStr`.
macro_rules! as_text {
    ($($Type:ident),*) => {$(
        impl fmt::Debug for $Type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }
        impl From<$Type> for String {
            fn from(value: $Type) -> String {
                value.to_string()
            }
        }
        impl TryFrom<String> for $Type {
            type Error = <$Type as FromStr>::Err;
            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }
    )*};
}
as_text!(JobId, JobName, RoleName, NodeName, VolumeName, DatasetName, AlgorithmName, TaskName, RunKey);

macro_rules! name_text {
    ($($Name:ident),*) => {$(
        impl $Name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $Name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl AsRef<str> for $Name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
        impl FromStr for $Name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                Self::parse(text)
            }
        }
    )*};
}
name_text!(JobName, RoleName, NodeName, VolumeName, DatasetName, AlgorithmName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_container_is_counted_from_one_and_a_task_from_zero() {
        let job = JobName::parse("tf-train_standalone").unwrap();
        let of = |text: &str| TaskName::of_container(&job, text).map(|it| it.to_string());
        assert_eq!(of("tf-train_standalone_worker_1").as_deref(), Some("worker-0"));
        assert_eq!(of("tf-train_standalone_ps_12").as_deref(), Some("ps-11"));
        for nonsense in
            ["worker_1", "other_worker_1", "tf-train_standalone_worker_0", "tf-train_standalone_worker_01", "tf-train_standalone_worker"]
        {
            assert_eq!(of(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_job_id_survives_its_text_form_and_sorts_by_time() {
        let early = JobId::new(1_000, &[7; 10]);
        let late = JobId::new(2_000, &[0; 10]);
        assert_eq!(early.to_string().parse(), Ok(early));
        assert!(early < late && early.to_string() < late.to_string());
        assert_eq!("digits".parse::<JobId>().unwrap_err().to_string(), "`digits` is not a job id");
    }

    #[test]
    fn a_task_has_one_spelling() {
        let task: TaskName = "parameter-server-12".parse().unwrap();
        assert_eq!((task.role.as_str(), task.index), ("parameter-server", 12));
        for wrong in ["worker", "worker-", "-1", "worker-01", "wor/ker-1", "worker-99999999999"] {
            assert!(wrong.parse::<TaskName>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_run_key_survives_its_text_form() {
        let key = RunKey { job: JobId::new(5, &[1; 10]), task: "worker-0".parse().unwrap(), attempt: 3 };
        assert_eq!(key.to_string().parse(), Ok(key));
    }

    #[test]
    fn a_bad_name_says_what_is_wrong_with_it() {
        let said = |text: &str| JobName::parse(text).unwrap_err().to_string();
        assert_eq!(said(""), "is empty");
        assert_eq!(said("my job"), "has a space; use letters, digits, `-`, `.`, `_` and `~`");
        assert_eq!(said("../etc"), "has `/`; use letters, digits, `-`, `.`, `_` and `~`");
        assert_eq!(said("-rf"), "begins with `-`; begin with a letter or a digit");
        assert_eq!(said(&"a".repeat(65)), "has 65 characters; the most is 64");
    }
}
