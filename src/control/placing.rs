//! Placing: gangs whole and other tasks as they fit, with devices and ports, in one transaction for each job; then
//! they are started.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use model::{
    gang::{LAUNCH_LABEL, has_launcher},
    ids::{JobId, NodeName, RunKey, TaskName},
    job::{JobEvent, JobState, next},
    plan::PortPlan,
    rendezvous,
    resources::is_port,
    schedule::{Assignment, Held, Waiting, What, place},
};

use super::{
    Control, now_ms,
    queue::{Queue, beside, next_attempt, queue},
    readable, running,
};
use crate::store::{
    Sql, StoreError, Written,
    jobs::{self, Change, Job},
    runs::{self, NewRun, Run},
};

/// How far down the queue a turn looks. After a nudge only the front matters; every sweep looks further,
/// for jobs that fit beside those before them, and stores why the others wait.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Look {
    Near,
    Far,
}

impl Look {
    fn jobs_max(self) -> u32 {
        match self {
            Look::Near => 10,
            Look::Far => 200,
        }
    }
}

/// What one turn decides from.
struct Scene {
    queue: Vec<Waiting>,
    pausing: Vec<(JobId, String)>,
    live: Vec<Run>,
    held: Vec<Held>,
}

/// How often a turn begins anew because a job that had room lacked something else.
const REFUSALS_MAX: usize = 10;

pub async fn turn(control: &Control, look: Look) -> anyhow::Result<()> {
    let mut refused: BTreeMap<JobId, String> = BTreeMap::new();
    while refused.len() < REFUSALS_MAX {
        let known = refused.len();
        pass(control, look, &mut refused).await?;
        if refused.len() == known {
            break;
        }
    }
    if !refused.is_empty() {
        store_reasons(control, refused.into_iter().collect()).await?;
    }
    Ok(())
}

/// Places what it can. A job that has room and lacks something that only shows when it is reached for is written
/// down as refused; the next pass gives its room to others.
async fn pass(control: &Control, look: Look, refused: &mut BTreeMap<JobId, String>) -> anyhow::Result<()> {
    let mut scene = control.store.read(move |sql| read_scene(sql, look)).await?;
    scene.queue.retain(|waiting| !refused.contains_key(&waiting.job));
    if look == Look::Near && (scene.queue.is_empty() || !anything_is_free(control, &scene.live)) {
        return Ok(());
    }
    let decisions = place(&scene.queue, &control.board.for_placing(), &scene.held, now_ms());
    let mut taken = Taken::new(&scene.live);
    let mut reasons = scene.pausing;
    for decision in decisions {
        let (assignments, waits) = match decision.what {
            What::Start(assignments) => (assignments, None),
            What::Part(assignments, reason) => (assignments, Some(reason)),
            What::Wait(reason) => (Vec::new(), Some(reason)),
        };
        let why_not = if assignments.is_empty() { None } else { start(control, decision.job, assignments, &mut taken).await? };
        match why_not {
            Some(reason) => _ = refused.insert(decision.job, reason),
            None => reasons.extend(waits.map(|reason| (decision.job, reason))),
        }
    }
    if look == Look::Far {
        store_reasons(control, reasons).await?;
    }
    Ok(())
}

/// Every task needs some CPU, so where there is none there is nothing to decide.
fn anything_is_free(control: &Control, live: &[Run]) -> bool {
    let held = |name: &NodeName| live.iter().filter(|run| run.node == *name).map(|run| run.amount.cpus_milli).sum::<u64>();
    control.board.nodes().iter().any(|node| node.open && node.capacity.cpus_milli > held(&node.name))
}

fn read_scene(sql: &Sql<'_>, look: Look) -> Result<Scene, StoreError> {
    let Queue { waiting: queue, pausing } = queue(sql, look.jobs_max(), now_ms())?;
    if queue.is_empty() {
        return Ok(Scene { queue, pausing, live: Vec::new(), held: Vec::new() });
    }
    let live = runs::live(sql)?;
    let held = held(sql, &live)?;
    Ok(Scene { queue, pausing, live, held })
}

/// What the live runs hold, and until when.
pub fn held(sql: &Sql<'_>, live: &[Run]) -> Result<Vec<Held>, StoreError> {
    let mut jobs_by_id: BTreeMap<JobId, Option<Job>> = BTreeMap::new();
    let mut held = Vec::new();
    for run in live {
        let job = match jobs_by_id.entry(run.run.job) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => place.insert(readable(sql, run.run.job)?),
        };
        let job = job.as_ref();
        held.push(Held {
            job: run.run.job,
            label: job.map_or_else(|| run.run.job.to_string(), |job| format!("{}@{}", job.name, job.version)),
            node: run.node.clone(),
            amount: run.amount.clone(),
            until_ms: job.and_then(|job| Some(job.started_at_ms? + job.plan.max_duration_ms?)),
        });
    }
    Ok(held)
}

/// Devices and ports that are given out on each node.
struct Taken {
    devices: BTreeMap<(NodeName, String), BTreeSet<u32>>,
    ports: BTreeMap<NodeName, Vec<u16>>,
}

impl Taken {
    fn new(live: &[Run]) -> Self {
        let mut taken = Self { devices: BTreeMap::new(), ports: BTreeMap::new() };
        for run in live {
            for (kind, indices) in &run.devices {
                taken.devices.entry((run.node.clone(), kind.clone())).or_default().extend(indices);
            }
            taken.ports.entry(run.node.clone()).or_default().extend(run.ports.values().flatten());
        }
        taken
    }

    /// The lowest free indices of each type, so that two servers looking at one database agree.
    fn give_devices(&mut self, control: &Control, assignment: &Assignment) -> Option<BTreeMap<String, Vec<u32>>> {
        let nodes = control.board.nodes();
        let node = nodes.iter().find(|node| node.name == assignment.node)?;
        let mut given = BTreeMap::new();
        for (kind, count) in assignment.amount.accelerators.iter().filter(|(kind, _)| !is_port(kind)) {
            let used = self.devices.entry((node.name.clone(), kind.clone())).or_default();
            let free = node.devices.get(kind)?.iter().copied().filter(|index| !used.contains(index));
            let chosen: Vec<u32> = free.take(*count as usize).collect();
            if chosen.len() < *count as usize {
                return None;
            }
            used.extend(&chosen);
            given.insert(kind.clone(), chosen);
        }
        Some(given)
    }
}

/// Answers why it could not, if something is missing that only shows when it is reached for. That is this
/// job's trouble alone; the next turn sees the world as it is then.
async fn start(control: &Control, id: JobId, assignments: Vec<Assignment>, taken: &mut Taken) -> anyhow::Result<Option<String>> {
    let read = move |sql: &Sql<'_>| {
        let Some(job) = readable(sql, id)? else { return Ok(None) };
        let number = |it: Assignment| Ok((next_attempt(sql, &job, &TaskName { role: it.role.clone(), index: it.index })?, it));
        let numbered: Vec<(u32, Assignment)> = assignments.into_iter().map(number).collect::<Result<_, StoreError>>()?;
        Ok(Some((job, numbered)))
    };
    let Some((job, numbered)) = control.store.read(read).await? else { return Ok(None) };
    let Ok(to) = next(job.state, JobEvent::Placed) else { return Ok(None) };
    // It may have failed, and have to pause, since it was looked at.
    if job.pause_left_ms(now_ms()).is_some() {
        return Ok(None);
    }
    // A gang is placed once; a decision from an old read may ask for it again.
    if job.plan.gang && job.state != JobState::Queued {
        return Ok(None);
    }
    let (mut new_runs, mut why_not) = (Vec::new(), None);
    for (attempt, assignment) in numbered {
        match new_run(control, (&job, attempt), assignment, taken).await {
            Ok(run) => new_runs.push(run),
            Err(reason) if job.plan.gang => return Ok(Some(reason)),
            Err(reason) => why_not = Some(reason),
        }
    }
    if new_runs.is_empty() {
        return Ok(why_not);
    }
    crate::crash::point("schedule.before-reserve");
    let placed: BTreeSet<RunKey> = new_runs.iter().map(|it| it.run.clone()).collect();
    let written = control.store.write(move |sql| reserve(sql, &job, to, &new_runs)).await?;
    crate::crash::point("schedule.after-reserve-commit");
    if let Some((job, gang)) = written {
        running::start_all(control, &job, &gang, &placed).await;
    }
    Ok(why_not)
}

async fn new_run(control: &Control, (job, attempt): (&Job, u32), assignment: Assignment, taken: &mut Taken) -> Result<NewRun, String> {
    let node_name = &assignment.node;
    let devices = taken.give_devices(control, &assignment).ok_or_else(|| format!("waits for devices on {node_name}"))?;
    let task = TaskName { role: assignment.role, index: assignment.index };
    let mut ports = BTreeMap::new();
    let launcher = has_launcher(&job.plan).then(|| (LAUNCH_LABEL.to_owned(), PortPlan { count: 1, from: None }));
    for (label, wanted) in rendezvous::ports(&job.plan, &task).into_iter().chain(launcher) {
        let given = taken.ports.entry(node_name.clone()).or_default();
        let free = control.engine.free_ports(node_name, wanted, given).await;
        let free = free.map_err(|error| format!("waits for ports on {node_name}: {error}"))?;
        given.extend(&free);
        ports.insert(label, free);
    }
    let nodes = control.board.nodes();
    let node = nodes.iter().find(|node| node.name == *node_name).ok_or_else(|| format!("{node_name} is gone"))?;
    Ok(NewRun {
        run: RunKey { job: job.id, attempt, task },
        job_attempt: job.attempt,
        address: node.address.clone(),
        node: assignment.node,
        amount: assignment.amount,
        devices,
        ports,
        at_ms: now_ms(),
    })
}

/// The job and all its new runs, or nothing: a reservation is never half there. Answers with those they find beside them.
fn reserve(sql: &Sql<'_>, job: &Job, to: JobState, new_runs: &[NewRun]) -> Result<Option<(Job, Vec<Run>)>, StoreError> {
    let mut nodes: Vec<String> = new_runs.iter().map(|run| run.node.to_string()).collect();
    nodes.sort();
    nodes.dedup();
    let (seen, reason) = ((job.id, job.state, job.attempt), format!("placed on {}", nodes.join(", ")));
    let written = if to == job.state {
        jobs::remark(sql, seen, &format!("{} more {reason}", new_runs.len()))?
    } else {
        jobs::advance(sql, seen, &Change { to, reason: Some(reason), at_ms: now_ms(), used: None, stop_by: None })?
    };
    if written == Written::Stale {
        return Ok(None);
    }
    for run in new_runs {
        runs::insert(sql, run)?;
    }
    Ok(Some((job.clone(), beside(sql, job, &new_runs[0].run)?)))
}

async fn store_reasons(control: &Control, reasons: Vec<(JobId, String)>) -> anyhow::Result<()> {
    if reasons.is_empty() {
        return Ok(());
    }
    control.store.write(move |sql| reasons.iter().try_for_each(|(job, reason)| jobs::set_reason(sql, *job, reason))).await?;
    Ok(())
}
