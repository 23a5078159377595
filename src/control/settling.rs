//! Settling: what the runs that changed mean for their job.
//!
//! A report is settled in the same transaction that writes it down, so a job never stands in the
//! database between an ending and what follows from it. The sweep settles the rest.

use model::{
    ids::RunKey,
    job::{JobEvent, JobState, next},
    judge::{Case, Glance, Judgement, glance, holds_up, judge, stopped_by},
    order::Report,
    standing::RunFacts,
    task::{Cause, Ending, Kept},
    words::Words,
};

use super::{Control, now_ms, readable, syncing, timeline};
use crate::store::{
    Sql, StoreError, Written, commits,
    jobs::{self, Change, Job},
    runs::{self, Run, sync},
};

/// Judges every job that is placed and not over.
pub async fn turn(control: &Control) -> anyhow::Result<()> {
    let moved = control.store.write(|sql| jobs::unfinished(sql)?.iter().map(|job| settle(sql, job)).collect::<Result<Vec<_>, _>>()).await?;
    // A decided job has tasks to stop.
    if moved.contains(&Some(JobState::Finishing)) {
        control.nudge.runs();
    }
    Ok(())
}

/// Writes down what a supervisor says, and what follows for its job. Answers where the job went, if it moved.
///
/// An ending comes with its diagnosis: the catalogue was asked before, as that takes time.
pub fn take_report(sql: &Sql<'_>, run: &RunKey, report: &Report) -> Result<(Written, Option<JobState>), StoreError> {
    let job = readable(sql, run.job)?.filter(|job| !job.state.is_over() && job.state != JobState::Queued);
    let written = match report {
        Report::Preparing { what, zh } => jobs::set_starting_reason(sql, run, &Words::new(what, zh))?,
        Report::Code { commit } => return Ok((commits::found(sql, run, commit)?, None)),
        Report::Ready { at_ms } => return Ok((runs::ready(sql, run, *at_ms)?, None)),
        Report::Started { at_ms, pid, missing, steps, spoke_at_ms } => {
            timeline::prepared(sql, job.as_ref(), run, steps)?;
            let written = runs::started(sql, run, *at_ms, *pid, missing)?;
            timeline::spoke(sql, job.as_ref(), run, spoke_at_ms.zip(Some(*at_ms)))?;
            written
        }
        Report::Spoke { at_ms } => {
            timeline::spoke(sql, job.as_ref(), run, Some((*at_ms, *at_ms)))?;
            return Ok((Written::Yes, None));
        }
        Report::Kept { kept } => keep(sql, run, kept, job.as_ref())?,
        Report::Ended { ending } => end(sql, run, ending, job.as_ref())?,
        Report::Syncing { why } => sync::syncing(sql, run, why)?,
        Report::Synced { synced } => syncing::saved(sql, run, synced)?,
    };
    let moved = job.map(|job| settle(sql, &job)).transpose()?.flatten();
    Ok((written, moved))
}

/// The job goes on until the sandbox is given up, and says why.
fn keep(sql: &Sql<'_>, run: &RunKey, kept: &Kept, job: Option<&Job>) -> Result<Written, StoreError> {
    let written = runs::kept(sql, run, kept, now_ms())?;
    if let Some(job) = job.filter(|_| written == Written::Yes) {
        let _stale_is_fine = jobs::remark(sql, (job.id, job.state, job.attempt), &kept.words().of(&run.task))?;
    }
    Ok(written)
}

/// Where a supervisor vanished after its child had failed, it has told how before.
fn end(sql: &Sql<'_>, run: &RunKey, ending: &Ending, job: Option<&Job>) -> Result<Written, StoreError> {
    let known = match ending.cause {
        Cause::Unknown { .. } => runs::get(sql, run)?.and_then(|run| run.kept).map(|kept| kept.ending),
        Cause::Exited { .. }
        | Cause::Signaled { .. }
        | Cause::OutOfMemory { .. }
        | Cause::MachineMemory { .. }
        | Cause::OverDisk { .. }
        | Cause::Stopped { .. }
        | Cause::CannotStart { .. }
        | Cause::SetupFailed { .. } => None,
    };
    let ending = known.as_ref().unwrap_or(ending);
    timeline::lived(sql, job, run, ending)?;
    runs::ended(sql, run, ending, &why_stopped(job, &ending.cause), now_ms())
}

/// A supervisor that was told to stop does not know why; its job does.
fn why_stopped(job: Option<&Job>, cause: &Cause) -> Words {
    match (cause, job.map(|job| job.state)) {
        (Cause::Stopped { .. }, Some(JobState::Finishing)) => Words::new("because the job was decided", "因为作业的结果已定"),
        (Cause::Stopped { .. }, Some(JobState::Stopping)) => {
            let by = stopped_by(job.and_then(|job| job.stop_by.as_deref()));
            Words::new(format!("because the job was {}", by.en), format!("因为作业{}", by.zh))
        }
        (Cause::Stopped { .. }, _) => Words::new("though nobody asked us", "但没有人要求停止"),
        (
            Cause::Exited { .. }
            | Cause::Signaled { .. }
            | Cause::OutOfMemory { .. }
            | Cause::MachineMemory { .. }
            | Cause::OverDisk { .. }
            | Cause::CannotStart { .. }
            | Cause::SetupFailed { .. }
            | Cause::Unknown { .. },
            _,
        ) => Words::default(),
    }
}

pub fn settle(sql: &Sql<'_>, job: &Job) -> Result<Option<JobState>, StoreError> {
    let tally = if job.plan.gang { None } else { runs::tally(sql, job)? };
    match tally.map_or(Glance::LookCloser, |tally| glance(&job.plan, job.state, &tally)) {
        Glance::Nothing => Ok(None),
        Glance::AllUp => {
            let Ok(to) = next(job.state, JobEvent::AllUp) else { return Ok(None) };
            let written = advance(
                sql,
                job,
                to,
                Judgement { event: JobEvent::AllUp, reason: Words::default(), used: job.used, rule: Words::default() },
            )?;
            Ok((written == Written::Yes).then_some(to))
        }
        Glance::LookCloser => settle_by_every_run(sql, job),
    }
}

fn settle_by_every_run(sql: &Sql<'_>, job: &Job) -> Result<Option<JobState>, StoreError> {
    let Some(attempt) = attempt_of(sql, job)? else { return Ok(None) };
    let facts: Vec<RunFacts> = attempt.iter().map(Run::facts).collect();
    let (state, plan, attempt, used, stop_by) = (job.state, &job.plan, job.attempt, job.used, job.stop_by.as_deref());
    let case = Case { state, plan, attempt, used, stop_by, runs: &facts };
    let Some(judgement) = judge(&case) else {
        return remark(sql, job, holds_up(&case)).map(|()| None);
    };
    let Ok(to) = next(job.state, judgement.event) else { return Ok(None) };
    let written = advance(sql, job, to, judgement)?;
    Ok((written == Written::Yes).then_some(to))
}

/// While one of its runs cannot be read, nothing is concluded from the others: that one may still live.
fn attempt_of(sql: &Sql<'_>, job: &Job) -> Result<Option<Vec<Run>>, StoreError> {
    if job.plan.gang {
        let gang = runs::of_attempt(sql, job.id, job.attempt)?;
        return Ok((gang.len() >= job.plan.task_count() as usize).then_some(gang));
    }
    runs::whole(sql, job.id, job.attempt)
}

/// Says what keeps a job from being over. Writes nothing, and so wakes nobody, if that is already what it says.
fn remark(sql: &Sql<'_>, job: &Job, why: Option<Words>) -> Result<(), StoreError> {
    if let Some(why) = why.filter(|why| *why != job.reason) {
        let _stale_is_fine = jobs::remark(sql, (job.id, job.state, job.attempt), &why)?;
    }
    Ok(())
}

fn advance(sql: &Sql<'_>, job: &Job, to: JobState, judgement: Judgement) -> Result<Written, StoreError> {
    let used = (judgement.event == JobEvent::TryAgain).then_some(judgement.used);
    let reason = Some(judgement.reason);
    let written = jobs::advance(sql, (job.id, job.state, job.attempt), &Change { to, reason, at_ms: now_ms(), used, stop_by: None })?;
    // What fails without one must not keep the rule of an earlier try.
    if written == Written::Yes && (to == JobState::Failed || !judgement.rule.is_empty()) {
        jobs::set_rule(sql, job.id, &judgement.rule)?;
    }
    Ok(written)
}
