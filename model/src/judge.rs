//! Looks at the runs of a job's attempt and says what that means for the job.

use std::collections::BTreeMap;

use crate::{
    completion::{Counts, Verdict, is_decided, verdict},
    ids::RoleName,
    job::{JobEvent, JobState, Outcome},
    plan::{Plan, Retries},
    resources::show_duration_ms,
    retry::{Again, Class, Used, again},
    standing::{RunFacts, Stands, Tally, standings},
    task::TaskState,
};

/// A job as far as judging it needs.
pub struct Case<'a> {
    pub state: JobState,
    pub plan: &'a Plan,
    pub attempt: u32,
    pub used: Used,
    /// Who asked for the stop, if someone did.
    pub stop_by: Option<&'a str>,
    /// Every run of the current attempt.
    pub runs: &'a [RunFacts],
}

/// What should happen to the job now.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    pub event: JobEvent,
    pub reason: String,
    pub used: Used,
}

/// Says which event the runs amount to, if any.
pub fn judge(case: &Case) -> Option<Judgement> {
    let tasks = Tasks::of(case);
    let say = |event, reason: String| Some(Judgement { event, reason, used: case.used });
    if !tasks.anyone_lives && case.state == JobState::Stopping {
        let stopped = format!("stopped by {}", case.stop_by.unwrap_or("someone"));
        return match tasks.had_failed(case.plan) {
            Some(what) => say(JobEvent::HadFailed, format!("{what}; {stopped} while its sandbox was kept")),
            None => say(JobEvent::AllGone(Outcome::Failed), stopped),
        };
    }
    let ended: Vec<_> = tasks.ended.iter().map(|it| (it.task.role.clone(), it.state)).collect();
    match verdict(&case.plan.roles, &ended) {
        Verdict::Decided { reason, .. } if tasks.anyone_lives => say(JobEvent::Decided, reason).filter(|_| is_open(case.state)),
        Verdict::Undecided if tasks.anyone_lives || tasks.anyone_waits => {
            say(JobEvent::AllUp, String::new()).filter(|_| case.state == JobState::Starting && tasks.all_up)
        }
        Verdict::Decided { outcome: Outcome::Succeeded, reason, .. } => Some(concluded(case, Class::Success, reason)),
        Verdict::Decided { outcome: Outcome::Failed, by, .. } => Some(after_failure(case, by.map(|position| tasks.ended[position]))),
        Verdict::Undecided => Some(after_failure(case, None)),
    }
}

/// What a quick look at a job that is no gang shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Glance {
    /// It goes on as it is.
    Nothing,
    /// Everyone who was placed has started.
    AllUp,
    /// Its outcome may be decided: [`judge`] has to see every run.
    LookCloser,
}

/// Looks at a job whose outcome was open until now. No ending meets two policies at once, so it does not matter in
/// which order they came.
pub fn glance(plan: &Plan, state: JobState, tally: &Tally) -> Glance {
    let mut counts: BTreeMap<&RoleName, Counts> =
        plan.roles.iter().map(|role| (&role.name, Counts::of_successes(tally.placed(&role.name).succeeded))).collect();
    let mut goes_on = plan.roles.iter().any(|role| tally.placed(&role.name).new_tasks(role).next().is_some());
    let mut all_up = tally.roles.values().any(|it| it.first > 0);
    let standings = tally.standings(plan);
    for it in &standings {
        match it.stands {
            Stands::New | Stands::Again { .. } => goes_on = true,
            Stands::Lives(run) => {
                goes_on = true;
                all_up &= run.state != TaskState::Starting;
            }
            Stands::Over(run) => counts.entry(&it.task.role).or_default().add(run.state),
        }
    }
    if !goes_on || is_decided(&plan.roles, &counts) || !is_open(state) {
        Glance::LookCloser
    } else if state == JobState::Starting && all_up {
        Glance::AllUp
    } else {
        Glance::Nothing
    }
}

/// The tasks of a job's attempt, as far as judging it goes.
struct Tasks<'a> {
    /// Those that are over for good, in the order of their endings.
    ended: Vec<&'a RunFacts>,
    anyone_lives: bool,
    anyone_waits: bool,
    /// Whether everyone who was placed has started.
    all_up: bool,
}

impl<'a> Tasks<'a> {
    fn of(case: &Case<'a>) -> Self {
        let mut tasks = Self { ended: Vec::new(), anyone_lives: false, anyone_waits: false, all_up: !case.runs.is_empty() };
        for it in standings(case.plan, case.runs) {
            match it.stands {
                Stands::New | Stands::Again { .. } => tasks.anyone_waits = true,
                Stands::Lives(run) => {
                    tasks.anyone_lives = true;
                    tasks.all_up &= run.state != TaskState::Starting;
                }
                Stands::Over(run) => tasks.ended.push(run),
            }
        }
        tasks.ended.sort_by_key(|run| run.end_order);
        tasks
    }
}

impl Tasks<'_> {
    /// What failed the job before it was stopped: the child's own ending is the truth, however long its sandbox was kept.
    fn had_failed(&self, plan: &Plan) -> Option<String> {
        let kept: Vec<&RunFacts> = self.ended.iter().copied().filter(|run| run.kept.is_some()).collect();
        let ended: Vec<_> = kept.iter().map(|run| (run.task.role.clone(), run.state)).collect();
        match verdict(&plan.roles, &ended) {
            Verdict::Decided { outcome: Outcome::Failed, by, .. } => {
                let run = kept[by?];
                Some(format!("{} {}", run.task, run.ending.as_ref()?))
            }
            Verdict::Decided { outcome: Outcome::Succeeded, .. } | Verdict::Undecided => None,
        }
    }
}

/// Whether the outcome can still be decided, and was not before.
fn is_open(state: JobState) -> bool {
    match state {
        JobState::Starting | JobState::Running | JobState::Unknown => true,
        JobState::Queued | JobState::Finishing | JobState::Stopping | JobState::Succeeded | JobState::Failed | JobState::Stopped => false,
    }
}

fn after_failure(case: &Case, culprit: Option<&RunFacts>) -> Judgement {
    let Some((run, ending)) = culprit.and_then(|run| Some((run, run.ending.as_ref()?))) else {
        return concluded(case, Class::Platform, "its tasks ended without deciding the job".into());
    };
    let (what, class) = (format!("{} {ending}", run.task), Class::of(&ending.cause));
    if case.plan.gang {
        return concluded(case, class, what);
    }
    // A task that is tried again alone was tried as often as it goes.
    let tries = case.runs.iter().filter(|it| it.task == run.task).count();
    let what = if tries > 1 { format!("{what}, at try {tries}") } else { what };
    let said_all = match (class, case.plan.retries) {
        (Class::Platform, Retries::UpTo(_) | Retries::Always) => true,
        (Class::User, Retries::UpTo(0)) => tries > 1,
        (Class::Success | Class::User | Class::Permanent | Class::Platform, _) => false,
    };
    if said_all {
        Judgement { event: JobEvent::AllGone(Outcome::Failed), reason: what, used: case.used }
    } else {
        concluded(case, class, what)
    }
}

/// The attempt is over and this is `what` came of it: the retries decide whether the job is.
fn concluded(case: &Case, class: Class, what: String) -> Judgement {
    let outcome = if class == Class::Success { Outcome::Succeeded } else { Outcome::Failed };
    match again(case.plan.retries, case.used, class, ran_ms(case.runs)) {
        Again::Yes { used, reason } => {
            let pause = match used.pause_ms() {
                0 => String::new(),
                pause_ms => format!("; waits {} before attempt {}", show_duration_ms(pause_ms), case.attempt + 1),
            };
            Judgement { event: JobEvent::TryAgain, reason: format!("{what}; {reason}{pause}"), used }
        }
        Again::No { .. } if class == Class::Success => Judgement { event: JobEvent::AllGone(outcome), reason: what, used: case.used },
        Again::No { reason } => Judgement { event: JobEvent::AllGone(outcome), reason: format!("{what}; {reason}"), used: case.used },
    }
}

/// From the first start to the last end.
fn ran_ms(runs: &[RunFacts]) -> u64 {
    let endings = || runs.iter().filter_map(|run| run.ending.as_ref());
    let began = endings().filter_map(|ending| ending.started_at_ms).min();
    let over = endings().map(|ending| ending.ended_at_ms).max();
    over.zip(began).map_or(0, |(over, began)| over.saturating_sub(began))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::{HouseRules, compile},
        task::{Cause, Ending},
    };

    fn plan(yaml: &str) -> Plan {
        let house = HouseRules::default();
        compile(&crate::spec::read(yaml).unwrap(), &house).unwrap()
    }

    fn two_workers_and_a_ps(retries: u32) -> Plan {
        plan(&format!("{{name: j, retries: {retries}, roles: {{ps: {{command: serve}}, worker: {{tasks: 2, command: train}}}}}}"))
    }

    fn run(task: &str, state: TaskState, cause: Option<Cause>, order: u64) -> RunFacts {
        let ending = cause.map(|cause| Ending { cause, started_at_ms: Some(0), ended_at_ms: 2000, peak_memory_bytes: None, cpu_ms: None });
        let end_order = ending.is_some().then_some(order);
        RunFacts { task: task.parse().unwrap(), attempt: 1, state, ending, kept: None, end_order }
    }

    fn live(task: &str, state: TaskState) -> RunFacts {
        run(task, state, None, 0)
    }

    fn over(task: &str, cause: Cause, order: u64) -> RunFacts {
        run(task, cause.state(), Some(cause), order)
    }

    fn said(state: JobState, plan: &Plan, runs: &[RunFacts]) -> String {
        let case = Case { state, plan, attempt: 1, used: Used::default(), stop_by: Some("ann"), runs };
        judge(&case).map_or("nothing".into(), |it| format!("{:?}: {}", it.event, it.reason).trim_end().to_owned())
    }

    #[test]
    fn a_job_is_up_when_every_task_is() {
        let plan = two_workers_and_a_ps(0);
        let mut runs = [live("ps-0", TaskState::Running), live("worker-0", TaskState::Running), live("worker-1", TaskState::Starting)];
        assert_eq!(said(JobState::Starting, &plan, &runs), "nothing");
        runs[2].state = TaskState::Running;
        assert_eq!(said(JobState::Starting, &plan, &runs), "AllUp:");
        assert_eq!(said(JobState::Running, &plan, &runs), "nothing");
    }

    #[test]
    fn when_the_workers_are_done_the_parameter_server_is_stopped_and_the_job_succeeds() {
        let plan = two_workers_and_a_ps(0);
        let done = |task, order| over(task, Cause::Exited { code: 0 }, order);
        let mut runs = [live("ps-0", TaskState::Running), done("worker-0", 1), done("worker-1", 2)];
        assert_eq!(said(JobState::Running, &plan, &runs), "Decided: every task that counts has ended");
        assert_eq!(said(JobState::Finishing, &plan, &runs), "nothing");
        runs[0] = over("ps-0", Cause::Stopped { killed: true }, 3);
        assert_eq!(said(JobState::Finishing, &plan, &runs), "AllGone(Succeeded): every task that counts has ended");
    }

    #[test]
    fn the_first_failure_in_time_is_the_reason_and_the_retry_follows_its_blame() {
        let plan = two_workers_and_a_ps(1);
        let runs = [
            over("ps-0", Cause::Stopped { killed: false }, 3),
            over("worker-0", Cause::Stopped { killed: false }, 2),
            over("worker-1", Cause::Exited { code: 3 }, 1),
        ];
        assert_eq!(said(JobState::Finishing, &plan, &runs), "TryAgain: worker-1 exited with code 3 after 2s; retry 1 of 1");
        let no_retries = two_workers_and_a_ps(0);
        assert_eq!(
            said(JobState::Finishing, &no_retries, &runs),
            "AllGone(Failed): worker-1 exited with code 3 after 2s; no retries were asked for"
        );
    }

    #[test]
    fn a_lost_supervisor_is_the_platforms_failure_and_costs_no_retry() {
        let plan = plan("{name: j, roles: {main: {command: train}}}");
        let runs = [over("main-0", Cause::Unknown { why: "its supervisor was killed".into() }, 1)];
        assert_eq!(
            said(JobState::Running, &plan, &runs),
            "TryAgain: main-0 nobody knows how it ended: its supervisor was killed after 2s; \
             the failure was the platform's, so this retry does not count"
        );
    }

    #[test]
    fn a_stopped_job_is_stopped_however_its_tasks_ended() {
        let plan = plan("{name: j, roles: {main: {command: train}}}");
        let runs = [over("main-0", Cause::Exited { code: 0 }, 1)];
        assert_eq!(said(JobState::Stopping, &plan, &runs), "AllGone(Failed): stopped by ann");
    }

    #[test]
    fn a_job_for_ever_starts_again_after_success_too_until_it_is_stopped() {
        let plan = plan("{name: j, retries: forever, roles: {main: {command: serve}}}");
        let runs = [over("main-0", Cause::Exited { code: 0 }, 1)];
        assert_eq!(
            said(JobState::Running, &plan, &runs),
            "TryAgain: every task that counts has ended; it is started again whenever it is over"
        );
        assert_eq!(said(JobState::Stopping, &plan, &runs), "AllGone(Failed): stopped by ann");
    }

    #[test]
    fn a_job_that_dies_again_and_again_waits_longer_each_time_and_says_how_long() {
        let plan = plan("{name: j, retries: always, roles: {main: {command: train}}}");
        let runs = [over("main-0", Cause::Exited { code: 3 }, 1)];
        let used = Used { for_user: 3, for_platform: 0, in_a_row: 3 };
        let case = Case { state: JobState::Running, plan: &plan, attempt: 4, used, stop_by: None, runs: &runs };
        let judged = judge(&case).unwrap();
        assert_eq!(judged.used, Used { for_user: 4, for_platform: 0, in_a_row: 4 });
        assert_eq!(judged.reason, "main-0 exited with code 3 after 2s; retry 4, as often as it takes; waits 4s before attempt 5");
    }

    #[test]
    fn what_can_never_start_is_not_tried_again() {
        let plan = plan("{name: j, retries: always, roles: {main: {command: pyhton3}}}");
        let cause = Cause::CannotStart { why: "no program `pyhton3` in PATH".into(), whose: crate::task::Whose::User };
        assert_eq!(
            said(JobState::Running, &plan, &[over("main-0", cause, 1)]),
            "AllGone(Failed): main-0 could not start: no program `pyhton3` in PATH after 2s; a retry would end the same way"
        );
    }

    fn in_attempt(attempt: u32, run: RunFacts) -> RunFacts {
        RunFacts { attempt, ..run }
    }

    #[test]
    fn a_job_that_is_no_gang_runs_as_soon_as_what_is_placed_of_it_does() {
        let plan = plan("{name: j, gang: false, roles: {worker: {tasks: 3, command: train}}}");
        assert_eq!(said(JobState::Starting, &plan, &[live("worker-0", TaskState::Starting)]), "nothing");
        assert_eq!(said(JobState::Starting, &plan, &[live("worker-0", TaskState::Running)]), "AllUp:");
        let over_in_a_blink = [over("worker-0", Cause::Exited { code: 0 }, 1)];
        assert_eq!(said(JobState::Starting, &plan, &over_in_a_blink), "AllUp:");
        assert_eq!(said(JobState::Running, &plan, &over_in_a_blink), "nothing");
        let all = ["worker-0", "worker-1", "worker-2"].map(|task| over(task, Cause::Exited { code: 0 }, 1));
        assert_eq!(said(JobState::Running, &plan, &all), "AllGone(Succeeded): every task that counts has ended");
    }

    #[test]
    fn a_task_that_will_be_tried_again_has_not_failed() {
        let plan = plan("{name: j, gang: false, roles: {worker: {tasks: 2, retries: 1, command: train}}}");
        let failed = |attempt, order| in_attempt(attempt, over("worker-0", Cause::Exited { code: 3 }, order));
        let lives = || live("worker-1", TaskState::Running);
        assert_eq!(said(JobState::Running, &plan, &[failed(1, 1), lives()]), "nothing");
        assert_eq!(said(JobState::Running, &plan, &[failed(1, 1)]), "nothing");
        let twice = [failed(1, 1), failed(2, 2), lives()];
        assert_eq!(said(JobState::Running, &plan, &twice), "Decided: 1 of 2 worker tasks failed; 1 decide");
        let stopped = [failed(1, 1), failed(2, 2), over("worker-1", Cause::Stopped { killed: false }, 3)];
        assert_eq!(said(JobState::Finishing, &plan, &stopped), "AllGone(Failed): worker-0 exited with code 3 after 2s, at try 2");
    }

    #[test]
    fn a_job_that_is_no_gang_is_stopped_when_nothing_of_it_lives_whatever_waits() {
        let plan = plan("{name: j, gang: false, roles: {worker: {tasks: 9, command: train}}}");
        assert_eq!(said(JobState::Stopping, &plan, &[live("worker-0", TaskState::Running)]), "nothing");
        assert_eq!(
            said(JobState::Stopping, &plan, &[over("worker-0", Cause::Stopped { killed: false }, 1)]),
            "AllGone(Failed): stopped by ann"
        );
        assert_eq!(said(JobState::Stopping, &plan, &[]), "AllGone(Failed): stopped by ann");
    }

    #[test]
    fn the_retries_of_a_job_that_is_no_gang_start_all_of_it_again() {
        let plan = plan("{name: j, gang: false, retries: 2, roles: {worker: {tasks: 2, command: train}}}");
        let runs = [over("worker-0", Cause::Exited { code: 3 }, 1), over("worker-1", Cause::Exited { code: 0 }, 2)];
        assert_eq!(said(JobState::Running, &plan, &runs), "TryAgain: worker-0 exited with code 3 after 2s; retry 1 of 2");
    }

    #[test]
    fn a_job_that_is_stopped_while_the_sandbox_of_its_failed_task_is_kept_has_failed() {
        let plan = plan("{name: j, keep_failed: 30m, roles: {main: {tasks: 2, command: train}}}");
        let mut failed = over("main-0", Cause::Exited { code: 3 }, 2);
        failed.kept = failed.ending.clone().map(|ending| crate::task::Kept { ending, until_ms: 9000, pid: 7 });
        let runs = [failed, over("main-1", Cause::Stopped { killed: false }, 1)];
        assert_eq!(
            said(JobState::Stopping, &plan, &runs),
            "HadFailed: main-0 exited with code 3 after 2s; stopped by ann while its sandbox was kept"
        );
    }

    /// The tally that a database would give for these runs.
    fn tally(plan: &Plan, runs: &[RunFacts]) -> Tally {
        let mut tally = Tally::default();
        for role in &plan.roles {
            let own: Vec<&RunFacts> = runs.iter().filter(|run| run.task.role == role.name).collect();
            let there = |index: &u32| own.iter().any(|run| run.task.index == *index);
            let first = (0..role.tasks).filter(there).max().map_or(0, |last| last + 1);
            let left_out = (0..first).filter(|index| !there(index)).collect();
            let good = |index: &u32| own.iter().any(|run| run.task.index == *index && run.state == TaskState::Succeeded);
            let succeeded = (0..role.tasks).filter(good).count() as u32;
            tally.roles.insert(role.name.clone(), crate::standing::Placed { first, left_out, succeeded });
            tally.rest.extend(own.iter().filter(|run| !good(&run.task.index)).map(|run| (*run).clone()));
        }
        tally
    }

    #[test]
    fn a_glance_at_a_job_that_is_no_gang_sees_what_a_closer_look_does() {
        let plans =
            ["{}", "{min_failed: 2}", "{min_succeeded: 2}", "{min_failed: never}", "{min_failed: 2, min_succeeded: 1}"].map(|completion| {
                plan(&format!(
                    "{{name: j, gang: false, roles: {{worker: {{tasks: 3, retries: 1, command: x, completion: {completion}}}}}}}"
                ))
            });
        let fates = |task: &str, order| {
            [
                vec![],
                vec![live(task, TaskState::Starting)],
                vec![live(task, TaskState::Running)],
                vec![over(task, Cause::Exited { code: 0 }, order)],
                vec![over(task, Cause::Exited { code: 3 }, order)],
                vec![over(task, Cause::Exited { code: 3 }, order), in_attempt(2, over(task, Cause::Exited { code: 3 }, order + 10))],
                vec![over(task, Cause::Exited { code: 3 }, order), in_attempt(2, over(task, Cause::Exited { code: 0 }, order + 10))],
                vec![over(task, Cause::Stopped { killed: false }, order)],
            ]
        };
        let mut seen = [0; 3];
        for plan in &plans {
            for (first, second, third) in fates("worker-0", 1)
                .iter()
                .flat_map(|a| fates("worker-1", 2).into_iter().map(move |b| (a.clone(), b)))
                .flat_map(|(a, b)| fates("worker-2", 3).into_iter().map(move |c| (a.clone(), b.clone(), c)))
            {
                let runs = [first, second, third].concat();
                for state in [JobState::Starting, JobState::Running] {
                    let case = Case { state, plan, attempt: 1, used: Used::default(), stop_by: None, runs: &runs };
                    let judged = judge(&case).map(|it| it.event);
                    match glance(plan, state, &tally(plan, &runs)) {
                        Glance::Nothing => {
                            seen[0] += 1;
                            assert_eq!(judged, None, "{runs:?}");
                        }
                        Glance::AllUp => {
                            seen[1] += 1;
                            assert_eq!(judged, Some(JobEvent::AllUp), "{runs:?}");
                        }
                        Glance::LookCloser => seen[2] += 1,
                    }
                }
            }
        }
        assert!(seen.iter().all(|count| *count > 100), "{seen:?}");
    }
}
