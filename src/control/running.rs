//! Running: what should run against what does.

use std::{
    collections::{BTreeMap, BTreeSet, btree_map::Entry},
    time::{Duration, Instant},
};

use model::{
    gang::LAUNCH_LABEL,
    ids::{JobId, RunKey, TaskName},
    job::{JobEvent, JobState, next},
    order::{Limits, Report, RunOrder},
    reconcile::{Action, Wanted, decide},
    rendezvous::{Gang, Peers, Place, Rendezvous},
    task::{Cause, Ending, Whose},
    template,
};

use super::{Control, gang_order, now_ms, queue, readable, take_report};
use crate::{
    engine::{EngineError, Start},
    store::{
        Sql, StoreError,
        jobs::{self, Change, Job},
        quarantine,
        runs::{self, Run},
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
    let (wanted, untouchable) = control.store.read(move |sql| read_wanted(sql, &keys)).await?;
    seen.retain(|it| !untouchable.contains(&it.run));
    for action in decide(&wanted, &seen) {
        apply(control, action).await?;
    }
    Ok(())
}

async fn lose_sight(control: &Control, sight: &mut Sight, error: &EngineError) -> anyhow::Result<()> {
    let since = *sight.away_since.get_or_insert_with(Instant::now);
    if !sight.lost && since.elapsed() > LOST_SIGHT_AFTER {
        move_unfinished(control, JobEvent::LostSight, format!("its engine does not answer: {error}")).await?;
        sight.lost = true;
    }
    Ok(())
}

async fn move_unfinished(control: &Control, event: JobEvent, reason: String) -> anyhow::Result<()> {
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

/// What should run, and what is not to be touched because the database cannot say.
fn read_wanted(sql: &Sql<'_>, seen: &[RunKey]) -> Result<(Vec<Wanted>, BTreeSet<RunKey>), StoreError> {
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
    let known: BTreeSet<&RunKey> = wanted.iter().map(|it| &it.run).collect();
    for run in seen.iter().filter(|run| !known.contains(run)) {
        if runs::is_lost(sql, run)? {
            untouchable.insert(run.clone());
        }
    }
    Ok((wanted, untouchable))
}

pub fn should_stop(state: JobState) -> bool {
    match state {
        JobState::Starting | JobState::Running | JobState::Unknown => false,
        JobState::Queued | JobState::Finishing | JobState::Stopping | JobState::Succeeded | JobState::Failed | JobState::Stopped => true,
    }
}

async fn apply(control: &Control, action: Action) -> anyhow::Result<()> {
    let at_ms = now_ms();
    let never_ran = |cause| Ending { cause, started_at_ms: None, ended_at_ms: at_ms, peak_memory_bytes: None, cpu_ms: None };
    match action {
        Action::Start(run) => start_again(control, run).await?,
        Action::Stop(run) => tried("stop", &run, control.engine.stop(&run).await),
        Action::Record(run, ending) => record(control, run, ending).await?,
        Action::GiveUp(run, why) => record(control, run, never_ran(Cause::Unknown { why })).await?,
        // A supervisor may be on its way. Nothing is said before the engine has closed the door on it.
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
    let (_, moved) = control.store.write(move |sql| take_report(sql, &run, &Report::Ended { ending })).await?;
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
    if let Some(own) = gang.iter().find(|it| it.run == run) {
        let places = places(&gang);
        start_one(control, &job, &gang, &Rendezvous::new(gang_of(&job, own.run.attempt, &places)), own).await;
    }
    Ok(())
}

/// Starts those of the runs that were just placed. In a gang they have all the same to be told of each other.
pub async fn start_all(control: &Control, job: &Job, gang: &[Run], placed: &BTreeSet<RunKey>) {
    let places = places(gang);
    let told_in = |attempt| Rendezvous::new(gang_of(job, attempt, &places));
    let together = told_in(job.attempt);
    for run in gang.iter().filter(|run| placed.contains(&run.run)) {
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
    let token = control.run_key.token(&run.run);
    let start = Start { order: &order, token: &token, server_url: &control.server_url };
    match control.engine.start(start).await {
        Ok(()) => {}
        Err(EngineError::Away(why)) => tracing::warn!(run = %run.run, "could not start, will try again: {why}"),
        Err(EngineError::Never(why)) => {
            let cause = Cause::CannotStart { why, whose: Whose::Platform };
            let ending = Ending { cause, started_at_ms: None, ended_at_ms: now_ms(), peak_memory_bytes: None, cpu_ms: None };
            if let Err(error) = record(control, run.run.clone(), ending).await {
                tracing::error!(run = %run.run, "could not record that it cannot start: {error:#}");
            }
        }
    }
}

/// Everything one supervisor needs, from the plan and the places of the whole gang.
pub fn order(job: &Job, gang: &[Run], run: &Run) -> Option<RunOrder> {
    order_in(job, &Rendezvous::new(gang_of(job, run.run.attempt, &places(gang))), run)
}

fn order_in(job: &Job, rendezvous: &Rendezvous<'_>, run: &Run) -> Option<RunOrder> {
    let role = job.plan.role(&run.run.task.role)?;
    let mut peers = rendezvous.of(&run.run.task)?;
    let command = with_secrets(job, &role.command, &mut peers);
    Some(RunOrder {
        run: run.run.clone(),
        node: run.node.clone(),
        command,
        env: peers.env,
        paths: peers.paths,
        files: peers.files,
        code: job.plan.code.clone(),
        input: job.plan.input.clone(),
        environment: job.plan.framework.as_ref().map(|it| it.environment(!run.devices.is_empty())),
        limits: Limits {
            cpus_milli: run.amount.cpus_milli,
            memory_bytes: run.amount.memory_bytes,
            shared_memory_bytes: role.shared_memory_bytes,
            processes_max: PROCESSES_FOR_ANY_TASK + run.amount.cpus_milli * PROCESSES_PER_CPU / 1_000,
        },
        stop_grace_ms: job.plan.stop_grace_ms,
        keep_failed_ms: job.plan.keep_failed_ms,
        ports: run.ports.values().flatten().copied().collect(),
        address: run.address.clone(),
        gang: None,
    })
}

/// The command with its secrets put in. A line for a shell that has some goes into a file of the run, which only the
/// task sees: the arguments of a process are for everyone on the machine to read.
fn with_secrets(job: &Job, command: &[String], peers: &mut Peers) -> Vec<String> {
    const SCRIPT: &str = "script";
    const SCRIPT_VARIABLE: &str = "TRAINMASTER_SCRIPT";
    let fill = |word: &String| template::with_secrets(word, |name| job.plan.secrets.get(name).cloned());
    let is_secret = |word: &String| template::tags(word).iter().any(|tag| matches!(tag, template::Tag::Secret(_)));
    match command {
        [shell, flag, line] if flag == "-c" && is_secret(line) => {
            peers.files.insert(SCRIPT.into(), fill(line));
            peers.paths.insert(SCRIPT_VARIABLE.into(), format!("{}/{SCRIPT}", model::rendezvous::DIRECTORY));
            vec![fill(shell), flag.clone(), format!(". \"${SCRIPT_VARIABLE}\"")]
        }
        words => words.iter().map(fill).collect(),
    }
}

/// What one task is told of its peers; words stand for what has no place yet. Secrets are masked.
pub fn environment(job: &Job, gang: &[Run], task: &TaskName) -> Option<Peers> {
    let places = places(gang);
    let attempt = gang.iter().find(|run| run.run.task == *task).map_or(job.attempt, |run| run.run.attempt);
    Some(Rendezvous::imagined(gang_of(job, attempt, &places)).of(task)?.without(job.plan.secrets.values()))
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
