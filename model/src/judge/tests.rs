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
    let ending = cause.map(|cause| Ending::new(cause, Some(0), 2000));
    let end_order = ending.is_some().then_some(order);
    RunFacts { task: task.parse().unwrap(), attempt: 1, state, ending, kept: None, end_order, sync: None }
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
    assert_eq!(judged.reason.en, "main-0 exited with code 3 after 2s; retry 4, as often as it takes; waits 4s before attempt 5");
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
            plan(&format!("{{name: j, gang: false, roles: {{worker: {{tasks: 3, retries: 1, command: x, completion: {completion}}}}}}}"))
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

fn pending(why: &str) -> SyncState {
    SyncState::Pending { why: why.into() }
}

fn with(sync: SyncState, run: RunFacts) -> RunFacts {
    RunFacts { sync: Some(sync), ..run }
}

#[test]
fn a_job_is_not_over_before_its_output_is_saved_and_says_what_it_waits_for() {
    let plan = plan("{name: j, output: 'results:x', roles: {worker: {tasks: 2, command: train}}}");
    let done = |task, order| over(task, Cause::Exited { code: 0 }, order);
    let mut runs = [with(pending("2 of 14 files"), done("worker-0", 1)), with(pending(""), done("worker-1", 2))];
    let waits = "every task that counts has ended; /output of worker-0 is still being copied: 2 of 14 files; 1 more task waits for its own";
    assert_eq!(said(JobState::Running, &plan, &runs), format!("Decided: {waits}"));
    assert_eq!(said(JobState::Finishing, &plan, &runs), "nothing");
    let case = Case { state: JobState::Finishing, plan: &plan, attempt: 1, used: Used::default(), stop_by: None, runs: &runs };
    assert_eq!(holds_up(&case).unwrap().en, waits);
    assert_eq!(said(JobState::Stopping, &plan, &runs), "nothing", "a stop does not give up what was written");
    let saved = |skipped: &[&str]| {
        SyncState::Done(crate::sync::Synced { files: 1, bytes: 1, at_ms: 1, skipped: skipped.iter().map(ToString::to_string).collect() })
    };
    runs = [with(saved(&[]), done("worker-0", 1)), with(saved(&["a: is a pipe"]), done("worker-1", 2))];
    assert_eq!(
        said(JobState::Finishing, &plan, &runs),
        "AllGone(Succeeded): every task that counts has ended; not all of /output of worker-1 was copied: a: is a pipe"
    );
    assert_eq!(
        said(JobState::Stopping, &plan, &runs),
        "AllGone(Failed): stopped by ann; not all of /output of worker-1 was copied: a: is a pipe"
    );
}

#[test]
fn a_job_whose_output_is_not_saved_has_not_succeeded() {
    let plan = plan("{name: j, output: 'results:x', roles: {main: {command: train}}}");
    let given_up = || SyncState::GivenUp { why: "results:x does not let us in".into() };
    let runs = [with(given_up(), over("main-0", Cause::Exited { code: 0 }, 1))];
    assert_eq!(
        said(JobState::Finishing, &plan, &runs),
        "AllGone(Failed): its tasks succeeded, but /output of main-0 is not saved: results:x does not let us in; \
         the files are kept; `trainmaster sync j` tries again"
    );
    let runs = [with(given_up(), over("main-0", Cause::Exited { code: 3 }, 1))];
    assert_eq!(
        said(JobState::Finishing, &plan, &runs),
        "AllGone(Failed): main-0 exited with code 3 after 2s; no retries were asked for; /output of main-0 is not saved: \
         results:x does not let us in; the files are kept; `trainmaster sync j` tries again"
    );
}

#[test]
fn the_next_attempt_does_not_wait_for_the_output_of_the_last_one() {
    let plan = plan("{name: j, retries: 1, output: 'results:x', roles: {main: {command: train}}}");
    let runs = [with(pending(""), over("main-0", Cause::Exited { code: 3 }, 1))];
    assert_eq!(said(JobState::Running, &plan, &runs), "TryAgain: main-0 exited with code 3 after 2s; retry 1 of 1");
}
