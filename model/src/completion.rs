//! Role policies: is the job decided, and how.

use std::collections::BTreeMap;

use crate::{ids::RoleName, job::Outcome, plan::RolePlan, task::TaskState, words::Words};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    Undecided,
    Decided {
        outcome: Outcome,
        /// Which of the ended tasks tipped the scale, as a position in `ended`; none if it was the last of all to end.
        by: Option<usize>,
        reason: Words,
    },
}

/// Says whether the job is decided by the tasks that have ended, given in the order of their endings.
///
/// The first policy that is met decides, and later endings change nothing: whoever reads the same
/// endings again comes to the same verdict, so it need not be stored. The tasks we stop come after the
/// decision; one that was stopped before it was stopped by someone else, and is no success.
pub fn verdict(roles: &[RolePlan], ended: &[(RoleName, TaskState)]) -> Verdict {
    let mut counts: BTreeMap<&RoleName, Counts> = BTreeMap::new();
    for (position, (name, state)) in ended.iter().enumerate() {
        let Some(role) = roles.iter().find(|role| role.name == *name) else { continue };
        let count = counts.entry(name).or_default();
        count.add(*state);
        if let Some((outcome, reason)) = policy_met(role, count) {
            return Verdict::Decided { outcome, by: Some(position), reason };
        }
        if all_that_count_have_ended(roles, &counts) {
            let reason = Words::new("every task that counts has ended", "所有需要等待的任务都已结束");
            return Verdict::Decided { outcome: Outcome::Succeeded, by: None, reason };
        }
    }
    Verdict::Undecided
}

/// Whether every task that the job waits for has ended. Where it would wait for nobody, it waits for all.
fn all_that_count_have_ended(roles: &[RolePlan], counts: &BTreeMap<&RoleName, Counts>) -> bool {
    let all_ended = |role: &RolePlan| counts.get(&role.name).is_some_and(|count| count.ended == role.tasks);
    let nobody_is_waited_for = roles.iter().all(|role| !role.completion.waited_for);
    roles.iter().all(|role| all_ended(role) || (!role.completion.waited_for && !nobody_is_waited_for))
}

/// Whether the endings, however they are ordered, decide the job: a policy is met, or nobody is left who counts.
pub fn is_decided(roles: &[RolePlan], counts: &BTreeMap<&RoleName, Counts>) -> bool {
    let met = |role: &RolePlan| counts.get(&role.name).is_some_and(|count| policy_met(role, count).is_some());
    roles.iter().any(met) || all_that_count_have_ended(roles, counts)
}

/// How the tasks of a role have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    ended: u32,
    failed: u32,
    succeeded: u32,
}

impl Counts {
    pub fn of_successes(succeeded: u32) -> Self {
        Self { ended: succeeded, failed: 0, succeeded }
    }

    pub fn add(&mut self, state: TaskState) {
        self.ended += 1;
        match state {
            TaskState::Succeeded => self.succeeded += 1,
            TaskState::Failed | TaskState::Unknown | TaskState::Stopped => self.failed += 1,
            TaskState::Starting | TaskState::Running => {}
        }
    }
}

fn policy_met(role: &RolePlan, count: &Counts) -> Option<(Outcome, Words)> {
    let (policy, name, all) = (&role.completion, &role.name, role.tasks);
    let (failed, succeeded) = (count.failed, count.succeeded);
    if let Some(least) = policy.min_failed.filter(|least| count.failed >= *least) {
        let en = format!("{failed} of {all} {name} tasks failed; {least} decide");
        return Some((Outcome::Failed, Words::new(en, format!("{all} 个 {name} 任务中有 {failed} 个失败；{least} 个即可决定"))));
    }
    if let Some(least) = policy.min_succeeded.filter(|least| count.succeeded >= *least) {
        let en = format!("{succeeded} of {all} {name} tasks succeeded; {least} decide");
        return Some((Outcome::Succeeded, Words::new(en, format!("{all} 个 {name} 任务中有 {succeeded} 个成功；{least} 个即可决定"))));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::CompletionPlan;

    const NOT_GIVEN: CompletionPlan = CompletionPlan { min_failed: Some(1), min_succeeded: None, waited_for: true };
    const SERVES: CompletionPlan = CompletionPlan { waited_for: false, ..NOT_GIVEN };

    fn role(name: &str, tasks: u32, completion: CompletionPlan) -> RolePlan {
        RolePlan {
            name: name.parse().unwrap(),
            tasks,
            command: vec!["true".into()],
            image: None,
            task_retries: 0,
            resources: Default::default(),
            shared_memory_bytes: 0,
            disk_bytes: None,
            ports: BTreeMap::new(),
            env: BTreeMap::new(),
            completion,
        }
    }

    /// `worker+ ps- worker?` reads: a worker succeeded, a ps failed, a worker's ending is unknown; `!` is stopped.
    fn said(roles: &[RolePlan], endings: &str) -> String {
        let ended: Vec<_> = endings
            .split_whitespace()
            .map(|word| {
                let (name, sign) = word.split_at(word.len() - 1);
                let state = match sign {
                    "+" => TaskState::Succeeded,
                    "-" => TaskState::Failed,
                    "?" => TaskState::Unknown,
                    "!" => TaskState::Stopped,
                    other => panic!("no such sign {other}"),
                };
                (name.parse().unwrap(), state)
            })
            .collect();
        match verdict(roles, &ended) {
            Verdict::Undecided => "undecided".into(),
            Verdict::Decided { outcome, by, reason } => format!("{outcome:?} by {by:?}: {reason}"),
        }
    }

    #[test]
    fn workers_decide_and_parameter_servers_are_not_waited_for() {
        let roles = [role("ps", 1, SERVES), role("worker", 2, NOT_GIVEN)];
        assert_eq!(said(&roles, ""), "undecided");
        assert_eq!(said(&roles, "worker+"), "undecided");
        assert_eq!(said(&roles, "worker+ worker+"), "Succeeded by None: every task that counts has ended");
        // We stop the parameter server because the job is decided; that must not decide it anew.
        assert_eq!(said(&roles, "worker+ worker+ ps!"), "Succeeded by None: every task that counts has ended");
        assert_eq!(said(&roles, "ps-"), "Failed by Some(0): 1 of 1 ps tasks failed; 1 decide");
        assert_eq!(said(&roles, "worker+ worker-"), "Failed by Some(1): 1 of 2 worker tasks failed; 1 decide");
    }

    #[test]
    fn what_comes_after_the_decision_changes_nothing() {
        let roles = [role("ps", 1, SERVES), role("worker", 2, CompletionPlan { min_succeeded: Some(1), ..NOT_GIVEN })];
        let decided = "Succeeded by Some(0): 1 of 2 worker tasks succeeded; 1 decide";
        assert_eq!(said(&roles, "worker+"), decided);
        assert_eq!(said(&roles, "worker+ worker- ps!"), decided);
    }

    #[test]
    fn never_failing_means_the_job_succeeds_when_all_have_ended() {
        let never = CompletionPlan { min_failed: None, min_succeeded: None, waited_for: true };
        let roles = [role("worker", 2, never)];
        assert_eq!(said(&roles, "worker-"), "undecided");
        assert_eq!(said(&roles, "worker- worker-"), "Succeeded by None: every task that counts has ended");
    }

    #[test]
    fn a_role_alone_is_waited_for_whatever_it_is_called() {
        let roles = [role("ps", 1, SERVES)];
        assert_eq!(said(&roles, ""), "undecided");
        assert_eq!(said(&roles, "ps+"), "Succeeded by None: every task that counts has ended");
    }

    #[test]
    fn an_unknown_ending_is_no_success() {
        let roles = [role("worker", 1, NOT_GIVEN)];
        assert_eq!(said(&roles, "worker?"), "Failed by Some(0): 1 of 1 worker tasks failed; 1 decide");
    }

    #[test]
    fn a_task_that_someone_else_stopped_is_no_success() {
        let roles = [role("worker", 2, NOT_GIVEN)];
        assert_eq!(said(&roles, "worker+ worker!"), "Failed by Some(1): 1 of 2 worker tasks failed; 1 decide");
    }

    const NEVER: CompletionPlan = CompletionPlan { min_failed: None, min_succeeded: None, waited_for: true };

    fn policy(min_failed: impl Into<Option<u32>>, min_succeeded: impl Into<Option<u32>>) -> CompletionPlan {
        CompletionPlan { min_failed: min_failed.into(), min_succeeded: min_succeeded.into(), waited_for: true }
    }

    /// The rules of OpenPAI's launcher and of its framework controller, which are the same five, with two `ps`
    /// and three `worker` tasks. The first rule of the controller, a stop that was asked for, is not ours to
    /// judge: the job's state function has the last word there.
    #[test]
    fn every_rule_of_the_launcher_and_the_controller_holds() {
        let cases = [
            // A role's least number of failed tasks: the attempt fails at once, by the task that tipped it.
            ("failed, 1 of 2", policy(2, None), NEVER, "ps-"),
            ("failed, at once", policy(2, None), NEVER, "ps- worker+ ps-"),
            ("failed, of that role alone", policy(2, None), policy(2, None), "ps- worker-"),
            ("failed, of the other", policy(2, None), policy(2, None), "ps- worker- worker-"),
            // A role's least number of succeeded tasks: the attempt succeeds at once.
            ("succeeded, all of a role", NEVER, policy(1, 3), "worker+ worker+ worker+"),
            ("succeeded, of that role alone", policy(1, 2), policy(1, 3), "ps+ worker+ worker+"),
            ("succeeded, whoever failed before", NEVER, policy(None, 1), "ps- worker- worker+"),
            // Several at the same moment: any may win. For us there is no same moment: endings are taken in one by
            // one, and the first to be taken in wins.
            ("both, in turn", policy(1, 1), policy(1, 1), "worker+ ps-"),
            ("both, in turn", policy(1, 1), policy(1, 1), "ps- worker+"),
            // Nothing fires: succeeded when all of all roles have ended, even if tasks failed.
            ("nothing yet", NEVER, NEVER, "ps- ps- worker- worker-"),
            ("nothing at all", NEVER, NEVER, "ps- ps- worker- worker- worker-"),
            ("nothing at all", NEVER, policy(3, None), "ps- ps+ worker- worker+ worker-"),
            // Whoever is still running then is stopped by us, and that changes nothing.
            ("stopped by us", policy(1, None), policy(1, 3), "worker+ worker+ worker+ ps! ps!"),
            ("stopped by us", policy(1, None), policy(1, 3), "ps- ps! worker! worker! worker!"),
        ];
        let line = |(what, ps, worker, endings): &(&str, CompletionPlan, CompletionPlan, &str)| {
            format!("{what}: {}\n", said(&[role("ps", 2, *ps), role("worker", 3, *worker)], endings))
        };
        let table: String = cases.iter().map(line).collect();
        insta::assert_snapshot!(table, @"
        failed, 1 of 2: undecided
        failed, at once: Failed by Some(2): 2 of 2 ps tasks failed; 2 decide
        failed, of that role alone: undecided
        failed, of the other: Failed by Some(2): 2 of 3 worker tasks failed; 2 decide
        succeeded, all of a role: Succeeded by Some(2): 3 of 3 worker tasks succeeded; 3 decide
        succeeded, of that role alone: undecided
        succeeded, whoever failed before: Succeeded by Some(2): 1 of 3 worker tasks succeeded; 1 decide
        both, in turn: Succeeded by Some(0): 1 of 3 worker tasks succeeded; 1 decide
        both, in turn: Failed by Some(0): 1 of 2 ps tasks failed; 1 decide
        nothing yet: undecided
        nothing at all: Succeeded by None: every task that counts has ended
        nothing at all: Succeeded by None: every task that counts has ended
        stopped by us: Succeeded by Some(2): 3 of 3 worker tasks succeeded; 3 decide
        stopped by us: Failed by Some(0): 1 of 2 ps tasks failed; 1 decide
        ");
    }
}
