//! `killAllOnCompletedTaskNumber`: how jobs ended until version 0.6, when N tasks had ended well.

use super::{reader::Reader, roles::Role};
use crate::{
    dialect::note::with_words,
    spec::{Field, Threshold, ThresholdWord},
};

const SINCE: (&str, &str) = ("OpenPAI has ignored it since version 0.8", "OpenPAI 从 0.8 版起就不理会它");
const WHEN_ALL_HAVE: (&str, &str) = ("the job ends when all its tasks have", "所有任务结束，作业才结束");

const MIN_SUCCEEDED: &str = "roles.*.completion.min_succeeded";

/// Counted over all roles there, and by role here; the note says where that makes a difference. The answer is the number.
pub(super) fn apply(r: &mut Reader, field: &Field<'_>, roles: &mut [Role]) -> Option<i64> {
    let number = r.whole(field, i64::MIN..=i64::MAX)?;
    let total: i64 = roles.iter().map(tasks).sum();
    if roles.iter().any(|role| role.decides) {
        let en = format!("{}, and minFailedTaskCount and minSucceededTaskCount say when this job ends; remove it", SINCE.0);
        let zh = format!("{}，作业何时结束由 minFailedTaskCount 和 minSucceededTaskCount 决定；请删掉它", SINCE.1);
        r.ignored(field, (en, zh));
    } else if number <= 0 {
        r.kept(field, WHEN_ALL_HAVE);
    } else if number > total {
        let hint = ("write minSucceededTaskCount for a role instead", "请改为给角色写 minSucceededTaskCount");
        let en = format!("{}, and {number} is more than the {total} tasks there are; {}", SINCE.0, hint.0);
        r.ignored(field, (en, format!("{}，而且 {number} 超过了任务总数 {total}；{}", SINCE.1, hint.1)));
    } else if number == total {
        r.kept(field, WHEN_ALL_HAVE);
    } else if number == 1 || roles.len() == 1 {
        set(roles, number);
        let en = format!("the job succeeds when this many of its tasks have: {number}");
        r.kept(field, with_words(MIN_SUCCEEDED, (en, format!("有 {number} 个任务成功，作业就成功"))));
    } else {
        set(roles, number);
        let en = format!("the job succeeds when {number} tasks of one role have, and tasks of different roles are not added up");
        let zh = format!("同一角色有 {number} 个任务成功，作业就成功；不同角色的任务不合并计数");
        r.changed(field, with_words(MIN_SUCCEEDED, (en, zh)));
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
