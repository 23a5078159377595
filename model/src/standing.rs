//! Where each task of a job's attempt stands: to be placed, alive, or over for good.
//!
//! All of it follows from the plan and the runs, so nothing of it is stored and nothing can disagree.
//!
//! The tasks of a gang are started and tried again together: a run has its job's attempt number, and an
//! ending is for good. The tasks of any other job are placed alone, and may be tried again alone while the
//! rest goes on. Their runs count for each task, from the job's attempt number upwards and over the job's
//! whole life: no two runs of a task ever have the same number, so it stays the fence. What the job has
//! retries for is the next attempt of all of them.

use std::collections::BTreeMap;

use crate::{
    ids::{RoleName, TaskName},
    plan::{Plan, Retries, RolePlan},
    resources::show_duration_ms,
    retry::{Again, Class, Used, again},
    sync::SyncState,
    task::{Ending, Kept, TaskState},
    words::Words,
};

/// One run of the current attempt of a job.
#[derive(Clone, Debug)]
pub struct RunFacts {
    pub task: TaskName,
    pub attempt: u32,
    pub state: TaskState,
    pub ending: Option<Ending>,
    pub kept: Option<Kept>,
    /// Which place it took among the endings of the job's attempt.
    pub end_order: Option<u64>,
    /// How far its output has come, where it goes anywhere.
    pub sync: Option<SyncState>,
}

#[derive(Clone, Debug)]
pub struct Standing<'a> {
    pub task: TaskName,
    pub stands: Stands<'a>,
}

#[derive(Clone, Debug)]
pub enum Stands<'a> {
    /// To be placed for the first time in this attempt of the job.
    New,
    /// Failed, and to be placed again.
    Again {
        not_before_ms: u64,
        reason: Words,
    },
    Lives(&'a RunFacts),
    /// Ended for good.
    Over(&'a RunFacts),
}

/// Every task of the plan, in the order of its roles.
pub fn standings<'a>(plan: &Plan, runs: &'a [RunFacts]) -> Vec<Standing<'a>> {
    let by_task = by_task(runs);
    let tasks = plan.roles.iter().flat_map(|role| (0..role.tasks).map(move |index| (role, TaskName { role: role.name.clone(), index })));
    tasks
        .map(|(role, task)| {
            let own = by_task.get(&task).map_or(&[][..], Vec::as_slice);
            let stands = if plan.gang { as_one(own) } else { alone(role, own) };
            Standing { task, stands }
        })
        .collect()
}

/// The runs of each task, the earlier first.
fn by_task(runs: &[RunFacts]) -> BTreeMap<&TaskName, Vec<&RunFacts>> {
    let mut by_task: BTreeMap<&TaskName, Vec<&RunFacts>> = BTreeMap::new();
    runs.iter().for_each(|run| by_task.entry(&run.task).or_default().push(run));
    by_task.values_mut().for_each(|runs| runs.sort_by_key(|run| run.attempt));
    by_task
}

/// The tasks of a job that is no gang, as far as its queue and its state need. Most of a large job's tasks are new or
/// have succeeded; they are only counted, so that a look at it costs no more when it is large.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub roles: BTreeMap<RoleName, Placed>,
    /// The runs of this attempt of the tasks that have not succeeded.
    pub rest: Vec<RunFacts>,
}

/// How far a role has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// So many of its tasks, from the first, have been placed, but for those that were left out.
    pub first: u32,
    /// Their turn came when something was missing for them alone, such as a port.
    pub left_out: Vec<u32>,
    pub succeeded: u32,
}

impl Placed {
    /// The tasks of the role that were never placed in this attempt.
    pub fn new_tasks(&self, role: &RolePlan) -> impl Iterator<Item = u32> {
        self.left_out.iter().copied().chain(self.first..role.tasks)
    }
}

impl Tally {
    pub fn placed(&self, role: &RoleName) -> Placed {
        self.roles.get(role).cloned().unwrap_or_default()
    }

    /// Where the tasks stand that have neither succeeded nor are new.
    pub fn standings(&self, plan: &Plan) -> Vec<Standing<'_>> {
        let known = by_task(&self.rest).into_iter().filter_map(|(task, runs)| Some((task, runs, plan.role(&task.role)?)));
        known.map(|(task, runs, role)| Standing { task: task.clone(), stands: alone(role, &runs) }).collect()
    }
}

/// A task of a gang: its ending is for good, and the job decides about another attempt.
fn as_one<'a>(runs: &[&'a RunFacts]) -> Stands<'a> {
    match runs.last() {
        None => Stands::New,
        Some(run) if run.state.is_over() => Stands::Over(run),
        Some(run) => Stands::Lives(run),
    }
}

fn alone<'a>(role: &RolePlan, runs: &[&'a RunFacts]) -> Stands<'a> {
    let mut used = Used::default();
    let mut stands = Stands::New;
    for run in runs {
        let Some(ending) = run.ending.as_ref().filter(|_| run.state.is_over()) else { return Stands::Lives(run) };
        let ran_ms = ending.started_at_ms.map_or(0, |started| ending.ended_at_ms.saturating_sub(started));
        stands = match again(Retries::UpTo(role.task_retries), used, Class::of(ending), ran_ms) {
            Again::No { .. } => return Stands::Over(run),
            Again::Yes { used: more, reason } => {
                used = more;
                again_after(run, ending, used.pause_ms(), &reason)
            }
        };
    }
    stands
}

fn again_after<'a>(run: &RunFacts, ending: &Ending, pause_ms: u64, reason: &Words) -> Stands<'a> {
    let reason = ending.words().of(&run.task).then(reason).then(&waits_before(pause_ms, run.attempt + 1));
    Stands::Again { not_before_ms: ending.ended_at_ms + pause_ms, reason }
}

/// The pause between two tries, in words; nothing if there is none.
pub(crate) fn waits_before(pause_ms: u64, attempt: u32) -> Words {
    if pause_ms == 0 {
        return Words::default();
    }
    let pause = show_duration_ms(pause_ms);
    Words::new(format!("waits {pause} before attempt {attempt}"), format!("等待 {pause} 后进行第 {attempt} 次尝试"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{HouseRules, compile},
        task::Cause,
    };

    fn plan(yaml: &str) -> Plan {
        compile(&crate::spec::read(yaml).unwrap(), &HouseRules::default()).unwrap()
    }

    /// `worker-0.1+` reads: the first run of worker-0 succeeded; `-` failed, `?` is unknown, `~` lives.
    fn run(word: &str) -> RunFacts {
        let (rest, sign) = word.split_at(word.len() - 1);
        let (task, attempt) = rest.split_once('.').unwrap();
        let cause = match sign {
            "+" => Some(Cause::Exited { code: 0 }),
            "-" => Some(Cause::Exited { code: 3 }),
            "?" => Some(Cause::Unknown { why: "gone".into() }),
            "~" => None,
            other => panic!("no such sign {other}"),
        };
        let state = cause.as_ref().map_or(TaskState::Running, Cause::state);
        let ending = cause.map(|cause| Ending::new(cause, Some(0), 2000));
        RunFacts { task: task.parse().unwrap(), attempt: attempt.parse().unwrap(), state, ending, kept: None, end_order: None, sync: None }
    }

    fn said(plan: &Plan, runs: &str) -> String {
        let runs: Vec<RunFacts> = runs.split_whitespace().map(run).collect();
        let line = |it: &Standing<'_>| match &it.stands {
            Stands::New => format!("{} is new\n", it.task),
            Stands::Again { not_before_ms, reason } => format!("{} again at {not_before_ms}: {reason}\n", it.task),
            Stands::Lives(run) => format!("{} lives in attempt {}\n", it.task, run.attempt),
            Stands::Over(run) => format!("{} is {}\n", it.task, run.state.text()),
        };
        standings(plan, &runs).iter().map(line).collect()
    }

    #[test]
    fn a_task_that_is_no_part_of_a_gang_is_tried_again_alone() {
        let plan = plan("{name: j, gang: false, roles: {worker: {tasks: 7, retries: 2, command: train}}}");
        let runs =
            "worker-0.1+ worker-1.1~ worker-2.1- worker-3.1- worker-3.2- worker-4.1- worker-4.2- worker-4.3- worker-5.4- worker-5.5~";
        insta::assert_snapshot!(said(&plan, runs), @"
        worker-0 is succeeded
        worker-1 lives in attempt 1
        worker-2 again at 2000: worker-2 exited with code 3 after 2s; retry 1 of 2
        worker-3 again at 3000: worker-3 exited with code 3 after 2s; retry 2 of 2; waits 1s before attempt 3
        worker-4 is failed
        worker-5 lives in attempt 5
        worker-6 is new
        ");
    }

    #[test]
    fn a_failure_of_the_platform_costs_a_task_nothing() {
        let plan = plan("{name: j, gang: false, roles: {worker: {command: train}}}");
        insta::assert_snapshot!(said(&plan, "worker-0.1?"), @"worker-0 again at 2000: worker-0 nobody knows how it ended: gone after 2s; the failure was the platform's, so this retry does not count");
    }

    #[test]
    fn in_a_gang_an_ending_is_for_good() {
        let plan = plan("{name: j, retries: 3, roles: {worker: {tasks: 3, command: train}}}");
        insta::assert_snapshot!(said(&plan, "worker-0.2- worker-1.2? worker-2.2~"), @"
        worker-0 is failed
        worker-1 is unknown
        worker-2 lives in attempt 2
        ");
    }
}
