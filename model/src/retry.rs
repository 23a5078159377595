//! How it ended → again or not, and after which pause.

use crate::{
    plan::Retries,
    task::{Cause, Whose},
};

/// Failures of the platform are not the user's to pay for, but what the platform fails every time must not
/// circle for ever. With the pauses between them, this many take about an hour.
pub const PLATFORM_RETRIES_MAX: u32 = 20;
/// The longest pause between two attempts.
pub const PAUSE_MS_MAX: u64 = 300_000;
const PAUSE_MS_FIRST: u64 = 1_000;
/// Whatever ran this long did not die at once: the pauses begin anew, and so does the patience with the platform.
const LONG_RUN_MS: u64 = 600_000;

/// How often something was started again so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub for_user: u32,
    pub for_platform: u32,
    /// Without a long run between them.
    pub in_a_row: u32,
}

impl Used {
    /// How long to wait before the start that these add up to: the first comes at once, then 1 s, 2 s, 4 s … 5 min.
    pub fn pause_ms(&self) -> u64 {
        match self.in_a_row.checked_sub(2) {
            None => 0,
            Some(doublings) => (PAUSE_MS_FIRST << doublings.min(20)).min(PAUSE_MS_MAX),
        }
    }
}

/// How much is left of a pause. One that seems longer than any is over: a clock was set back.
pub fn pause_left_ms(not_before_ms: u64, now_ms: u64) -> Option<u64> {
    Some(not_before_ms.saturating_sub(now_ms)).filter(|left_ms| (1..=PAUSE_MS_MAX).contains(left_ms))
}

/// What an ending means for starting again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    Success,
    /// An ordinary failure of the user's program, running out of memory included: it may go better next time.
    User,
    /// The program could not even be started, and that was the user's doing: it will never go better.
    Permanent,
    Platform,
}

impl Class {
    /// A task that was stopped though nobody asked us was stopped by its surroundings: a shutdown, an operator.
    pub fn of(cause: &Cause) -> Self {
        match cause {
            Cause::Exited { code: 0 } => Class::Success,
            Cause::Exited { .. } | Cause::Signaled { .. } | Cause::OutOfMemory { .. } => Class::User,
            Cause::CannotStart { whose: Whose::User, .. } => Class::Permanent,
            Cause::CannotStart { whose: Whose::Platform, .. } | Cause::Stopped { .. } | Cause::Unknown { .. } => Class::Platform,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    Yes { used: Used, reason: String },
    No { reason: String },
}

/// `allowed` is what was asked for; it has just ended after running that long.
pub fn again(allowed: Retries, used: Used, class: Class, ran_ms: u64) -> Again {
    let used = if ran_ms >= LONG_RUN_MS { Used { for_platform: 0, in_a_row: 0, ..used } } else { used };
    let used = Used { in_a_row: used.in_a_row + 1, ..used };
    let counted = Used { for_user: used.for_user + 1, ..used };
    let no = |reason: &str| Again::No { reason: reason.to_owned() };
    match (class, allowed) {
        (Class::Success | Class::Permanent, Retries::Forever) => {
            Again::Yes { used, reason: "it is started again whenever it is over".into() }
        }
        (Class::Success, Retries::UpTo(_) | Retries::Always) => no("it succeeded"),
        (Class::Permanent, Retries::UpTo(_) | Retries::Always) => no("a retry would end the same way"),
        (Class::User, Retries::Always | Retries::Forever) => {
            Again::Yes { used: counted, reason: format!("retry {}, as often as it takes", counted.for_user) }
        }
        (Class::User, Retries::UpTo(most)) if used.for_user < most => {
            Again::Yes { used: counted, reason: format!("retry {} of {most}", counted.for_user) }
        }
        (Class::User, Retries::UpTo(0)) => no("no retries were asked for"),
        (Class::User, Retries::UpTo(most)) => Again::No { reason: format!("all {most} retries are used") },
        (Class::Platform, _) if used.for_platform < PLATFORM_RETRIES_MAX => Again::Yes {
            used: Used { for_platform: used.for_platform + 1, ..used },
            reason: "the failure was the platform's, so this retry does not count".into(),
        },
        (Class::Platform, _) => Again::No { reason: format!("the platform failed it {} times in a row", used.for_platform + 1) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Class::*;

    fn said(allowed: Retries, for_user: u32, for_platform: u32, class: Class) -> String {
        match again(allowed, Used { for_user, for_platform, in_a_row: 0 }, class, 0) {
            Again::Yes { used, reason } => format!("yes {}/{} {reason}", used.for_user, used.for_platform),
            Again::No { reason } => format!("no {reason}"),
        }
    }

    /// The table of OpenPAI's launcher: its `retryCount` ≥ 0, -1 and -2 are our number, `always` and `forever`.
    #[test]
    fn every_class_meets_every_kind_of_retries() {
        let mut table = String::new();
        for class in [Platform, Permanent, User, Success] {
            for allowed in [Retries::UpTo(2), Retries::Always, Retries::Forever] {
                table += &format!("{:<10}{:<9}{}\n", format!("{class:?}"), allowed.to_string(), said(allowed, 0, 0, class));
            }
        }
        insta::assert_snapshot!(table, @"
        Platform  2        yes 0/1 the failure was the platform's, so this retry does not count
        Platform  always   yes 0/1 the failure was the platform's, so this retry does not count
        Platform  forever  yes 0/1 the failure was the platform's, so this retry does not count
        Permanent 2        no a retry would end the same way
        Permanent always   no a retry would end the same way
        Permanent forever  yes 0/0 it is started again whenever it is over
        User      2        yes 1/0 retry 1 of 2
        User      always   yes 1/0 retry 1, as often as it takes
        User      forever  yes 1/0 retry 1, as often as it takes
        Success   2        no it succeeded
        Success   always   no it succeeded
        Success   forever  yes 0/0 it is started again whenever it is over
        ");
    }

    #[test]
    fn user_failures_are_counted_and_platform_failures_are_bounded() {
        assert_eq!(said(Retries::UpTo(0), 0, 0, User), "no no retries were asked for");
        assert_eq!(said(Retries::UpTo(2), 1, 7, User), "yes 2/7 retry 2 of 2");
        assert_eq!(said(Retries::UpTo(2), 2, 0, User), "no all 2 retries are used");
        assert_eq!(said(Retries::UpTo(0), 0, 19, Platform), "yes 0/20 the failure was the platform's, so this retry does not count");
        assert_eq!(said(Retries::UpTo(5), 0, 20, Platform), "no the platform failed it 21 times in a row");
    }

    #[test]
    fn running_out_of_memory_is_an_ordinary_failure_and_counts() {
        assert_eq!(Class::of(&Cause::OutOfMemory { limit_bytes: 1, kills: 1 }), User);
        assert_eq!(Class::of(&Cause::CannotStart { why: "no program".into(), whose: Whose::User }), Permanent);
        assert_eq!(Class::of(&Cause::Stopped { killed: false }), Platform);
    }

    #[test]
    fn the_pause_grows_with_every_quick_end_and_begins_anew_after_a_long_run() {
        let mut used = Used::default();
        let mut pauses = Vec::new();
        for ran_ms in [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, LONG_RUN_MS, 0] {
            let Again::Yes { used: more, .. } = again(Retries::Always, used, User, ran_ms) else { panic!("always is always") };
            used = more;
            pauses.push(used.pause_ms() / 1000);
        }
        assert_eq!(pauses, [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 0, 1]);
        assert_eq!(Used { in_a_row: u32::MAX, ..used }.pause_ms(), PAUSE_MS_MAX);
    }

    #[test]
    fn a_pause_is_over_in_time_and_also_when_a_clock_was_set_back() {
        assert_eq!(pause_left_ms(5_000, 1_000), Some(4_000));
        assert_eq!(pause_left_ms(5_000, 5_000), None);
        assert_eq!(pause_left_ms(5_000, 9_000), None);
        assert_eq!(pause_left_ms(2 * PAUSE_MS_MAX, 0), None);
    }
}
