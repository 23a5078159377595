//! How it ended → again or not, and after which pause.

use crate::{
    diagnose::RetryClass,
    plan::Retries,
    task::{Cause, Ending, Whose},
    words::Words,
};

/// Failures of the platform are not the user's to pay for, but what the platform fails every time must not
/// circle for ever. With the pauses between them, this many take about an hour.
pub const PLATFORM_RETRIES_MAX: u32 = 20;
/// What ran out of memory will most likely do so again. A job that asked for retries without an end gets this many.
pub const BOUNDED_RETRIES_MAX: u32 = 3;
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
    /// An ordinary failure of the user's program: it may go better next time.
    User,
    /// The same, but hardly: such as running out of memory.
    Bounded,
    /// It will never go better, and that is the user's doing.
    Permanent,
    Platform,
    /// The platform's as well, but not to be hoped away: the machine had no memory left for it. A long run between two of
    /// them is no reason to be patient anew.
    Crowded,
}

impl Class {
    /// By the catalogue's entry, where one was found.
    pub fn of(ending: &Ending) -> Self {
        let by_entry = ending.diagnosis.as_ref().filter(|_| ending.cause != (Cause::Exited { code: 0 })).map(|it| it.retry);
        match by_entry {
            Some(RetryClass::Never) => Class::Permanent,
            Some(RetryClass::Counts) => Class::User,
            Some(RetryClass::Bounded) => Class::Bounded,
            Some(RetryClass::Platform) if is_for_memory(&ending.cause) => Class::Crowded,
            Some(RetryClass::Platform) => Class::Platform,
            None => Self::of_cause(&ending.cause),
        }
    }

    /// A task that was stopped though nobody asked us was stopped by its surroundings: a shutdown, an operator.
    fn of_cause(cause: &Cause) -> Self {
        match cause {
            Cause::Exited { code: 0 } => Class::Success,
            Cause::OutOfMemory { .. } | Cause::OverDisk { .. } | Cause::MachineMemory { limit_bytes: None, .. } => Class::Bounded,
            Cause::MachineMemory { limit_bytes: Some(_), .. } => Class::Crowded,
            // Who sent it nobody knows, and it may have been the kernel, for memory.
            Cause::Exited { code: 137 } | Cause::Signaled { signal: 9 } => Class::Bounded,
            Cause::Exited { .. } | Cause::Signaled { .. } | Cause::SetupFailed { .. } => Class::User,
            Cause::CannotStart { whose: Whose::User, .. } => Class::Permanent,
            Cause::CannotStart { whose: Whose::Platform, .. } | Cause::Stopped { .. } | Cause::Unknown { .. } => Class::Platform,
        }
    }
}

/// Whatever an operator's catalogue calls it.
fn is_for_memory(cause: &Cause) -> bool {
    matches!(cause, Cause::OutOfMemory { .. } | Cause::MachineMemory { .. })
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    Yes { used: Used, reason: Words },
    No { reason: Words },
}

/// `allowed` is what was asked for; it has just ended after running that long.
pub fn again(allowed: Retries, used: Used, class: Class, ran_ms: u64) -> Again {
    let used = match class {
        _ if ran_ms < LONG_RUN_MS => used,
        Class::Crowded => Used { in_a_row: 0, ..used },
        Class::Success | Class::User | Class::Bounded | Class::Permanent | Class::Platform => Used { for_platform: 0, in_a_row: 0, ..used },
    };
    let used = Used { in_a_row: used.in_a_row + 1, ..used };
    let counted = Used { for_user: used.for_user + 1, ..used };
    let no = |en: &str, zh: &str| Again::No { reason: Words::new(en, zh) };
    let n = counted.for_user;
    let yes = |used: Used, en: String, zh: String| Again::Yes { used, reason: Words::new(en, zh) };
    match (class, allowed) {
        (Class::Success | Class::Permanent, Retries::Forever) => {
            yes(used, "it is started again whenever it is over".into(), "只要结束就会重新启动".into())
        }
        (Class::Success, Retries::UpTo(_) | Retries::Always) => no("it succeeded", "已成功"),
        (Class::Permanent, Retries::UpTo(_) | Retries::Always) => no("a retry would end the same way", "重试结果也一样，不再重试"),
        (Class::User, Retries::Always | Retries::Forever) => {
            yes(counted, format!("retry {n}, as often as it takes"), format!("第 {n} 次重试，不限次数"))
        }
        (Class::Bounded, Retries::Always | Retries::Forever) if used.for_user < BOUNDED_RETRIES_MAX => yes(
            counted,
            format!("retry {n} of the {BOUNDED_RETRIES_MAX} that such an end gets at most"),
            format!("第 {n} 次重试，这类结束最多重试 {BOUNDED_RETRIES_MAX} 次"),
        ),
        (Class::Bounded, Retries::Always | Retries::Forever) => Again::No {
            reason: Words::new(
                format!("it was tried again {} times, and such an end is not tried for ever", used.for_user),
                format!("已重试 {} 次，这类结束不会无限重试", used.for_user),
            ),
        },
        (Class::User | Class::Bounded, Retries::UpTo(most)) if used.for_user < most => {
            yes(counted, format!("retry {n} of {most}"), format!("第 {n} 次重试，共 {most} 次"))
        }
        (Class::User | Class::Bounded, Retries::UpTo(0)) => no("no retries were asked for", "作业没有要求重试"),
        (Class::User | Class::Bounded, Retries::UpTo(most)) => {
            no(&format!("all {most} retries are used"), &format!("{most} 次重试已全部用完"))
        }
        (Class::Platform | Class::Crowded, _) if used.for_platform < PLATFORM_RETRIES_MAX => yes(
            Used { for_platform: used.for_platform + 1, ..used },
            "the failure was the platform's, so this retry does not count".into(),
            "这是平台的故障，重试不计次数".into(),
        ),
        (Class::Platform, _) => {
            let times = used.for_platform + 1;
            no(&format!("the platform failed it {times} times in a row"), &format!("平台连续 {times} 次未能运行它"))
        }
        (Class::Crowded, _) => {
            let times = used.for_platform + 1;
            no(&format!("the machine ran out of memory under it {times} times"), &format!("它运行时整台机器内存耗尽，已有 {times} 次"))
        }
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
        for class in [Platform, Crowded, Permanent, User, Bounded, Success] {
            for allowed in [Retries::UpTo(2), Retries::Always, Retries::Forever] {
                table += &format!("{:<10}{:<9}{}\n", format!("{class:?}"), allowed.to_string(), said(allowed, 0, 0, class));
            }
        }
        insta::assert_snapshot!(table, @"
        Platform  2        yes 0/1 the failure was the platform's, so this retry does not count
        Platform  always   yes 0/1 the failure was the platform's, so this retry does not count
        Platform  forever  yes 0/1 the failure was the platform's, so this retry does not count
        Crowded   2        yes 0/1 the failure was the platform's, so this retry does not count
        Crowded   always   yes 0/1 the failure was the platform's, so this retry does not count
        Crowded   forever  yes 0/1 the failure was the platform's, so this retry does not count
        Permanent 2        no a retry would end the same way
        Permanent always   no a retry would end the same way
        Permanent forever  yes 0/0 it is started again whenever it is over
        User      2        yes 1/0 retry 1 of 2
        User      always   yes 1/0 retry 1, as often as it takes
        User      forever  yes 1/0 retry 1, as often as it takes
        Bounded   2        yes 1/0 retry 1 of 2
        Bounded   always   yes 1/0 retry 1 of the 3 that such an end gets at most
        Bounded   forever  yes 1/0 retry 1 of the 3 that such an end gets at most
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
    fn running_out_of_memory_counts_and_is_never_tried_for_ever() {
        let class = |cause: Cause| Class::of(&Ending::new(cause, None, 0));
        assert_eq!(class(Cause::OutOfMemory { limit_bytes: 1, kills: 1 }), Bounded);
        assert_eq!(class(Cause::CannotStart { why: "no program".into(), whose: Whose::User }), Permanent);
        assert_eq!(class(Cause::Stopped { killed: false }), Platform);
        assert_eq!(said(Retries::Always, 2, 0, Bounded), "yes 3/0 retry 3 of the 3 that such an end gets at most");
        let over = "no it was tried again 3 times, and such an end is not tried for ever";
        assert_eq!([Retries::Always, Retries::Forever].map(|it| said(it, 3, 0, Bounded)), [over, over]);
        assert_eq!(said(Retries::UpTo(9), 8, 0, Bounded), "yes 9/0 retry 9 of 9", "what was asked for is given");
    }

    #[test]
    fn a_kill_for_memory_is_not_tried_for_ever_whoever_used_it_up_and_however_long_it_ran() {
        let class = |cause: Cause| Class::of(&Ending::new(cause, None, 0));
        assert_eq!(class(Cause::MachineMemory { limit_bytes: None, kills: 1 }), Bounded, "it may have used up the memory itself");
        assert_eq!([Cause::Signaled { signal: 9 }, Cause::Exited { code: 137 }].map(class), [Bounded; 2], "nobody knows who killed it");
        let (mut used, mut times) = (Used::default(), 0);
        let crowded = class(Cause::MachineMemory { limit_bytes: Some(1), kills: 1 });
        let last = loop {
            match again(Retries::Always, used, crowded, LONG_RUN_MS) {
                Again::Yes { used: more, .. } => (used, times) = (more, times + 1),
                Again::No { reason } => break reason.en,
            }
            assert!(times <= PLATFORM_RETRIES_MAX, "it is tried for ever");
        };
        assert_eq!((used.for_user, last.as_str()), (0, "the machine ran out of memory under it 21 times"));
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
