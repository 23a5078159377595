//! Looks at the runs of a job's attempt and says what that means for the job.

use std::collections::BTreeMap;

use crate::{
    completion::{Counts, Verdict, is_decided, verdict},
    ids::RoleName,
    job::{JobEvent, JobState, Outcome},
    plan::{Plan, Retries},
    retry::{Again, Class, Used, again},
    standing::{RunFacts, Stands, Tally, standings, waits_before},
    sync::SyncState,
    task::TaskState,
    words::Words,
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
    pub reason: Words,
    pub used: Used,
    /// The rule that decided whether it is tried again; empty where there was nothing to decide.
    pub rule: Words,
}

/// Says which event the runs amount to, if any. A job is not over while anything of its last attempt is still to be copied
/// out: what waits for that is decided, and no more.
pub fn judge(case: &Case) -> Option<Judgement> {
    let tasks = Tasks::of(case);
    let judgement = outcome(case, &tasks)?;
    if !ends_the_job(judgement.event) {
        return Some(judgement);
    }
    match unsaved(&tasks) {
        Some(what) => is_open(case.state).then(|| Judgement {
            event: JobEvent::Decided,
            reason: judgement.reason.then(&what),
            used: case.used,
            rule: Words::default(),
        }),
        None => Some(with_losses(case, &tasks, judgement)),
    }
}

/// Why a job that is decided is not over, though nothing of it runs any more.
pub fn holds_up(case: &Case) -> Option<Words> {
    let tasks = Tasks::of(case);
    let judgement = outcome(case, &tasks).filter(|it| ends_the_job(it.event))?;
    Some(judgement.reason.then(&unsaved(&tasks)?))
}

fn ends_the_job(event: JobEvent) -> bool {
    match event {
        JobEvent::AllGone(_) | JobEvent::HadFailed => true,
        JobEvent::Placed
        | JobEvent::AllUp
        | JobEvent::Decided
        | JobEvent::StopAsked
        | JobEvent::TryAgain
        | JobEvent::LostSight
        | JobEvent::SeenAgain => false,
    }
}

fn unsaved(tasks: &Tasks) -> Option<Words> {
    let pending = |run: &&RunFacts| match &run.sync {
        Some(SyncState::Pending { why }) => Some((run.task.clone(), why.clone())),
        Some(SyncState::Done(_) | SyncState::GivenUp { .. }) | None => None,
    };
    let mut waiting = tasks.ended.iter().filter_map(pending);
    let (task, why) = waiting.next()?;
    let others = match waiting.count() {
        0 => Words::default(),
        1 => Words::new("1 more task waits for its own", "还有 1 个任务在等待"),
        count => Words::new(format!("{count} more tasks wait for theirs"), format!("还有 {count} 个任务在等待")),
    };
    let (en, zh) = if why.is_empty() { (String::new(), String::new()) } else { (format!(": {why}"), format!("：{why}")) };
    Some(Words::new(format!("/output of {task} is still being copied{en}"), format!("{task} 的 /output 仍在拷贝{zh}")).then(&others))
}

/// What did not come out of it is said; and a job whose results are not saved has not succeeded.
fn with_losses(case: &Case, tasks: &Tasks, judgement: Judgement) -> Judgement {
    let given_up = tasks.ended.iter().find_map(|run| match &run.sync {
        Some(SyncState::GivenUp { why }) => {
            Some(Words::new(format!("/output of {} is not saved: {why}", run.task), format!("{} 的 /output 没有保存：{why}", run.task)))
        }
        Some(SyncState::Pending { .. } | SyncState::Done(_)) | None => None,
    });
    if let Some(lost) = given_up {
        let name = &case.plan.name;
        let again = Words::new(
            format!("the files are kept; `trainmaster sync {name}` tries again"),
            format!("文件已保留；`trainmaster sync {name}` 可再次尝试"),
        );
        if judgement.event == JobEvent::AllGone(Outcome::Succeeded) {
            let reason = Words::new(format!("its tasks succeeded, but {}", lost.en), format!("任务都成功了，但 {}", lost.zh)).then(&again);
            return Judgement { event: JobEvent::AllGone(Outcome::Failed), reason, ..judgement };
        }
        return Judgement { reason: judgement.reason.then(&lost).then(&again), ..judgement };
    }
    let left_out = tasks.ended.iter().find_map(|run| match &run.sync {
        Some(SyncState::Done(synced)) => Some((&run.task, synced.skipped.first()?)),
        Some(SyncState::Pending { .. } | SyncState::GivenUp { .. }) | None => None,
    });
    match left_out {
        Some((task, first)) => {
            let en = format!("not all of /output of {task} was copied: {first}");
            let left_out = Words::new(en, format!("{task} 的 /output 没有全部拷贝：{first}"));
            Judgement { reason: judgement.reason.then(&left_out), ..judgement }
        }
        None => judgement,
    }
}

fn outcome(case: &Case, tasks: &Tasks) -> Option<Judgement> {
    let say = |event, reason: Words| Some(Judgement { event, reason, used: case.used, rule: Words::default() });
    if !tasks.anyone_lives && case.state == JobState::Stopping {
        let stopped = stopped_by(case.stop_by);
        let meanwhile = Words::new(format!("{} while its sandbox was kept", stopped.en), format!("沙箱保留期间{}", stopped.zh));
        return match tasks.had_failed(case.plan) {
            Some(what) => say(JobEvent::HadFailed, what.then(&meanwhile)),
            None => say(JobEvent::AllGone(Outcome::Failed), stopped),
        };
    }
    let ended: Vec<_> = tasks.ended.iter().map(|it| (it.task.role.clone(), it.state)).collect();
    match verdict(&case.plan.roles, &ended) {
        Verdict::Decided { reason, .. } if tasks.anyone_lives => say(JobEvent::Decided, reason).filter(|_| is_open(case.state)),
        Verdict::Undecided if tasks.anyone_lives || tasks.anyone_waits => {
            say(JobEvent::AllUp, Words::default()).filter(|_| case.state == JobState::Starting && tasks.all_up)
        }
        Verdict::Decided { outcome: Outcome::Succeeded, reason, .. } => Some(concluded(case, Class::Success, reason)),
        Verdict::Decided { outcome: Outcome::Failed, by, .. } => Some(after_failure(case, by.map(|position| tasks.ended[position]))),
        Verdict::Undecided => Some(after_failure(case, None)),
    }
}

/// Who ended it. Its maximum duration stands there as the one who did.
pub fn stopped_by(who: Option<&str>) -> Words {
    let who = who.unwrap_or("someone");
    match who.strip_prefix("its maximum duration of ") {
        Some(most) => Words::new(format!("stopped by {who}"), format!("因达到时长上限 {most} 而被停止")),
        None => Words::new(format!("stopped by {who}"), format!("被 {who} 停止")),
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
    fn had_failed(&self, plan: &Plan) -> Option<Words> {
        let kept: Vec<&RunFacts> = self.ended.iter().copied().filter(|run| run.kept.is_some()).collect();
        let ended: Vec<_> = kept.iter().map(|run| (run.task.role.clone(), run.state)).collect();
        match verdict(&plan.roles, &ended) {
            Verdict::Decided { outcome: Outcome::Failed, by, .. } => {
                let run = kept[by?];
                Some(run.ending.as_ref()?.words().of(&run.task))
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
        return concluded(
            case,
            Class::Platform,
            Words::new("its tasks ended without deciding the job", "任务都结束了，但没有决定作业的结果"),
        );
    };
    let (what, class) = (ending.words().of(&run.task), Class::of(ending));
    if case.plan.gang {
        return concluded(case, class, what);
    }
    // A task that is tried again alone was tried as often as it goes.
    let tries = case.runs.iter().filter(|it| it.task == run.task).count();
    let what = if tries > 1 { Words::new(format!("{}, at try {tries}", what.en), format!("{}，第 {tries} 次", what.zh)) } else { what };
    let said_all = match (class, case.plan.retries) {
        (Class::Platform | Class::Crowded, Retries::UpTo(_) | Retries::Always) => true,
        (Class::User | Class::Bounded, Retries::UpTo(0)) => tries > 1,
        (Class::Success | Class::User | Class::Bounded | Class::Permanent | Class::Platform | Class::Crowded, _) => false,
    };
    if said_all {
        let rule = Words::new("the task was tried as often as its role allows", "该任务已按角色允许的次数尝试过");
        Judgement { event: JobEvent::AllGone(Outcome::Failed), reason: what, used: case.used, rule }
    } else {
        concluded(case, class, what)
    }
}

/// The attempt is over and this is `what` came of it: the retries decide whether the job is.
fn concluded(case: &Case, class: Class, what: Words) -> Judgement {
    let outcome = if class == Class::Success { Outcome::Succeeded } else { Outcome::Failed };
    match again(case.plan.retries, case.used, class, ran_ms(case.runs)) {
        Again::Yes { used, reason } => {
            let pause = waits_before(used.pause_ms(), case.attempt + 1);
            Judgement { event: JobEvent::TryAgain, reason: what.then(&reason).then(&pause), used, rule: reason }
        }
        Again::No { .. } if class == Class::Success => {
            Judgement { event: JobEvent::AllGone(outcome), reason: what, used: case.used, rule: Words::default() }
        }
        Again::No { reason } => Judgement { event: JobEvent::AllGone(outcome), reason: what.then(&reason), used: case.used, rule: reason },
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
mod tests;
