//! How it ended → again or not.

use crate::{plan::Retries, task::Whose};

/// Failures of the platform are not the user's to pay for, but a job that the platform fails every
/// time must not circle for ever.
pub const PLATFORM_RETRIES_MAX: u32 = 3;

/// How often a job was started again so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Used {
    pub for_user: u32,
    pub for_platform: u32,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Again {
    Yes { used: Used, reason: String },
    No { reason: String },
}

/// `allowed` is what the job asked for; `whose` is whose doing the failure was.
pub fn again(allowed: Retries, used: Used, whose: Whose) -> Again {
    let counted = Used { for_user: used.for_user + 1, ..used };
    match (whose, allowed) {
        (Whose::User, Retries::Always | Retries::Forever) => {
            Again::Yes { used: counted, reason: format!("retry {}, as often as it takes", counted.for_user) }
        }
        (Whose::User, Retries::UpTo(most)) if used.for_user < most => {
            Again::Yes { used: counted, reason: format!("retry {} of {most}", counted.for_user) }
        }
        (Whose::User, Retries::UpTo(0)) => Again::No { reason: "no retries were asked for".into() },
        (Whose::User, Retries::UpTo(most)) => Again::No { reason: format!("all {most} retries are used") },
        (Whose::Platform, _) if used.for_platform < PLATFORM_RETRIES_MAX => Again::Yes {
            used: Used { for_platform: used.for_platform + 1, ..used },
            reason: "the failure was the platform's, so this retry does not count".into(),
        },
        (Whose::Platform, _) => Again::No { reason: format!("the platform failed it {} times", used.for_platform + 1) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_failures_count_and_platform_failures_do_not() {
        let said = |allowed, for_user, for_platform, whose| match again(Retries::UpTo(allowed), Used { for_user, for_platform }, whose) {
            Again::Yes { used, reason } => format!("yes {}/{} {reason}", used.for_user, used.for_platform),
            Again::No { reason } => format!("no {reason}"),
        };
        assert_eq!(said(0, 0, 0, Whose::User), "no no retries were asked for");
        assert_eq!(said(2, 1, 0, Whose::User), "yes 2/0 retry 2 of 2");
        assert_eq!(said(2, 2, 0, Whose::User), "no all 2 retries are used");
        assert_eq!(said(0, 0, 2, Whose::Platform), "yes 0/3 the failure was the platform's, so this retry does not count");
        assert_eq!(said(5, 0, 3, Whose::Platform), "no the platform failed it 4 times");
    }
}
