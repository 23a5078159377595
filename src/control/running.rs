//! Running: what should run against what does.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::{Duration, Instant},
};

use model::{
    code::{CodePlan, GitPlan, git::is_commit},
    gang::LAUNCH_LABEL,
    ids::{JobId, RunKey, TaskName},
    job::{JobEvent, JobState, next},
    layout,
    order::{Limits, Report, RunOrder},
    plan::Plan,
    reconcile::{Action, Phase, Wanted, decide},
    rendezvous::{Gang, Peers, Place, Rendezvous},
    task::{Cause, Ending, Whose},
    words::Words,
};

use super::{Control, gang_order, now_ms, placing::Placed, queue, readable, take_report};
use crate::{
    engine::{EngineError, Start},
    store::{
        Sql, StoreError,
        jobs::{self, Change, Job},
        quarantine,
        runs::{self, Run},
        volumes,
    },
};

/// How long an engine may be away before its jobs are called unknown. Nothing else follows from it.
const LOST_SIGHT_AFTER: Duration = Duration::from_secs(10);
/// Threads count as well, and frameworks make many for each CPU. A fork bomb should still be a small one.
const PROCESSES_FOR_ANY_TASK: u64 = 1_024;
const PROCESSES_PER_CPU: u64 = 1_024;

/// Since when the engine has not answered.
pub struct Sight {
    away_since: Option<Instant>,
    lost: bool,
}

impl Default for Sight {
    /// The server before this one may have lost sight of its jobs, so the first look begins by saying
    /// that they are seen again.
    fn default() -> Self {
        Self { away_since: None, lost: true }
    }
}

pub async fn turn(control: &Control, sight: &mut Sight) -> anyhow::Result<()> {
    let look = control.nudge.on_the_way().look();
    let mut seen = match control.engine.list().await {
        Ok(seen) => seen,
        Err(error) => return lose_sight(control, sight, &error).await,
    };
    sight.away_since = None;
    if sight.lost {
        move_unfinished(control, JobEvent::SeenAgain, "the engine answers again".into()).await?;
        sight.lost = false;
    }
    let keys: Vec<RunKey> = seen.iter().map(|it| it.run.clone()).collect();
    let Known { mut wanted, mut untouchable, unheard_of } = control.store.read(move |sql| read_known(sql, &keys)).await?;
    let on_the_way = look.met();
    untouchable.extend(unheard_of.iter().cloned());
    note_lost_if_still_seen(control, unheard_of).await?;
    wanted.retain(|it| !on_the_way.contains(&it.run));
    seen.retain(|it| !untouchable.contains(&it.run) && !on_the_way.contains(&it.run));
    for action in decide(&wanted, &seen) {
        apply(control, action).await?;
    }
    Ok(())
}

async fn lose_sight(control: &Control, sight: &mut Sight, error: &EngineError) -> anyhow::Result<()> {
    let since = *sight.away_since.get_or_insert_with(Instant::now);
    if !sight.lost && since.elapsed() > LOST_SIGHT_AFTER {
        move_unfinished(
            control,
            JobEvent::LostSight,
            Words::new(format!("its engine does not answer: {error}"), format!("它的引擎没有应答：{error}")),
        )
        .await?;
        sight.lost = true;
    }
    Ok(())
}

async fn move_unfinished(control: &Control, event: JobEvent, reason: Words) -> anyhow::Result<()> {
    let move_all = move |sql: &Sql<'_>| {
        for job in jobs::unfinished(sql)? {
            if let Ok(to) = next(job.state, event).and_then(|to| if to == job.state { Err(refused(&job, event)) } else { Ok(to) }) {
                let change = Change { to, reason: Some(reason.clone()), at_ms: now_ms(), used: None, stop_by: None };
                let _stale_is_fine = jobs::advance(sql, (job.id, job.state, job.attempt), &change)?;
            }
        }
        Ok(())
    };
    Ok(control.store.write(move_all).await?)
}

fn refused(job: &Job, event: JobEvent) -> model::job::Refused {
    model::job::Refused { state: job.state, event }
}

/// What the database says of the runs that were seen, and of those that should be.
struct Known {
    wanted: Vec<Wanted>,
    /// Those of which it cannot say whether they are wanted.
    untouchable: BTreeSet<RunKey>,
    /// Those that it does not know, and that are not set aside yet.
    unheard_of: Vec<RunKey>,
}

fn read_known(sql: &Sql<'_>, seen: &[RunKey]) -> Result<Known, StoreError> {
    let mut states: BTreeMap<JobId, Option<JobState>> = BTreeMap::new();
    let (mut wanted, mut untouchable) = (Vec::new(), BTreeSet::new());
    for run in runs::live(sql)? {
        let id = run.run.job;
        let state = match states.entry(id) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => *place.insert(readable(sql, id)?.map(|job| job.state)),
        };
        match state {
            Some(state) => wanted.push(Wanted { run: run.run, stop: should_stop(state) }),
            None => _ = untouchable.insert(run.run),
        }
    }
    // Asked only now: the look at the live runs has just met those that cannot be read.
    untouchable.extend(quarantine::runs_set_aside(sql)?);
    let known: BTreeSet<&RunKey> = wanted.iter().map(|it| &it.run).chain(&untouchable).collect();
    let mut unheard_of = Vec::new();
    for run in seen.iter().filter(|run| !known.contains(run)) {
        if runs::lost::is_lost(sql, run)? {
            unheard_of.push(run.clone());
        }
    }
    Ok(Known { wanted, untouchable, unheard_of })
}

/// What was erased after the look at it, and of which that is written down, is not in the database either. But it is not on the disk any more.
async fn note_lost_if_still_seen(control: &Control, mut unheard_of: Vec<RunKey>) -> anyhow::Result<()> {
    if unheard_of.is_empty() {
        return Ok(());
    }
    let seen: BTreeSet<RunKey> = control.engine.list().await?.into_iter().map(|it| it.run).collect();
    unheard_of.retain(|run| seen.contains(run));
    let note = move |sql: &Sql<'_>| {
        unheard_of.iter().for_each(|run| runs::lost::note(sql, run));
        Ok(())
    };
    Ok(control.store.read(note).await?)
}

pub fn should_stop(state: JobState) -> bool {
    match state {
        JobState::Starting | JobState::Running | JobState::Unknown => false,
        JobState::Queued | JobState::Finishing | JobState::Stopping | JobState::Succeeded | JobState::Failed | JobState::Stopped => true,
    }
}

async fn apply(control: &Control, action: Action) -> anyhow::Result<()> {
    let at_ms = now_ms();
    let never_ran = |cause| Ending::new(cause, None, at_ms);
    match action {
        Action::Start(run) => start_again(control, run).await?,
        Action::Stop(run) => tried("stop", &run, control.engine.stop(&run).await),
        Action::Record(run, ending) => record(control, run, ending).await?,
        Action::GiveUp(run, why) => record(control, run, never_ran(Cause::Unknown { why })).await?,
        // Nothing is said before the engine has closed the door on whatever it may have of it.
        Action::NeverStarted(run) => match control.engine.stop(&run).await {
            Ok(()) => record(control, run, never_ran(Cause::Stopped { killed: false })).await?,
            refused => tried("stop", &run, refused),
        },
        Action::Remove(run) => tried("remove", &run, control.engine.remove(&run).await),
    }
    Ok(())
}

/// A run that the engine has trouble with holds nobody else up; it comes out of the next turn's comparison again.
fn tried(what: &str, run: &RunKey, done: Result<(), EngineError>) {
    if let Err(error) = done {
        tracing::warn!(%run, "could not {what} it, will try again: {error}");
    }
}

/// Writes an ending down. The run leaves the engine's list only on a later turn, when the record is durable.
async fn record(control: &Control, run: RunKey, ending: Ending) -> anyhow::Result<()> {
    let report = Report::Ended { ending: control.endings.of(ending) };
    let (_, moved) = control.store.write(move |sql| take_report(sql, &run, &report)).await?;
    control.nudge.after(moved);
    Ok(())
}

async fn start_again(control: &Control, run: RunKey) -> anyhow::Result<()> {
    let read = move |sql: &Sql<'_>| {
        let Some(job) = readable(sql, run.job)? else { return Ok(None) };
        let gang = queue::beside(sql, &job, &run)?;
        Ok(Some((job, gang, run)))
    };
    let Some((job, gang, run)) = control.store.read(read).await? else { return Ok(()) };
    let Some(own) = gang.iter().find(|it| it.run == run) else { return Ok(()) };
    // A task that its job does not have stands in a row that something has spoilt, and says nothing of what runs.
    if own.started_at_ms.is_some() && job.plan.role(&run.task.role).is_some_and(|role| run.task.index < role.tasks) {
        return give_up_unless_seen(control, run).await;
    }
    let places = places(&gang);
    start_one(control, &job, &gang, &Rendezvous::new(gang_of(&job, own.run.attempt, &places)), own).await;
    Ok(())
}

/// It is known to have begun, and is not begun a second time. It may have done so since its engine was last asked; one of which there is
/// no trace even now has gone with what was not on the disk yet.
async fn give_up_unless_seen(control: &Control, run: RunKey) -> anyhow::Result<()> {
    let seen = match control.engine.list().await {
        Ok(seen) => seen,
        refused => {
            tried("look for", &run, refused.map(|_| ()));
            return Ok(());
        }
    };
    let is_seen = seen.iter().any(|it| it.run == run && it.phase != Phase::NotTaken);
    if is_seen {
        return Ok(());
    }
    let why = "it had begun, and its node has no trace of it any more".to_owned();
    record(control, run, Ending::new(Cause::Unknown { why }, None, now_ms())).await
}

/// Starts those of the runs that were just placed. In a gang they have all the same to be told of each other.
pub async fn start_all(control: &Control, Placed { job, gang, new }: &Placed) {
    let places = places(gang);
    let told_in = |attempt| Rendezvous::new(gang_of(job, attempt, &places));
    let together = told_in(job.attempt);
    for run in gang.iter().filter(|run| new.runs().contains(&run.run)) {
        if run.run.attempt == job.attempt {
            start_one(control, job, gang, &together, run).await;
        } else {
            start_one(control, job, gang, &told_in(run.run.attempt), run).await;
        }
    }
}

/// An engine that is away is asked again on the next sweep; one that says never has the last word.
async fn start_one(control: &Control, job: &Job, gang: &[Run], rendezvous: &Rendezvous<'_>, run: &Run) {
    let Some(order) = order_in(job, rendezvous, run).map(|order| gang_order::complete(order, job, gang, &control.run_key)) else { return };
    let order = match volumes_for(control, job, order).await {
        Ok(order) => order,
        Err(error) => return tracing::warn!(run = %run.run, "its volumes cannot be read, will try again: {error}"),
    };
    let token = control.run_key.token(&run.run);
    let start = Start { order: &order, token: &token, server_url: &control.server_url };
    match control.engine.start(start).await {
        Ok(()) => {}
        Err(EngineError::Away(why)) => tracing::warn!(run = %run.run, "could not start, will try again: {why}"),
        Err(EngineError::Never(why)) => {
            let cause = Cause::CannotStart { why, whose: Whose::Platform };
            let ending = Ending::new(cause, None, now_ms());
            if let Err(error) = record(control, run.run.clone(), ending).await {
                tracing::error!(run = %run.run, "could not record that it cannot start: {error:#}");
            }
        }
    }
}

async fn volumes_for(control: &Control, job: &Job, order: RunOrder) -> Result<RunOrder, StoreError> {
    if job.plan.volumes().is_empty() {
        return Ok(order);
    }
    let (owner, plan) = (job.owner.clone(), job.plan.clone());
    control.store.read(move |sql| with_volumes(sql, (&owner, &plan), order)).await
}

/// What the volumes are that the job names. One that is gone is for the porter to miss, in words.
pub fn with_volumes(sql: &Sql<'_>, (owner, plan): (&str, &Plan), mut order: RunOrder) -> Result<RunOrder, StoreError> {
    order.volumes.extend(volumes::of_plan(sql, owner, plan)?.into_iter().map(|it| (it.name, it.volume)));
    Ok(order)
}

/// Everything one supervisor needs, from the plan and the places of the whole gang.
pub fn order(job: &Job, gang: &[Run], run: &Run) -> Option<RunOrder> {
    order_in(job, &Rendezvous::new(gang_of(job, run.run.attempt, &places(gang))), run)
}

fn order_in(job: &Job, rendezvous: &Rendezvous<'_>, run: &Run) -> Option<RunOrder> {
    let role = job.plan.role(&run.run.task.role)?;
    let peers = rendezvous.of(&run.run.task)?;
    Some(RunOrder {
        run: run.run.clone(),
        node: run.node.clone(),
        command: role.command.clone(),
        env: peers.env,
        paths: peers.paths,
        files: peers.files,
        code: code_of(job),
        agrees_on_code: agrees_on_code(job),
        secrets: job.plan.secrets_of(role),
        requirements: job.plan.requirements.clone(),
        setup: job.plan.setup.clone(),
        freight: layout::of_task(&job.plan, job.version, &run.run.task),
        not_ours: layout::not_ours(&job.plan, &run.run.task),
        metrics: job.plan.metrics.clone(),
        volumes: BTreeMap::new(),
        environment: job.plan.framework.as_ref().map(|it| it.environment(!run.devices.is_empty())),
        limits: Limits {
            cpus_milli: run.amount.cpus_milli,
            memory_bytes: run.amount.memory_bytes,
            shared_memory_bytes: role.shared_memory_bytes,
            disk_bytes: role.disk_bytes,
            processes_max: PROCESSES_FOR_ANY_TASK + run.amount.cpus_milli * PROCESSES_PER_CPU / 1_000,
        },
        stop_grace_ms: job.plan.stop_grace_ms,
        keep_failed_ms: job.plan.keep_failed_ms,
        ports: run.ports.values().flatten().copied().collect(),
        address: run.address.clone(),
        gang: None,
    })
}

/// A branch may have moved since the first of its tasks got its code. The others get the same.
fn code_of(job: &Job) -> Option<CodePlan> {
    let pinned = |(plan, commit): (&GitPlan, &String)| GitPlan { reference: Some(commit.clone()), ..plan.clone() };
    let from_git = if let Some(CodePlan::Git(plan)) = &job.plan.code { Some(plan) } else { None };
    from_git.zip(job.commit.as_ref()).map(|it| CodePlan::Git(pinned(it))).or_else(|| job.plan.code.clone())
}

/// Whether its tasks look at something that may be another commit for each of them.
fn agrees_on_code(job: &Job) -> bool {
    let may_move = matches!(&job.plan.code, Some(CodePlan::Git(plan)) if !plan.reference.as_deref().is_some_and(is_commit));
    may_move && job.commit.is_none() && job.plan.task_count() > 1
}

/// What one task is told of its peers; words stand for what has no place yet. Secrets stand there by name.
pub fn environment(job: &Job, gang: &[Run], task: &TaskName) -> Option<Peers> {
    let places = places(gang);
    let own = gang.iter().find(|run| run.run.task == *task);
    let gang = gang_of(job, own.map_or(job.attempt, |run| run.run.attempt), &places);
    // Who has a place and is no gang was told of those who had one too, and of nobody else.
    let is_told = own.is_some() && !job.plan.gang;
    let mut peers = if is_told { Rendezvous::new(gang) } else { Rendezvous::imagined(gang) }.of(task)?;
    peers.paths.extend(job.plan.freight.paths.clone());
    Some(peers.shown())
}

fn gang_of<'a>(job: &'a Job, attempt: u32, places: &'a [Place]) -> Gang<'a> {
    Gang {
        owner: &job.owner,
        job: job.id,
        name: &job.name,
        version: job.version,
        attempt,
        job_attempt: job.attempt,
        plan: &job.plan,
        places,
    }
}

fn places(gang: &[Run]) -> Vec<Place> {
    gang.iter().map(place_of).collect()
}

/// The launcher's port is between supervisors and nobody else's business.
fn place_of(run: &Run) -> Place {
    let mut ports = run.ports.clone();
    ports.remove(LAUNCH_LABEL);
    let TaskName { role, index } = run.run.task.clone();
    Place { role, index, address: run.address.clone(), ports, devices: run.devices.clone() }
}
