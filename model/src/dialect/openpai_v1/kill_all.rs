//! `killAllOnCompletedTaskNumber`: how jobs ended until version 0.6, when N tasks had ended well.

use super::{reader::Reader, roles::Role};
use crate::spec::{Field, Threshold, ThresholdWord};

const SINCE: &str = "OpenPAI has ignored it since version 0.8";

/// Counted over all roles there, and by role here; the note says where that makes a difference. The answer is the number.
pub(super) fn apply(r: &mut Reader, field: &Field<'_>, roles: &mut [Role]) -> Option<i64> {
    let number = r.whole(field, i64::MIN..=i64::MAX)?;
    let total: i64 = roles.iter().map(tasks).sum();
    if roles.iter().any(|role| role.decides) {
        r.ignored(field, format!("{SINCE}, and minFailedTaskCount and minSucceededTaskCount say when this job ends; remove it"));
    } else if number <= 0 {
        r.kept(field, "the job ends when all its tasks have");
    } else if number > total {
        let hint = "write minSucceededTaskCount for a role instead";
        r.ignored(field, format!("{SINCE}, and {number} is more than the {total} tasks there are; {hint}"));
    } else if number == total {
        r.kept(field, "the job ends when all its tasks have");
    } else if number == 1 || roles.len() == 1 {
        set(roles, number);
        let reason = format!("roles.*.completion.min_succeeded; the job succeeds when this many of its tasks have: {number}");
        r.kept(field, reason);
    } else {
        set(roles, number);
        let reason = format!(
            "roles.*.completion.min_succeeded; the job succeeds when {number} tasks of one role have, and tasks of different roles are not added up"
        );
        r.changed(field, reason);
    }
    Some(number)
}

fn tasks(role: &Role) -> i64 {
    role.spec.tasks.map_or(0, i64::from)
}

fn set(roles: &mut [Role], number: i64) {
    for role in roles {
        let reachable = u32::try_from(number).ok().filter(|_| number <= tasks(role));
        role.spec.completion.min_succeeded = Some(reachable.map_or(Threshold::Word(ThresholdWord::Never), Threshold::Count));
    }
}
